"""Read the texts of a corpus, given the names of its files."""
