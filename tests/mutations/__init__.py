"""Planted faults that check whether the tests notice them."""
