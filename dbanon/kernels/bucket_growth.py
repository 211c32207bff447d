"""Clusters with a number of records of each group of sensitive values, or with one record of each frequent value.

A pool is the records of one tuple with equal sensitive values.
"""

import numpy as np

from dbanon.kernels.arrays import N_REMAINING, NEXT_SEED, LossTables
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.k_nearest import SEARCH_FACTOR, fill_distance_query, search_nearest, swap_to
from dbanon.kernels.loss import begin_class, widen_class
from dbanon.kernels.min_loss_assignment import loss_with_tuple, nonempty_tuples, update_code_losses


@kernel_part
def _allocate_records(size, n_per_group, group_remaining, need):
    """Compute in `need` how many records of each group a cluster of `size` records takes.

    A group is a set of sensitive values. Each gives `n_per_group` records or all that remain, in order until the
    cluster is full. If records are lacking then, they come from the groups with the most remaining records (ties: the
    first).

    Args:
        size: Records of the cluster.
        n_per_group: Records of each group, if enough remain.
        group_remaining: (groups,) remaining records.
        need: Output: (groups,) number of records.
    """
    n_allocated = np.int64(0)
    for g in range(len(group_remaining)):
        need[g] = min(min(np.int64(n_per_group), group_remaining[g]), size - n_allocated)
        n_allocated += need[g]
    while n_allocated < size:
        largest = np.int64(0)
        for g in range(len(group_remaining)):
            if group_remaining[g] - need[g] > group_remaining[largest] - need[largest]:
                largest = np.int64(g)
        need[largest] += 1
        n_allocated += 1


@kernel
def grow_group_clusters(state, max_clusters, first_label, k, n_per_group, grouped, measure, codes_of, labels, seeds):
    """Form up to `max_clusters` clusters with `n_per_group` records of every group, while k records remain.

    A group (or kind) is a set of sensitive values. A seed is the next record in `order` without a cluster; the other
    records are the nearest to it of each group. If a group has too few records left, others replace them (see
    `_allocate_records`).

    Args:
        state: Next place in the order, and remaining records (see `NEXT_SEED`); updated in place.
        max_clusters: Number of clusters after which to return.
        first_label: Number of the first cluster.
        k: Fewest records of a cluster.
        n_per_group: Records of each group.
        grouped: `GroupPools`: a pool is the records of one tuple and one group.
        measure: `LossArrays`.
        codes_of: Where the codes of each attribute begin in a table of losses.
        labels: Output: cluster of each record.
        seeds: Output: tuple of each seed.

    Returns:
        Number of clusters, and number of examined pools.
    """
    pools, order, place, group_remaining = grouped
    levels = len(measure.terms)
    query = LossTables(np.empty((levels, 4), np.int64), codes_of, np.empty(codes_of[levels], np.int64))
    need, lack = np.empty(len(group_remaining), np.int64), np.empty(len(group_remaining), np.int64)
    capacity = min(SEARCH_FACTOR * max(n_per_group * len(group_remaining), k), len(pools.n_remaining))
    nearest, distances_ = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    alive, number = nonempty_tuples(pools.n_remaining)
    n_clusters, steps = np.int64(0), np.int64(0)
    while n_clusters < max_clusters and state[N_REMAINING] >= k:
        row = order[state[NEXT_SEED]]
        state[NEXT_SEED] += 1
        if labels[row] >= 0:
            continue
        pool = pools.pool_of[row]
        size = min(state[N_REMAINING], max(np.int64(n_per_group * len(group_remaining)), np.int64(k)))
        _allocate_records(size, n_per_group, group_remaining, need)
        if need[pools.kinds[pool]] == 0:  # fewer records are left than a cluster has groups
            last = len(need) - 1
            while need[last] == 0:
                last -= 1
            need[last] -= 1
            need[pools.kinds[pool]] = 1
        swap_to(row, pools.ends[pool] - pools.n_remaining[pool], pools.rows, place)
        labels[row] = first_label + n_clusters
        seeds[n_clusters] = pools.tuples[pool]
        pools.n_remaining[pool] -= 1
        group_remaining[pools.kinds[pool]] -= 1
        need[pools.kinds[pool]] -= 1
        state[N_REMAINING] -= 1
        fill_distance_query(pools.tuples[pool], measure, query)
        while True:
            number, size = search_nearest(
                seeds[n_clusters], alive, number, pools.n_remaining, pools.tuples, measure, query, nearest, distances_
            )
            steps += number
            lack[:] = need
            for i in range(size):
                lack[pools.kinds[nearest[i]]] -= min(pools.n_remaining[nearest[i]], lack[pools.kinds[nearest[i]]])
            if lack.max() == 0:
                break
            nearest, distances_ = (
                np.empty(SEARCH_FACTOR * len(nearest), np.int64),
                np.empty(SEARCH_FACTOR * len(nearest), np.int64),
            )
        for i in range(size):
            pool = nearest[i]
            count = min(pools.n_remaining[pool], need[pools.kinds[pool]])
            if count == 0:
                continue
            start = pools.ends[pool] - pools.n_remaining[pool]
            labels[pools.rows[start : start + count]] = first_label + n_clusters
            pools.n_remaining[pool] -= count
            group_remaining[pools.kinds[pool]] -= count
            need[pools.kinds[pool]] -= count
            state[N_REMAINING] -= count
        n_clusters += 1
    return n_clusters, steps


@kernel
def grow_bucket_clusters(state, max_clusters, first_label, k, buckets, measure, codes_of, labels):
    """Form up to `max_clusters` clusters of k records, one part of the table after another, while it has k records.

    A kind is a combination of sensitive values, and a pool the records of one tuple and kind. A cluster takes one
    record of each of the most frequent kinds (ties: the kind whose first record comes first), and further records of
    each if there are fewer kinds than k. The first record is the nearest to the center of the part
    (`center_distances`), the others those that add the least loss.

    Args:
        state: The current part, and the remaining records of all parts (see `NEXT_SEED`); updated in place.
        max_clusters: Number of clusters after which to return.
        first_label: Number of the first cluster.
        k: Records of a cluster.
        buckets: `BucketPools`.
        measure: `LossArrays`.
        codes_of: Where the codes of each attribute begin in a table of losses.
        labels: Output: cluster of each record.

    Returns:
        Number of clusters, and number of examined pools.
    """
    pools, parts, begins, first_of, group_remaining, part_remaining, center_distances = buckets
    levels = len(measure.terms)
    span, old_span = np.empty((levels, 4), np.int64), np.empty((levels, 2), np.int64)
    table, last_turn = np.empty(codes_of[levels], np.int64), np.zeros(len(group_remaining), np.int64)
    n_clusters, steps, turn = np.int64(0), np.int64(0), np.int64(0)
    while n_clusters < max_clusters and state[NEXT_SEED] < len(part_remaining):
        p = state[NEXT_SEED]
        if part_remaining[p] < k:
            state[NEXT_SEED] += 1
            continue
        size, loss = np.int64(0), np.int64(0)
        turn += 1
        while size < k:
            kind = np.int64(-1)
            for i in range(parts[p], parts[p + 1]):
                if group_remaining[i] == 0 or last_turn[i] == turn:
                    continue
                if kind < 0 or group_remaining[i] > group_remaining[kind]:
                    kind = np.int64(i)
                elif group_remaining[i] == group_remaining[kind] and first_of[i] < first_of[kind]:
                    kind = np.int64(i)
            if kind < 0:
                turn += 1
                continue
            last_turn[kind] = turn
            best, lowest = np.int64(-1), np.int64(0)
            for pool in range(begins[kind], begins[kind + 1]):
                if pools.n_remaining[pool] > 0:
                    if size == 0:
                        cost = center_distances[pool]
                    else:
                        cost = loss_with_tuple(pools.tuples[pool], measure, span, codes_of, table)
                    if best < 0 or cost < lowest:
                        best, lowest = np.int64(pool), cost
            steps += begins[kind + 1] - begins[kind] + parts[p + 1] - parts[p]
            if size == 0:
                loss = begin_class(pools.tuples[best], measure, span)
                old_span[:] = -1
            else:
                loss = widen_class(loss, pools.tuples[best], measure, span)
            update_code_losses(span, old_span, codes_of, measure, table)
            labels[pools.rows[pools.ends[best] - pools.n_remaining[best]]] = first_label + n_clusters
            pools.n_remaining[best] -= 1
            group_remaining[kind] -= 1
            part_remaining[p] -= 1
            state[N_REMAINING] -= 1
            size += 1
        n_clusters += 1
    return n_clusters, steps
