"""Asking the tree: the least sums, depth-first and best child first; and whole clusterings by it."""

import numpy as np

from dbanon.kernels.allocate import integers
from dbanon.kernels.axis_sums import add_to_axis, axes_bound, axis_state
from dbanon.kernels.heap import hold, pop
from dbanon.kernels.index_tree import add_counts
from dbanon.kernels.jit import kernel, part


@part
def find(tree, few, axis, flat, ask, sign, records, found, taken):
    """The next `records` records by sum: their tuples into `found`, how many of each into `taken`; their number back.

    Depth-first, best child first. A node is left out when its bound is above the worst of enough candidates, or equal
    to it with only later tuples below. What is looked at is counted in the tree.
    """
    if records <= 0:
        return 0
    leaf_left = tree[3]
    left, kid, kids, code, level, tuples, first, boxes = (
        tree[2],
        tree[4],
        tree[5],
        tree[6],
        tree[7],
        tree[8],
        tree[9],
        tree[10],
    )
    offsets, present = few[1], few[2]
    levels, axes = len(offsets), 0
    rest = integers(levels + 1)
    rest[levels] = 0
    if axis is not None:
        axes = len(axis[2])
        state = axis_state(axis, ask)
        rest[levels] = axes_bound(np.int64(0), boxes, axis, ask, state, sign)
    for j in range(levels - 1, -1, -1):
        end = offsets[j + 1] if j + 1 < levels else len(flat)
        smallest, seen = np.int64(0), False
        for i in range(offsets[j], end):
            value = sign * flat[i]
            if present[i] > 0 and (not seen or value < smallest):
                smallest, seen = value, True
        rest[j] = rest[j + 1] + smallest
    room = min(records, len(leaf_left)) + 1
    sums, whose = integers(room), integers(room)
    size, held, steps = np.int64(0), np.int64(0), np.int64(len(flat))
    depth = 512
    stack = integers(3 * depth)  # node, bound, and what the attributes above it add
    stack[0], stack[1], stack[2] = 0, rest[0], 0
    top = 1
    while top > 0:
        top -= 1
        node, bound, partial = stack[3 * top], stack[3 * top + 1], stack[3 * top + 2]
        if held >= records and (bound > sums[0] or (bound == sums[0] and first[node] > whose[0])):
            continue
        if tuples[node] >= 0:
            size, held = hold(sums, whose, size, held, bound, np.int64(tuples[node]), leaf_left, records)
            continue
        if top + kids[node] > depth:
            depth = 2 * (top + kids[node])
            bigger = integers(3 * depth)
            for i in range(3 * top):
                bigger[i] = stack[i]
            stack = bigger
        begin = best = top
        below = level[node] + 1
        steps += kids[node] * (1 if below <= levels else 1 + 8 * axes)
        for child in range(kid[node], kid[node] + kids[node]):
            if left[child] == 0:
                continue
            own = partial
            if below <= levels:
                own += sign * flat[offsets[below - 1] + code[child]]
            total = own
            if below < levels or axes == 0:
                total += rest[below]
            elif axis is not None:
                total += axes_bound(child, boxes, axis, ask, state, sign)
            if held >= records and (total > sums[0] or (total == sums[0] and first[child] > whose[0])):
                continue
            stack[3 * top], stack[3 * top + 1], stack[3 * top + 2] = child, total, own
            if total < stack[3 * best + 1]:
                best = top
            top += 1
        if top - begin > 1 and best != top - 1:
            for c in range(3):
                here, last = 3 * best + c, 3 * (top - 1) + c
                stack[here], stack[last] = stack[last], stack[here]
    tree[11][0] += steps
    # The heap empties worst first: filled from the end, the answer is in order.
    for i in range(size - 1, -1, -1):
        found[i] = whose[0]
        taken[i] = leaf_left[whose[0]]
        pop(sums, whose, i + 1)
    if size > 0:
        taken[size - 1] -= held - records
    return size


@kernel
def search(tree, few, axis, flat, ask, sign, records, found, taken):
    """find, for Python."""
    return find(tree, few, axis, flat, ask, sign, records, found, taken)


@part
def ask_near(seed, few, axis, axis_codes, tables, table_starts, flat, ask):
    """Fill a question with the distances to a tuple."""
    codes, offsets = few[0], few[1]
    for j in range(len(offsets)):
        width = (offsets[j + 1] if j + 1 < len(offsets) else len(flat)) - offsets[j]
        start = table_starts[j] + codes[seed, j] * width
        for i in range(width):
            flat[offsets[j] + i] = tables[start + i]
    if axis is not None:
        for a in range(len(axis[2])):
            code = axis_codes[seed, a]
            ask[2][2 * a] = 1 if code == axis[2][a] else 0
            ask[0][a] = ask[1][a] = axis[0][axis[1][a] + code]


@part
def add_near(seed, times, few, axis, axis_codes, tables, table_starts, flat, ask):
    """Add the distances to a tuple to a question of sums, so many times."""
    codes, offsets = few[0], few[1]
    for j in range(len(offsets)):
        width = (offsets[j + 1] if j + 1 < len(offsets) else len(flat)) - offsets[j]
        start = table_starts[j] + codes[seed, j] * width
        for i in range(width):
            flat[offsets[j] + i] += times * tables[start + i]
    if axis is not None:
        for a in range(len(axis[2])):
            code = np.int64(axis_codes[seed, a])
            if code == axis[2][a]:
                ask[2][2 * a] += times
            else:
                ask[2][2 * a + 1] += times
                add_to_axis(axis, ask, a, code, times)


@part
def put_members(found, taken, size, members, used):
    """Append a cluster of so many tuples to the members (see `gather_steps`); return the members used."""
    for i in range(size):
        members[used + i, 0], members[used + i, 1] = found[i], taken[i]
    members[used + size, 0] = -1
    return used + size + 1


@part
def take_nearest(index, flat, ask, seed, others, found, taken, members, used):
    """Take a record of the tuple `seed` and so many others that are nearest by a question; return the members used.

    members: see `gather_steps`; found and taken have room for one more than the others.
    """
    tree, few, axis, _ = index
    found[0], taken[0] = seed, -1
    add_counts(tree, few, found[:1], taken[:1])
    size = find(tree, few, axis, flat, ask, np.int64(1), others, found, taken)
    members[used, 0], members[used, 1] = seed, 1
    used = put_members(found, taken, size, members, used + 1)
    for i in range(size):
        taken[i] = -taken[i]
    add_counts(tree, few, found[:size], taken[:size])
    return used


@kernel
def gather_steps(index, search, k, begin, apart, steps, members, seeds):
    """Make up to `steps` clusters of k records: the record with the least (greatest) sum and the k - 1 nearest to it.

    `begin`: the tuple of the first seed, or -1 to search for that one too; `apart`: no two tuples have the distance 0.
    members (rows, 2): tuple and count of each, clusters one after another, each ending with a row of -1. Gives (rows
    used, clusters made). Leaves fewer than k records when it is done.

    While the tuple of the last seed has records left, one of them is the next seed of least sum: nothing was added to
    its own sum, something to every other. So its records make clusters without a search.
    """
    tree, few, axis, axis_codes = index
    tables, table_starts, near_flat, near, sum_flat, sums, sign = search
    one, number = integers(np.int64(2)), integers(np.int64(2))
    number[0] = 1
    found, taken = integers(k + 1), integers(k + 1)
    used, made = np.int64(0), 0
    left, leaf_left = tree[2], tree[3]
    single, others = np.int64(1), np.int64(k - 1)
    while made < steps and left[0] >= k and used + k + 2 <= len(members):
        if begin >= 0:
            seed, begin = begin, -1
        else:
            find(tree, few, axis, sum_flat, sums, sign, single, one, number)
            seed = one[0]
        one[0] = seed
        own = min(leaf_left[seed] // k, steps - made, (len(members) - used) // 2) if apart and sign > 0 else 0
        if own > 0:
            for _ in range(own):
                members[used, 0], members[used, 1], members[used + 1, 0] = seed, k, -1
                seeds[made] = seed
                used += 2
                made += 1
            number[0] = -own * k
            add_counts(tree, few, one[:1], number[:1])
            add_near(seed, np.int64(own), few, axis, axis_codes, tables, table_starts, sum_flat, sums)
            if leaf_left[seed] > 0:
                begin = seed
            continue
        ask_near(seed, few, axis, axis_codes, tables, table_starts, near_flat, near)
        used = take_nearest(index, near_flat, near, seed, others, found, taken, members, used)
        add_near(seed, np.int64(1), few, axis, axis_codes, tables, table_starts, sum_flat, sums)
        seeds[made] = seed
        made += 1
        if apart and sign > 0 and leaf_left[seed] > 0:
            begin = seed
    return used, made
