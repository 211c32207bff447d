"""CUDSA: a due record is published with the records that cost least, in loss and in mixed labels.

The cost of a class is w times its records times their loss, and 1 - w times its records times the chance that two of
them, drawn with replacement, have different labels; `squares` is the sum of the squared label counts.
"""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.streams.arrays import LAST_ARRIVAL, N_ADDED, N_CLASSES, N_STORED, PENDING, SUPPRESSED
from dbanon.kernels.streams.class_loss import (
    attribute_loss,
    begin_class,
    class_loss,
    covers,
    widen_class,
    widened_bounds,
)
from dbanon.kernels.streams.counting import adds_needed_person, count_record, has_enough_records, missing_column
from dbanon.kernels.streams.sliding_window import (
    NO_LIMIT,
    add_latest_class,
    next_due,
    publish_group,
)

# Columns of `LabelArrays.class_counts`, of the records that a class had when it was made: their number, and the sum of
# the squares of their numbers by label.
N_RECORDS, LABEL_SQUARES = 0, 1


class CudsaOptions(NamedTuple):
    """Options of CUDSA (see `cudsa_steps`).

    Attributes:
        ends: The stream ends after the records of this call, so all are published.
        delta: A record is published once this many records have arrived since.
        store: Maximum number of stored classes.
        w: Weight of loss against mixed labels, 0 to 1.
    """

    ends: bool
    delta: int
    store: int
    w: float


@kernel
def cudsa_steps(state, max_steps, options, requirement, records, classes, attributes, labels):
    """Add records until all are added, or about `max_steps` records were examined; return how many were.

    A due record is published with the stored class that covers it and costs least, if that costs less than a group
    around the record, or if there are too few records for a group; without such a class it is then suppressed. The last
    `store` classes are stored. All arrays are updated in place.

    Args:
        state: int64 counters of the stream (see `arrays`).
        max_steps: Number of examined records after which to return.
        options: `CudsaOptions`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        classes: `ClassArrays`.
        attributes: `AttributeArrays`.
        labels: `LabelArrays`.
    """
    steps = np.int64(0)
    while True:
        x, steps = next_due(steps, max_steps, options, NO_LIMIT, state, records, attributes)
        if x < 0:
            return steps
        end, new, arrival = state[N_ADDED], state[N_CLASSES], state[LAST_ARRIVAL]
        c, limit = _cheapest_class(x, state, options.w, records, classes, attributes, labels)
        steps += state[N_STORED] + end - x
        number = np.int64(-1)
        if records.people[x] >= 0 and has_enough_records(x, end, records.class_ids, PENDING, requirement, records):
            number, n_examined = _grow_group(
                x, end, new, requirement, options.w, limit, records, labels, classes, attributes
            )
            steps += n_examined
        if number >= 0:
            publish_group(x, number, labels.group_records, new, arrival, records)
            add_latest_class(new, arrival, True, options.store, state, classes)
        else:
            records.class_ids[x], records.published_at[x] = (c if c >= 0 else SUPPRESSED), arrival


@kernel_part
def _class_cost(n, squares, record_loss, w):
    """Return the cost of a class of n records: `w` times its total loss, plus 1 - `w` times its mixed labels.

    Mixed labels are n times the chance that two records, drawn with replacement, have different labels.

    Args:
        n: Number of records.
        squares: Sum of the squared numbers of records by label.
        record_loss: Loss per record.
        w: Weight of loss against mixed labels, 0 to 1.
    """
    return w * (n * record_loss) + (1 - w) * (n - squares / n)


@kernel_part
def _cheapest_class(x, state, w, records, classes, attributes, labels):
    """Return the stored class that covers record `x` and costs least (ties: the first), and its cost.

    The cost weighs loss (`w`) and mixed labels. Returns -1 and inf if no stored class covers the record.

    Args:
        x: Number of the record.
        state: Counters, of which N_STORED is read.
        w: Weight of loss against mixed labels, 0 to 1.
        records: `RecordArrays`.
        classes: `ClassArrays`.
        attributes: `AttributeArrays`.
        labels: `LabelArrays`.
    """
    best, lowest = np.int64(-1), np.inf
    for i in range(state[N_STORED]):
        c = classes.reusable[i]
        if covers(records.values[x], classes.lows[c], classes.highs[c]):
            cost = _class_cost(
                labels.class_counts[c, N_RECORDS],
                labels.class_counts[c, LABEL_SQUARES],
                class_loss(classes.lows[c], classes.highs[c], attributes),
                w,
            )
            if cost < lowest:
                best, lowest = c, cost
    return best, lowest


@kernel_part
def _grow_group(x, end, new, requirement, w, limit, records, labels, classes, attributes):
    """Grow a group from record x by the pending records that cost least, until it suffices for a class.

    Each is of another person; after k persons, only records with missing sensitive values are added (ties: the oldest).
    The members other than x are written to `group_records`, the bounds and counts to class `new`; nothing is published.
    Returns the number of members other than x, -1 if there are too few records or the group costs more than `limit`;
    and the number of examined records.

    Args:
        x: The record with which the group begins.
        end: End of the records that are considered (exclusive).
        new: Number of the new class.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        w: Weight of loss against mixed labels, 0 to 1.
        limit: The greatest cost of the group.
        records: `RecordArrays`.
        labels: `LabelArrays`; updated in place.
        classes: `ClassArrays`; updated in place.
        attributes: `AttributeArrays`.
    """
    low, high, class_counts = classes.lows[new], classes.highs[new], labels.class_counts[new]
    requirement.clock[0] += 1
    begin_class(records.values[x], low, high, attributes)
    class_counts[N_RECORDS], class_counts[LABEL_SQUARES] = 1, 1
    labels.tally[labels.codes[x] + 1] += 1
    n_values = np.zeros(len(requirement.min_values), np.int64)
    count_record(x, requirement, records, n_values)
    n_members, n_examined = np.int64(0), np.int64(0)
    while True:
        if (
            _class_cost(class_counts[N_RECORDS], class_counts[LABEL_SQUARES], class_loss(low, high, attributes), w)
            > limit
        ):
            wanted, best = np.int64(0), np.int64(-1)
        else:
            wanted = missing_column(n_members + 1, requirement, n_values)
            if wanted == -1:
                break
            n_examined += end - x
            best = _cheapest_record(x, end, new, wanted, w, records, labels, classes, attributes, requirement)
        if best < 0:
            _clear_tally(x, n_members, labels)
            return np.int64(-1), n_examined
        widen_class(records.values[best], low, high, attributes)
        class_counts[N_RECORDS] += 1
        class_counts[LABEL_SQUARES] += 2 * labels.tally[labels.codes[best] + 1] + 1
        labels.tally[labels.codes[best] + 1] += 1
        count_record(best, requirement, records, n_values)
        labels.group_records[n_members] = best
        n_members += 1
    _clear_tally(x, n_members, labels)
    return n_members, n_examined


@kernel_part
def _clear_tally(x, number, labels):
    """Reset the counts in `tally` of the labels of record `x` and of the first `number` group records to 0.

    Args:
        x: Number of the record.
        number: How many entries of `labels.group_records` belong to the group.
        labels: `LabelArrays`; updated in place.
    """
    labels.tally[labels.codes[x] + 1] = 0
    for j in range(number):
        labels.tally[labels.codes[labels.group_records[j]] + 1] = 0


@kernel_part
def _cheapest_record(x, end, new, wanted, w, records, labels, classes, attributes, requirement):
    """Return the pending record from `x` to `end` that adds the least cost to class `new` (ties: the oldest), or -1.

    It must be of a person who is not counted yet and, if `wanted` is a column (not -2), have a new value of it.

    Args:
        x: The first record that is considered.
        end: End of the records that are considered (exclusive).
        new: Number of the new class.
        wanted: The sensitive column whose values are needed; -2 if persons are.
        w: Weight of loss against mixed labels, 0 to 1.
        records: `RecordArrays`.
        labels: `LabelArrays`.
        classes: `ClassArrays`.
        attributes: `AttributeArrays`.
        requirement: `RequirementArrays`, with the persons and values counted so far.
    """
    low, high = classes.lows[new], classes.highs[new]
    n, squares = labels.class_counts[new, N_RECORDS], labels.class_counts[new, LABEL_SQUARES]
    base, mixed = n * class_loss(low, high, attributes), n - squares / n
    best, lowest = np.int64(-1), np.inf
    for i in range(x, end):
        if records.class_ids[i] != PENDING or not adds_needed_person(i, wanted, requirement, records):
            continue
        label_increase = (n + 1) - (squares + 2 * labels.tally[labels.codes[i] + 1] + 1) / (n + 1) - mixed
        total, cost = 0.0, np.inf
        for a in range(len(low)):
            new_low, new_high = widened_bounds(a, low[a], high[a], records.values[i, a], attributes)
            total += attributes.weights[a] * attribute_loss(a, new_low, new_high, attributes)
            cost = w * ((n + 1) * total - base) + (1 - w) * label_increase
            if cost >= lowest:  # what is still to be added makes it no less
                break
        if cost < lowest:
            best, lowest = np.int64(i), cost
    return best
