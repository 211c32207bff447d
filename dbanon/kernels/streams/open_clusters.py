"""Open clusters of a stream: records join one on arrival, and it is published when one of them is due.

Each cluster has a slot. Its records are a linked list from the last arrival to the first: `heads` is where it begins,
`next_record` continues it. See `OpenClusterArrays`.
"""

import numpy as np

from dbanon.kernels.jit import kernel_part
from dbanon.kernels.streams.arrays import N_OPEN, N_RECENT, NEXT_ID, NEXT_RECENT
from dbanon.kernels.streams.class_loss import attribute_loss, begin_class, joined_bounds, widen_class
from dbanon.kernels.streams.counting import count_person, count_value


@kernel_part
def open_cluster(t, state, clusters, records, attributes):
    """Open a cluster in the first unused slot, with the bounds of record `t` and an empty list; return the slot.

    The record is not added to the list.

    Args:
        t: Number of the record.
        state: Counters, of which NEXT_ID and N_OPEN are updated.
        clusters: `OpenClusterArrays`; updated in place.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
    """
    c = np.int64(0)
    while clusters.is_open[c]:
        c += 1
    clusters.is_open[c], clusters.sizes[c], clusters.heads[c], clusters.ids[c] = True, 0, -1, state[NEXT_ID]
    state[NEXT_ID] += 1
    state[N_OPEN] += 1
    begin_class(records.values[t], clusters.lows[c], clusters.highs[c], attributes)
    return c


@kernel_part
def prepend_record(t, c, clusters):
    """Prepend record `t`, the latest arrival, to the list of cluster `c`, in place; bounds are not changed.

    Args:
        t: Number of the record.
        c: Slot of the cluster.
        clusters: `OpenClusterArrays`; updated in place.
    """
    clusters.next_record[t], clusters.heads[c], clusters.cluster_ids[t] = clusters.heads[c], t, c
    clusters.sizes[c] += 1


@kernel_part
def add_record(t, c, state, clusters, records, attributes):
    """Add record `t`, the latest arrival, to cluster `c`, or to a new cluster if `c` is negative; return its slot.

    Args:
        t: Number of the record.
        c: Slot of the cluster; -1 for a new one.
        state: Counters, of which NEXT_ID and N_OPEN are updated.
        clusters: `OpenClusterArrays`; updated in place.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
    """
    if c < 0:
        c = open_cluster(t, state, clusters, records, attributes)
    else:
        widen_class(records.values[t], clusters.lows[c], clusters.highs[c], attributes)
    prepend_record(t, c, clusters)
    return c


@kernel_part
def insert_record(t, c, clusters):
    """Insert record `t` into the list of cluster `c` at its place in the order of arrival; bounds are not changed.

    Args:
        t: Number of the record.
        c: Slot of the cluster.
        clusters: `OpenClusterArrays`; updated in place.
    """
    if clusters.heads[c] < t:
        prepend_record(t, c, clusters)
        return
    i = clusters.heads[c]
    while clusters.next_record[i] > t:
        i = clusters.next_record[i]
    clusters.next_record[t], clusters.next_record[i], clusters.cluster_ids[t] = clusters.next_record[i], t, c
    clusters.sizes[c] += 1


@kernel_part
def unlink_record(t, c, clusters):
    """Remove record `t` from the list of cluster `c`, in place; bounds are not changed, and it may become empty.

    Args:
        t: Number of the record.
        c: Slot of the cluster.
        clusters: `OpenClusterArrays`; updated in place.
    """
    if clusters.heads[c] == t:
        clusters.heads[c] = clusters.next_record[t]
    else:
        i = clusters.heads[c]
        while clusters.next_record[i] != t:
            i = clusters.next_record[i]
        clusters.next_record[i] = clusters.next_record[t]
    clusters.cluster_ids[t] = -1
    clusters.sizes[c] -= 1


@kernel_part
def close_cluster(c, state, clusters):
    """Free the slot of cluster `c` and decrease the number of open clusters; its records and list are not changed.

    Args:
        c: Slot of the cluster.
        state: Counters, of which N_OPEN is updated.
        clusters: `OpenClusterArrays`; updated in place.
    """
    clusters.is_open[c] = False
    state[N_OPEN] -= 1


@kernel_part
def update_bounds(c, clusters, records, attributes):
    """Recompute the bounds of cluster `c`, in place, from its records, of which there must be at least one.

    Args:
        c: Slot of the cluster.
        clusters: `OpenClusterArrays`; updated in place.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
    """
    t = clusters.heads[c]
    begin_class(records.values[t], clusters.lows[c], clusters.highs[c], attributes)
    while clusters.next_record[t] >= 0:
        t = clusters.next_record[t]
        widen_class(records.values[t], clusters.lows[c], clusters.highs[c], attributes)


@kernel_part
def remove_record(t, c, state, clusters, records, attributes):
    """Remove record `t` from cluster `c`; its bounds shrink to the other records, or it is closed if it is empty.

    Args:
        t: Number of the record.
        c: Slot of the cluster.
        state: Counters, of which N_OPEN is updated.
        clusters: `OpenClusterArrays`; updated in place.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
    """
    unlink_record(t, c, clusters)
    if clusters.sizes[c] == 0:
        close_cluster(c, state, clusters)
    else:
        update_bounds(c, clusters, records, attributes)


@kernel_part
def move_all_records(source, c, clusters):
    """Move all records of cluster `source` to cluster `c`, keeping the order of arrival; bounds are not changed.

    Args:
        source: Slot of the cluster that loses its records.
        c: Slot of the cluster that gets them.
        clusters: `OpenClusterArrays`; updated in place.
    """
    source_record, target_record, last = clusters.heads[source], clusters.heads[c], np.int64(-1)
    while source_record >= 0 or target_record >= 0:
        if source_record > target_record:
            t, source_record = source_record, clusters.next_record[source_record]
        else:
            t, target_record = target_record, clusters.next_record[target_record]
        clusters.cluster_ids[t] = c
        if last < 0:
            clusters.heads[c] = t
        else:
            clusters.next_record[last] = t
        last = t
    clusters.next_record[last] = -1
    clusters.sizes[c] += clusters.sizes[source]


@kernel_part
def is_enough(c, requirement, heads, link, records):
    """Return whether cluster `c` suffices for a class: k distinct persons and enough values of each sensitive column.

    Records of unknown persons and NULLs do not count. Persons and values are marked with `requirement.clock`, which is
    increased first: marks of an earlier count are no longer valid.

    Args:
        c: Number of the cluster in `heads`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        heads: int64: the first record in the linked list of each cluster, -1 for none.
        link: (records,) int64: the next record in the list, -1 at the end.
        records: `RecordArrays`.
    """
    requirement.clock[0] += 1
    if count_persons(c, requirement.k, heads, link, records, requirement) < requirement.k:
        return False
    for s in range(len(requirement.min_values)):
        min_values = requirement.min_values[s]
        if count_values(c, s, min_values, heads, link, records, requirement) < min_values:
            return False
    return True


@kernel_part
def can_be_enough(requirement, clusters, records):
    """Return whether all open clusters together have enough distinct persons and sensitive values for a class.

    `requirement.clock` is increased, so an earlier count is lost.

    Args:
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        clusters: `OpenClusterArrays`.
        records: `RecordArrays`.
    """
    requirement.clock[0] += 1
    persons = np.int64(0)
    for c in range(len(clusters.is_open)):
        if clusters.is_open[c] and persons < requirement.k:
            persons += count_persons(c, requirement.k, clusters.heads, clusters.next_record, records, requirement)
    if persons < requirement.k:
        return False
    for s in range(len(requirement.min_values)):
        lacks = requirement.min_values[s]
        for c in range(len(clusters.is_open)):
            if clusters.is_open[c] and lacks > 0:
                lacks -= count_values(c, s, lacks, clusters.heads, clusters.next_record, records, requirement)
        if lacks > 0:
            return False
    return True


@kernel_part
def count_persons(c, maximum, heads, link, records, requirement):
    """Count, and mark, the known persons of cluster `c` not yet marked, up to `maximum`; return the number.

    The marks are those of the current count (`requirement.clock`, which is not increased here).

    Args:
        c: Number of the cluster in `heads`.
        maximum: The number at which counting ends.
        heads: int64: the first record in the linked list of each cluster, -1 for none.
        link: (records,) int64: the next record in the list, -1 at the end.
        records: `RecordArrays`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
    """
    persons, t = np.int64(0), heads[c]
    while t >= 0 and persons < maximum:
        persons += count_person(t, requirement, records)
        t = link[t]
    return persons


@kernel_part
def count_values(c, s, maximum, heads, link, records, requirement):
    """Count the values of sensitive column `s` in cluster `c` not counted yet, up to `maximum`; return the number.

    Values are marked as counted. NULLs and records of unknown persons do not count.

    Args:
        c: Number of the cluster in `heads`.
        s: Number of the sensitive column.
        maximum: The number at which counting ends.
        heads: int64: the first record in the linked list of each cluster, -1 for none.
        link: (records,) int64: the next record in the list, -1 at the end.
        records: `RecordArrays`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
    """
    number, t = np.int64(0), heads[c]
    while t >= 0 and number < maximum:
        number += records.people[t] >= 0 and count_value(t, s, requirement, records)
        t = link[t]
    return number


@kernel_part
def add_recent(value, state, recent):
    """Write a value to the ring buffer `recent`, in place of the oldest if all places are filled.

    Args:
        value: The loss of the class published last, or the hash of its sensitive values.
        state: Counters, of which N_RECENT and NEXT_RECENT are updated.
        recent: Ring buffer of at least one place; updated in place.
    """
    recent[state[NEXT_RECENT]] = value
    state[NEXT_RECENT] = (state[NEXT_RECENT] + 1) % len(recent)
    state[N_RECENT] = min(state[N_RECENT] + 1, len(recent))


@kernel_part
def is_before(c, other, clusters):
    """Return whether cluster `c` is smaller than cluster `other`, or equally large and opened before it.

    Args:
        c: Slot of the cluster.
        other: Slot of the other cluster.
        clusters: `OpenClusterArrays`.
    """
    return clusters.sizes[c] < clusters.sizes[other] or (
        clusters.sizes[c] == clusters.sizes[other] and clusters.ids[c] < clusters.ids[other]
    )


@kernel_part
def merged_loss(c, other, clusters, attributes):
    """Return the loss per record of the union of clusters `c` and `other`; nothing is changed.

    Args:
        c: Slot of the cluster.
        other: Slot of the other cluster.
        clusters: `OpenClusterArrays`.
        attributes: `AttributeArrays`.
    """
    total = 0.0
    for a in range(len(attributes.weights)):
        low, high = joined_bounds(
            a, clusters.lows[c, a], clusters.highs[c, a], clusters.lows[other, a], clusters.highs[other, a], attributes
        )
        total += attributes.weights[a] * attribute_loss(a, low, high, attributes)
    return total


@kernel_part
def merge_clusters(source, c, state, clusters, attributes):
    """Merge cluster `source` into cluster `c`, in place: c gets its records and is widened, and `source` is closed.

    Args:
        source: Slot of the cluster that is closed.
        c: Slot of the cluster that gets the records.
        state: Counters, of which N_OPEN is updated.
        clusters: `OpenClusterArrays`; updated in place.
        attributes: `AttributeArrays`.
    """
    for a in range(clusters.lows.shape[1]):
        clusters.lows[c, a], clusters.highs[c, a] = joined_bounds(
            a,
            clusters.lows[c, a],
            clusters.highs[c, a],
            clusters.lows[source, a],
            clusters.highs[source, a],
            attributes,
        )
    move_all_records(source, c, clusters)
    close_cluster(source, state, clusters)


@kernel_part
def publish_cluster(c, new, arrival, state, records, classes, clusters):
    """Publish the records of cluster `c` as class `new` with the bounds of the cluster, and close the cluster.

    `arrival` is the number of records that have arrived. The class is not counted or stored here.

    Args:
        c: Slot of the cluster.
        new: Number of the class.
        arrival: Number of records that have arrived so far.
        state: Counters, of which N_OPEN is updated.
        records: `RecordArrays`; updated in place.
        classes: `ClassArrays`; updated in place.
        clusters: `OpenClusterArrays`; updated in place.
    """
    classes.lows[new], classes.highs[new] = clusters.lows[c], clusters.highs[c]
    t = clusters.heads[c]
    while t >= 0:
        records.class_ids[t], records.published_at[t], clusters.cluster_ids[t] = new, arrival, -1
        t = clusters.next_record[t]
    close_cluster(c, state, clusters)
