"""Roles suggested by the name of a column."""
