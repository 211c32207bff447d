"""The algorithms: a folder a family, a file an algorithm, one registration each."""

from dbanon.cluster import papers, schemes
from dbanon.cluster.abilities import PublishedEnds
from dbanon.cluster.after.held import Held, Shares, diversified
from dbanon.cluster.after.improve import Budget
from dbanon.cluster.after.widen import widened
from dbanon.cluster.noise import Drawn, Noise, drawn, renumbered
from dbanon.cluster.registry import Algorithm, algorithms, discover, find
from dbanon.cluster.runner import Names, Refinement, apart, run, waiting
from dbanon.cluster.runs import Runs

discover(schemes, papers)

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
