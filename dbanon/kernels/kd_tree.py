"""Tuples as points in a tree of boxes (k-d tree): find the nearest and the farthest remaining tuples.

A coordinate is the scaled place of a number, NaN for NULL, or the code of a category. Distances are squared differences
of numbers, 0 or 1 for categories and between NULL and a number; each term times its unit is rounded to a whole number.
Rounding keeps the order of differences, so bounds of boxes are exact too, and no tie is lost.

`terms`: numeric (whether a coordinate is a number) and unit. `points`: order (tuple by place), place_of (place and leaf
by tuple), coordinates (by place), remaining (records by tuple), steps (visited boxes and points). `nodes`: begin and
end (places of a leaf), kid (the first of two children, 0 for a leaf), parent, records (remaining below), first (least
tuple below); `boxes`: low, high, null (nodes, axes) of the remaining tuples: a number without values has low above
high.
"""

import numpy as np

from dbanon.kernels.halving import partition_at
from dbanon.kernels.heap import push_and_trim
from dbanon.kernels.jit import kernel, kernel_part

MAX_LEAF_TUPLES = 16
"""Maximum number of tuples of a leaf."""


@kernel_part
def distance_to_place(points, i, place, terms):
    """Return the distance of the i-th point in the order of the tree to a place (coordinates; NaN for NULL).

    Args:
        points: The points: tuples in tree order; place and leaf of each tuple; coordinates by place; remaining records
            of each tuple; a counter of steps.
        i: Place of the point in the order of the tree.
        place: (axes,) float64 coordinates: scaled numbers, codes of categories; NaN for NULL.
        terms: The axes: whether each is a number, and the unit by which its squared difference is multiplied.
    """
    numeric, unit = terms
    coordinates = points[2]
    total = np.int64(0)
    for a in range(len(unit)):
        x, q = coordinates[i, a], place[a]
        if numeric[a] and x == x and q == q:
            total += np.int64(np.rint((x - q) * (x - q) * unit[a]))
        elif x != q and (x == x or q == q):
            total += unit[a]
    return total


@kernel_part
def min_box_distance(boxes, node, place, terms):
    """Return the least possible distance of a point in the box of a node to a place (coordinates; NaN for NULL).

    Args:
        boxes: The boxes of the nodes: least and greatest coordinate, and whether NULL occurs, each (nodes, axes).
        node: Number of the node.
        place: (axes,) float64 coordinates: scaled numbers, codes of categories; NaN for NULL.
        terms: The axes: whether each is a number, and the unit by which its squared difference is multiplied.
    """
    numeric, unit = terms
    lows, highs, nulls = boxes
    total = np.int64(0)
    for a in range(len(unit)):
        low, high, q = lows[node, a], highs[node, a], place[a]
        if not numeric[a]:
            if q < low or q > high:
                total += unit[a]
        elif q != q:
            if not nulls[node, a]:
                total += unit[a]
        elif low > high:
            total += unit[a]
        else:
            offset = max(low - q, q - high, 0.0)
            axis_distance = np.int64(np.rint(offset * offset * unit[a]))
            total += min(axis_distance, unit[a]) if nulls[node, a] else axis_distance
    return total


@kernel_part
def max_box_distance(boxes, node, place, terms):
    """Return the greatest possible distance of a point in the box of a node to a place (coordinates; NaN for NULL).

    Args:
        boxes: The boxes of the nodes: least and greatest coordinate, and whether NULL occurs, each (nodes, axes).
        node: Number of the node.
        place: (axes,) float64 coordinates: scaled numbers, codes of categories; NaN for NULL.
        terms: The axes: whether each is a number, and the unit by which its squared difference is multiplied.
    """
    numeric, unit = terms
    lows, highs, nulls = boxes
    total = np.int64(0)
    for a in range(len(unit)):
        low, high, q = lows[node, a], highs[node, a], place[a]
        if not numeric[a]:
            if low != q or high != q:
                total += unit[a]
        elif low > high:
            if q == q:
                total += unit[a]
        elif q != q:
            total += unit[a]
        else:
            offset = max(q - low, high - q)
            axis_distance = np.int64(np.rint(offset * offset * unit[a]))
            total += max(axis_distance, unit[a]) if nulls[node, a] else axis_distance
    return total


@kernel_part
def shrink_leaf(node, points, nodes, boxes, terms):
    """Recompute the box of a leaf, in place, from its remaining tuples.

    Args:
        node: Number of the leaf.
        points: The points: tuples in tree order; place and leaf of each tuple; coordinates by place; remaining records
            of each tuple; a counter of steps.
        nodes: The nodes: first and last place (exclusive), first child (0 for a leaf), parent, remaining records below,
            least tuple below.
        boxes: The boxes of the nodes: least and greatest coordinate, and whether NULL occurs, each (nodes, axes);
            updated in place.
        terms: The axes: whether each is a number, and the unit by which its squared difference is multiplied.
    """
    lows, highs, nulls = boxes
    coordinates = points[2]
    for a in range(coordinates.shape[1]):
        low, high, null = np.inf, -np.inf, False
        for i in range(nodes[0][node], nodes[1][node]):
            x = coordinates[i, a]
            if x == x:
                low, high = min(low, x), max(high, x)
            else:
                null = True
        lows[node, a], highs[node, a], nulls[node, a] = low, high, null


@kernel
def build_kd_tree(codes, points, nodes, boxes, terms):
    """Build the tree over all tuples, by halving along the widest axis; return the number of nodes.

    Coordinates are reordered in place, from the order of tuples to that of the tree.

    Args:
        codes: (tuples, axes) codes, in the order of the coordinates.
        points: The points: tuples in tree order; place and leaf of each tuple; coordinates by place; remaining records
            of each tuple; a counter of steps; updated in place.
        nodes: Output: the nodes (see `farthest_tuple`).
        boxes: Output: the boxes (see `min_box_distance`).
        terms: The axes: whether each is a number, and the unit by which its squared difference is multiplied.
    """
    order, place_of, coordinates, n_remaining, _ = points
    begins, ends, kids, parents, records, first = nodes
    lows, highs, nulls = boxes
    numeric, unit = terms
    source = coordinates.copy()
    stack = np.empty(128, np.int64)
    begins[0], ends[0], parents[0] = 0, len(order), -1
    stack[0], top, n_nodes = 0, 1, 1
    while top > 0:
        top -= 1
        node = stack[top]
        begin, end = begins[node], ends[node]
        widest, axis = -1.0, 0
        for a in range(len(unit)):
            low, high, null = np.inf, -np.inf, False
            for i in range(begin, end):
                x = source[order[i], a]
                if x == x:
                    low, high = min(low, x), max(high, x)
                else:
                    null = True
            lows[node, a], highs[node, a], nulls[node, a] = low, high, null
            width = (high - low) * (high - low) * unit[a] if low <= high else 0.0
            if not numeric[a] and low != high:
                width = 1.0 * unit[a]
            if null and low <= high:
                width = max(width, 1.0 * unit[a])
            if width > widest:
                widest, axis = width, a
        if end - begin <= MAX_LEAF_TUPLES:
            kids[node] = 0
            total, first_tuple = np.int64(0), len(order)
            for i in range(begin, end):
                place_of[order[i], 0], place_of[order[i], 1] = i, node
                total += n_remaining[order[i]]
                first_tuple = min(first_tuple, order[i])
            records[node], first[node] = total, first_tuple
            continue
        middle = (begin + end) // 2
        partition_at(order, begin, end, middle, codes, axis)
        kids[node] = n_nodes
        for child, child_begin, child_end in ((n_nodes, begin, middle), (n_nodes + 1, middle, end)):
            begins[child], ends[child], parents[child] = child_begin, child_end, node
            stack[top] = child
            top += 1
        n_nodes += 2
    for node in range(n_nodes - 1, -1, -1):
        if kids[node] > 0:
            one = kids[node]
            records[node] = records[one] + records[one + 1]
            first[node] = min(first[one], first[one + 1])
    for i in range(len(order)):
        for a in range(len(unit)):
            coordinates[i, a] = source[order[i], a]
    return n_nodes


@kernel_part
def farthest_tuple(points, nodes, boxes, terms, place):
    """Return the remaining tuple that is farthest from a place (ties: the first); -1 if there is none.

    Args:
        points: The points: tuples in tree order; place and leaf of each tuple; coordinates by place; remaining records
            of each tuple; a counter of steps, which is increased.
        nodes: The nodes: first and last place (exclusive), first child (0 for a leaf), parent, remaining records below,
            least tuple below.
        boxes: The boxes of the nodes: least and greatest coordinate, and whether NULL occurs, each (nodes, axes).
        terms: The axes: whether each is a number, and the unit by which its squared difference is multiplied.
        place: (axes,) float64 coordinates: scaled numbers, codes of categories; NaN for NULL.
    """
    order = points[0]
    begins, ends, kids, records, first = nodes[0], nodes[1], nodes[2], nodes[4], nodes[5]
    stack = np.empty((128, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, max_box_distance(boxes, 0, place, terms)
    top = 1
    highest, best_tuple, steps = np.int64(-1), np.int64(-1), np.int64(0)
    while top > 0:
        top -= 1
        node, bound = stack[top, 0], stack[top, 1]
        if bound < highest or (bound == highest and first[node] > best_tuple):
            continue
        if kids[node] == 0:
            steps += ends[node] - begins[node]
            for i in range(begins[node], ends[node]):
                total = distance_to_place(points, i, place, terms)
                if total > highest or (total == highest and order[i] < best_tuple):
                    highest, best_tuple = total, order[i]
            continue
        steps += 2
        nearer = kids[node]
        nearer_bound = max_box_distance(boxes, nearer, place, terms) if records[nearer] > 0 else np.int64(-1)
        farther_bound = max_box_distance(boxes, nearer + 1, place, terms) if records[nearer + 1] > 0 else np.int64(-1)
        farther = nearer + 1
        if farther_bound > nearer_bound:
            nearer, farther, nearer_bound, farther_bound = farther, nearer, farther_bound, nearer_bound
        if farther_bound >= max(highest, np.int64(0)):
            stack[top, 0], stack[top, 1] = farther, farther_bound
            top += 1
        if nearer_bound >= max(highest, np.int64(0)):
            stack[top, 0], stack[top, 1] = nearer, nearer_bound
            top += 1
    points[4][0] += steps
    return best_tuple


@kernel_part
def nearest_records(points, nodes, boxes, terms, place, wanted, sums, heap_tuples):
    """Search for the `wanted` remaining records nearest to a place (coordinates; NaN for NULL), ties by tuple.

    Returns the size of the heap (`sums`, `heap_tuples`), whose top is the farthest tuple, and how many records of this
    tuple are too many; if fewer than `wanted` remain in all, the negative number of those that are lacking.

    Args:
        points: The points: tuples in tree order; place and leaf of each tuple; coordinates by place; remaining records
            of each tuple; a counter of steps, which is increased.
        nodes: The nodes: first and last place (exclusive), first child (0 for a leaf), parent, remaining records below,
            least tuple below.
        boxes: The boxes of the nodes: least and greatest coordinate, and whether NULL occurs, each (nodes, axes).
        terms: The axes: whether each is a number, and the unit by which its squared difference is multiplied.
        place: (axes,) float64 coordinates: scaled numbers, codes of categories; NaN for NULL.
        wanted: Number of records.
        sums: Output: distances of the heap; with space for one more than `wanted`.
        heap_tuples: Output: tuples of the heap.
    """
    order, n_remaining = points[0], points[3]
    begins, ends, kids, records, first = nodes[0], nodes[1], nodes[2], nodes[4], nodes[5]
    stack = np.empty((128, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, 0
    top = 1 if wanted > 0 else 0
    size, n_held, steps = 0, np.int64(0), np.int64(0)
    while top > 0:
        top -= 1
        node, bound = stack[top, 0], stack[top, 1]
        if n_held >= wanted and (bound > sums[0] or (bound == sums[0] and first[node] > heap_tuples[0])):
            continue
        if kids[node] == 0:
            steps += ends[node] - begins[node]
            for i in range(begins[node], ends[node]):
                total = distance_to_place(points, i, place, terms)
                if n_held >= wanted and (total > sums[0] or (total == sums[0] and order[i] > heap_tuples[0])):
                    continue
                size, n_held = push_and_trim(sums, heap_tuples, size, n_held, total, order[i], n_remaining, wanted)
            continue
        steps += 2
        nearer, farther = kids[node], kids[node] + 1
        nearer_bound = min_box_distance(boxes, nearer, place, terms)
        farther_bound = min_box_distance(boxes, farther, place, terms)
        if farther_bound < nearer_bound:
            nearer, farther, nearer_bound, farther_bound = farther, nearer, farther_bound, nearer_bound
        if records[farther] > 0 and (n_held < wanted or farther_bound <= sums[0]):
            stack[top, 0], stack[top, 1] = farther, farther_bound
            top += 1
        if records[nearer] > 0 and (n_held < wanted or nearer_bound <= sums[0]):
            stack[top, 0], stack[top, 1] = nearer, nearer_bound
            top += 1
    points[4][0] += steps
    return size, n_held - wanted


@kernel_part
def remove_records(t, count, points, nodes, boxes, terms):
    """Remove `count` records of tuple `t` from the tree, in place, and shrink boxes to the tuples that remain.

    Args:
        t: Number of the tuple.
        count: Number of records.
        points: The points: tuples in tree order; place and leaf of each tuple; coordinates by place; remaining records
            of each tuple; a counter of steps; updated in place.
        nodes: The nodes: first and last place (exclusive), first child (0 for a leaf), parent, remaining records below,
            least tuple below; updated in place.
        boxes: The boxes of the nodes: least and greatest coordinate, and whether NULL occurs, each (nodes, axes);
            updated in place.
        terms: The axes: whether each is a number, and the unit by which its squared difference is multiplied.
    """
    order, place_of, coordinates, n_remaining, _ = points
    ends, kids, parents, records = nodes[1], nodes[2], nodes[3], nodes[4]
    lows, highs, nulls = boxes
    n_remaining[t] -= count
    node = place_of[t, 1]
    leaf = node
    while node >= 0:
        records[node] -= count
        node = parents[node]
    if n_remaining[t] > 0:
        return
    ends[leaf] -= 1
    removed_place, last = place_of[t, 0], ends[leaf]
    other = order[last]
    order[removed_place], order[last] = other, t
    place_of[other, 0], place_of[t, 0] = removed_place, last
    for a in range(coordinates.shape[1]):
        coordinates[removed_place, a], coordinates[last, a] = coordinates[last, a], coordinates[removed_place, a]
    shrink_leaf(leaf, points, nodes, boxes, terms)
    node = parents[leaf]
    while node >= 0:
        one, is_unchanged = kids[node], True
        other = one + 1
        if records[one] == 0:
            one = other
        if records[other] == 0:
            other = one
        for a in range(lows.shape[1]):
            low, high = min(lows[one, a], lows[other, a]), max(highs[one, a], highs[other, a])
            null = nulls[one, a] or nulls[other, a]
            is_unchanged = is_unchanged and low == lows[node, a] and high == highs[node, a] and null == nulls[node, a]
            lows[node, a], highs[node, a], nulls[node, a] = low, high, null
        if is_unchanged:
            return
        node = parents[node]


@kernel_part
def copy_coordinates(t, points, place):
    """Copy the coordinates of tuple `t` into the array `place`.

    Args:
        t: Number of the tuple.
        points: The points: tuples in tree order; place and leaf of each tuple; coordinates by place; remaining records
            of each tuple; a counter of steps.
        place: Output: (axes,) float64.
    """
    for a in range(len(place)):
        place[a] = points[2][points[1][t, 0], a]


@kernel_part
def take_nearest_records(seed, n_others, points, nodes, boxes, terms, place, heap, members, n_rows):
    """Remove a record of the tuple `seed` and the `n_others` records nearest to it, and append them to `members`.

    Returns the number of rows of `members` that are used then.

    Args:
        seed: Number of the tuple.
        n_others: Number of other records.
        points: The points: tuples in tree order; place and leaf of each tuple; coordinates by place; remaining records
            of each tuple; a counter of steps; updated in place.
        nodes: The nodes: first and last place (exclusive), first child (0 for a leaf), parent, remaining records below,
            least tuple below; updated in place.
        boxes: The boxes of the nodes: least and greatest coordinate, and whether NULL occurs, each (nodes, axes);
            updated in place.
        terms: The axes: whether each is a number, and the unit by which its squared difference is multiplied.
        place: Output: (axes,) coordinates of the seed.
        heap: Scratch for distances and tuples.
        members: Output: rows (tuple, number of records).
        n_rows: Number of rows of `members` that are used already.
    """
    copy_coordinates(seed, points, place)
    members[n_rows, 0], members[n_rows, 1] = seed, 1
    remove_records(seed, np.int64(1), points, nodes, boxes, terms)
    sums, heap_tuples = heap
    size, surplus = nearest_records(points, nodes, boxes, terms, place, n_others, sums, heap_tuples)
    for i in range(size):
        count = points[3][heap_tuples[i]] - (surplus if i == 0 else 0)
        members[n_rows + 1 + i, 0], members[n_rows + 1 + i, 1] = heap_tuples[i], count
        remove_records(heap_tuples[i], count, points, nodes, boxes, terms)
    return n_rows + 1 + size
