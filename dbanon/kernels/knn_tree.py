"""Nearest neighbours of points by a tree of boxes: exact if few boxes are near, else among the nearest boxes."""

import numpy as np

from dbanon.kernels.halving import extent, partition_at
from dbanon.kernels.jit import kernel, kernel_part

MAX_LEAF_POINTS = 16
"""Maximum number of points of a leaf."""

MAX_LEAVES = 64
"""Maximum number of leaves that are visited per point, which limits the cost in many dimensions."""


@kernel_part
def build_tree(points, tree):
    """Build the tree of boxes, in place, by halving the points along the axis on which they lie farthest apart.

    Leaves have at most MAX_LEAF_POINTS points.

    Args:
        points: (points, axes) float64 coordinates.
        tree: `NeighbourTree`, whose order has all points; updated in place.
    """
    order, begins, ends, kids, lows, highs = tree
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
        if end - begin <= MAX_LEAF_POINTS:
            continue
        middle = (begin + end) // 2
        partition_at(order, begin, end, middle, points, axis)
        kids[node] = used
        for child, child_begin, child_end in ((used, begin, middle), (used + 1, middle, end)):
            begins[child], ends[child] = child_begin, child_end
            stack[top] = child
            top += 1
        used += 2


@kernel_part
def box_distance(point, node, lows, highs):
    """Return the least squared Euclidean distance of a point to any point in the box of a node; 0 inside.

    Args:
        point: (axes,) coordinates.
        node: Number of the node.
        lows, highs: As in `NeighbourTree`.
    """
    total = 0.0
    for a in range(len(point)):
        offset = max(lows[node, a] - point[a], point[a] - highs[node, a], 0.0)
        total += offset * offset
    return total


@kernel_part
def search_neighbours(r, points, tree, neighbour_table, squares, stack, bounds):
    """Fill neighbour_table[r] with the points nearest to point `r` other than itself, in ascending order of distance.

    The search ends after MAX_LEAVES leaves if the row is full by then, so some of the nearest may be missed.

    Args:
        r: Number of the point.
        points: (points, axes) float64 coordinates.
        tree: `NeighbourTree`.
        neighbour_table: Output: (points, neighbours); row `r` is filled.
        squares: Output: (neighbours,) squared distances.
        stack, bounds: Scratch.
    """
    order, begins, ends, kids, lows, highs = tree
    n_wanted, n_found, n_leaves = neighbour_table.shape[1], 0, 0
    stack[0], bounds[0], top = 0, 0.0, 1
    while top > 0 and (n_leaves < MAX_LEAVES or n_found < n_wanted):
        top -= 1
        node = stack[top]
        if n_found == n_wanted and bounds[top] >= squares[n_wanted - 1]:
            continue
        if kids[node] > 0:
            nearer, farther = kids[node], kids[node] + 1
            nearer_bound, farther_bound = (
                box_distance(points[r], nearer, lows, highs),
                box_distance(points[r], farther, lows, highs),
            )
            if farther_bound < nearer_bound:
                nearer, farther, nearer_bound, farther_bound = farther, nearer, farther_bound, nearer_bound
            stack[top], bounds[top] = farther, farther_bound
            stack[top + 1], bounds[top + 1] = nearer, nearer_bound
            top += 2
            continue
        n_leaves += 1
        for i in range(begins[node], ends[node]):
            p = order[i]
            if p == r:
                continue
            square = 0.0
            for a in range(points.shape[1]):
                square += (points[p, a] - points[r, a]) * (points[p, a] - points[r, a])
            if n_found == n_wanted and square >= squares[n_wanted - 1]:
                continue
            j = min(n_found, n_wanted - 1)
            while j > 0 and squares[j - 1] > square:
                squares[j], neighbour_table[r, j] = squares[j - 1], neighbour_table[r, j - 1]
                j -= 1
            squares[j], neighbour_table[r, j] = square, p
            n_found = min(n_found + 1, n_wanted)


@kernel
def find_neighbours(first, last, points, tree, neighbour_table):
    """Fill the rows `first` to `last` of `neighbour_table` with the nearest other points of each point.

    The first call (`first` is 0) builds the tree. The row length is the number of neighbours.

    Args:
        first, last: The rows first <= r < last.
        points: (points, axes) float64 coordinates.
        tree: `NeighbourTree`, whose order has all points at first; updated in place.
        neighbour_table: Output: (points, neighbours), the nearest first.
    """
    if first == 0:
        build_tree(points, tree)
    stack, bounds, squares = np.empty(128, np.int64), np.empty(128), np.empty(neighbour_table.shape[1])
    for r in range(first, last):
        search_neighbours(r, points, tree, neighbour_table, squares, stack, bounds)
