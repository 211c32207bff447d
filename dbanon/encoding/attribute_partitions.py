"""The attributes of a space in parts, a few together, and its tuples by the regions in which they stand there: what
answers where few tuples repeat, and attributes or their values are many. See dbanon.kernels.candidate_search."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dbanon.encoding.code_regions import KACPC, Regions, regions
from dbanon.encoding.distance import Categories
from dbanon.encoding.encoded_table import Codes, Ints, Space
from dbanon.kernels.arrays import CandidateArrays, PartIndex

PART = 4096
"""Most places of a part: a region of each of its attributes."""

CANDIDATES = 256
"""Records whose sums are kept, of which one is the next seed."""


class Parts:
    """Takes groups from the tuples that are left; `left` is changed in place.

    Builds in O(tuples * (attributes + parts * log tuples)) time.
    """

    def __init__(self, space: Space, tables: Sequence[KACPC], left: Ints) -> None:
        values = [a.values for a in space.attributes]
        tuples = [np.bincount(space.codes[:, j], minlength=v + 1)[:-1] for j, v in enumerate(values)]
        own = [regions(table, number) for table, number in zip(tables, tuples, strict=True)]
        order = sorted(range(len(own)), key=lambda j: -own[j].number)
        codes = np.ascontiguousarray(space.codes[:, order])
        own = [own[j] for j in order]
        form = _form([tables[j] for j in order], own)
        self._index = PartIndex(codes, left, form, *_posts(codes, own))
        by_value, by_way = np.zeros((2, len(form[2])), np.int64), np.zeros((2, len(form[6])), np.int64)
        by_region = np.zeros(len(form[7]), np.int64)
        seen = by_value[0], *by_way, by_value[1], by_region, np.zeros(len(by_region), np.int8)
        candidates, sums = np.zeros((2, CANDIDATES + 1), np.int64)
        self._kept = CandidateArrays(seen, candidates, sums, np.array([0, -1, 0, int(left.sum()), 0], np.int64))

    def groups(self, k: int, begin: int, members: Ints, seeds: Ints) -> tuple[int, int]:
        """Make as many groups as `members` and `seeds` have room for; return the rows used and the groups made."""
        from dbanon.kernels.candidate_search import gather_parts

        used, made = gather_parts(self._index, self._kept, k, begin, members, seeds)
        return int(used), int(made)


def _form(tables: Sequence[KACPC], own: Sequence[Regions]) -> tuple[Any, ...]:
    """All that is known of the attributes, one after another: a row of numbers each (kind, values, distance of NULL;
    where its values, nodes, ways, regions and pairs of regions begin; steps, regions and nodes), and the arrays."""
    sizes = np.array([(len(c.region), len(c.nodes), c.way.size, c.number, len(c.pairs)) for c in own], np.int64)
    values, nodes, ways, first, pairs = (np.cumsum(sizes, axis=0) - sizes).T
    rows = []
    scales = np.ones((len(own), 2))
    for j, (table, c) in enumerate(zip(tables, own, strict=True)):
        is_tree = c.way.size > 0
        place = (values[j], nodes[j], ways[j], c.way.shape[1], first[j], c.number, pairs[j], len(c.nodes))
        rows.append((is_tree, len(c.region) - 1, table.null, *place))
        if isinstance(table, Categories):
            scales[j] = table.weight, table.scale
    arrays = [[getattr(c, name) for c in own] for name in ("place", "step", "region", "nodes")]
    arrays += [[c.way.ravel() for c in own], [c.ends for c in own], [c.pairs for c in own]]
    return np.array(rows, np.int64), scales, *(np.concatenate(a) for a in arrays)


def _posts(codes: Codes, own: Sequence[Regions]) -> tuple[Ints, tuple[Any, ...]]:
    """The parts (first attribute, the one after the last, where the part begins among all, its size), and the tuples by
    their place in each."""
    edges, size, sizes = [0], 1, []
    for j, c in enumerate(own):
        if j and size * c.number > PART:
            edges.append(j)
            sizes.append(size)
            size = 1
        size *= c.number
    edges, sizes = [*edges, len(own)], [*sizes, size]
    at = np.cumsum([0, *sizes])
    signature, order = np.zeros((len(codes), len(sizes)), np.int32), np.empty((len(sizes), len(codes)), np.int32)
    begins, ends = np.empty((2, int(at[-1])), np.int64)
    for p, (first, end) in enumerate(pairwise(edges)):
        for j in range(first, end):
            signature[:, p] = signature[:, p] * own[j].number + own[j].region[codes[:, j]]
        order[p] = np.argsort(signature[:, p], kind="stable")
        until = np.cumsum(np.bincount(signature[:, p], minlength=sizes[p]))
        here = slice(at[p], at[p + 1])
        begins[here], ends[here] = np.append(0, until[:-1]), until
    parts = np.column_stack((edges[:-1], edges[1:], at[:-1], sizes)).astype(np.int64)
    return parts, (signature, order, begins, ends)
