"""The interfaces of other libraries, a folder each, and chat templates."""
