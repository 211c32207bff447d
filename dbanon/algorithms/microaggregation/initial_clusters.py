"""The initial clusters of the search for the least squared error: MDAV, within cells if there are many tuples."""

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.grow_clusters import grow_groups
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.nearest_neighbour.mdav import FarthestFromAverage, scaled_positions
from dbanon.encoding.coarse_partitions import coarse_partitions
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

MAX_DIFFERENCES, MIN_CELL_TUPLES = 4e9, 2048
"""Greatest number of differences that MDAV may compute (the square of the tuples over k, times the attributes), and
least number of tuples of a cell if there would be more."""


def initial_mdav_clusters(space: EncodedTable, constraint: Constraint, check: Check) -> RunLengthLabels:
    """Return the clusters of MDAV (Domingo-Ferrer and Torra 2005) on numbers scaled by their standard deviations.

    If that would take too long, the tuples are cut into cells first, which are clustered separately. O(n) memory.
    """
    min_records = 2 * constraint.min_records
    cell_tuples = int(
        max(MAX_DIFFERENCES * constraint.min_records / (len(space.counts) * len(space.attributes)), MIN_CELL_TUPLES)
    )

    def enough(tuples: Ints) -> bool:
        """Return whether the tuples have enough records for two clusters."""
        return int(space.counts[tuples].sum()) >= min_records

    positions = scaled_positions(space, "std")

    def clustered(cell: Ints) -> RunLengthLabels:
        """Return the MDAV clusters of the tuples of one cell."""
        part = space if len(cell) == len(space.counts) else space.subset(cell)
        return RunLengthLabels.from_assignment(
            part, grow_groups(part, FarthestFromAverage(part, constraint.min_records, positions), check)
        )

    return RunLengthLabels.concatenate(
        (cell, clustered(cell)) for cell in coarse_partitions(space, cell_tuples, enough)
    )
