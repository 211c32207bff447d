"""CUDSA: the record that is due leaves with those that cost least, in loss and in labels that are mixed.

What a class costs is w times its records times their loss, and 1 - w times its records times the chance that two of
them, drawn with replacement, have different labels; `squares` is the sum of the squares of how often each label occurs.
"""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.streams.class_loss import begin, covers, loss, lost, reach, widen
from dbanon.kernels.streams.counting import count_record, has_new_value, lacking, suffices
from dbanon.kernels.streams.sliding_window import LAST, SUPPRESSED, WAITING, keep_latest, leave, next_due


class CudsaOptions(NamedTuple):
    """Options of CUDSA (see cudsa_steps)."""

    ends: bool
    delta: int
    store: int
    w: float


@kernel
def cudsa_steps(state, most, options, requirement, records, classes, attributes, labels):
    """Let records arrive until all have, or about `most` records were looked at; return how many were.

    The oldest leaves when it is due: with the class of the store that covers it and costs least, if that costs less
    than a group of it, or where there are too few for a group. The store are the last `store` classes.

    state: records that have arrived, oldest that may wait, classes, kept classes.
    """
    steps = np.int64(0)
    while True:
        x, steps = next_due(steps, most, options, state, records, attributes)
        if x < 0:
            return steps
        now, new = state[LAST], state[2]
        c, limit = _cheapest(x, state, options.w, records, classes, attributes, labels)
        steps += state[3] + state[0] - x
        number = np.int64(-1)
        if records.people[x] >= 0 and suffices(x, state[0], records.class_ids, WAITING, requirement, records):
            number, looked = _form(
                x, state[0], new, requirement, options.w, limit, records, labels, classes, attributes
            )
            steps += looked
        if number >= 0:
            leave(x, number, labels.found, new, now, records)
            keep_latest(new, now, options.store, state, classes)
        else:
            records.class_ids[x], records.published_at[x] = (c if c >= 0 else SUPPRESSED), now


@part
def _cost(n, squares, lost_, w):
    """What a class of so many records costs."""
    return w * (n * lost_) + (1 - w) * (n - squares / n)


@part
def _cheapest(x, state, w, records, classes, attributes, labels):
    """The class of the store that covers a record and costs least (ties: the first), and what it costs; -1 and inf
    where there is none."""
    best, least = np.int64(-1), np.inf
    for i in range(state[3]):
        c = classes.reusable[i]
        if covers(records.values[x], classes.lows[c], classes.highs[c]):
            own = _cost(
                labels.class_counts[c, 0],
                labels.class_counts[c, 1],
                loss(classes.lows[c], classes.highs[c], attributes),
                w,
            )
            if own < least:
                best, least = c, own
    return best, least


@part
def _form(x, end, new, requirement, w, limit, records, labels, classes, attributes):
    """Adds to record x, one by one, the waiting record of another person that makes the group cost least more (ties:
    the oldest), until it is enough for a class; after k persons, only such with sensitive values that it lacks. Gives
    how many were added to `found`, -1 where there are too few or the group costs more than `limit`, and how many
    records were looked at; `new` is the class that the group would be, whose span and counts are set."""
    low, high, count = classes.lows[new], classes.highs[new], labels.class_counts[new]
    requirement.clock[0] += 1
    begin(records.values[x], low, high, attributes)
    count[0], count[1] = 1, 1
    labels.tally[labels.codes[x] + 1] += 1
    own = np.zeros(len(requirement.min_values), np.int64)
    count_record(x, requirement, records, own)
    number, looked = np.int64(0), np.int64(0)
    while True:
        if _cost(count[0], count[1], loss(low, high, attributes), w) > limit:
            wanted, best = np.int64(0), np.int64(-1)
        else:
            wanted = lacking(number + 1, requirement, own)
            if wanted == -1:
                break
            looked += end - x
            best = _best(x, end, new, wanted, w, records, labels, classes, attributes, requirement)
        if best < 0:
            _clear(x, number, labels)
            return np.int64(-1), looked
        widen(records.values[best], low, high, attributes)
        count[0], count[1] = count[0] + 1, count[1] + 2 * labels.tally[labels.codes[best] + 1] + 1
        labels.tally[labels.codes[best] + 1] += 1
        count_record(best, requirement, records, own)
        labels.found[number] = best
        number += 1
    _clear(x, number, labels)
    return number, looked


@part
def _clear(x, number, labels):
    """No label is counted any more."""
    labels.tally[labels.codes[x] + 1] = 0
    for j in range(number):
        labels.tally[labels.codes[labels.found[j]] + 1] = 0


@part
def _best(x, end, new, wanted, w, records, labels, classes, attributes, requirement):
    """The waiting record of a person that a group has not, with a value that it has not of the column `wanted` (-2:
    any), that makes the group cost least more (ties: the oldest); -1 where there is none."""
    low, high = classes.lows[new], classes.highs[new]
    n, squares = labels.class_counts[new, 0], labels.class_counts[new, 1]
    base, mixed = n * loss(low, high, attributes), n - squares / n
    best, least = np.int64(-1), np.inf
    for i in range(x, end):
        if (
            records.class_ids[i] != WAITING
            or records.people[i] < 0
            or requirement.person_marks[records.people[i]] == requirement.clock[0]
        ):
            continue
        if wanted >= 0 and not has_new_value(i, wanted, requirement, records):
            continue
        more = (n + 1) - (squares + 2 * labels.tally[labels.codes[i] + 1] + 1) / (n + 1) - mixed
        total, cost = 0.0, np.inf
        for a in range(len(low)):
            from_, to = reach(a, low[a], high[a], records.values[i, a], attributes)
            total += attributes.weights[a] * lost(a, from_, to, attributes)
            cost = w * ((n + 1) * total - base) + (1 - w) * more
            if cost >= least:  # what is still to be added makes it no less
                break
        if cost < least:
            best, least = np.int64(i), cost
    return best
