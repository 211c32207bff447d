"""Algorithms that generalize every column to one level."""
