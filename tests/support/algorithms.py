"""Algorithms that a test can run, and parameters that replace unwanted defaults."""

from __future__ import annotations

from dbanon import algorithms
from dbanon.algorithms.base.registry import Suppression, Widening

PLAIN = [
    a.name for a in algorithms.algorithms() if not a.defaults and "sensitive" not in a.reads and not a.ability(Widening)
]
"""Algorithms without required parameters or sensitive columns that publish exactly the span of their clusters."""


def complete_parameters(name: str) -> dict[str, object]:
    """Return parameters with which an algorithm suppresses and reserves no record."""
    selected_algorithm = algorithms.find(name)
    out: dict[str, object] = {"suppress": 0} if selected_algorithm.ability(Suppression) else {}
    return out | {p.name: 0 for p in selected_algorithm.own_parameters if p.name == "outliers"}
