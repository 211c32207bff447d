"""Faults that are planted to see that the tests notice them."""
