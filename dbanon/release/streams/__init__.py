"""Statements of the stream algorithms."""
