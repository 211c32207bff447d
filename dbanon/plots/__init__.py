"""Plots of what compare() and choose() found, by matplotlib (the extra `plot`)."""
