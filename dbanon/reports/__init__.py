"""The report of a release: one page to read and to file."""
