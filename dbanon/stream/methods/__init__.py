"""The systems, a file each."""
