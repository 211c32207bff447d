"""Greedy growth of clusters by the record that costs least.

The loss terms of attributes are given by `terms`: kind (0 tree, 1 number) and unit by attribute with few values; where
its nodes and its values begin; parent, height and code after the last value by node; first value's code by node; node
or place by value. The state of a cluster on an attribute is two numbers: the lowest common ancestor, or least and
greatest code; -1 if it has NULLs only, -2 if it mixes NULL and values.
"""

import numpy as np

from dbanon.kernels.index_tree import add_counts
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.tree_search import append_members, find_records

ONLY_NULL = -1
MIXED = -2


@kernel_part
def begin_state(seed, tabular, axis, axis_codes, terms, state, query):
    """Set the state of a growing cluster, and the axis part of its query, to a cluster of one tuple (`seed`), in place.

    Args:
        seed: Number of the tuple.
        tabular: The attributes with few values (see `IndexArrays`): codes (tuples, attributes), where the values of
            each attribute begin, remaining records by value.
        axis: The axes, that is, numbers with many values (see `IndexArrays`): places, where those of each axis begin,
            their number, distance of NULL, where chunks begin; None if there are no axes.
        axis_codes: (tuples, axes) int32: codes of the tuples on the axes.
        terms: Loss terms of the attributes with few values: kind (0 hierarchy, 1 number), unit, first node and first
            value of each attribute; parent, height, code after the last and first code of each node; node or place of
            each value.
        state: (attributes, 2): lowest common ancestor (first entry), or least and greatest code; the first entry is -1
            for NULLs only, -2 for NULL and values; updated in place.
        query: Axis part of the query: least and greatest place of the cluster on each axis, and counts of NULLs;
            updated in place.
    """
    codes, kind, value_at, node_of = tabular[0], terms[0], terms[3], terms[8]
    for j in range(codes.shape[1]):
        code, values = codes[seed, j], value_at[j + 1] - value_at[j]
        if code == values:
            state[j, 0] = state[j, 1] = ONLY_NULL
        elif kind[j] == 0:
            state[j, 0] = state[j, 1] = node_of[value_at[j] + code]
        else:
            state[j, 0] = state[j, 1] = code
    if axis is not None:
        for a in range(len(axis[2])):
            query[2][2 * a] = 0
            query[0][a] = query[1][a] = axis[0][axis[1][a] + axis_codes[seed, a]]


@kernel_part
def join_tuple(t, tabular, axis, axis_codes, terms, state, query, is_stale):
    """Widen a growing cluster's state by tuple `t`, in place, and set `is_stale` to 1 for attributes that it widened.

    Axes (numbers with many values) are widened in `query`.

    Args:
        t: Number of the tuple.
        tabular: The attributes with few values (see `IndexArrays`): codes (tuples, attributes), where the values of
            each attribute begin, remaining records by value.
        axis: The axes, that is, numbers with many values (see `IndexArrays`): places, where those of each axis begin,
            their number, distance of NULL, where chunks begin; None if there are no axes.
        axis_codes: (tuples, axes) int32: codes of the tuples on the axes.
        terms: Loss terms of the attributes with few values: kind (0 hierarchy, 1 number), unit, first node and first
            value of each attribute; parent, height, code after the last and first code of each node; node or place of
            each value.
        state: (attributes, 2): lowest common ancestor (first entry), or least and greatest code; the first entry is -1
            for NULLs only, -2 for NULL and values; updated in place.
        query: Axis part of the query: least and greatest place of the cluster on each axis, and counts of NULLs;
            updated in place.
        is_stale: (attributes,) 1 where the table of an attribute does not fit the state any more; updated in place.
    """
    codes, kind, node_at, value_at = tabular[0], terms[0], terms[2], terms[3]
    parent, last, first = terms[4], terms[6], terms[7]
    for j in range(codes.shape[1]):
        code, values = codes[t, j], value_at[j + 1] - value_at[j]
        bound = state[j, 0]
        if bound == MIXED or (bound == ONLY_NULL and code == values):
            continue
        if bound == ONLY_NULL or code == values:
            state[j, 0], is_stale[j] = MIXED, 1
        elif kind[j] == 0:
            while not (first[node_at[j] + bound] <= code and code < last[node_at[j] + bound]):
                bound = parent[node_at[j] + bound]
                is_stale[j] = 1
            state[j, 0] = bound
        elif code < bound:
            state[j, 0], is_stale[j] = code, 1
        elif code > state[j, 1]:
            state[j, 1], is_stale[j] = code, 1
    if axis is not None:
        for a in range(len(axis[2])):
            place = axis[0][axis[1][a] + axis_codes[t, a]]
            query[0][a], query[1][a] = min(query[0][a], place), max(query[1][a], place)


@kernel_part
def fill_attribute_losses(j, table_starts, terms, state, table_sums):
    """Fill the table of attribute `j`: the loss of a record of the growing cluster on it once each value is added.

    It begins at table_starts[j] in `table_sums`, and has one entry per value and a last one for NULL.

    Args:
        j: Number of the attribute.
        table_starts: Where the values of each attribute begin in `table_sums`.
        terms: Loss terms of the attributes with few values: kind (0 hierarchy, 1 number), unit, first node and first
            value of each attribute; parent, height, code after the last and first code of each node; node or place of
            each value.
        state: (attributes, 2): lowest common ancestor (first entry), or least and greatest code; the first entry is -1
            for NULLs only, -2 for NULL and values.
        table_sums: Output: losses by value of the attributes.
    """
    kind, unit, node_at, value_at = terms[0], terms[1], terms[2], terms[3]
    parent, height, last, first, node_or_place = terms[4], terms[5], terms[6], terms[7], terms[8]
    begin, values = table_starts[j], value_at[j + 1] - value_at[j]
    bound = state[j, 0]
    if bound == MIXED or bound == ONLY_NULL:
        for i in range(values):
            table_sums[begin + i] = unit[j]
        table_sums[begin + values] = 0 if bound == ONLY_NULL else unit[j]
        return
    table_sums[begin + values] = unit[j]
    if kind[j] == 1:
        low, high = node_or_place[value_at[j] + bound], node_or_place[value_at[j] + state[j, 1]]
        for i in range(values):
            place = node_or_place[value_at[j] + i]
            table_sums[begin + i] = max(high, place) - min(low, place)
        return
    # Every ancestor adds the values that it has and the node below it has not.
    node = bound
    done_from = done_to = first[node_at[j] + node]
    while node >= 0:
        node_index = node_at[j] + node
        for i in range(first[node_index], done_from):
            table_sums[begin + i] = height[node_index]
        for i in range(done_to, last[node_index]):
            table_sums[begin + i] = height[node_index]
        done_from, done_to = first[node_index], last[node_index]
        node = parent[node_index]


@kernel_part
def find_extreme_tuple(sign, index, terms, table_sums, query, state, is_stale, query_result, query_counts):
    """Return the remaining tuple with which a record of the cluster loses least (`sign` 1) or most (-1).

    The tables of stale attributes are filled first, and `is_stale` becomes 0. Ties: the first tuple.

    Args:
        sign: 1 or -1.
        index: `IndexArrays`.
        terms: Loss terms of the attributes with few values: kind (0 hierarchy, 1 number), unit, first node and first
            value of each attribute; parent, height, code after the last and first code of each node; node or place of
            each value.
        table_sums: By value of the attributes, the loss of a record once it is added; updated in place.
        query: Axis part of the query: least and greatest place of the cluster on each axis, and counts of NULLs.
        state: (attributes, 2): lowest common ancestor (first entry), or least and greatest code; the first entry is -1
            for NULLs only, -2 for NULL and values.
        is_stale: (attributes,) 1 where the table of an attribute does not fit the state any more; updated in place.
        query_result, query_counts: Scratch.
    """
    tree, tabular, axis, _ = index
    for j in range(len(tabular[1])):
        if is_stale[j] == 1:
            fill_attribute_losses(j, tabular[1], terms, state, table_sums)
            is_stale[j] = 0
    find_records(tree, tabular, axis, table_sums, query, sign, np.int64(1), query_result, query_counts)
    return query_result[0]


@kernel_part
def tuple_of_record(tree, rank):
    """Return the tuple of the record number `rank`, from 0, among the remaining records in the order of the index.

    Args:
        tree: `IndexArrays.tree`.
        rank: Number of the record, from 0.
    """
    n_remaining, kid, kids, tuples = tree[2], tree[4], tree[5], tree[8]
    node = 0
    while tuples[node] < 0:
        for child in range(kid[node], kid[node] + kids[node]):
            if rank < n_remaining[child]:
                node = child
                break
            rank -= n_remaining[child]
    return tuples[node]


@kernel
def greedy_steps(index, terms, table_sums, query, k, seeding, reference, draws, max_clusters, members):
    """Form up to `max_clusters` clusters of k records: a seed, then repeatedly the record that adds the least loss.

    Args:
        index: `IndexArrays`.
        terms: Loss terms, see `fill_attribute_losses`.
        table_sums: Scratch: table part of a query.
        query: Scratch: axis part of a query.
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
    tree, tabular, axis, axis_codes = index
    n_remaining, tuple_remaining, n_tabular = tree[2], tree[3], len(tabular[1])
    state, is_stale = np.empty((max(n_tabular, 1), 2), np.int64), np.empty(max(n_tabular, 1), np.int64)
    query_result, query_counts = np.empty(2, np.int64), np.ones(2, np.int64)
    cluster_tuples, tuple_counts = np.empty(k + 1, np.int64), np.empty(k + 1, np.int64)
    n_rows, n_clusters, pointer = 0, 0, 0
    while n_clusters < max_clusters and n_remaining[0] >= k:
        if seeding == 0:
            begin_state(reference, tabular, axis, axis_codes, terms, state, query)
            is_stale[:] = 1
            seed = reference = find_extreme_tuple(
                np.int64(-1), index, terms, table_sums, query, state, is_stale, query_result, query_counts
            )
        elif seeding == 1:
            seed = tuple_of_record(tree, np.int64(min(draws[n_clusters] * n_remaining[0], n_remaining[0] - 1)))
        else:
            while tuple_remaining[pointer] == 0:
                pointer += 1
            seed = pointer
        begin_state(seed, tabular, axis, axis_codes, terms, state, query)
        is_stale[:] = 1
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
            join_tuple(tuple_now, tabular, axis, axis_codes, terms, state, query, is_stale)
            tuple_now = find_extreme_tuple(
                np.int64(1), index, terms, table_sums, query, state, is_stale, query_result, query_counts
            )
            fits_inside = is_inside(tuple_now, tabular, axis, axis_codes, terms, state, query)
            count = min(tuple_remaining[tuple_now], k - n_held) if fits_inside else np.int64(1)
        n_rows = append_members(cluster_tuples, tuple_counts, size, members, n_rows)
        n_clusters += 1
    return n_rows, reference


@kernel_part
def is_inside(t, tabular, axis, axis_codes, terms, state, query):
    """Return whether adding tuple `t` to a cluster would leave its state, and so its loss per record, unchanged.

    Args:
        t: Number of the tuple.
        tabular: The attributes with few values (see `IndexArrays`): codes (tuples, attributes), where the values of
            each attribute begin, remaining records by value.
        axis: The axes, that is, numbers with many values (see `IndexArrays`): places, where those of each axis begin,
            their number, distance of NULL, where chunks begin; None if there are no axes.
        axis_codes: (tuples, axes) int32: codes of the tuples on the axes.
        terms: Loss terms of the attributes with few values: kind (0 hierarchy, 1 number), unit, first node and first
            value of each attribute; parent, height, code after the last and first code of each node; node or place of
            each value.
        state: (attributes, 2): lowest common ancestor (first entry), or least and greatest code; the first entry is -1
            for NULLs only, -2 for NULL and values.
        query: Axis part of the query: least and greatest place of the cluster on each axis, and counts of NULLs.
    """
    codes, kind, node_at, value_at = tabular[0], terms[0], terms[2], terms[3]
    last, first = terms[6], terms[7]
    for j in range(codes.shape[1]):
        code, values = codes[t, j], value_at[j + 1] - value_at[j]
        bound = state[j, 0]
        if bound == MIXED:
            continue
        if bound == ONLY_NULL or code == values:
            if bound != ONLY_NULL or code != values:
                return False
        elif kind[j] == 0:
            node_index = node_at[j] + bound
            if code < first[node_index] or code >= last[node_index]:
                return False
        elif code < bound or code > state[j, 1]:
            return False
    if axis is not None:
        for a in range(len(axis[2])):
            place = axis[0][axis[1][a] + axis_codes[t, a]]
            if place < query[0][a] or place > query[1][a]:
                return False
    return True
