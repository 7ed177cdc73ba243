"""From the names of files to their texts."""
