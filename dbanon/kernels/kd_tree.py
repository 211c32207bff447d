"""Tuples as points in a tree of boxes: which of those that are left are nearest to a place, and which is farthest.

A coordinate is the scaled place of a number, NaN for NULL, or the code of a category. Distances are squared differences
of numbers, 0 or 1 for categories and for NULL beside a number; each term times its unit is rounded to a whole number.
Rounding keeps the order of differences, so what a box adds at least and at most is exact too, and no tie is lost.

`terms`: numeric (whether a coordinate is a number) and unit. `points`: order (tuple by place), at (place, leaf by
tuple), coordinates (by place), left (records by tuple), steps (boxes and points that were looked at). `nodes`: begin
and end (places of a leaf), kid (the first of two, 0 for a leaf), parent, records (left below), first (least tuple
below); `boxes`: low, high, null (nodes, axes) of what is left: a number without values has low above high.
"""

import numpy as np

from dbanon.kernels.halving import part_at
from dbanon.kernels.heap import hold
from dbanon.kernels.jit import kernel, part

LEAF = 16
"""Most tuples of a leaf."""


@part
def apart(points, i, place, terms):
    """Return the distance of the point at a place of the order to a place."""
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


@part
def at_least(boxes, node, place, terms):
    """Return the least distance that a point in a box can have to a place."""
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
            off = max(low - q, q - high, 0.0)
            here = np.int64(np.rint(off * off * unit[a]))
            total += min(here, unit[a]) if nulls[node, a] else here
    return total


@part
def at_most(boxes, node, place, terms):
    """Return the greatest distance that a point in a box can have to a place."""
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
            off = max(q - low, high - q)
            here = np.int64(np.rint(off * off * unit[a]))
            total += max(here, unit[a]) if nulls[node, a] else here
    return total


@part
def fit(node, points, nodes, boxes, terms):
    """Make the box of a leaf fit what is left in it."""
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
def build_points(codes, points, nodes, boxes, terms):
    """Return the tree over all tuples: halves along the axis on which they lie farthest apart.

    Gives the number of nodes.
    """
    order, at, coordinates, left, _ = points
    begins, ends, kids, parents, records, first = nodes
    lows, highs, nulls = boxes
    numeric, unit = terms
    source = coordinates.copy()
    stack = np.empty(128, np.int64)
    begins[0], ends[0], parents[0] = 0, len(order), -1
    stack[0], top, used = 0, 1, 1
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
        if end - begin <= LEAF:
            kids[node] = 0
            total, least = np.int64(0), len(order)
            for i in range(begin, end):
                at[order[i], 0], at[order[i], 1] = i, node
                total += left[order[i]]
                least = min(least, order[i])
            records[node], first[node] = total, least
            continue
        middle = (begin + end) // 2
        part_at(order, begin, end, middle, codes, axis)
        kids[node] = used
        for child, to, until in ((used, begin, middle), (used + 1, middle, end)):
            begins[child], ends[child], parents[child] = to, until, node
            stack[top] = child
            top += 1
        used += 2
    for node in range(used - 1, -1, -1):
        if kids[node] > 0:
            one = kids[node]
            records[node] = records[one] + records[one + 1]
            first[node] = min(first[one], first[one + 1])
    for i in range(len(order)):
        for a in range(len(unit)):
            coordinates[i, a] = source[order[i], a]
    return used


@part
def farthest(points, nodes, boxes, terms, place):
    """Return the first of the tuples that are farthest from a place."""
    order = points[0]
    begins, ends, kids, records, first = nodes[0], nodes[1], nodes[2], nodes[4], nodes[5]
    stack = np.empty((128, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, at_most(boxes, 0, place, terms)
    top = 1
    best, where, steps = np.int64(-1), np.int64(-1), np.int64(0)
    while top > 0:
        top -= 1
        node, bound = stack[top, 0], stack[top, 1]
        if bound < best or (bound == best and first[node] > where):
            continue
        if kids[node] == 0:
            steps += ends[node] - begins[node]
            for i in range(begins[node], ends[node]):
                total = apart(points, i, place, terms)
                if total > best or (total == best and order[i] < where):
                    best, where = total, order[i]
            continue
        steps += 2
        one = kids[node]
        to_one = at_most(boxes, one, place, terms) if records[one] > 0 else np.int64(-1)
        to_other = at_most(boxes, one + 1, place, terms) if records[one + 1] > 0 else np.int64(-1)
        other = one + 1
        if to_other > to_one:
            one, other, to_one, to_other = other, one, to_other, to_one
        if to_other >= max(best, np.int64(0)):
            stack[top, 0], stack[top, 1] = other, to_other
            top += 1
        if to_one >= max(best, np.int64(0)):
            stack[top, 0], stack[top, 1] = one, to_one
            top += 1
    points[4][0] += steps
    return where


@part
def nearest(points, nodes, boxes, terms, place, wanted, sums, whose):
    """The next `wanted` records by distance to a place, ties to the first tuple: a heap of distances and tuples, the
    last on top. Gives its size, and how many records of the top are too many."""
    order, left = points[0], points[3]
    begins, ends, kids, records, first = nodes[0], nodes[1], nodes[2], nodes[4], nodes[5]
    stack = np.empty((128, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, 0
    top = 1 if wanted > 0 else 0
    size, held, steps = 0, np.int64(0), np.int64(0)
    while top > 0:
        top -= 1
        node, bound = stack[top, 0], stack[top, 1]
        if held >= wanted and (bound > sums[0] or (bound == sums[0] and first[node] > whose[0])):
            continue
        if kids[node] == 0:
            steps += ends[node] - begins[node]
            for i in range(begins[node], ends[node]):
                total = apart(points, i, place, terms)
                if held >= wanted and (total > sums[0] or (total == sums[0] and order[i] > whose[0])):
                    continue
                size, held = hold(sums, whose, size, held, total, order[i], left, wanted)
            continue
        steps += 2
        one, other = kids[node], kids[node] + 1
        to_one = at_least(boxes, one, place, terms)
        to_other = at_least(boxes, other, place, terms)
        if to_other < to_one:
            one, other, to_one, to_other = other, one, to_other, to_one
        if records[other] > 0 and (held < wanted or to_other <= sums[0]):
            stack[top, 0], stack[top, 1] = other, to_other
            top += 1
        if records[one] > 0 and (held < wanted or to_one <= sums[0]):
            stack[top, 0], stack[top, 1] = one, to_one
            top += 1
    points[4][0] += steps
    return size, held - wanted


@part
def remove(t, count, points, nodes, boxes, terms):
    """Take records of a tuple; boxes shrink to what is left."""
    order, at, coordinates, left, _ = points
    ends, kids, parents, records = nodes[1], nodes[2], nodes[3], nodes[4]
    lows, highs, nulls = boxes
    left[t] -= count
    node = at[t, 1]
    leaf = node
    while node >= 0:
        records[node] -= count
        node = parents[node]
    if left[t] > 0:
        return
    ends[leaf] -= 1
    here, last = at[t, 0], ends[leaf]
    other = order[last]
    order[here], order[last] = other, t
    at[other, 0], at[t, 0] = here, last
    for a in range(coordinates.shape[1]):
        coordinates[here, a], coordinates[last, a] = coordinates[last, a], coordinates[here, a]
    fit(leaf, points, nodes, boxes, terms)
    node = parents[leaf]
    while node >= 0:
        one, same = kids[node], True
        other = one + 1
        if records[one] == 0:
            one = other
        if records[other] == 0:
            other = one
        for a in range(lows.shape[1]):
            low, high = min(lows[one, a], lows[other, a]), max(highs[one, a], highs[other, a])
            null = nulls[one, a] or nulls[other, a]
            same = same and low == lows[node, a] and high == highs[node, a] and null == nulls[node, a]
            lows[node, a], highs[node, a], nulls[node, a] = low, high, null
        if same:
            return
        node = parents[node]


@part
def locate(t, points, place):
    """Copy the coordinates of a tuple."""
    for a in range(len(place)):
        place[a] = points[2][points[1][t, 0], a]


@part
def take_nearest(seed, others, points, nodes, boxes, terms, place, heap, members, used):
    """Takes a record of the tuple `seed`, whose coordinates `place` becomes, and so many others that are nearest; gives
    the members used (see `mdav_steps`). `heap`: scratch for sums and tuples."""
    locate(seed, points, place)
    members[used, 0], members[used, 1] = seed, 1
    remove(seed, np.int64(1), points, nodes, boxes, terms)
    sums, whose = heap
    size, surplus = nearest(points, nodes, boxes, terms, place, others, sums, whose)
    for i in range(size):
        count = points[3][whose[i]] - (surplus if i == 0 else 0)
        members[used + 1 + i, 0], members[used + 1 + i, 1] = whose[i], count
        remove(whose[i], count, points, nodes, boxes, terms)
    return used + 1 + size
