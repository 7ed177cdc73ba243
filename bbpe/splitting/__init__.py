"""Split patterns: named patterns, recognition of regexes, and the compiled splitter."""
