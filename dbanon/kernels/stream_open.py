"""Open clusters of a stream: each record joins one when it arrives, and a cluster leaves when a record of it is due.

Clusters have a slot each, of which `used` says whether there is one; `ids` (slots,) number them in the order in which
they were opened. The records of a cluster are a list from the last that arrived to the first: `heads` (slots,) is where
it begins, `link` (records,) the next one, -1 at the end, and `slot` (records,) the cluster of a record. `sizes`, `lows`
and `highs` are those of the slots. Records and classes are those of `stream_window` and `stream_class`.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.stream_class import begin, joined, lost, widen


@part
def open_cluster(t, state, used, ids, heads, values, lows, highs, sizes, first, nodes):
    """Opens a cluster for a record in the first free slot, whose list is empty yet; gives the slot."""
    c = np.int64(0)
    while used[c]:
        c += 1
    used[c], sizes[c], heads[c], ids[c] = True, 0, -1, state[4]
    state[4] += 1
    state[5] += 1
    begin(values[t], lows[c], highs[c], first, nodes)
    return c


@part
def put(t, c, heads, link, slot, sizes):
    """Puts a record first into the list of a cluster."""
    link[t], heads[c], slot[t] = heads[c], t, c
    sizes[c] += 1


@part
def put_back(t, c, heads, link, slot, sizes):
    """Puts a record into the list of a cluster where it belongs by its arrival."""
    if heads[c] < t:
        put(t, c, heads, link, slot, sizes)
        return
    i = heads[c]
    while link[i] > t:
        i = link[i]
    link[t], link[i], slot[t] = link[i], t, c
    sizes[c] += 1


@part
def take_out(t, c, heads, link, slot, sizes):
    """Takes a record out of the list of a cluster."""
    if heads[c] == t:
        heads[c] = link[t]
    else:
        i = heads[c]
        while link[i] != t:
            i = link[i]
        link[i] = link[t]
    slot[t] = -1
    sizes[c] -= 1


@part
def close_cluster(c, state, used):
    """The slot is free again."""
    used[c] = False
    state[5] -= 1


@part
def measure(c, heads, link, values, lows, highs, first, nodes):
    """What the records of a cluster span."""
    t = heads[c]
    begin(values[t], lows[c], highs[c], first, nodes)
    while link[t] >= 0:
        t = link[t]
        widen(values[t], lows[c], highs[c], first, nodes)


@part
def let_go(t, c, state, used, heads, link, slot, sizes, values, lows, highs, first, nodes):
    """A record leaves its cluster, which is as wide as the others then, or closed without others."""
    take_out(t, c, heads, link, slot, sizes)
    if sizes[c] == 0:
        close_cluster(c, state, used)
    else:
        measure(c, heads, link, values, lows, highs, first, nodes)


@part
def pour(source, c, heads, link, slot, sizes):
    """The records of one cluster become another's, in the order of arrival."""
    one, other, last = heads[source], heads[c], np.int64(-1)
    while one >= 0 or other >= 0:
        if one > other:
            t, one = one, link[one]
        else:
            t, other = other, link[other]
        slot[t] = c
        if last < 0:
            heads[c] = t
        else:
            link[last] = t
        last = t
    link[last] = -1
    sizes[c] += sizes[source]


@part
def is_enough(c, k, need, heads, link, people, sensitive, marks, values_of, clock):
    """Whether a cluster has k persons and, of each sensitive column, as many values as it needs.

    marks (persons,) and values_of (columns, values) hold the number of the question in which each was last seen;
    clock (1,) is that number.
    """
    clock[0] += 1
    persons = count(c, k, heads, link, people, marks, clock[0])
    return persons >= k and has_values(c, need, heads, link, people, sensitive, values_of, clock[0])


@part
def can_be_enough(k, need, used, heads, link, people, sensitive, marks, values_of, clock):
    """Whether all open clusters together are enough for a class."""
    clock[0] += 1
    persons = np.int64(0)
    for c in range(len(used)):
        if used[c] and persons < k:
            persons += count(c, k, heads, link, people, marks, clock[0])
    if persons < k:
        return False
    for s in range(len(need)):
        number = np.int64(0)
        for c in range(len(used)):
            if used[c] and number < need[s]:
                number += count_values(c, s, need[s] - number, heads, link, people, sensitive, values_of, clock[0])
        if number < need[s]:
            return False
    return True


@part
def count(c, most, heads, link, people, marks, now):
    """How many persons a cluster has that this question has not seen, or `most`."""
    persons, t = np.int64(0), heads[c]
    while t >= 0 and persons < most:
        if people[t] >= 0 and marks[people[t]] != now:
            marks[people[t]] = now
            persons += 1
        t = link[t]
    return persons


@part
def has_values(c, need, heads, link, people, sensitive, values_of, now):
    """Whether a cluster has as many sensitive values as it needs."""
    for s in range(len(need)):
        if count_values(c, s, need[s], heads, link, people, sensitive, values_of, now) < need[s]:
            return False
    return True


@part
def count_values(c, s, most, heads, link, people, sensitive, values_of, now):
    """How many values of a sensitive column a cluster has that this question has not seen, or `most`."""
    number, t = np.int64(0), heads[c]
    while t >= 0 and number < most:
        code = sensitive[t, s]
        if code >= 0 and people[t] >= 0 and values_of[s, code] != now:
            values_of[s, code] = now
            number += 1
        t = link[t]
    return number


@part
def loss_of_both(c, other, lows, highs, first, nodes, share, seen, weights):
    """What a record would lose in two clusters together."""
    total = 0.0
    for a in range(len(weights)):
        low, high = joined(a, lows[c, a], highs[c, a], lows[other, a], highs[other, a], first, nodes)
        total += weights[a] * lost(a, low, high, first, share, seen)
    return total


@part
def merge(source, c, state, used, heads, link, slot, sizes, lows, highs, first, nodes):
    """A cluster becomes part of another."""
    for a in range(lows.shape[1]):
        low, high = joined(a, lows[c, a], highs[c, a], lows[source, a], highs[source, a], first, nodes)
        lows[c, a], highs[c, a] = low, high
    pour(source, c, heads, link, slot, sizes)
    close_cluster(source, state, used)


@part
def send(c, new, now, state, out, step, lows, highs, used, heads, link, slot, c_lows, c_highs):
    """The records of a cluster leave with a new class, and it is closed."""
    for a in range(lows.shape[1]):
        lows[new, a], highs[new, a] = c_lows[c, a], c_highs[c, a]
    t = heads[c]
    while t >= 0:
        out[t], step[t], slot[t] = new, now, -1
        t = link[t]
    close_cluster(c, state, used)
