"""Clusters as the number of every canonical record, whatever form they have."""

from __future__ import annotations

from typing import Any

from dbanon import algorithms
from dbanon.algorithms import RunLengthLabels
from dbanon.encoding.encoded_table import Ints


def run(*given: Any, **named: Any) -> Ints:
    """`cluster.run`, its clusters by record."""
    return algorithms.run_algorithm(*given, **named).labels()


def labels(found: RunLengthLabels | Ints) -> Ints:
    """Return what an algorithm gave, by record."""
    return found.labels() if isinstance(found, RunLengthLabels) else found
