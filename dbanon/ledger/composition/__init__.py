"""Comparison of versions about the same people."""
