"""Streams of records that lack values: IDEA, which lets a NULL stand in a class of values, and K-VARP, whose records
are partitioned by which attributes they have.

The record that is due leaves with those that are nearest by `away` (records,), where each system says what that is.
"""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.streams.class_loss import alone, apart, least_class, loss, reach
from dbanon.kernels.streams.counting import suffices
from dbanon.kernels.streams.nearest import insert
from dbanon.kernels.streams.sliding_window import (
    LAST,
    SUPPRESSED,
    WAITING,
    diverse,
    keep_latest,
    leave,
    next_due,
    span,
)


@part
def choose(x, end, requirement, away, records, attributes, found):
    """Puts into `found` the waiting records of k - 1 persons that are nearest to record x (ties: the oldest), and then
    the nearest with sensitive values that are needed; `away` is inf for those that may not be taken. Gives how many, or
    -1 where there are too few."""
    number, far = np.int64(0), np.empty(requirement.k)
    if records.people[x] < 0:
        return np.int64(-1)
    for i in range(x + 1, end):
        if (
            records.class_ids[i] == WAITING
            and records.people[i] >= 0
            and records.people[i] != records.people[x]
            and away[i] < np.inf
        ):
            number = insert(i, away[i], number, requirement.k - 1, records, found, far)
    if number < requirement.k - 1:
        return np.int64(-1)
    return diverse(x, number, x, end, records, requirement, attributes, found, away)


# --- IDEA --------------------------------------------------------------------------------------------------


class IdeaOptions(NamedTuple):
    """Options of IDEA (see idea_steps)."""

    ends: bool
    delta: int
    theta: float
    store: int


@kernel
def idea_steps(state, most, options, requirement, records, classes, attributes, found, away):
    """Let records arrive until all have, or about `most` records were looked at; return how many were.

    The oldest leaves when it is due: with the class of the store that stands for it and loses least, if that loses no
    more than a group of it and the most similar, or where there are too few for a group. A group that loses less than
    `theta` is stored; the store are the last `store` of these.

    state: records that have arrived, oldest that may wait, classes, kept classes. found (k + values that are
    needed,) and away (records,): scratch.
    """
    steps = np.int64(0)
    while True:
        x, steps = next_due(steps, most, options, state, records, attributes)
        if x < 0:
            return steps
        steps += state[0] - x + state[3]
        for i in range(x + 1, state[0]):
            away[i] = -_similar(records.values[x], records.values[i], attributes)
        number = choose(x, state[0], requirement, away, records, attributes, found)
        c, least = _least_that_may(records.values[x], state, classes, attributes)
        new, now = state[2], state[LAST]
        own = np.inf
        if number >= 0:
            _span_known(x, number, found, records, classes.lows[new], classes.highs[new], attributes)
            own = loss(classes.lows[new], classes.highs[new], attributes)
        if c >= 0 and least <= own:
            records.class_ids[x], records.published_at[x] = c, now
        elif number >= 0:
            leave(x, number, found, new, now, records)
            classes.made_at[new] = now
            if own < options.theta:
                keep_latest(new, now, options.store, state, classes)
            else:
                state[2] += 1
        else:
            records.class_ids[x], records.published_at[x] = SUPPRESSED, now


@part
def _similar(x, y, attributes):
    """How similar two records are.

    The share of attributes that both have, times one less the mean distance on these.
    """
    both, far = 0.0, 0.0
    for a in range(len(x)):
        if x[a] == x[a] and y[a] == y[a]:
            both += attributes.weights[a]
            far += attributes.weights[a] * apart(a, x[a], y[a], attributes)
    return both - far


@part
def _span_known(x, number, found, records, low, high, attributes):
    """Make a class of what record x and the first `number` of `found` have; of NULLs where all lack it."""
    for a in range(len(low)):
        low[a], high[a] = alone(a, records.values[x, a], attributes)
        for j in range(number):
            value = records.values[found[j], a]
            if value != value:
                continue
            if low[a] > high[a]:
                low[a], high[a] = alone(a, value, attributes)
            else:
                low[a], high[a] = reach(a, low[a], high[a], value, attributes)


@part
def _least_that_may(value, state, classes, attributes):
    """The class of the store that has all values of a record and loses least (ties: the first), and what it loses; -1
    and inf where there is none."""
    best, least = np.int64(-1), np.inf
    for i in range(state[3]):
        c = classes.reusable[i]
        may = True
        for a in range(len(value)):
            if value[a] == value[a] and not classes.lows[c, a] <= value[a] <= classes.highs[c, a]:
                may = False
                break
        if may:
            own = loss(classes.lows[c], classes.highs[c], attributes)
            if own < least:
                best, least = c, own
    return best, least


# --- partitions by what records have -----------------------------------------------------------------------


class PartitionOptions(NamedTuple):
    """Options of K-VARP and IoT anonymity (see pattern_steps)."""

    ends: bool
    delta: int
    store: int
    is_by_size: bool


@kernel
def pattern_steps(state, most, options, requirement, records, classes, attributes, partitions):
    """Let records arrive until all have, or about `most` records were looked at; return how many were.

    The oldest leaves when it is due, with the nearest of its partition by what all of these have; where that is too
    small, of it and the partitions that are merged with it: the most similar ones or, `is_by_size`, the largest. If all
    together are too few, it leaves with a class of the store that covers it, or is suppressed. The store are the last
    `store` classes of one partition.

    state: records that have arrived, oldest that may wait, classes, kept classes.
    """
    steps = np.int64(0)
    while True:
        x, steps = next_due(steps, most, options, state, records, attributes)
        if x < 0:
            return steps
        common, merged, looked = _gather(x, state[0], requirement, options.is_by_size, records, partitions)
        steps += looked + state[3]
        number = np.int64(-1)
        if merged >= 0:
            for i in range(x + 1, state[0]):
                partitions.distances[i] = np.inf
                if partitions.taken[i]:
                    partitions.distances[i] = _apart_by(common, records.values[x], records.values[i], attributes)
            number = choose(x, state[0], requirement, partitions.distances, records, attributes, partitions.found)
        new, now = state[2], state[LAST]
        if number >= 0:
            span(x, number, partitions.found, records, classes.lows[new], classes.highs[new], attributes)
            leave(x, number, partitions.found, new, now, records)
            classes.made_at[new] = now
            if merged == 0 and options.store > 0:
                keep_latest(new, now, options.store, state, classes)
            else:
                state[2] += 1
        else:
            c, _ = least_class(records.values[x], classes, state[3], attributes)
            records.class_ids[x], records.published_at[x] = (c if c >= 0 else SUPPRESSED), now


@part
def _gather(x, end, requirement, by_size, records, partitions):
    """Take the partition of record x, and others until all together are enough for a class.

    Gives what all have, how many others were taken (-1: all are not enough), and how many records were looked at.
    """
    common, merged, looked = partitions.patterns[x], np.int64(0), np.int64(0)
    for i in range(x, end):
        partitions.taken[i] = records.class_ids[i] == WAITING and partitions.patterns[i] == partitions.patterns[x]
    while records.people[x] >= 0:
        looked += end - x
        if suffices(x, end, partitions.taken, True, requirement, records):
            return common, merged, looked
        best, most = np.int64(-1), -1.0
        for i in range(x + 1, end):
            if (
                records.class_ids[i] != WAITING
                or partitions.taken[i]
                or (best >= 0 and partitions.patterns[i] == partitions.patterns[best])
            ):
                continue
            score = 0.0
            if by_size:
                for j in range(i, end):
                    score += records.class_ids[j] == WAITING and partitions.patterns[j] == partitions.patterns[i]
                looked += end - i
            else:
                either = _bits(partitions.patterns[i] | common)
                score = _bits(partitions.patterns[i] & common) / either if either > 0 else 1.0
            if score > most:
                best, most = np.int64(i), score
        if best < 0:
            break
        for i in range(x, end):
            if records.class_ids[i] == WAITING and partitions.patterns[i] == partitions.patterns[best]:
                partitions.taken[i] = True
        common &= partitions.patterns[best]
        merged += 1
    return common, np.int64(-1), looked


@part
def _bits(pattern):
    number = np.int64(0)
    while pattern > 0:
        number += pattern & 1
        pattern >>= 1
    return number


@part
def _apart_by(common, x, y, attributes):
    """How far apart two records are on the attributes that all have."""
    total = 0.0
    for a in range(len(x)):
        if (common >> (a % 62)) & 1 and x[a] == x[a] and y[a] == y[a]:
            total += attributes.weights[a] * apart(a, x[a], y[a], attributes)
    return total
