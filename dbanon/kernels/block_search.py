"""Blocks of neighbouring tuples: a search that is faster than the tree where tuples rarely repeat."""

import numpy as np

from dbanon.kernels.allocate import empty_int64
from dbanon.kernels.axis_sums import NULL_SUM, SUM_CONSTANT, axis_minima
from dbanon.kernels.halving import extent, partition_at
from dbanon.kernels.heap import push_and_trim, take_members
from dbanon.kernels.index_arrays import CHUNK
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.tree_search import add_distances


@kernel
def cut_blocks(order, begins, ends, max_tuples, matrix, axes, block_starts):
    """Cut each path of the trie into blocks of at most `max_tuples` tuples, or of equal ones; return their number.

    A range is halved along the axis on which its tuples lie farthest apart.

    Args:
        order: The tuples, permuted in place.
        begins, ends: Where the tuples of each path begin and end in `order`.
        max_tuples: The greatest size of a block.
        matrix: (tuples, axes) codes.
        axes: `Axes`.
        block_starts: Output: where the blocks begin in `order`.
    """
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
                for a in range(matrix.shape[1]):
                    low, high = extent(order, begin, end, matrix, a)
                    width = axes.places[axes.starts[a] + high] - axes.places[axes.starts[a] + low]
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
def shrink_block(b, blocks, axis_codes, axes):
    """Update block `b`, in place, to its tuples with remaining records: its box, first tuple and number of records.

    The remaining tuples are moved to the front of the block.

    Args:
        b: Number of the block.
        blocks: `TupleBlocks`; updated in place.
        axis_codes: (tuples, axes) int32: codes of the tuples on the axes.
        axes: `Axes`.
    """
    order, begins, low, high, lengths = blocks.order, blocks.begins, blocks.low, blocks.high, axes.lengths
    blocks.n_remaining[b], blocks.first[b] = 0, len(blocks.tuple_remaining)
    for a in range(len(lengths)):
        low[b, a], high[b, a], blocks.has_null[b, a] = -1, -1, 0
    kept_end = begins[b]
    for i in range(begins[b], begins[b + 1]):
        t = order[i]
        if blocks.tuple_remaining[t] == 0:
            continue
        order[i], order[kept_end] = order[kept_end], t
        kept_end += 1
        blocks.n_remaining[b] += blocks.tuple_remaining[t]
        blocks.first[b] = min(blocks.first[b], t)
        for a in range(len(lengths)):
            code = axis_codes[t, a]
            if code == lengths[a]:
                blocks.has_null[b, a] = 1
                continue
            place = axes.places[axes.starts[a] + code]
            low[b, a] = place if low[b, a] < 0 else min(low[b, a], place)
            high[b, a] = max(high[b, a], place)
    blocks.ends[b] = kept_end


@kernel
def shrink_blocks(blocks, axis_codes, axes):
    """Update all blocks, in place, to their tuples with remaining records (see `shrink_block`).

    Args:
        blocks: `TupleBlocks`; updated in place.
        axis_codes: (tuples, axes) int32: codes of the tuples on the axes.
        axes: `Axes`.
    """
    for b in range(len(blocks.first)):
        shrink_block(b, blocks, axis_codes, axes)


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
def lowest_sum_in_block(b, blocks, starts, axes, axis_codes, sums, minima):
    """Return the least summed distance to all seeds of a tuple in block `b`, and the first tuple that has it.

    Only tuples with remaining records count; (0, -1) without any.

    Args:
        b: Number of the block.
        blocks: `TupleBlocks`.
        starts: Where the values of each attribute with few values begin.
        axes: `Axes`.
        axis_codes: (tuples, axes) int32: codes of the tuples on the axes.
        sums: `SumQuery` for the summed distances.
        minima: The table that `axis_minima` returns.
    """
    base = np.int64(0)
    for j in range(len(starts)):
        base += sums.table_sums[starts[j] + blocks.codes[b, j]]
    lowest, lowest_tuple = np.int64(0), np.int64(-1)
    for i in range(blocks.begins[b], blocks.ends[b]):
        t = blocks.order[i]
        if blocks.tuple_remaining[t] == 0:
            continue
        total = base
        for a in range(len(axes.lengths)):
            code = np.int64(axis_codes[t, a])
            if code == axes.lengths[a]:
                total += minima[a, NULL_SUM]
                continue
            # `axis_sum`, written out
            place_index, chunk = axes.starts[a] + code, axes.chunk_starts[a] + (code >> CHUNK)
            count = sums.counts[place_index] + sums.count_chunks[chunk]
            total += axes.places[place_index] * (2 * count - sums.n_places[a]) + minima[a, SUM_CONSTANT]
            total -= 2 * (sums.totals[place_index] + sums.total_chunks[chunk])
        if lowest_tuple < 0 or total < lowest or (total == lowest and t < lowest_tuple):
            lowest, lowest_tuple = total, t
    return lowest, lowest_tuple


@kernel_part
def table_distance(seed, b, blocks, tabular, search):
    """Return the distance of tuple `seed` to block `b` on attributes with few values, which are equal in a block.

    Args:
        seed: Number of the tuple.
        b: Number of the block.
        blocks: `TupleBlocks`.
        tabular: `TabularAttributes`.
        search: `SeedSearch`.
    """
    starts, length = tabular.starts, len(search.sums.table_sums)
    total = np.int64(0)
    for j in range(len(starts)):
        width = (starts[j + 1] if j + 1 < len(starts) else length) - starts[j]
        total += search.tables[search.table_starts[j] + tabular.codes[seed, j] * width + blocks.codes[b, j]]
    return total


@kernel_part
def box_distance(b, blocks, seed_places, null_distances):
    """Return the least possible distance, on all axes, of a seed to any tuple of block `b`.

    Args:
        b: Number of the block.
        blocks: `TupleBlocks`.
        seed_places: (axes,) place of the seed on each axis, -1 for NULL.
        null_distances: (axes,) distance of NULL to a value.
    """
    total = np.int64(0)
    for a in range(len(seed_places)):
        low, high, has_null = blocks.low[b, a], blocks.high[b, a], blocks.has_null[b, a]
        if seed_places[a] < 0:
            total += 0 if has_null else null_distances[a]
        elif low < 0:
            total += null_distances[a]
        else:
            axis_bound = max(low - seed_places[a], seed_places[a] - high, np.int64(0))
            total += min(axis_bound, null_distances[a]) if has_null else axis_bound
    return total


@kernel_part
def nearest_in_block(b, base, blocks, axes, axis_codes, seed_places, heap, size, n_held, wanted):
    """Push block `b`'s tuples that are nearer to a seed than the heap's worst; return heap size and record count.

    The heap is changed in place, and contains just enough tuples for `wanted` records. The record count is that of its
    tuples.

    Args:
        b: The block.
        base: Distance of the seed to the block on attributes with few values.
        blocks: `TupleBlocks`.
        axes, axis_codes: The axes and the tuples' codes on them.
        seed_places: The seed's place on each axis, -1 for NULL.
        heap: Distances and tuples.
        size: Number of tuples in the heap.
        n_held: Records of these tuples.
        wanted: Number of records that are searched for.
    """
    sums, heap_tuples = heap
    for i in range(blocks.begins[b], blocks.ends[b]):
        t = blocks.order[i]
        if blocks.tuple_remaining[t] == 0:
            continue
        total = base
        for a in range(len(axes.lengths)):
            code = axis_codes[t, a]
            if code == axes.lengths[a]:
                total += 0 if seed_places[a] < 0 else axes.null_distances[a]
            elif seed_places[a] < 0:
                total += axes.null_distances[a]
            else:
                total += abs(axes.places[axes.starts[a] + code] - seed_places[a])
        if n_held >= wanted and (total > sums[0] or (total == sums[0] and t > heap_tuples[0])):
            continue
        size, n_held = push_and_trim(sums, heap_tuples, size, n_held, total, t, blocks.tuple_remaining, wanted)
    return size, n_held


@kernel
def gather_block_clusters(block_arrays, tabular, axes, axis_codes, search, k, first_seed, max_clusters, members, seeds):
    """Form up to `max_clusters` clusters of k records as `gather_clusters` does.

    A cluster is a seed and the k - 1 records nearest to it; a seed is the record with the least summed distance to all
    seeds so far. The search works on blocks of similar tuples, for tables with axes (numbers with many values): a block
    is examined only if a lower bound of its distances allows it.

    Args:
        block_arrays: `BlockArrays`; updated in place.
        tabular: `TabularAttributes`.
        axes: `Axes`.
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
    blocks, lower, is_exact, best = block_arrays
    first, n_remaining, tuple_remaining = blocks.first, blocks.n_remaining, blocks.tuple_remaining
    distance_bounds, seed_places = empty_int64(len(first)), empty_int64(len(axes.lengths))
    heap_sums, heap_tuples = empty_int64(k + 1), empty_int64(k + 1)
    total_left = n_remaining.sum()
    n_rows, n_clusters, reach, n_examined = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    while n_clusters < max_clusters and total_left >= k and n_rows + k + 2 <= len(members):
        n_examined += len(first)
        seed, first_seed = first_seed, np.int64(-1)
        if seed < 0:
            minima = axis_minima(axes, search.sums)
            lowest = lowest_block(n_remaining, lower, is_exact, best)
            while is_exact[lowest] == 0:
                lower[lowest], best[lowest] = lowest_sum_in_block(
                    lowest, blocks, tabular.starts, axes, axis_codes, search.sums, minima
                )
                is_exact[lowest] = 1
                lowest = lowest_block(n_remaining, lower, is_exact, best)
            seed = best[lowest]
        tuple_remaining[seed] -= 1
        for a in range(len(seed_places)):
            code = axis_codes[seed, a]
            seed_places[a] = -1 if code == axes.lengths[a] else axes.places[axes.starts[a] + code]
        for b in range(len(first)):
            if n_remaining[b] > 0:
                distance_bounds[b] = table_distance(seed, b, blocks, tabular, search)
                distance_bounds[b] += box_distance(b, blocks, seed_places, axes.null_distances)
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
                base = table_distance(seed, b, blocks, tabular, search)
                size, n_held = nearest_in_block(
                    b, base, blocks, axes, axis_codes, seed_places, (heap_sums, heap_tuples), size, n_held, wanted
                )
            if n_held >= wanted and heap_sums[0] <= reach:
                reach = max(heap_sums[0] + heap_sums[0] // 4, np.int64(1))
                break
            previous_reach = reach
            reach = heap_sums[0] if n_held >= wanted else max(2 * reach, np.int64(2**20))
        cluster_begin = n_rows
        n_rows = take_members(seed, heap_tuples, size, n_held - wanted, tuple_remaining, members, n_rows)
        for i in range(cluster_begin, n_rows - 1):  # the blocks that lost records shrink
            shrink_block(blocks.block_of[members[i, 0]], blocks, axis_codes, axes)
        total_left -= k
        add_distances(seed, np.int64(1), tabular, axes, axis_codes, search)
        seeds[n_clusters] = seed
        n_clusters += 1
    return n_rows, n_clusters, n_examined
