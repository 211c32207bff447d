"""Greedy growth of clusters by the record that costs least; for ELD until they are large and diverse enough.

The state of a cluster on the attributes with few values is an array (attributes, 2): the lowest common ancestor in a
hierarchy (first entry), or the least and the greatest code of a number. The first entry is ONLY_NULL if the cluster has
no value, and MIXED if it has NULL and values. On the axes, the state is the interval of a `SumQuery`.
"""

import numpy as np

from dbanon.kernels.index_tree import add_counts
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.tree_search import append_members, find_records

ONLY_NULL = -1
MIXED = -2


@kernel_part
def begin_state(seed, tabular, axes, axis_codes, terms, state, query, is_stale):
    """Set the state of a growing cluster, and the axis part of its query, to a cluster of one tuple (`seed`), in place.

    Args:
        seed: Number of the tuple.
        tabular, axes, axis_codes: Parts of `IndexArrays`.
        terms: `GrowthTerms`.
        state: State of the cluster on each attribute; updated in place.
        query: `SumQuery`, of which the interval of the cluster on each axis is used; updated in place.
        is_stale: Output: (attributes,) 1, as no table of an attribute fits the state any more.
    """
    for j in range(tabular.codes.shape[1]):
        code, values = tabular.codes[seed, j], terms.value_starts[j + 1] - terms.value_starts[j]
        if code == values:
            state[j, 0] = state[j, 1] = ONLY_NULL
        elif terms.kind[j] == 0:
            state[j, 0] = state[j, 1] = terms.node_or_place[terms.value_starts[j] + code]
        else:
            state[j, 0] = state[j, 1] = code
    if axes is not None:
        for a in range(len(axes.lengths)):
            query.n_nulls[a] = 0
            query.low[a] = query.high[a] = axes.places[axes.starts[a] + axis_codes[seed, a]]
    is_stale[:] = 1


@kernel_part
def join_tuple(t, tabular, axes, axis_codes, terms, state, query, is_stale):
    """Widen a growing cluster's state by tuple `t`, in place; return whether that changed it and its loss per record.

    Sets `is_stale` to 1 for attributes that it widened. Axes (numbers with many values) are widened in `query`.

    Args:
        t: Number of the tuple.
        tabular, axes, axis_codes: Parts of `IndexArrays`.
        terms: `GrowthTerms`.
        state: State of the cluster on each attribute; updated in place.
        query: `SumQuery`, of which the interval of the cluster on each axis is used; updated in place.
        is_stale: (attributes,) 1 where the table of an attribute does not fit the state any more; updated in place.
    """
    node_starts, value_starts, has_widened = terms.node_starts, terms.value_starts, False
    for j in range(tabular.codes.shape[1]):
        code, values = tabular.codes[t, j], value_starts[j + 1] - value_starts[j]
        bound, upper = state[j, 0], state[j, 1]
        if bound == MIXED or (bound == ONLY_NULL and code == values):
            continue
        if bound == ONLY_NULL or code == values:
            state[j, 0] = MIXED
        elif terms.kind[j] == 0:
            node = bound
            while not (terms.first[node_starts[j] + node] <= code and code < terms.last[node_starts[j] + node]):
                node = terms.parent[node_starts[j] + node]
            state[j, 0] = node
        else:
            state[j, 0], state[j, 1] = min(bound, code), max(upper, code)
        if state[j, 0] != bound or state[j, 1] != upper:
            is_stale[j], has_widened = 1, True
    if axes is not None:
        for a in range(len(axes.lengths)):
            place = axes.places[axes.starts[a] + axis_codes[t, a]]
            has_widened = has_widened or place < query.low[a] or place > query.high[a]
            query.low[a], query.high[a] = min(query.low[a], place), max(query.high[a], place)
    return has_widened


@kernel_part
def fill_attribute_losses(j, table_starts, terms, state, table_sums):
    """Fill the table of attribute `j`: the loss of a record of the growing cluster on it once each value is added.

    It begins at table_starts[j] in `table_sums`, and has one entry per value and a last one for NULL.

    Args:
        j: Number of the attribute.
        table_starts: Where the values of each attribute begin in `table_sums`.
        terms: `GrowthTerms`.
        state: State of the cluster on each attribute.
        table_sums: Output: losses by value of the attributes.
    """
    value_start, first, last = terms.value_starts[j], terms.first, terms.last
    begin, values = table_starts[j], terms.value_starts[j + 1] - value_start
    bound = state[j, 0]
    if bound == MIXED or bound == ONLY_NULL:
        for i in range(values):
            table_sums[begin + i] = terms.unit[j]
        table_sums[begin + values] = 0 if bound == ONLY_NULL else terms.unit[j]
        return
    table_sums[begin + values] = terms.unit[j]
    if terms.kind[j] == 1:
        low = terms.node_or_place[value_start + bound]
        high = terms.node_or_place[value_start + state[j, 1]]
        for i in range(values):
            place = terms.node_or_place[value_start + i]
            table_sums[begin + i] = max(high, place) - min(low, place)
        return
    # Every ancestor adds the values that it has and the node below it has not.
    node = bound
    done_from = done_to = first[terms.node_starts[j] + node]
    while node >= 0:
        node_index = terms.node_starts[j] + node
        for i in range(first[node_index], done_from):
            table_sums[begin + i] = terms.height[node_index]
        for i in range(done_to, last[node_index]):
            table_sums[begin + i] = terms.height[node_index]
        done_from, done_to = first[node_index], last[node_index]
        node = terms.parent[node_index]


@kernel_part
def find_extreme_tuple(sign, index, terms, query, state, is_stale, query_result, query_counts):
    """Return the remaining tuple with which a record of the cluster loses least (`sign` 1) or most (-1).

    The tables of stale attributes are filled first, and `is_stale` becomes 0. Ties: the first tuple.

    Args:
        sign: 1 or -1.
        index: `IndexArrays`.
        terms: `GrowthTerms`.
        query: `SumQuery`: its tables have the loss of a record once a value is added; updated in place.
        state: State of the cluster on each attribute.
        is_stale: (attributes,) 1 where the table of an attribute does not fit the state any more; updated in place.
        query_result, query_counts: Scratch.
    """
    tree, tabular, axes, _ = index
    for j in range(len(tabular.starts)):
        if is_stale[j] == 1:
            fill_attribute_losses(j, tabular.starts, terms, state, query.table_sums)
            is_stale[j] = 0
    find_records(tree, tabular, axes, query, sign, np.int64(1), query_result, query_counts)
    return query_result[0]


@kernel_part
def tuple_of_record(tree, rank):
    """Return the tuple of the record number `rank`, from 0, among the remaining records in the order of the index.

    Args:
        tree: `TupleTree`.
        rank: Number of the record, from 0.
    """
    node = 0
    while tree.tuples[node] < 0:
        for child in range(tree.first_child[node], tree.first_child[node] + tree.n_children[node]):
            if rank < tree.n_remaining[child]:
                node = child
                break
            rank -= tree.n_remaining[child]
    return tree.tuples[node]


@kernel
def greedy_steps(index, terms, query, k, seeding, reference, draws, max_clusters, members):
    """Form up to `max_clusters` clusters of k records: a seed, then repeatedly the record that adds the least loss.

    Args:
        index: `IndexArrays`.
        terms: `GrowthTerms`.
        query: Scratch: `SumQuery`.
        k: Records of a cluster.
        seeding: 0: the record farthest from `reference`, which the seed then replaces; 1: a random record; 2: the first
            remaining record.
        reference: Tuple of the last seed.
        draws: Random numbers in [0, 1), one per cluster, for seeding 1.
        max_clusters: Number of clusters after which to return.
        members: Output: rows (tuple, number of records); a row of -1 ends a cluster.

    Returns:
        Rows used in `members`, and the last seed.
    """
    tree, tabular, axes, axis_codes = index
    n_remaining, tuple_remaining, n_tabular = tree.n_remaining, tree.tuple_remaining, len(tabular.starts)
    state, is_stale = np.empty((max(n_tabular, 1), 2), np.int64), np.empty(max(n_tabular, 1), np.int64)
    query_result, query_counts = np.empty(2, np.int64), np.ones(2, np.int64)
    cluster_tuples, tuple_counts = np.empty(k + 1, np.int64), np.empty(k + 1, np.int64)
    n_rows, n_clusters, pointer = 0, 0, 0
    while n_clusters < max_clusters and n_remaining[0] >= k:
        if seeding == 0:
            begin_state(reference, tabular, axes, axis_codes, terms, state, query, is_stale)
            seed = reference = find_extreme_tuple(
                np.int64(-1), index, terms, query, state, is_stale, query_result, query_counts
            )
        elif seeding == 1:
            seed = tuple_of_record(tree, np.int64(min(draws[n_clusters] * n_remaining[0], n_remaining[0] - 1)))
        else:
            while tuple_remaining[pointer] == 0:
                pointer += 1
            seed = pointer
        begin_state(seed, tabular, axes, axis_codes, terms, state, query, is_stale)
        # Equal records cost what a record loses already, which nothing undercuts; others may come first in order.
        n_held, size = np.int64(0), 0
        tuple_now, count = seed, np.int64(1)
        while True:
            query_result[0], query_counts[0] = tuple_now, -count
            add_counts(tree, tabular, query_result[:1], query_counts[:1])
            n_held += count
            known_place = -1
            for i in range(size):
                if cluster_tuples[i] == tuple_now:
                    known_place = i
            if known_place >= 0:
                tuple_counts[known_place] += count
            else:
                cluster_tuples[size], tuple_counts[size] = tuple_now, count
                size += 1
            if n_held == k:
                break
            tuple_now = find_extreme_tuple(
                np.int64(1), index, terms, query, state, is_stale, query_result, query_counts
            )
            has_widened = join_tuple(tuple_now, tabular, axes, axis_codes, terms, state, query, is_stale)
            count = np.int64(1) if has_widened else min(tuple_remaining[tuple_now], k - n_held)
        n_rows = append_members(cluster_tuples, tuple_counts, size, members, n_rows)
        n_clusters += 1
    return n_rows, reference


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
