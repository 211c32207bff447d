"""Algorithms that assign records to centers."""
