"""The nearest neighbours of points, by a tree of boxes: exact while few boxes are near, else of the nearest boxes.

Points are in order of the tree, leaves of it are ranges of that order; `nodes`: begin, end, kid (the first of two, 0
for a leaf); `boxes`: low and high (nodes, axes).
"""

import numpy as np

from dbanon.kernels.halving import extent, part_at
from dbanon.kernels.jit import kernel, part

LEAF = 16
"""Most points of a leaf."""

LEAVES = 64
"""Leaves that are looked at for a point, so that its neighbours cost no more in many dimensions."""


@part
def split(points, order, nodes, boxes):
    """Halves of the points, along the axis on which they lie farthest apart."""
    begins, ends, kids = nodes
    lows, highs = boxes
    stack = np.empty(128, np.int64)
    begins[0], ends[0] = 0, len(order)
    stack[0], top, used = 0, 1, 1
    while top > 0:
        top -= 1
        node = stack[top]
        begin, end = begins[node], ends[node]
        widest, axis = -1.0, 0
        for a in range(points.shape[1]):
            low, high = extent(order, begin, end, points, a)
            lows[node, a], highs[node, a] = low, high
            if high - low > widest:
                widest, axis = high - low, a
        kids[node] = 0
        if end - begin <= LEAF:
            continue
        middle = (begin + end) // 2
        part_at(order, begin, end, middle, points, axis)
        kids[node] = used
        for child, to, until in ((used, begin, middle), (used + 1, middle, end)):
            begins[child], ends[child] = to, until
            stack[top] = child
            top += 1
        used += 2


@part
def to_box(point, node, boxes):
    """Return the least squared distance of a point to one in a box."""
    lows, highs = boxes
    total = 0.0
    for a in range(len(point)):
        off = max(lows[node, a] - point[a], point[a] - highs[node, a], 0.0)
        total += off * off
    return total


@part
def look(r, points, order, nodes, boxes, near, squares, stack, bounds):
    """Fill near[r] with the nearest points but itself, by ascending distance; `squares` has these."""
    begins, ends, kids = nodes
    wanted, found, leaves = near.shape[1], 0, 0
    stack[0], bounds[0], top = 0, 0.0, 1
    while top > 0 and (leaves < LEAVES or found < wanted):
        top -= 1
        node = stack[top]
        if found == wanted and bounds[top] >= squares[wanted - 1]:
            continue
        if kids[node] > 0:
            one, other = kids[node], kids[node] + 1
            to_one, to_other = to_box(points[r], one, boxes), to_box(points[r], other, boxes)
            if to_other < to_one:
                one, other, to_one, to_other = other, one, to_other, to_one
            stack[top], bounds[top] = other, to_other
            stack[top + 1], bounds[top + 1] = one, to_one
            top += 2
            continue
        leaves += 1
        for i in range(begins[node], ends[node]):
            p = order[i]
            if p == r:
                continue
            square = 0.0
            for a in range(points.shape[1]):
                square += (points[p, a] - points[r, a]) * (points[p, a] - points[r, a])
            if found == wanted and square >= squares[wanted - 1]:
                continue
            j = min(found, wanted - 1)
            while j > 0 and squares[j - 1] > square:
                squares[j], near[r, j] = squares[j - 1], near[r, j - 1]
                j -= 1
            squares[j], near[r, j] = square, p
            found = min(found + 1, wanted)


@kernel
def neighbours(first, last, points, order, nodes, boxes, near):
    """The neighbours of the points from `first` to `last`; with the first of them the tree is built."""
    if first == 0:
        split(points, order, nodes, boxes)
    stack, bounds, squares = np.empty(128, np.int64), np.empty(128), np.empty(near.shape[1])
    for r in range(first, last):
        look(r, points, order, nodes, boxes, near, squares, stack, bounds)
