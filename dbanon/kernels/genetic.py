"""Clusters as chromosomes: two of them are pooled and grow anew from the two records that are farthest apart.

`measure`: codes by tuple, and what tells the loss of a class (dbanon.kernels.loss). `clusters`: the first record of
each, the next record of each record (-1: none), records and loss of a record by cluster, and the clusters in the order
of that loss, the greatest first (ties: the first).
"""

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.loss import lost


@part
def united(t, low, high, measure):
    """What a record loses in a class of the codes low to high that a tuple has joined."""
    codes = measure.codes
    total = np.int64(0)
    for a in range(len(low)):
        code = np.int64(codes[t, a])
        total += lost(a, min(low[a], code), max(high[a], code), measure)
    return total


@part
def join(t, low, high, codes):
    """The class that a tuple has joined."""
    for a in range(len(low)):
        low[a], high[a] = min(low[a], np.int64(codes[t, a])), max(high[a], np.int64(codes[t, a]))


@part
def begin(t, low, high, measure):
    """Make a class of one tuple; return its loss."""
    for a in range(len(low)):
        low[a] = high[a] = measure[0][t, a]
    return united(t, low, high, measure)


@part
def apart(one, other, measure):
    """Return the distance of two tuples: what they lose together where they differ."""
    codes = measure.codes
    total = np.int64(0)
    for a in range(codes.shape[1]):
        x, y = np.int64(codes[one, a]), np.int64(codes[other, a])
        if x != y:
            total += lost(a, min(x, y), max(x, y), measure)
    return total


@kernel
def losses_of(tuple_of, measure, clusters):
    """Fill in what a record loses in each cluster."""
    head, following, _, losses, _ = clusters
    low, high = np.empty(measure[0].shape[1], np.int64), np.empty(measure[0].shape[1], np.int64)
    for c in range(len(head)):
        row = head[c]
        losses[c] = begin(tuple_of[row], low, high, measure)
        while row >= 0:
            losses[c] = united(tuple_of[row], low, high, measure)
            join(tuple_of[row], low, high, measure[0])
            row = following[row]


@part
def cheapest(tuples, left, low, high, measure):
    """Return the first of the tuples with which a record of a class loses least, and that loss."""
    best, least = -1, np.int64(0)
    for i in range(len(tuples)):
        if left[i] > 0:
            loss = united(tuples[i], low, high, measure)
            if best < 0 or loss < least:
                best, least = i, loss
    return best, least


@part
def crossed(tuples, left, k, measure, taken):
    """Two classes of at least k records of a pool: they begin with the two that are farthest apart and take turns with
    the cheapest; what is left joins, in order, where the whole loss grows less. `taken` are the records of the first by
    tuple; gives the records and the loss of both."""
    low, high = np.empty((2, measure[0].shape[1]), np.int64), np.empty((2, measure[0].shape[1]), np.int64)
    losses, sizes = np.zeros(2, np.int64), np.ones(2, np.int64)
    ends, farthest = np.zeros(2, np.int64), np.int64(-1)
    for i in range(len(tuples)):
        for j in range(i + 1, len(tuples)):
            away = apart(tuples[i], tuples[j], measure)
            if away > farthest:
                farthest, ends[0], ends[1] = away, i, j
    for side in range(2):
        losses[side] = begin(tuples[ends[side]], low[side], high[side], measure)
        left[ends[side]] -= 1
    taken[ends[0]] += 1
    while sizes[1] < k:
        for side in range(2):
            i, loss = cheapest(tuples, left, low[side], high[side], measure)
            left[i] -= 1
            taken[i] += 1 - side
            losses[side] = loss
            sizes[side] += 1
            join(tuples[i], low[side], high[side], measure[0])
    for i in range(len(tuples)):
        while left[i] > 0:
            one = united(tuples[i], low[0], high[0], measure)
            other = united(tuples[i], low[1], high[1], measure)
            side = 0
            if other * (sizes[1] + 1) - losses[1] * sizes[1] < one * (sizes[0] + 1) - losses[0] * sizes[0]:
                side = 1
            left[i] -= 1
            taken[i] += 1 - side
            losses[side] = other if side else one
            sizes[side] += 1
            join(tuples[i], low[side], high[side], measure[0])
    return sizes, losses


@part
def ranked(draw, number):
    """Return a place in an order of so many, of which the first is drawn with a weight of `number`, the last with 1."""
    target = np.int64(draw * (number * (number + 1) // 2))
    low, high = np.int64(0), np.int64(number - 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle * number - middle * (middle - 1) // 2 <= target:
            low = middle
        else:
            high = middle - 1
    return low


@part
def moved(c, loss, losses, order):
    """A cluster gets another loss and its place in the order."""
    at = 0
    while order[at] != c:
        at += 1
    losses[c] = loss
    while at > 0 and (losses[order[at - 1]] < loss or (losses[order[at - 1]] == loss and order[at - 1] > c)):
        order[at] = order[at - 1]
        at -= 1
    last = len(order) - 1
    while at < last and (losses[order[at + 1]] > loss or (losses[order[at + 1]] == loss and order[at + 1] < c)):
        order[at] = order[at + 1]
        at += 1
    order[at] = c


@kernel
def evolve(state, steps, generations, patience, draws, k, tuple_of, measure, clusters):
    """Crosses two clusters after another, and keeps what loses less, for so many generations, or until so many in a row
    gained nothing. Without draws, pairs go in the order of the loss: 1 and 2, 1 and 3, 2 and 3, 1 and 4 ..., from the
    beginning after each gain.

    `state`: generations so far, those since the last gain, the next pair, and the draws that are used. Comes back when
    the draws, two a generation, are used up, or after so many steps.
    """
    head, following, sizes, losses, order = clusters
    spent = np.int64(0)
    while state[0] < generations and state[1] < patience and spent < steps:
        if len(draws):
            if state[4] == len(draws):
                break
            one = ranked(draws[state[4]], len(order))
            other = ranked(draws[state[4] + 1], len(order) - 1)
            other += 1 if other >= one else 0
            state[4] += 2
        else:
            one, other = state[2], state[3]
        a, b = min(order[one], order[other]), max(order[one], order[other])
        rows = np.empty(sizes[a] + sizes[b], np.int64)
        number = 0
        for c in (a, b):
            row = head[c]
            while row >= 0:
                rows[number] = row
                number += 1
                row = following[row]
        rows.sort()
        tuples, counts, distinct = np.empty(number, np.int64), np.zeros(number, np.int64), 0
        for row in rows:
            if distinct == 0 or tuples[distinct - 1] != tuple_of[row]:
                tuples[distinct] = tuple_of[row]
                distinct += 1
            counts[distinct - 1] += 1
        state[0] += 1
        state[1] += 1
        state[2] += 1
        if state[2] == state[3]:
            state[2], state[3] = 0, state[3] + 1
        if state[3] == len(order):
            state[2], state[3] = 0, 1
        spent += number
        if distinct == 1:
            continue
        spent += distinct * distinct // 2 + number * distinct
        taken = np.zeros(distinct, np.int64)
        new, loss = crossed(tuples[:distinct], counts[:distinct].copy(), k, measure, taken)
        if new[0] * loss[0] + new[1] * loss[1] >= sizes[a] * losses[a] + sizes[b] * losses[b]:
            continue
        state[1], state[2], state[3] = 0, 0, 1
        head[a] = head[b] = -1
        at = number
        for i in range(distinct - 1, -1, -1):
            for place in range(counts[i] - 1, -1, -1):
                at -= 1
                c = a if place < taken[i] else b
                following[rows[at]] = head[c]
                head[c] = rows[at]
        for c, side in ((a, 0), (b, 1)):
            sizes[c] = new[side]
            moved(c, loss[side], losses, order)
