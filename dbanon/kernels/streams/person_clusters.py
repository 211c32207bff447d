"""Clusters of exactly k persons that last as long as the stream, and publish one record of each person at a time.

The pending records of a person are a linked list in the order of arrival. See `PersonClusterArrays`.
"""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.streams.arrays import LAST_ARRIVAL, N_ADDED, N_CLASSES, PENDING, SUPPRESSED
from dbanon.kernels.streams.class_loss import record_distance
from dbanon.kernels.streams.counting import count_value
from dbanon.kernels.streams.nearest import nearest_persons
from dbanon.kernels.streams.sliding_window import (
    add_class,
    add_diverse_records,
    add_next_record,
    is_due,
    oldest_pending,
    publish_group,
    set_class_bounds,
)

# Positions in `state` of the counters of clusters of persons.
(
    N_CLUSTERS,  # number of clusters
    N_LOOSE_PERSONS,  # number of persons without a cluster who have a pending record
) = 4, 5


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

    Args:
        state: int64 counters of the stream (see `arrays`).
        max_steps: Number of examined records after which to return.
        options: `PersonOptions`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        classes: `ClassArrays`.
        attributes: `AttributeArrays`.
        loose_records: `RecordArrays`, with the person -1 for people who have a cluster.
        clusters: `PersonClusterArrays`; updated in place.
    """
    steps = np.int64(0)
    while steps < max_steps:
        x = oldest_pending(state, records.class_ids)
        steps += 1
        if x == state[N_ADDED] or not is_due(x, options.delta, state, options.ends, records):
            if state[N_ADDED] == len(records.arrived_at):
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
        if person >= 0 and clusters.cluster_ids[person] < 0 and state[N_LOOSE_PERSONS] >= requirement.k:
            steps += state[N_ADDED] - x
            if _form_group(x, state, requirement, loose_records, attributes, clusters):
                _create_cluster(state, requirement, records, clusters)
                _publish_group(arrival, state, requirement, records, classes, attributes, clusters)
                for j in range(requirement.k):
                    _remove_pending(clusters.search.group_records[j], state, records, clusters)
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
    """Append the records pending from earlier calls (the first N_ADDED) to their persons' lists, in place.

    Args:
        state: Counters, of which N_LOOSE_PERSONS is updated.
        records: `RecordArrays`.
        clusters: `PersonClusterArrays`; updated in place.
    """
    for t in range(state[N_ADDED]):
        append_pending(t, state, records, clusters)


@kernel_part
def append_pending(t, state, records, clusters):
    """Append record `t` to the list of pending records of its person, in place.

    If it is the first one, the number of persons with a pending record is increased: that of the person's cluster, or
    that of the persons without a cluster. A record of an unknown person is ignored.

    Args:
        t: Number of the record.
        state: Counters, of which N_LOOSE_PERSONS is updated.
        records: `RecordArrays`.
        clusters: `PersonClusterArrays`; updated in place.
    """
    person = records.people[t]
    if person < 0:
        return
    if clusters.heads[person] < 0:
        clusters.heads[person] = t
        if clusters.cluster_ids[person] >= 0:
            clusters.n_ready[clusters.cluster_ids[person]] += 1
        else:
            state[N_LOOSE_PERSONS] += 1
    else:
        clusters.next_record[clusters.tails[person]] = t
    clusters.tails[person] = t
    if clusters.cluster_ids[person] < 0:
        clusters.loose_persons[t] = person


@kernel_part
def _remove_pending(t, state, records, clusters):
    """Remove record `t` from the list of pending records of its person, in place.

    If the list is empty then, the number of persons with a pending record is decreased: that of the person's cluster,
    or that of the persons without a cluster.

    Args:
        t: Number of the record.
        state: Counters, of which N_LOOSE_PERSONS is updated.
        records: `RecordArrays`.
        clusters: `PersonClusterArrays`; updated in place.
    """
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
            state[N_LOOSE_PERSONS] -= 1


@kernel_part
def _form_group(x, state, requirement, records, attributes, clusters):
    """Write a group to `search.group_records`: record `x` and a record of the nearest k - 1 persons without a cluster.

    If these have too few distinct sensitive values, the group has the nearest records with other values first, and then
    the nearest other persons. Returns whether there is a group of k persons that suffices for a class; if not, the
    contents of `search.group_records` are undefined.

    Args:
        x: Number of the record.
        state: Counters, of which N_ADDED is read.
        requirement: `RequirementArrays`.
        records: `RecordArrays`, with the person -1 for people who have a cluster.
        attributes: `AttributeArrays`.
        clusters: `PersonClusterArrays`; updated in place.
    """
    end, search = state[N_ADDED], clusters.search
    others = search.group_records[1:]
    number = nearest_persons(
        x, x, end, requirement.k, records, attributes, search.node_distances, others, search.distances
    )
    if number < requirement.k - 1:
        return False
    search.group_records[0] = x
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

    Args:
        x: Number of the record.
        number: How many entries of `others` count.
        end: End of the records that are considered (exclusive).
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        others: int64 record numbers, one of each person.
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
    """Make the persons of the current group (`search.group_records`) a permanent cluster, in place.

    Their pending records are no longer marked as those of persons without a cluster.

    Args:
        state: Counters, of which N_CLUSTERS and N_LOOSE_PERSONS are updated.
        requirement: `RequirementArrays`.
        records: `RecordArrays`.
        clusters: `PersonClusterArrays`; updated in place.
    """
    c = state[N_CLUSTERS]
    state[N_CLUSTERS] += 1
    state[N_LOOSE_PERSONS] -= requirement.k
    clusters.n_ready[c] = requirement.k
    for j in range(requirement.k):
        person = records.people[clusters.search.group_records[j]]
        clusters.cluster_ids[person], clusters.members[c, j] = c, person
        t = clusters.heads[person]
        while t >= 0:
            clusters.loose_persons[t] = -1
            t = clusters.next_record[t]


@kernel_part
def _publish_ready(c, arrival, state, requirement, records, classes, attributes, clusters):
    """Publish the oldest record of each person of cluster `c`, repeatedly, while each has one and their values suffice.

    Returns the number of examined records.

    Args:
        c: Number of the cluster.
        arrival: Number of records that have arrived so far.
        state: Counters, of which N_CLASSES is updated.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`; updated in place.
        classes: `ClassArrays`; updated in place.
        attributes: `AttributeArrays`.
        clusters: `PersonClusterArrays`; updated in place.
    """
    n_examined = np.int64(0)
    while clusters.n_ready[c] == requirement.k:
        for j in range(requirement.k):
            clusters.search.group_records[j] = clusters.heads[clusters.members[c, j]]
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

    The group is `search.group_records` of the clusters. `requirement.clock` is increased, so an earlier count is lost.

    Args:
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        clusters: `PersonClusterArrays`.
    """
    requirement.clock[0] += 1
    for s in range(len(requirement.min_values)):
        number = np.int64(0)
        for j in range(requirement.k):
            number += count_value(clusters.search.group_records[j], s, requirement, records)
        if number < requirement.min_values[s]:
            return False
    return True


@kernel_part
def _publish_group(arrival, state, requirement, records, classes, attributes, clusters):
    """Publish the current group (`search.group_records`) as a new class, which is not stored for reuse.

    Bounds, class numbers and counts are written; the lists of pending records are not updated here.

    Args:
        arrival: Number of records that have arrived so far.
        state: Counters, of which N_CLASSES is updated.
        requirement: `RequirementArrays`.
        records: `RecordArrays`; updated in place.
        classes: `ClassArrays`; updated in place.
        attributes: `AttributeArrays`.
        clusters: `PersonClusterArrays`; updated in place.
    """
    new, x, others = state[N_CLASSES], clusters.search.group_records[0], clusters.search.group_records[1:]
    set_class_bounds(x, requirement.k - 1, others, records, classes.lows[new], classes.highs[new], attributes)
    publish_group(x, requirement.k - 1, others, new, arrival, records)
    add_class(new, arrival, False, state, classes)
