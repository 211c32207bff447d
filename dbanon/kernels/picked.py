"""Clusters with so many records of each group of sensitive values, or with one of each frequent value."""

from __future__ import annotations

import numpy as np

from dbanon.kernels.centers import apart
from dbanon.kernels.fill import ask_few, lost_with
from dbanon.kernels.jit import kernel, part
from dbanon.kernels.loss import begin, widen
from dbanon.kernels.nearest import ascending, bring, distances, look

WIDER = 4
"""Nearest items are looked for in so many times the number of records that a cluster needs, and again so many times
more where these do not do."""


@part
def _share_out(size, each, left_of, need):
    """How many records of each group a cluster of so many takes: `each`, and where a group has fewer, those of the
    group of which most are left (ties: the first)."""
    held = np.int64(0)
    for g in range(len(left_of)):
        need[g] = min(min(np.int64(each), left_of[g]), size - held)
        held += need[g]
    while held < size:
        largest = np.int64(0)
        for g in range(len(left_of)):
            if left_of[g] - need[g] > left_of[largest] - need[largest]:
                largest = np.int64(g)
        need[largest] += 1
        held += 1


@kernel
def group_steps(
    state, most, first, k, each, order, item_of, tuples, kinds, ends, rows, place, left, left_of, codes, terms, data,
    codes_of, labels, seeds,
):  # fmt: skip
    """Makes up to `most` clusters: the next of the records in `order` that is in none, and of each kind the nearest to
    it, until there are `each` of every kind (see `_share_out`); while there are k records.

    state: next in the order, records that are left. By item: its tuple, its kind, where its records end in `rows`
    (`place` is where each record is), of which the last ones are left, and how many. left_of: records left by kind.
    Clusters are numbered from `first` on; `seeds` gets their seeds' tuples. Gives how many were made, and how many
    items were looked at.
    """
    levels = len(terms)
    span, table = np.empty((levels, 4), np.int64), np.empty(codes_of[levels], np.int64)
    need, lack = np.empty(len(left_of), np.int64), np.empty(len(left_of), np.int64)
    room = min(WIDER * max(each * len(left_of), k), len(left))
    near, far = np.empty(room, np.int64), np.empty(room, np.int64)
    alive, number = np.empty(len(left), np.int64), np.int64(0)
    for item in range(len(left)):
        if left[item] > 0:
            alive[number] = item
            number += 1
    made, steps = np.int64(0), np.int64(0)
    while made < most and state[1] >= k:
        row = order[state[0]]
        state[0] += 1
        if labels[row] >= 0:
            continue
        item = item_of[row]
        size = min(state[1], max(np.int64(each * len(left_of)), np.int64(k)))
        _share_out(size, each, left_of, need)
        if need[kinds[item]] == 0:  # fewer records are left than a cluster has groups
            last = len(need) - 1
            while need[last] == 0:
                last -= 1
            need[last] -= 1
            need[kinds[item]] = 1
        bring(row, ends[item] - left[item], rows, place)
        labels[row] = first + made
        seeds[made] = tuples[item]
        left[item] -= 1
        left_of[kinds[item]] -= 1
        need[kinds[item]] -= 1
        state[1] -= 1
        distances(tuples[item], codes, terms, data, span, codes_of, table)
        while True:
            number, size = look(
                seeds[made], alive, number, left, tuples, codes, terms, data, span, codes_of, table, near, far
            )
            steps += number
            ascending(size, near, far)
            lack[:] = need
            for i in range(size):
                lack[kinds[near[i]]] -= min(left[near[i]], lack[kinds[near[i]]])
            if lack.max() == 0:
                break
            near, far = np.empty(WIDER * len(near), np.int64), np.empty(WIDER * len(near), np.int64)
        for i in range(size):
            item = near[i]
            count = min(left[item], need[kinds[item]])
            if count == 0:
                continue
            at = ends[item] - left[item]
            labels[rows[at : at + count]] = first + made
            left[item] -= count
            left_of[kinds[item]] -= count
            need[kinds[item]] -= count
            state[1] -= count
        made += 1
    return made, steps


@kernel
def bucket_steps(
    state, most, first, k, parts, begins, first_of, tuples, ends, rows, left, left_of, left_in, away, codes, terms,
    data, codes_of, labels,
):  # fmt: skip
    """Makes up to `most` clusters of k records, part after part, as long as a part has k: a record of each of the kinds
    of which most are left (ties: the one whose first record comes first), and again of each where these are fewer. The
    first is the nearest to the center of the part (`away`, by item), the others those with which a record of the
    cluster loses least.

    state: the part, records left in all. Items are sorted by kind, kinds by part. parts (parts + 1,) and begins (kinds
    + 1,): the first kind and the first item of each; first_of: the first record of a kind; left, left_of, left_in:
    records left by item, kind and part; `ends`: where the records of an item end in `rows`. Clusters are numbered from
    `first` on. Gives how many were made, and how many items were looked at.
    """
    levels = len(terms)
    span, before = np.empty((levels, 4), np.int64), np.empty((levels, 2), np.int64)
    table, turn = np.empty(codes_of[levels], np.int64), np.zeros(len(left_of), np.int64)
    made, steps, now = np.int64(0), np.int64(0), np.int64(0)
    while made < most and state[0] < len(left_in):
        p = state[0]
        if left_in[p] < k:
            state[0] += 1
            continue
        size, loss = np.int64(0), np.int64(0)
        now += 1
        while size < k:
            kind = np.int64(-1)
            for i in range(parts[p], parts[p + 1]):
                if left_of[i] == 0 or turn[i] == now:
                    continue
                if kind < 0 or left_of[i] > left_of[kind]:
                    kind = np.int64(i)
                elif left_of[i] == left_of[kind] and first_of[i] < first_of[kind]:
                    kind = np.int64(i)
            if kind < 0:
                now += 1
                continue
            turn[kind] = now
            chosen, best = np.int64(-1), np.int64(0)
            for item in range(begins[kind], begins[kind + 1]):
                if left[item] > 0:
                    if size == 0:
                        cost = away[item]
                    else:
                        cost = lost_with(tuples[item], codes, span, codes_of, terms, data, table)
                    if chosen < 0 or cost < best:
                        chosen, best = np.int64(item), cost
            steps += begins[kind + 1] - begins[kind] + parts[p + 1] - parts[p]
            if size == 0:
                loss = begin(tuples[chosen], codes, span, terms, data)
                before[:] = -1
            else:
                loss = widen(loss, tuples[chosen], codes, span, terms, data)
            ask_few(span, before, codes_of, terms, data, table)
            labels[rows[ends[chosen] - left[chosen]]] = first + made
            left[chosen] -= 1
            left_of[kind] -= 1
            left_in[p] -= 1
            state[1] -= 1
            size += 1
        made += 1
    return made, steps


@kernel
def to_centers(points, which, centers, axes):
    """The distance of each point to one of the centers (see dbanon.kernels.centers)."""
    away = np.empty(len(points), np.int64)
    for i in range(len(points)):
        away[i] = apart(points[i], centers[which[i]], axes)
    return away
