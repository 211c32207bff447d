"""The algorithms: one module a scheme, one registration an algorithm."""

from dbanon.cluster.after.improve import Budget
from dbanon.cluster.after.widen import widened
from dbanon.cluster.noise import Drawn, Noise, drawn, renumbered
from dbanon.cluster.papers import simdiv
from dbanon.cluster.registry import Algorithm, algorithms, find
from dbanon.cluster.runner import run
from dbanon.cluster.schemes import assign, average, baselines, best, gather, greedy, split

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
