"""The algorithms: one module a scheme, one registration an algorithm."""

from dbanon.cluster import assign, average, baselines, gather, greedy, simdiv, split
from dbanon.cluster.registry import Algorithm, algorithms, find
from dbanon.cluster.runner import run
from dbanon.cluster.widen import widened

__all__ = [
    "Algorithm",
    "algorithms",
    "assign",
    "average",
    "baselines",
    "find",
    "gather",
    "greedy",
    "run",
    "simdiv",
    "split",
    "widened",
]
