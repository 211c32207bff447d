"""The sliding window of a stream: a due record is published with its nearest records, or with a stored class."""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.streams.arrays import (
    LAST_ARRIVAL,
    N_ADDED,
    N_CLASSES,
    N_PENDING,
    N_STORED,
    OLDEST_PENDING,
    PENDING,
    SUPPRESSED,
)
from dbanon.kernels.streams.class_loss import (
    begin_class,
    cheapest_covering_class,
    class_loss,
    record_distance,
    update_seen_ranges,
    widen_class,
)
from dbanon.kernels.streams.nearest import nearest_persons

NO_LIMIT = 2**62
"""A number of records that is never reached."""


@kernel_part
def add_diverse_records(x, number, begins, ends, records, requirement, attributes, group_records, distances):
    """Add the nearest pending records with new sensitive values to a group until each column has enough of them.

    The group is record `x` and the first `number` of `group_records`, to which the new records are appended. Only
    records from `begins` to `ends`, of known persons who are not in the group, are considered. Returns the new
    `number`, -1 if there are too few records.

    Args:
        x: Number of the record.
        number: How many entries of `group_records` belong to the group at first.
        begins, ends: The first record that is considered, and the end (exclusive).
        records: `RecordArrays`.
        requirement: `RequirementArrays`.
        attributes: `AttributeArrays`.
        group_records: int64 record numbers of the group other than `x`; new ones are appended in place.
        distances: (records,) float64: distance of each record from `x`, inf if it is not allowed; or None, then
            distances are computed.
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
                    or has_person_or_value(i, x, number, s, records, group_records)
                ):
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

    Args:
        i: Number of the record to compare.
        x: Number of the record that the group is formed for.
        number: How many entries of `group_records` belong to the group.
        s: Number of the sensitive column.
        records: `RecordArrays`.
        group_records: int64 record numbers of the group other than `x`.
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

    Args:
        x: Number of the record.
        number: How many entries of `group_records` belong to the group.
        s: Number of the sensitive column.
        records: `RecordArrays`.
        group_records: int64 record numbers of the group other than `x`.
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
def find_group(x, begins, ends, requirement, records, attributes, search):
    """Find the nearest pending records that suffice for a class together with record `x`; return how many, or -1.

    They are one record of each of the k - 1 nearest other persons, and further ones with needed sensitive values, and
    are written to `search.group_records`. The result is -1 if there are too few, or if the person of x is unknown.

    Args:
        x: Number of the record.
        begins, ends: The first record that is considered, and the end (exclusive).
        requirement: `RequirementArrays`.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        search: `NearestScratch`; its contents are overwritten.
    """
    if records.people[x] < 0:
        return np.int64(-1)
    group_records = search.group_records
    number = nearest_persons(
        x,
        begins,
        ends,
        requirement.k,
        records,
        attributes,
        search.node_distances,
        search.group_records,
        search.distances,
    )
    if number < requirement.k - 1:
        return np.int64(-1)
    if len(requirement.min_values) > 0:
        number = add_diverse_records(x, number, begins, ends, records, requirement, attributes, group_records, None)
    return number


@kernel_part
def set_class_bounds(x, number, group_records, records, low, high, attributes):
    """Set the bounds `low` and `high`, in place, to those of record `x` and the first `number` of `group_records`.

    Args:
        x: Number of the record.
        number: How many entries of `group_records` belong to the group.
        group_records: int64 record numbers of the group other than `x`.
        records: `RecordArrays`.
        low, high: Output: (attributes,) float64 bounds.
        attributes: `AttributeArrays`.
    """
    begin_class(records.values[x], low, high, attributes)
    for j in range(number):
        widen_class(records.values[group_records[j]], low, high, attributes)


@kernel_part
def publish_group(x, number, group_records, c, arrival, records):
    """Record that record `x` and the first `number` of `group_records` are published with class `c` at `arrival`.

    Args:
        x: Number of the record.
        number: How many entries of `group_records` belong to the group.
        group_records: int64 record numbers of the group other than `x`.
        c: Number of the class.
        arrival: Number of records that have arrived so far.
        records: `RecordArrays`; class_ids and published_at are set.
    """
    records.class_ids[x], records.published_at[x] = c, arrival
    for j in range(number):
        records.class_ids[group_records[j]], records.published_at[group_records[j]] = c, arrival


class FadsOptions(NamedTuple):
    """Options of FADS (see `fads_steps`).

    Attributes:
        ends: The stream ends after the records of this call, so all are published.
        delta: A record is published once this many records have arrived since, itself included.
        max_pending: The oldest pending record is published once this many records are pending.
        life: Number of arrivals after which a class is not reused any more.
    """

    ends: bool
    delta: int
    max_pending: int
    life: int


@kernel
def fads_steps(state, max_steps, options, requirement, records, classes, attributes, search):
    """Add records until all are added, or about `max_steps` records were examined; return how many were.

    The oldest pending record is due once `delta` records have arrived, counted from itself, or `max_pending` records
    are pending; with `ends`, all are due at the end. A due record is published with the stored class of least loss that
    covers it and was made less than `life` arrivals ago, if that loses less than a group of its nearest records or
    there are too few for a group; else with the group, as a new class that is stored. With neither, it is suppressed.
    All arrays are updated in place.

    Args:
        state: int64 counters of the stream (see `arrays`).
        max_steps: Number of examined records after which to return.
        options: `FadsOptions`.
        requirement: `RequirementArrays`.
        records: `RecordArrays`.
        classes: `ClassArrays`.
        attributes: `AttributeArrays`.
        search: `NearestScratch`; its contents are overwritten.
    """
    steps = np.int64(0)
    while True:
        x, steps = next_due(steps, max_steps, options, options.max_pending, state, records, attributes)
        if x < 0:
            return steps
        steps += state[N_ADDED] - x
        number = find_group(x, x, state[N_ADDED], requirement, records, attributes, search)
        state[N_PENDING] -= publish_due_record(
            x, number, state, options.life, records, classes, attributes, search.group_records
        )


@kernel_part
def publish_due_record(x, number, state, life, records, classes, attributes, group_records):
    """Publish record `x` with its group as a new class, or alone with a stored class that covers it and loses less.

    A new class is stored for reuse. Without a group, a stored class that covers the record is used, whatever its loss;
    without both, the record is suppressed. Stored classes made `life` or more arrivals ago are removed first. Returns
    the number of records that are published or suppressed.

    Args:
        x: Number of the record.
        number: How many entries of `group_records` belong to the group; -1 if there is no group.
        state: Counters, of which N_CLASSES and N_STORED are updated.
        life: Number of arrivals after which a class is not reused any more.
        records: `RecordArrays`; updated in place.
        classes: `ClassArrays`; updated in place.
        attributes: `AttributeArrays`.
        group_records: int64 record numbers of the group other than `x`.
    """
    forget_classes(state, state[LAST_ARRIVAL] - life, classes)
    number = publish_cheapest(x, number, group_records, state, records, classes, attributes)
    if number < 0:
        return np.int64(1)
    add_class(state[N_CLASSES], state[LAST_ARRIVAL], True, state, classes)
    return number + 1


@kernel_part
def choose_class(x, number, group_records, state, records, classes, attributes):
    """Set the bounds of the next new class to those of a group, and choose between it and the stored classes.

    Returns the stored class that covers record `x` with the least loss, or -1; and `number`, or -1 in its place if that
    class loses less than the group.

    Args:
        x: Number of the record.
        number: How many entries of `group_records` belong to the group; -1 if there is no group.
        group_records: int64 record numbers of the group other than `x`.
        state: Counters, of which N_CLASSES and N_STORED are read.
        records: `RecordArrays`.
        classes: `ClassArrays`, of which the bounds of class state[N_CLASSES] are set if there is a group.
        attributes: `AttributeArrays`.
    """
    low, high = classes.lows[state[N_CLASSES]], classes.highs[state[N_CLASSES]]
    c, stored_loss = cheapest_covering_class(records.values[x], state, classes, attributes)
    if number >= 0:
        set_class_bounds(x, number, group_records, records, low, high, attributes)
        if c >= 0 and stored_loss < class_loss(low, high, attributes):
            number = np.int64(-1)
    return c, number


@kernel_part
def publish_cheapest(x, number, group_records, state, records, classes, attributes):
    """Publish record `x` with its group as the next class, or alone with a stored class that covers it and loses less.

    Without a group, a stored class that covers the record is used, whatever its loss; without both, the record is
    suppressed. The next class gets its bounds, and is not counted yet. Returns the number of records of the group, or
    -1 if the record is published alone or suppressed.

    Args:
        x: Number of the record.
        number: How many entries of `group_records` belong to the group; -1 if there is no group.
        group_records: int64 record numbers of the group other than `x`.
        state: Counters, of which N_CLASSES, N_STORED and LAST_ARRIVAL are read.
        records: `RecordArrays`; updated in place.
        classes: `ClassArrays`; the bounds of the next class are set.
        attributes: `AttributeArrays`.
    """
    c, number = choose_class(x, number, group_records, state, records, classes, attributes)
    if number >= 0:
        publish_group(x, number, group_records, state[N_CLASSES], state[LAST_ARRIVAL], records)
    else:
        records.class_ids[x], records.published_at[x] = (c if c >= 0 else SUPPRESSED), state[LAST_ARRIVAL]
    return number


@kernel_part
def add_next_record(state, records, attributes):
    """Add the next record of the stream: update `state` and the seen ranges; return the record.

    Args:
        state: Counters, of which N_ADDED and LAST_ARRIVAL are updated.
        records: `RecordArrays`.
        attributes: `AttributeArrays`; seen_ranges are updated in place.
    """
    t = state[N_ADDED]
    update_seen_ranges(records.values[t], attributes)
    state[N_ADDED], state[LAST_ARRIVAL] = t + 1, records.arrived_at[t]
    return t


@kernel_part
def oldest_pending(state, class_ids):
    """Return the oldest pending record, or the number of records added if none is pending.

    Args:
        state: Counters, of which OLDEST_PENDING is updated.
        class_ids: (records,) int64: class of each record, PENDING if it is not published yet.
    """
    while state[OLDEST_PENDING] < state[N_ADDED] and class_ids[state[OLDEST_PENDING]] != PENDING:
        state[OLDEST_PENDING] += 1
    return state[OLDEST_PENDING]


@kernel_part
def is_due(x, delta, state, ends, records):
    """Return whether record `x` must be published before the next one arrives.

    It must once `delta` records have arrived, counted from itself, or at the end of the stream (`ends`).

    Args:
        x: Number of the record.
        delta: Number of arrivals after which a record is due, itself included.
        state: Counters, of which N_ADDED and LAST_ARRIVAL are read.
        ends: Whether the stream ends after the records of this call.
        records: `RecordArrays`.
    """
    return (ends and state[N_ADDED] == len(records.arrived_at)) or (
        state[LAST_ARRIVAL] - records.arrived_at[x] + 1 >= delta
    )


@kernel_part
def next_due(steps, max_steps, options, max_pending, state, records, attributes):
    """Add records until one is due; return it (not yet published), and the number of examined records so far.

    A record is due by its age (see `is_due`), or as the oldest of `max_pending` pending records. Only a record that is
    due ends the search early; the record is -1 if all are added and none is due, or if `max_steps` were examined.

    Args:
        steps: Number of records examined before.
        max_steps: Number of examined records after which to return.
        options: The options of the algorithm, of which `delta` and `ends` are used.
        max_pending: Number of pending records at which the oldest is due; NO_LIMIT if their number is not counted.
        state: Counters, of which N_ADDED, OLDEST_PENDING, N_PENDING and LAST_ARRIVAL are updated.
        records: `RecordArrays`.
        attributes: `AttributeArrays`; seen_ranges are updated in place.
    """
    while steps < max_steps:
        x = oldest_pending(state, records.class_ids)
        if x < state[N_ADDED] and (
            state[N_PENDING] >= max_pending or is_due(x, options.delta, state, options.ends, records)
        ):
            return x, steps
        if state[N_ADDED] == len(records.arrived_at):
            break
        add_next_record(state, records, attributes)
        state[N_PENDING] += 1
        steps += 1
    return np.int64(-1), steps


@kernel_part
def forget_classes(state, oldest, classes):
    """Remove the classes that were made when `oldest` or fewer records had arrived from the reusable ones, in place.

    Args:
        state: Counters, of which N_STORED is updated.
        oldest: Classes made at this arrival or before are removed.
        classes: `ClassArrays`; updated in place.
    """
    number = np.int64(0)
    for i in range(state[N_STORED]):
        if classes.made_at[classes.reusable[i]] > oldest:
            classes.reusable[number] = classes.reusable[i]
            number += 1
    state[N_STORED] = number


@kernel_part
def add_class(c, arrival, is_reusable, state, classes):
    """Count a new class, and add it to the classes that may be reused if `is_reusable`; `arrival` is when it was made.

    Args:
        c: Number of the class.
        arrival: Number of records that had arrived when the class was made.
        is_reusable: Whether further records may be published with the class.
        state: Counters, of which N_CLASSES and N_STORED are updated.
        classes: `ClassArrays`; updated in place.
    """
    classes.made_at[c] = arrival
    state[N_CLASSES] += 1
    if is_reusable:
        classes.reusable[state[N_STORED]] = c
        state[N_STORED] += 1


@kernel_part
def add_latest_class(c, arrival, is_reusable, max_stored, state, classes):
    """Count a new class, and add it to the reusable ones if `is_reusable`, dropping the oldest above `max_stored`.

    Args:
        c: Number of the class.
        arrival: Number of records that had arrived when the class was made.
        is_reusable: Whether further records may be published with the class.
        max_stored: Maximum number of stored classes.
        state: Counters, of which N_CLASSES and N_STORED are updated.
        classes: `ClassArrays`; updated in place.
    """
    add_class(c, arrival, is_reusable, state, classes)
    if is_reusable and state[N_STORED] > max_stored:
        for i in range(1, state[N_STORED]):
            classes.reusable[i - 1] = classes.reusable[i]
        state[N_STORED] -= 1
