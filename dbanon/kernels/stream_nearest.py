"""The nearest of the records of a stream that wait.

Distances are added up attribute by attribute over many records at a time, as that is what a processor does fastest.
The rest as in `stream_class` and `stream_window`.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.stream_class import apart, apart_from_center, has_ranks, seen_width

WAITING = -2

MANY = 512
"""Records whose distances are added up at a time."""


@part
def ask(value, ahead, first, nodes, share, seen, weights, table):
    """Tables of what categories are apart from those of a record, where that is less than looking each up."""
    for a in range(len(value)):
        begin_, size = first[a], first[a + 1] - first[a]
        if size == 0 or size > ahead:
            continue
        for node in range(size):
            table[begin_ + node] = weights[a] * apart(a, value[a], float(node), first, nodes, share, seen)


@part
def asked(x, y, most, ahead, first, nodes, share, seen, weights, table):
    """How far a center, which was asked for, and a record are apart; inf once that is more than `most`."""
    total = 0.0
    for a in range(len(x)):
        size = first[a + 1] - first[a]
        if 0 < size <= ahead and y[a] == y[a] and x[a] == x[a]:
            total += table[first[a] + np.int64(y[a])]
        else:
            total += weights[a] * apart_from_center(a, x[a], y[a], first, nodes, share, seen)
        if total > most:
            return np.inf
    return total


@part
def distances(x, size, rows, ahead, values, first, nodes, share, seen, weights, table, away):
    """How far the first `size` of `rows` are from record x, in `away`; `table` and `ahead` are what was asked for."""
    for j in range(size):
        away[j] = 0.0
    for a in range(len(weights)):
        weight, value, begin_, number = weights[a], values[x, a], first[a], first[a + 1] - first[a]
        width = seen_width(a, first, share, seen)
        is_direct = number == 0 and not (has_ranks(first) and first[len(weights) + 1 + a] >= 0)
        if is_direct and value == value and width > 0:
            for j in range(size):
                other = values[rows[j], a]
                away[j] += weight * (abs(value - other) / width) if other == other else weight
        elif 0 < number <= ahead and value == value:
            for j in range(size):
                other = values[rows[j], a]
                away[j] += table[begin_ + np.int64(other)] if other == other else weight
        else:
            for j in range(size):
                away[j] += weight * apart(a, value, values[rows[j], a], first, nodes, share, seen)


@part
def nearest(x, begins, ends, size, values, people, out, first, nodes, share, seen, weights, table, found, far):
    """Puts into `found` the `size` - 1 waiting records from `begins` to `ends` that are nearest to record x and about
    as many other persons, nearest first (ties: the older); gives how many there are. Of each person the nearest."""
    number, ahead = np.int64(0), (ends - begins) // 2
    if size < 2:
        return number
    ask(values[x], ahead, first, nodes, share, seen, weights, table)
    rows, away = np.empty(MANY, np.int64), np.empty(MANY)
    i = begins
    while i < ends:
        listed = np.int64(0)
        while i < ends and listed < MANY:
            rows[listed] = i
            listed += out[i] == WAITING and i != x and people[i] >= 0 and people[i] != people[x]
            i += 1
        distances(x, listed, rows, ahead, values, first, nodes, share, seen, weights, table, away)
        for j in range(listed):
            if number == size - 1 and not away[j] < far[number - 1]:
                continue
            at = np.int64(-1)
            for other in range(number):
                if people[found[other]] == people[rows[j]]:
                    at = np.int64(other)
                    break
            if at >= 0:
                if not away[j] < far[at]:
                    continue
            elif number < size - 1:
                at = number
                number += 1
            else:
                at = number - 1
            while at > 0 and far[at - 1] > away[j]:
                found[at], far[at] = found[at - 1], far[at - 1]
                at -= 1
            found[at], far[at] = rows[j], away[j]
    return number
