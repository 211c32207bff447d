"""Arguments of kernels that search for centers in a tree of boxes (see `centers`): named tuples of arrays."""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.arrays import Ints


class CenterAxes(NamedTuple):
    """The axes of coordinates, hierarchies first, then numbers.

    Attributes:
        is_hierarchy: (axes,) int64: 1 for a hierarchy, 0 for a number.
        null_distances: (axes,) int64: distance of a NULL to a value.
        node_starts: (axes + 1,) int64: where the nodes of each hierarchy begin; the last of them stands for NULL.
        parent: (nodes,) int64: the node above, -1 for the root.
        last: (nodes,) int64: the last node of the subtree.
        height: (nodes,) int64: distance of two different values of which the node is the lowest common ancestor.
    """

    is_hierarchy: Ints
    null_distances: Ints
    node_starts: Ints
    parent: Ints
    last: Ints
    height: Ints


class CenterBoxes(NamedTuple):
    """The boxes of a tree of centers.

    Attributes:
        bounds: (nodes, 2 * axes) int64: least and greatest coordinate, in turn, of the open centers below.
        kids: (nodes,) int64: the first of two adjacent children, 0 for a leaf.
        parents: (nodes,) int64: the node above, -1 for the root.
        first: (nodes,) int64: the least open center below, NO_CENTER if there is none.
        leaves: (centers,) int64: the leaf of each center, -1 if it has none.
    """

    bounds: Ints
    kids: Ints
    parents: Ints
    first: Ints
    leaves: Ints

    @classmethod
    def allocate(cls, n_centers: int, n_axes: int) -> "CenterBoxes":
        """Return uninitialized arrays for a tree of up to `n_centers` centers."""
        nodes = max(2 * n_centers - 1, 1)
        kids, parents, first = np.empty((3, nodes), np.int64)
        return cls(np.empty((nodes, 2 * n_axes), np.int64), kids, parents, first, np.empty(n_centers, np.int64))


class CenterTree(NamedTuple):
    """Points in a tree of boxes (see `centers`).

    Attributes:
        points: (points, axes) int64: their coordinates.
        axes: The axes.
        boxes: The boxes, which kernels build and update.
        room: Size of the stack of a search.
    """

    points: Ints
    axes: CenterAxes
    boxes: CenterBoxes
    room: int


class RecordTree(NamedTuple):
    """Tuples in a tree of boxes, and what searches within a distance have found (see `r_gather`).

    Attributes:
        tuples: The tuples as points in a tree of boxes.
        counts: (tuples,) int64: records of each tuple.
        counters: (3,) int64: see `N_VISITED`.
    """

    tuples: CenterTree
    counts: Ints
    counters: Ints


N_VISITED, LIMIT_FROM, LIMIT_BELOW = 0, 1, 2
"""Places in `RecordTree.counters`: visited boxes; the limits from the one and below the other give equal answers."""


class FlowEntries(NamedTuple):
    """The records that each tuple assigns to centers, as lists of entries; the first entry of tuple t is entry t.

    Attributes:
        centers: (entries,) int64: center of each entry.
        counts: (entries,) int64: number of records.
        following: (entries,) int64: next entry of the tuple, -1 for none.
        n_entries: (1,) int64: number of used entries.
    """

    centers: Ints
    counts: Ints
    following: Ints
    n_entries: Ints


class CenterTotals(NamedTuple):
    """The totals from which centers are computed that move as records join (see `assign_to_centers.add_to_center`).

    Attributes:
        sums, n_known: (centers, axes) int64: on numbers, the sum of the values, and their number.
        mode_counts: (centers, axes) int64: on hierarchies, how often the most frequent value occurs.
        keys, counts: int64: hash table of counts by center and value (see `assign_to_centers.count_value`).
        with_modes: Whether a center has the most frequent value of a hierarchy; else the lowest common ancestor.
    """

    sums: Ints
    n_known: Ints
    mode_counts: Ints
    keys: Ints
    counts: Ints
    with_modes: bool


class CenterSearch(NamedTuple):
    """Scratch of searches for the nearest center (see `centers.nearest_center`).

    Attributes:
        node_distances: (nodes,) int64: distances of a point to the nodes of hierarchies.
        row_values: (axes,) int64: the coordinates for which these are filled, -1 for none.
        stack: (room, 2) int64.
        n_steps: (1,) int64: number of visited boxes.
    """

    node_distances: Ints
    row_values: Ints
    stack: Ints
    n_steps: Ints
