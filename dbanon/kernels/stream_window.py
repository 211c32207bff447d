"""The window of a stream whose oldest record is due: a group of its nearest, or a class that was published before.

Records are in the order of arrival, `arrived` (records,) says at which place; `out` (records,) is the class that a
record left with, WAITING, or SUPPRESSED, and `step` (records,) how many had arrived then. `people` (records,) are
numbers of persons, -1 where unknown, which never count; `values` and classes are those of `stream_class`.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.stream_class import begin, distance, least_class, loss, see, widen
from dbanon.kernels.stream_nearest import WAITING as WAITING
from dbanon.kernels.stream_nearest import nearest

SUPPRESSED = -1

LAST = 8
"""Where `state` has the place at which the last record arrived, as it may have left in a call before."""


@part
def diverse(x, number, begins, ends, values, people, sensitive, need, out, first, nodes, share, seen, weights, found):
    """Adds to a group, record x and the first `number` of `found`, nearest records with other sensitive values until
    each column has as many as it needs; gives how many there are then, or -1 where there are too few. `sensitive`
    (records, columns): codes, -1 for NULL, which never counts."""
    for s in range(len(need)):
        while different(x, number, s, sensitive, found) < need[s]:
            best, least = np.int64(-1), np.inf
            for i in range(begins, ends):
                if out[i] != WAITING or i == x or people[i] < 0 or people[i] == people[x] or sensitive[i, s] < 0:
                    continue
                if has_already(i, x, number, s, people, sensitive, found):
                    continue
                away = distance(values[x], values[i], first, nodes, share, seen, weights)
                if away < least:
                    best, least = np.int64(i), away
            if best < 0:
                return np.int64(-1)
            found[number] = best
            number += 1
    return number


@part
def has_already(i, x, number, s, people, sensitive, found):
    """Whether a group has the person or the value of a record."""
    if sensitive[x, s] == sensitive[i, s]:
        return True
    for j in range(number):
        if people[found[j]] == people[i] or sensitive[found[j], s] == sensitive[i, s]:
            return True
    return False


@part
def different(x, number, s, sensitive, found):
    """How many sensitive values a group has."""
    values = np.int64(sensitive[x, s] >= 0)
    for j in range(number):
        code = sensitive[found[j], s]
        if code < 0 or code == sensitive[x, s]:
            continue
        new = True
        for i in range(j):
            if sensitive[found[i], s] == code:
                new = False
                break
        values += new
    return values


@part
def group(
    x, begins, ends, k, need, values, people, sensitive, out, first, nodes, share, seen, weights, table, found, far
):
    """Puts into `found` the nearest waiting records with which record x is enough for a class; gives how many, or -1
    where there are too few."""
    if people[x] < 0:
        return np.int64(-1)
    number = nearest(x, begins, ends, k, values, people, out, first, nodes, share, seen, weights, table, found, far)
    if number < k - 1:
        return np.int64(-1)
    if len(need) > 0:
        number = diverse(
            x, number, begins, ends, values, people, sensitive, need, out, first, nodes, share, seen, weights, found
        )
    return number


@part
def span(x, number, found, values, low, high, first, nodes):
    """Makes a class of record x and the first `number` of `found`."""
    begin(values[x], low, high, first, nodes)
    for j in range(number):
        widen(values[found[j]], low, high, first, nodes)


@part
def leave(x, number, found, c, now, out, step):
    """Record x and the first `number` of `found` leave with a class."""
    out[x], step[x] = c, now
    for j in range(number):
        out[found[j]], step[found[j]] = c, now


@kernel
def fads_steps(
    state, most, ends, k, delta, life, need, arrived, values, people, sensitive, out, step, kept, born, lows, highs,
    first, nodes, share, seen, weights, table, found, far,
):  # fmt: skip
    """Lets records arrive until all have, or about `most` records were looked at. The oldest leaves when it is one of
    `delta` that came (with `ends`: all leave in the end): with the class of least loss that covers it and was made less
    than `life` arrivals ago, if that loses less than a group of its nearest, or where there are too few for a group.

    state: records that have arrived, oldest that may wait, classes, kept classes. `kept` (classes,) are numbers of
    classes that may be published again, `born` (classes,) when each was made. Gives how many were looked at.
    """
    steps = np.int64(0)
    while steps < most:
        x = waiting(state, out)
        if x == state[0] or not is_due(x, delta, state, ends, arrived):
            if state[0] == len(arrived):
                break
            arrive(state, arrived, values, first, seen)
            steps += 1
            continue
        steps += state[0] - x
        number = group(
            x, x, state[0], k, need, values, people, sensitive, out, first, nodes, share, seen, weights, table, found,
            far,
        )  # fmt: skip
        publish(
            x, number, state, life, values, out, step, kept, born, lows, highs, first, nodes, share, seen, weights,
            found,
        )  # fmt: skip
    return steps


@part
def publish(
    x, number, state, life, values, out, step, kept, born, lows, highs, first, nodes, share, seen, weights, found
):
    """A record leaves with the first `number` of `found` (-1: there is no group), or with a kept class that covers it
    and loses less, or is suppressed."""
    now = state[LAST]
    forget(state, now - life, kept, born)
    c, own = least_class(values[x], kept, state[3], lows, highs, first, share, seen, weights)
    new = state[2]
    if number >= 0:
        span(x, number, found, values, lows[new], highs[new], first, nodes)
        if c >= 0 and own < loss(lows[new], highs[new], first, share, seen, weights):
            number = np.int64(-1)
    if number >= 0:
        leave(x, number, found, new, now, out, step)
        keep_class(new, now, state, kept, born)
    else:
        out[x], step[x] = (c if c >= 0 else SUPPRESSED), now


@part
def arrive(state, arrived, values, first, seen):
    """The next record; gives it."""
    t = state[0]
    see(values[t], seen, first)
    state[0], state[LAST] = t + 1, arrived[t]
    return t


@part
def waiting(state, out):
    """The oldest record that waits; that after the last one that has arrived where none does."""
    while state[1] < state[0] and out[state[1]] != WAITING:
        state[1] += 1
    return state[1]


@part
def is_due(x, delta, state, ends, arrived):
    """Whether a record must leave before the next one arrives."""
    return (ends and state[0] == len(arrived)) or state[LAST] - arrived[x] + 1 >= delta


@part
def forget(state, oldest, kept, born):
    """Forgets classes made at `oldest` or before."""
    number = np.int64(0)
    for i in range(state[3]):
        if born[kept[i]] > oldest:
            kept[number] = kept[i]
            number += 1
    state[3] = number


@part
def keep_class(c, now, state, kept, born):
    """A new class, which may be published again."""
    born[c] = now
    kept[state[3]] = c
    state[2] += 1
    state[3] += 1


@part
def keep_latest(c, now, most, state, kept, born):
    """A new class, which may be published again until `most` others have come."""
    keep_class(c, now, state, kept, born)
    if state[3] > most:
        for i in range(1, state[3]):
            kept[i - 1] = kept[i]
        state[3] -= 1
