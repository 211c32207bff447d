"""The nearest of the records of a stream that wait.

Distances are added up attribute by attribute over many records at a time, as that is what a processor does fastest.
"""

import numpy as np

from dbanon.kernels.jit import inlined, part
from dbanon.kernels.streams.class_loss import apart, apart_from_center, has_ranks, seen_width

WAITING = -2

MANY = 512
"""Records whose distances are added up at a time."""


@part
def ask(value, ahead, attributes, table):
    """Tables of what categories are apart from those of a record, where that is less than looking each up."""
    for a in range(len(value)):
        begin_, size = attributes.node_starts[a], attributes.node_starts[a + 1] - attributes.node_starts[a]
        if size == 0 or size > ahead:
            continue
        for node in range(size):
            table[begin_ + node] = attributes.weights[a] * apart(a, value[a], float(node), attributes)


@part
def asked(x, y, most, ahead, attributes, table):
    """How far a center, which was asked for, and a record are apart; inf once that is more than `most`."""
    total = 0.0
    for a in range(len(x)):
        size = attributes.node_starts[a + 1] - attributes.node_starts[a]
        if 0 < size <= ahead and y[a] == y[a] and x[a] == x[a]:
            total += table[attributes.node_starts[a] + np.int64(y[a])]
        else:
            total += attributes.weights[a] * apart_from_center(a, x[a], y[a], attributes)
        if total > most:
            return np.inf
    return total


@part
def distances(x, size, rows, ahead, records, attributes, table, away):
    """How far the first `size` of `rows` are from record x, in `away`; `table` and `ahead` are what was asked for."""
    for j in range(size):
        away[j] = 0.0
    for a in range(len(attributes.weights)):
        weight, value, begin_ = attributes.weights[a], records.values[x, a], attributes.node_starts[a]
        number = attributes.node_starts[a + 1] - begin_
        width = seen_width(a, attributes)
        is_direct = number == 0 and not (
            has_ranks(attributes.node_starts) and attributes.node_starts[len(attributes.weights) + 1 + a] >= 0
        )
        if is_direct and value == value and width > 0:
            for j in range(size):
                other = records.values[rows[j], a]
                away[j] += weight * (abs(value - other) / width) if other == other else weight
        elif 0 < number <= ahead and value == value:
            for j in range(size):
                other = records.values[rows[j], a]
                away[j] += table[begin_ + np.int64(other)] if other == other else weight
        else:
            for j in range(size):
                away[j] += weight * apart(a, value, records.values[rows[j], a], attributes)


@part
def nearest(x, begins, ends, size, records, attributes, table, found, far):
    """Puts into `found` the `size` - 1 waiting records from `begins` to `ends` that are nearest to record x and about
    as many other persons, nearest first (ties: the older); gives how many there are. Of each person the nearest."""
    number, ahead = np.int64(0), (ends - begins) // 2
    if size < 2:
        return number
    ask(records.values[x], ahead, attributes, table)
    rows, away = np.empty(MANY, np.int64), np.empty(MANY)
    i = begins
    while i < ends:
        listed = np.int64(0)
        while i < ends and listed < MANY:
            rows[listed] = i
            listed += (
                records.class_ids[i] == WAITING
                and i != x
                and records.people[i] >= 0
                and records.people[i] != records.people[x]
            )
            i += 1
        distances(x, listed, rows, ahead, records, attributes, table, away)
        for j in range(listed):
            number = insert(rows[j], away[j], number, size - 1, records, found, far)
    return number


@inlined
def insert(i, away, number, size, records, found, far):
    """Puts a record at a distance among the nearest of at most `size` persons, nearest first (ties: what was there
    before), of each person the nearest; gives how many there are."""
    if number == size and not away < far[number - 1]:
        return number
    at = np.int64(-1)
    for other in range(number):
        if records.people[found[other]] == records.people[i]:
            at = np.int64(other)
            break
    if at >= 0:
        if not away < far[at]:
            return number
    elif number < size:
        at = number
        number += 1
    else:
        at = number - 1
    while at > 0 and far[at - 1] > away:
        found[at], far[at] = found[at - 1], far[at - 1]
        at -= 1
    found[at], far[at] = i, away
    return number
