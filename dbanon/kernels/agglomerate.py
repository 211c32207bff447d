"""Clusters that begin as single records: the smallest is merged with the one with which it costs least."""

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.loss import lost
from dbanon.kernels.min_loss_assignment import NEVER


@part
def _united(i, j, spans, sizes, losses, measure, most):
    """By how much the whole loss of two clusters grows when they are one; NEVER once that is more than `most`."""
    size, before = sizes[i] + sizes[j], sizes[i] * losses[i] + sizes[j] * losses[j]
    now = max(losses[i], losses[j])  # what they are not alike in adds to this
    if size * now - before > most:
        return np.int64(NEVER)
    now = np.int64(0)
    for a in range(len(measure.terms)):
        low, high = min(spans[i, a, 0], spans[j, a, 0]), max(spans[i, a, 1], spans[j, a, 1])
        if low == spans[i, a, 0] and high == spans[i, a, 1]:
            now += spans[i, a, 2]
        elif low == spans[j, a, 0] and high == spans[j, a, 1]:
            now += spans[j, a, 2]
        else:
            now += lost(a, low, high, measure)
        if size * now - before > most:
            return np.int64(NEVER)
    return size * now - before


@part
def _alike(j, marks, size, head, following, values, sizes):
    """The share of the pairs of records of two clusters that have the same sensitive value, on average over columns;
    `marks` (columns, values) are the records of the other by value, which has so many."""
    total, member = 0, head[j]
    while member >= 0:
        for s in range(len(values)):
            total += marks[s, values[s, member]]
        member = following[member]
    return total / (size * sizes[j] * len(values))


@part
def _mark(i, amount, marks, head, following, values):
    member = head[i]
    while member >= 0:
        for s in range(len(values)):
            marks[s, values[s, member]] += amount
        member = following[member]


@kernel
def merge_steps(state, most, k, penalty, items, values, measure, clusters):
    """Merges clusters until none has fewer than k records, only one is left, or about `most` were looked at; gives how
    many were, and whether that is all. The smallest one (ties: that of the first record) is merged with the one for
    which the growth of the whole loss, and `penalty` times the share of pairs with the same sensitive value, are least
    together; it takes the place of the one whose first record comes first.

    state: number of clusters in `alive`; 0: none has begun. items: the tuple of each record. values (columns, records).
    """
    alive, spans, sizes, losses, head, tail, following, marks = clusters
    steps = np.int64(0)
    if state[0] == 0:
        for i in range(len(items)):
            alive[i], sizes[i], head[i], tail[i], following[i] = (
                i,
                1,
                i,
                i,
                -1,
            )
            losses[i] = 0
            for a in range(len(measure.terms)):
                code = np.int64(measure.codes[items[i], a])
                spans[i, a, 0], spans[i, a, 1], spans[i, a, 2] = (
                    code,
                    code,
                    lost(a, code, code, measure),
                )
                losses[i] += spans[i, a, 2]
        state[0] = len(items)
    while steps < most:
        number = state[0]
        smallest = 0
        for o in range(1, number):
            if sizes[alive[o]] < sizes[alive[smallest]]:
                smallest = o
        i = alive[smallest]
        if sizes[i] >= k or number == 1:
            return steps, True
        _mark(i, np.int64(1), marks, head, following, values)
        chosen, best = 0, np.inf
        for o in range(number):
            if o == smallest:
                continue
            j = alive[o]
            growth = _united(i, j, spans, sizes, losses, measure, best)
            if growth == NEVER or growth > best:
                continue
            cost = growth + penalty * _alike(j, marks, sizes[i], head, following, values, sizes)
            if cost < best:
                chosen, best = o, cost
        _mark(i, np.int64(-1), marks, head, following, values)
        keep, gone = min(smallest, chosen), max(smallest, chosen)
        i, j = alive[keep], alive[gone]
        losses[i] = 0
        for a in range(len(measure.terms)):
            low, high = (
                min(spans[i, a, 0], spans[j, a, 0]),
                max(spans[i, a, 1], spans[j, a, 1]),
            )
            spans[i, a, 0], spans[i, a, 1], spans[i, a, 2] = (
                low,
                high,
                lost(a, low, high, measure),
            )
            losses[i] += spans[i, a, 2]
        sizes[i] += sizes[j]
        following[tail[i]], tail[i] = head[j], tail[j]
        for o in range(gone, number - 1):
            alive[o] = alive[o + 1]
        state[0] -= 1
        steps += number
    return steps, False
