"""Where the search for the least squares starts: MDAV, in cells where tuples are many."""

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
