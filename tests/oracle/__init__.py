"""Slow, obviously correct reference implementations that the fast code is tested against."""
