"""Compiled loops of the stream algorithms."""
