"""Algorithms that combine several approaches."""
