"""Clusters of exactly k persons that last as long as the stream, and publish one record of each person at a time.

The pending records of a person are a linked list in the order of arrival. See `PersonClusterArrays`.
"""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.streams.class_loss import record_distance
from dbanon.kernels.streams.counting import count_value
from dbanon.kernels.streams.nearest import PENDING, nearest_persons
from dbanon.kernels.streams.sliding_window import (
    LAST_ARRIVAL,
    SUPPRESSED,
    add_diverse_records,
    add_next_record,
    oldest_pending,
    publish_group,
    set_class_bounds,
)


class PersonOptions(NamedTuple):
    """Options of (k,l)-clustering (see `person_steps`).

    Attributes:
        ends: The stream ends after the records of this call, so all are published.
        delta: A record is published once this many records have arrived since.
    """

    ends: bool
    delta: int


@kernel
def person_steps(state, max_steps, options, requirement, records, classes, attributes, loose_records, clusters):
    """Add records until all are added, or about `max_steps` records were examined; return how many were.

    Clusters of k persons last as long as the stream: once each of them has a pending record, the oldest of each are
    published as a class. A due record of a person without a cluster forms a cluster with the nearest such persons, and
    these records are published; if that is not possible, it is suppressed.

    `state`: records added, oldest pending record, classes, -, clusters, persons without a cluster who have a pending
    record. `loose_records` are the records with -1 as the person of people who have a cluster.
    """
    steps = np.int64(0)
    while steps < max_steps:
        x = oldest_pending(state, records.class_ids)
        steps += 1
        is_last = options.ends and state[0] == len(records.arrived_at)
        if x == state[0] or not (is_last or state[LAST_ARRIVAL] - records.arrived_at[x] + 1 >= options.delta):
            if state[0] == len(records.arrived_at):
                break
            t = add_next_record(state, records, attributes)
            append_pending(t, state, records, clusters)
            c = clusters.cluster_ids[records.people[t]] if records.people[t] >= 0 else np.int64(-1)
            if c >= 0:
                steps += _publish_ready(
                    c, records.arrived_at[t], state, requirement, records, classes, attributes, clusters
                )
            continue
        arrival, person = state[LAST_ARRIVAL], records.people[x]
        if person >= 0 and clusters.cluster_ids[person] < 0 and state[5] >= requirement.k:
            steps += state[0] - x
            if _form_group(x, state, requirement, loose_records, attributes, clusters):
                _create_cluster(state, requirement, records, clusters)
                _publish_group(arrival, state, requirement, records, classes, attributes, clusters)
                for j in range(requirement.k):
                    _remove_pending(clusters.group[j], state, records, clusters)
        if records.class_ids[x] == PENDING:
            records.class_ids[x], records.published_at[x] = SUPPRESSED, arrival
            if person >= 0:
                _remove_pending(x, state, records, clusters)
        if person >= 0 and clusters.cluster_ids[person] >= 0:
            steps += _publish_ready(
                clusters.cluster_ids[person], arrival, state, requirement, records, classes, attributes, clusters
            )
    return steps


@kernel
def restore_pending(state, records, clusters):
    """Append the records pending from earlier calls (the first state[0]) to their persons' lists, in place."""
    for t in range(state[0]):
        append_pending(t, state, records, clusters)


@kernel_part
def append_pending(t, state, records, clusters):
    """Append record `t` to the list of pending records of its person, and update the counts of ready persons.

    A record of an unknown person is ignored.
    """
    person = records.people[t]
    if person < 0:
        return
    if clusters.heads[person] < 0:
        clusters.heads[person] = t
        if clusters.cluster_ids[person] >= 0:
            clusters.n_ready[clusters.cluster_ids[person]] += 1
        else:
            state[5] += 1
    else:
        clusters.next_record[clusters.tails[person]] = t
    clusters.tails[person] = t
    if clusters.cluster_ids[person] < 0:
        clusters.loose_persons[t] = person


@kernel_part
def _remove_pending(t, state, records, clusters):
    """Remove record `t` from the list of pending records of its person, and update the counts of ready persons."""
    person = records.people[t]
    if clusters.heads[person] == t:
        clusters.heads[person] = clusters.next_record[t]
    else:
        i = clusters.heads[person]
        while clusters.next_record[i] != t:
            i = clusters.next_record[i]
        clusters.next_record[i] = clusters.next_record[t]
        if clusters.tails[person] == t:
            clusters.tails[person] = i
    if clusters.heads[person] < 0:
        if clusters.cluster_ids[person] >= 0:
            clusters.n_ready[clusters.cluster_ids[person]] -= 1
        else:
            state[5] -= 1


@kernel_part
def _form_group(x, state, requirement, records, attributes, clusters):
    """Write to `clusters.group` record `x` and a record of each of the nearest k - 1 persons without a cluster.

    If these have too few sensitive values, the nearest records with other values come first. Returns whether a group
    that suffices for a class is possible.
    """
    end = state[0]
    others = clusters.group[1:]
    number = nearest_persons(
        x, x, end, requirement.k, records, attributes, clusters.node_distances, others, clusters.distances
    )
    if number < requirement.k - 1:
        return False
    clusters.group[0] = x
    if len(requirement.min_values) > 0:
        enough = add_diverse_records(x, number, x, end, records, requirement, attributes, others, None)
        if enough != number:
            number = add_diverse_records(x, np.int64(0), x, end, records, requirement, attributes, others, None)
            if number < 0 or number > requirement.k - 1:
                return False
            while number < requirement.k - 1:
                others[number] = _nearest_other_person(x, number, end, records, attributes, others)
                number += 1
    return True


@kernel_part
def _nearest_other_person(x, number, end, records, attributes, others):
    """Return the pending record nearest to record `x` of a person not in x or the first `number` of `others`.

    Ties: the oldest; -1 if there is none.
    """
    best, lowest = np.int64(-1), np.inf
    for i in range(x, end):
        if records.class_ids[i] != PENDING or records.people[i] < 0 or records.people[i] == records.people[x]:
            continue
        is_new = True
        for j in range(number):
            if records.people[others[j]] == records.people[i]:
                is_new = False
                break
        if is_new:
            gap = record_distance(records.values[x], records.values[i], attributes)
            if gap < lowest:
                best, lowest = np.int64(i), gap
    return best


@kernel_part
def _create_cluster(state, requirement, records, clusters):
    """Make the persons of the current group (`clusters.group`) a permanent cluster, in place.

    Their pending records are no longer marked as those of persons without a cluster.
    """
    c = state[4]
    state[4] += 1
    state[5] -= requirement.k
    clusters.n_ready[c] = requirement.k
    for j in range(requirement.k):
        person = records.people[clusters.group[j]]
        clusters.cluster_ids[person], clusters.members[c, j] = c, person
        t = clusters.heads[person]
        while t >= 0:
            clusters.loose_persons[t] = -1
            t = clusters.next_record[t]


@kernel_part
def _publish_ready(c, arrival, state, requirement, records, classes, attributes, clusters):
    """Publish the oldest record of each person of cluster `c`, repeatedly, while each has one and their values suffice.

    Returns the number of examined records.
    """
    n_examined = np.int64(0)
    while clusters.n_ready[c] == requirement.k:
        for j in range(requirement.k):
            clusters.group[j] = clusters.heads[clusters.members[c, j]]
        n_examined += requirement.k
        if not _has_values(requirement, records, clusters):
            break
        _publish_group(arrival, state, requirement, records, classes, attributes, clusters)
        for j in range(requirement.k):
            person = clusters.members[c, j]
            clusters.heads[person] = clusters.next_record[clusters.heads[person]]
            if clusters.heads[person] < 0:
                clusters.n_ready[c] -= 1
    return n_examined


@kernel_part
def _has_values(requirement, records, clusters):
    """Return whether the current group (k records) has enough distinct values of each sensitive column.

    The group is `clusters.group`. `requirement.clock` is increased, so an earlier count is lost.
    """
    requirement.clock[0] += 1
    for s in range(len(requirement.min_values)):
        number = np.int64(0)
        for j in range(requirement.k):
            number += count_value(clusters.group[j], s, requirement, records)
        if number < requirement.min_values[s]:
            return False
    return True


@kernel_part
def _publish_group(arrival, state, requirement, records, classes, attributes, clusters):
    """Publish the current group (`clusters.group`) as a new class, which is not stored for reuse.

    Bounds, class numbers and counts are written; the lists of pending records are not updated here.
    """
    new, x, others = state[2], clusters.group[0], clusters.group[1:]
    set_class_bounds(x, requirement.k - 1, others, records, classes.lows[new], classes.highs[new], attributes)
    publish_group(x, requirement.k - 1, others, new, arrival, records)
    classes.made_at[new] = arrival
    state[2] += 1
