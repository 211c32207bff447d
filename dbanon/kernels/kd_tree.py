"""Tuples as points in a tree of boxes (k-d tree): find the nearest and the farthest remaining tuples.

A coordinate is the scaled place of a number, NaN for NULL, or the code of a category. Distances are squared differences
of numbers, 0 or 1 for categories and between NULL and a number; each term times its unit is rounded to a whole number.
Rounding keeps the order of differences, so bounds of boxes are exact too, and no tie is lost.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dbanon.kernels.arrays import Floats, Ints
from dbanon.kernels.halving import partition_at
from dbanon.kernels.heap import push_and_trim
from dbanon.kernels.jit import inlined_part, kernel, kernel_part

MAX_LEAF_TUPLES = 16
"""Maximum number of tuples of a leaf."""


class PointTree(NamedTuple):
    """The remaining tuples as points in a tree of boxes. The points of a node are at consecutive places of an order.

    Attributes:
        order: (tuples,) int64: tuple at each place.
        place_of: (tuples, 2) int64: place and leaf of each tuple.
        coordinates: (tuples, axes) float64, by place: scaled numbers (NaN for NULL), codes of categories.
        n_remaining: (tuples,) int64: remaining records of each tuple.
        n_steps: (1,) int64: number of visited boxes and points.
        begins, ends: (nodes,) int64: first place of each node, and the place after its last; of leaves, remaining ones.
        kids: (nodes,) int64: the first of two children, 0 for a leaf.
        parents: (nodes,) int64: the node above, -1 for the root.
        records: (nodes,) int64: remaining records below each node.
        first: (nodes,) int64: least tuple below each node.
        lows, highs: (nodes, axes) float64: least and greatest coordinate of the remaining tuples; a number without
            values has low above high.
        nulls: (nodes, axes) bool: whether NULL remains.
        numeric: (axes,) bool: whether the axis is a number; else it is a category.
        units: (axes,) int64: factor of the squared difference of numbers, and the distance of different categories.
    """

    order: Ints
    place_of: Ints
    coordinates: Floats
    n_remaining: Ints
    n_steps: Ints
    begins: Ints
    ends: Ints
    kids: Ints
    parents: Ints
    records: Ints
    first: Ints
    lows: Floats
    highs: Floats
    nulls: npt.NDArray[np.bool_]
    numeric: npt.NDArray[np.bool_]
    units: Ints


@kernel_part
def distance_to_place(i, place, coordinates, numeric, units):
    """Return the distance of the i-th point in the order of a tree to a place (coordinates; NaN for NULL).

    Args:
        i: Place of the point in the order of the tree.
        place: (axes,) float64 coordinates: scaled numbers, codes of categories; NaN for NULL.
        coordinates, numeric, units: As in `PointTree`, which would be slower to pass.
    """
    total = np.int64(0)
    for a in range(len(units)):
        x, q = coordinates[i, a], place[a]
        if numeric[a] and x == x and q == q:
            total += np.int64(np.rint((x - q) * (x - q) * units[a]))
        elif x != q and (x == x or q == q):
            total += units[a]
    return total


@inlined_part
def min_box_distance(tree, node, place):
    """Return the least possible distance of a point in the box of a node to a place (coordinates; NaN for NULL).

    Args:
        tree: `PointTree`.
        node: Number of the node.
        place: (axes,) float64 coordinates: scaled numbers, codes of categories; NaN for NULL.
    """
    total = np.int64(0)
    for a in range(len(tree.units)):
        low, high, q = tree.lows[node, a], tree.highs[node, a], place[a]
        if not tree.numeric[a]:
            if q < low or q > high:
                total += tree.units[a]
        elif q != q:
            if not tree.nulls[node, a]:
                total += tree.units[a]
        elif low > high:
            total += tree.units[a]
        else:
            offset = max(low - q, q - high, 0.0)
            axis_distance = np.int64(np.rint(offset * offset * tree.units[a]))
            total += min(axis_distance, tree.units[a]) if tree.nulls[node, a] else axis_distance
    return total


@inlined_part
def max_box_distance(tree, node, place):
    """Return the greatest possible distance of a point in the box of a node to a place (coordinates; NaN for NULL).

    Args:
        tree: `PointTree`.
        node: Number of the node.
        place: (axes,) float64 coordinates: scaled numbers, codes of categories; NaN for NULL.
    """
    total = np.int64(0)
    for a in range(len(tree.units)):
        low, high, q = tree.lows[node, a], tree.highs[node, a], place[a]
        if not tree.numeric[a]:
            if low != q or high != q:
                total += tree.units[a]
        elif low > high:
            if q == q:
                total += tree.units[a]
        elif q != q:
            total += tree.units[a]
        else:
            offset = max(q - low, high - q)
            axis_distance = np.int64(np.rint(offset * offset * tree.units[a]))
            total += max(axis_distance, tree.units[a]) if tree.nulls[node, a] else axis_distance
    return total


@kernel_part
def shrink_leaf(node, tree):
    """Recompute the box of a leaf, in place, from its remaining tuples.

    Args:
        node: Number of the leaf.
        tree: `PointTree`; the box is updated.
    """
    for a in range(tree.coordinates.shape[1]):
        low, high, null = np.inf, -np.inf, False
        for i in range(tree.begins[node], tree.ends[node]):
            x = tree.coordinates[i, a]
            if x == x:
                low, high = min(low, x), max(high, x)
            else:
                null = True
        tree.lows[node, a], tree.highs[node, a], tree.nulls[node, a] = low, high, null


@kernel
def build_kd_tree(codes, tree):
    """Build the tree over all tuples, by halving along the widest axis.

    Coordinates are reordered in place, from the order of tuples to that of the tree.

    Args:
        codes: (tuples, axes) codes, in the order of the coordinates.
        tree: `PointTree`; its order and its nodes are filled. Nodes that are not needed stay empty leaves.
    """
    source = tree.coordinates.copy()
    stack = np.empty(128, np.int64)
    tree.begins[0], tree.ends[0], tree.parents[0] = 0, len(tree.order), -1
    stack[0], top, n_nodes = 0, 1, 1
    while top > 0:
        top -= 1
        node = stack[top]
        begin, end = tree.begins[node], tree.ends[node]
        widest, axis = -1.0, 0
        for a in range(len(tree.units)):
            low, high, null = np.inf, -np.inf, False
            for i in range(begin, end):
                x = source[tree.order[i], a]
                if x == x:
                    low, high = min(low, x), max(high, x)
                else:
                    null = True
            tree.lows[node, a], tree.highs[node, a], tree.nulls[node, a] = low, high, null
            width = (high - low) * (high - low) * tree.units[a] if low <= high else 0.0
            if not tree.numeric[a] and low != high:
                width = 1.0 * tree.units[a]
            if null and low <= high:
                width = max(width, 1.0 * tree.units[a])
            if width > widest:
                widest, axis = width, a
        if end - begin <= MAX_LEAF_TUPLES:
            tree.kids[node] = 0
            total, first_tuple = np.int64(0), len(tree.order)
            for i in range(begin, end):
                tree.place_of[tree.order[i], 0], tree.place_of[tree.order[i], 1] = i, node
                total += tree.n_remaining[tree.order[i]]
                first_tuple = min(first_tuple, tree.order[i])
            tree.records[node], tree.first[node] = total, first_tuple
            continue
        middle = (begin + end) // 2
        partition_at(tree.order, begin, end, middle, codes, axis)
        tree.kids[node] = n_nodes
        for child, child_begin, child_end in ((n_nodes, begin, middle), (n_nodes + 1, middle, end)):
            tree.begins[child], tree.ends[child], tree.parents[child] = child_begin, child_end, node
            stack[top] = child
            top += 1
        n_nodes += 2
    for node in range(n_nodes - 1, -1, -1):
        if tree.kids[node] > 0:
            one = tree.kids[node]
            tree.records[node] = tree.records[one] + tree.records[one + 1]
            tree.first[node] = min(tree.first[one], tree.first[one + 1])
    for i in range(len(tree.order)):
        for a in range(len(tree.units)):
            tree.coordinates[i, a] = source[tree.order[i], a]


@kernel_part
def farthest_tuple(tree, place):
    """Return the remaining tuple that is farthest from a place (ties: the first); -1 if there is none.

    Args:
        tree: `PointTree`; its counter of steps is increased.
        place: (axes,) float64 coordinates: scaled numbers, codes of categories; NaN for NULL.
    """
    stack = np.empty((128, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, max_box_distance(tree, 0, place)
    top = 1
    highest, best_tuple, steps = np.int64(-1), np.int64(-1), np.int64(0)
    while top > 0:
        top -= 1
        node, bound = stack[top, 0], stack[top, 1]
        if bound < highest or (bound == highest and tree.first[node] > best_tuple):
            continue
        if tree.kids[node] == 0:
            steps += tree.ends[node] - tree.begins[node]
            for i in range(tree.begins[node], tree.ends[node]):
                total = distance_to_place(i, place, tree.coordinates, tree.numeric, tree.units)
                if total > highest or (total == highest and tree.order[i] < best_tuple):
                    highest, best_tuple = total, tree.order[i]
            continue
        steps += 2
        nearer = tree.kids[node]
        nearer_bound = max_box_distance(tree, nearer, place) if tree.records[nearer] > 0 else np.int64(-1)
        farther_bound = max_box_distance(tree, nearer + 1, place) if tree.records[nearer + 1] > 0 else np.int64(-1)
        farther = nearer + 1
        if farther_bound > nearer_bound:
            nearer, farther, nearer_bound, farther_bound = farther, nearer, farther_bound, nearer_bound
        if farther_bound >= max(highest, np.int64(0)):
            stack[top, 0], stack[top, 1] = farther, farther_bound
            top += 1
        if nearer_bound >= max(highest, np.int64(0)):
            stack[top, 0], stack[top, 1] = nearer, nearer_bound
            top += 1
    tree.n_steps[0] += steps
    return best_tuple


@kernel_part
def nearest_records(tree, place, wanted, sums, heap_tuples):
    """Search for the `wanted` remaining records nearest to a place (coordinates; NaN for NULL), ties by tuple.

    Returns the size of the heap (`sums`, `heap_tuples`), whose top is the farthest tuple, and how many records of this
    tuple are too many; if fewer than `wanted` remain in all, the negative number of those that are lacking.

    Args:
        tree: `PointTree`; its counter of steps is increased.
        place: (axes,) float64 coordinates: scaled numbers, codes of categories; NaN for NULL.
        wanted: Number of records.
        sums: Output: distances of the heap; with space for one more than `wanted`.
        heap_tuples: Output: tuples of the heap.
    """
    order, n_remaining, kids, records = tree.order, tree.n_remaining, tree.kids, tree.records
    stack = np.empty((128, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, 0
    top = 1 if wanted > 0 else 0
    size, n_held, steps = 0, np.int64(0), np.int64(0)
    while top > 0:
        top -= 1
        node, bound = stack[top, 0], stack[top, 1]
        if n_held >= wanted and (bound > sums[0] or (bound == sums[0] and tree.first[node] > heap_tuples[0])):
            continue
        if kids[node] == 0:
            steps += tree.ends[node] - tree.begins[node]
            for i in range(tree.begins[node], tree.ends[node]):
                total = distance_to_place(i, place, tree.coordinates, tree.numeric, tree.units)
                if n_held >= wanted and (total > sums[0] or (total == sums[0] and order[i] > heap_tuples[0])):
                    continue
                size, n_held = push_and_trim(sums, heap_tuples, size, n_held, total, order[i], n_remaining, wanted)
            continue
        steps += 2
        nearer, farther = kids[node], kids[node] + 1
        nearer_bound = min_box_distance(tree, nearer, place)
        farther_bound = min_box_distance(tree, farther, place)
        if farther_bound < nearer_bound:
            nearer, farther, nearer_bound, farther_bound = farther, nearer, farther_bound, nearer_bound
        if records[farther] > 0 and (n_held < wanted or farther_bound <= sums[0]):
            stack[top, 0], stack[top, 1] = farther, farther_bound
            top += 1
        if records[nearer] > 0 and (n_held < wanted or nearer_bound <= sums[0]):
            stack[top, 0], stack[top, 1] = nearer, nearer_bound
            top += 1
    tree.n_steps[0] += steps
    return size, n_held - wanted


@kernel_part
def remove_records(t, count, tree):
    """Remove `count` records of tuple `t` from the tree, in place, and shrink boxes to the tuples that remain.

    Args:
        t: Number of the tuple.
        count: Number of records.
        tree: `PointTree`; updated in place.
    """
    tree.n_remaining[t] -= count
    node = tree.place_of[t, 1]
    leaf = node
    while node >= 0:
        tree.records[node] -= count
        node = tree.parents[node]
    if tree.n_remaining[t] > 0:
        return
    tree.ends[leaf] -= 1
    removed_place, last = tree.place_of[t, 0], tree.ends[leaf]
    other = tree.order[last]
    tree.order[removed_place], tree.order[last] = other, t
    tree.place_of[other, 0], tree.place_of[t, 0] = removed_place, last
    for a in range(tree.coordinates.shape[1]):
        tree.coordinates[removed_place, a], tree.coordinates[last, a] = (
            tree.coordinates[last, a],
            tree.coordinates[removed_place, a],
        )
    shrink_leaf(leaf, tree)
    node = tree.parents[leaf]
    while node >= 0:
        one, is_unchanged = tree.kids[node], True
        other = one + 1
        if tree.records[one] == 0:
            one = other
        if tree.records[other] == 0:
            other = one
        for a in range(len(tree.units)):
            low, high = min(tree.lows[one, a], tree.lows[other, a]), max(tree.highs[one, a], tree.highs[other, a])
            null = tree.nulls[one, a] or tree.nulls[other, a]
            if low != tree.lows[node, a] or high != tree.highs[node, a] or null != tree.nulls[node, a]:
                is_unchanged = False
            tree.lows[node, a], tree.highs[node, a], tree.nulls[node, a] = low, high, null
        if is_unchanged:
            return
        node = tree.parents[node]


@kernel_part
def copy_coordinates(t, tree, place):
    """Copy the coordinates of tuple `t` into the array `place`.

    Args:
        t: Number of the tuple.
        tree: `PointTree`.
        place: Output: (axes,) float64.
    """
    for a in range(len(place)):
        place[a] = tree.coordinates[tree.place_of[t, 0], a]


@kernel_part
def take_nearest_records(seed, n_others, tree, place, heap, members, n_rows):
    """Remove a record of the tuple `seed` and the `n_others` records nearest to it, and append them to `members`.

    Returns the number of rows of `members` that are used then.

    Args:
        seed: Number of the tuple.
        n_others: Number of other records.
        tree: `PointTree`; updated in place.
        place: Output: (axes,) coordinates of the seed.
        heap: Scratch for distances and tuples.
        members: Output: rows (tuple, number of records).
        n_rows: Number of rows of `members` that are used already.
    """
    copy_coordinates(seed, tree, place)
    members[n_rows, 0], members[n_rows, 1] = seed, 1
    remove_records(seed, np.int64(1), tree)
    sums, heap_tuples = heap
    size, surplus = nearest_records(tree, place, n_others, sums, heap_tuples)
    for i in range(size):
        count = tree.n_remaining[heap_tuples[i]] - (surplus if i == 0 else 0)
        members[n_rows + 1 + i, 0], members[n_rows + 1 + i, 1] = heap_tuples[i], count
        remove_records(heap_tuples[i], count, tree)
    return n_rows + 1 + size
