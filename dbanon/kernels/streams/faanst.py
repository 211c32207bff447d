"""FAANST: pending records are clustered in rounds, whenever there are enough of them."""

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
from dbanon.kernels.streams.class_loss import cheapest_covering_class, class_loss, record_distance
from dbanon.kernels.streams.counting import (
    count_record,
    has_enough_records,
    has_new_person,
    has_new_value,
    missing_column,
)
from dbanon.kernels.streams.kmeans import run_k_means, run_k_member
from dbanon.kernels.streams.open_clusters import is_enough
from dbanon.kernels.streams.sliding_window import (
    add_class,
    add_next_record,
    oldest_pending,
    publish_group,
    set_class_bounds,
)

# Positions in `state` of the counters of FAANST, which are stored.
(
    LAST_ROUND,  # how many records had arrived at the last round
    ROUND_INTERVAL,  # how many records arrived between the last round and the one before
) = 4, 5


class FaanstOptions(NamedTuple):
    """Options of FAANST (see `faanst_steps`).

    Attributes:
        ends: The stream ends after the records of this call, so all are published.
        delta: A record is published once this many records have arrived since.
        mode: 0 base, 1 passive, 2 proactive.
        mu: Number of pending records at which a round begins.
        threshold: Classes that lose less are stored.
        is_by_member: k-member instead of k-means.
    """

    ends: bool
    delta: int
    mode: int
    mu: int
    threshold: float
    is_by_member: bool


@kernel
def faanst_steps(state, max_steps, options, requirement, records, classes, attributes, rounds):
    """Add records until all are added, or about `max_steps` records and clusters were examined; return how many were.

    When enough records are pending, a round publishes those that stored classes cover and clusters the others. Records
    that are due outside of a round are published one by one (see `_publish_due_record`). In proactive mode (2), records
    that would be due before the next round are published early, too. All arrays are updated in place.

    Args:
        state: int64 counters of the stream (see `arrays`).
        max_steps: Number of examined records and clusters after which to return.
        options: `FaanstOptions`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        classes: `ClassArrays`.
        attributes: `AttributeArrays`.
        rounds: `RoundArrays`; updated in place.
    """
    steps = np.int64(0)
    while steps < max_steps:
        x = oldest_pending(state, records.class_ids)
        over = state[N_ADDED] == len(records.arrived_at)
        steps += 1
        if x == state[N_ADDED]:
            if over:
                break
            _add_record(state, records, attributes)
            continue
        arrival, last = state[LAST_ARRIVAL], False
        is_full = state[N_PENDING] >= options.mu and arrival - state[LAST_ROUND] >= max(requirement.k, options.mu // 4)
        if is_full or (
            over
            and options.ends
            and arrival > state[LAST_ROUND]
            and arrival - records.arrived_at[x] + 1 < options.delta
        ):
            state[LAST_ROUND], state[ROUND_INTERVAL] = arrival, arrival - state[LAST_ROUND]
            steps += _cluster_round(
                x, state, requirement, options.threshold, options.is_by_member, records, classes, attributes, rounds
            )
            if options.mode < 2 or not is_full:
                continue
            limit = options.delta - state[ROUND_INTERVAL]
        elif arrival - records.arrived_at[x] + 1 >= options.delta:
            limit = options.delta
        elif not over:
            _add_record(state, records, attributes)
            continue
        elif options.ends:
            limit, last = np.int64(0), True
        else:
            break
        hopeless = options.mode == 0 or not has_enough_records(
            x, state[N_ADDED], records.class_ids, PENDING, requirement, records
        )
        for t in range(x, state[N_ADDED]):
            if arrival - records.arrived_at[t] + 1 < limit:
                break
            if records.class_ids[t] != PENDING:
                continue
            due = last or arrival - records.arrived_at[t] + 1 >= options.delta
            steps += state[N_STORED] + state[N_ADDED] - x
            hopeless = _publish_due_record(
                t, due, hopeless, state, requirement, options.threshold, records, classes, attributes, rounds
            )
    return steps


@kernel_part
def _add_record(state, records, attributes):
    """Add the next record of the stream, and count it as pending in `state`.

    Args:
        state: Counters, of which N_ADDED, N_PENDING and LAST_ARRIVAL are updated.
        records: `RecordArrays`.
        attributes: `AttributeArrays`; updated in place.
    """
    add_next_record(state, records, attributes)
    state[N_PENDING] += 1


@kernel_part
def _cluster_round(x, state, requirement, threshold, by_member, records, classes, attributes, rounds):
    """Publish the pending records that stored classes cover, and clusters of the others that suffice for a class.

    Other records stay pending. `x` is the oldest pending record. Returns the number of examined records and clusters.

    Args:
        x: The oldest pending record.
        state: Counters, of which N_CLASSES, N_STORED and N_PENDING are updated.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        threshold: Classes with a loss below this are stored for reuse.
        by_member: Whether to cluster by k-member; else by k-means.
        records: `RecordArrays`; updated in place.
        classes: `ClassArrays`; updated in place.
        attributes: `AttributeArrays`.
        rounds: `RoundArrays`; updated in place.
    """
    arrival, size, n_examined = state[LAST_ARRIVAL], np.int64(0), np.int64(0)
    for t in range(x, state[N_ADDED]):
        if records.class_ids[t] != PENDING:
            continue
        n_examined += state[N_STORED]
        c, _ = cheapest_covering_class(records.values[t], state, classes, attributes)
        if c >= 0:
            records.class_ids[t], records.published_at[t] = c, arrival
            state[N_PENDING] -= 1
        else:
            rounds.rows[size], rounds.cluster_ids[t] = t, -1
            size += 1
    number = size // requirement.k
    if number < 1 or not has_enough_records(x, state[N_ADDED], records.class_ids, PENDING, requirement, records):
        return n_examined + size
    if by_member:
        run_k_member(size, number, requirement, rounds, records, attributes)
    else:
        run_k_means(size, number, rounds, records, attributes)
    for c in range(number):
        if rounds.heads[c] >= 0 and is_enough(c, requirement, rounds.heads, rounds.next_record, records):
            n, t = np.int64(0), rounds.heads[c]
            while t >= 0:
                rounds.batch[n] = t
                n, t = n + 1, rounds.next_record[t]
            _publish_batch(n, state, threshold, records, classes, attributes, rounds.batch)
    return n_examined + size * number


@kernel_part
def _publish_batch(n, state, threshold, records, classes, attributes, batch):
    """Publish the first n records of `batch` as a new class; store it for reuse if it loses less than the threshold.

    Args:
        n: Number of records.
        state: Counters, of which N_CLASSES, N_STORED and N_PENDING are updated.
        threshold: Classes with a loss below this are stored for reuse.
        records: `RecordArrays`; updated in place.
        classes: `ClassArrays`; updated in place.
        attributes: `AttributeArrays`.
        batch: int64 record numbers.
    """
    new, arrival = state[N_CLASSES], state[LAST_ARRIVAL]
    set_class_bounds(batch[0], n - 1, batch[1:], records, classes.lows[new], classes.highs[new], attributes)
    publish_group(batch[0], n - 1, batch[1:], new, arrival, records)
    state[N_PENDING] -= n
    is_reusable = class_loss(classes.lows[new], classes.highs[new], attributes) < threshold
    add_class(new, arrival, is_reusable, state, classes)


@kernel_part
def _publish_due_record(t, due, hopeless, state, requirement, threshold, records, classes, attributes, rounds):
    """Publish record `t` with a stored class that covers it, else with the nearest clusters, else suppress it if `due`.

    Clusters are not tried if the person is unknown or if `hopeless` is true. A record that cannot be
    published stays pending if it is not due. Returns whether the pending records are known not to suffice for a class.

    Args:
        t: The record.
        due: Whether the record has to be published or suppressed now.
        hopeless: Whether the pending records together are known not to suffice for a class.
        state: Counters, of which N_CLASSES, N_STORED and N_PENDING are updated.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        threshold: Classes with a loss below this are stored for reuse.
        records: `RecordArrays`; updated in place.
        classes: `ClassArrays`; updated in place.
        attributes: `AttributeArrays`.
        rounds: `RoundArrays`; updated in place.
    """
    c, _ = cheapest_covering_class(records.values[t], state, classes, attributes)
    if c < 0 and not hopeless and records.people[t] >= 0:
        n = _gather_clusters(t, state[OLDEST_PENDING], state[N_ADDED], requirement, records, attributes, rounds)
        if n > 0:
            _publish_batch(n, state, threshold, records, classes, attributes, rounds.batch)
            return False
        hopeless = True
    if c >= 0 or due:
        records.class_ids[t], records.published_at[t] = (c if c >= 0 else SUPPRESSED), state[LAST_ARRIVAL]
        state[N_PENDING] -= 1
    return hopeless


@kernel_part
def _gather_clusters(t, x, end, requirement, records, attributes, rounds):
    """Collect in `rounds.batch` the clusters of record `t` and of the nearest records until they suffice for a class.

    Only pending records count. Until there are k persons, the next cluster is that of the nearest record of a new
    person; then of the nearest record with a value that is still needed. A record without a cluster is one of its own.
    Returns the number of records, or -1 if all together do not suffice.

    Args:
        t: The record.
        x: The oldest pending record.
        end: End of the records that are considered (exclusive).
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        rounds: `RoundArrays`; updated in place.
    """
    requirement.clock[0] += 1
    n_values = np.zeros(len(requirement.min_values), np.int64)
    persons, n, nearest_ = np.int64(0), np.int64(0), np.int64(t)
    for i in range(x, end):
        if records.class_ids[i] == PENDING:
            rounds.distances[i] = record_distance(records.values[t], records.values[i], attributes)
    while nearest_ >= 0:
        for i in range(x, end):
            if records.class_ids[i] != PENDING or (
                i != nearest_
                and (rounds.cluster_ids[nearest_] < 0 or rounds.cluster_ids[i] != rounds.cluster_ids[nearest_])
            ):
                continue
            rounds.query_marks[i], rounds.batch[n] = requirement.clock[0], i
            n += 1
            persons += count_record(i, requirement, records, n_values)
        column = missing_column(persons, requirement, n_values)
        if column == -1:
            return n
        nearest_ = np.int64(-1)
        for i in range(x, end):
            if (
                records.class_ids[i] != PENDING
                or records.people[i] < 0
                or rounds.query_marks[i] == requirement.clock[0]
            ):
                continue
            is_wanted = (
                has_new_person(i, requirement, records)
                if column < 0
                else has_new_value(i, column, requirement, records)
            )
            if is_wanted and (nearest_ < 0 or rounds.distances[i] < rounds.distances[nearest_]):
                nearest_ = np.int64(i)
    return np.int64(-1)
