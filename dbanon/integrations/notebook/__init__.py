"""Magics, progress bars and results of notebooks."""
