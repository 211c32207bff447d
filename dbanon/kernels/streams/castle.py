"""CASTLE and B-CASTLE: open clusters grow by the records that widen them least, until one of these is due.

B-CASTLE has a balance step: it moves a record to another open cluster if that reduces the growth of loss.
"""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.streams.arrays import LAST_ARRIVAL, N_ADDED, N_CLASSES, N_OPEN, N_RECENT, N_STORED, SUPPRESSED
from dbanon.kernels.streams.class_loss import (
    center_distance,
    class_loss,
    covers,
    loss_growth,
    loss_with_record,
    widen_class,
)
from dbanon.kernels.streams.kmeans import fill_center
from dbanon.kernels.streams.open_clusters import (
    add_recent,
    add_record,
    can_be_enough,
    close_cluster,
    count_persons,
    insert_record,
    is_before,
    is_enough,
    merge_clusters,
    merged_loss,
    remove_record,
    unlink_record,
    update_bounds,
)
from dbanon.kernels.streams.sliding_window import (
    add_class,
    add_next_record,
    is_due,
    oldest_pending,
)
from dbanon.kernels.streams.split_cluster import list_records, split_into_classes


@kernel_part
def fill_growths(value, without, alpha, state, clusters, growths, attributes):
    """Fill `growths` with the growth of each open cluster's loss per record if a record joins; return the least growth.

    Only open clusters of fewer than `alpha` records other than `without` are considered. `growths` (slots,) is inf for
    others, and where a cluster grows more than an earlier one. Returns inf if there is no cluster.

    Args:
        value: The record's values.
        without: A slot to skip, -1 for none.
        alpha: The number of records from which on a cluster accepts no more.
        state: Counters, of which N_OPEN is read.
        clusters: `OpenClusterArrays`.
        growths: Output.
        attributes: `AttributeArrays`.
    """
    lowest, n_open = np.inf, state[N_OPEN]
    for c in range(len(clusters.is_open)):
        if n_open == 0:
            break
        n_open -= clusters.is_open[c]
        growths[c] = np.inf
        if clusters.is_open[c] and c != without and clusters.sizes[c] < alpha:
            growths[c] = loss_growth(value, c, clusters.lows, clusters.highs, lowest, attributes)
            lowest = min(lowest, growths[c])
    return lowest


@kernel_part
def move_farthest_record(c, state, alpha, records, attributes, clusters, scratch):
    """Move the record of cluster `c` farthest from its center to the open cluster that it widens least, if that helps.

    Ties: the oldest record; the smallest cluster, then the one opened first. Only clusters of fewer than `alpha`
    records are considered. The record stays if its own cluster, without it, would grow no more. Nothing happens if the
    cluster has one record or is the only one. Lists and bounds are updated in place.

    Args:
        c: Slot of the cluster.
        state: Counters, of which N_OPEN is read.
        alpha: The number of records from which on a cluster accepts no more.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        clusters: `OpenClusterArrays`; updated in place.
        scratch: `ClusterScratch`; its contents are overwritten.
    """
    if clusters.sizes[c] < 2 or state[N_OPEN] < 2:
        return
    fill_center(
        clusters.heads[c],
        records,
        attributes,
        scratch.center,
        clusters.next_record,
        scratch.node_counts,
        scratch.members,
    )
    x, highest, t = np.int64(-1), -1.0, clusters.heads[c]
    while t >= 0:
        center_distance_ = center_distance(scratch.center, records.values[t], attributes)
        if center_distance_ >= highest:
            x, highest = t, center_distance_
        t = clusters.next_record[t]
    lowest = fill_growths(records.values[x], c, alpha, state, clusters, scratch.growths, attributes)
    if lowest == np.inf:
        return
    unlink_record(x, c, clusters)
    update_bounds(c, clusters, records, attributes)
    target = c
    if lowest < loss_growth(records.values[x], c, clusters.lows, clusters.highs, np.inf, attributes):
        target = _smallest_cluster(lowest, state, clusters, scratch.growths)
    insert_record(x, target, clusters)
    widen_class(records.values[x], clusters.lows[target], clusters.highs[target], attributes)


@kernel_part
def _smallest_cluster(lowest, state, clusters, growths):
    """Return the smallest open cluster whose growth is `lowest` (ties: the one opened first); -1 without any.

    Args:
        lowest: The growth.
        state: Counters, of which N_OPEN is read.
        clusters: `OpenClusterArrays`.
        growths: (slots,) float64: growth of each cluster's loss.
    """
    best, n_open = np.int64(-1), state[N_OPEN]
    for c in range(len(clusters.is_open)):
        if n_open == 0:
            break
        n_open -= clusters.is_open[c]
        if clusters.is_open[c] and growths[c] == lowest and (best < 0 or is_before(c, best, clusters)):
            best = np.int64(c)
    return best


class CastleOptions(NamedTuple):
    """Options of CASTLE (see `castle_steps`).

    Attributes:
        ends: The stream ends after the records of this call, so all are published.
        delta: A record is published once this many records have arrived since.
        beta: Maximum number of open clusters.
        alpha: A cluster of this many records accepts no more.
        balances: B-CASTLE instead of CASTLE.
    """

    ends: bool
    delta: int
    beta: int
    alpha: int
    balances: bool


@kernel
def castle_steps(state, max_steps, options, requirement, records, classes, attributes, losses, clusters, scratch):
    """Add records until all are added, or about `max_steps` clusters and records were examined; return how many were.

    A record joins an open cluster on arrival. When the oldest pending record is due, its cluster is published as one or
    several classes. If the cluster does not suffice for a class, the record is published with a stored class that
    covers it; without one, it is suppressed if more than half of the open clusters are larger or all together do not
    suffice, and else clusters are merged and published. With `options.balances` it is B-CASTLE: records are moved to
    other clusters, and published clusters are not split. All arrays are updated in place.

    Args:
        state: int64 counters of the stream (see `arrays`).
        max_steps: Number of examined clusters and records after which to return.
        options: `CastleOptions`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        classes: `ClassArrays`.
        attributes: `AttributeArrays`.
        losses: `ClassLosses`.
        clusters: `OpenClusterArrays`.
        scratch: `ClusterScratch`; its contents are overwritten.
    """
    steps = np.int64(0)
    while steps < max_steps:
        x = oldest_pending(state, records.class_ids)
        if x == state[N_ADDED] or not is_due(x, options.delta, state, options.ends, records):
            if state[N_ADDED] == len(records.arrived_at):
                break
            losses.ranges[-1] += widens_seen_range(records.values[state[N_ADDED]], attributes)
            t = add_next_record(state, records, attributes)
            steps += 1 + state[N_OPEN]
            c = _assign_record(
                t, state, options.beta, options.alpha, records, losses.recent, attributes, clusters, scratch.growths
            )
            if options.balances:
                steps += state[N_OPEN] + clusters.sizes[c]
                move_farthest_record(c, state, options.alpha, records, attributes, clusters, scratch)
            continue
        c = clusters.cluster_ids[x]
        steps += state[N_OPEN] + clusters.sizes[c]
        if not is_enough(c, requirement, clusters.heads, clusters.next_record, records):
            steps += state[N_STORED]
            stored_class = cheapest_stored_class(records.values[x], state, classes, losses, attributes)
            if (
                stored_class >= 0
                or _is_outlier(c, state, clusters)
                or not can_be_enough(requirement, clusters, records)
            ):
                records.class_ids[x], records.published_at[x] = (
                    (stored_class if stored_class >= 0 else SUPPRESSED),
                    state[LAST_ARRIVAL],
                )
                remove_record(x, c, state, clusters, records, attributes)
                continue
            while not is_enough(c, requirement, clusters.heads, clusters.next_record, records):
                other = _nearest_cluster(c, requirement, options.balances, clusters, attributes)
                steps += state[N_OPEN]
                merge_clusters(other, c, state, clusters, attributes)
        steps += _publish_cluster(
            c, not options.balances, state, requirement, records, classes, losses.recent, attributes, clusters, scratch
        )
        close_cluster(c, state, clusters)
    return steps


@kernel_part
def mean_recent_loss(state, recent):
    """Return the mean loss of the classes published last; 0 before the first class.

    Args:
        state: Counters, of which N_RECENT is read.
        recent: (mu,) float64 ring buffer: the first N_RECENT are the losses of the classes published last.
    """
    number = min(state[N_RECENT], len(recent))
    return recent[:number].sum() / number if number > 0 else 0.0


@kernel_part
def _assign_record(t, state, beta, alpha, records, recent, attributes, clusters, growths):
    """Assign the new record `t` to a cluster, in place; return the cluster.

    Clusters of `alpha` or more records are not considered, and of the others only those whose loss grows least. Of
    these, the record joins the smallest one whose loss is then at most the mean of the last published classes (ties:
    the one opened first). If there is none, a new cluster is opened, or, if `beta` are open, the record joins the
    smallest.

    Args:
        t: The new record.
        state: Counters, of which NEXT_ID and N_OPEN are updated.
        beta: Maximum number of open clusters.
        alpha: The number of records from which on a cluster accepts no more.
        records: `RecordArrays`.
        recent: (mu,) float64 ring buffer: losses of the classes published last.
        attributes: `AttributeArrays`.
        clusters: `OpenClusterArrays`; updated in place.
        growths: (slots,) float64 scratch.
    """
    limit = mean_recent_loss(state, recent)
    lowest = fill_growths(records.values[t], np.int64(-1), alpha, state, clusters, growths, attributes)
    target, has_good, n_open, n_free = np.int64(-1), False, state[N_OPEN], np.int64(0)
    for c in range(len(clusters.is_open)):
        if n_open == 0:
            break
        n_open -= clusters.is_open[c]
        n_free += clusters.is_open[c] and clusters.sizes[c] < alpha
        if clusters.is_open[c] and growths[c] == lowest and lowest < np.inf:
            is_good = loss_with_record(records.values[t], clusters.lows[c], clusters.highs[c], attributes) <= limit
            if target < 0 or (is_good and not has_good):
                target, has_good = np.int64(c), is_good
            elif is_good == has_good and is_before(c, target, clusters):
                target = np.int64(c)
    if not has_good and n_free < beta:
        target = np.int64(-1)
    return add_record(t, target, state, clusters, records, attributes)


@kernel_part
def _is_outlier(c, state, clusters):
    """Return whether more than half of the open clusters have more records than cluster `c`.

    Args:
        c: Slot of the cluster.
        state: Counters, of which N_OPEN is read.
        clusters: `OpenClusterArrays`.
    """
    return 2 * np.sum(clusters.is_open & (clusters.sizes > clusters.sizes[c])) > state[N_OPEN]


@kernel_part
def _nearest_cluster(c, requirement, balances, clusters, attributes):
    """Return the open cluster whose union with cluster `c` increases the loss of c least (ties: the one opened first).

    If it `balances`, the distance of the joint size from k, relative to k, is added. Returns -1 if there is no other
    cluster.

    Args:
        c: Slot of the cluster.
        requirement: `RequirementArrays`.
        balances: Whether the algorithm is B-CASTLE.
        clusters: `OpenClusterArrays`.
        attributes: `AttributeArrays`.
    """
    current_loss = class_loss(clusters.lows[c], clusters.highs[c], attributes)
    best, lowest = np.int64(-1), np.inf
    for other in range(len(clusters.is_open)):
        if clusters.is_open[other] and other != c:
            increase = merged_loss(c, other, clusters, attributes) - current_loss
            if balances:
                increase += abs(clusters.sizes[c] + clusters.sizes[other] - requirement.k) / requirement.k
            if increase < lowest or (increase == lowest and clusters.ids[other] < clusters.ids[best]):
                best, lowest = np.int64(other), increase
    return best


@kernel_part
def _publish_cluster(c, splits, state, requirement, records, classes, recent, attributes, clusters, scratch):
    """Publish the records of cluster `c` as a class, or as several; return the number of examined records.

    With `splits`, it is split if it has at least 2k persons and a split is possible. A class is stored for reuse if it
    is the first one, or if its loss is below the mean of the last ones. The cluster itself stays open.

    Args:
        c: Slot of the cluster.
        splits: Whether the cluster may be split into several classes.
        state: Counters, of which N_CLASSES, N_STORED, N_RECENT and NEXT_RECENT are updated.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`; class_ids and published_at are set.
        classes: `ClassArrays`; updated in place.
        recent: (mu,) float64 ring buffer: losses of the classes published last; updated in place.
        attributes: `AttributeArrays`.
        clusters: `OpenClusterArrays`.
        scratch: `ClusterScratch`; its contents are overwritten.
    """
    size = list_records(c, clusters, scratch)
    base, pieces, arrival, enough = state[N_CLASSES], np.int64(0), state[LAST_ARRIVAL], 2 * requirement.k
    requirement.clock[0] += 1
    if splits and count_persons(c, enough, clusters.heads, clusters.next_record, records, requirement) >= enough:
        pieces = split_into_classes(size, base, requirement, records, classes, attributes, scratch)
    n_examined = size * (pieces + 1)
    if pieces == 0:
        pieces += 1
        classes.lows[base], classes.highs[base] = clusters.lows[c], clusters.highs[c]
        for j in range(size):
            scratch.pieces[scratch.members[j]] = 0
    for j in range(size):
        t = scratch.members[j]
        records.class_ids[t], records.published_at[t] = base + scratch.pieces[t], arrival
    for _ in range(pieces):
        new, has_classes = state[N_CLASSES], state[N_RECENT] > 0
        new_loss = class_loss(classes.lows[new], classes.highs[new], attributes)
        add_recent(new_loss, state, recent)
        add_class(new, arrival, not has_classes or new_loss < mean_recent_loss(state, recent), state, classes)
    return n_examined


@kernel_part
def widens_seen_range(value, attributes):
    """Return whether a new record is outside the seen range (least to greatest so far) of any number.

    Args:
        value: (attributes,) float64 values of the record; NaN for NULL.
        attributes: `AttributeArrays`.
    """
    for a in range(len(attributes.seen_ranges)):
        if attributes.node_starts[a] == attributes.node_starts[a + 1] and (
            value[a] < attributes.seen_ranges[a, 0] or value[a] > attributes.seen_ranges[a, 1]
        ):
            return True
    return False


@kernel_part
def cheapest_stored_class(value, state, classes, losses, attributes):
    """Return the stored class that covers a record with the least loss (ties: the first), or -1.

    The loss of a class changes only when the seen range of a number does. Losses that were computed for an earlier
    seen range are updated in `losses`.

    Args:
        value: (attributes,) float64 values of the record; NaN for NULL.
        state: Counters, of which N_STORED is read.
        classes: `ClassArrays`.
        losses: `ClassLosses`, whose outdated losses are updated in place.
        attributes: `AttributeArrays`.
    """
    best, lowest, range_number = np.int64(-1), np.inf, losses.ranges[-1]
    for i in range(state[N_STORED]):
        c = classes.reusable[i]
        if losses.ranges[c] != range_number:
            losses.losses[c], losses.ranges[c] = class_loss(classes.lows[c], classes.highs[c], attributes), range_number
        if losses.losses[c] < lowest and covers(value, classes.lows[c], classes.highs[c]):
            best, lowest = c, losses.losses[c]
    return best
