"""Centers in the tree of boxes of `dbanon.kernels.centers`, by the square of the Euclidean distance: numbers alone, in
coordinates whose squares can be summed, NONE for a NULL. `units`, the second of the axes of a tree, are the distances
of a NULL to a value."""

import numpy as np

from dbanon.kernels.centers import NOBODY, NONE, build, is_point, refit
from dbanon.kernels.jit import kernel, part


@part
def squared(point, box, node, units):
    """Return the square of the least distance of a point to one in the box of a node; exact for a box of one point."""
    total = np.int64(0)
    for a in range(len(units)):
        low, high, p = box[node, 2 * a], box[node, 2 * a + 1], point[a]
        if low <= p <= high:
            continue
        if p == NONE or low == NONE:
            gap = units[a]
        else:
            gap = p - high if p > high else low - p
        total += gap * gap
    return total


@part
def nearest_square(point, tree, stack, spent, best, least):
    """The first of the nearest centers, unless `best` at the squared distance `least` comes before; `spent` counts
    steps."""
    box, kid, first, units = tree.boxes[0], tree.boxes[1], tree.boxes[3], tree.axes[1]
    stack[0, 0], stack[0, 1] = 0, squared(point, box, 0, units)
    top = 1
    while top > 0:
        top -= 1
        spent[0] += 1
        node, distance = stack[top, 0], stack[top, 1]
        if distance > least or (distance == least and first[node] >= best):
            continue
        if kid[node] == 0 or is_point(box, node):
            best, least = first[node], distance
            continue
        one, other = kid[node], kid[node] + 1
        to_one, to_other = squared(point, box, one, units), squared(point, box, other, units)
        if to_other < to_one or (to_other == to_one and first[other] < first[one]):
            one, other, to_one, to_other = other, one, to_other, to_one
        stack[top, 0], stack[top, 1] = other, to_other
        stack[top + 1, 0], stack[top + 1, 1] = one, to_one
        top += 2
    return best


@kernel
def place_squared(begin, steps, points, tree, near):
    """`near` of each point, the center that was nearest before, becomes the first of the nearest ones now.

    Comes back after so many steps; gives the point to go on at.
    """
    box, leaf, units = tree.boxes[0], tree.boxes[4], tree.axes[1]
    stack, spent = np.empty((tree.room, 2), np.int64), np.zeros(1, np.int64)
    for t in range(begin, len(points)):
        if spent[0] >= steps:
            return t
        best = near[t]
        least = squared(points[t], box, leaf[best], units)
        near[t] = nearest_square(points[t], tree, stack, spent, best, least)
    return len(points)


@kernel
def merge_small(small, stretch, tree, sums, known, into):
    """Some clusters, in order, join the nearest of those in the tree, whose center then moves.

    `sums` and `known`: of the coordinates before they were stretched, and of how many records.
    """
    centers, stack, spent = tree.points, np.empty((tree.room, 2), np.int64), np.zeros(1, np.int64)
    for c in small:
        best = nearest_square(centers[c], tree, stack, spent, NOBODY, NONE)
        into[c] = best
        for a in range(centers.shape[1]):
            sums[best, a] += sums[c, a]
            known[best, a] += known[c, a]
            if known[best, a] > 0:
                mean = (2 * sums[best, a] + known[best, a]) // (2 * known[best, a])
                centers[best, a] = np.int64(np.rint(mean * stretch[a]))
        refit(best, centers, tree.boxes, False)


__all__ = ["build", "merge_small", "place_squared"]
