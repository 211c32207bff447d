"""UBDSA: open clusters are published once they suffice for a class and lose no more than a target."""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.streams.arrays import LAST_ARRIVAL, N_ADDED, N_CLASSES, N_OPEN, N_STORED, SUPPRESSED
from dbanon.kernels.streams.class_loss import cheapest_covering_class, class_loss, loss_with_record
from dbanon.kernels.streams.open_clusters import (
    add_record,
    can_be_enough,
    is_before,
    is_enough,
    merge_clusters,
    merged_loss,
    publish_cluster,
    remove_record,
)
from dbanon.kernels.streams.sliding_window import (
    add_latest_class,
    add_next_record,
    is_due,
    oldest_pending,
)


class UbdsaOptions(NamedTuple):
    """Options of UBDSA (see `ubdsa_steps`).

    Attributes:
        ends: The stream ends after the records of this call, so all are published.
        delta: A record is published once this many records have arrived since.
        beta: Maximum number of open clusters, unless a record can join none.
        theta: The target: greatest loss of a class that is published before a record is due.
        store: Maximum number of stored classes.
    """

    ends: bool
    delta: int
    beta: int
    theta: float
    store: int


@kernel
def ubdsa_steps(state, max_steps, options, requirement, records, classes, attributes, clusters):
    """Advance a stream with UBDSA by about `max_steps` examined clusters and records; return how many were examined.

    Fewer than `max_steps` means that all records are added and no pending one is due. A record is due once `delta`
    records have arrived, counted from itself, or at the end of the stream (`ends`).

    - A new record is published at once with a stored class that covers it and loses no more than `theta`; else it
      joins an open cluster or opens one. The cluster is published once it suffices for a class and loses no more than
      `theta`.
    - The cluster of a due record is published if it suffices for a class. Otherwise the record is published alone with
      a stored class that covers it. Without one, it is suppressed if all open clusters together do not suffice for a
      class; else other clusters are merged into its cluster until that suffices, and it is published.

    The last `store` published classes are stored. All arrays are updated in place.

    Args:
        state: int64 counters of the stream (see `arrays`).
        max_steps: Number of examined clusters and records after which to return.
        options: `UbdsaOptions`.
        requirement: `RequirementArrays`; its scratch for counting (marks and clock) is changed.
        records: `RecordArrays`.
        classes: `ClassArrays`.
        attributes: `AttributeArrays`.
        clusters: `OpenClusterArrays`.
    """
    steps = np.int64(0)
    while steps < max_steps:
        x = oldest_pending(state, records.class_ids)
        if x == state[N_ADDED] or not is_due(x, options.delta, state, options.ends, records):
            if state[N_ADDED] == len(records.arrived_at):
                break
            t = add_next_record(state, records, attributes)
            steps += 1 + state[N_STORED] + state[N_OPEN]
            stored_class, stored_loss = cheapest_covering_class(records.values[t], state, classes, attributes)
            if stored_class >= 0 and stored_loss <= options.theta:
                records.class_ids[t], records.published_at[t] = stored_class, state[LAST_ARRIVAL]
                continue
            c = _assign_record(t, state, options.beta, options.theta, records, attributes, clusters)
            if (
                clusters.sizes[c] < requirement.k
                or class_loss(clusters.lows[c], clusters.highs[c], attributes) > options.theta
            ):
                continue
            steps += clusters.sizes[c]
            if not is_enough(c, requirement, clusters.heads, clusters.next_record, records):
                continue
        else:
            c = clusters.cluster_ids[x]
            steps += clusters.sizes[c]
            if not is_enough(c, requirement, clusters.heads, clusters.next_record, records):
                steps += state[N_STORED] + state[N_ADDED] - x
                stored_class, stored_loss = cheapest_covering_class(records.values[x], state, classes, attributes)
                if stored_class >= 0 or not can_be_enough(requirement, clusters, records):
                    records.class_ids[x], records.published_at[x] = (
                        (stored_class if stored_class >= 0 else SUPPRESSED),
                        state[LAST_ARRIVAL],
                    )
                    remove_record(x, c, state, clusters, records, attributes)
                    continue
            while not is_enough(c, requirement, clusters.heads, clusters.next_record, records):
                steps += state[N_OPEN] + clusters.sizes[c]
                merge_clusters(_cheapest_merge(c, clusters, attributes), c, state, clusters, attributes)
        new = state[N_CLASSES]
        publish_cluster(c, new, state[LAST_ARRIVAL], state, records, classes, clusters)
        add_latest_class(new, state[LAST_ARRIVAL], True, options.store, state, classes)
    return steps


@kernel_part
def _assign_record(t, state, beta, theta, records, attributes, clusters):
    """Assign the new record `t` to the open cluster whose total loss grows least, in place; return the cluster.

    Ties: the smallest, then the one opened first. If the loss per record would exceed `theta` and fewer than `beta`
    clusters are open, or none is, a new one is opened for it.

    Args:
        t: The new record.
        state: Counters, of which NEXT_ID and N_OPEN are updated.
        beta: Number of open clusters from which on a new one is opened only if there is none to join.
        theta: The greatest loss per record with which a record joins while fewer than `beta` clusters are open.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        clusters: `OpenClusterArrays`; updated in place.
    """
    target, lowest, new_loss = np.int64(-1), np.inf, np.inf
    for c in range(len(clusters.is_open)):
        if clusters.is_open[c]:
            with_ = loss_with_record(records.values[t], clusters.lows[c], clusters.highs[c], attributes)
            increase = (clusters.sizes[c] + 1) * with_ - clusters.sizes[c] * class_loss(
                clusters.lows[c], clusters.highs[c], attributes
            )
            if increase < lowest or (increase == lowest and is_before(c, target, clusters)):
                target, lowest, new_loss = np.int64(c), increase, with_
    if new_loss > theta and state[N_OPEN] < beta:
        target = np.int64(-1)
    return add_record(t, target, state, clusters, records, attributes)


@kernel_part
def _cheapest_merge(c, clusters, attributes):
    """Return the open cluster whose merge with cluster `c` adds the least total loss; -1 if there is no other.

    Ties: the smallest, then the one opened first.

    Args:
        c: Slot of the cluster.
        clusters: `OpenClusterArrays`.
        attributes: `AttributeArrays`.
    """
    current_loss = clusters.sizes[c] * class_loss(clusters.lows[c], clusters.highs[c], attributes)
    best, lowest = np.int64(-1), np.inf
    for other in range(len(clusters.is_open)):
        if clusters.is_open[other] and other != c:
            both = merged_loss(c, other, clusters, attributes)
            alone = clusters.sizes[other] * class_loss(clusters.lows[other], clusters.highs[other], attributes)
            increase = (clusters.sizes[c] + clusters.sizes[other]) * both - current_loss - alone
            if increase < lowest or (increase == lowest and is_before(other, best, clusters)):
                best, lowest = np.int64(other), increase
    return best
