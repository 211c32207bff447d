"""Forming groups whose sensitive values meet privacy models, where every record counts.

`rules` are `ModelRules`. `extra` is scratch for their hierarchies, None if no column has a distance.
"""

import numpy as np

from dbanon.kernels.allocate import empty_int64
from dbanon.kernels.arrays import (
    DISTANCE_KIND,
    MAX_DISTANCE,
    MIN_DISTINCT,
    MIN_EXP_ENTROPY,
    RECURSIVE_C,
    RECURSIVE_L,
)
from dbanon.kernels.index_tree import add_counts
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.sorting import sort_values
from dbanon.kernels.tree_search import add_distances, fill_distance_query, find_records

EPS = 1e-12


@kernel_part
def earth_movers_distance(s, counts, size, n_free, rules, extra):
    """Return the Earth Mover's Distance of a group's values of column `s` from the whole table, or a lower bound of it.

    The bound is for the group with `n_free` more records of any values; with none it is the distance itself.

    Args:
        s: The sensitive column.
        counts: Records of the group by value.
        size: Records of the group.
        n_free: Number of records that may be added.
        rules: `ModelRules`.
        extra: Scratch for hierarchies.
    """
    share, total, begin, end = rules.share, 0.0, rules.value_starts[s], rules.value_starts[s + 1]
    final_size = size + n_free
    kind = rules.table[s, DISTANCE_KIND]
    if kind == 0:
        for v in range(begin, end):
            total += max(counts[v] / final_size - share[v], 0.0)
        return total
    if kind == 1:
        ranks = 0
        n_below, share_below = np.int64(0), 0.0
        for v in range(begin, end):
            if share[v] <= 0:  # not released, so without a rank
                continue
            ranks += 1
            n_below += counts[v]
            share_below += share[v]
            total += max(n_below / final_size - share_below, share_below - (n_below + n_free) / final_size, 0.0)
        return total / max(ranks - 1, 1)
    first_node, last = rules.node_starts[s], rules.node_starts[s + 1]
    for n in range(first_node, last):
        extra[2 * n], extra[2 * n + 1] = 0.0, 0.0
    for v in range(begin, end):
        extra[2 * (first_node + rules.node[v])] += counts[v]
        extra[2 * (first_node + rules.node[v]) + 1] += share[v]
    for n in range(last - 1, first_node, -1):
        above = first_node + rules.parent[n]
        extra[2 * above] += extra[2 * n]
        extra[2 * above + 1] += extra[2 * n + 1]
        n_below, share_below = extra[2 * n], extra[2 * n + 1]
        total += rules.length[n] * max(
            n_below / final_size - share_below, share_below - (n_below + n_free) / final_size, 0.0
        )
    return total


@kernel_part
def is_column_valid(s, counts, size, total, rules, extra):
    """Return whether a group meets the privacy models of sensitive column `s`.

    The models are in `rules`: number and greatest share of values, entropy, recursive diversity, and Earth Mover's
    Distance from the whole table. NULL, the last value, does not count as a distinct value.

    Args:
        s: Number of the sensitive column.
        counts: Records (or persons) of the group by sensitive value, the columns one after another.
        size: Number of records (or persons).
        total: Number of their values.
        rules: `ModelRules`.
        extra: Scratch for the Earth Mover's Distance; None if no model needs it.
    """
    table, max_shares = rules.table, rules.max_shares
    begin, end = rules.value_starts[s], rules.value_starts[s + 1]
    distinct, n_known, logs, greatest = 0, np.int64(0), 0.0, np.int64(0)
    for v in range(begin, end):
        if counts[v] > max_shares[v] * size + EPS * size:
            return False
        if v < end - 1 and counts[v] > 0:
            distinct += 1
            n_known += counts[v]
            logs += counts[v] * np.log(counts[v])
            greatest = max(greatest, counts[v])
    if distinct < table[s, MIN_DISTINCT]:
        return False
    if table[s, MIN_EXP_ENTROPY] > 1 and (
        n_known == 0 or np.exp(np.log(n_known) - logs / n_known) < table[s, MIN_EXP_ENTROPY] - EPS
    ):
        return False
    if table[s, RECURSIVE_L] > 0:
        sorted_counts = counts[begin : end - 1].copy()
        sort_values(sorted_counts, len(sorted_counts))
        tail = np.int64(0)
        for i in range(len(sorted_counts) - int(table[s, RECURSIVE_L]) + 1):
            tail += sorted_counts[i]
        if tail == 0 or not greatest / tail < table[s, RECURSIVE_C]:
            return False
    if extra is not None and table[s, DISTANCE_KIND] >= 0:
        return not earth_movers_distance(s, counts, total, np.int64(0), rules, extra) > table[s, MAX_DISTANCE] + EPS
    return True


@kernel_part
def is_valid(counts, size, rules, extra):
    """Return whether a group of `size` records with these counts by value meets the models of all sensitive columns.

    The number k is not checked.

    Args:
        counts: Records of the group by sensitive value, the columns one after another.
        size: Number of records.
        rules: `ModelRules`.
        extra: Scratch for the Earth Mover's Distance; None if no model needs it.
    """
    for s in range(len(rules.table)):
        if not is_column_valid(s, counts, size, size, rules, extra):
            return False
    return True


@kernel_part
def can_join(row, values, counts, size, final_size, rules, distinct, extra):
    """Return whether a group can still meet the models when it has `final_size` records, if record `row` joins now.

    This is a necessary condition: True does not mean that the models can be met. Nothing is changed.

    Args:
        row: Number of the record.
        values: (columns, records) codes of sensitive values.
        counts: Records of the group by sensitive value, the columns one after another.
        size: Number of records so far.
        final_size: Number of records in the end.
        rules: `ModelRules`.
        distinct: (columns,) number of distinct values so far.
        extra: Scratch for the Earth Mover's Distance; None if no model needs it.
    """
    value_starts, table, target_shares = rules.value_starts, rules.table, rules.target_shares
    n_free = final_size - size - 1
    for s in range(len(table)):
        v = value_starts[s] + values[s, row]
        if counts[v] + 1 > max(np.floor(target_shares[v] * final_size + EPS), 1.0):
            return False
        min_distinct = table[s, MIN_DISTINCT]
        if distinct[s] < min_distinct:
            is_new = 1 if counts[v] == 0 and v < value_starts[s + 1] - 1 else 0
            if n_free < min_distinct - distinct[s] - is_new:
                return False
    if extra is not None:
        for s in range(len(table)):
            if table[s, DISTANCE_KIND] >= 0:
                v = value_starts[s] + values[s, row]
                counts[v] += 1
                bound = earth_movers_distance(s, counts, size + 1, n_free, rules, extra)
                counts[v] -= 1
                if bound > table[s, MAX_DISTANCE] + EPS:
                    return False
    return True


@kernel_part
def count_values(row, values, counts, rules, distinct):
    """Count the sensitive values of a record as those of a group, in place.

    Args:
        row: Number of the record.
        values: (columns, records) codes of sensitive values; NULL has the code after the last value.
        counts: Records of the group by sensitive value, the columns one after another; updated in place.
        rules: `ModelRules`.
        distinct: (columns,) different values of the group, without NULL; updated in place.
    """
    for s in range(len(values)):
        v = rules.value_starts[s] + values[s, row]
        if counts[v] == 0 and v < rules.value_starts[s + 1] - 1:
            distinct[s] += 1
        counts[v] += 1


@kernel
def gather_constrained_clusters(
    index, search, min_records, first_seed, lists, model_arrays, labels, first_label, seeds, candidates_per_record
):
    """Form groups of a seed and near records that meet the models, as many as fit in `seeds`.

    A seed is the record of least (greatest) sum of distances to the seeds so far. A nearer record that would make it
    impossible to meet the models stays for another group.

    Args:
        index: `IndexArrays`.
        search: `SeedSearch`.
        min_records: Fewest records of a group.
        first_seed: Tuple of the first seed, or -1 to search for it.
        lists: First record of each tuple, next record of each record (-1: none), tuple of each record, and sensitive
            codes (columns, records), see `dbanon.encoding.nearest_queries.RecordLists`; updated in place.
        model_arrays: The arrays of the privacy models (see `is_valid`), and scratch for counts and distances.
        labels: Output: group of each record.
        first_label: Number of the first group.
        seeds: Output: tuple of each seed.
        candidates_per_record: Limit of the search, per record of a group.

    Returns:
        Number of groups, and whether no group was found for the last seed (whose record is put back).
    """
    tree, tabular, axes, axis_codes = index
    head, following, tuple_of, values = lists
    rules, counts, extra = model_arrays
    n_remaining = tree.n_remaining
    distinct = empty_int64(len(values))
    query_result, query_counts = empty_int64(np.int64(2)), empty_int64(np.int64(2))
    query_counts[0] = 1
    n_clusters = 0
    while n_clusters < len(seeds) and n_remaining[0] >= min_records:
        if first_seed >= 0:
            seed, first_seed = first_seed, -1
        else:
            find_records(tree, tabular, axes, search.sums, search.sign, np.int64(1), query_result, query_counts)
            seed = query_result[0]
        first_record = head[seed]
        fill_distance_query(seed, tabular, axes, axis_codes, search)
        goal, is_done = min_records, False
        members = empty_int64(np.int64(0))
        while not is_done and goal <= n_remaining[0]:
            # First the nearest as they come, then only those that may join; ever farther while it takes more.
            for strict in range(2):
                wanted = goal if strict == 0 else min(n_remaining[0], 4 * goal)
                while not is_done:
                    near_tuples, near_counts = empty_int64(wanted + 1), empty_int64(wanted + 1)
                    size_found = find_records(
                        tree, tabular, axes, search.near, np.int64(1), np.int64(wanted), near_tuples, near_counts
                    )
                    counts[:] = 0
                    distinct[:] = 0
                    members = empty_int64(goal)
                    size = np.int64(0)
                    for turn in range(-1, size_found):
                        row = first_record if turn < 0 else head[near_tuples[turn]]
                        n_rest = 1 if turn < 0 else near_counts[turn]
                        while n_rest > 0 and size < goal:
                            if turn < 0 or (
                                row != first_record
                                and (strict == 0 or can_join(row, values, counts, size, goal, rules, distinct, extra))
                            ):
                                members[size] = row
                                size += 1
                                count_values(row, values, counts, rules, distinct)
                            row = following[row]
                            n_rest -= 1
                        if size >= goal:
                            break
                    is_done = size == goal and is_valid(counts, size, rules, extra)
                    if (
                        is_done
                        or strict == 0
                        or size == goal
                        or wanted >= n_remaining[0]
                        or wanted >= candidates_per_record * goal
                    ):
                        break
                    wanted = min(2 * wanted, n_remaining[0])
                if is_done:
                    break
            if not is_done:
                goal = goal + max(goal // 4, 1)
        if not is_done:
            return n_clusters, True
        tuples, removed_counts = empty_int64(goal), empty_int64(goal)
        for i in range(goal):
            labels[members[i]] = first_label + n_clusters
            tuples[i], removed_counts[i] = tuple_of[members[i]], -1
        begin = np.int64(0)
        while begin < goal:
            end = begin + 1
            while end < goal and tuples[end] == tuples[begin]:
                end += 1
            unlink_labelled(tuples[begin], end - begin, head, following, labels)
            begin = end
        add_counts(tree, tabular, tuples, removed_counts)
        add_distances(seed, np.int64(1), tabular, axes, axis_codes, search)
        seeds[n_clusters] = seed
        n_clusters += 1
    return n_clusters, False


@kernel_part
def unlink_labelled(t, n_records, head, following, labels):
    """Remove, in place, the first `n_records` records that have a label (0 or more) from the linked list of a tuple.

    The rest of the list is not read: a tuple may have many more records than a group.

    Args:
        t: Number of the tuple.
        n_records: Number of records to remove; the list has at least as many with a label.
        head: First record of each tuple, -1 for none; updated in place.
        following: Next record of the same tuple, -1 at the end; updated in place.
        labels: Group of each record, -1 for none.
    """
    while n_records > 0 and labels[head[t]] >= 0:
        head[t] = following[head[t]]
        n_records -= 1
    previous = head[t]
    while n_records > 0:
        row = following[previous]
        if labels[row] >= 0:
            following[previous] = following[row]
            n_records -= 1
        else:
            previous = row


@kernel
def first_fit(order, row, values, counts, sizes, rules, extra):
    """Add a record to the first group in `order` that meets the models with it; return that group, or -1.

    Counts and size of the group are updated in place; if no group meets the models, nothing is changed.

    Args:
        order: Numbers of groups, in the order in which they are tried.
        row: Number of the record.
        values: (columns, records) codes of sensitive values.
        counts: (groups, values) records by sensitive value; updated in place.
        sizes: (groups,) number of records; updated in place.
        rules: `ModelRules`.
        extra: Scratch for the Earth Mover's Distance; None if no model needs it.
    """
    for g in order:
        for s in range(len(values)):
            counts[g, rules.value_starts[s] + values[s, row]] += 1
        if is_valid(counts[g], sizes[g] + 1, rules, extra):
            sizes[g] += 1
            return g
        for s in range(len(values)):
            counts[g, rules.value_starts[s] + values[s, row]] -= 1
    return -1
