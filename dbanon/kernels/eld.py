"""Greedy growth of clusters until they are large and diverse enough (see `dbanon.kernels.greedy`)."""

import numpy as np

from dbanon.kernels.greedy import begin_state, find_extreme_tuple, join_tuple
from dbanon.kernels.index_tree import add_counts
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.tree_search import append_members


@kernel_part
def _lacks_values(counts, min_values):
    """Return whether any sensitive column has fewer distinct values than `min_values` requires.

    `counts` (columns, values) has the records of each value; NULLs are not counted.

    Args:
        counts: (columns, values) records by sensitive value.
        min_values: (columns,) number of distinct values that each column needs.
    """
    for s in range(len(min_values)):
        if np.count_nonzero(counts[s]) < min_values[s]:
            return True
    return False


@kernel
def eld_steps(index, terms, query, k, records, reference, is_first, max_clusters, members):
    """Form up to `max_clusters` clusters of at least k records with enough distinct values in every sensitive column.

    A seed is the record farthest from `reference`, which it then replaces (with `is_first`, the reference is the first
    seed); the records that cost least are added until the cluster is complete.

    Args:
        index: `IndexArrays`.
        terms: `GrowthTerms`.
        query: Scratch: `SumQuery`.
        k: Fewest records of a cluster.
        records: `DiverseRecords`.
        reference: Tuple of the last seed.
        is_first: Whether the reference is the seed of the first cluster.
        max_clusters: Number of clusters after which to return.
        members: Output: rows (tuple, number of records); a row of -1 ends a cluster.

    Returns:
        Rows used in `members`, the last seed, and whether to call again. It returns early if the next cluster might not
        fit.
    """
    tree, tabular, axes, axis_codes = index
    min_values, codes, starts, counts, value_remaining = records
    n_tabular, tuples = len(tabular.starts), len(starts)
    state, is_stale = np.empty((max(n_tabular, 1), 2), np.int64), np.empty(max(n_tabular, 1), np.int64)
    query_result, query_counts = np.empty(2, np.int64), np.ones(2, np.int64)
    cluster_tuples, tuple_counts = np.empty(tuples, np.int64), np.empty(tuples, np.int64)
    place = np.full(tuples, -1, np.int64)
    held_counts = np.zeros(value_remaining.shape, np.int64)
    n_rows, n_clusters = 0, 0
    while n_clusters < max_clusters and n_rows + tuples + 1 <= len(members):
        if tree.n_remaining[0] < k or _lacks_values(value_remaining, min_values):
            return n_rows, reference, False
        if not is_first:
            begin_state(reference, tabular, axes, axis_codes, terms, state, query, is_stale)
            reference = find_extreme_tuple(
                np.int64(-1), index, terms, query, state, is_stale, query_result, query_counts
            )
        current, is_first = reference, False
        begin_state(current, tabular, axes, axis_codes, terms, state, query, is_stale)
        held_counts[:] = 0
        n_held, size, max_count = np.int64(0), 0, np.int64(1)
        is_complete = False
        while True:
            count = np.int64(0)
            while count < max_count and not is_complete:
                row = starts[current] + counts[current] - tree.tuple_remaining[current] + count
                for s in range(len(codes)):
                    if codes[s, row] >= 0:
                        held_counts[s, codes[s, row]] += 1
                        value_remaining[s, codes[s, row]] -= 1
                count += 1
                is_complete = n_held + count >= k and not _lacks_values(held_counts, min_values)
            query_result[0], query_counts[0] = current, -count
            add_counts(tree, tabular, query_result[:1], query_counts[:1])
            n_held += count
            if place[current] < 0:
                place[current], cluster_tuples[size], tuple_counts[size] = size, current, 0
                size += 1
            tuple_counts[place[current]] += count
            if is_complete:  # at the latest with all that is left, which is large and diverse enough
                break
            current = find_extreme_tuple(np.int64(1), index, terms, query, state, is_stale, query_result, query_counts)
            has_widened = join_tuple(current, tabular, axes, axis_codes, terms, state, query, is_stale)
            max_count = np.int64(1) if has_widened else tree.tuple_remaining[current]
        for i in range(size):
            place[cluster_tuples[i]] = -1
        n_rows = append_members(cluster_tuples, tuple_counts, size, members, n_rows)
        n_clusters += 1
    return n_rows, reference, True
