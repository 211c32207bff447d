"""Generalization hierarchies: stored, built, looked up, exchanged."""
