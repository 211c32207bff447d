"""Nearest centers by squared Euclidean distance, in the tree of boxes of `dbanon.kernels.centers`.

All axes are numbers, in coordinates whose squares can be summed, NULL_COORDINATE for a NULL.
"""

import numpy as np

from dbanon.kernels.centers import NO_CENTER, NULL_COORDINATE, build_center_tree, is_point, update_boxes
from dbanon.kernels.jit import kernel, kernel_part


@kernel_part
def squared_box_distance(point, box, node, units):
    """Return the square of the least distance of a point to the box of a node; exact for a box of one point.

    Args:
        point: (axes,) coordinates; NULL_COORDINATE for a NULL.
        box: (nodes, 2 * axes) least and greatest coordinate of each box.
        node: Number of the node.
        units: (axes,) distance of NULL to a value.
    """
    total = np.int64(0)
    for a in range(len(units)):
        low, high, p = box[node, 2 * a], box[node, 2 * a + 1], point[a]
        if low <= p <= high:
            continue
        if p == NULL_COORDINATE or low == NULL_COORDINATE:
            gap = units[a]
        else:
            gap = p - high if p > high else low - p
        total += gap * gap
    return total


@kernel_part
def nearest_center_squared(point, tree, stack, n_steps, best, lowest):
    """Return the center nearest to a point (ties: the first), starting from center `best` at squared distance `lowest`.

    `best` is returned if no center is nearer, or comes first at the same distance.

    Args:
        point: (axes,) coordinates; NULL_COORDINATE for a NULL.
        tree: `CenterTree`, whose axes are all numbers.
        stack: Scratch.
        n_steps: (1,) number of visited boxes; increased.
        best: The center to start from, or NO_CENTER.
        lowest: Its squared distance; NULL_COORDINATE if there is none.
    """
    boxes, units = tree.boxes, tree.axes.null_distances
    box, kid, first = boxes.bounds, boxes.kids, boxes.first
    stack[0, 0], stack[0, 1] = 0, squared_box_distance(point, box, 0, units)
    top = 1
    while top > 0:
        top -= 1
        n_steps[0] += 1
        node, distance = stack[top, 0], stack[top, 1]
        if distance > lowest or (distance == lowest and first[node] >= best):
            continue
        if kid[node] == 0 or is_point(box, node):
            best, lowest = first[node], distance
            continue
        one, other = kid[node], kid[node] + 1
        to_one, to_other = squared_box_distance(point, box, one, units), squared_box_distance(point, box, other, units)
        if to_other < to_one or (to_other == to_one and first[other] < first[one]):
            one, other, to_one, to_other = other, one, to_other, to_one
        stack[top, 0], stack[top, 1] = other, to_other
        stack[top + 1, 0], stack[top + 1, 1] = one, to_one
        top += 2
    return best


@kernel
def assign_nearest_squared(begin, max_steps, points, tree, nearest):
    """Update the nearest center of each point from `begin` on (`nearest`, in place); ties go to the first center.

    Every entry must have a center at the start. Returns the point to continue at, after `max_steps` visited boxes or at
    the end.

    Args:
        begin: The first point.
        max_steps: Number of visited boxes after which to return.
        points: (points, axes) coordinates; NULL_COORDINATE for a NULL.
        tree: `CenterTree`, whose axes are all numbers.
        nearest: (points,) number of a center of each point; updated in place.
    """
    box, leaf, units = tree.boxes.bounds, tree.boxes.leaves, tree.axes.null_distances
    stack, n_steps = np.empty((tree.room, 2), np.int64), np.zeros(1, np.int64)
    for t in range(begin, len(points)):
        if n_steps[0] >= max_steps:
            return t
        best = nearest[t]
        lowest = squared_box_distance(points[t], box, leaf[best], units)
        nearest[t] = nearest_center_squared(points[t], tree, stack, n_steps, best, lowest)
    return len(points)


@kernel
def merge_small_clusters(small_clusters, scales, tree, sums, n_known, target_of):
    """Merge some clusters, in order, with the nearest cluster in the tree, whose center then moves, in place.

    Args:
        small_clusters: The clusters, which are not in the tree.
        scales: The factor from unscaled to scaled coordinates, by axis.
        tree: `CenterTree` of the other clusters.
        sums, n_known: Sums of the unscaled coordinates of each cluster, and of how many records.
        target_of: Output: the cluster with which each small cluster was merged.
    """
    centers, stack, n_steps = tree.points, np.empty((tree.room, 2), np.int64), np.zeros(1, np.int64)
    for c in small_clusters:
        best = nearest_center_squared(centers[c], tree, stack, n_steps, NO_CENTER, NULL_COORDINATE)
        target_of[c] = best
        for a in range(centers.shape[1]):
            sums[best, a] += sums[c, a]
            n_known[best, a] += n_known[c, a]
            if n_known[best, a] > 0:
                mean = (2 * sums[best, a] + n_known[best, a]) // (2 * n_known[best, a])
                centers[best, a] = np.int64(np.rint(mean * scales[a]))
        update_boxes(best, centers, tree.boxes, False)


__all__ = ["assign_nearest_squared", "build_center_tree", "merge_small_clusters"]
