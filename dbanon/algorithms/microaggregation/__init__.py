"""Annealing for least squares."""
