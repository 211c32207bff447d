"""Generalization hierarchies: how they are kept, as relations and as text."""
