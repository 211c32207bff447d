"""Streams of records that lack values: IDEA, which lets a NULL stand in a class of values, and K-VARP, whose records
are partitioned by which attributes they have.

The record that is due leaves with those that are nearest by `away` (records,), where each system says what that is. The
rest as in `stream_class` and `stream_window`.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.stream_class import alone, apart, least_class, loss, reach
from dbanon.kernels.stream_window import (
    LAST,
    SUPPRESSED,
    WAITING,
    arrive,
    different,
    has_already,
    is_due,
    keep_latest,
    leave,
    span,
    waiting,
)


@part
def choose(x, end, k, need, away, people, sensitive, out, found):
    """Puts into `found` the waiting records of k - 1 persons that are nearest to record x (ties: the oldest), and then
    the nearest with sensitive values that are needed; `away` is inf for those that may not be taken. Gives how many, or
    -1 where there are too few."""
    number = np.int64(0)
    if people[x] < 0:
        return np.int64(-1)
    for i in range(x + 1, end):
        if out[i] != WAITING or people[i] < 0 or people[i] == people[x] or away[i] == np.inf:
            continue
        if number == k - 1 and not away[i] < away[found[number - 1]]:
            continue
        at = np.int64(-1)
        for j in range(number):
            if people[found[j]] == people[i]:
                at = np.int64(j)
        if at >= 0:
            if not away[i] < away[found[at]]:
                continue
        elif number < k - 1:
            at = number
            number += 1
        else:
            at = number - 1
        while at > 0 and away[found[at - 1]] > away[i]:
            found[at] = found[at - 1]
            at -= 1
        found[at] = i
    if number < k - 1:
        return np.int64(-1)
    for s in range(len(need)):
        while different(x, number, s, sensitive, found) < need[s]:
            best = np.int64(-1)
            for i in range(x + 1, end):
                if out[i] != WAITING or people[i] < 0 or people[i] == people[x] or sensitive[i, s] < 0:
                    continue
                if away[i] == np.inf or has_already(i, x, number, s, people, sensitive, found):
                    continue
                if best < 0 or away[i] < away[best]:
                    best = np.int64(i)
            if best < 0:
                return np.int64(-1)
            found[number] = best
            number += 1
    return number


# --- IDEA --------------------------------------------------------------------------------------------------


@kernel
def idea_steps(
    state, most, ends, k, delta, theta, store, need, arrived, values, people, sensitive, out, step, kept, born, lows,
    highs, first, nodes, share, seen, weights, found, away,
):  # fmt: skip
    """Lets records arrive until all have, or about `most` records were looked at; gives how many were. The oldest
    leaves when it is due: with the class of the store that stands for it and loses least, if that loses no more than a
    group of it and the most similar, or where there are too few for a group. A group that loses less than `theta` is
    stored; the store are the last `store` of these.

    state: records that have arrived, oldest that may wait, classes, kept classes. found (k + values that are needed,)
    and away (records,): scratch. The rest as in fads_steps.
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
        steps += state[0] - x + state[3]
        for i in range(x + 1, state[0]):
            away[i] = -_similar(values[x], values[i], first, nodes, share, seen, weights)
        number = choose(x, state[0], k, need, away, people, sensitive, out, found)
        c, least = _least_that_may(values[x], state, kept, lows, highs, first, share, seen, weights)
        new, now = state[2], state[LAST]
        own = np.inf
        if number >= 0:
            _span_known(x, number, found, values, lows[new], highs[new], first, nodes)
            own = loss(lows[new], highs[new], first, share, seen, weights)
        if c >= 0 and least <= own:
            out[x], step[x] = c, now
        elif number >= 0:
            leave(x, number, found, new, now, out, step)
            born[new] = now
            if own < theta:
                keep_latest(new, now, store, state, kept, born)
            else:
                state[2] += 1
        else:
            out[x], step[x] = SUPPRESSED, now
    return steps


@part
def _similar(x, y, first, nodes, share, seen, weights):
    """How similar two records are: the share of attributes that both have, times one less the mean distance on
    these."""
    both, far = 0.0, 0.0
    for a in range(len(x)):
        if x[a] == x[a] and y[a] == y[a]:
            both += weights[a]
            far += weights[a] * apart(a, x[a], y[a], first, nodes, share, seen)
    return both - far


@part
def _span_known(x, number, found, values, low, high, first, nodes):
    """Makes a class of what record x and the first `number` of `found` have; of NULLs where all lack it."""
    for a in range(len(low)):
        low[a], high[a] = alone(a, values[x, a], first, nodes)
        for j in range(number):
            value = values[found[j], a]
            if value != value:
                continue
            if low[a] > high[a]:
                low[a], high[a] = alone(a, value, first, nodes)
            else:
                low[a], high[a] = reach(a, low[a], high[a], value, first, nodes)


@part
def _least_that_may(value, state, kept, lows, highs, first, share, seen, weights):
    """The class of the store that has all values of a record and loses least (ties: the first), and what it loses; -1
    and inf where there is none."""
    best, least = np.int64(-1), np.inf
    for i in range(state[3]):
        c = kept[i]
        may = True
        for a in range(len(value)):
            if value[a] == value[a] and not lows[c, a] <= value[a] <= highs[c, a]:
                may = False
                break
        if may:
            own = loss(lows[c], highs[c], first, share, seen, weights)
            if own < least:
                best, least = c, own
    return best, least


# --- partitions by what records have -----------------------------------------------------------------------


@kernel
def pattern_steps(
    state, most, ends, k, delta, store, by_size, need, arrived, values, people, sensitive, patterns, out, step, kept,
    born, lows, highs, first, nodes, share, seen, weights, found, away, taken, marks, values_of, clock,
):  # fmt: skip
    """Lets records arrive until all have, or about `most` records were looked at; gives how many were. The oldest
    leaves when it is due, with the nearest of its partition by what all of these have; where that is too small, of it
    and the partitions that are merged with it: the most similar ones or, `by_size`, the largest. Where all together are
    too few, it leaves with a class of the store that covers it, or is suppressed. The store are the last `store`
    classes of one partition.

    patterns (records,): which attributes a record has, as bits. taken (records,) and away (records,): scratch. The
    rest as in fads_steps and `stream_open`.
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
        common, merged, looked = _gather(
            x, state[0], k, by_size, need, people, sensitive, patterns, out, taken, marks, values_of, clock
        )
        steps += looked + state[3]
        number = np.int64(-1)
        if merged >= 0:
            for i in range(x + 1, state[0]):
                away[i] = np.inf
                if taken[i]:
                    away[i] = _apart_by(common, values[x], values[i], first, nodes, share, seen, weights)
            number = choose(x, state[0], k, need, away, people, sensitive, out, found)
        new, now = state[2], state[LAST]
        if number >= 0:
            span(x, number, found, values, lows[new], highs[new], first, nodes)
            leave(x, number, found, new, now, out, step)
            born[new] = now
            if merged == 0 and store > 0:
                keep_latest(new, now, store, state, kept, born)
            else:
                state[2] += 1
        else:
            c, _ = least_class(values[x], kept, state[3], lows, highs, first, share, seen, weights)
            out[x], step[x] = (c if c >= 0 else SUPPRESSED), now
    return steps


@part
def _gather(x, end, k, by_size, need, people, sensitive, patterns, out, taken, marks, values_of, clock):
    """Takes the partition of record x, and others until all together are enough for a class. Gives what all have, how
    many others were taken (-1: all are not enough), and how many records were looked at."""
    common, merged, looked = patterns[x], np.int64(0), np.int64(0)
    for i in range(x, end):
        taken[i] = out[i] == WAITING and patterns[i] == patterns[x]
    while people[x] >= 0:
        looked += end - x
        if _is_enough(x, end, k, need, people, sensitive, taken, marks, values_of, clock):
            return common, merged, looked
        best, most = np.int64(-1), -1.0
        for i in range(x + 1, end):
            if out[i] != WAITING or taken[i] or (best >= 0 and patterns[i] == patterns[best]):
                continue
            score = 0.0
            if by_size:
                for j in range(i, end):
                    score += out[j] == WAITING and patterns[j] == patterns[i]
                looked += end - i
            else:
                either = _bits(patterns[i] | common)
                score = _bits(patterns[i] & common) / either if either > 0 else 1.0
            if score > most:
                best, most = np.int64(i), score
        if best < 0:
            break
        for i in range(x, end):
            if out[i] == WAITING and patterns[i] == patterns[best]:
                taken[i] = True
        common &= patterns[best]
        merged += 1
    return common, np.int64(-1), looked


@part
def _is_enough(x, end, k, need, people, sensitive, taken, marks, values_of, clock):
    """Whether the records that are taken have k persons and enough sensitive values."""
    clock[0] += 1
    persons = np.int64(0)
    for i in range(x, end):
        if taken[i] and people[i] >= 0 and marks[people[i]] != clock[0]:
            marks[people[i]] = clock[0]
            persons += 1
    if persons < k:
        return False
    for s in range(len(need)):
        number = np.int64(0)
        for i in range(x, end):
            code = sensitive[i, s]
            if taken[i] and people[i] >= 0 and code >= 0 and values_of[s, code] != clock[0]:
                values_of[s, code] = clock[0]
                number += 1
        if number < need[s]:
            return False
    return True


@part
def _bits(pattern):
    number = np.int64(0)
    while pattern > 0:
        number += pattern & 1
        pattern >>= 1
    return number


@part
def _apart_by(common, x, y, first, nodes, share, seen, weights):
    """How far apart two records are on the attributes that all have."""
    total = 0.0
    for a in range(len(x)):
        if (common >> (a % 62)) & 1 and x[a] == x[a] and y[a] == y[a]:
            total += weights[a] * apart(a, x[a], y[a], first, nodes, share, seen)
    return total
