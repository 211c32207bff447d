"""Comparison of the versions of the same people."""
