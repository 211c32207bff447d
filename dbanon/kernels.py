"""Compiled loops of the index: building its boxes, searching it, gathering clusters from it.

Import this module when a kernel is about to run: it imports numba. Kernels are compiled on their first call and cached
on disk where a cache can be written; they release the GIL. Arrays are those of `dbanon.index`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np


def kernel(function: Callable[..., Any]) -> Any:
    """numba.njit with an on-disk cache, or without one where no folder for it can be written."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)


@kernel
def gather_up(parent, first, left):
    """Least tuples and counts of inner nodes; a parent has a smaller number than its children."""
    for node in range(len(parent) - 1, 0, -1):
        above = parent[node]
        left[above] += left[node]
        first[above] = min(first[above], first[node])


@kernel
def part_at(order, begin, end, middle, matrix, axis):
    """Permutes a range of tuples so that none before `middle` has a greater code on the axis than one after it."""
    low, high = begin, end - 1
    while low < high:
        # The median of three, so that ranges that are in order already are halved.
        a, b, c = matrix[order[low], axis], matrix[order[(low + high) // 2], axis], matrix[order[high], axis]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while matrix[order[i], axis] < pivot:
                i += 1
            while matrix[order[j], axis] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel
def build_boxes(order, begins, ends, base, used, matrix, places, starts, kid, kids, parent, tuples, boxes):
    """Boxes below each path of the trie: halves of the tuples along the axis on which they lie farthest apart.

    `order` is permuted in place; gives the number of nodes used.
    """
    axes = matrix.shape[1]
    stack = np.empty((128, 3), np.int64)
    for group in range(len(begins)):
        stack[0, 0], stack[0, 1], stack[0, 2] = begins[group], ends[group], base + group
        top = 1
        while top > 0:
            top -= 1
            begin, end, node = stack[top, 0], stack[top, 1], stack[top, 2]
            widest, axis = np.int64(-1), 0
            for a in range(axes):
                low, high = matrix[order[begin], a], matrix[order[begin], a]
                for i in range(begin + 1, end):
                    value = matrix[order[i], a]
                    low, high = min(low, value), max(high, value)
                boxes[node, 2 * a], boxes[node, 2 * a + 1] = low, high
                width = places[starts[a] + high] - places[starts[a] + low]
                if low != high and width >= widest:
                    widest, axis = width, a
            if end - begin == 1:
                tuples[node] = order[begin]
                continue
            middle = (begin + end) // 2
            part_at(order, begin, end, middle, matrix, axis)
            kid[node], kids[node] = used, 2
            parent[used], parent[used + 1] = node, node
            stack[top, 0], stack[top, 1], stack[top, 2] = middle, end, used + 1
            stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = begin, middle, used
            top += 2
            used += 2
    return used


@kernel
def add_records(tree, few, tuples, counts):
    """Adds counts to tuples, to all nodes above them, and to the values they have."""
    leaf, parent, left, leaf_left = tree[0], tree[1], tree[2], tree[3]
    codes, offsets, present = few[0], few[1], few[2]
    for i in range(len(tuples)):
        leaf_left[tuples[i]] += counts[i]
        node = leaf[tuples[i]]
        while node >= 0:
            left[node] += counts[i]
            node = parent[node]
        for j in range(codes.shape[1]):
            present[offsets[j] + codes[tuples[i], j]] += counts[i]


CHUNK = 9
"""Prefix sums are kept within chunks of 2^9 values, and over chunks: adding touches few entries, reading two."""


@kernel
def prefix_add(fine, coarse, start, chunk_start, length, code, amount):
    """Adds an amount at a value of an axis to prefix sums."""
    end = min(((code >> CHUNK) + 1) << CHUNK, length)
    for i in range(start + code, start + end):
        fine[i] += amount
    for i in range(chunk_start + (code >> CHUNK) + 1, chunk_start + (length >> CHUNK) + 1):
        coarse[i] += amount


@kernel
def add_place(axis, ask, a, code, times):
    """Adds a value of an axis to a question of sums, so many times."""
    place = axis[0][axis[1][a] + code]
    prefix_add(ask[3], ask[5], axis[1][a], axis[4][a], axis[2][a], code, times)
    prefix_add(ask[4], ask[6], axis[1][a], axis[4][a], axis[2][a], code, place * times)


@kernel
def axis_value(a, code, axis, ask, state):
    """The function of an axis at a value that is not NULL."""
    places, starts = axis[0], axis[1]
    place = places[starts[a] + code]
    low, high, missing, counts, totals, count_chunks, total_chunks = ask
    if len(counts) == 0:
        if missing[2 * a] > 0:
            return axis[3][a]
        return max(low[a] - place, place - high[a], np.int64(0))
    chunk = axis[4][a] + (code >> CHUNK)
    count = counts[starts[a] + code] + count_chunks[chunk]
    total = totals[starts[a] + code] + total_chunks[chunk]
    return place * (2 * count - missing[2 * a + 1]) - 2 * total + state[a, 4]


@kernel
def axis_state(axis, ask):
    """For every axis: the places between which its function is least, that value, the value at NULL, a constant."""
    places, starts, lengths, nulls, chunks = axis
    low, high, missing, counts, totals, count_chunks, total_chunks = ask
    state = np.zeros((len(lengths), 5), np.int64)
    for a in range(len(lengths)):
        if len(counts) == 0:
            gone = missing[2 * a] > 0
            state[a, 0], state[a, 1] = low[a], high[a]
            state[a, 2] = nulls[a] if gone else 0
            state[a, 3] = 0 if gone else nulls[a]
            continue
        number, last = missing[2 * a + 1], lengths[a] - 1
        state[a, 3] = number * nulls[a]
        whole = totals[starts[a] + last] + total_chunks[chunks[a] + (last >> CHUNK)]
        state[a, 4] = whole + missing[2 * a] * nulls[a]
        # The median: the first value with half of the counts at or before it.
        below, above = np.int64(0), last
        while below < above:
            middle = (below + above) >> 1
            if 2 * (counts[starts[a] + middle] + count_chunks[chunks[a] + (middle >> CHUNK)]) < number:
                below = middle + 1
            else:
                above = middle
        state[a, 0] = state[a, 1] = places[starts[a] + below]
        state[a, 2] = axis_value(a, below, axis, ask, state)
    return state


@kernel
def axes_bound(node, boxes, axis, ask, state, sign):
    """What all axes add at least for a record in a box; exact for a single tuple."""
    places, starts, lengths = axis[0], axis[1], axis[2]
    bound = np.int64(0)
    for a in range(len(lengths)):
        first, to = np.int64(boxes[node, 2 * a]), np.int64(boxes[node, 2 * a + 1])
        null = state[a, 3]
        if first == lengths[a]:
            bound += sign * null
            continue
        last = min(to, lengths[a] - 1)
        if sign > 0:
            if places[starts[a] + last] < state[a, 0]:
                here = axis_value(a, last, axis, ask, state)
            elif first == last or places[starts[a] + first] > state[a, 1]:
                here = axis_value(a, first, axis, ask, state)
            else:
                here = state[a, 2]
            bound += min(here, null) if to == lengths[a] else here
        else:
            here = max(axis_value(a, first, axis, ask, state), axis_value(a, last, axis, ask, state))
            bound -= max(here, null) if to == lengths[a] else here
    return bound


@kernel
def push(sums, whose, size, total, place):
    """Into a heap with the worst on top: the greatest sum, then the last tuple."""
    i = size
    while i > 0:
        up = (i - 1) // 2
        if sums[up] > total or (sums[up] == total and whose[up] > place):
            break
        sums[i], whose[i] = sums[up], whose[up]
        i = up
    sums[i], whose[i] = total, place


@kernel
def pop(sums, whose, size):
    """Removes the top of a heap of `size`."""
    total, place = sums[size - 1], whose[size - 1]
    i = 0
    while True:
        down = 2 * i + 1
        if down >= size - 1:
            break
        other = down + 1
        if other < size - 1 and (
            sums[other] > sums[down] or (sums[other] == sums[down] and whose[other] > whose[down])
        ):
            down = other
        if total > sums[down] or (total == sums[down] and place > whose[down]):
            break
        sums[i], whose[i] = sums[down], whose[down]
        i = down
    sums[i], whose[i] = total, place


@kernel
def search(tree, few, axis, flat, ask, sign, records, found, taken):
    """The next `records` records by sum: their tuples into `found`, how many of each into `taken`; their number back.

    Depth-first, best child first. A node is left out when its bound is above the worst of enough candidates, or equal
    to it with only later tuples below.
    """
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
    levels, axes = len(offsets), len(axis[2])
    state = axis_state(axis, ask)
    rest = np.zeros(levels + 1, np.int64)
    if axes > 0:
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
    sums, whose = np.empty(room, np.int64), np.empty(room, np.int64)
    size, held = 0, np.int64(0)
    depth = 512
    stack = np.empty((depth, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, rest[0], 0
    top = 1
    while top > 0:
        top -= 1
        node, bound, partial = stack[top, 0], stack[top, 1], stack[top, 2]
        if held >= records and (bound > sums[0] or (bound == sums[0] and first[node] > whose[0])):
            continue
        if tuples[node] >= 0:
            push(sums, whose, size, bound, np.int64(tuples[node]))
            size += 1
            held += left[node]
            while size > 1 and held - leaf_left[whose[0]] >= records:
                held -= leaf_left[whose[0]]
                pop(sums, whose, size)
                size -= 1
            continue
        if top + kids[node] > depth:
            depth = 2 * (top + kids[node])
            bigger = np.empty((depth, 3), np.int64)
            for i in range(top):
                for c in range(3):
                    bigger[i, c] = stack[i, c]
            stack = bigger
        begin = best = top
        below = level[node] + 1
        for child in range(kid[node], kid[node] + kids[node]):
            if left[child] == 0:
                continue
            own = partial
            if below <= levels:
                own += sign * flat[offsets[below - 1] + code[child]]
            total = own
            if below < levels or axes == 0:
                total += rest[below]
            else:
                total += axes_bound(child, boxes, axis, ask, state, sign)
            if held >= records and (total > sums[0] or (total == sums[0] and first[child] > whose[0])):
                continue
            stack[top, 0], stack[top, 1], stack[top, 2] = child, total, own
            if total < stack[best, 1]:
                best = top
            top += 1
        if top - begin > 1 and best != top - 1:
            for c in range(3):
                stack[best, c], stack[top - 1, c] = stack[top - 1, c], stack[best, c]
    # The heap empties worst first: filled from the end, the answer is in order.
    for i in range(size - 1, -1, -1):
        found[i] = whose[0]
        taken[i] = leaf_left[whose[0]]
        pop(sums, whose, i + 1)
    if size > 0:
        taken[size - 1] -= held - records
    return size


@kernel
def add_axis(a, axis_codes, axis, ask, state, sums):
    """Adds the function of an axis to a sum of every tuple."""
    values = np.empty(axis[2][a] + 1, np.int64)
    for code in range(axis[2][a]):
        values[code] = axis_value(a, code, axis, ask, state)
    values[-1] = state[a, 3]
    for t in range(len(sums)):
        sums[t] += values[axis_codes[t, a]]


@kernel
def scan(few, axis, axis_codes, flat, ask, sign, leaf_left):
    """The first tuple left with the least (greatest) sum, by a pass over all of them."""
    codes, offsets = few[0], few[1]
    state = axis_state(axis, ask)
    levels, axes = len(offsets), len(axis[2])
    least, where = np.int64(0), -1
    sums = np.zeros(len(leaf_left), np.int64)
    for a in range(axes):
        add_axis(a, axis_codes, axis, ask, state, sums)
    for t in range(len(leaf_left)):
        if leaf_left[t] == 0:
            continue
        total = sums[t]
        for j in range(levels):
            total += flat[offsets[j] + codes[t, j]]
        if where < 0 or sign * total < least:
            least, where = sign * total, t
    return where


@kernel
def ask_near(seed, few, axis, axis_codes, tables, table_starts, flat, ask):
    """Fills a question with the distances to a tuple."""
    codes, offsets = few[0], few[1]
    for j in range(len(offsets)):
        width = (offsets[j + 1] if j + 1 < len(offsets) else len(flat)) - offsets[j]
        start = table_starts[j] + codes[seed, j] * width
        for i in range(width):
            flat[offsets[j] + i] = tables[start + i]
    for a in range(len(axis[2])):
        code = axis_codes[seed, a]
        ask[2][2 * a] = 1 if code == axis[2][a] else 0
        ask[0][a] = ask[1][a] = axis[0][axis[1][a] + code]


@kernel
def add_near(seed, times, few, axis, axis_codes, tables, table_starts, flat, ask):
    """Adds the distances to a tuple to a question of sums, so many times."""
    codes, offsets = few[0], few[1]
    for j in range(len(offsets)):
        width = (offsets[j + 1] if j + 1 < len(offsets) else len(flat)) - offsets[j]
        start = table_starts[j] + codes[seed, j] * width
        for i in range(width):
            flat[offsets[j] + i] += times * tables[start + i]
    for a in range(len(axis[2])):
        code = np.int64(axis_codes[seed, a])
        if code == axis[2][a]:
            ask[2][2 * a] += times
        else:
            ask[2][2 * a + 1] += times
            add_place(axis, ask, a, code, times)


@kernel
def gather_steps(
    tree,
    few,
    axis,
    axis_codes,
    tables,
    table_starts,
    near_flat,
    near,
    sum_flat,
    sums,
    sign,
    k,
    begin,
    apart,
    steps,
    members,
    seeds,
):
    """Makes up to `steps` clusters of k records: the record with the least (greatest) sum and the k - 1 nearest to it.

    `begin`: the tuple of the first seed, or -1 to search for that one too; `apart`: no two tuples have the distance 0.
    members (rows, 2): tuple and count of each, clusters one after another, each ending with a row of -1. Gives (rows
    used, clusters made). Leaves fewer than k records when it is done.

    While the tuple of the last seed has records left, one of them is the next seed of least sum: nothing was added to
    its own sum, something to every other. So its records make clusters without a search.
    """
    one, number = np.empty(2, np.int64), np.ones(2, np.int64)
    found, taken = np.empty(k + 1, np.int64), np.empty(k + 1, np.int64)
    used, made = 0, 0
    left, leaf_left = tree[2], tree[3]
    single, least, others = np.int64(1), np.int64(1), np.int64(k - 1)
    while made < steps and left[0] >= k and used + k + 2 <= len(members):
        if begin >= 0:
            seed, begin = begin, -1
        else:
            search(tree, few, axis, sum_flat, sums, sign, single, one, number)
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
            add_records(tree, few, one[:1], number[:1])
            add_near(seed, np.int64(own), few, axis, axis_codes, tables, table_starts, sum_flat, sums)
            if leaf_left[seed] > 0:
                begin = seed
            continue
        number[0] = -1
        add_records(tree, few, one[:1], number[:1])
        ask_near(seed, few, axis, axis_codes, tables, table_starts, near_flat, near)
        size = search(tree, few, axis, near_flat, near, least, others, found, taken)
        members[used, 0], members[used, 1] = seed, 1
        for i in range(size):
            members[used + 1 + i, 0], members[used + 1 + i, 1] = found[i], taken[i]
            taken[i] = -taken[i]
        members[used + 1 + size, 0] = -1
        used += size + 2
        add_records(tree, few, found[:size], taken[:size])
        add_near(seed, np.int64(1), few, axis, axis_codes, tables, table_starts, sum_flat, sums)
        seeds[made] = seed
        made += 1
        if apart and sign > 0 and leaf_left[seed] > 0:
            begin = seed
    return used, made


@kernel
def cut_blocks(order, begins, ends, most, matrix, places, starts, out):
    """Blocks of at most `most` tuples: each path of the trie halved along the axis on which its tuples lie farthest
    apart. `order` is permuted in place; the begins of the blocks go to `out`, their number comes back."""
    axes = matrix.shape[1]
    stack = np.empty((128, 2), np.int64)
    made = 0
    for group in range(len(begins)):
        stack[0, 0], stack[0, 1] = begins[group], ends[group]
        top = 1
        while top > 0:
            top -= 1
            begin, end = stack[top, 0], stack[top, 1]
            widest, axis = np.int64(0), -1
            if end - begin > most:
                for a in range(axes):
                    low, high = matrix[order[begin], a], matrix[order[begin], a]
                    for i in range(begin + 1, end):
                        value = matrix[order[i], a]
                        low, high = min(low, value), max(high, value)
                    width = places[starts[a] + high] - places[starts[a] + low]
                    if low != high and width >= widest:
                        widest, axis = width, a
            if axis < 0:
                out[made] = begin
                made += 1
                continue
            middle = (begin + end) // 2
            part_at(order, begin, end, middle, matrix, axis)
            stack[top, 0], stack[top, 1] = middle, end
            stack[top + 1, 0], stack[top + 1, 1] = begin, middle
            top += 2
    return made


@kernel
def fit_block(b, blocks, axis_codes, axis, leaf_left):
    """Shrinks a block to the tuples that are left in it: its box, its first tuple, its number of records."""
    order, begins, first, left, low, high, nulls = (
        blocks[0],
        blocks[1],
        blocks[2],
        blocks[3],
        blocks[4],
        blocks[5],
        blocks[6],
    )
    places, starts, lengths = axis[0], axis[1], axis[2]
    left[b], first[b] = 0, len(leaf_left)
    for a in range(len(lengths)):
        low[b, a], high[b, a], nulls[b, a] = -1, -1, 0
    keep = begins[b]
    for i in range(begins[b], begins[b + 1]):
        t = order[i]
        if leaf_left[t] == 0:
            continue
        order[i], order[keep] = order[keep], t
        keep += 1
        left[b] += leaf_left[t]
        first[b] = min(first[b], t)
        for a in range(len(lengths)):
            code = axis_codes[t, a]
            if code == lengths[a]:
                nulls[b, a] = 1
                continue
            place = places[starts[a] + code]
            low[b, a] = place if low[b, a] < 0 else min(low[b, a], place)
            high[b, a] = max(high[b, a], place)
    blocks[7][b] = keep


@kernel
def fit_blocks(blocks, axis_codes, axis, leaf_left):
    """fit_block of all."""
    for b in range(len(blocks[2])):
        fit_block(b, blocks, axis_codes, axis, leaf_left)


@kernel
def gather_blocks(
    blocks,
    codes_of,
    lower,
    fresh,
    best,
    few,
    axis,
    axis_codes,
    tables,
    table_starts,
    leaf_left,
    sum_flat,
    sums,
    k,
    begin,
    steps,
    members,
    seeds,
):
    """gather_steps for spaces with axes and least sums, by blocks of neighbouring tuples.

    A sum of distances only grows, by at least the distance of the new seed to the block's box; so each block keeps a
    lower bound of its least sum and is evaluated exactly only when that bound is the least of all. The same distances
    say which blocks can hold the nearest records.
    """
    order, begins, first, left, low, high, nulls, ends, block_of = blocks
    offsets = few[1]
    places, starts, lengths, null_of = axis[0], axis[1], axis[2], axis[3]
    axes, levels = len(lengths), len(offsets)
    missing, counts, totals, count_chunks, total_chunks = sums[2], sums[3], sums[4], sums[5], sums[6]
    chunk_starts = axis[4]
    near = np.empty(len(first), np.int64)
    size_found = k + 1
    heap_sums, heap_whose = np.empty(size_found, np.int64), np.empty(size_found, np.int64)
    seed_places = np.empty(axes, np.int64)
    total_left = np.int64(0)
    for b in range(len(first)):
        total_left += left[b]
    used, made, guess = 0, 0, np.int64(0)
    while made < steps and total_left >= k and used + k + 2 <= len(members):
        if begin >= 0:
            seed, begin = begin, -1
        else:
            state = axis_state(axis, sums)
            seed = -1
            while seed < 0:
                # The block of the least bound; among equal bounds one that is not exact yet, then the first tuple.
                chosen = -1
                for b in range(len(first)):
                    if left[b] == 0:
                        continue
                    if chosen < 0 or lower[b] < lower[chosen]:
                        chosen = b
                    elif lower[b] == lower[chosen] and fresh[chosen] == 1 and (fresh[b] == 0 or best[b] < best[chosen]):
                        chosen = b
                if fresh[chosen] == 1:
                    seed = best[chosen]
                    break
                base = np.int64(0)
                for j in range(levels):
                    base += sum_flat[offsets[j] + codes_of[chosen, j]]
                least, where = np.int64(0), -1
                for i in range(begins[chosen], ends[chosen]):
                    t = order[i]
                    if leaf_left[t] == 0:
                        continue
                    total = base
                    for a in range(axes):
                        code = np.int64(axis_codes[t, a])
                        if code == lengths[a]:
                            total += state[a, 3]
                            continue
                        at, chunk = starts[a] + code, chunk_starts[a] + (code >> CHUNK)  # axis_value, written out
                        count = counts[at] + count_chunks[chunk]
                        total += places[at] * (2 * count - missing[2 * a + 1]) + state[a, 4]
                        total -= 2 * (totals[at] + total_chunks[chunk])
                    if where < 0 or total < least or (total == least and t < where):
                        least, where = total, t
                lower[chosen], best[chosen], fresh[chosen] = least, where, 1
        leaf_left[seed] -= 1
        # The distance of every block to the seed.
        for a in range(axes):
            code = axis_codes[seed, a]
            seed_places[a] = -1 if code == lengths[a] else places[starts[a] + code]
        for b in range(len(first)):
            if left[b] == 0:
                continue
            total = np.int64(0)
            for j in range(levels):
                width = (offsets[j + 1] if j + 1 < levels else len(sum_flat)) - offsets[j]
                total += tables[table_starts[j] + few[0][seed, j] * width + codes_of[b, j]]
            for a in range(axes):
                if seed_places[a] < 0:
                    total += 0 if nulls[b, a] else null_of[a]
                elif low[b, a] < 0:
                    total += null_of[a]
                else:
                    here = max(low[b, a] - seed_places[a], seed_places[a] - high[b, a], np.int64(0))
                    total += min(here, null_of[a]) if nulls[b, a] else here
            near[b] = total
            lower[b] += total
            fresh[b] = 0
        # The nearest records: first the blocks within a guess, then all that could still win.
        size, held, wanted = 0, np.int64(0), k - 1
        before = np.int64(-1)
        while wanted > 0:
            for b in range(len(first)):
                if left[b] == 0 or near[b] <= before or near[b] > guess:
                    continue
                if held >= wanted and (
                    near[b] > heap_sums[0] or (near[b] == heap_sums[0] and first[b] > heap_whose[0])
                ):
                    continue
                base = np.int64(0)
                for j in range(levels):
                    width = (offsets[j + 1] if j + 1 < levels else len(sum_flat)) - offsets[j]
                    base += tables[table_starts[j] + few[0][seed, j] * width + codes_of[b, j]]
                for i in range(begins[b], ends[b]):
                    t = order[i]
                    if leaf_left[t] == 0:
                        continue
                    total = base
                    for a in range(axes):
                        code = axis_codes[t, a]
                        if code == lengths[a]:
                            total += 0 if seed_places[a] < 0 else null_of[a]
                        elif seed_places[a] < 0:
                            total += null_of[a]
                        else:
                            total += abs(places[starts[a] + code] - seed_places[a])
                    if held >= wanted and (total > heap_sums[0] or (total == heap_sums[0] and t > heap_whose[0])):
                        continue
                    push(heap_sums, heap_whose, size, total, t)
                    size += 1
                    held += leaf_left[t]
                    while size > 1 and held - leaf_left[heap_whose[0]] >= wanted:
                        held -= leaf_left[heap_whose[0]]
                        pop(heap_sums, heap_whose, size)
                        size -= 1
            if held >= wanted and heap_sums[0] <= guess:
                guess = max(heap_sums[0] + heap_sums[0] // 4, np.int64(1))
                break
            before = guess
            guess = heap_sums[0] if held >= wanted else max(2 * guess, np.int64(2**20))
        members[used, 0], members[used, 1] = seed, 1
        used += 1
        surplus = held - wanted
        for i in range(size):
            t = heap_whose[i]
            count = leaf_left[t] - (surplus if i == 0 else 0)
            members[used, 0], members[used, 1] = t, count
            used += 1
            leaf_left[t] -= count
        members[used, 0] = -1
        used += 1
        # Shrink the blocks that lost records.
        for i in range(used - 1 - size - 1, used - 1):
            fit_block(block_of[members[i, 0]], blocks, axis_codes, axis, leaf_left)
        total_left -= k
        add_near(seed, np.int64(1), few, axis, axis_codes, tables, table_starts, sum_flat, sums)
        seeds[made] = seed
        made += 1
    return used, made
