"""Output on a terminal, and exit codes."""
