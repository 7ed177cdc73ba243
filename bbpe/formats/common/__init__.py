"""Parts of files that several formats have: keys, merges, ranks, JSON, and the arguments of a caller."""
