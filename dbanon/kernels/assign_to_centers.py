"""Assignment of records to centers: in one pass with moving centers, at once, or with a capacity per cluster.

Clusters are also trimmed, and centers recomputed as means and modes. For squared Euclidean distances, all axes are
numbers, in coordinates whose squares can be summed, NULL_COORDINATE for a NULL.
"""

import numpy as np

from dbanon.kernels.centers import (
    NO_CENTER,
    NULL_COORDINATE,
    allocate_search,
    build_center_tree,
    center_distance,
    nearest_center,
    squared_box_distance,
    update_boxes,
)
from dbanon.kernels.jit import kernel, kernel_part


@kernel_part
def count_value(key, amount, keys, counts):
    """Add `amount` to the count of a key in an open hash table (`keys`, `counts`), in place; return the new count.

    A key that is not in the table is inserted. The length of the table is a power of two; free slots are negative.

    Args:
        key: The key.
        amount: The amount.
        keys, counts: Open hash table: keys (negative: free) and counts; its length is a power of two; updated in place.
    """
    mixed = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    slot = np.int64(mixed & np.uint64(len(keys) - 1))
    while keys[slot] != key and keys[slot] >= 0:
        slot = (slot + 1) & (len(keys) - 1)
    keys[slot] = key
    counts[slot] += amount
    return counts[slot]


@kernel
def count_center_values(centers, axes, keys, counts):
    """Count 1 for each center's categorical value on each hierarchy, in a hash table (`keys`, `counts`), in place.

    The key is made of the center and the value, so the counts are those of each center.

    Args:
        centers: (clusters, axes) coordinates.
        axes: `CenterAxes`.
        keys, counts: Open hash table: keys (negative: free) and counts; its length is a power of two; updated in place.
    """
    for c in range(len(centers)):
        for a in range(len(axes.is_hierarchy)):
            if axes.is_hierarchy[a]:
                count_value(c * axes.node_starts[-1] + axes.node_starts[a] + centers[c, a], 1, keys, counts)


@kernel_part
def add_to_center(center, point, amount, centers, axes, totals):
    """Add equal records to a cluster and move its center in place; return whether the center moved.

    Args:
        center: The cluster.
        point: Coordinates of the records.
        amount: Number of records.
        centers: (clusters, axes) coordinates.
        axes: `CenterAxes`.
        totals: `CenterTotals`; updated in place.
    """
    tree, _, node_starts, parent, last, _ = axes
    sums, n_known, mode_counts, keys, counts, modes = totals
    has_moved = False
    for a in range(len(tree)):
        p, old_coordinate = point[a], centers[center, a]
        if not tree[a]:
            if p == NULL_COORDINATE:
                continue
            sums[center, a] += p * amount
            n_known[center, a] += amount
            centers[center, a] = (2 * sums[center, a] + n_known[center, a]) // (2 * n_known[center, a])
        elif modes:
            count = count_value(center * node_starts[-1] + node_starts[a] + p, amount, keys, counts)
            if count > mode_counts[center, a] or (count == mode_counts[center, a] and p < old_coordinate):
                mode_counts[center, a], centers[center, a] = count, p
        elif p != old_coordinate:
            begin, end = node_starts[a], node_starts[a + 1] - node_starts[a] - 1
            node = np.int64(0) if p == end or old_coordinate == end else p
            while old_coordinate != end and (old_coordinate < node or old_coordinate > last[begin + node]):
                node = np.int64(parent[begin + node])
            centers[center, a] = node
        has_moved = has_moved or centers[center, a] != old_coordinate
    return has_moved


@kernel
def assign_and_move(begin, end, max_steps, n_remaining, points, tree, totals, labels):
    """Assign the remaining records of the tuples from `begin` to `end` to the nearest center, which moves at once.

    Labels, centers and the tree are updated in place; all records of a tuple get one label. Tuples without records are
    skipped.

    Args:
        begin, end: The tuples begin <= t < end.
        max_steps: Number of visited boxes after which to return.
        n_remaining: (tuples,) remaining records.
        points: (tuples, axes) coordinates.
        tree: `CenterTree` of the centers; updated in place.
        totals: `CenterTotals`; updated in place.
        labels: Output: (tuples,) center of each tuple.

    Returns:
        The tuple to continue with, after `max_steps` visited boxes or at the end.
    """
    scratch = allocate_search(tree)
    for t in range(begin, end):
        if n_remaining[t] == 0:
            continue
        if scratch.n_steps[0] >= max_steps:
            return t
        best = nearest_center(points[t], tree, scratch, NO_CENTER, NULL_COORDINATE)
        labels[t] = best
        if add_to_center(best, points[t], n_remaining[t], tree.points, tree.axes, totals):
            update_boxes(best, tree.points, tree.boxes, False)
    return end


@kernel
def assign_nearest(begin, max_steps, tuples, points, tree, labels, has_labels):
    """Label each of some tuples with its nearest center (ties: the first); centers do not move.

    With `has_labels`, the search starts from the center of the label so far, which is a candidate too.

    Args:
        begin: First place in `tuples`.
        max_steps: Number of visited boxes after which to return.
        tuples: The tuples to label.
        points: Coordinates by tuple.
        tree: `CenterTree` of the centers.
        labels: Output: center of each tuple.
        has_labels: `labels` has a center for each tuple already.

    Returns:
        The place in `tuples` to continue at, after `max_steps` steps or at the end.
    """
    scratch = allocate_search(tree)
    for i in range(begin, len(tuples)):
        if scratch.n_steps[0] >= max_steps:
            return i
        t = tuples[i]
        best, lowest = np.int64(NO_CENTER), np.int64(NULL_COORDINATE)
        if has_labels:
            best, lowest = labels[t], center_distance(points[t], tree.points[labels[t]], tree.axes)
        labels[t] = nearest_center(points[t], tree, scratch, best, lowest)
    return len(tuples)


@kernel
def assign_with_capacity(begin, max_steps, records, tuple_of, points, tree, near, free, labels):
    """Assign records, in order, to the nearest center with free capacity, until no center is free.

    A center that becomes full is closed in the tree; `near`, `free` and `labels` are updated in place.

    Args:
        begin: First place in `records`.
        max_steps: Number of visited boxes after which to return.
        records: The records to assign.
        tuple_of: Tuple of each record.
        points: Coordinates by tuple.
        tree: `CenterTree` of the centers with free capacity.
        near: Nearest center of each tuple as last found, -1 for none; it stays valid while that center is free.
        free: Free capacity of each center.
        labels: Output: center of each record.

    Returns:
        The place in `records` to continue at; the number of records if all are assigned.
    """
    scratch = allocate_search(tree)
    for i in range(begin, len(records)):
        if tree.boxes.first[0] == NO_CENTER:
            return i
        t = tuple_of[records[i]]
        if near[t] < 0 or free[near[t]] == 0:
            if scratch.n_steps[0] >= max_steps:
                return i
            near[t] = nearest_center(points[t], tree, scratch, NO_CENTER, NULL_COORDINATE)
        center = near[t]
        labels[records[i]] = center
        free[center] -= 1
        if free[center] == 0:
            update_boxes(center, tree.points, tree.boxes, True)
    return len(records)


@kernel_part
def rows_by_cluster(labels, starts):
    """Return the rows sorted by cluster, ascending within each; `starts` gets where each cluster begins, and the end.

    Args:
        labels: (rows,) cluster of each row, 0 or more.
        starts: Output: (clusters + 1,) where each cluster begins in the result, and the end.
    """
    starts[:] = 0
    for label in labels:
        starts[label + 1] += 1
    for c in range(len(starts) - 1):
        starts[c + 1] += starts[c]
    next_place = starts.copy()
    order = np.empty(len(labels), np.int64)
    for row in range(len(labels)):
        order[next_place[labels[row]]] = row
        next_place[labels[row]] += 1
    return order


@kernel
def trim_clusters(k, labels, tuple_of, points, centers, axes, free):
    """Remove the records farthest from the center from every cluster of more than k, in place: they get label -1.

    So k records remain. Of equally distant ones, the first are removed.

    Args:
        k: Greatest number of records that a cluster keeps.
        labels: (records,) cluster of each record; updated in place.
        tuple_of: (records,) number of the tuple of each record.
        points: (tuples, axes) coordinates.
        centers: (clusters, axes) coordinates.
        axes: `CenterAxes`.
        free: Output: (clusters,) number of records that each cluster lacks to k.
    """
    starts = np.empty(len(centers) + 1, np.int64)
    order = rows_by_cluster(labels, starts)
    for c in range(len(centers)):
        begin, end = starts[c], starts[c + 1]
        free[c] = max(k - (end - begin), 0)
        excess = end - begin - k
        if excess <= 0:
            continue
        runs = np.empty((end - begin, 2), np.int64)
        n_runs = 0
        for i in range(begin, end):
            if i == begin or tuple_of[order[i]] != tuple_of[order[i - 1]]:
                runs[n_runs, 0], runs[n_runs, 1] = -center_distance(points[tuple_of[order[i]]], centers[c], axes), i
                n_runs += 1
        for r in np.argsort(runs[:n_runs, 0], kind="mergesort"):
            i = runs[r, 1]
            until = runs[r + 1, 1] if r + 1 < n_runs else end
            while i < until and excess > 0:
                labels[order[i]] = -1
                i, excess = i + 1, excess - 1
            if excess == 0:
                break


@kernel
def update_centers(labels, tuple_of, points, centers, axes):
    """Recompute `centers` in place from their records; return a boolean array of the centers that moved.

    Means are rounded to whole units; the coordinate on a hierarchy is the most frequent value (ties: the first). A
    cluster without records keeps its center.

    Args:
        labels: (records,) cluster of each record, 0 or more.
        tuple_of: (records,) number of the tuple of each record.
        points: (tuples, axes) coordinates.
        centers: (clusters, axes) coordinates; updated in place.
        axes: `CenterAxes`.
    """
    starts = np.empty(len(centers) + 1, np.int64)
    order = rows_by_cluster(labels, starts)
    has_moved = np.zeros(len(centers), np.bool_)
    counts = np.zeros(axes.node_starts[-1], np.int64)
    for c in range(len(centers)):
        begin, end = starts[c], starts[c + 1]
        for a in range(len(axes.is_hierarchy)):
            if begin == end:
                continue
            old_coordinate = centers[c, a]
            if not axes.is_hierarchy[a]:
                total, n_known = np.int64(0), np.int64(0)
                for i in range(begin, end):
                    p = points[tuple_of[order[i]], a]
                    if p != NULL_COORDINATE:
                        total, n_known = total + p, n_known + 1
                centers[c, a] = NULL_COORDINATE if n_known == 0 else (2 * total + n_known) // (2 * n_known)
            else:
                mode = points[tuple_of[order[begin]], a]
                for i in range(begin, end):
                    p = points[tuple_of[order[i]], a]
                    counts[p] += 1
                    if counts[p] > counts[mode] or (counts[p] == counts[mode] and p < mode):
                        mode = p
                for i in range(begin, end):
                    counts[points[tuple_of[order[i]], a]] = 0
                centers[c, a] = mode
            has_moved[c] = has_moved[c] or centers[c, a] != old_coordinate
    return has_moved


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


__all__ = [
    "assign_and_move",
    "assign_nearest",
    "assign_nearest_squared",
    "assign_with_capacity",
    "build_center_tree",
    "count_center_values",
    "merge_small_clusters",
    "trim_clusters",
    "update_centers",
]
