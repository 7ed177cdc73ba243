"""Published vocabularies: names to files on this machine, and the download of what is missing."""
