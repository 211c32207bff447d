"""The algorithms: one module a scheme, one registration an algorithm."""

from dbanon.cluster import assign, average, baselines, best, gather, greedy, simdiv, split
from dbanon.cluster.improve import Budget
from dbanon.cluster.noise import Drawn, Noise, drawn, renumbered
from dbanon.cluster.registry import Algorithm, algorithms, find
from dbanon.cluster.runner import run
from dbanon.cluster.widen import widened

__all__ = [
    "Algorithm",
    "Budget",
    "Drawn",
    "Noise",
    "algorithms",
    "assign",
    "average",
    "baselines",
    "best",
    "drawn",
    "find",
    "gather",
    "greedy",
    "renumbered",
    "run",
    "simdiv",
    "split",
    "widened",
]
