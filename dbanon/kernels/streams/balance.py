"""The balance step of B-CASTLE: move a record to another open cluster if that reduces the growth of loss."""

import numpy as np

from dbanon.kernels.jit import kernel_part
from dbanon.kernels.streams.arrays import N_OPEN
from dbanon.kernels.streams.class_loss import center_distance, loss_growth, widen_class
from dbanon.kernels.streams.kmeans import fill_center
from dbanon.kernels.streams.open_clusters import insert_record, is_before, unlink_record, update_bounds


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
