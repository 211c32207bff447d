"""Comparison of algorithms."""
