"""Files: those that a call reads, and those that are written."""
