"""Open clusters of a stream: each record joins one when it arrives; a cluster leaves when a record of it is due.

Clusters have a slot each. The records of a cluster are a list from the last that arrived to the first: `heads` is where
it begins, `next_record` continues it. See `OpenClusterArrays`.
"""

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.streams.class_loss import begin, joined, lost, widen
from dbanon.kernels.streams.counting import count_person, count_value


@part
def open_cluster(t, state, clusters, records, attributes):
    """Open a cluster for a record in the first free slot, whose list is empty yet; return the slot."""
    c = np.int64(0)
    while clusters.is_open[c]:
        c += 1
    clusters.is_open[c], clusters.sizes[c], clusters.heads[c], clusters.ids[c] = True, 0, -1, state[4]
    state[4] += 1
    state[5] += 1
    begin(records.values[t], clusters.lows[c], clusters.highs[c], attributes)
    return c


@part
def put(t, c, clusters):
    """Put a record first into the list of a cluster."""
    clusters.next_record[t], clusters.heads[c], clusters.cluster_ids[t] = clusters.heads[c], t, c
    clusters.sizes[c] += 1


@part
def put_back(t, c, clusters):
    """Put a record into the list of a cluster where it belongs by its arrival."""
    if clusters.heads[c] < t:
        put(t, c, clusters)
        return
    i = clusters.heads[c]
    while clusters.next_record[i] > t:
        i = clusters.next_record[i]
    clusters.next_record[t], clusters.next_record[i], clusters.cluster_ids[t] = clusters.next_record[i], t, c
    clusters.sizes[c] += 1


@part
def take_out(t, c, clusters):
    """Take a record out of the list of a cluster."""
    if clusters.heads[c] == t:
        clusters.heads[c] = clusters.next_record[t]
    else:
        i = clusters.heads[c]
        while clusters.next_record[i] != t:
            i = clusters.next_record[i]
        clusters.next_record[i] = clusters.next_record[t]
    clusters.cluster_ids[t] = -1
    clusters.sizes[c] -= 1


@part
def close_cluster(c, state, clusters):
    """The slot is free again."""
    clusters.is_open[c] = False
    state[5] -= 1


@part
def measure(c, clusters, records, attributes):
    """What the records of a cluster span."""
    t = clusters.heads[c]
    begin(records.values[t], clusters.lows[c], clusters.highs[c], attributes)
    while clusters.next_record[t] >= 0:
        t = clusters.next_record[t]
        widen(records.values[t], clusters.lows[c], clusters.highs[c], attributes)


@part
def let_go(t, c, state, clusters, records, attributes):
    """A record leaves its cluster, which is as wide as the others then, or closed without others."""
    take_out(t, c, clusters)
    if clusters.sizes[c] == 0:
        close_cluster(c, state, clusters)
    else:
        measure(c, clusters, records, attributes)


@part
def pour(source, c, clusters):
    """The records of one cluster become another's, in the order of arrival."""
    one, other, last = clusters.heads[source], clusters.heads[c], np.int64(-1)
    while one >= 0 or other >= 0:
        if one > other:
            t, one = one, clusters.next_record[one]
        else:
            t, other = other, clusters.next_record[other]
        clusters.cluster_ids[t] = c
        if last < 0:
            clusters.heads[c] = t
        else:
            clusters.next_record[last] = t
        last = t
    clusters.next_record[last] = -1
    clusters.sizes[c] += clusters.sizes[source]


@part
def is_enough(c, requirement, heads, link, records):
    """Return whether a cluster has k persons and, of each sensitive column, as many values as it needs."""
    requirement.clock[0] += 1
    if count(c, requirement.k, heads, link, records, requirement) < requirement.k:
        return False
    for s in range(len(requirement.min_values)):
        least = requirement.min_values[s]
        if count_values(c, s, least, heads, link, records, requirement) < least:
            return False
    return True


@part
def can_be_enough(requirement, clusters, records):
    """Return whether all open clusters together are enough for a class."""
    heads, link = clusters.heads, clusters.next_record
    requirement.clock[0] += 1
    persons = np.int64(0)
    for c in range(len(clusters.is_open)):
        if clusters.is_open[c] and persons < requirement.k:
            persons += count(c, requirement.k, heads, link, records, requirement)
    if persons < requirement.k:
        return False
    for s in range(len(requirement.min_values)):
        lacks = requirement.min_values[s]
        for c in range(len(clusters.is_open)):
            if clusters.is_open[c] and lacks > 0:
                lacks -= count_values(c, s, lacks, heads, link, records, requirement)
        if lacks > 0:
            return False
    return True


@part
def count(c, most, heads, link, records, requirement):
    """How many persons a cluster has that this question has not seen, or `most`."""
    persons, t = np.int64(0), heads[c]
    while t >= 0 and persons < most:
        persons += count_person(t, requirement, records)
        t = link[t]
    return persons


@part
def count_values(c, s, most, heads, link, records, requirement):
    """How many values of a sensitive column a cluster has that this question has not seen, or `most`."""
    number, t = np.int64(0), heads[c]
    while t >= 0 and number < most:
        number += records.people[t] >= 0 and count_value(t, s, requirement, records)
        t = link[t]
    return number


@part
def is_before(c, other, clusters):
    """Return whether a cluster is smaller than another one, or was opened before it and is as small."""
    return clusters.sizes[c] < clusters.sizes[other] or (
        clusters.sizes[c] == clusters.sizes[other] and clusters.ids[c] < clusters.ids[other]
    )


@part
def loss_of_both(c, other, clusters, attributes):
    """What a record would lose in two clusters together."""
    total = 0.0
    for a in range(len(attributes.weights)):
        low, high = joined(
            a, clusters.lows[c, a], clusters.highs[c, a], clusters.lows[other, a], clusters.highs[other, a], attributes
        )
        total += attributes.weights[a] * lost(a, low, high, attributes)
    return total


@part
def merge(source, c, state, clusters, attributes):
    """A cluster becomes part of another."""
    for a in range(clusters.lows.shape[1]):
        low, high = joined(
            a,
            clusters.lows[c, a],
            clusters.highs[c, a],
            clusters.lows[source, a],
            clusters.highs[source, a],
            attributes,
        )
        clusters.lows[c, a], clusters.highs[c, a] = low, high
    pour(source, c, clusters)
    close_cluster(source, state, clusters)


@part
def send(c, new, now, state, records, classes, clusters):
    """The records of a cluster leave with a new class, and it is closed."""
    for a in range(classes.lows.shape[1]):
        classes.lows[new, a], classes.highs[new, a] = clusters.lows[c, a], clusters.highs[c, a]
    t = clusters.heads[c]
    while t >= 0:
        records.class_ids[t], records.published_at[t], clusters.cluster_ids[t] = new, now, -1
        t = clusters.next_record[t]
    close_cluster(c, state, clusters)
