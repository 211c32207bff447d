"""Algorithms that form diverse clusters."""
