"""Clusters as the number of every canonical record, in any representation."""

from __future__ import annotations

from typing import Any

from dbanon import algorithms
from dbanon.algorithms import RunLengthLabels
from dbanon.encoding.encoded_table import Ints


def run_labels(*given: Any, **named: Any) -> Ints:
    """Run `cluster.run` and return its clusters by record."""
    return algorithms.run_algorithm(*given, **named).labels()


def labels(result: RunLengthLabels | Ints) -> Ints:
    """Return the labels of an algorithm, by record."""
    return result.labels() if isinstance(result, RunLengthLabels) else result
