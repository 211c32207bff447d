"""Magics of IPython, and what notebooks show."""
