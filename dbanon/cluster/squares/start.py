"""Where the search for the least squares starts (MDAV, in cells where tuples are many), and how long it goes on."""

from __future__ import annotations

import numpy as np

from dbanon.cluster.growth import grow
from dbanon.cluster.registry import Check
from dbanon.cluster.runs import Runs
from dbanon.cluster.schemes.gather.mdav import FarthestFromAverage, places
from dbanon.models.constraint import Constraint
from dbanon.space.cells import cells
from dbanon.space.space import Ints, Space

CELL = 8192
"""Most tuples that are clustered as one: MDAV takes the square of their number where axes are many."""


EFFORT = {"fast": (40_000, 2), "normal": (400_000, 10), "high": (3_000_000, 50)}
"""Moves of `best` by its effort: in all, and for each record."""

JUDGING = 8
"""Where a model judges more than the number of records, a move costs so many times more."""


def start(space: Space, constraint: Constraint, check: Check) -> Runs:
    """Clusters of MDAV (Domingo-Ferrer and Torra 2005) in z-scores. O(n * 8192 / k) time, O(n) memory."""
    least = 2 * constraint.least

    def enough(tuples: Ints) -> bool:
        return int(space.counts[tuples].sum()) >= least

    at = places(space, "std")
    tuples, clusters, counts = [], [], []
    made = 0
    for cell in cells(space, CELL, enough):
        part = space if len(cell) == len(space.counts) else space.part(cell)
        found = grow(part, FarthestFromAverage(part, constraint.least, at), check)
        runs = found if isinstance(found, Runs) else Runs.from_labels(part, found)
        tuples.append(cell[runs.tuples])
        clusters.append(runs.clusters.astype(np.int64) + made)
        counts.append(runs.counts)
        made += runs.clusters_most
    return Runs.of(np.concatenate(tuples), np.concatenate(clusters), np.concatenate(counts))


def moves(space: Space, constraint: Constraint, effort: str) -> int:
    """Moves of the search by effort: so many, and so many more for each record; fewer where groups have more than ten
    records, as a cut takes the square of that, and where a model judges more than their number."""
    whole, each = EFFORT[effort]
    share = min(10 / constraint.least, 1.0) ** 2 / (1 if constraint.counts_records(space) else JUDGING)
    return max(int((whole + each * space.rows) * share), 1)
