"""Clusters of the records that wait: k-means, of which categories have medoids, and k-member.

The first `size` of `rows` are the records that are clustered. The records of each cluster are a list in the order of
arrival (see `RoundArrays`).
"""

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.random_orders import below
from dbanon.kernels.streams.class_loss import apart, begin, distance, growth, position, widen
from dbanon.kernels.streams.counting import brings, count_record, lacking
from dbanon.kernels.streams.nearest import ask, asked

ROUNDS = 5
"""Each record is assigned to the nearest center at most so many times."""


@part
def means(size, number, rounds, records, attributes):
    """k-means from different random records."""
    ahead = size // 2
    for j in range(size):
        rounds.order[j] = rounds.rows[j]
    for c in range(number):
        at = c + below(np.int64(size - c), rounds.random)
        rounds.order[c], rounds.order[at] = rounds.order[at], rounds.order[c]
        for a in range(len(attributes.weights)):
            value = records.values[rounds.order[c], a]
            is_known_number = attributes.node_starts[a] == attributes.node_starts[a + 1] and value == value
            rounds.centers[c, a] = position(a, value, attributes) if is_known_number else value
    for turn in range(ROUNDS):
        if turn > 0:
            _move(number, records, attributes, rounds)
        changed = False
        for j in range(size):
            rounds.order[j], rounds.distances[j] = -1, np.inf
        for c in range(number):
            ask(rounds.centers[c], ahead, attributes, rounds.node_distances)
            for j in range(size):
                away = asked(
                    rounds.centers[c],
                    records.values[rounds.rows[j]],
                    rounds.distances[j],
                    ahead,
                    attributes,
                    rounds.node_distances,
                )
                if away < rounds.distances[j]:
                    rounds.order[j], rounds.distances[j] = c, away
        for j in range(size):
            changed = changed or rounds.cluster_ids[rounds.rows[j]] != rounds.order[j]
            rounds.cluster_ids[rounds.rows[j]] = rounds.order[j]
        listed(size, number, rounds)
        if not changed:
            break


@part
def listed(size, number, rounds):
    """Make the lists of clusters."""
    for c in range(number):
        rounds.heads[c] = -1
    for j in range(size - 1, -1, -1):
        c = rounds.cluster_ids[rounds.rows[j]]
        if c >= 0:
            rounds.next_record[rounds.rows[j]], rounds.heads[c] = rounds.heads[c], rounds.rows[j]


@part
def _move(number, records, attributes, rounds):
    """Move centers to where their records are. One without records stays."""
    for c in range(number):
        if rounds.heads[c] >= 0:
            middle(
                rounds.heads[c],
                records,
                attributes,
                rounds.centers[c],
                rounds.next_record,
                rounds.node_counts,
                rounds.found,
            )


@part
def middle(head, records, attributes, center, link, counts, found):
    """The center of a list of records: the mean of numbers, the category that is nearest to all (ties: the first in the
    list), and NULL where that is more than half."""
    for a in range(len(center)):
        known, nulls, total, t = np.int64(0), np.int64(0), 0.0, head
        different = np.int64(0)
        while t >= 0:
            value = records.values[t, a]
            if value != value:
                nulls += 1
            elif attributes.node_starts[a] == attributes.node_starts[a + 1]:
                known += 1
                total += position(a, value, attributes)
            else:
                known += 1
                node = attributes.node_starts[a] + np.int64(value)
                if counts[node] == 0:
                    found[different] = np.int64(value)
                    different += 1
                counts[node] += 1
            t = link[t]
        if nulls > known:
            center[a] = np.nan
        elif attributes.node_starts[a] == attributes.node_starts[a + 1]:
            center[a] = total / known
        else:
            center[a] = _medoid(a, different, attributes, counts, found)
        for i in range(different):
            counts[attributes.node_starts[a] + found[i]] = 0


@part
def _medoid(a, different, attributes, counts, found):
    """Of the first categories in `found` the one with the least sum of distances."""
    best, least = np.int64(0), np.inf
    for i in range(different):
        total = 0.0
        for j in range(different):
            away = apart(a, float(found[i]), float(found[j]), attributes)
            total += away * counts[attributes.node_starts[a] + found[j]]
        if total < least:
            best, least = np.int64(i), total
    return float(found[best])


@part
def members(size, number, requirement, rounds, records, attributes):
    """k-member: at most so many clusters of k persons, each grown from a record by the one that widens it least (ties:
    the oldest). The first begins with a random record, the others with the one farthest from where the last began."""
    start = np.int64(-1)
    for c in range(number):
        x = _start(start, size, rounds, records, attributes)
        if x < 0:
            break
        start = x
        rounds.cluster_ids[x] = c
        requirement.clock[0] += 1
        low, high = np.empty((1, len(attributes.weights))), np.empty((1, len(attributes.weights)))
        begin(records.values[x], low[0], high[0], attributes)
        own = np.zeros(len(requirement.min_values), np.int64)
        persons = np.int64(count_record(x, requirement, records, own))
        while True:
            column = lacking(persons, requirement, own)
            if column == -1:
                break
            best, least = np.int64(-1), np.inf
            for j in range(size):
                t = rounds.rows[j]
                if rounds.cluster_ids[t] >= 0 or not brings(t, column, requirement, records):
                    continue
                more = growth(records.values[t], np.int64(0), low, high, least, attributes)
                if more < least:
                    best, least = t, more
            if best < 0:
                break
            rounds.cluster_ids[best] = c
            persons += count_record(best, requirement, records, own)
            widen(records.values[best], low[0], high[0], attributes)
    listed(size, number, rounds)


@part
def _start(last, size, rounds, records, attributes):
    """Return the record with which a cluster begins, or -1; `last`: with which the last one began, -1 for none.

    A random one is the first known person's from a random place on.
    """
    if last < 0:
        at = below(np.int64(size), rounds.random)
        for j in range(size):
            t = rounds.rows[(at + j) % size]
            if records.people[t] >= 0:
                return t
        return np.int64(-1)
    best, most = np.int64(-1), -1.0
    for j in range(size):
        t = rounds.rows[j]
        if rounds.cluster_ids[t] < 0 and records.people[t] >= 0:
            away = distance(records.values[last], records.values[t], attributes)
            if away > most:
                best, most = t, away
    return best
