"""Where the search for the least squares starts: MDAV, in cells where tuples are many."""

from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.grow_clusters import grow
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.nearest_neighbour.mdav import FarthestFromAverage, places
from dbanon.encoding.coarse_partitions import coarse_partitions
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

WORK, CELL = 4e9, 2048
"""Differences of numbers that MDAV may take, which are the square of the tuples over k, and the least tuples of a cell
for it where they were more."""


def start(space: EncodedTable, constraint: Constraint, check: Check) -> Runs:
    """Return clusters of MDAV (Domingo-Ferrer and Torra 2005) in z-scores.

    Where these would take too long, tuples are cut into cells first. O(n) memory.
    """
    least = 2 * constraint.least
    cell_of = int(max(WORK * constraint.least / (len(space.counts) * len(space.attributes)), CELL))

    def enough(tuples: Ints) -> bool:
        return int(space.counts[tuples].sum()) >= least

    at = places(space, "std")

    def clustered(cell: Ints) -> Runs:
        part = space if len(cell) == len(space.counts) else space.subset(cell)
        return Runs.assigned(part, grow(part, FarthestFromAverage(part, constraint.least, at), check))

    return Runs.joined((cell, clustered(cell)) for cell in coarse_partitions(space, cell_of, enough))
