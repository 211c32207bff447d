"""The tuples of a table as nodes in arrays: a trie over the attributes with few values, with trees of boxes below.

As an alternative that is faster to build, blocks of neighbouring tuples.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dbanon.encoding.encoded_table import Codes, EncodedTable, Ints
from dbanon.kernels.index_arrays import Axes, BlockArrays, TupleBlocks, TupleTree


def build_trie(
    space: EncodedTable, tabular: Sequence[int], axis_codes: Codes, axes: Axes, remaining_of: Ints
) -> TupleTree:
    """Build the trie over the attributes with few values and the trees of boxes below it, as arrays by node.

    Args:
        space: The encoded table.
        tabular: The attributes with few values; one level of the trie each, in this order.
        axis_codes: (tuples, axes) codes of the other attributes, the axes; if there are none, the tuples are the leaves
            of the trie.
        axes: The places on the axes.
        remaining_of: (tuples,) remaining records of each tuple; kept by reference.

    O(n log^2 n) time.
    """
    from dbanon.kernels.index_tree import aggregate_up, build_boxes

    codes, tuples, n_axes = space.codes, len(space.codes), axis_codes.shape[1]
    order, run_starts = _sort_tuples(codes, tabular)
    level_starts = np.cumsum([0, *(len(b) for b in run_starts)])
    n_trie, size = int(level_starts[-1]), int(level_starts[-1]) + (2 * tuples if n_axes else 0)
    first_child, n_children, code, level = np.zeros((4, size), np.int32)
    parent, tuple_ = np.full((2, size), -1, np.int32)
    boxes = np.zeros((size, 2 * n_axes), np.int32)
    for depth, (parent_starts, child_starts) in enumerate(pairwise(run_starts)):
        parent_index = np.searchsorted(parent_starts, child_starts, side="right") - 1
        parents, children = (
            slice(level_starts[depth], level_starts[depth + 1]),
            slice(level_starts[depth + 1], level_starts[depth + 2]),
        )
        parent[children], level[children] = level_starts[depth] + parent_index, depth + 1
        n_children[parents] = np.bincount(parent_index, minlength=len(parent_starts))
        first_child[parents] = level_starts[depth + 1] + np.searchsorted(parent_index, np.arange(len(parent_starts)))
        code[children] = codes[order[child_starts], tabular[depth]]
    if n_axes:
        level[n_trie:] = len(tabular)
        n_nodes = build_boxes(
            order, run_starts[-1], np.append(run_starts[-1][1:], tuples), int(level_starts[-2]), n_trie,
            axis_codes, axes, (first_child, n_children, parent, tuple_, boxes),
        )  # fmt: skip
        first_child, n_children, code, level, parent, tuple_, boxes = (
            a[:n_nodes].copy() for a in (first_child, n_children, code, level, parent, tuple_, boxes)
        )
        boxes[0, 0::2], boxes[0, 1::2] = axis_codes.min(axis=0), axis_codes.max(axis=0)
    else:
        tuple_[level_starts[-2] : level_starts[-1]] = order
    leaf = np.zeros(tuples, np.int32)
    nodes = np.flatnonzero(tuple_ >= 0)
    leaf[tuple_[nodes]] = nodes
    first, remaining = np.full(len(parent), tuples, np.int32), np.zeros(len(parent), np.int64)
    first[nodes], remaining[nodes] = tuple_[nodes], remaining_of[tuple_[nodes]]
    aggregate_up(parent, first, remaining)
    return TupleTree(
        leaf, parent, remaining, remaining_of, first_child, n_children, code, level, tuple_, first, boxes,
        np.zeros(1, np.int64),
    )  # fmt: skip


def _sort_tuples(codes: Codes, tabular: Sequence[int]) -> tuple[Ints, list[Ints]]:
    """Sort the tuples by the codes of some columns, and find where runs of equal codes begin.

    Args:
        codes: (tuples, columns) codes.
        tabular: The indices of the columns to sort by, the most significant first.

    Returns:
        The tuple numbers in sorted order; and for i = 0, 1, ..., len(tabular) the offsets in that order at which a run
        of tuples with equal codes in the first i of these columns begins.
    """
    order = np.lexsort([codes[:, j] for j in reversed(tabular)]) if tabular else np.arange(len(codes))
    run_starts, is_start = [np.zeros(1, np.int64)], np.zeros(len(codes), bool)
    is_start[:1] = True
    for j in tabular:
        column = codes[order, j]
        is_start[1:] |= column[1:] != column[:-1]
        run_starts.append(np.flatnonzero(is_start))
    return order.astype(np.int64), run_starts


MAX_BLOCK_TUPLES = 64
"""Maximum number of tuples per block."""


def build_blocks(
    space: EncodedTable, tabular: Sequence[int], axis_codes: Codes, axes: Axes, remaining_of: Ints
) -> BlockArrays:
    """Divide the tuples into blocks of at most MAX_BLOCK_TUPLES neighbouring tuples.

    All tuples of a block have equal codes in the attributes `tabular`; a run of such tuples that is too long is halved
    along the axes. It is an alternative to `build_trie` that is faster to build, with the same arguments.

    Args:
        space: The encoded table.
        tabular: The attributes with few values.
        axis_codes: (tuples, axes) codes of the other attributes, the axes.
        axes: The places on the axes.
        remaining_of: (tuples,) remaining records of each tuple; kept by reference.
    """
    from dbanon.kernels.block_search import cut_blocks, shrink_blocks

    codes, tuples = space.codes, len(space.codes)
    order, (*_, run_starts) = _sort_tuples(codes, tabular)
    block_starts = np.empty(tuples, np.int64)
    n_blocks = cut_blocks(
        order,
        run_starts,
        np.append(run_starts[1:], tuples),
        MAX_BLOCK_TUPLES,
        axis_codes,
        axes,
        block_starts,
    )
    edges = np.append(np.sort(block_starts[:n_blocks]), tuples)
    block_of = np.empty(tuples, np.int64)
    block_of[order] = np.repeat(np.arange(n_blocks), np.diff(edges))
    numbers = np.zeros((2, n_blocks), np.int64)
    boxes = np.zeros((2, n_blocks, axis_codes.shape[1]), np.int64)
    blocks = TupleBlocks(
        order, edges, numbers[0], numbers[1], boxes[0], boxes[1], np.zeros(boxes[0].shape, np.int64), edges[1:].copy(),
        block_of, remaining_of, np.ascontiguousarray(codes[order[edges[:-1]]][:, tabular]),
    )  # fmt: skip
    shrink_blocks(blocks, axis_codes, axes)
    return BlockArrays(blocks, *np.zeros((3, n_blocks), np.int64))
