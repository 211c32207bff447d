"""The codes of an attribute in a few regions of neighbours, and what is known of the distances between regions."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dbanon.encoding.distance import Axis, Categories
from dbanon.encoding.encoded_table import Codes, Floats, Ints, Tree

REGIONS = 14
"""Most regions of an attribute, NULL aside."""

KACPC = Axis | Categories
"""The distances of KACPC."""


@dataclass(frozen=True)
class Regions:
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


def regions(table: KACPC, tuples: Ints) -> Regions:
    """Return the regions of an attribute; `tuples`: how many have each value."""
    values = len(tuples)
    if isinstance(table, Axis):
        begins = _even(np.arange(values), tuples)
        ends = np.column_stack((table.places[begins], table.places[np.append(begins, values)[1:] - 1]))
        return Regions(
            _region(begins, values), _with_null(ends), np.zeros((0, 2), np.int64), np.append(table.places, 0),
            np.zeros(values + 1, np.uint8), np.zeros((0, 2), np.int32), np.zeros((0, 1)),
        )  # fmt: skip
    distance = table.distance
    begins = _subtrees(distance.tree, distance.last, tuples)
    return Regions(
        _region(begins, values), np.zeros((len(begins) + 1, 2), np.int64), _pairs(table, begins, values),
        np.append(distance.tree.node, 0), np.append(distance.step, 0).astype(np.uint8),
        np.column_stack((distance.tree.parent, distance.last)).astype(np.int32), distance.way,
    )  # fmt: skip


def _region(begins: Ints, values: int) -> npt.NDArray[np.uint8]:
    """Return the region of each code, NULL the last."""
    return np.repeat(np.arange(len(begins) + 1), np.diff(begins, append=[values, values + 1])).astype(np.uint8)


def _with_null(ends: Ints) -> Ints:
    return np.concatenate((ends, np.zeros((1, 2), np.int64))).astype(np.int64)


def _even(begins: Ints, tuples: Ints) -> Ints:
    """Of ascending codes at which a region may begin, those of at most REGIONS with about as many tuples each."""
    if len(begins) <= REGIONS:
        return begins
    before = np.cumsum(tuples) - tuples
    at = np.searchsorted(before[begins], np.arange(REGIONS) * tuples.sum() / REGIONS)
    return np.asarray(begins[np.unique(np.minimum(at, len(begins) - 1))])


def _subtrees(tree: Tree, last: Ints, tuples: Ints) -> Ints:
    """First codes of regions of whole subtrees: the one with most tuples is parted while there are at most REGIONS.

    Children of the root that are too many are parted evenly.
    """
    weight = np.append(0, np.cumsum(tuples))
    first = np.searchsorted(tree.node, np.arange(len(tree.parent)))
    whole, parted = [0], np.zeros(0, np.int64)
    while whole:
        node = max(whole, key=lambda n: int(weight[last[n]] - weight[first[n]]))
        whole.remove(node)
        below = np.flatnonzero(tree.parent == node)
        below = below[first[below] < last[below]]
        own = first[node : node + 1] if first[node] < len(tuples) and tree.node[first[node]] == node else first[:0]
        if len(whole) + len(parted) + len(below) + len(own) > REGIONS:
            if node == 0:
                return _even(np.concatenate((own, first[below])), tuples)
            parted = np.append(parted, first[node])
            continue
        parted = np.concatenate((parted, own))
        whole += below.tolist()
    return np.sort(parted)


def _pairs(table: Categories, begins: Ints, values: int) -> Ints:
    """Return the least and greatest distances between regions.

    Values of one depth in a region are as far from another.
    """
    size = len(begins) + 1
    near, far = np.zeros((2, size, size), np.int64)
    for c, (begin, end) in enumerate(pairwise([*begins.tolist(), values])):
        _, some = np.unique(table.distance.step[begin:end], return_index=True)
        rows = np.array([table.row(begin + s)[:-1] for s in some.tolist()])
        near[c, :-1] = np.minimum.reduceat(rows, begins, axis=1).min(axis=0)
        far[c, :-1] = np.maximum.reduceat(rows, begins, axis=1).max(axis=0)
        near[c, c], far[c, c] = 0, min(end - begin - 1, 1)
    return np.stack((near.ravel(), far.ravel()), axis=1)
