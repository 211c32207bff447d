"""V-MDAV: clusters around the record farthest from the average record, extended while other records are close."""

import numpy as np

from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.kd_tree import (
    copy_coordinates,
    farthest_tuple,
    nearest_records,
    remove_records,
    take_nearest_records,
)


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
