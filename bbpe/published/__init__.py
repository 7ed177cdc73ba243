"""Published vocabularies: find their files on this machine by name, and download missing ones."""
