"""Nearest centers by squared Euclidean distance, in the tree of boxes of `dbanon.kernels.centers`.

All axes are numbers, in coordinates whose squares can be summed, NULL_COORDINATE for a NULL.
"""

import numpy as np

from dbanon.kernels.centers import (
    NO_CENTER,
    NULL_COORDINATE,
    allocate_search,
    build_center_tree,
    nearest_center,
    squared_box_distance,
    update_boxes,
)
from dbanon.kernels.jit import kernel


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
    scratch = allocate_search(tree)
    for t in range(begin, len(points)):
        if scratch.n_steps[0] >= max_steps:
            return t
        best = nearest[t]
        lowest = squared_box_distance(points[t], tree.boxes.bounds, tree.boxes.leaves[best], tree.axes.null_distances)
        nearest[t] = nearest_center(points[t], tree, scratch, best, lowest, True)
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
    centers, scratch = tree.points, allocate_search(tree)
    for c in small_clusters:
        best = nearest_center(centers[c], tree, scratch, NO_CENTER, NULL_COORDINATE, True)
        target_of[c] = best
        for a in range(centers.shape[1]):
            sums[best, a] += sums[c, a]
            n_known[best, a] += n_known[c, a]
            if n_known[best, a] > 0:
                mean = (2 * sums[best, a] + n_known[best, a]) // (2 * n_known[best, a])
                centers[best, a] = np.int64(np.rint(mean * scales[a]))
        update_boxes(best, centers, tree.boxes, False)


__all__ = ["assign_nearest_squared", "build_center_tree", "merge_small_clusters"]
