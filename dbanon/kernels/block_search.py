"""Blocks of neighbouring tuples: a search that is faster than the tree where tuples rarely repeat."""

import numpy as np

from dbanon.kernels.allocate import empty_int64
from dbanon.kernels.axis_sums import CHUNK, axis_minima
from dbanon.kernels.halving import extent, partition_at
from dbanon.kernels.heap import push_and_trim
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.tree_search import add_distances


@kernel
def cut_blocks(order, begins, ends, max_tuples, matrix, places, starts, block_starts):
    """Cut each path of the trie into blocks of at most `max_tuples` tuples, or of equal ones; return their number.

    A range is halved along the axis on which its tuples lie farthest apart.

    Args:
        order: The tuples, permuted in place.
        begins, ends: Where the tuples of each path begin and end in `order`.
        max_tuples: The greatest size of a block.
        matrix: (tuples, axes) codes.
        places, starts: Places of the codes on the axes, and where those of each axis begin.
        block_starts: Output: where the blocks begin in `order`.
    """
    axes = matrix.shape[1]
    stack = empty_int64(np.int64(256))
    n_blocks = 0
    for group in range(len(begins)):
        stack[0], stack[1] = begins[group], ends[group]
        top = 1
        while top > 0:
            top -= 1
            begin, end = stack[2 * top], stack[2 * top + 1]
            widest, axis = np.int64(0), np.int64(-1)
            if end - begin > max_tuples:
                for a in range(axes):
                    low, high = extent(order, begin, end, matrix, a)
                    width = places[starts[a] + high] - places[starts[a] + low]
                    if low != high and width >= widest:
                        widest, axis = width, np.int64(a)
            if axis < 0:
                block_starts[n_blocks] = begin
                n_blocks += 1
                continue
            middle = (begin + end) // 2
            partition_at(order, begin, end, middle, matrix, axis)
            stack[2 * top], stack[2 * top + 1], stack[2 * top + 2], stack[2 * top + 3] = middle, end, begin, middle
            top += 2
    return n_blocks


@kernel_part
def shrink_block(b, blocks, axis_codes, axis):
    """Update block `b`, in place, to its tuples with remaining records: its box, first tuple and number of records.

    The remaining tuples are moved to the front of the block.

    Args:
        b: Number of the block.
        blocks: The field `blocks` of `BlockArrays`; updated in place.
        axis_codes: (tuples, axes) int32: codes of the tuples on the axes.
        axis: The axes, that is, numbers with many values (see `IndexArrays`): places, where those of each axis begin,
            their number, distance of NULL, where chunks begin; None if there are no axes.
    """
    order, begins, first, n_remaining, low, high, nulls = (
        blocks[0],
        blocks[1],
        blocks[2],
        blocks[3],
        blocks[4],
        blocks[5],
        blocks[6],
    )
    places, starts, lengths, tuple_remaining = axis[0], axis[1], axis[2], blocks[9]
    n_remaining[b], first[b] = 0, len(tuple_remaining)
    for a in range(len(lengths)):
        low[b, a], high[b, a], nulls[b, a] = -1, -1, 0
    kept_end = begins[b]
    for i in range(begins[b], begins[b + 1]):
        t = order[i]
        if tuple_remaining[t] == 0:
            continue
        order[i], order[kept_end] = order[kept_end], t
        kept_end += 1
        n_remaining[b] += tuple_remaining[t]
        first[b] = min(first[b], t)
        for a in range(len(lengths)):
            code = axis_codes[t, a]
            if code == lengths[a]:
                nulls[b, a] = 1
                continue
            place = places[starts[a] + code]
            low[b, a] = place if low[b, a] < 0 else min(low[b, a], place)
            high[b, a] = max(high[b, a], place)
    blocks[7][b] = kept_end


@kernel
def shrink_blocks(blocks, axis_codes, axis):
    """Update all blocks, in place, to their tuples with remaining records (see `shrink_block`).

    Args:
        blocks: The field `blocks` of `BlockArrays`; updated in place.
        axis_codes: (tuples, axes) int32: codes of the tuples on the axes.
        axis: The axes, that is, numbers with many values (see `IndexArrays`): places, where those of each axis begin,
            their number, distance of NULL, where chunks begin; None if there are no axes.
    """
    for b in range(len(blocks[2])):
        shrink_block(b, blocks, axis_codes, axis)


@kernel_part
def lowest_block(n_remaining, lower, is_exact, best):
    """Return the block with remaining records that has the least bound; -1 if there is none.

    Among equal bounds a block whose bound is not exact comes first, then the one with the first best tuple.

    Args:
        n_remaining: Remaining records of each block.
        lower: Lower bound of the least sum in each block.
        is_exact: 1 where `lower` is exact, else 0.
        best: The tuple with the least sum, where `lower` is exact.
    """
    lowest = -1
    for b in range(len(n_remaining)):
        if n_remaining[b] == 0:
            continue
        if lowest < 0 or lower[b] < lower[lowest]:
            lowest = b
        elif lower[b] == lower[lowest] and is_exact[lowest] == 1 and (is_exact[b] == 0 or best[b] < best[lowest]):
            lowest = b
    return lowest


@kernel_part
def lowest_sum_in_block(b, blocks, codes_of, offsets, axis, axis_codes, tuple_remaining, sum_flat, sums, state):
    """Return the least summed distance to all seeds of a tuple in block `b`, and the first tuple that has it.

    Only tuples with remaining records count; (0, -1) without any.

    Args:
        b: Number of the block.
        blocks: The field `blocks` of `BlockArrays`.
        codes_of: (blocks, attributes) codes of each block on the attributes with few values.
        offsets: Where the values of each attribute begin in `sum_flat`.
        axis: The axes, that is, numbers with many values (see `IndexArrays`): places, where those of each axis begin,
            their number, distance of NULL, where chunks begin; None if there are no axes.
        axis_codes: (tuples, axes) int32: codes of the tuples on the axes.
        tuple_remaining: (tuples,) remaining records.
        sum_flat: By value of the attributes with few values, its summed distance to all seeds.
        sums: The axis part of the sums (see `axis_sum`).
        state: The table that `axis_minima` returns.
    """
    order, begins, ends = blocks[0], blocks[1], blocks[7]
    places, starts, lengths, chunk_starts = axis[0], axis[1], axis[2], axis[4]
    missing, counts, totals, count_chunks, total_chunks = sums[2], sums[3], sums[4], sums[5], sums[6]
    base = np.int64(0)
    for j in range(len(offsets)):
        base += sum_flat[offsets[j] + codes_of[b, j]]
    lowest, lowest_tuple = np.int64(0), np.int64(-1)
    for i in range(begins[b], ends[b]):
        t = order[i]
        if tuple_remaining[t] == 0:
            continue
        total = base
        for a in range(len(lengths)):
            code = np.int64(axis_codes[t, a])
            if code == lengths[a]:
                total += state[a, 3]
                continue
            place_index, chunk = starts[a] + code, chunk_starts[a] + (code >> CHUNK)  # axis_value, written out
            count = counts[place_index] + count_chunks[chunk]
            total += places[place_index] * (2 * count - missing[2 * a + 1]) + state[a, 4]
            total -= 2 * (totals[place_index] + total_chunks[chunk])
        if lowest_tuple < 0 or total < lowest or (total == lowest and t < lowest_tuple):
            lowest, lowest_tuple = total, t
    return lowest, lowest_tuple


@kernel_part
def table_distance(seed, b, codes_of, tabular, tables, table_starts, length):
    """Return the distance of tuple `seed` to block `b` on attributes with few values, which are equal in a block.

    Args:
        seed: Number of the tuple.
        b: Number of the block.
        codes_of: (blocks, attributes) codes of each block on the attributes with few values.
        tabular: The attributes with few values (see `IndexArrays`): codes (tuples, attributes), where the values of
            each attribute begin, remaining records by value.
        tables: Distances between the values of each attribute with few values, one row after another.
        table_starts: (attributes,) where the distances of each attribute begin in `tables`.
        length: Number of values of all attributes with few values.
    """
    offsets = tabular[1]
    total = np.int64(0)
    for j in range(len(offsets)):
        width = (offsets[j + 1] if j + 1 < len(offsets) else length) - offsets[j]
        total += tables[table_starts[j] + tabular[0][seed, j] * width + codes_of[b, j]]
    return total


@kernel_part
def box_distance(b, blocks, seed_places, null_distances):
    """Return the least possible distance, on all axes, of a seed to any tuple of block `b`.

    Args:
        b: Number of the block.
        blocks: The field `blocks` of `BlockArrays`.
        seed_places: (axes,) place of the seed on each axis, -1 for NULL.
        null_distances: (axes,) distance of NULL to a value.
    """
    low, high, nulls = blocks[4], blocks[5], blocks[6]
    total = np.int64(0)
    for a in range(len(seed_places)):
        if seed_places[a] < 0:
            total += 0 if nulls[b, a] else null_distances[a]
        elif low[b, a] < 0:
            total += null_distances[a]
        else:
            axis_bound = max(low[b, a] - seed_places[a], seed_places[a] - high[b, a], np.int64(0))
            total += min(axis_bound, null_distances[a]) if nulls[b, a] else axis_bound
    return total


@kernel_part
def nearest_in_block(b, base, blocks, axis, axis_codes, seed_places, heap, size, n_held, wanted):
    """Push block `b`'s tuples that are nearer to a seed than the heap's worst; return heap size and record count.

    The heap is changed in place, and contains just enough tuples for `wanted` records. The record count is that of its
    tuples.

    Args:
        b: The block.
        base: Distance of the seed to the block on attributes with few values.
        blocks: Blocks of tuples (see `BlockArrays`).
        axis, axis_codes: The axes and the tuples' codes on them.
        seed_places: The seed's place on each axis, -1 for NULL.
        heap: Distances and tuples.
        size: Number of tuples in the heap.
        n_held: Records of these tuples.
        wanted: Number of records that are searched for.
    """
    order, begins, ends, tuple_remaining = blocks[0], blocks[1], blocks[7], blocks[9]
    sums, heap_tuples = heap
    places, starts, lengths, null_distances = axis[0], axis[1], axis[2], axis[3]
    for i in range(begins[b], ends[b]):
        t = order[i]
        if tuple_remaining[t] == 0:
            continue
        total = base
        for a in range(len(lengths)):
            code = axis_codes[t, a]
            if code == lengths[a]:
                total += 0 if seed_places[a] < 0 else null_distances[a]
            elif seed_places[a] < 0:
                total += null_distances[a]
            else:
                total += abs(places[starts[a] + code] - seed_places[a])
        if n_held >= wanted and (total > sums[0] or (total == sums[0] and t > heap_tuples[0])):
            continue
        size, n_held = push_and_trim(sums, heap_tuples, size, n_held, total, t, tuple_remaining, wanted)
    return size, n_held


@kernel
def gather_block_clusters(block_arrays, tabular, axis, axis_codes, search, k, first_seed, max_clusters, members, seeds):
    """Form up to `max_clusters` clusters of k records as `gather_clusters` does.

    A cluster is a seed and the k - 1 records nearest to it; a seed is the record with the least summed distance to all
    seeds so far. The search works on blocks of similar tuples, for tables with axes (numbers with many values): a block
    is examined only if a lower bound of its distances allows it.

    Args:
        block_arrays: `BlockArrays`; updated in place.
        tabular: The attributes with few values (see `IndexArrays`): codes (tuples, attributes), where the values of
            each attribute begin, remaining records by value.
        axis: The axes, that is, numbers with many values (see `IndexArrays`): places, where those of each axis begin,
            their number, distance of NULL, where chunks begin; None if there are no axes.
        axis_codes: (tuples, axes) int32: codes of the tuples on the axes.
        search: `SeedSearch`; its sums are updated in place.
        k: Records of a cluster.
        first_seed: Tuple of the first seed, or -1 to search for it.
        max_clusters: Number of clusters after which to return.
        members: Output: rows (tuple, number of records); a row of -1 ends a cluster.
        seeds: Output: tuple of each seed.

    Returns:
        Number of rows used in `members`, number of clusters, and number of blocks examined: all of them for each
        cluster. The records examined in blocks are not counted; for the first clusters they are many more than for
        others.
    """
    blocks, codes_of, lower, is_exact, best = block_arrays
    tables, table_starts, _, _, sum_flat, sums, _ = search
    first, n_remaining, block_of, tuple_remaining = blocks[2], blocks[3], blocks[8], blocks[9]
    axes, length = len(axis[2]), len(sum_flat)
    distance_bounds, seed_places = empty_int64(len(first)), empty_int64(axes)
    heap_sums, heap_tuples = empty_int64(k + 1), empty_int64(k + 1)
    total_left = np.int64(0)
    for b in range(len(first)):
        total_left += n_remaining[b]
    n_rows, n_clusters, reach, n_examined = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    while n_clusters < max_clusters and total_left >= k and n_rows + k + 2 <= len(members):
        n_examined += len(first)
        seed, first_seed = first_seed, np.int64(-1)
        if seed < 0:
            state = axis_minima(axis, sums)
            lowest = lowest_block(n_remaining, lower, is_exact, best)
            while is_exact[lowest] == 0:
                lower[lowest], best[lowest] = lowest_sum_in_block(
                    lowest, blocks, codes_of, tabular[1], axis, axis_codes, tuple_remaining, sum_flat, sums, state
                )
                is_exact[lowest] = 1
                lowest = lowest_block(n_remaining, lower, is_exact, best)
            seed = best[lowest]
        tuple_remaining[seed] -= 1
        for a in range(axes):
            code = axis_codes[seed, a]
            seed_places[a] = -1 if code == axis[2][a] else axis[0][axis[1][a] + code]
        for b in range(len(first)):
            if n_remaining[b] > 0:
                distance_bounds[b] = table_distance(seed, b, codes_of, tabular, tables, table_starts, length)
                distance_bounds[b] += box_distance(b, blocks, seed_places, axis[3])
                lower[b] += distance_bounds[b]
                is_exact[b] = 0
        # The nearest records: first the blocks within a guess, then all that could still win.
        size, n_held, wanted = np.int64(0), np.int64(0), k - 1
        previous_reach = np.int64(-1)
        while wanted > 0:
            for b in range(len(first)):
                if n_remaining[b] == 0 or distance_bounds[b] <= previous_reach or distance_bounds[b] > reach:
                    continue
                if n_held >= wanted and (
                    distance_bounds[b] > heap_sums[0]
                    or (distance_bounds[b] == heap_sums[0] and first[b] > heap_tuples[0])
                ):
                    continue
                base = table_distance(seed, b, codes_of, tabular, tables, table_starts, length)
                size, n_held = nearest_in_block(
                    b, base, blocks, axis, axis_codes, seed_places, (heap_sums, heap_tuples), size, n_held, wanted
                )
            if n_held >= wanted and heap_sums[0] <= reach:
                reach = max(heap_sums[0] + heap_sums[0] // 4, np.int64(1))
                break
            previous_reach = reach
            reach = heap_sums[0] if n_held >= wanted else max(2 * reach, np.int64(2**20))
        members[n_rows, 0], members[n_rows, 1] = seed, 1
        surplus = n_held - wanted
        for i in range(size):
            t = heap_tuples[i]
            count = tuple_remaining[t] - (surplus if i == 0 else 0)
            members[n_rows + 1 + i, 0], members[n_rows + 1 + i, 1] = t, count
            tuple_remaining[t] -= count
        members[n_rows + 1 + size, 0] = -1
        for i in range(n_rows, n_rows + 1 + size):  # the blocks that lost records shrink
            shrink_block(block_of[members[i, 0]], blocks, axis_codes, axis)
        n_rows += size + 2
        total_left -= k
        add_distances(seed, np.int64(1), tabular, axis, axis_codes, tables, table_starts, sum_flat, sums)
        seeds[n_clusters] = seed
        n_clusters += 1
    return n_rows, n_clusters, n_examined
