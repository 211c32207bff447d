"""The tuples of a space as nodes in arrays: a trie over the attributes with few values, and below each of its paths a
tree of boxes over the others. Or, with less to build, as blocks of neighbours."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dbanon.encoding.encoded_table import Codes, Ints, Space
from dbanon.kernels.arrays import BlockArrays, BoxNodes


def trie(
    space: Space, tabular: Sequence[int], axis_codes: Codes, axis: tuple[Ints, ...], left_of: Ints
) -> tuple[Any, ...]:
    """The nodes, in arrays: leaf (node of a tuple), parent, left (records below), left of each tuple, kid and kids
    (first child and how many; children are neighbours), code and level of trie nodes, tuple of a leaf or -1, first
    (least tuple below), boxes (least and greatest code below on each axis), steps (values and nodes that searches have
    looked at). O(n log^2 n) time."""
    from dbanon.kernels.index_tree import build_boxes, gather_up

    codes, tuples, axes = space.codes, len(space.codes), axis_codes.shape[1]
    order, begins = _sorted(codes, tabular)
    base = np.cumsum([0, *(len(b) for b in begins)])
    trie, size = int(base[-1]), int(base[-1]) + (2 * tuples if axes else 0)
    kid, kids, code, level = np.zeros((4, size), np.int32)
    parent, tuple_ = np.full((2, size), -1, np.int32)
    boxes = np.zeros((size, 2 * axes), np.int32)
    for depth, (above, below) in enumerate(pairwise(begins)):
        of = np.searchsorted(above, below, side="right") - 1
        here, next_ = slice(base[depth], base[depth + 1]), slice(base[depth + 1], base[depth + 2])
        parent[next_], level[next_] = base[depth] + of, depth + 1
        kids[here] = np.bincount(of, minlength=len(above))
        kid[here] = base[depth + 1] + np.searchsorted(of, np.arange(len(above)))
        code[next_] = codes[order[below], tabular[depth]]
    last = slice(base[-2], base[-1])
    if axes:
        level[trie:] = len(tabular)
        ends = np.append(begins[-1][1:], tuples)
        used = build_boxes(
            order, begins[-1], ends, int(base[-2]), trie, axis_codes, axis[:2],
            BoxNodes(kid, kids, parent, tuple_, boxes),
        )  # fmt: skip
        kid, kids, code, level, parent, tuple_, boxes = (
            a[:used].copy() for a in (kid, kids, code, level, parent, tuple_, boxes)
        )
        boxes[0, 0::2], boxes[0, 1::2] = axis_codes.min(axis=0), axis_codes.max(axis=0)
    else:
        tuple_[last] = order
    leaf = np.zeros(tuples, np.int32)
    nodes = np.flatnonzero(tuple_ >= 0)
    leaf[tuple_[nodes]] = nodes
    first, left = np.full(len(parent), tuples, np.int32), np.zeros(len(parent), np.int64)
    first[nodes], left[nodes] = tuple_[nodes], left_of[tuple_[nodes]]
    gather_up(parent, first, left)
    return leaf, parent, left, left_of, kid, kids, code, level, tuple_, first, boxes, np.zeros(1, np.int64)


def _sorted(codes: Codes, tabular: Sequence[int]) -> tuple[Ints, list[Ints]]:
    """Return the tuples sorted by some columns, and where runs of equal codes begin: in none of these columns, in the
    first, in the first two, ..."""
    order = np.lexsort([codes[:, j] for j in reversed(tabular)]) if tabular else np.arange(len(codes))
    begins, change = [np.zeros(1, np.int64)], np.zeros(len(codes), bool)
    change[:1] = True
    for j in tabular:
        column = codes[order, j]
        change[1:] |= column[1:] != column[:-1]
        begins.append(np.flatnonzero(change))
    return order.astype(np.int64), begins


BLOCK = 64
"""Most tuples of a block."""


def cut_into_blocks(
    space: Space, tabular: Sequence[int], axis_codes: Codes, axis: tuple[Ints, ...], left_of: Ints
) -> BlockArrays:
    """Return blocks of neighbouring tuples."""
    from dbanon.kernels.block_search import cut_blocks, fit_blocks

    codes, tuples = space.codes, len(space.codes)
    order, (*_, begins) = _sorted(codes, tabular)
    out = np.empty(tuples, np.int64)
    number = cut_blocks(order, begins, np.append(begins[1:], tuples), BLOCK, axis_codes, axis[0], axis[1], out)
    edges = np.append(np.sort(out[:number]), tuples)
    block_of = np.empty(tuples, np.int64)
    block_of[order] = np.repeat(np.arange(number), np.diff(edges))
    numbers = np.zeros((2, number), np.int64)
    boxes = np.zeros((2, number, axis_codes.shape[1]), np.int64)
    blocks = (
        order, edges, numbers[0], numbers[1], boxes[0], boxes[1], np.zeros(boxes[0].shape, np.int64), edges[1:].copy(),
        block_of, left_of,
    )  # fmt: skip
    fit_blocks(blocks, axis_codes, axis)
    codes_of = np.ascontiguousarray(codes[order[edges[:-1]]][:, tabular])
    return BlockArrays(blocks, codes_of, *np.zeros((3, number), np.int64))
