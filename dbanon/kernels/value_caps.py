"""Clusters with a limit on the records of each sensitive value."""

import numpy as np

from dbanon.kernels.arrays import HAS_FAILED, N_REMAINING, NEXT_SEED, LossTables
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.k_nearest import SEARCH_FACTOR, fill_distance_query, search_nearest
from dbanon.kernels.loss import widen_class
from dbanon.kernels.min_loss_assignment import INFINITE_LOSS, loss_growth, nonempty_tuples


@kernel_part
def _capacity(pool, caps, k):
    """Return how many records of a pool a cluster can still take, at most k; 0 for a pool with a NULL.

    A value of column s may have k / min_values[s] records of the cluster, rounded down; as many values as the remainder
    of this division may have one more. Columns with a minimum below 2 have no limit.

    Args:
        pool: Number of the pool.
        caps: `ValueCaps`.
        k: Records of a cluster.
    """
    capacity = np.int64(k)
    for s in range(len(caps.min_values)):
        value = caps.values[s, pool]
        if caps.min_values[s] < 2:
            continue
        if value < 0:
            return np.int64(0)
        cap = k // caps.min_values[s]
        if caps.counts[s, value] > cap or caps.n_above[s] < k % caps.min_values[s]:
            cap += 1
        capacity = np.int64(min(capacity, cap - caps.counts[s, value]))
    return capacity


@kernel_part
def _count_records(pool, n_records, caps, k):
    """Add `n_records` (negative: subtract) to the cluster's counts of a pool's sensitive values in `caps`, in place.

    Args:
        pool: Number of the pool.
        n_records: Number of records.
        caps: `ValueCaps`; counts and n_above are updated in place.
        k: Records of a cluster.
    """
    for s in range(len(caps.min_values)):
        value = caps.values[s, pool]
        if value < 0:
            continue
        old_count = caps.counts[s, value]
        caps.counts[s, value] += n_records
        caps.n_above[s] += int(caps.counts[s, value] > k // caps.min_values[s]) - int(
            old_count > k // caps.min_values[s]
        )


@kernel_part
def _select_records(size, k, n_held, nearest, n_remaining, caps, selected, numbers):
    """Select records of the nearest pools, in order and within the caps, until a cluster has k.

    Args:
        size: Number of near pools.
        k: Records of a cluster.
        n_held: Records that it has.
        nearest: The pools, the nearest first.
        n_remaining: Remaining records of each pool.
        caps: `ValueCaps`, unchanged in the end.
        selected, numbers: Output: the pools, and the number of records of each.

    Returns:
        Number of selected pools, and the number of records that the cluster has then.
    """
    n_selected = np.int64(0)
    for i in range(size):
        pool = nearest[i]
        number = min(min(n_remaining[pool], k - n_held), _capacity(pool, caps, k))
        if number > 0:
            _count_records(pool, number, caps, k)
            selected[n_selected], numbers[n_selected] = pool, number
            n_selected += 1
            n_held += number
            if n_held == k:
                break
    for i in range(n_selected):
        _count_records(selected[i], -numbers[i], caps, k)
    return n_selected, n_held


@kernel
def grow_capped_clusters(state, max_clusters, first_label, k, order, pools, caps, measure, codes_of, labels):
    """Form up to `max_clusters` clusters of k records: a seed and the nearest records that the caps on values allow.

    A pool is the records of one tuple with equal sensitive values; the seed is a record of the next pool in `order`. By
    the caps, sensitive column s has at least `min_values[s]` values in a cluster, each in about as many records.

    Args:
        state: Counters (see `NEXT_SEED` and `HAS_FAILED`); updated in place.
        max_clusters: Number of clusters after which to return.
        first_label: Number of the first cluster.
        k: Records of a cluster.
        order: Pools in the order of seeds.
        pools: `RecordPools`.
        caps: `ValueCaps`.
        measure: `LossArrays`.
        codes_of: Where the codes of each attribute begin in a table of losses.
        labels: Output: cluster of each record.

    Returns:
        Number of clusters, and number of examined pools.
    """
    levels = len(measure.terms)
    query = LossTables(np.empty((levels, 4), np.int64), codes_of, np.empty(codes_of[levels], np.int64))
    nearest, distances_ = np.empty(SEARCH_FACTOR * k, np.int64), np.empty(SEARCH_FACTOR * k, np.int64)
    selected, numbers = np.empty(k, np.int64), np.empty(k, np.int64)
    alive, n_alive = nonempty_tuples(pools.n_remaining)
    n_clusters, steps = np.int64(0), np.int64(0)
    while (
        n_clusters < max_clusters
        and state[N_REMAINING] >= k
        and state[NEXT_SEED] < len(order)
        and state[HAS_FAILED] == 0
    ):
        center = order[state[NEXT_SEED]]
        if pools.n_remaining[center] == 0 or _capacity(center, caps, k) == 0:
            state[NEXT_SEED] += 1
            continue
        fill_distance_query(pools.tuples[center], measure, query)
        pools.n_remaining[center] -= 1  # it comes first, before others of its tuple
        _count_records(center, np.int64(1), caps, k)
        while True:
            n_alive, size = search_nearest(
                pools.tuples[center],
                alive,
                n_alive,
                pools.n_remaining,
                pools.tuples,
                measure,
                query,
                nearest,
                distances_,
            )
            steps += n_alive
            n_selected, n_held = _select_records(
                size, k, np.int64(1), nearest, pools.n_remaining, caps, selected, numbers
            )
            if n_held == k or size == n_alive:
                break
            nearest, distances_ = (
                np.empty(SEARCH_FACTOR * len(nearest), np.int64),
                np.empty(SEARCH_FACTOR * len(nearest), np.int64),
            )
        _count_records(center, np.int64(-1), caps, k)
        if n_held < k:
            pools.n_remaining[center] += 1
            state[HAS_FAILED] = 1
            break
        labels[pools.rows[pools.ends[center] - pools.n_remaining[center] - 1]] = first_label + n_clusters
        for i in range(n_selected):
            start = pools.ends[selected[i]] - pools.n_remaining[selected[i]]
            labels[pools.rows[start : start + numbers[i]]] = first_label + n_clusters
            pools.n_remaining[selected[i]] -= numbers[i]
        state[N_REMAINING] -= k
        n_clusters += 1
    return n_clusters, steps


@kernel
def join_capped_clusters(first_row, max_steps, rows, n_spare, min_values, tuple_of, values, members, measure, clusters):
    """Add each row, from `first_row` on, to the cluster whose total loss grows least among those whose caps allow it.

    The caps: no value of sensitive column s has more than 1 / min_values[s] of a cluster's records, rounded up. A row
    without such a cluster is skipped while `n_spare` is above 0; later ones join the cluster of least growth in spite
    of the caps. Returns the next place in `rows`, the remaining `n_spare`, and the number of examined clusters.

    Args:
        first_row: The first place in `rows`.
        max_steps: Number of examined clusters after which to return.
        rows: Numbers of records.
        n_spare: Number of records that may be skipped.
        min_values: (columns,) number of different values that each column needs.
        tuple_of: (records,) number of the tuple of each record.
        values: (columns, records) codes of sensitive values, -1 for NULL.
        members: `ClusterMembers`; updated in place.
        measure: `LossArrays`.
        clusters: `LossClusters`; updated in place.
    """
    steps, i = np.int64(0), first_row
    while i < len(rows) and steps < max_steps:
        row = rows[i]
        tuple_id = tuple_of[row]
        lowest, best = np.int64(INFINITE_LOSS), np.int64(-1)
        fallback_growth, fallback = np.int64(INFINITE_LOSS), np.int64(-1)
        for c in range(len(clusters.sizes)):
            growth = loss_growth(clusters.losses[c], clusters.sizes[c], tuple_id, measure, clusters.spans[c], lowest)
            if growth >= lowest:
                continue
            if growth < fallback_growth:
                fallback_growth, fallback = growth, np.int64(c)
            if _fits_caps(row, min_values, values, members.previous, members.last[c], clusters.sizes[c]):
                lowest, best = growth, np.int64(c)
        steps += len(clusters.sizes)
        if best < 0 and n_spare > 0:
            n_spare -= 1
            i += 1
            continue
        if best < 0:
            best = fallback
        clusters.losses[best] = widen_class(clusters.losses[best], tuple_id, measure, clusters.spans[best])
        clusters.sizes[best] += 1
        members.previous[row], members.last[best] = members.last[best], row
        members.labels[row] = best
        i += 1
    return i, n_spare, steps


@kernel_part
def _fits_caps(row, min_values, values, previous, member, size):
    """Return whether record `row` can join a cluster of `size` records so that none of its values exceeds its cap.

    The cap of a value is (size + 1) / min_values[s], rounded up. NULLs and columns with a minimum below 2 do not count.

    Args:
        row: Number of the record.
        min_values: (columns,) number of different values that each column needs.
        values: (columns, records) codes of sensitive values, -1 for NULL.
        previous: The member of the same cluster before each record, -1 for none.
        member: The last member of the cluster.
        size: Number of records of the cluster.
    """
    for s in range(len(min_values)):
        if min_values[s] < 2 or values[s, row] < 0:
            continue
        n_equal, current = np.int64(1), member
        while current >= 0:
            if values[s, current] == values[s, row]:
                n_equal += 1
            current = previous[current]
        if n_equal > (size + min_values[s]) // min_values[s]:  # the next whole number of (size + 1) / least
            return False
    return True
