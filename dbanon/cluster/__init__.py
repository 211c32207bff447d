"""The algorithms: one module a scheme, one registration an algorithm."""

from dbanon.cluster import assign, average, gather, greedy, split
from dbanon.cluster.registry import Algorithm, algorithms, find
from dbanon.cluster.runner import run

__all__ = ["Algorithm", "algorithms", "assign", "average", "find", "gather", "greedy", "run", "split"]
