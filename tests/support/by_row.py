"""Clusters as the number of every canonical record, whatever form they have."""

from __future__ import annotations

from typing import Any

from dbanon import algorithms
from dbanon.algorithms import Runs
from dbanon.encoding.encoded_table import Ints


def run(*given: Any, **named: Any) -> Ints:
    """`cluster.run`, its clusters by record."""
    return algorithms.run(*given, **named).labels()


def labels(found: Runs | Ints) -> Ints:
    """What an algorithm gave, by record."""
    return found.labels() if isinstance(found, Runs) else found
