"""The initial clusters of the search for least squares: MDAV, within cells if there are many tuples."""

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.grow_clusters import grow_groups
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.nearest_neighbour.mdav import FarthestFromAverage, scaled_positions
from dbanon.encoding.coarse_partitions import coarse_partitions
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

MAX_DIFFERENCES, MIN_CELL_TUPLES = 4e9, 2048
"""Differences of numbers that MDAV may take, which are the square of the tuples over k, and the least tuples of a cell
for it where they were more."""


def initial_mdav_clusters(space: EncodedTable, constraint: Constraint, check: Check) -> RunLengthLabels:
    """Return clusters of MDAV (Domingo-Ferrer and Torra 2005) in z-scores.

    Where these would take too long, tuples are cut into cells first. O(n) memory.
    """
    min_records = 2 * constraint.min_records
    cell_tuples = int(
        max(MAX_DIFFERENCES * constraint.min_records / (len(space.counts) * len(space.attributes)), MIN_CELL_TUPLES)
    )

    def enough(tuples: Ints) -> bool:
        return int(space.counts[tuples].sum()) >= min_records

    positions = scaled_positions(space, "std")

    def clustered(cell: Ints) -> RunLengthLabels:
        part = space if len(cell) == len(space.counts) else space.subset(cell)
        return RunLengthLabels.from_assignment(
            part, grow_groups(part, FarthestFromAverage(part, constraint.min_records, positions), check)
        )

    return RunLengthLabels.concatenate(
        (cell, clustered(cell)) for cell in coarse_partitions(space, cell_tuples, enough)
    )
