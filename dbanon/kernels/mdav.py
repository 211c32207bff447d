"""MDAV: clusters around the record farthest from the average record, and around the one farthest from that one.

V-MDAV: clusters around the record farthest from the average record, extended while other records are close.
"""

import math

import numpy as np

from dbanon.kernels.heap import pop, push_bounded
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.kd_tree import (
    copy_coordinates,
    distance_to_place,
    farthest_tuple,
    nearest_records,
    remove_records,
    take_nearest_records,
)

MAX_CACHED_QUERIES = 32
"""Number of queries about the average after which all points are examined again."""

N_CACHED, N_QUERIES = 0, 1
"""Places in `FarthestTuples.state`."""


@kernel_part
def fill_average(place, numeric, totals):
    """Set `place` to the remaining records' average: means of numbers, most frequent categories (ties: the first).

    A mean is NaN where all numbers are NULL.

    Args:
        place: Output: (axes,) coordinates; NaN for NULL.
        numeric: (axes,) whether each axis is a number; else it is a category.
        totals: `AverageTotals`.
    """
    scale, sums, n_known, begins, present = totals
    for a in range(len(place)):
        if numeric[a]:
            place[a] = sums[a] / n_known[a] / scale[a] if n_known[a] > 0 else np.nan
            continue
        mode = begins[a]
        for i in range(begins[a], begins[a + 1]):
            if present[i] > present[mode]:
                mode = i
        place[a] = mode - begins[a]


@kernel_part
def farthest_tuples(farthest_, tree, place):
    """Fill `farthest_` with the remaining tuples farthest from a place, as (distance, tuple), the farthest first.

    All points are examined; ties go to the first tuple. Returns how many tuples there are, at most len(farthest_).

    Args:
        farthest_: Output: (capacity, 2) distance and tuple.
        tree: `PointTree`; its counter of steps is increased.
        place: (axes,) coordinates; NaN for NULL.
    """
    sums, heap_tuples = np.empty(len(farthest_), np.int64), np.empty(len(farthest_), np.int64)
    size = 0
    for node in range(len(tree.kids)):
        if tree.kids[node] > 0:
            continue
        tree.n_steps[0] += tree.ends[node] - tree.begins[node]
        for i in range(tree.begins[node], tree.ends[node]):
            total = -distance_to_place(i, place, tree.coordinates, tree.numeric, tree.units)
            size = push_bounded(sums, heap_tuples, size, len(farthest_), total, tree.order[i])
    for i in range(size - 1, -1, -1):
        farthest_[i, 0], farthest_[i, 1] = -sums[0], heap_tuples[0]
        pop(sums, heap_tuples, i + 1)
    return size


@kernel_part
def cached_farthest(far, size, tree, place, old_place):
    """Return the first of the tuples farthest from a place, if it is certainly among the cached ones; else -1.

    Also returns how many of the cached tuples have remaining records; the others are removed from `far` in place.

    The cached ones were farthest from `old_place`. The root of a distance is a metric as long as categories stay equal:
    between two places it changes by no more than their distance. So a tuple that was nearer to `old_place` than the
    last of the cached ones cannot be the farthest if that one is much nearer than the best.

    Args:
        far: (cached, 2) distance from `old_place`, and tuple, the farthest first.
        size: Number of cached tuples.
        tree: `PointTree`.
        place: The place asked for: (axes,) coordinates.
        old_place: The place for which tuples were cached.
    """
    shift = 0.0
    for a in range(len(place)):
        if tree.numeric[a] and place[a] == place[a] and old_place[a] == old_place[a]:
            shift += (place[a] - old_place[a]) * (place[a] - old_place[a]) * tree.units[a]
        elif place[a] != old_place[a] and (place[a] == place[a] or old_place[a] == old_place[a]):
            return np.int64(-1), size
    shift = math.sqrt(shift)
    highest, best_tuple, n_kept, is_certain = np.int64(-1), np.int64(-1), 0, False
    for i in range(size):
        t = far[i, 1]
        if tree.n_remaining[t] == 0:
            continue
        far[n_kept, 0], far[n_kept, 1] = far[i, 0], t
        n_kept += 1
        if is_certain:
            continue
        reach = math.sqrt(far[i, 0] + len(place)) + shift
        if reach * reach * (1 + 2.0**-40) + len(place) < highest:
            is_certain = True
            continue
        total = distance_to_place(tree.place_of[t, 0], place, tree.coordinates, tree.numeric, tree.units)
        if total > highest or (total == highest and t < best_tuple):
            highest, best_tuple = total, t
    return (best_tuple if is_certain else np.int64(-1)), n_kept


@kernel
def mdav_steps(tree, totals, farthest_cache, k, max_clusters, members):
    """Form up to `max_clusters` clusters of k records while at least 2k remain, two per round while at least 3k do.

    A round's first seed is the record farthest from the average of the remaining records, the second the one farthest
    from the first seed. Returns the rows used in `members`. The tree is updated in place.

    Args:
        tree: `PointTree` of the remaining tuples; updated in place.
        totals: `AverageTotals`; updated in place.
        farthest_cache: `FarthestTuples`; updated in place.
        k: Records of a cluster.
        max_clusters: Number of clusters after which to return.
        members: Output: rows (tuple, number of records); a row of -1 ends a cluster.
    """
    far, state = farthest_cache.tuples, farthest_cache.state
    place = np.empty(len(tree.numeric))
    heap = np.empty(k + 1, np.int64), np.empty(k + 1, np.int64)
    n_rows, n_clusters = 0, 0
    while n_clusters < max_clusters and tree.records[0] >= 2 * k:
        n_in_round = 2 if tree.records[0] >= 3 * k else 1
        fill_average(place, tree.numeric, totals)
        seed, state[N_CACHED] = cached_farthest(far, state[N_CACHED], tree, place, farthest_cache.average)
        state[N_QUERIES] += 1
        if seed < 0 and state[N_QUERIES] >= MAX_CACHED_QUERIES:
            state[N_CACHED], state[N_QUERIES] = farthest_tuples(far, tree, place), 0
            farthest_cache.average[:] = place
            seed = far[0, 1]
        elif seed < 0:
            seed = farthest_tuple(tree, place)
        for turn in range(n_in_round):
            if turn > 0:
                seed = farthest_tuple(tree, place)
            first_row = n_rows
            n_rows = take_nearest_records(seed, k - 1, tree, place, heap, members, n_rows)
            for i in range(first_row, n_rows):
                t, count = members[i, 0], members[i, 1]
                for a in range(len(place)):
                    x = tree.coordinates[tree.place_of[t, 0], a]
                    if not tree.numeric[a]:
                        totals.present[totals.begins[a] + np.int64(x)] -= count
                    elif x == x:
                        totals.sums[a] -= np.int64(np.rint(x * totals.scale[a])) * count
                        totals.n_known[a] -= count
            members[n_rows, 0] = -1
            n_rows += 1
            n_clusters += 1
    return n_rows


@kernel_part
def nearest_distance(t, n_wanted, tree, sums, heap_tuples):
    """Return the greatest distance of the `n_wanted` remaining records nearest to tuple `t`, and the tuple at it.

    Args:
        t: Number of the tuple.
        n_wanted: Number of records; at least one must remain.
        tree: `PointTree`.
        sums, heap_tuples: Scratch for `n_wanted` + 1 entries.
    """
    place = np.empty(len(tree.units))
    copy_coordinates(t, tree, place)
    nearest_records(tree, place, n_wanted, sums, heap_tuples)
    return sums[0], heap_tuples[0]


@kernel
def v_mdav_steps(tree, average, gamma, k, max_steps, members):
    """Form up to `max_steps` clusters of k to 2k - 1 records while k remain; return the rows used in `members`.

    A cluster is the record farthest from the average, its k - 1 nearest, and further records: each the nearest to a
    member, as long as that distance is less than `gamma` times its distance to the nearest other remaining record.

    Args:
        tree: `PointTree` of the remaining tuples; records are removed in place.
        average: (axes,) the place from which seeds are farthest.
        gamma: The factor.
        k: Fewest records of a cluster.
        max_steps: Number of clusters after which to return.
        members: Output: rows (tuple, number of records); a row of -1 ends a cluster.
    """
    place = np.empty(len(average))
    sums, heap_tuples = np.empty(k + 2, np.int64), np.empty(k + 2, np.int64)
    nearest_distances, nearest_tuples = np.empty(2 * k, np.int64), np.empty(2 * k, np.int64)
    n_rows = 0
    for _ in range(max_steps):
        if tree.records[0] < k:
            break
        first, size = n_rows, k
        seed = farthest_tuple(tree, average)
        n_rows = take_nearest_records(seed, k - 1, tree, place, (sums, heap_tuples), members, n_rows)
        n_checked = 0
        while size < 2 * k - 1 and tree.records[0] > 1:
            best = -1
            for i in range(n_rows - first):
                if i >= n_checked or tree.n_remaining[nearest_tuples[i]] == 0:
                    nearest_distances[i], nearest_tuples[i] = nearest_distance(
                        members[first + i, 0], 1, tree, sums, heap_tuples
                    )
                if (
                    best < 0
                    or nearest_distances[i] < nearest_distances[best]
                    or (nearest_distances[i] == nearest_distances[best] and nearest_tuples[i] < nearest_tuples[best])
                ):
                    best = i
            n_checked = n_rows - first
            joining = nearest_tuples[best]
            own_distance, _ = nearest_distance(joining, 2, tree, sums, heap_tuples)  # the nearest is itself
            if nearest_distances[best] >= gamma * gamma * own_distance:
                break
            remove_records(joining, np.int64(1), tree)
            members[n_rows, 0], members[n_rows, 1] = joining, 1
            n_rows += 1
            size += 1
        members[n_rows, 0] = -1
        n_rows += 1
    return n_rows
