"""Growing clusters by the record that costs least.

A term of the loss is given by `terms`: kind (0 tree, 1 number) and unit by attribute with few values; where its nodes
and its values begin; parent, height and code after the last value by node; first value's code by node; node or place by
value. The state of a cluster on it is two numbers: the lowest common ancestor, or least and greatest code; -1 where it
has NULLs only, -2 where it mixes NULL and values.
"""

import numpy as np

from dbanon.kernels.index_tree import add_counts
from dbanon.kernels.jit import kernel, part
from dbanon.kernels.tree_search import find, put_members

ONLY_NULL = -1
MIXED = -2


@part
def begin_state(seed, few, axis, axis_codes, terms, state, ask):
    """The state of a cluster of one tuple."""
    codes, kind, value_at, node_of = few[0], terms[0], terms[3], terms[8]
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
            ask[2][2 * a] = 0
            ask[0][a] = ask[1][a] = axis[0][axis[1][a] + axis_codes[seed, a]]


@part
def join(t, few, axis, axis_codes, terms, state, ask, changed):
    """The state after a tuple joined; `changed` marks the attributes with few values that it widened."""
    codes, kind, node_at, value_at = few[0], terms[0], terms[2], terms[3]
    parent, last, first = terms[4], terms[6], terms[7]
    for j in range(codes.shape[1]):
        code, values = codes[t, j], value_at[j + 1] - value_at[j]
        now = state[j, 0]
        if now == MIXED or (now == ONLY_NULL and code == values):
            continue
        if now == ONLY_NULL or code == values:
            state[j, 0], changed[j] = MIXED, 1
        elif kind[j] == 0:
            while not (first[node_at[j] + now] <= code and code < last[node_at[j] + now]):
                now = parent[node_at[j] + now]
                changed[j] = 1
            state[j, 0] = now
        elif code < now:
            state[j, 0], changed[j] = code, 1
        elif code > state[j, 1]:
            state[j, 1], changed[j] = code, 1
    if axis is not None:
        for a in range(len(axis[2])):
            place = axis[0][axis[1][a] + axis_codes[t, a]]
            ask[0][a], ask[1][a] = min(ask[0][a], place), max(ask[1][a], place)


@part
def ask_loss(j, offsets, terms, state, flat):
    """Fill the part of a question about one attribute: the loss of a record in the cluster with each value."""
    kind, unit, node_at, value_at = terms[0], terms[1], terms[2], terms[3]
    parent, height, last, first, of = terms[4], terms[5], terms[6], terms[7], terms[8]
    begin, values = offsets[j], value_at[j + 1] - value_at[j]
    now = state[j, 0]
    if now == MIXED or now == ONLY_NULL:
        for i in range(values):
            flat[begin + i] = unit[j]
        flat[begin + values] = 0 if now == ONLY_NULL else unit[j]
        return
    flat[begin + values] = unit[j]
    if kind[j] == 1:
        low, high = of[value_at[j] + now], of[value_at[j] + state[j, 1]]
        for i in range(values):
            place = of[value_at[j] + i]
            flat[begin + i] = max(high, place) - min(low, place)
        return
    # Every ancestor adds the values that it has and the node below it has not.
    node = now
    done_from = done_to = first[node_at[j] + node]
    while node >= 0:
        at = node_at[j] + node
        for i in range(first[at], done_from):
            flat[begin + i] = height[at]
        for i in range(done_to, last[at]):
            flat[begin + i] = height[at]
        done_from, done_to = first[at], last[at]
        node = parent[at]


@part
def ask_next(sign, index, terms, flat, ask, state, changed, one, number):
    """The tuple with which a record of a cluster loses least (sign 1) or most (-1), once the tables of the attributes
    that changed are filled; `one` and `number`: scratch."""
    tree, few, axis, _ = index
    for j in range(len(few[1])):
        if changed[j] == 1:
            ask_loss(j, few[1], terms, state, flat)
            changed[j] = 0
    find(tree, few, axis, flat, ask, sign, np.int64(1), one, number)
    return one[0]


@part
def nth(tree, r):
    """Return the tuple of the record that has r others before it, in the order of the index."""
    left, kid, kids, tuples = tree[2], tree[4], tree[5], tree[8]
    node = 0
    while tuples[node] < 0:
        for child in range(kid[node], kid[node] + kids[node]):
            if r < left[child]:
                node = child
                break
            r -= left[child]
    return tuples[node]


@kernel
def greedy_steps(index, terms, flat, ask, k, seeding, reference, draws, steps, members):
    """Makes up to `steps` clusters of k records: a seed, then again and again the record with which a record of the
    cluster loses least.

    `seeding`: 0 the record farthest from `reference`, which the seed becomes; 1 a random record (`draws`, one number
    below 1 a step); 2 the first record left. members: see `gather_steps`. Gives rows used and the last
    seed.
    """
    tree, few, axis, axis_codes = index
    left, leaf_left, levels = tree[2], tree[3], len(few[1])
    state, changed = np.empty((max(levels, 1), 2), np.int64), np.empty(max(levels, 1), np.int64)
    one, number = np.empty(2, np.int64), np.ones(2, np.int64)
    found, taken = np.empty(k + 1, np.int64), np.empty(k + 1, np.int64)
    used, made, pointer = 0, 0, 0
    while made < steps and left[0] >= k:
        if seeding == 0:
            begin_state(reference, few, axis, axis_codes, terms, state, ask)
            changed[:] = 1
            seed = reference = ask_next(np.int64(-1), index, terms, flat, ask, state, changed, one, number)
        elif seeding == 1:
            seed = nth(tree, np.int64(min(draws[made] * left[0], left[0] - 1)))
        else:
            while leaf_left[pointer] == 0:
                pointer += 1
            seed = pointer
        begin_state(seed, few, axis, axis_codes, terms, state, ask)
        changed[:] = 1
        # Equal records cost what a record loses already, which nothing undercuts; others may come first in order.
        held, size = np.int64(0), 0
        tuple_now, count = seed, np.int64(1)
        while True:
            one[0], number[0] = tuple_now, -count
            add_counts(tree, few, one[:1], number[:1])
            held += count
            known = -1
            for i in range(size):
                if found[i] == tuple_now:
                    known = i
            if known >= 0:
                taken[known] += count
            else:
                found[size], taken[size] = tuple_now, count
                size += 1
            if held == k:
                break
            join(tuple_now, few, axis, axis_codes, terms, state, ask, changed)
            tuple_now = ask_next(np.int64(1), index, terms, flat, ask, state, changed, one, number)
            within = inside(tuple_now, few, axis, axis_codes, terms, state, ask)
            count = min(leaf_left[tuple_now], k - held) if within else np.int64(1)
        used = put_members(found, taken, size, members, used)
        made += 1
    return used, reference


@part
def inside(t, few, axis, axis_codes, terms, state, ask):
    """Return whether a tuple widens a cluster nowhere."""
    codes, kind, node_at, value_at = few[0], terms[0], terms[2], terms[3]
    last, first = terms[6], terms[7]
    for j in range(codes.shape[1]):
        code, values = codes[t, j], value_at[j + 1] - value_at[j]
        now = state[j, 0]
        if now == MIXED:
            continue
        if now == ONLY_NULL or code == values:
            if now != ONLY_NULL or code != values:
                return False
        elif kind[j] == 0:
            at = node_at[j] + now
            if code < first[at] or code >= last[at]:
                return False
        elif code < now or code > state[j, 1]:
            return False
    if axis is not None:
        for a in range(len(axis[2])):
            place = axis[0][axis[1][a] + axis_codes[t, a]]
            if place < ask[0][a] or place > ask[1][a]:
                return False
    return True
