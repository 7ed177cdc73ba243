"""Split patterns: their names, how they are recognised, and the splitter that follows them."""
