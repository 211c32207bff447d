"""The algorithms: one module a scheme, one registration an algorithm."""

from dbanon.cluster import gather, split
from dbanon.cluster.registry import Algorithm, algorithms, find
from dbanon.cluster.runner import run

__all__ = ["Algorithm", "algorithms", "find", "gather", "run", "split"]
