"""Clusters with so many records of each group of sensitive values, or with one of each frequent value."""

import numpy as np

from dbanon.kernels.arrays import LossTables
from dbanon.kernels.jit import kernel, part
from dbanon.kernels.k_nearest import ascending, bring, distances, look
from dbanon.kernels.loss import begin, widen
from dbanon.kernels.min_loss_assignment import ask_few, lost_with, remaining

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
def group_steps(state, most, first, k, each, items, measure, codes_of, labels, seeds):
    """Makes up to `most` clusters: the next of the records in `order` that is in none, and of each kind the nearest to
    it, until there are `each` of every kind (see `_share_out`); while there are k records.

    state: next in the order, records that are left. Clusters are numbered from `first` on; `seeds` gets their
    seeds' tuples. Gives how many were made, and how many items were looked at.
    """
    levels = len(measure.terms)
    question = LossTables(np.empty((levels, 4), np.int64), codes_of, np.empty(codes_of[levels], np.int64))
    need, lack = np.empty(len(items.left_of), np.int64), np.empty(len(items.left_of), np.int64)
    room = min(WIDER * max(each * len(items.left_of), k), len(items.left))
    near, far = np.empty(room, np.int64), np.empty(room, np.int64)
    alive, number = remaining(items.left)
    made, steps = np.int64(0), np.int64(0)
    while made < most and state[1] >= k:
        row = items.order[state[0]]
        state[0] += 1
        if labels[row] >= 0:
            continue
        item = items.item_of[row]
        size = min(state[1], max(np.int64(each * len(items.left_of)), np.int64(k)))
        _share_out(size, each, items.left_of, need)
        if need[items.kinds[item]] == 0:  # fewer records are left than a cluster has groups
            last = len(need) - 1
            while need[last] == 0:
                last -= 1
            need[last] -= 1
            need[items.kinds[item]] = 1
        bring(row, items.ends[item] - items.left[item], items.rows, items.place)
        labels[row] = first + made
        seeds[made] = items.tuples[item]
        items.left[item] -= 1
        items.left_of[items.kinds[item]] -= 1
        need[items.kinds[item]] -= 1
        state[1] -= 1
        distances(items.tuples[item], measure, question)
        while True:
            number, size = look(seeds[made], alive, number, items.left, items.tuples, measure, question, near, far)
            steps += number
            ascending(size, near, far)
            lack[:] = need
            for i in range(size):
                lack[items.kinds[near[i]]] -= min(items.left[near[i]], lack[items.kinds[near[i]]])
            if lack.max() == 0:
                break
            near, far = np.empty(WIDER * len(near), np.int64), np.empty(WIDER * len(near), np.int64)
        for i in range(size):
            item = near[i]
            count = min(items.left[item], need[items.kinds[item]])
            if count == 0:
                continue
            at = items.ends[item] - items.left[item]
            labels[items.rows[at : at + count]] = first + made
            items.left[item] -= count
            items.left_of[items.kinds[item]] -= count
            need[items.kinds[item]] -= count
            state[1] -= count
        made += 1
    return made, steps


@kernel
def bucket_steps(state, most, first, k, items, measure, codes_of, labels):
    """Makes up to `most` clusters of k records, part after part, as long as a part has k: a record of each of the kinds
    of which most are left (ties: the one whose first record comes first), and again of each where these are fewer. The
    first is the nearest to the center of the part (`away`, by item), the others those with which a record of the
    cluster loses least.

    state: the part, records left in all. Clusters are numbered from `first` on. Gives how many were made, and how
    many items were looked at.
    """
    levels = len(measure.terms)
    span, before = np.empty((levels, 4), np.int64), np.empty((levels, 2), np.int64)
    table, turn = np.empty(codes_of[levels], np.int64), np.zeros(len(items.left_of), np.int64)
    made, steps, now = np.int64(0), np.int64(0), np.int64(0)
    while made < most and state[0] < len(items.left_in):
        p = state[0]
        if items.left_in[p] < k:
            state[0] += 1
            continue
        size, loss = np.int64(0), np.int64(0)
        now += 1
        while size < k:
            kind = np.int64(-1)
            for i in range(items.parts[p], items.parts[p + 1]):
                if items.left_of[i] == 0 or turn[i] == now:
                    continue
                if kind < 0 or items.left_of[i] > items.left_of[kind]:
                    kind = np.int64(i)
                elif items.left_of[i] == items.left_of[kind] and items.first_of[i] < items.first_of[kind]:
                    kind = np.int64(i)
            if kind < 0:
                now += 1
                continue
            turn[kind] = now
            chosen, best = np.int64(-1), np.int64(0)
            for item in range(items.begins[kind], items.begins[kind + 1]):
                if items.left[item] > 0:
                    if size == 0:
                        cost = items.away[item]
                    else:
                        cost = lost_with(items.tuples[item], measure, span, codes_of, table)
                    if chosen < 0 or cost < best:
                        chosen, best = np.int64(item), cost
            steps += items.begins[kind + 1] - items.begins[kind] + items.parts[p + 1] - items.parts[p]
            if size == 0:
                loss = begin(items.tuples[chosen], measure, span)
                before[:] = -1
            else:
                loss = widen(loss, items.tuples[chosen], measure, span)
            ask_few(span, before, codes_of, measure, table)
            labels[items.rows[items.ends[chosen] - items.left[chosen]]] = first + made
            items.left[chosen] -= 1
            items.left_of[kind] -= 1
            items.left_in[p] -= 1
            state[1] -= 1
            size += 1
        made += 1
    return made, steps
