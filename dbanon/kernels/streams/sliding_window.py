"""The sliding window of a stream: a due record is published with its nearest records, or with a stored class."""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.streams.class_loss import (
    begin_class,
    cheapest_covering_class,
    class_loss,
    record_distance,
    update_seen_ranges,
    widen_class,
)
from dbanon.kernels.streams.nearest import PENDING as PENDING, nearest_persons

SUPPRESSED = -1

LAST_ARRIVAL = 8
"""Index in `state` of the place at which the last record arrived; it may have been published in an earlier call."""


@kernel_part
def add_diverse_records(x, number, begins, ends, records, requirement, attributes, group_records, distances):
    """Add the nearest pending records with new sensitive values to a group until each column has enough.

    The group is record `x` and the first `number` of `group_records`, to which they are appended. `distances`: distance
    of each record, inf if it is not allowed; None for the distance of records. Only records from `begins` to `ends`, of
    persons who are not in the group, are considered. Returns the new `number`, -1 if there are too few records.
    """
    for s in range(len(requirement.min_values)):
        while n_distinct_values(x, number, s, records, group_records) < requirement.min_values[s]:
            best, lowest = np.int64(-1), np.inf
            for i in range(begins, ends):
                if (
                    records.class_ids[i] != PENDING
                    or i == x
                    or records.people[i] < 0
                    or records.people[i] == records.people[x]
                    or records.sensitive[i, s] < 0
                ):
                    continue
                if has_person_or_value(i, x, number, s, records, group_records):
                    continue
                gap = (
                    record_distance(records.values[x], records.values[i], attributes)
                    if distances is None
                    else distances[i]
                )
                if gap < lowest:
                    best, lowest = np.int64(i), gap
            if best < 0:
                return np.int64(-1)
            group_records[number] = best
            number += 1
    return number


@kernel_part
def has_person_or_value(i, x, number, s, records, group_records):
    """Return whether a group has the person of record `i` or its value in sensitive column `s`.

    The group is record `x`, whose person is not compared, and the first `number` of `group_records`.
    """
    if records.sensitive[x, s] == records.sensitive[i, s]:
        return True
    for j in range(number):
        if (
            records.people[group_records[j]] == records.people[i]
            or records.sensitive[group_records[j], s] == records.sensitive[i, s]
        ):
            return True
    return False


@kernel_part
def n_distinct_values(x, number, s, records, group_records):
    """Return the number of distinct values, without NULL, in sensitive column `s` of a group.

    The group is record `x` and the first `number` of `group_records`.
    """
    values = np.int64(records.sensitive[x, s] >= 0)
    for j in range(number):
        code = records.sensitive[group_records[j], s]
        if code < 0 or code == records.sensitive[x, s]:
            continue
        is_new = True
        for i in range(j):
            if records.sensitive[group_records[i], s] == code:
                is_new = False
                break
        values += is_new
    return values


@kernel_part
def find_group(x, begins, ends, requirement, records, attributes, table, group_records, far):
    """Find the nearest pending records that suffice for a class together with record `x`; return how many, or -1.

    They are written to `group_records`. -1 if there are too few, or if the person of x is unknown. `table` and `far`
    are scratch.
    """
    if records.people[x] < 0:
        return np.int64(-1)
    number = nearest_persons(x, begins, ends, requirement.k, records, attributes, table, group_records, far)
    if number < requirement.k - 1:
        return np.int64(-1)
    if len(requirement.min_values) > 0:
        number = add_diverse_records(x, number, begins, ends, records, requirement, attributes, group_records, None)
    return number


@kernel_part
def set_class_bounds(x, number, group_records, records, low, high, attributes):
    """Set the bounds `low` and `high`, in place, to those of record `x` and the first `number` of `group_records`."""
    begin_class(records.values[x], low, high, attributes)
    for j in range(number):
        widen_class(records.values[group_records[j]], low, high, attributes)


@kernel_part
def publish_group(x, number, group_records, c, arrival, records):
    """Record that record `x` and the first `number` of `group_records` are published with class `c` at `arrival`."""
    records.class_ids[x], records.published_at[x] = c, arrival
    for j in range(number):
        records.class_ids[group_records[j]], records.published_at[group_records[j]] = c, arrival


class FadsOptions(NamedTuple):
    """Options of FADS (see `fads_steps`).

    Attributes:
        ends: The stream ends after the records of this call, so all are published.
        delta: A record is published once this many records have arrived since.
        life: Number of arrivals after which a class is not reused any more.
    """

    ends: bool
    delta: int
    life: int


@kernel
def fads_steps(state, max_steps, options, requirement, records, classes, attributes, search):
    """Add records until all are added, or about `max_steps` records were examined; return how many were.

    The oldest record is published once `delta` records have arrived since (with `ends`: all are published at the end):
    with the stored class of least loss that covers it and was made less than `life` arrivals ago, if that loses less
    than a group of its nearest, or if there are too few for a group; with neither, it is suppressed.

    `state`: records added, oldest pending record, classes, stored classes.
    """
    steps = np.int64(0)
    while True:
        x, steps = next_due(steps, max_steps, options, state, records, attributes)
        if x < 0:
            return steps
        steps += state[0] - x
        number = find_group(
            x,
            x,
            state[0],
            requirement,
            records,
            attributes,
            search.node_distances,
            search.group_records,
            search.distances,
        )
        publish_due_record(x, number, state, options.life, records, classes, attributes, search.group_records)


@kernel_part
def publish_due_record(x, number, state, life, records, classes, attributes, group_records):
    """Publish record `x` with its group as a new class, or with a stored class that covers it and loses less.

    The group is the first `number` of `group_records`; -1 if there is none. A new class is stored for reuse. Classes
    made `life` or more arrivals ago are forgotten first. With neither, the record is suppressed.
    """
    arrival = state[LAST_ARRIVAL]
    forget_classes(state, arrival - life, classes)
    c, stored_loss = cheapest_covering_class(records.values[x], classes, state[3], attributes)
    new = state[2]
    if number >= 0:
        set_class_bounds(x, number, group_records, records, classes.lows[new], classes.highs[new], attributes)
        if c >= 0 and stored_loss < class_loss(classes.lows[new], classes.highs[new], attributes):
            number = np.int64(-1)
    if number >= 0:
        publish_group(x, number, group_records, new, arrival, records)
        store_class(new, arrival, state, classes)
    else:
        records.class_ids[x], records.published_at[x] = (c if c >= 0 else SUPPRESSED), arrival


@kernel_part
def add_next_record(state, records, attributes):
    """Add the next record of the stream: update `state` and the seen ranges; return the record."""
    t = state[0]
    update_seen_ranges(records.values[t], attributes)
    state[0], state[LAST_ARRIVAL] = t + 1, records.arrived_at[t]
    return t


@kernel_part
def oldest_pending(state, class_ids):
    """Return the oldest pending record, or the number of records added if none is pending; state[1] advances to it."""
    while state[1] < state[0] and class_ids[state[1]] != PENDING:
        state[1] += 1
    return state[1]


@kernel_part
def is_due(x, delta, state, ends, records):
    """Return whether record `x` must be published before the next one arrives.

    It must once `delta` records have arrived, counted from itself, or at the end of the stream (`ends`).
    """
    return (ends and state[0] == len(records.arrived_at)) or state[LAST_ARRIVAL] - records.arrived_at[x] + 1 >= delta


@kernel_part
def next_due(steps, max_steps, options, state, records, attributes):
    """Add records until one is due; return it (not yet published), and the number of examined records so far.

    The record is -1 if all are added, or `max_steps` were examined. `steps` is the number before.
    """
    while steps < max_steps:
        x = oldest_pending(state, records.class_ids)
        if x < state[0] and is_due(x, options.delta, state, options.ends, records):
            return x, steps
        if state[0] == len(records.arrived_at):
            break
        add_next_record(state, records, attributes)
        steps += 1
    return np.int64(-1), steps


@kernel_part
def forget_classes(state, oldest, classes):
    """Remove the classes that were made when `oldest` or fewer records had arrived from the reusable ones, in place."""
    number = np.int64(0)
    for i in range(state[3]):
        if classes.made_at[classes.reusable[i]] > oldest:
            classes.reusable[number] = classes.reusable[i]
            number += 1
    state[3] = number


@kernel_part
def store_class(c, arrival, state, classes):
    """Count a new class, and add it to the classes that may be reused; `arrival` is when it was made."""
    classes.made_at[c] = arrival
    classes.reusable[state[3]] = c
    state[2] += 1
    state[3] += 1


@kernel_part
def store_latest_class(c, arrival, max_stored, state, classes):
    """Count a new class, and add it to the reusable ones, of which the oldest is dropped above `max_stored`."""
    store_class(c, arrival, state, classes)
    if state[3] > max_stored:
        for i in range(1, state[3]):
            classes.reusable[i - 1] = classes.reusable[i]
        state[3] -= 1
