"""Clusters of the records that wait: k-means, of which categories have medoids, and k-member.

`rows` (records,): the first `size` are the records that are clustered, in the order of arrival; `group` (records,) is
the cluster of each, -1 for none; `heads` (clusters,) and `link` (records,) are lists of the records of each cluster, in
the order of arrival, -1 at the end. `random` (1,) is the state of the random numbers (see `lines`). The rest as in
`stream_class`.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.lines import below
from dbanon.kernels.stream_class import apart, begin, distance, growth, position, widen
from dbanon.kernels.stream_nearest import ask, asked

ROUNDS = 5
"""Each record is assigned to the nearest center at most so many times."""


@part
def means(size, number, rows, values, group, first, nodes, share, seen, weights, centers, order, heads, link, counts,
    found, least, table, random,
):  # fmt: skip
    """k-means from different random records. centers (clusters, attributes), order, found and least (records,), table
    (nodes,) and counts (nodes,), which are 0: scratch."""
    ahead = size // 2
    for j in range(size):
        order[j] = rows[j]
    for c in range(number):
        at = c + below(np.int64(size - c), random)
        order[c], order[at] = order[at], order[c]
        for a in range(len(weights)):
            value = values[order[c], a]
            is_known_number = first[a] == first[a + 1] and value == value
            centers[c, a] = position(a, value, first, share, seen) if is_known_number else value
    for turn in range(ROUNDS):
        if turn > 0:
            _move(number, values, first, nodes, share, seen, centers, heads, link, counts, found)
        changed = False
        for j in range(size):
            order[j], least[j] = -1, np.inf
        for c in range(number):
            ask(centers[c], ahead, first, nodes, share, seen, weights, table)
            for j in range(size):
                away = asked(
                    centers[c], values[rows[j]], least[j], ahead, first, nodes, share, seen, weights, table
                )  # fmt: skip
                if away < least[j]:
                    order[j], least[j] = c, away
        for j in range(size):
            changed = changed or group[rows[j]] != order[j]
            group[rows[j]] = order[j]
        listed(size, number, rows, group, heads, link)
        if not changed:
            break


@part
def listed(size, number, rows, group, heads, link):
    """Makes the lists of clusters."""
    for c in range(number):
        heads[c] = -1
    for j in range(size - 1, -1, -1):
        c = group[rows[j]]
        if c >= 0:
            link[rows[j]], heads[c] = heads[c], rows[j]


@part
def _move(number, values, first, nodes, share, seen, centers, heads, link, counts, found):
    """Moves centers to where their records are. One without records stays."""
    for c in range(number):
        if heads[c] >= 0:
            middle(heads[c], values, first, nodes, share, seen, centers[c], link, counts, found)


@part
def middle(head, values, first, nodes, share, seen, center, link, counts, found):
    """The center of a list of records: the mean of numbers, the category that is nearest to all (ties: the first in the
    list), and NULL where that is more than half."""
    for a in range(len(center)):
        known, nulls, total, t = np.int64(0), np.int64(0), 0.0, head
        different = np.int64(0)
        while t >= 0:
            value = values[t, a]
            if value != value:
                nulls += 1
            elif first[a] == first[a + 1]:
                known += 1
                total += position(a, value, first, share, seen)
            else:
                known += 1
                node = first[a] + np.int64(value)
                if counts[node] == 0:
                    found[different] = np.int64(value)
                    different += 1
                counts[node] += 1
            t = link[t]
        if nulls > known:
            center[a] = np.nan
        elif first[a] == first[a + 1]:
            center[a] = total / known
        else:
            center[a] = _medoid(a, different, first, nodes, share, seen, counts, found)
        for i in range(different):
            counts[first[a] + found[i]] = 0


@part
def _medoid(a, different, first, nodes, share, seen, counts, found):
    """Of the first categories in `found` the one with the least sum of distances."""
    best, least = np.int64(0), np.inf
    for i in range(different):
        total = 0.0
        for j in range(different):
            away = apart(a, float(found[i]), float(found[j]), first, nodes, share, seen)
            total += away * counts[first[a] + found[j]]
        if total < least:
            best, least = np.int64(i), total
    return float(found[best])


@part
def members(size, number, k, need, rows, values, people, sensitive, group, first, nodes, share, seen, weights, heads,
    link, marks, values_of, clock, random,
):  # fmt: skip
    """k-member: at most so many clusters of k persons, each grown from a record by the one that widens it least (ties:
    the oldest). The first begins with a random record, the others with the one farthest from where the last began."""
    start = np.int64(-1)
    for c in range(number):
        x = _start(start, size, rows, values, people, group, first, nodes, share, seen, weights, random)
        if x < 0:
            break
        start = x
        group[x] = c
        clock[0] += 1
        marks[people[x]] = clock[0]
        low, high = np.empty((1, len(weights))), np.empty((1, len(weights)))
        begin(values[x], low[0], high[0], first, nodes)
        own = np.zeros(len(need), np.int64)
        _count(x, need, sensitive, values_of, clock[0], own)
        persons = np.int64(1)
        while True:
            column = lacking(need, own) if persons >= k else np.int64(-2)
            if column == -1:
                break
            best, least = np.int64(-1), np.inf
            for j in range(size):
                t = rows[j]
                if group[t] >= 0 or people[t] < 0 or marks[people[t]] == clock[0]:
                    continue
                if column >= 0 and (sensitive[t, column] < 0 or values_of[column, sensitive[t, column]] == clock[0]):
                    continue
                more = growth(values[t], np.int64(0), low, high, least, first, nodes, share, seen, weights)
                if more < least:
                    best, least = t, more
            if best < 0:
                break
            group[best] = c
            marks[people[best]] = clock[0]
            persons += 1
            widen(values[best], low[0], high[0], first, nodes)
            _count(best, need, sensitive, values_of, clock[0], own)
    listed(size, number, rows, group, heads, link)


@part
def _start(last, size, rows, values, people, group, first, nodes, share, seen, weights, random):
    """The record with which a cluster begins, or -1; `last`: with which the last one began, -1 for none. A random one
    is the first known person's from a random place on."""
    if last < 0:
        at = below(np.int64(size), random)
        for j in range(size):
            t = rows[(at + j) % size]
            if people[t] >= 0:
                return t
        return np.int64(-1)
    best, most = np.int64(-1), -1.0
    for j in range(size):
        t = rows[j]
        if group[t] < 0 and people[t] >= 0:
            away = distance(values[last], values[t], first, nodes, share, seen, weights)
            if away > most:
                best, most = t, away
    return best


@part
def _count(t, need, sensitive, values_of, now, own):
    """Counts the sensitive values of a record among those of a cluster."""
    for s in range(len(need)):
        code = sensitive[t, s]
        if code >= 0 and values_of[s, code] != now:
            values_of[s, code] = now
            own[s] += 1


@part
def lacking(need, own):
    """The first sensitive column that has too few values, or -1."""
    for s in range(len(need)):
        if own[s] < need[s]:
            return np.int64(s)
    return np.int64(-1)
