"""Algorithms that merge clusters."""
