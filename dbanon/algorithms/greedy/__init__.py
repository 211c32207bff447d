"""Algorithms that add one record after the other, by least loss."""
