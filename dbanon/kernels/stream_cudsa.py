"""CUDSA: the record that is due leaves with those that cost least, in loss and in labels that are mixed.

`labels` (records,) are codes of the labels, -1 for NULL, a label as others. What a class costs is w times its records
times their loss, and 1 - w times its records times the chance that two of them, drawn with replacement, have different
labels; `squares` is the sum of the squares of how often each label occurs. `counts` (classes, 2): records and squares
of each class when it was first published.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.stream_class import begin, covers, loss, lost, reach, widen
from dbanon.kernels.stream_window import LAST, SUPPRESSED, WAITING, arrive, is_due, keep_latest, leave, waiting


@kernel
def cudsa_steps(
    state, most, ends, k, delta, store, w, need, arrived, values, people, sensitive, labels, out, step, kept, born,
    lows, highs, first, nodes, share, seen, weights, counts, found, tally, marks, values_of, clock,
):  # fmt: skip
    """Lets records arrive until all have, or about `most` records were looked at; gives how many were. The oldest
    leaves when it is due: with the class of the store that covers it and costs least, if that costs less than a group
    of it, or where there are too few for a group. The store are the last `store` classes.

    state: records that have arrived, oldest that may wait, classes, kept classes. found (k + values that are needed,)
    and tally (labels + 1,), which begins with zeros: scratch. The rest as in fads_steps and `stream_open`.
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
        now, new = state[LAST], state[2]
        c, limit = _cheapest(x, state, w, values, kept, lows, highs, first, share, seen, weights, counts)
        steps += state[3] + state[0] - x
        number = np.int64(-1)
        if _can_be_enough(x, state[0], k, need, people, sensitive, out, marks, values_of, clock):
            number, looked = _form(
                x, state[0], k, w, limit, need, values, people, sensitive, labels, out, lows[new], highs[new],
                counts[new], first, nodes, share, seen, weights, found, tally, marks, values_of, clock,
            )  # fmt: skip
            steps += looked
        if number >= 0:
            leave(x, number, found, new, now, out, step)
            keep_latest(new, now, store, state, kept, born)
        else:
            out[x], step[x] = (c if c >= 0 else SUPPRESSED), now
    return steps


@part
def _cost(n, squares, lost_, w):
    """What a class of so many records costs."""
    return w * (n * lost_) + (1 - w) * (n - squares / n)


@part
def _cheapest(x, state, w, values, kept, lows, highs, first, share, seen, weights, counts):
    """The class of the store that covers a record and costs least (ties: the first), and what it costs; -1 and inf
    where there is none."""
    best, least = np.int64(-1), np.inf
    for i in range(state[3]):
        c = kept[i]
        if covers(values[x], lows[c], highs[c]):
            own = _cost(counts[c, 0], counts[c, 1], loss(lows[c], highs[c], first, share, seen, weights), w)
            if own < least:
                best, least = c, own
    return best, least


@part
def _can_be_enough(x, end, k, need, people, sensitive, out, marks, values_of, clock):
    """Whether record x is of a person, and all that wait together are enough for a class."""
    if people[x] < 0:
        return False
    clock[0] += 1
    persons = np.int64(0)
    for i in range(x, end):
        if persons == k:
            break
        if out[i] == WAITING and people[i] >= 0 and marks[people[i]] != clock[0]:
            marks[people[i]] = clock[0]
            persons += 1
    if persons < k:
        return False
    for s in range(len(need)):
        number = np.int64(0)
        for i in range(x, end):
            if number == need[s]:
                break
            code = sensitive[i, s]
            if out[i] == WAITING and people[i] >= 0 and code >= 0 and values_of[s, code] != clock[0]:
                values_of[s, code] = clock[0]
                number += 1
        if number < need[s]:
            return False
    return True


@part
def _form(
    x, end, k, w, limit, need, values, people, sensitive, labels, out, low, high, count, first, nodes, share, seen,
    weights, found, tally, marks, values_of, clock,
):  # fmt: skip
    """Adds to record x, one by one, the waiting record of another person that makes the group cost least more (ties:
    the oldest), until it is enough for a class; after k persons, only such with sensitive values that it lacks. Gives
    how many were added to `found`, -1 where there are too few or the group costs more than `limit`, and how many
    records were looked at; low, high and count (2,) are what the group publishes, its records and their squares."""
    clock[0] += 1
    begin(values[x], low, high, first, nodes)
    count[0], count[1] = 1, 1
    tally[labels[x] + 1] += 1
    own = np.zeros(len(need), np.int64)
    _mark(x, need, people, sensitive, own, marks, values_of, clock)
    number, looked = np.int64(0), np.int64(0)
    while True:
        if _cost(count[0], count[1], loss(low, high, first, share, seen, weights), w) > limit:
            wanted, best = np.int64(0), np.int64(-1)
        else:
            wanted = _lacking(number + 1, k, need, own)
            if wanted == len(need):
                break
            looked += end - x
            best = _best(
                x, end, wanted, w, values, people, sensitive, labels, out, low, high, count, first, nodes, share, seen,
                weights, tally, marks, values_of, clock,
            )  # fmt: skip
        if best < 0:
            _clear(x, number, labels, found, tally)
            return np.int64(-1), looked
        widen(values[best], low, high, first, nodes)
        count[0], count[1] = count[0] + 1, count[1] + 2 * tally[labels[best] + 1] + 1
        tally[labels[best] + 1] += 1
        _mark(best, need, people, sensitive, own, marks, values_of, clock)
        found[number] = best
        number += 1
    _clear(x, number, labels, found, tally)
    return number, looked


@part
def _lacking(persons, k, need, own):
    """-1 where a group needs more persons, else the first sensitive column that lacks values; their number where none
    does."""
    if persons < k:
        return np.int64(-1)
    for s in range(len(need)):
        if own[s] < need[s]:
            return np.int64(s)
    return np.int64(len(need))


@part
def _mark(t, need, people, sensitive, own, marks, values_of, clock):
    """A group has the person and the sensitive values of a record; own (columns,): how many values it has."""
    marks[people[t]] = clock[0]
    for s in range(len(need)):
        code = sensitive[t, s]
        if code >= 0 and values_of[s, code] != clock[0]:
            values_of[s, code] = clock[0]
            own[s] += 1


@part
def _clear(x, number, labels, found, tally):
    """No label is counted any more."""
    tally[labels[x] + 1] = 0
    for j in range(number):
        tally[labels[found[j]] + 1] = 0


@part
def _best(
    x, end, wanted, w, values, people, sensitive, labels, out, low, high, count, first, nodes, share, seen, weights,
    tally, marks, values_of, clock,
):  # fmt: skip
    """The waiting record of a person that a group has not, with a value that it has not of the column `wanted` (-1:
    any), that makes the group cost least more (ties: the oldest); -1 where there is none."""
    n, squares = count[0], count[1]
    base, mixed = n * loss(low, high, first, share, seen, weights), n - squares / n
    best, least = np.int64(-1), np.inf
    for i in range(x, end):
        if out[i] != WAITING or people[i] < 0 or marks[people[i]] == clock[0]:
            continue
        if wanted >= 0:
            code = sensitive[i, wanted]
            if code < 0 or values_of[wanted, code] == clock[0]:
                continue
        more = (n + 1) - (squares + 2 * tally[labels[i] + 1] + 1) / (n + 1) - mixed
        total, cost = 0.0, np.inf
        for a in range(len(low)):
            from_, to = reach(a, low[a], high[a], values[i, a], first, nodes)
            total += weights[a] * lost(a, from_, to, first, share, seen)
            cost = w * ((n + 1) * total - base) + (1 - w) * more
            if cost >= least:  # what is still to be added makes it no less
                break
        if cost < least:
            best, least = np.int64(i), cost
    return best
