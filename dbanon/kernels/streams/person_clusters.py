"""Clusters of exactly k persons, for as long as a stream lasts, that emit a record of each at a time.

The waiting records of a person are a list in the order of arrival. See `PersonClusterArrays`.
"""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.streams.class_loss import distance
from dbanon.kernels.streams.counting import count_value
from dbanon.kernels.streams.nearest import WAITING, nearest
from dbanon.kernels.streams.sliding_window import LAST, SUPPRESSED, arrive, diverse, leave, span, waiting


class PersonOptions(NamedTuple):
    """Options of (k,l)-clustering (see person_steps)."""

    ends: bool
    delta: int


@kernel
def person_steps(state, most, options, requirement, records, classes, attributes, loose_records, clusters):
    """Let records arrive until all have, or about `most` records were looked at; return how many were.

    A record that is due makes a cluster of its person and the nearest that have none, or is suppressed.

    state: records that have arrived, oldest that may wait, classes, -, clusters, persons without a cluster of whom a
    record waits. `loose_records` have -1 for people who have a cluster.
    """
    steps = np.int64(0)
    while steps < most:
        x = waiting(state, records.class_ids)
        steps += 1
        is_last = options.ends and state[0] == len(records.arrived_at)
        if x == state[0] or not (is_last or state[LAST] - records.arrived_at[x] + 1 >= options.delta):
            if state[0] == len(records.arrived_at):
                break
            t = arrive(state, records, attributes)
            line_up(t, state, records, clusters)
            c = clusters.cluster_ids[records.people[t]] if records.people[t] >= 0 else np.int64(-1)
            if c >= 0:
                steps += _emit(c, records.arrived_at[t], state, requirement, records, classes, attributes, clusters)
            continue
        now, person = state[LAST], records.people[x]
        if person >= 0 and clusters.cluster_ids[person] < 0 and state[5] >= requirement.k:
            steps += state[0] - x
            if _found(x, state, requirement, loose_records, attributes, clusters):
                _settle(state, requirement, records, clusters)
                _leave(now, state, requirement, records, classes, attributes, clusters)
                for j in range(requirement.k):
                    _strike(clusters.group[j], state, records, clusters)
        if records.class_ids[x] == WAITING:
            records.class_ids[x], records.published_at[x] = SUPPRESSED, now
            if person >= 0:
                _strike(x, state, records, clusters)
        if person >= 0 and clusters.cluster_ids[person] >= 0:
            steps += _emit(
                clusters.cluster_ids[person], now, state, requirement, records, classes, attributes, clusters
            )
    return steps


@kernel
def take_up(state, records, clusters):
    """Lines up the records that wait already."""
    for t in range(state[0]):
        line_up(t, state, records, clusters)


@part
def line_up(t, state, records, clusters):
    """A record waits as the last one of its person."""
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


@part
def _strike(t, state, records, clusters):
    """A record waits no more."""
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


@part
def _found(x, state, requirement, records, attributes, clusters):
    """Puts into `group` a record and those nearest to it of k - 1 other persons without a cluster; where these have too
    few sensitive values, first the nearest that have others. Gives whether there are such."""
    end = state[0]
    others = clusters.group[1:]
    number = nearest(x, x, end, requirement.k, records, attributes, clusters.node_distances, others, clusters.distances)
    if number < requirement.k - 1:
        return False
    clusters.group[0] = x
    if len(requirement.min_values) > 0:
        enough = diverse(x, number, x, end, records, requirement, attributes, others, None)
        if enough != number:
            number = diverse(x, np.int64(0), x, end, records, requirement, attributes, others, None)
            if number < 0 or number > requirement.k - 1:
                return False
            while number < requirement.k - 1:
                others[number] = _next(x, number, end, records, attributes, others)
                number += 1
    return True


@part
def _next(x, number, end, records, attributes, others):
    """Return the nearest record to x of a person who is not among the first `number` of `others` (ties: the oldest)."""
    best, least = np.int64(-1), np.inf
    for i in range(x, end):
        if records.class_ids[i] != WAITING or records.people[i] < 0 or records.people[i] == records.people[x]:
            continue
        new = True
        for j in range(number):
            if records.people[others[j]] == records.people[i]:
                new = False
                break
        if new:
            away = distance(records.values[x], records.values[i], attributes)
            if away < least:
                best, least = np.int64(i), away
    return best


@part
def _settle(state, requirement, records, clusters):
    """The persons of a group become a cluster, for good."""
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


@part
def _emit(c, now, state, requirement, records, classes, attributes, clusters):
    """While each person of a cluster has a record that waits, their oldest leave together if they have enough sensitive
    values; gives how many records were looked at."""
    looked = np.int64(0)
    while clusters.n_ready[c] == requirement.k:
        for j in range(requirement.k):
            clusters.group[j] = clusters.heads[clusters.members[c, j]]
        looked += requirement.k
        if not _has_values(requirement, records, clusters):
            break
        _leave(now, state, requirement, records, classes, attributes, clusters)
        for j in range(requirement.k):
            person = clusters.members[c, j]
            clusters.heads[person] = clusters.next_record[clusters.heads[person]]
            if clusters.heads[person] < 0:
                clusters.n_ready[c] -= 1
    return looked


@part
def _has_values(requirement, records, clusters):
    """Return whether a group has as many values of each sensitive column as it needs."""
    requirement.clock[0] += 1
    for s in range(len(requirement.min_values)):
        number = np.int64(0)
        for j in range(requirement.k):
            number += count_value(clusters.group[j], s, requirement, records)
        if number < requirement.min_values[s]:
            return False
    return True


@part
def _leave(now, state, requirement, records, classes, attributes, clusters):
    """A group leaves as a class, which is not published again."""
    new, x, others = state[2], clusters.group[0], clusters.group[1:]
    span(x, requirement.k - 1, others, records, classes.lows[new], classes.highs[new], attributes)
    leave(x, requirement.k - 1, others, new, now, records)
    classes.made_at[new] = now
    state[2] += 1
