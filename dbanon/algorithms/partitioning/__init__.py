"""Algorithms that divide the records from the top."""
