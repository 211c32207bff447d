"""Blocks of neighbouring tuples: what answers faster than the tree where tuples rarely repeat."""

import numpy as np

from dbanon.kernels.allocate import integers
from dbanon.kernels.axis_sums import CHUNK, axis_state
from dbanon.kernels.halving import extent, part_at
from dbanon.kernels.heap import hold
from dbanon.kernels.jit import kernel, part
from dbanon.kernels.tree_search import add_near


@kernel
def cut_blocks(order, begins, ends, most, matrix, places, starts, out):
    """Blocks of at most `most` tuples: each path of the trie halved along the axis on which its tuples lie farthest
    apart. `order` is permuted in place; the begins of the blocks go to `out`, their number comes back."""
    axes = matrix.shape[1]
    stack = integers(np.int64(256))
    made = 0
    for group in range(len(begins)):
        stack[0], stack[1] = begins[group], ends[group]
        top = 1
        while top > 0:
            top -= 1
            begin, end = stack[2 * top], stack[2 * top + 1]
            widest, axis = np.int64(0), np.int64(-1)
            if end - begin > most:
                for a in range(axes):
                    low, high = extent(order, begin, end, matrix, a)
                    width = places[starts[a] + high] - places[starts[a] + low]
                    if low != high and width >= widest:
                        widest, axis = width, np.int64(a)
            if axis < 0:
                out[made] = begin
                made += 1
                continue
            middle = (begin + end) // 2
            part_at(order, begin, end, middle, matrix, axis)
            stack[2 * top], stack[2 * top + 1], stack[2 * top + 2], stack[2 * top + 3] = middle, end, begin, middle
            top += 2
    return made


@part
def fit_block(b, blocks, axis_codes, axis):
    """Shrink a block to the tuples that are left in it: its box, its first tuple, its number of records."""
    order, begins, first, left, low, high, nulls = (
        blocks[0],
        blocks[1],
        blocks[2],
        blocks[3],
        blocks[4],
        blocks[5],
        blocks[6],
    )
    places, starts, lengths, leaf_left = axis[0], axis[1], axis[2], blocks[9]
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
def fit_blocks(blocks, axis_codes, axis):
    """fit_block of all."""
    for b in range(len(blocks[2])):
        fit_block(b, blocks, axis_codes, axis)


@part
def least_block(left, lower, fresh, best):
    """Return the block of the least bound; among equal bounds one that is not exact yet, then the first tuple."""
    chosen = -1
    for b in range(len(left)):
        if left[b] == 0:
            continue
        if chosen < 0 or lower[b] < lower[chosen]:
            chosen = b
        elif lower[b] == lower[chosen] and fresh[chosen] == 1 and (fresh[b] == 0 or best[b] < best[chosen]):
            chosen = b
    return chosen


@part
def least_in_block(b, blocks, codes_of, offsets, axis, axis_codes, leaf_left, sum_flat, sums, state):
    """Return the least sum of a tuple that is left in a block, and the first tuple that has it."""
    order, begins, ends = blocks[0], blocks[1], blocks[7]
    places, starts, lengths, chunk_starts = axis[0], axis[1], axis[2], axis[4]
    missing, counts, totals, count_chunks, total_chunks = sums[2], sums[3], sums[4], sums[5], sums[6]
    base = np.int64(0)
    for j in range(len(offsets)):
        base += sum_flat[offsets[j] + codes_of[b, j]]
    least, where = np.int64(0), np.int64(-1)
    for i in range(begins[b], ends[b]):
        t = order[i]
        if leaf_left[t] == 0:
            continue
        total = base
        for a in range(len(lengths)):
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
    return least, where


@part
def table_distance(seed, b, codes_of, few, tables, table_starts, length):
    """What the attributes with few values add to the distance of a tuple to a block."""
    offsets = few[1]
    total = np.int64(0)
    for j in range(len(offsets)):
        width = (offsets[j + 1] if j + 1 < len(offsets) else length) - offsets[j]
        total += tables[table_starts[j] + few[0][seed, j] * width + codes_of[b, j]]
    return total


@part
def box_distance(b, blocks, seed_places, null_of):
    """What the axes add at least to the distance of a seed to a tuple of a block."""
    low, high, nulls = blocks[4], blocks[5], blocks[6]
    total = np.int64(0)
    for a in range(len(seed_places)):
        if seed_places[a] < 0:
            total += 0 if nulls[b, a] else null_of[a]
        elif low[b, a] < 0:
            total += null_of[a]
        else:
            here = max(low[b, a] - seed_places[a], seed_places[a] - high[b, a], np.int64(0))
            total += min(here, null_of[a]) if nulls[b, a] else here
    return total


@part
def nearest_in_block(b, base, blocks, axis, axis_codes, seed_places, heap, size, held, wanted):
    """Puts the tuples of a block that are nearer to a seed than what the heap holds into it; gives its size and the
    number of records of its tuples."""
    order, begins, ends, leaf_left = blocks[0], blocks[1], blocks[7], blocks[9]
    sums, whose = heap
    places, starts, lengths, null_of = axis[0], axis[1], axis[2], axis[3]
    for i in range(begins[b], ends[b]):
        t = order[i]
        if leaf_left[t] == 0:
            continue
        total = base
        for a in range(len(lengths)):
            code = axis_codes[t, a]
            if code == lengths[a]:
                total += 0 if seed_places[a] < 0 else null_of[a]
            elif seed_places[a] < 0:
                total += null_of[a]
            else:
                total += abs(places[starts[a] + code] - seed_places[a])
        if held >= wanted and (total > sums[0] or (total == sums[0] and t > whose[0])):
            continue
        size, held = hold(sums, whose, size, held, total, t, leaf_left, wanted)
    return size, held


@kernel
def gather_blocks(arrays, few, axis, axis_codes, search, k, begin, steps, members, seeds):
    """gather_steps for spaces with axes and least sums, by blocks of neighbouring tuples.

    A sum of distances only grows, by at least the distance of the new seed to the block's box; so each block keeps a
    lower bound of its least sum and is evaluated exactly only when that bound is the least of all. The same distances
    say which blocks can hold the nearest records.
    """
    blocks, codes_of, lower, fresh, best = arrays
    tables, table_starts, _, _, sum_flat, sums, _ = search
    first, left, block_of, leaf_left = blocks[2], blocks[3], blocks[8], blocks[9]
    axes, length = len(axis[2]), len(sum_flat)
    near, seed_places = integers(len(first)), integers(axes)
    heap_sums, heap_whose = integers(k + 1), integers(k + 1)
    total_left = np.int64(0)
    for b in range(len(first)):
        total_left += left[b]
    used, made, guess = np.int64(0), np.int64(0), np.int64(0)
    while made < steps and total_left >= k and used + k + 2 <= len(members):
        seed, begin = begin, np.int64(-1)
        if seed < 0:
            state = axis_state(axis, sums)
            chosen = least_block(left, lower, fresh, best)
            while fresh[chosen] == 0:
                lower[chosen], best[chosen] = least_in_block(
                    chosen, blocks, codes_of, few[1], axis, axis_codes, leaf_left, sum_flat, sums, state
                )
                fresh[chosen] = 1
                chosen = least_block(left, lower, fresh, best)
            seed = best[chosen]
        leaf_left[seed] -= 1
        for a in range(axes):
            code = axis_codes[seed, a]
            seed_places[a] = -1 if code == axis[2][a] else axis[0][axis[1][a] + code]
        for b in range(len(first)):
            if left[b] > 0:
                near[b] = table_distance(seed, b, codes_of, few, tables, table_starts, length)
                near[b] += box_distance(b, blocks, seed_places, axis[3])
                lower[b] += near[b]
                fresh[b] = 0
        # The nearest records: first the blocks within a guess, then all that could still win.
        size, held, wanted = np.int64(0), np.int64(0), k - 1
        before = np.int64(-1)
        while wanted > 0:
            for b in range(len(first)):
                if left[b] == 0 or near[b] <= before or near[b] > guess:
                    continue
                if held >= wanted and (
                    near[b] > heap_sums[0] or (near[b] == heap_sums[0] and first[b] > heap_whose[0])
                ):
                    continue
                base = table_distance(seed, b, codes_of, few, tables, table_starts, length)
                size, held = nearest_in_block(
                    b, base, blocks, axis, axis_codes, seed_places, (heap_sums, heap_whose), size, held, wanted
                )
            if held >= wanted and heap_sums[0] <= guess:
                guess = max(heap_sums[0] + heap_sums[0] // 4, np.int64(1))
                break
            before = guess
            guess = heap_sums[0] if held >= wanted else max(2 * guess, np.int64(2**20))
        members[used, 0], members[used, 1] = seed, 1
        surplus = held - wanted
        for i in range(size):
            t = heap_whose[i]
            count = leaf_left[t] - (surplus if i == 0 else 0)
            members[used + 1 + i, 0], members[used + 1 + i, 1] = t, count
            leaf_left[t] -= count
        members[used + 1 + size, 0] = -1
        for i in range(used, used + 1 + size):  # the blocks that lost records shrink
            fit_block(block_of[members[i, 0]], blocks, axis_codes, axis)
        used += size + 2
        total_left -= k
        add_near(seed, np.int64(1), few, axis, axis_codes, tables, table_starts, sum_flat, sums)
        seeds[made] = seed
        made += 1
    return used, made
