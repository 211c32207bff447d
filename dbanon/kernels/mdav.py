"""MDAV: clusters around the record farthest from the average record, and around the one farthest from that."""

import math

import numpy as np

from dbanon.kernels.heap import pop, push
from dbanon.kernels.jit import kernel, part
from dbanon.kernels.kd_tree import apart, farthest, take_nearest

PATIENCE = 32
"""Questions about the average before all points are looked at again."""


@part
def average(place, numeric, totals):
    """The average of what is left: the mean of a number (NaN where all are NULL), the most frequent category.

    A mean is exact: sums are of whole steps.
    """
    scale, sums, known, begins, present = totals
    for a in range(len(place)):
        if numeric[a]:
            place[a] = sums[a] / known[a] / scale[a] if known[a] > 0 else np.nan
            continue
        most = begins[a]
        for i in range(begins[a], begins[a + 1]):
            if present[i] > present[most]:
                most = i
        place[a] = most - begins[a]


@part
def outermost(far, points, nodes, terms, place):
    """Fill `far` with the tuples that are farthest from a place, the farthest first, ties by tuple: (distance, tuple).

    Gives how many.
    """
    order = points[0]
    begins, ends, kids = nodes[0], nodes[1], nodes[2]
    sums, whose = np.empty(len(far), np.int64), np.empty(len(far), np.int64)
    size = 0
    for node in range(len(kids)):
        if kids[node] > 0:
            continue
        points[4][0] += ends[node] - begins[node]
        for i in range(begins[node], ends[node]):
            total = -apart(points, i, place, terms)
            if size == len(far):
                if total > sums[0] or (total == sums[0] and order[i] > whose[0]):
                    continue
                pop(sums, whose, size)
                size -= 1
            push(sums, whose, size, total, order[i])
            size += 1
    for i in range(size - 1, -1, -1):
        far[i, 0], far[i, 1] = -sums[0], whose[0]
        pop(sums, whose, i + 1)
    return size


@part
def still_farthest(far, size, points, terms, place, seen):
    """The first of the tuples that are farthest from a place, by those that were farthest from `seen`; -1 where these
    do not tell. Gives how many of them are left, too.

    The root of a distance is a distance in space, as long as categories stay: between two places it changes by no more
    than theirs. What was nearer to `seen` than the last of `far` is therefore not the farthest if that is much nearer.
    """
    numeric, unit = terms
    at, left = points[1], points[3]
    moved = 0.0
    for a in range(len(unit)):
        if numeric[a] and place[a] == place[a] and seen[a] == seen[a]:
            moved += (place[a] - seen[a]) * (place[a] - seen[a]) * unit[a]
        elif place[a] != seen[a] and (place[a] == place[a] or seen[a] == seen[a]):
            return np.int64(-1), size
    moved = math.sqrt(moved)
    best, where, keep, done = np.int64(-1), np.int64(-1), 0, False
    for i in range(size):
        t = far[i, 1]
        if left[t] == 0:
            continue
        far[keep, 0], far[keep, 1] = far[i, 0], t
        keep += 1
        if done:
            continue
        reach = math.sqrt(far[i, 0] + len(unit)) + moved
        if reach * reach * (1 + 2.0**-40) + len(unit) < best:
            done = True
            continue
        total = apart(points, at[t, 0], place, terms)
        if total > best or (total == best and t < where):
            best, where = total, t
    return (where if done else np.int64(-1)), keep


@kernel
def mdav_steps(points, nodes, boxes, terms, totals, outer, k, steps, members):
    """Make up to `steps` clusters of k records while at least 2k are left, two a round while at least 3k are.

    totals: `AverageTotals`; outer: `FarthestTuples`; members: see `gather_steps`. Gives rows used.
    """
    records, coordinates = nodes[4], points[2]
    scale, sums, known, begins, present = totals
    far, seen, state = outer
    numeric = terms[0]
    place = np.empty(len(numeric))
    heap = np.empty(k + 1, np.int64), np.empty(k + 1, np.int64)
    used, made = 0, 0
    while made < steps and records[0] >= 2 * k:
        pair = 2 if records[0] >= 3 * k else 1
        average(place, numeric, totals)
        seed, state[0] = still_farthest(far, state[0], points, terms, place, seen)
        state[1] += 1
        if seed < 0 and state[1] >= PATIENCE:
            state[0], state[1] = outermost(far, points, nodes, terms, place), 0
            seen[:] = place
            seed = far[0, 1]
        elif seed < 0:
            seed = farthest(points, nodes, boxes, terms, place)
        for turn in range(pair):
            if turn > 0:
                seed = farthest(points, nodes, boxes, terms, place)
            first = used
            used = take_nearest(seed, k - 1, points, nodes, boxes, terms, place, heap, members, used)
            for i in range(first, used):
                t, count = members[i, 0], members[i, 1]
                for a in range(len(place)):
                    x = coordinates[points[1][t, 0], a]
                    if not numeric[a]:
                        present[begins[a] + np.int64(x)] -= count
                    elif x == x:
                        sums[a] -= np.int64(np.rint(x * scale[a])) * count
                        known[a] -= count
            members[used, 0] = -1
            used += 1
            made += 1
    return used
