"""Clusters in which no sensitive value has more than so many records."""

import numpy as np

from dbanon.kernels.arrays import LossTables
from dbanon.kernels.jit import kernel, part
from dbanon.kernels.k_nearest import ascending, distances, look
from dbanon.kernels.loss import widen
from dbanon.kernels.min_loss_assignment import NEVER, grown, remaining

WIDER = 4
"""Nearest items are looked for in so many times the number of records that a cluster needs, and again so many times
more where these do not do."""


@part
def _room(item, caps, k):
    """How many records of an item a cluster can take: of a value k / least[s] of k, rounded down, and of as many values
    as that leaves records over one more; none of one with a NULL, which is no value. over: values that have one
    more."""
    room = np.int64(k)
    for s in range(len(caps.least)):
        value = caps.values[s, item]
        if caps.least[s] < 2:
            continue
        if value < 0:
            return np.int64(0)
        cap = k // caps.least[s]
        if caps.counts[s, value] > cap or caps.over[s] < k % caps.least[s]:
            cap += 1
        room = np.int64(min(room, cap - caps.counts[s, value]))
    return room


@part
def _put(item, number, caps, k):
    """Count so many more, or fewer, records of an item."""
    for s in range(len(caps.least)):
        value = caps.values[s, item]
        if value < 0:
            continue
        before = caps.counts[s, value]
        caps.counts[s, value] += number
        caps.over[s] += int(caps.counts[s, value] > k // caps.least[s]) - int(before > k // caps.least[s])


@part
def _select(size, k, held, near, left, caps, chosen, numbers):
    """Takes records of so many nearest items, in order, until a cluster has k; gives how many items were chosen, and
    how many records it has."""
    found = np.int64(0)
    for i in range(size):
        item = near[i]
        number = min(min(left[item], k - held), _room(item, caps, k))
        if number > 0:
            _put(item, number, caps, k)
            chosen[found], numbers[found] = item, number
            found += 1
            held += number
            if held == k:
                break
    for i in range(found):
        _put(chosen[i], -numbers[i], caps, k)
    return found, held


@kernel
def capped_steps(state, most, first, k, order, items, caps, measure, codes_of, labels):
    """Makes up to `most` clusters of k records: the next of the items in `order` that is left, and those nearest to it,
    so that sensitive column s has `least[s]` values, each in about as many records.

    state: next in the order, records that are left, whether a cluster could not be made. Clusters are
    numbered from `first` on. Gives how many were made, and how many items were looked at.
    """
    levels = len(measure.terms)
    question = LossTables(np.empty((levels, 4), np.int64), codes_of, np.empty(codes_of[levels], np.int64))
    near, far = np.empty(WIDER * k, np.int64), np.empty(WIDER * k, np.int64)
    chosen, numbers = np.empty(k, np.int64), np.empty(k, np.int64)
    alive, number = remaining(items.left)
    made, steps = np.int64(0), np.int64(0)
    while made < most and state[1] >= k and state[0] < len(order) and state[2] == 0:
        center = order[state[0]]
        if items.left[center] == 0 or _room(center, caps, k) == 0:
            state[0] += 1
            continue
        distances(items.tuples[center], measure, question)
        items.left[center] -= 1  # it comes first, before others of its tuple
        _put(center, np.int64(1), caps, k)
        while True:
            number, size = look(
                items.tuples[center], alive, number, items.left, items.tuples, measure, question, near, far
            )
            steps += number
            ascending(size, near, far)
            found, held = _select(size, k, np.int64(1), near, items.left, caps, chosen, numbers)
            if held == k or size == number:
                break
            near, far = np.empty(WIDER * len(near), np.int64), np.empty(WIDER * len(near), np.int64)
        _put(center, np.int64(-1), caps, k)
        if held < k:
            items.left[center] += 1
            state[2] = 1
            break
        labels[items.rows[items.ends[center] - items.left[center] - 1]] = first + made
        for i in range(found):
            at = items.ends[chosen[i]] - items.left[chosen[i]]
            labels[items.rows[at : at + numbers[i]]] = first + made
            items.left[chosen[i]] -= numbers[i]
        state[1] -= k
        made += 1
    return made, steps


@kernel
def capped_join(first, most, rows, spare, least, items, values, members, measure, clusters):
    """Each of the rows, from `first` on, joins the cluster whose whole loss grows least among those in which none of
    its values has more than 1 / least[s] of the records then, rounded up. Where there is none it is left out, as long
    as `spare` lasts, and then joins any. Ends after `most` clusters; gives the next, what is spare, and how many
    clusters were looked at.

    values (columns, rows) have -1 for NULL.
    """
    steps, i = np.int64(0), first
    while i < len(rows) and steps < most:
        row = rows[i]
        item = items[row]
        best, chosen = np.int64(NEVER), np.int64(-1)
        anyhow, otherwise = np.int64(NEVER), np.int64(-1)
        for c in range(len(clusters.sizes)):
            growth = grown(clusters.losses[c], clusters.sizes[c], item, measure, clusters.spans[c], best)
            if growth >= best:
                continue
            if growth < anyhow:
                anyhow, otherwise = growth, np.int64(c)
            if _fits(row, least, values, members.before, members.last[c], clusters.sizes[c]):
                best, chosen = growth, np.int64(c)
        steps += len(clusters.sizes)
        if chosen < 0 and spare > 0:
            spare -= 1
            i += 1
            continue
        if chosen < 0:
            chosen = otherwise
        clusters.losses[chosen] = widen(clusters.losses[chosen], item, measure, clusters.spans[chosen])
        clusters.sizes[chosen] += 1
        members.before[row], members.last[chosen] = members.last[chosen], row
        members.labels[row] = chosen
        i += 1
    return i, spare, steps


@part
def _fits(row, least, values, before, member, size):
    """Return whether no value of a row has too many records in a cluster with it."""
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
