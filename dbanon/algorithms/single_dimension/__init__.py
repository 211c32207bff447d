"""Algorithms that replace each value of a column by the same node or interval in all records."""
