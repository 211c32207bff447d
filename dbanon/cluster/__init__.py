"""The algorithms: one module a scheme, one registration an algorithm."""

from dbanon.cluster import assign, average, baselines, best, gather, greedy, simdiv, split
from dbanon.cluster.improve import Budget
from dbanon.cluster.registry import Algorithm, algorithms, find
from dbanon.cluster.runner import run
from dbanon.cluster.widen import widened

__all__ = [
    "Algorithm",
    "Budget",
    "algorithms",
    "assign",
    "average",
    "baselines",
    "best",
    "find",
    "gather",
    "greedy",
    "run",
    "simdiv",
    "split",
    "widened",
]
