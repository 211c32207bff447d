"""Searches of the tuple index for the least sums, depth-first and best child first; and clustering by them."""

import numpy as np

from dbanon.kernels.allocate import empty_int64
from dbanon.kernels.axis_sums import add_to_axis, axes_bound, axis_minima
from dbanon.kernels.heap import push_and_trim, sort_heap
from dbanon.kernels.index_tree import add_counts
from dbanon.kernels.jit import kernel, kernel_part


@kernel_part
def find_records(tree, tabular, axes, query, sign, records, tuple_ids, record_counts):
    """Find the remaining records with the least sums; write their tuples and counts; return the number of tuples.

    Tuples are in the order of their sums (ties: the first); the last count is cut so that there are no more than
    `records` records. A node is skipped if its bound is above the worst of enough candidates, or equal to it with only
    later tuples below. Visited nodes are counted in the tree.

    Args:
        tree, tabular, axes: Parts of `IndexArrays`.
        query: `SumQuery`.
        sign: 1, or -1 for the greatest sums.
        records: Number of records.
        tuple_ids, record_counts: Output.
    """
    if records <= 0:
        return 0
    n_remaining, tuple_remaining, first, boxes = tree.n_remaining, tree.tuple_remaining, tree.first, tree.boxes
    table_sums, starts, code = query.table_sums, tabular.starts, tree.code
    levels, n_axes = len(starts), 0
    rest_bounds = empty_int64(levels + 1)
    rest_bounds[levels] = 0
    if axes is not None:
        n_axes = len(axes.lengths)
        minima = axis_minima(axes, query)
        rest_bounds[levels] = axes_bound(np.int64(0), boxes, axes, query, minima, sign)
    for j in range(levels - 1, -1, -1):
        end = starts[j + 1] if j + 1 < levels else len(table_sums)
        smallest, has_value = np.int64(0), False
        for i in range(starts[j], end):
            value = sign * table_sums[i]
            if tabular.value_remaining[i] > 0 and (not has_value or value < smallest):
                smallest, has_value = value, True
        rest_bounds[j] = rest_bounds[j + 1] + smallest
    room = min(records, len(tuple_remaining)) + 1
    sums, heap_tuples = empty_int64(room), empty_int64(room)
    size, n_held, steps = np.int64(0), np.int64(0), np.int64(len(table_sums))
    depth = 512
    stack = empty_int64(3 * depth)  # node, bound, and what the attributes above it add
    stack[0], stack[1], stack[2] = 0, rest_bounds[0], 0
    top = 1
    while top > 0:
        top -= 1
        node, bound, partial = stack[3 * top], stack[3 * top + 1], stack[3 * top + 2]
        if n_held >= records and (bound > sums[0] or (bound == sums[0] and first[node] > heap_tuples[0])):
            continue
        if tree.tuples[node] >= 0:
            size, n_held = push_and_trim(
                sums, heap_tuples, size, n_held, bound, np.int64(tree.tuples[node]), tuple_remaining, records
            )
            continue
        n_children = tree.n_children[node]
        if top + n_children > depth:
            depth = 2 * (top + n_children)
            bigger = empty_int64(3 * depth)
            for i in range(3 * top):
                bigger[i] = stack[i]
            stack = bigger
        begin = best = top
        below = tree.level[node] + 1
        steps += n_children * (1 if below <= levels else 1 + 8 * n_axes)
        for child in range(tree.first_child[node], tree.first_child[node] + n_children):
            if n_remaining[child] == 0:
                continue
            partial_sum = partial
            if below <= levels:
                partial_sum += sign * table_sums[starts[below - 1] + code[child]]
            total = partial_sum
            if below < levels or n_axes == 0:
                total += rest_bounds[below]
            elif axes is not None:
                total += axes_bound(child, boxes, axes, query, minima, sign)
            if n_held >= records and (total > sums[0] or (total == sums[0] and first[child] > heap_tuples[0])):
                continue
            stack[3 * top], stack[3 * top + 1], stack[3 * top + 2] = child, total, partial_sum
            if total < stack[3 * best + 1]:
                best = top
            top += 1
        if top - begin > 1 and best != top - 1:
            for c in range(3):
                slot, last = 3 * best + c, 3 * (top - 1) + c
                stack[slot], stack[last] = stack[last], stack[slot]
    tree.n_steps[0] += steps
    sort_heap(sums, heap_tuples, size)
    for i in range(size):
        tuple_ids[i], record_counts[i] = heap_tuples[i], tuple_remaining[heap_tuples[i]]
    if size > 0:
        record_counts[size - 1] -= n_held - records
    return size


@kernel
def search_records(tree, tabular, axes, query, sign, records, tuple_ids, record_counts):
    """Call `find_records` from Python: find the records with the least sums, and return the number of their tuples.

    Args:
        tree: `TupleTree`; the counter of steps is increased.
        tabular, axes: Parts of `IndexArrays`.
        query: `SumQuery`.
        sign: 1 for the least sums, -1 for the greatest.
        records: Number of records.
        tuple_ids: Output: tuples, in the order of their sums.
        record_counts: Output: number of records of each tuple.
    """
    return find_records(tree, tabular, axes, query, sign, records, tuple_ids, record_counts)


@kernel_part
def _add_table_distances(seed, times, tabular, search, table_sums):
    """Add the distances to tuple `seed`, `times` times, to sums by value of the attributes with few values, in place.

    Args:
        seed: Number of the tuple.
        times: How often the distances are added.
        tabular: `TabularAttributes`.
        search: `SeedSearch`.
        table_sums: int64: sums by value of the attributes; updated in place.
    """
    starts = tabular.starts
    for j in range(len(starts)):
        width = (starts[j + 1] if j + 1 < len(starts) else len(table_sums)) - starts[j]
        row = search.table_starts[j] + tabular.codes[seed, j] * width
        for i in range(width):
            table_sums[starts[j] + i] += times * search.tables[row + i]


@kernel_part
def fill_distance_query(seed, tabular, axes, axis_codes, search):
    """Set the query for the nearest records, in place, to the distances to the tuple `seed`.

    It becomes one place (or NULL) per axis; its prefix sums are not changed.

    Args:
        seed: Number of the tuple.
        tabular, axes, axis_codes: Parts of `IndexArrays`.
        search: `SeedSearch`; its `near` is updated in place.
    """
    near = search.near
    near.table_sums[:] = 0
    _add_table_distances(seed, np.int64(1), tabular, search, near.table_sums)
    if axes is not None:
        for a in range(len(axes.lengths)):
            code = axis_codes[seed, a]
            near.n_nulls[a] = 1 if code == axes.lengths[a] else 0
            near.low[a] = near.high[a] = axes.places[axes.starts[a] + code]


@kernel_part
def add_distances(seed, times, tabular, axes, axis_codes, search):
    """Add the distances to tuple `seed`, `times` times, to the summed distances to all seeds, in place.

    Args:
        seed: Number of the tuple.
        times: How often the distances are added.
        tabular, axes, axis_codes: Parts of `IndexArrays`.
        search: `SeedSearch`; its sums are updated in place.
    """
    sums = search.sums
    _add_table_distances(seed, times, tabular, search, sums.table_sums)
    if axes is not None:
        for a in range(len(axes.lengths)):
            code = np.int64(axis_codes[seed, a])
            if code == axes.lengths[a]:
                sums.n_nulls[a] += times
            else:
                sums.n_places[a] += times
                add_to_axis(axes, sums, a, code, times)


@kernel_part
def append_members(tuple_ids, record_counts, size, members, n_rows):
    """Append a cluster of `size` tuples and a row of -1 to `members`; return the number of rows used then.

    Args:
        tuple_ids: Numbers of tuples.
        record_counts: Number of records of each of `tuple_ids`.
        size: Number of tuples.
        members: Output: rows (tuple, number of records); a row of -1 ends a cluster.
        n_rows: Number of rows of `members` that are used already.
    """
    for i in range(size):
        members[n_rows + i, 0], members[n_rows + i, 1] = tuple_ids[i], record_counts[i]
    members[n_rows + size, 0] = -1
    return n_rows + size + 1


@kernel_part
def take_nearest_records(index, query, seed, n_others, tuple_ids, record_counts, members, n_rows):
    """Remove a record of tuple `seed` and the `n_others` nearest records from the index; return the used rows.

    They are appended to `members` as one cluster, which ends with a row of -1. The query must be that of the seed.

    Args:
        index: `IndexArrays`; updated in place.
        query: `SumQuery`.
        seed: Number of the tuple.
        n_others: Number of other records.
        tuple_ids, record_counts: Scratch with space for `n_others` + 1 entries.
        members: Output: rows (tuple, number of records); a row of -1 ends a cluster.
        n_rows: Number of rows of `members` that are used already.
    """
    tree, tabular, axes, _ = index
    tuple_ids[0], record_counts[0] = seed, -1
    add_counts(tree, tabular, tuple_ids[:1], record_counts[:1])
    size = find_records(tree, tabular, axes, query, np.int64(1), n_others, tuple_ids, record_counts)
    members[n_rows, 0], members[n_rows, 1] = seed, 1
    n_rows = append_members(tuple_ids, record_counts, size, members, n_rows + 1)
    for i in range(size):
        record_counts[i] = -record_counts[i]
    add_counts(tree, tabular, tuple_ids[:size], record_counts[:size])
    return n_rows


@kernel
def gather_clusters(index, search, k, first_seed, has_no_zero_distances, max_clusters, members, seeds):
    """Form up to `max_clusters` clusters of k records: a seed and the k - 1 remaining records nearest to it.

    A seed is the record with the least (or greatest) summed distance to all seeds so far. While the tuple of the last
    seed has remaining records, one of them is the next seed of least sum: nothing was added to its own sum, something
    to every other. So its records form clusters without a search. Records are removed from the index.

    Args:
        index: `IndexArrays`.
        search: `SeedSearch`.
        k: Records of a cluster.
        first_seed: Tuple of the first seed, or -1 to search for it.
        has_no_zero_distances: Whether no two tuples have the distance 0.
        max_clusters: Number of clusters after which to return.
        members: Output (rows, 2): tuple and count of each member; each cluster ends with a row of -1.
        seeds: Output: tuple of each seed.

    Returns:
        Rows used in `members`, and number of clusters. Fewer than k records remain when all is done.
    """
    tree, tabular, axes, axis_codes = index
    near, sums, sign = search.near, search.sums, search.sign
    query_result, query_counts = empty_int64(np.int64(2)), empty_int64(np.int64(2))
    query_counts[0] = 1
    tuple_ids, record_counts = empty_int64(k + 1), empty_int64(k + 1)
    n_rows, n_clusters = np.int64(0), 0
    while n_clusters < max_clusters and tree.n_remaining[0] >= k and n_rows + k + 2 <= len(members):
        if first_seed >= 0:
            seed, first_seed = first_seed, -1
        else:
            find_records(tree, tabular, axes, sums, sign, np.int64(1), query_result, query_counts)
            seed = query_result[0]
        query_result[0] = seed
        n_own = (
            min(tree.tuple_remaining[seed] // k, max_clusters - n_clusters, (len(members) - n_rows) // 2)
            if has_no_zero_distances and sign > 0
            else 0
        )
        if n_own > 0:
            for _ in range(n_own):
                members[n_rows, 0], members[n_rows, 1], members[n_rows + 1, 0] = seed, k, -1
                seeds[n_clusters] = seed
                n_rows += 2
                n_clusters += 1
            query_counts[0] = -n_own * k
            add_counts(tree, tabular, query_result[:1], query_counts[:1])
            add_distances(seed, np.int64(n_own), tabular, axes, axis_codes, search)
            if tree.tuple_remaining[seed] > 0:
                first_seed = seed
            continue
        fill_distance_query(seed, tabular, axes, axis_codes, search)
        n_rows = take_nearest_records(index, near, seed, np.int64(k - 1), tuple_ids, record_counts, members, n_rows)
        add_distances(seed, np.int64(1), tabular, axes, axis_codes, search)
        seeds[n_clusters] = seed
        n_clusters += 1
        if has_no_zero_distances and sign > 0 and tree.tuple_remaining[seed] > 0:
            first_seed = seed
    return n_rows, n_clusters
