"""The algorithms: one folder for each family, one file with its registration for each algorithm."""

from dbanon.algorithms import (
    agglomerative,
    centroid,
    diversity,
    full_domain,
    greedy,
    hybrid,
    nearest_neighbour,
    optimizing,
    partitioning,
)
from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.noise import Drawn, Noise, drawn, renumbered
from dbanon.algorithms.base.registry import Algorithm, PublishedEnds, algorithms, discover, find
from dbanon.algorithms.postprocess.improve import Budget
from dbanon.algorithms.postprocess.multivalued_diversity import Held, Shares, diversified
from dbanon.algorithms.postprocess.widen import widened
from dbanon.algorithms.runner import Names, Refinement, apart, run, waiting

discover(agglomerative, centroid, diversity, full_domain, greedy, hybrid, nearest_neighbour, optimizing, partitioning)

__all__ = [
    "Algorithm",
    "Budget",
    "Drawn",
    "Held",
    "Names",
    "Noise",
    "PublishedEnds",
    "Refinement",
    "Runs",
    "Shares",
    "algorithms",
    "apart",
    "diversified",
    "drawn",
    "find",
    "renumbered",
    "run",
    "waiting",
    "widened",
]
