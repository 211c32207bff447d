"""Which people of several versions are the same."""
