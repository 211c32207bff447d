"""MDAV-generic: microaggregation around the records that are farthest from the average."""

import math

import numpy as np

from dbanon.algorithms.base.assignments import AssignmentLog, RunLengthLabels
from dbanon.algorithms.base.grow_clusters import GrowthRules, grow_groups, limit_batch
from dbanon.algorithms.base.registry import LARGE, Assignment, Check, Options, register
from dbanon.encoding.coarse_partitions import coarse_partitions
from dbanon.encoding.encoded_table import Attribute, Codes, EncodedTable, Floats, Ints, NumericAttribute
from dbanon.encoding.tuple_tree import TuplePoints
from dbanon.kernels.arrays import FarthestTuples
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Choice
from dbanon.table_functions.parameters import Parameter

MIN_FARTHEST = 64
"""Least number of tuples farthest from the average that are remembered."""

MAX_DIFFERENCES, MIN_CELL_TUPLES = 4e9, 2048
"""Greatest number of differences that MDAV may compute (the square of the tuples over k, times the attributes), and
least number of tuples of a cell if there would be more."""


def mdav(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with MDAV-generic (Domingo-Ferrer and Torra 2005), published as intervals.

    The record farthest from the average of the remaining records takes the k - 1 nearest, then the record farthest from
    it does the same; the last k to 2k - 1 are a cluster. Distance: squared differences of numbers over their range (or
    standard deviation), 0 or 1 for categories; hierarchies are used to generalize only. With persons or other models a
    cluster has at least as many records as any of them needs; clusters that still violate the constraint are merged
    afterwards. O(n^2 / k) without the index, O(n) memory.
    """
    rules = FarthestFromAverage(space, constraint.min_records, scaled_positions(space, str(options["scale"])))
    return grow_groups(space, rules, check)


class FarthestFromAverage(GrowthRules):
    """Growth rules of MDAV: groups of k records around the record farthest from the average, two at a time.

    The second group is around the record farthest from the first one. The average is that of the remaining records. The
    last k to 2k - 1 records are a group.
    """

    n_queries = 2

    def __init__(self, space: EncodedTable, k: int, positions: list[Floats]) -> None:
        """Build a k-d tree of the tuples; `positions` are the scaled positions of each attribute's values."""
        units = np.array([round(a.weight * 2.0**30) for a in space.attributes], np.int64)
        self.k, self.points = k, TuplePoints(space, positions, units)
        self.index, self.log = self.points, AssignmentLog()
        self.totals = self.points.totals()
        n_farthest = max(4 * math.isqrt(len(space.counts)), MIN_FARTHEST)
        self.farthest = FarthestTuples(np.zeros((n_farthest, 2), np.int64), np.zeros(len(units)), np.array([0, 2**40]))

    def can_form_group(self) -> bool:
        """Return whether at least 2k records remain."""
        return self.points.records >= 2 * self.k

    def form_groups(self, first_number: int, max_groups: int) -> int:
        """Form about `max_groups` groups, log them from number `first_number` on, and return how many."""
        from dbanon.kernels.mdav import mdav_steps

        groups = limit_batch(max_groups, self.k)
        members = np.empty(((groups + 1) * (self.k + 1), 2), np.int64)  # they are formed two at a time
        used = mdav_steps(self.points.tree, self.totals, self.farthest, self.k, groups, members)
        return self.log.add_groups(members[:used], first_number)

    def assign_leftovers(self, n_groups: int, check: Check) -> None:
        """Make the remaining records, fewer than 2k, the last group, number `n_groups`."""
        tuples = np.flatnonzero(self.points.remaining)
        self.log.add(tuples, self.points.remaining[tuples], np.full(len(tuples), n_groups))


def scaled_positions(space: EncodedTable, scale: str) -> list[Floats]:
    """Return, for each attribute, the positions of a number's values over their range or standard deviation.

    `scale` is 'std' for the standard deviation, otherwise the range. The array is empty for a category.
    """
    return [_column_positions(space, a, space.codes[:, j], scale) for j, a in enumerate(space.attributes)]


def _column_positions(space: EncodedTable, attribute: Attribute, codes: Codes, scale: str) -> Floats:
    """Return the positions of a number's values over their range or (`scale` 'std') standard deviation, by code.

    The array is empty for a category, and zero if the values do not vary.
    """
    if not isinstance(attribute, NumericAttribute):
        return np.empty(0)
    positions = attribute.positions
    width = float(positions[-1]) if len(positions) else 0.0
    if scale == "std":
        has_value = codes < attribute.values
        values, counts = positions[codes[has_value]], space.counts[has_value]
        mean = float((values * counts).sum() / max(counts.sum(), 1))
        width = float(np.sqrt((counts * (values - mean) ** 2).sum() / max(counts.sum(), 1)))
    return positions / width if width > 0 else np.zeros(len(positions))


def initial_mdav_clusters(space: EncodedTable, constraint: Constraint, check: Check) -> RunLengthLabels:
    """Return the initial clusters of the search for the least squared error.

    They are those of MDAV (Domingo-Ferrer and Torra 2005) on numbers scaled by their standard deviations.

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


SCALE = Parameter(
    "scale",
    Choice(("range", "std")),
    "Divisor of differences of numbers: the range, or the standard deviation.",
    "range",
)

register(
    mdav,
    title="MDAV-generic",
    summary=(
        "MDAV-generic: forms clusters around the records farthest from the average, and publishes them as intervals."
    ),
    source="Domingo-Ferrer and Torra 2005; baseline of Wang et al. 2022",
    evidence="code",
    complexity="O(n^2 / k) time without the index, O(n) memory",
    own_parameters=(
        SCALE,
        LARGE,
    ),
)
