"""Adapters to other software, one folder each."""
