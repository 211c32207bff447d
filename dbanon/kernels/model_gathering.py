"""Gathering groups whose sensitive values meet privacy models, where every record counts.

`rules` are arrays over the sensitive columns side by side: at (where a column's values begin); table (columns, 6:
least number of values; least exp of the entropy; c and l of recursive diversity; greatest distance; kind of distance, 0
equal, 1 ordered, 2 hierarchical, -1 none); share (of each value in the whole table); most (greatest share of each value
in a group); aim (the same, or less where that makes a group diverse); node_at, parent, node, length (hierarchies as
trees). `extra` is scratch for these, and None where no column has a distance.
"""

import numpy as np

from dbanon.kernels.allocate import integers
from dbanon.kernels.index_tree import add_counts
from dbanon.kernels.jit import kernel, part
from dbanon.kernels.sorting import sort_values
from dbanon.kernels.tree_search import add_near, ask_near, find

EPS = 1e-12


@part
def distance(s, counts, size, free, rules, extra):
    """The earth mover's distance of a group from the table, and a bound of what it may become with `free` records
    more; with none it is the distance itself."""
    at, table, share, node_at, parent, node, length = (
        rules[0], rules[1], rules[2], rules[5], rules[6], rules[7], rules[8],
    )  # fmt: skip
    total, begin, end = 0.0, at[s], at[s + 1]
    goal = size + free
    kind = table[s, 5]
    if kind == 0:
        for v in range(begin, end):
            total += max(counts[v] / goal - share[v], 0.0)
        return total
    if kind == 1:
        ranks = 0
        held, whole = np.int64(0), 0.0
        for v in range(begin, end):
            if share[v] <= 0:  # not released, so without a rank
                continue
            ranks += 1
            held += counts[v]
            whole += share[v]
            total += max(held / goal - whole, whole - (held + free) / goal, 0.0)
        return total / max(ranks - 1, 1)
    first, last = node_at[s], node_at[s + 1]
    for n in range(first, last):
        extra[2 * n], extra[2 * n + 1] = 0.0, 0.0
    for v in range(begin, end):
        extra[2 * (first + node[v])] += counts[v]
        extra[2 * (first + node[v]) + 1] += share[v]
    for n in range(last - 1, first, -1):
        above = first + parent[n]
        extra[2 * above] += extra[2 * n]
        extra[2 * above + 1] += extra[2 * n + 1]
        held, whole = extra[2 * n], extra[2 * n + 1]
        total += length[n] * max(held / goal - whole, whole - (held + free) / goal, 0.0)
    return total


@part
def meets_column(s, counts, size, total, rules, extra):
    """Return whether a group meets the models of one sensitive column: `size` records (persons) with `total` values."""
    at, table, most = rules[0], rules[1], rules[3]
    begin, end = at[s], at[s + 1]
    distinct, known, logs, greatest = 0, np.int64(0), 0.0, np.int64(0)
    for v in range(begin, end):
        if counts[v] > most[v] * size + EPS * size:
            return False
        if v < end - 1 and counts[v] > 0:
            distinct += 1
            known += counts[v]
            logs += counts[v] * np.log(counts[v])
            greatest = max(greatest, counts[v])
    if distinct < table[s, 0]:
        return False
    if table[s, 1] > 1 and (known == 0 or np.exp(np.log(known) - logs / known) < table[s, 1] - EPS):
        return False
    if table[s, 3] > 0:
        ranked = counts[begin : end - 1].copy()
        sort_values(ranked, len(ranked))
        tail = np.int64(0)
        for i in range(len(ranked) - int(table[s, 3]) + 1):
            tail += ranked[i]
        if tail == 0 or not greatest / tail < table[s, 2]:
            return False
    if extra is not None and table[s, 5] >= 0:
        return not distance(s, counts, total, np.int64(0), rules, extra) > table[s, 4] + EPS
    return True


@part
def meets(counts, size, rules, extra):
    """Return whether a group meets all models."""
    for s in range(len(rules[1])):
        if not meets_column(s, counts, size, size, rules, extra):
            return False
    return True


@part
def may_join(row, values, counts, size, goal, rules, distinct, extra):
    """Return whether a group of `goal` records can still meet the models after a record joined."""
    at, table, aim = rules[0], rules[1], rules[4]
    free = goal - size - 1
    for s in range(len(table)):
        v = at[s] + values[s, row]
        if counts[v] + 1 > max(np.floor(aim[v] * goal + EPS), 1.0):
            return False
        need = table[s, 0]
        if distinct[s] < need:
            fresh = 1 if counts[v] == 0 and v < at[s + 1] - 1 else 0
            if free < need - distinct[s] - fresh:
                return False
    if extra is not None:
        for s in range(len(table)):
            if table[s, 5] >= 0:
                v = at[s] + values[s, row]
                counts[v] += 1
                bound = distance(s, counts, size + 1, free, rules, extra)
                counts[v] -= 1
                if bound > table[s, 4] + EPS:
                    return False
    return True


@kernel
def gather_models(index, search, least, begin, chains, judged, labels, label, seeds, effort):
    """Makes as many groups as fit in `seeds`: the record of least (greatest) sum and the nearest records with which it
    meets the models; a nearer one that would leave no way to meet them waits for another group.

    chains: `dbanon.encoding.nearest_queries.RecordLists`, in the canonical order; judged: rules, and scratch for them.
    Gives the groups made, and whether the last seed found no group (it is put back).
    """
    tree, few, axis, axis_codes = index
    tables, table_starts, near_flat, near, sum_flat, sums, sign = search
    head, following, tuple_of, values = chains
    rules, counts, extra = judged
    left = tree[2]
    columns = values.shape[0]
    at = rules[0]
    distinct = integers(columns)
    one, number = integers(np.int64(2)), integers(np.int64(2))
    number[0] = 1
    made = 0
    while made < len(seeds) and left[0] >= least:
        if begin >= 0:
            seed, begin = begin, -1
        else:
            find(tree, few, axis, sum_flat, sums, sign, np.int64(1), one, number)
            seed = one[0]
        first = head[seed]
        ask_near(seed, few, axis, axis_codes, tables, table_starts, near_flat, near)
        goal, done = least, False
        chosen = integers(np.int64(0))
        while not done and goal <= left[0]:
            # First the nearest as they come, then only those that may join; ever farther while it takes more.
            for strict in range(2):
                wanted = goal if strict == 0 else min(left[0], 4 * goal)
                while not done:
                    found, taken = integers(wanted + 1), integers(wanted + 1)
                    size_found = find(tree, few, axis, near_flat, near, np.int64(1), np.int64(wanted), found, taken)
                    counts[:] = 0
                    distinct[:] = 0
                    chosen = integers(goal)
                    size = np.int64(0)
                    for turn in range(-1, size_found):
                        row = first if turn < 0 else head[found[turn]]
                        rest = 1 if turn < 0 else taken[turn]
                        while rest > 0 and size < goal:
                            if turn < 0 or (
                                row != first
                                and (strict == 0 or may_join(row, values, counts, size, goal, rules, distinct, extra))
                            ):
                                chosen[size] = row
                                size += 1
                                for s in range(columns):
                                    v = at[s] + values[s, row]
                                    if counts[v] == 0 and v < at[s + 1] - 1:
                                        distinct[s] += 1
                                    counts[v] += 1
                            row = following[row]
                            rest -= 1
                        if size >= goal:
                            break
                    done = size == goal and meets(counts, size, rules, extra)
                    if done or strict == 0 or size == goal or wanted >= left[0] or wanted >= effort * goal:
                        break
                    wanted = min(2 * wanted, left[0])
                if done:
                    break
            if not done:
                goal = goal + max(goal // 4, 1)
        if not done:
            return made, True
        tuples, minus = integers(goal), integers(goal)
        for i in range(goal):
            labels[chosen[i]] = label + made
            tuples[i], minus[i] = tuple_of[chosen[i]], -1
        for i in range(goal):
            unlink(tuples[i], head, following, labels)
        add_counts(tree, few, tuples, minus)
        add_near(seed, np.int64(1), few, axis, axis_codes, tables, table_starts, sum_flat, sums)
        seeds[made] = seed
        made += 1
    return made, False


@part
def unlink(t, head, following, labels):
    """Take the records that have a label out of the chain of a tuple."""
    while head[t] >= 0 and labels[head[t]] >= 0:
        head[t] = following[head[t]]
    before = head[t]
    while before >= 0:
        row = following[before]
        if row >= 0 and labels[row] >= 0:
            following[before] = following[row]
        else:
            before = row


@kernel
def first_fit(order, row, values, counts, sizes, rules, extra):
    """Return the first group in the order that still meets the models when a record joins, or -1."""
    at = rules[0]
    columns = values.shape[0]
    for g in order:
        for s in range(columns):
            counts[g, at[s] + values[s, row]] += 1
        fits = meets(counts[g], sizes[g] + 1, rules, extra)
        if fits:
            sizes[g] += 1
            return g
        for s in range(columns):
            counts[g, at[s] + values[s, row]] -= 1
    return -1
