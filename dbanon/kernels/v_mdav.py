"""V-MDAV: clusters around the record farthest from the average of all records, extended while others lie close."""

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.kd_tree import farthest, locate, nearest, remove, take_nearest


@part
def closest(t, wanted, points, nodes, boxes, terms, sums, whose):
    """Return the greatest distance of the `wanted` nearest records that are left to a tuple, and the tuple at it."""
    place = np.empty(len(terms[1]))
    locate(t, points, place)
    nearest(points, nodes, boxes, terms, place, wanted, sums, whose)
    return sums[0], whose[0]


@kernel
def v_mdav_steps(points, nodes, boxes, terms, average, gamma, k, steps, members):
    """Make up to `steps` clusters of k to 2k - 1 records while k are left.

    average (axes,): the place from which seeds are farthest. members: see `mdav_steps`. Gives rows used.
    """
    left, records = points[3], nodes[4]
    place = np.empty(len(average))
    sums, whose = np.empty(k + 2, np.int64), np.empty(k + 2, np.int64)
    near, to = np.empty(2 * k, np.int64), np.empty(2 * k, np.int64)
    used = 0
    for _ in range(steps):
        if records[0] < k:
            break
        first, size = used, k
        seed = farthest(points, nodes, boxes, terms, average)
        used = take_nearest(seed, k - 1, points, nodes, boxes, terms, place, (sums, whose), members, used)
        known = 0
        while size < 2 * k - 1 and records[0] > 1:
            best = -1
            for i in range(used - first):
                if i >= known or left[to[i]] == 0:
                    near[i], to[i] = closest(members[first + i, 0], 1, points, nodes, boxes, terms, sums, whose)
                if best < 0 or near[i] < near[best] or (near[i] == near[best] and to[i] < to[best]):
                    best = i
            known = used - first
            joining = to[best]
            apart, _ = closest(joining, 2, points, nodes, boxes, terms, sums, whose)  # the nearest is itself
            if near[best] >= gamma * gamma * apart:
                break
            remove(joining, np.int64(1), points, nodes, boxes, terms)
            members[used, 0], members[used, 1] = joining, 1
            used += 1
            size += 1
        members[used, 0] = -1
        used += 1
    return used
