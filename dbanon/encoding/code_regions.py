"""The codes of an attribute in a few regions of neighbours, and what is known of the distances between regions."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dbanon.encoding.distance import CategoricalDistances, NumericDistances
from dbanon.encoding.encoded_table import CategoricalAttribute, Codes, Floats, Ints

MAX_REGIONS = 14
"""Most regions of an attribute, NULL aside."""

KacpcDistances = NumericDistances | CategoricalDistances
"""The distances of KACPC."""


@dataclass(frozen=True)
class AttributeRegions:
    """An attribute in regions; NULL is one more, the last.

    region (values + 1,): that of each code; ends (regions, 2): the least and greatest place of a number; pairs (regions
    * regions, 2): the least and greatest distance of two values of a hierarchy, which differ for a region of several
    values and itself. place (values + 1,): of a number, or the node of a category; step: that of each code; nodes
    (nodes, 2): parent and the code after the last below; way: see dbanon.encoding.distance.
    """

    region: npt.NDArray[np.uint8]
    ends: Ints
    pairs: Ints
    place: Ints
    step: npt.NDArray[np.uint8]
    nodes: Codes
    way: Floats

    @property
    def number(self) -> int:
        """How many regions there are."""
        return len(self.ends)


def attribute_regions(distances: KacpcDistances, tuple_counts: Ints) -> AttributeRegions:
    """Return the regions of an attribute; `tuple_counts`: how many have each value."""
    values = len(tuple_counts)
    if isinstance(distances, NumericDistances):
        begins = _even_begins(np.arange(values), tuple_counts)
        bounds = np.column_stack((distances.places[begins], distances.places[np.append(begins, values)[1:] - 1]))
        return AttributeRegions(
            _region_of_code(begins, values), _append_null_row(bounds), np.zeros((0, 2), np.int64),
            np.append(distances.places, 0),
            np.zeros(values + 1, np.uint8), np.zeros((0, 2), np.int32), np.zeros((0, 1)),
        )  # fmt: skip
    distance = distances.distance
    begins = _subtree_begins(distance.tree, distance.last, tuple_counts)
    return AttributeRegions(
        _region_of_code(begins, values), np.zeros((len(begins) + 1, 2), np.int64),
        _pair_distances(distances, begins, values),
        np.append(distance.tree.node, 0), np.append(distance.step, 0).astype(np.uint8),
        np.column_stack((distance.tree.parent, distance.last)).astype(np.int32), distance.way,
    )  # fmt: skip


def _region_of_code(begins: Ints, values: int) -> npt.NDArray[np.uint8]:
    """Return the region of each code, NULL the last."""
    return np.repeat(np.arange(len(begins) + 1), np.diff(begins, append=[values, values + 1])).astype(np.uint8)


def _append_null_row(bounds: Ints) -> Ints:
    return np.concatenate((bounds, np.zeros((1, 2), np.int64))).astype(np.int64)


def _even_begins(begins: Ints, tuple_counts: Ints) -> Ints:
    """Of ascending codes at which a region may begin, those of at most REGIONS with about as many tuples each."""
    if len(begins) <= MAX_REGIONS:
        return begins
    tuples_before = np.cumsum(tuple_counts) - tuple_counts
    places = np.searchsorted(tuples_before[begins], np.arange(MAX_REGIONS) * tuple_counts.sum() / MAX_REGIONS)
    return np.asarray(begins[np.unique(np.minimum(places, len(begins) - 1))])


def _subtree_begins(tree: CategoricalAttribute, last: Ints, tuple_counts: Ints) -> Ints:
    """First codes of regions of whole subtrees: the one with most tuples is parted while there are at most REGIONS.

    Children of the root that are too many are parted evenly.
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
    """Return the least and greatest distances between regions.

    Values of one depth in a region are as far from another.
    """
    size = len(begins) + 1
    least, greatest = np.zeros((2, size, size), np.int64)
    for region, (begin, end) in enumerate(pairwise([*begins.tolist(), values])):
        _, first_of_depth = np.unique(distances.distance.step[begin:end], return_index=True)
        rows = np.array([distances.row(begin + offset)[:-1] for offset in first_of_depth.tolist()])
        least[region, :-1] = np.minimum.reduceat(rows, begins, axis=1).min(axis=0)
        greatest[region, :-1] = np.maximum.reduceat(rows, begins, axis=1).max(axis=0)
        least[region, region], greatest[region, region] = 0, min(end - begin - 1, 1)
    return np.stack((least.ravel(), greatest.ravel()), axis=1)
