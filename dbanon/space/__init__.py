"""A table as algorithms see it: codes, distances, and the index of what is left."""
