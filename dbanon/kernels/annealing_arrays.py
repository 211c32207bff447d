"""Arguments of the kernels that search for groups of least squares (see `annealing_moves`): named tuples of arrays."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dbanon.kernels.arrays import Floats, Ints


class NeighbourTree(NamedTuple):
    """Points in a tree of boxes, in which neighbours are searched for (see `knn_tree`).

    Attributes:
        order: (points,) int64: points in the order of the tree; those of a node are adjacent.
        begins, ends: (nodes,) int64: where the points of each node begin and end in order.
        kids: (nodes,) int64: the first of two adjacent children, 0 for a leaf.
        lows, highs: (nodes, axes) float64: least and greatest coordinates.
    """

    order: Ints
    begins: Ints
    ends: Ints
    kids: Ints
    lows: Floats
    highs: Floats


class GroupedRecords(NamedTuple):
    """Records and the groups that they are in.

    Attributes:
        points: (records, axes) float64: coordinates; their mean over all records is 0.
        group: (records,) int32: group of each record, -1 if it stays in its cluster.
        place: (records,) int32: its place among the members of the group.
        neighbours: (records, neighbours) int32: other records that are near.
    """

    points: Floats
    group: npt.NDArray[np.int32]
    place: npt.NDArray[np.int32]
    neighbours: npt.NDArray[np.int32]


class RecordGroups(NamedTuple):
    """Groups of records; those of size 0 are unused.

    Attributes:
        members: (groups, capacity) int32: records of each group.
        sizes: (groups,) int64: their number.
        sums: (groups, axes) float64: sum of their points.
        gains: (groups,) float64: squared length of that sum, divided by the size.
    """

    members: npt.NDArray[np.int32]
    sizes: Ints
    sums: Floats
    gains: Floats


class GroupModels(NamedTuple):
    """The arrays by which groups are checked against k and the privacy models (see `model_check.is_valid_group`).

    Attributes:
        row_of: int64: row of each record in the arrays of the models; empty if only the number of records counts.
        record_model: `RecordModel` or None.
        person_model: `PersonModel` or None.
        counts, extra: As in `ModelScratch`.
        model_rows: (greatest size,) int32: scratch.
    """

    row_of: Ints
    record_model: Any
    person_model: Any
    counts: Ints
    extra: Any
    model_rows: npt.NDArray[np.int32]


class CutScratch(NamedTuple):
    """Scratch for cutting the records of a few groups again (see `microaggregation_moves.recut_groups`).

    Attributes:
        group_set: (groups,) int64: the groups.
        pool: (records,) int32: their records.
        line_places, spare: (records,) float64, int32: places and counts for sorting.
        sums: (axes,) float64.
        total, back: (records + 1,) float64, int32: gain of the first records, and where their last group begins.
    """

    group_set: Ints
    pool: npt.NDArray[np.int32]
    line_places: Floats
    spare: npt.NDArray[np.int32]
    sums: Floats
    total: Floats
    back: npt.NDArray[np.int32]
