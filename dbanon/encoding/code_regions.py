"""Regions of neighbouring codes of an attribute, and bounds on the distances between regions."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dbanon.encoding.distance import CategoricalDistances, NumericDistances
from dbanon.encoding.encoded_table import CategoricalAttribute, Codes, Floats, Ints

MAX_REGIONS = 14
"""The largest number of regions of an attribute, without the one for NULL."""

UNKNOWN_DISTANCE = 2**62
"""More than any distance."""

KacpcDistances = NumericDistances | CategoricalDistances
"""The distances of KACPC."""


@dataclass(frozen=True)
class AttributeRegions:
    """The codes of one attribute, divided into regions of consecutive codes; NULL is the last region.

    Attributes:
        region_of: (values + 1,) region of each code.
        bounds: (regions, 2) least and greatest position of a numeric region; zeros for a hierarchy.
        pair_bounds: (regions * regions, 2) least and greatest distance between two regions of a hierarchy; empty for
            numbers.
        position_or_node: (values + 1,) position of a number, or node of a category.
        depth_index: (values + 1,) index of each category's depth among the depths that occur.
        nodes: (nodes, 2) parent of each node, and the code after the last value in its subtree.
        distance_to_ancestor: (nodes, depths) see `dbanon.encoding.distance`.
        least_distances: (values + 1,) at most the distance of each value to the nearest other value; 0 for NULL.
    """

    region_of: npt.NDArray[np.uint8]
    bounds: Ints
    pair_bounds: Ints
    position_or_node: Ints
    depth_index: npt.NDArray[np.uint8]
    nodes: Codes
    distance_to_ancestor: Floats
    least_distances: Ints

    @property
    def n_regions(self) -> int:
        """Number of regions, including the one for NULL."""
        return len(self.bounds)


def attribute_regions(distances: KacpcDistances, tuple_counts: Ints) -> AttributeRegions:
    """Divide the codes of an attribute into at most MAX_REGIONS regions, plus one for NULL.

    Regions of numbers have about equally many tuples each. Regions of categories are whole subtrees where possible.

    Args:
        distances: The KACPC distances of the attribute.
        tuple_counts: (values,) number of tuples with each value, without NULL.
    """
    values = len(tuple_counts)
    if isinstance(distances, NumericDistances):
        begins = _even_begins(np.arange(values), tuple_counts)
        bounds = np.column_stack((distances.positions[begins], distances.positions[np.append(begins, values)[1:] - 1]))
        return AttributeRegions(
            _region_of_code(begins, values), np.vstack((bounds, [(0, 0)])), np.zeros((0, 2), np.int64),
            np.append(distances.positions, 0),
            np.zeros(values + 1, np.uint8), np.zeros((0, 2), np.int32), np.zeros((0, 1)),
            _nearest_positions(distances.positions),
        )  # fmt: skip
    distance = distances.unscaled
    begins = _subtree_begins(distance.tree, distance.subtree_end, tuple_counts)
    return AttributeRegions(
        _region_of_code(begins, values), np.zeros((len(begins) + 1, 2), np.int64),
        _pair_distances(distances, begins, values),
        np.append(distance.tree.node, 0), np.append(distance.depth_index, 0).astype(np.uint8),
        np.column_stack((distance.tree.parent, distance.subtree_end)).astype(np.int32), distance.distance_to_ancestor,
        _nearest_categories(distances),
    )  # fmt: skip


def _region_of_code(begins: Ints, values: int) -> npt.NDArray[np.uint8]:
    """Return the (values + 1,) region (range of consecutive codes) of each code; NULL has the last region.

    `begins` has the first code of each region of values, ascending from 0; `values` is the number of values.
    """
    return np.repeat(np.arange(len(begins) + 1), np.diff(begins, append=[values, values + 1])).astype(np.uint8)


def _nearest_positions(positions: Ints) -> Ints:
    """Return the distance of each position to its nearest neighbour, and last 0 for NULL; `positions` ascend."""
    gaps = np.diff(positions)
    if len(gaps) == 0:
        return np.zeros(len(positions) + 1, np.int64)
    return np.concatenate((gaps[:1], np.minimum(gaps[:-1], gaps[1:]), gaps[-1:], [0]))


def _nearest_categories(distances: CategoricalDistances) -> Ints:
    """Return a lower bound of the distance of each category to any other one, and last 0 for NULL.

    For each ancestor, the second value is taken to be the one of least depth below it. O(values * depth).
    """
    unscaled, tree = distances.unscaled, distances.unscaled.tree
    least_depth = np.full(len(tree.parent), np.iinfo(np.int32).max, np.int64)
    least_depth[tree.node] = tree.depth[tree.node]
    for nodes in tree.levels[:0:-1]:
        np.minimum.at(least_depth, tree.parent[nodes], least_depth[nodes])
    depth_index = np.minimum(np.searchsorted(unscaled.depths, least_depth), max(len(unscaled.depths) - 1, 0))
    least_distances = np.full(tree.values, np.iinfo(np.int64).max)
    above = np.where(tree.is_inner[tree.node], tree.node, tree.parent[tree.node])
    while (above >= 0).any():
        ways = unscaled.distance_to_ancestor[above]
        distances_below = (
            ways[np.arange(tree.values), unscaled.depth_index] * ways[np.arange(tree.values), depth_index[above]]
        )
        distances_below = np.rint(distances_below * distances.weight * distances.scale)
        # A root with one child is no common ancestor; the distance to it may exceed 64 bits.
        distances_below = np.minimum(distances_below, UNKNOWN_DISTANCE).astype(np.int64)
        least_distances = np.where(above >= 0, np.minimum(least_distances, distances_below), least_distances)
        above = np.where(above >= 0, tree.parent[above], -1)
    return np.append(least_distances, 0)


def _even_begins(begins: Ints, tuple_counts: Ints) -> Ints:
    """Select at most MAX_REGIONS of the candidate codes as first codes of regions with about equally many tuples.

    Args:
        begins: The candidate codes, ascending; all are returned if they are few enough.
        tuple_counts: (values,) number of tuples with each value.
    """
    if len(begins) <= MAX_REGIONS:
        return begins
    tuples_before = np.cumsum(tuple_counts) - tuple_counts
    places = np.searchsorted(tuples_before[begins], np.arange(MAX_REGIONS) * tuple_counts.sum() / MAX_REGIONS)
    return np.asarray(begins[np.unique(np.minimum(places, len(begins) - 1))])


def _subtree_begins(tree: CategoricalAttribute, last: Ints, tuple_counts: Ints) -> Ints:
    """Divide a hierarchy into at most MAX_REGIONS whole subtrees, and return the first code of each, ascending.

    From the root on, the subtree with the most tuples is divided into its children (and the node's own value, if the
    node itself is a value) as long as the limit allows. If the root alone has too many children, they are grouped into
    regions with about equally many tuples.

    Args:
        tree: The hierarchy.
        last: (nodes,) the code after the last value in each node's subtree.
        tuple_counts: (values,) number of tuples with each value.
    """
    tuples_until = np.append(0, np.cumsum(tuple_counts))
    first = np.searchsorted(tree.node, np.arange(len(tree.parent)))
    open_subtrees, region_begins = [0], np.zeros(0, np.int64)
    while open_subtrees:
        node = max(open_subtrees, key=lambda n: int(tuples_until[last[n]] - tuples_until[first[n]]))
        open_subtrees.remove(node)
        children = np.flatnonzero(tree.parent == node)
        children = children[first[children] < last[children]]
        own_value = (
            first[node : node + 1] if first[node] < len(tuple_counts) and tree.node[first[node]] == node else first[:0]
        )
        if len(open_subtrees) + len(region_begins) + len(children) + len(own_value) > MAX_REGIONS:
            if node == 0:
                return _even_begins(np.concatenate((own_value, first[children])), tuple_counts)
            region_begins = np.append(region_begins, first[node])
            continue
        region_begins = np.concatenate((region_begins, own_value))
        open_subtrees += children.tolist()
    return np.sort(region_begins)


def _pair_distances(distances: CategoricalDistances, begins: Ints, values: int) -> Ints:
    """Return the least and greatest distance between each two regions, as a (regions * regions, 2) array.

    Values of equal depth in one region have the same distance to any value outside it, so one value per depth is
    examined. For a region paired with itself, the least distance is 0. The greatest one is that of its first value,
    which has its lowest common ancestor with the last one at the top of the region; if its values have several depths,
    it is UNKNOWN_DISTANCE. Distances to the last region, that of NULL, are 0.

    Args:
        distances: The distances of the attribute.
        begins: The first code of each region of values.
        values: Number of values.
    """
    size = len(begins) + 1
    least, greatest = np.zeros((2, size, size), np.int64)
    for region, (begin, end) in enumerate(pairwise([*begins.tolist(), values])):
        _, first_of_depth = np.unique(distances.unscaled.depth_index[begin:end], return_index=True)
        rows = np.array([distances.row(begin + offset)[:-1] for offset in first_of_depth.tolist()])
        least[region, :-1] = np.minimum.reduceat(rows, begins, axis=1).min(axis=0)
        greatest[region, :-1] = np.maximum.reduceat(rows, begins, axis=1).max(axis=0)
        least[region, region] = 0
        if len(first_of_depth) > 1:
            greatest[region, region] = UNKNOWN_DISTANCE
    return np.stack((least.ravel(), greatest.ravel()), axis=1)
