"""Clusters in which no sensitive value has more than so many records."""

from __future__ import annotations

import numpy as np

from dbanon.kernels.fill import NEVER, grown
from dbanon.kernels.jit import kernel, part
from dbanon.kernels.loss import widen
from dbanon.kernels.nearest import ascending, distances, look

WIDER = 4
"""Nearest items are looked for in so many times the number of records that a cluster needs, and again so many times
more where these do not do."""


@part
def _room(item, values, k, least, counts, over):
    """How many records of an item a cluster can take: of a value k / least[s] of k, rounded down, and of as many values
    as that leaves records over one more; none of one with a NULL, which is no value. over: values that have one
    more."""
    room = np.int64(k)
    for s in range(len(least)):
        value = values[s, item]
        if least[s] < 2:
            continue
        if value < 0:
            return np.int64(0)
        cap = k // least[s]
        if counts[s, value] > cap or over[s] < k % least[s]:
            cap += 1
        room = np.int64(min(room, cap - counts[s, value]))
    return room


@part
def _put(item, number, values, k, least, counts, over):
    """Counts so many more, or fewer, records of an item."""
    for s in range(len(least)):
        value = values[s, item]
        if value < 0:
            continue
        before = counts[s, value]
        counts[s, value] += number
        over[s] += int(counts[s, value] > k // least[s]) - int(before > k // least[s])


@part
def _select(size, k, held, near, left, values, least, counts, over, chosen, numbers):
    """Takes records of so many nearest items, in order, until a cluster has k; gives how many items were chosen, and
    how many records it has."""
    found = np.int64(0)
    for i in range(size):
        item = near[i]
        number = min(min(left[item], k - held), _room(item, values, k, least, counts, over))
        if number > 0:
            _put(item, number, values, k, least, counts, over)
            chosen[found], numbers[found] = item, number
            found += 1
            held += number
            if held == k:
                break
    for i in range(found):
        _put(chosen[i], -numbers[i], values, k, least, counts, over)
    return found, held


@kernel
def capped_steps(
    state, most, first, k, least, order, tuples, values, ends, rows, left, codes, terms, data, codes_of, counts, labels
):  # fmt: skip
    """Makes up to `most` clusters of k records: the next of the items in `order` that is left, and those nearest to it,
    so that sensitive column s has `least[s]` values, each in about as many records.

    state: next in the order, records that are left, whether a cluster could not be made. By item: its tuple, its values
    (columns, items; -1: NULL), where its records end in `rows`, of which the last ones are left, and how many these
    are. counts: zeros (columns, values). Clusters are numbered from `first` on. Gives how many were made, and how many
    items were looked at.
    """
    levels = len(terms)
    span, table = np.empty((levels, 4), np.int64), np.empty(codes_of[levels], np.int64)
    near, far = np.empty(WIDER * k, np.int64), np.empty(WIDER * k, np.int64)
    chosen, numbers = np.empty(k, np.int64), np.empty(k, np.int64)
    over = np.zeros(len(least), np.int64)
    alive, number = np.empty(len(left), np.int64), np.int64(0)
    for item in range(len(left)):
        if left[item] > 0:
            alive[number] = item
            number += 1
    made, steps = np.int64(0), np.int64(0)
    while made < most and state[1] >= k and state[0] < len(order) and state[2] == 0:
        center = order[state[0]]
        if left[center] == 0 or _room(center, values, k, least, counts, over) == 0:
            state[0] += 1
            continue
        distances(tuples[center], codes, terms, data, span, codes_of, table)
        left[center] -= 1  # it comes first, before others of its tuple
        _put(center, np.int64(1), values, k, least, counts, over)
        while True:
            number, size = look(
                tuples[center], alive, number, left, tuples, codes, terms, data, span, codes_of, table, near, far
            )
            steps += number
            ascending(size, near, far)
            found, held = _select(size, k, np.int64(1), near, left, values, least, counts, over, chosen, numbers)
            if held == k or size == number:
                break
            near, far = np.empty(WIDER * len(near), np.int64), np.empty(WIDER * len(near), np.int64)
        _put(center, np.int64(-1), values, k, least, counts, over)
        if held < k:
            left[center] += 1
            state[2] = 1
            break
        labels[rows[ends[center] - left[center] - 1]] = first + made
        for i in range(found):
            at = ends[chosen[i]] - left[chosen[i]]
            labels[rows[at : at + numbers[i]]] = first + made
            left[chosen[i]] -= numbers[i]
        state[1] -= k
        made += 1
    return made, steps


@kernel
def capped_join(
    first, most, rows, spare, least, items, values, before, last, codes, terms, data, spans, sizes, losses, labels
):  # fmt: skip
    """Each of the rows, from `first` on, joins the cluster whose whole loss grows least among those in which none of
    its values has more than 1 / least[s] of the records then, rounded up. Where there is none it is left out, as long
    as `spare` lasts, and then joins any. Ends after `most` clusters; gives the next, what is spare, and how many
    clusters were looked at.

    before (rows,) and last (clusters,): the members of a cluster, one after another, ending with -1. values (columns,
    rows) have -1 for NULL.
    """
    steps, i = np.int64(0), first
    while i < len(rows) and steps < most:
        row = rows[i]
        item = items[row]
        best, chosen = np.int64(NEVER), np.int64(-1)
        anyhow, otherwise = np.int64(NEVER), np.int64(-1)
        for c in range(len(sizes)):
            growth = grown(losses[c], sizes[c], item, codes, spans[c], terms, data, best)
            if growth >= best:
                continue
            if growth < anyhow:
                anyhow, otherwise = growth, np.int64(c)
            if _fits(row, least, values, before, last[c], sizes[c]):
                best, chosen = growth, np.int64(c)
        steps += len(sizes)
        if chosen < 0 and spare > 0:
            spare -= 1
            i += 1
            continue
        if chosen < 0:
            chosen = otherwise
        losses[chosen] = widen(losses[chosen], item, codes, spans[chosen], terms, data)
        sizes[chosen] += 1
        before[row], last[chosen] = last[chosen], row
        labels[row] = chosen
        i += 1
    return i, spare, steps


@part
def _fits(row, least, values, before, member, size):
    """Whether no value of a row has too many records in a cluster with it."""
    for s in range(len(least)):
        if least[s] < 2 or values[s, row] < 0:
            continue
        same, now = np.int64(1), member
        while now >= 0:
            if values[s, now] == values[s, row]:
                same += 1
            now = before[now]
        if same > (size + least[s]) // least[s]:  # the next whole number of (size + 1) / least
            return False
    return True
