"""Records join centers: in one pass while centers move, at once, or dealt out to clusters with a place left; clusters
are trimmed, and centers become means and modes. Points, `axes` and trees are those of `dbanon.kernels.centers`."""

import numpy as np

from dbanon.kernels.centers import NOBODY, NONE, apart, build, nearest, refit
from dbanon.kernels.jit import kernel, part


@part
def count_value(key, amount, keys, counts):
    """Add to the count of a key in an open hash table; return the new count."""
    mixed = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    slot = np.int64(mixed & np.uint64(len(keys) - 1))
    while keys[slot] != key and keys[slot] >= 0:
        slot = (slot + 1) & (len(keys) - 1)
    keys[slot] = key
    counts[slot] += amount
    return counts[slot]


@kernel
def count_first(centers, axes, keys, counts):
    """Count the values of first centers."""
    tree, at = axes[0], axes[2]
    for c in range(len(centers)):
        for a in range(len(tree)):
            if tree[a]:
                count_value(c * at[-1] + at[a] + centers[c, a], 1, keys, counts)


@part
def join(center, point, amount, centers, axes, state):
    """Add equal records to a cluster and moves its center: means, and common ancestors or modes."""
    tree, at, parent, last = axes[0], axes[2], axes[3], axes[4]
    sums, known, most, keys, counts, modes = state
    moved = False
    for a in range(len(tree)):
        p, before = point[a], centers[center, a]
        if not tree[a]:
            if p == NONE:
                continue
            sums[center, a] += p * amount
            known[center, a] += amount
            centers[center, a] = (2 * sums[center, a] + known[center, a]) // (2 * known[center, a])
        elif modes:
            count = count_value(center * at[-1] + at[a] + p, amount, keys, counts)
            if count > most[center, a] or (count == most[center, a] and p < before):
                most[center, a], centers[center, a] = count, p
        elif p != before:
            begin, end = at[a], at[a + 1] - at[a] - 1
            node = np.int64(0) if p == end or before == end else p
            while before != end and (before < node or before > last[begin + node]):
                node = np.int64(parent[begin + node])
            centers[center, a] = node
        moved = moved or centers[center, a] != before
    return moved


@kernel
def absorb(begin, end, steps, left, points, tree, state, labels):
    """One pass over some tuples: the records of each join the cluster whose center is nearest, which moves at once.

    Comes back after so many steps; gives the tuple to go on with.
    """
    rows, aimed = np.empty(tree.axes[2][-1], np.int64), np.full(points.shape[1], -1, np.int64)
    stack, spent = np.empty((tree.room, 2), np.int64), np.zeros(1, np.int64)
    for t in range(begin, end):
        if left[t] == 0:
            continue
        if spent[0] >= steps:
            return t
        best = nearest(points[t], tree, (rows, aimed, stack, spent), NOBODY, NONE)
        labels[t] = best
        if join(best, points[t], left[t], tree.points, tree.axes, state):
            refit(best, tree.points, tree.boxes, False)
    return end


@kernel
def place(begin, steps, tuples, points, tree, labels, known):
    """The first of the nearest centers for each of some tuples; where `known`, unless the label so far comes before.

    Comes back after so many steps; gives the place in `tuples` to go on at.
    """
    rows, aimed = np.empty(tree.axes[2][-1], np.int64), np.full(points.shape[1], -1, np.int64)
    stack, spent = np.empty((tree.room, 2), np.int64), np.zeros(1, np.int64)
    for i in range(begin, len(tuples)):
        if spent[0] >= steps:
            return i
        t = tuples[i]
        best, least = np.int64(NOBODY), np.int64(NONE)
        if known:
            best, least = labels[t], apart(points[t], tree.points[labels[t]], tree.axes)
        labels[t] = nearest(points[t], tree, (rows, aimed, stack, spent), best, least)
    return len(tuples)


@kernel
def deal(begin, steps, records, tuple_of, points, tree, near, free, labels):
    """Return records, in order, join the cluster with the nearest center among those with a place left, until none has.

    `near`: the last answer for each tuple, -1 for none; while it is open it is still the answer. Comes back after so
    many steps; gives the record to go on with.
    """
    rows, aimed = np.empty(tree.axes[2][-1], np.int64), np.full(points.shape[1], -1, np.int64)
    stack, spent = np.empty((tree.room, 2), np.int64), np.zeros(1, np.int64)
    for i in range(begin, len(records)):
        if tree.boxes[3][0] == NOBODY:
            return i
        t = tuple_of[records[i]]
        if near[t] < 0 or free[near[t]] == 0:
            if spent[0] >= steps:
                return i
            near[t] = nearest(points[t], tree, (rows, aimed, stack, spent), NOBODY, NONE)
        center = near[t]
        labels[records[i]] = center
        free[center] -= 1
        if free[center] == 0:
            refit(center, tree.points, tree.boxes, True)
    return len(records)


@part
def by_cluster(labels, starts):
    """Return rows in the order of their clusters; `starts` gets where each begins."""
    starts[:] = 0
    for label in labels:
        starts[label + 1] += 1
    for c in range(len(starts) - 1):
        starts[c + 1] += starts[c]
    at = starts.copy()
    order = np.empty(len(labels), np.int64)
    for row in range(len(labels)):
        order[at[labels[row]]] = row
        at[labels[row]] += 1
    return order


@kernel
def trim(k, labels, tuple_of, points, centers, axes, free):
    """Takes the records farthest from its center (ties: the first) off every cluster of more than k: their label
    becomes -1. `free` gets how many each cluster lacks."""
    starts = np.empty(len(centers) + 1, np.int64)
    order = by_cluster(labels, starts)
    for c in range(len(centers)):
        begin, end = starts[c], starts[c + 1]
        free[c] = max(k - (end - begin), 0)
        excess = end - begin - k
        if excess <= 0:
            continue
        runs = np.empty((end - begin, 2), np.int64)
        number = 0
        for i in range(begin, end):
            if i == begin or tuple_of[order[i]] != tuple_of[order[i - 1]]:
                runs[number, 0], runs[number, 1] = -apart(points[tuple_of[order[i]]], centers[c], axes), i
                number += 1
        for r in np.argsort(runs[:number, 0], kind="mergesort"):
            i = runs[r, 1]
            until = runs[r + 1, 1] if r + 1 < number else end
            while i < until and excess > 0:
                labels[order[i]] = -1
                i, excess = i + 1, excess - 1
            if excess == 0:
                break


@kernel
def recenter(labels, tuple_of, points, centers, axes):
    """Return the centers of clusters: means rounded to whole units, and modes (ties: the first).

    A cluster without records keeps its center. Gives which centers moved.
    """
    tree, at = axes[0], axes[2]
    starts = np.empty(len(centers) + 1, np.int64)
    order = by_cluster(labels, starts)
    moved = np.zeros(len(centers), np.bool_)
    counts = np.zeros(at[-1], np.int64)
    for c in range(len(centers)):
        begin, end = starts[c], starts[c + 1]
        for a in range(len(tree)):
            if begin == end:
                continue
            before = centers[c, a]
            if not tree[a]:
                total, known = np.int64(0), np.int64(0)
                for i in range(begin, end):
                    p = points[tuple_of[order[i]], a]
                    if p != NONE:
                        total, known = total + p, known + 1
                centers[c, a] = NONE if known == 0 else (2 * total + known) // (2 * known)
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
            moved[c] = moved[c] or centers[c, a] != before
    return moved


__all__ = ["absorb", "build", "count_first", "deal", "place", "recenter", "trim"]
