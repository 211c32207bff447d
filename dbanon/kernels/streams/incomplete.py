"""Streams of records with missing values: IDEA, and K-VARP and IoT anonymity, which partition by missing attributes.

In IDEA a class of values covers a NULL. A due record is published with the records nearest to it by `distances`
(records,), which each algorithm defines.
"""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.streams.arrays import LAST_ARRIVAL, N_ADDED, N_CLASSES, N_STORED, PENDING, SUPPRESSED
from dbanon.kernels.streams.class_loss import (
    cheapest_covering_class,
    class_loss,
    value_bounds,
    value_distance,
    widened_bounds,
)
from dbanon.kernels.streams.counting import has_enough_records
from dbanon.kernels.streams.nearest import insert_nearest
from dbanon.kernels.streams.sliding_window import (
    NO_LIMIT,
    add_diverse_records,
    add_latest_class,
    next_due,
    publish_cheapest,
    publish_group,
)


@kernel_part
def find_nearest_group(x, end, requirement, distances, records, attributes, group_records):
    """Find the nearest pending records that suffice for a class together with record `x`; return how many, or -1.

    They are of k - 1 other persons, the nearest record of each, and further ones with needed sensitive values. They are
    written to `group_records` (ties: the oldest). `distances` is the distance of each record, inf for those that are
    not allowed; only records from x + 1 to `end` are considered. Returns -1 if there are too few, or the person of x is
    unknown.

    Args:
        x: Number of the record.
        end: End of the records that are considered (exclusive).
        requirement: `RequirementArrays`.
        distances: (records,) float64: distance of each record from `x`, inf if it is not allowed.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        group_records: Output: int64 record numbers.
    """
    number, far = np.int64(0), np.empty(requirement.k)
    if records.people[x] < 0:
        return np.int64(-1)
    for i in range(x + 1, end):
        if (
            records.class_ids[i] == PENDING
            and records.people[i] >= 0
            and records.people[i] != records.people[x]
            and distances[i] < np.inf
        ):
            number = insert_nearest(i, distances[i], number, requirement.k - 1, records, group_records, far)
    if number < requirement.k - 1:
        return np.int64(-1)
    return add_diverse_records(x, number, x, end, records, requirement, attributes, group_records, distances)


# --- IDEA --------------------------------------------------------------------------------------------------


class IdeaOptions(NamedTuple):
    """Options of IDEA (see `idea_steps`).

    Attributes:
        ends: The stream ends after the records of this call, so all are published.
        delta: A record is published once this many records have arrived since.
        theta: Groups that lose less are stored as classes.
        store: Maximum number of stored classes.
    """

    ends: bool
    delta: int
    theta: float
    store: int


@kernel
def idea_steps(state, max_steps, options, requirement, records, classes, attributes, group_records, distances):
    """Add records until all are added, or about `max_steps` records were examined; return how many were.

    A due record is published with the stored class that covers it with the least loss, if that is no more than the loss
    of a group of the most similar records, or if there are too few for a group; with neither, it is suppressed. A group
    that loses less than `theta` is stored as a class; the last `store` of these are kept.

    Args:
        state: int64 counters of the stream (see `arrays`).
        max_steps: Number of examined records after which to return.
        options: `IdeaOptions`.
        requirement: `RequirementArrays`.
        records: `RecordArrays`.
        classes: `ClassArrays`.
        attributes: `AttributeArrays`.
        group_records: Scratch (k + needed sensitive values,).
        distances: Scratch (records,).
    """
    steps = np.int64(0)
    while True:
        x, steps = next_due(steps, max_steps, options, NO_LIMIT, state, records, attributes)
        if x < 0:
            return steps
        steps += state[N_ADDED] - x + state[N_STORED]
        for i in range(x + 1, state[N_ADDED]):
            distances[i] = -_similarity(records.values[x], records.values[i], attributes)
        number = find_nearest_group(x, state[N_ADDED], requirement, distances, records, attributes, group_records)
        c, lowest = cheapest_covering_class(records.values[x], state, classes, attributes, True)
        new, arrival = state[N_CLASSES], state[LAST_ARRIVAL]
        group_loss = np.inf
        if number >= 0:
            _set_known_bounds(x, number, group_records, records, classes.lows[new], classes.highs[new], attributes)
            group_loss = class_loss(classes.lows[new], classes.highs[new], attributes)
        if c >= 0 and lowest <= group_loss:
            records.class_ids[x], records.published_at[x] = c, arrival
        elif number >= 0:
            publish_group(x, number, group_records, new, arrival, records)
            add_latest_class(new, arrival, group_loss < options.theta, options.store, state, classes)
        else:
            records.class_ids[x], records.published_at[x] = SUPPRESSED, arrival


@kernel_part
def _similarity(x, y, attributes):
    """Return the similarity of the values of two records with NULLs: higher is more similar.

    It is the weight of the attributes that both have, less their weighted distance on these.

    Args:
        x, y: (attributes,) float64 values of a record; NaN for NULL.
        attributes: `AttributeArrays`.
    """
    both, far = 0.0, 0.0
    for a in range(len(x)):
        if x[a] == x[a] and y[a] == y[a]:
            both += attributes.weights[a]
            far += attributes.weights[a] * value_distance(a, x[a], y[a], attributes)
    return both - far


@kernel_part
def _set_known_bounds(x, number, group_records, records, low, high, attributes):
    """Set the bounds `low` and `high` of a class, in place, to the known values of record `x` and a group.

    NULLs are ignored; an attribute on which all records are NULL gets the bounds of NULL, (inf, -inf).

    Args:
        x: Number of the record.
        number: How many entries of `group_records` belong to the group.
        group_records: int64 record numbers of the group other than `x`.
        records: `RecordArrays`.
        low, high: Output: (attributes,) float64 bounds.
        attributes: `AttributeArrays`.
    """
    for a in range(len(low)):
        low[a], high[a] = value_bounds(a, records.values[x, a], attributes)
        for j in range(number):
            value = records.values[group_records[j], a]
            if value != value:
                continue
            if low[a] > high[a]:
                low[a], high[a] = value_bounds(a, value, attributes)
            else:
                low[a], high[a] = widened_bounds(a, low[a], high[a], value, attributes)


# --- partitions by what records have -----------------------------------------------------------------------


class PartitionOptions(NamedTuple):
    """Options of K-VARP and IoT anonymity (see `pattern_steps`).

    Attributes:
        ends: The stream ends after the records of this call, so all are published.
        delta: A record is published once this many records have arrived since.
        store: Maximum number of stored classes.
        is_by_size: The largest partition is merged next, not the most similar one.
    """

    ends: bool
    delta: int
    store: int
    is_by_size: bool


@kernel
def pattern_steps(state, max_steps, options, requirement, records, classes, attributes, partitions):
    """Add records until all are added, or about `max_steps` records were examined; return how many were.

    A partition is the pending records that have the same attributes (not NULL). A due record is published with the
    nearest ones of its partition, by the attributes that all of these have; if that is too small, partitions are merged
    with it: the most similar ones or, `is_by_size`, the largest. If all together are too few, or if a stored class that
    covers it loses less, it is published with that class; with neither, it is suppressed. The last `store` classes that
    were formed without merging are stored.

    Args:
        state: int64 counters of the stream (see `arrays`).
        max_steps: Number of examined records after which to return.
        options: `PartitionOptions`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        classes: `ClassArrays`.
        attributes: `AttributeArrays`.
        partitions: `PartitionArrays`.
    """
    steps = np.int64(0)
    while True:
        x, steps = next_due(steps, max_steps, options, NO_LIMIT, state, records, attributes)
        if x < 0:
            return steps
        common, merged, n_examined = _gather_partitions(
            x, state[N_ADDED], requirement, options.is_by_size, records, partitions
        )
        steps += n_examined + state[N_STORED]
        number = np.int64(-1)
        if merged >= 0:
            for i in range(x + 1, state[N_ADDED]):
                partitions.distances[i] = np.inf
                if partitions.is_merged[i]:
                    partitions.distances[i] = _common_distance(common, records.values[x], records.values[i], attributes)
            number = find_nearest_group(
                x, state[N_ADDED], requirement, partitions.distances, records, attributes, partitions.group_records
            )
        if publish_cheapest(x, number, partitions.group_records, state, records, classes, attributes) >= 0:
            is_reusable = merged == 0 and options.store > 0
            add_latest_class(state[N_CLASSES], state[LAST_ARRIVAL], is_reusable, options.store, state, classes)


@kernel_part
def _gather_partitions(x, end, requirement, by_size, records, partitions):
    """Mark the partition of record `x` in `is_merged`, and merge others until they suffice for a class.

    A partition is the pending records that are not NULL on the same attributes. Returns the attributes that all marked
    records have, as bits; the number of partitions that were merged with that of x (-1: all are not enough, or the
    person of x is unknown); and the number of examined records.

    Args:
        x: Number of the record.
        end: End of the records that are considered (exclusive).
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        by_size: Whether the largest partition is merged next; else the one that shares most attributes.
        records: `RecordArrays`.
        partitions: `PartitionArrays`; is_merged is set.
    """
    common, merged, n_examined = partitions.patterns[x], np.int64(0), np.int64(0)
    for i in range(x, end):
        partitions.is_merged[i] = records.class_ids[i] == PENDING and partitions.patterns[i] == partitions.patterns[x]
    while records.people[x] >= 0:
        n_examined += end - x
        if has_enough_records(x, end, partitions.is_merged, True, requirement, records):
            return common, merged, n_examined
        best, highest = np.int64(-1), -1.0
        for i in range(x + 1, end):
            if (
                records.class_ids[i] != PENDING
                or partitions.is_merged[i]
                or (best >= 0 and partitions.patterns[i] == partitions.patterns[best])
            ):
                continue
            score = 0.0
            if by_size:
                for j in range(i, end):
                    score += records.class_ids[j] == PENDING and partitions.patterns[j] == partitions.patterns[i]
                n_examined += end - i
            else:
                either = _n_bits(partitions.patterns[i] | common)
                score = _n_bits(partitions.patterns[i] & common) / either if either > 0 else 1.0
            if score > highest:
                best, highest = np.int64(i), score
        if best < 0:
            break
        for i in range(x, end):
            if records.class_ids[i] == PENDING and partitions.patterns[i] == partitions.patterns[best]:
                partitions.is_merged[i] = True
        common &= partitions.patterns[best]
        merged += 1
    return common, np.int64(-1), n_examined


@kernel_part
def _n_bits(pattern):
    """Return the number of set bits of a nonnegative integer."""
    number = np.int64(0)
    while pattern > 0:
        number += pattern & 1
        pattern >>= 1
    return number


@kernel_part
def _common_distance(common, x, y, attributes):
    """Return the weighted distance of the values of two records on the attributes in `common` (bits) that both have.

    Args:
        common: The attributes, as bits; attribute `a` is bit a % 62.
        x, y: (attributes,) float64 values of a record; NaN for NULL.
        attributes: `AttributeArrays`.
    """
    total = 0.0
    for a in range(len(x)):
        if (common >> (a % 62)) & 1 and x[a] == x[a] and y[a] == y[a]:
            total += attributes.weights[a] * value_distance(a, x[a], y[a], attributes)
    return total
