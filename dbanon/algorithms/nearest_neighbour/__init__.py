"""Algorithms that gather the nearest records of a seed."""
