"""Clusters that grow by the best record of loss and diversity, until the loss exceeds a threshold.

A pool is the records of one tuple with the same sensitive values, its kind; pools are sorted by kind, then by tuple.
The loss with a pool changes only when the cluster widens, and diversity is the same for all pools of a kind: so each
kind has one candidate, which is searched for again when the cluster widens or the candidate has no more records.
"""

import math

import numpy as np

from dbanon.kernels.arrays import LAST_LOSS, LAST_SIZE, N_STARTED, NEXT_IN_ORDER
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.k_nearest import swap_to
from dbanon.kernels.loss import begin_class, widen_class
from dbanon.kernels.min_loss_assignment import loss_with_tuple, update_code_losses

DIVERSITY_UNITS = 10**9
"""The greatest diversity as an integer, so that results do not depend on the machine's logarithm, and sums are exact.
"""


@kernel_part
def _missing_diversity(counts, value, size, logs, n_values):
    """Return by how much a cluster's diversity is below the greatest possible once a value is added.

    Diversity is the entropy of a sensitive column's values, divided by the log of the number of values that `size`
    records can have; without a choice of values, all of it counts as missing.

    Args:
        counts: Records of the cluster by value.
        value: The value of the record that would join.
        size: Records of the cluster with it.
        logs: Sum of c log c of the counts.
        n_values: Number of different values of the column.
    """
    max_distinct = min(size, n_values)
    if max_distinct < 2:
        return np.int64(DIVERSITY_UNITS)
    count = counts[value]
    entropy = math.log(size) - (logs[0] - _n_log_n(count) + _n_log_n(count + 1)) / size
    return np.int64(DIVERSITY_UNITS) - np.int64(
        math.floor(min(max(entropy / math.log(max_distinct), 0.0), 1.0) * DIVERSITY_UNITS + 0.5)
    )


@kernel_part
def _n_log_n(number):
    """Return n times the natural logarithm of n; 0 for 0 and 1."""
    return number * math.log(number) if number > 1 else 0.0


@kernel_part
def _next_candidate(kind, begins, n_remaining, sums, lowest, candidates):
    """Replace the exhausted candidate of a kind by its next best pool; return how many pools were examined.

    The best pool is the first one of the least loss that has remaining records; candidates[kind] is -1 if none has.

    Args:
        kind: The kind: sensitive values that its pools have in common.
        begins: (kinds + 1,) first pool of each kind.
        n_remaining: (pools,) remaining records of each pool.
        sums: (pools,) loss per record of the cluster with a record of each pool.
        lowest: A lower bound of `sums`. If the exhausted candidate has this loss, only later pools can have it, too:
            they are searched first, and the search ends at the first one with this loss and remaining records.
        candidates: (kinds,) present candidate of each kind; updated in place.
    """
    start, last = begins[kind], candidates[kind]
    if sums[last] == lowest:
        for pool in range(last + 1, begins[kind + 1]):
            if n_remaining[pool] > 0 and sums[pool] == lowest:
                candidates[kind] = pool
                return pool - last
    best = np.int64(-1)
    for pool in range(start, begins[kind + 1]):
        if n_remaining[pool] > 0 and (best < 0 or sums[pool] < sums[best]):
            best = np.int64(pool)
    candidates[kind] = best
    return begins[kind + 1] - start


@kernel
def threshold_steps(state, max_steps, options, ordered_pools, measure, codes_of, growth, labels):
    """Form clusters until all records are in one, or about `max_steps` pools were examined; return how many were.

    A cluster begins with the next record in order, and grows by the pool with the best score of loss and diversity
    until the loss per record would exceed the threshold. Labels and all state are updated in place.

    Args:
        state: Counters, see `NEXT_IN_ORDER`; updated in place.
        max_steps: Number of examined pools after which to return.
        options: `ThresholdOptions`.
        ordered_pools: `ThresholdPools`.
        measure: `LossArrays`.
        codes_of: Where the codes of each attribute begin in a table of losses.
        growth: `ThresholdGrowth`.
        labels: Output: cluster of each record.
    """
    threshold, weight, max_loss = options
    pools, order, first, place, values, begins, number_of = ordered_pools
    span, counts, logs, sums, candidates = growth
    levels, columns = len(measure.terms), len(values)
    table, old_span, steps = np.empty(codes_of[levels], np.int64), np.empty((levels, 2), np.int64), np.int64(0)
    while steps < max_steps and (state[LAST_SIZE] > 0 or state[NEXT_IN_ORDER] < len(order)):
        if state[LAST_SIZE] == 0:
            row = order[state[NEXT_IN_ORDER]]
            state[NEXT_IN_ORDER] += 1
            if labels[row] >= 0:
                continue
            pool = pools.pool_of[row]
            swap_to(row, pools.ends[pool] - pools.n_remaining[pool], pools.rows, place)
            state[N_STARTED] += 1
            counts[:] = 0
            logs[:] = 0
            state[LAST_LOSS] = begin_class(pools.tuples[pool], measure, span)
            is_wider = True
        else:
            pool, best = np.int64(-1), 0.0
            for kind in range(len(candidates)):
                candidate = candidates[kind]
                if candidate < 0:
                    continue
                missing = np.int64(0)
                for s in range(columns):
                    missing += _missing_diversity(
                        counts[s], values[s, kind], state[LAST_SIZE] + 1, logs[s], number_of[s]
                    )
                score = (1.0 - weight) * sums[candidate] + weight * max_loss * (missing / (DIVERSITY_UNITS * columns))
                if pool >= 0 and (score > best or (score == best and sums[candidate] > sums[pool])):
                    continue
                if pool < 0 or score < best or sums[candidate] < sums[pool] or first[candidate] < first[pool]:
                    pool, best = candidate, score
            steps += len(candidates)
            if pool < 0 or sums[pool] > threshold:
                state[LAST_SIZE] = 0
                continue
            is_wider = sums[pool] > state[LAST_LOSS]
            if is_wider:
                state[LAST_LOSS] = widen_class(state[LAST_LOSS], pools.tuples[pool], measure, span)
        labels[pools.rows[pools.ends[pool] - pools.n_remaining[pool]]] = state[N_STARTED] - 1
        pools.n_remaining[pool] -= 1
        state[LAST_SIZE] += 1
        for s in range(columns):
            value = values[s, pools.kinds[pool]]
            logs[s, 0] += _n_log_n(counts[s, value] + 1) - _n_log_n(counts[s, value])
            counts[s, value] += 1
        if is_wider:
            old_span[:] = -1
            update_code_losses(span, old_span, codes_of, measure, table)
            candidates[:] = -1
            for i in range(len(pools.n_remaining)):
                if pools.n_remaining[i] == 0:
                    continue
                total = loss_with_tuple(pools.tuples[i], measure, span, codes_of, table)
                sums[i] = total
                best_of = candidates[pools.kinds[i]]
                if best_of < 0 or total < sums[best_of]:
                    candidates[pools.kinds[i]] = i
            steps += len(pools.n_remaining)
        elif pools.n_remaining[pool] == 0:
            steps += _next_candidate(pools.kinds[pool], begins, pools.n_remaining, sums, state[LAST_LOSS], candidates)
    return steps
