"""The window of a stream whose oldest record is due: a group of its nearest, or a class that was published before."""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.streams.class_loss import begin, distance, least_class, loss, see, widen
from dbanon.kernels.streams.nearest import WAITING as WAITING, nearest

SUPPRESSED = -1

LAST = 8
"""Where `state` has the place at which the last record arrived, as it may have left in a call before."""


@part
def diverse(x, number, begins, ends, records, requirement, attributes, found, away):
    """Adds to a group, record x and the first `number` of `found`, nearest records with other sensitive values until
    each column has as many as it needs; gives how many there are then, or -1 where there are too few. `away`: how far
    each record is, inf if it may not be taken; None for the distance of records."""
    for s in range(len(requirement.min_values)):
        while different(x, number, s, records, found) < requirement.min_values[s]:
            best, least = np.int64(-1), np.inf
            for i in range(begins, ends):
                if (
                    records.class_ids[i] != WAITING
                    or i == x
                    or records.people[i] < 0
                    or records.people[i] == records.people[x]
                    or records.sensitive[i, s] < 0
                ):
                    continue
                if has_already(i, x, number, s, records, found):
                    continue
                far = distance(records.values[x], records.values[i], attributes) if away is None else away[i]
                if far < least:
                    best, least = np.int64(i), far
            if best < 0:
                return np.int64(-1)
            found[number] = best
            number += 1
    return number


@part
def has_already(i, x, number, s, records, found):
    """Return whether a group has the person or the value of a record."""
    if records.sensitive[x, s] == records.sensitive[i, s]:
        return True
    for j in range(number):
        if records.people[found[j]] == records.people[i] or records.sensitive[found[j], s] == records.sensitive[i, s]:
            return True
    return False


@part
def different(x, number, s, records, found):
    """How many sensitive values a group has."""
    values = np.int64(records.sensitive[x, s] >= 0)
    for j in range(number):
        code = records.sensitive[found[j], s]
        if code < 0 or code == records.sensitive[x, s]:
            continue
        new = True
        for i in range(j):
            if records.sensitive[found[i], s] == code:
                new = False
                break
        values += new
    return values


@part
def group(x, begins, ends, requirement, records, attributes, table, found, far):
    """Puts into `found` the nearest waiting records with which record x is enough for a class; gives how many, or -1
    where there are too few."""
    if records.people[x] < 0:
        return np.int64(-1)
    number = nearest(x, begins, ends, requirement.k, records, attributes, table, found, far)
    if number < requirement.k - 1:
        return np.int64(-1)
    if len(requirement.min_values) > 0:
        number = diverse(x, number, begins, ends, records, requirement, attributes, found, None)
    return number


@part
def span(x, number, found, records, low, high, attributes):
    """Make a class of record x and the first `number` of `found`."""
    begin(records.values[x], low, high, attributes)
    for j in range(number):
        widen(records.values[found[j]], low, high, attributes)


@part
def leave(x, number, found, c, now, records):
    """Record x and the first `number` of `found` leave with a class."""
    records.class_ids[x], records.published_at[x] = c, now
    for j in range(number):
        records.class_ids[found[j]], records.published_at[found[j]] = c, now


class FadsOptions(NamedTuple):
    """Options of FADS (see fads_steps)."""

    ends: bool
    delta: int
    life: int


@kernel
def fads_steps(state, most, options, requirement, records, classes, attributes, search):
    """Let records arrive until all have, or about `most` records were looked at.

    The oldest leaves when it is one of `delta` that came (with `ends`: all leave in the end): with the class of least
    loss that covers it and was made less than `life` arrivals ago, if that loses less than a group of its nearest, or
    where there are too few for a group.

    state: records that have arrived, oldest that may wait, classes, kept classes. Gives how many were
    looked at.
    """
    steps = np.int64(0)
    while True:
        x, steps = next_due(steps, most, options, state, records, attributes)
        if x < 0:
            return steps
        steps += state[0] - x
        number = group(
            x, x, state[0], requirement, records, attributes, search.node_distances, search.found, search.distances
        )
        publish(x, number, state, options.life, records, classes, attributes, search.found)


@part
def publish(x, number, state, life, records, classes, attributes, found):
    """A record leaves with the first `number` of `found` (-1: there is no group), or with a kept class that covers it
    and loses less, or is suppressed."""
    now = state[LAST]
    forget(state, now - life, classes)
    c, own = least_class(records.values[x], classes, state[3], attributes)
    new = state[2]
    if number >= 0:
        span(x, number, found, records, classes.lows[new], classes.highs[new], attributes)
        if c >= 0 and own < loss(classes.lows[new], classes.highs[new], attributes):
            number = np.int64(-1)
    if number >= 0:
        leave(x, number, found, new, now, records)
        keep_class(new, now, state, classes)
    else:
        records.class_ids[x], records.published_at[x] = (c if c >= 0 else SUPPRESSED), now


@part
def arrive(state, records, attributes):
    """Return the next record; gives it."""
    t = state[0]
    see(records.values[t], attributes)
    state[0], state[LAST] = t + 1, records.arrived_at[t]
    return t


@part
def waiting(state, class_ids):
    """Return the oldest record that waits; that after the last one that has arrived where none does."""
    while state[1] < state[0] and class_ids[state[1]] != WAITING:
        state[1] += 1
    return state[1]


@part
def is_due(x, delta, state, ends, records):
    """Return whether a record must leave before the next one arrives."""
    return (ends and state[0] == len(records.arrived_at)) or state[LAST] - records.arrived_at[x] + 1 >= delta


@part
def next_due(steps, most, options, state, records, attributes):
    """Let records arrive until one is due; return it, and how many were looked at so far.

    -1 where all have arrived, or `most` were looked at.
    """
    while steps < most:
        x = waiting(state, records.class_ids)
        if x < state[0] and is_due(x, options.delta, state, options.ends, records):
            return x, steps
        if state[0] == len(records.arrived_at):
            break
        arrive(state, records, attributes)
        steps += 1
    return np.int64(-1), steps


@part
def forget(state, oldest, classes):
    """Forget classes made at `oldest` or before."""
    number = np.int64(0)
    for i in range(state[3]):
        if classes.made_at[classes.reusable[i]] > oldest:
            classes.reusable[number] = classes.reusable[i]
            number += 1
    state[3] = number


@part
def keep_class(c, now, state, classes):
    """A new class, which may be published again."""
    classes.made_at[c] = now
    classes.reusable[state[3]] = c
    state[2] += 1
    state[3] += 1


@part
def keep_latest(c, now, most, state, classes):
    """A new class, which may be published again until `most` others have come."""
    keep_class(c, now, state, classes)
    if state[3] > most:
        for i in range(1, state[3]):
            classes.reusable[i - 1] = classes.reusable[i]
        state[3] -= 1
