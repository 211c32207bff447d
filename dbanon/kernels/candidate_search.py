"""Nearest-record search for tables where few tuples repeat: it works on partitions of the attributes.

A record within a distance r of the seed is, in some partition, within a share of r, for any shares that add up to r. So
in each partition only the records within its share are examined; shares are chosen to make these as few as possible.
The distance within a partition is bounded from below by regions, each a range of codes of an attribute.

The record of least sum is one of a few candidates, whose sums are kept exact. All other sums grow by at least as much
as the least of their regions; when they might have caught up, all sums are computed again.
"""

import numpy as np

from dbanon.kernels.allocate import empty_int64
from dbanon.kernels.heap import push_and_trim, push_bounded, take_members
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.partition_arrays import (
    CHOSEN,
    EXAMINED,
    EXHAUSTED,
    GREATEST_SUM,
    GREATEST_TUPLE,
    REACH,
    REMAINING,
)

INFINITE_DISTANCE = 2**62
"""More than any distance."""

N_SHARES = 32
"""Number of shares into which a distance is divided among the partitions."""


@kernel_part
def category_distance(j, way_start, first_depth, second_depth, regions):
    """Return the distance of two categorical values, from their depth indexes below an ancestor.

    Args:
        j: The attribute.
        way_start: Where the lengths of paths to the ancestor begin in `regions.ways`.
        first_depth, second_depth: The depth index of each value.
        regions: `RegionArrays`.
    """
    lengths = regions.ways[way_start + first_depth] * regions.ways[way_start + second_depth]
    return np.int64(np.rint(lengths * regions.scales[j, 0] * regions.scales[j, 1]))


@kernel_part
def tuple_distance(one, other, codes, regions, limit):
    """Return the distance of two tuples (numbers `one` and `other`), or any number above `limit` if it is greater.

    Args:
        one, other: Numbers of the tuples.
        codes: (tuples, attributes) codes.
        regions: `RegionArrays`.
        limit: The distance above which the exact result does not matter.
    """
    total = np.int64(0)
    for j in range(len(regions.is_tree)):
        a, b = np.int64(codes[one, j]), np.int64(codes[other, j])
        if a == b:
            continue
        values, value_start = regions.n_values[j], regions.value_starts[j]
        if a == values or b == values:
            total += regions.null_distances[j]
        elif regions.is_tree[j] == 0:
            total += abs(regions.position_or_node[value_start + a] - regions.position_or_node[value_start + b])
        else:
            own_region, other_region = regions.region_of[value_start + a], regions.region_of[value_start + b]
            pair = regions.pair_starts[j] + own_region * regions.n_regions[j] + other_region
            if regions.pair_bounds[pair, 0] == regions.pair_bounds[pair, 1]:
                total += regions.pair_bounds[pair, 0]
            else:
                node, last = regions.position_or_node[value_start + min(a, b)], max(a, b)
                while last >= regions.nodes[regions.node_starts[j] + node, 1]:
                    node = np.int64(regions.nodes[regions.node_starts[j] + node, 0])
                way_start = regions.way_starts[j] + node * regions.n_depths[j]
                total += category_distance(
                    j, way_start, regions.depth_index[value_start + a], regions.depth_index[value_start + b], regions
                )
        if total > limit:
            break
    return total


@kernel_part
def fill_region_bounds(seed, index, lower):
    """Fill `lower` with the least possible distance to a seed, on one attribute, of any record in each region.

    A region is a range of codes of an attribute; its last one is NULL. `seed` is a tuple. Where no remaining record has
    the seed's value, the least distance to another value bounds that of its own region.

    Args:
        seed: Number of the tuple.
        index: `PartitionIndex`.
        lower: Output: by region of all attributes, the least distance.
    """
    regions = index.regions
    for j in range(len(regions.is_tree)):
        code, values, value_start = np.int64(index.codes[seed, j]), regions.n_values[j], regions.value_starts[j]
        begin, n_regions, null = regions.region_starts[j], regions.n_regions[j], regions.null_distances[j]
        lower[begin + n_regions - 1] = 0 if code == values else null
        for c in range(n_regions - 1):
            if code == values:
                lower[begin + c] = null
            elif regions.is_tree[j] == 0:
                position = regions.position_or_node[value_start + code]
                low, high = regions.bounds[begin + c, 0], regions.bounds[begin + c, 1]
                lower[begin + c] = max(low - position, position - high, np.int64(0))
            else:
                pair = regions.pair_starts[j] + regions.region_of[value_start + code] * n_regions + c
                lower[begin + c] = regions.pair_bounds[pair, 0]
        if code < values and index.value_records[value_start + code] == 0:
            seed_region = begin + regions.region_of[value_start + code]
            lower[seed_region] = max(lower[seed_region], index.least_distances[value_start + code])


@kernel_part
def sum_value_distances(regions, seed_sums):
    """Compute, in place, the summed distance of each attribute value to the values that all seeds have there.

    Args:
        regions: `RegionArrays`.
        seed_sums: `SeedSums`; its sums are updated.
    """
    n_seeds, below, above, sums = seed_sums.n_seeds, seed_sums.below, seed_sums.above, seed_sums.sums
    position_or_node, nodes = regions.position_or_node, regions.nodes
    for j in range(len(regions.is_tree)):
        values, null, value_start = regions.n_values[j], regions.null_distances[j], regions.value_starts[j]
        missing, number, weighted_total = n_seeds[value_start + values], np.int64(0), np.int64(0)
        for v in range(value_start, value_start + values):
            number += n_seeds[v]
            weighted_total += position_or_node[v] * n_seeds[v]
        sums[value_start + values] = number * null
        if regions.is_tree[j] == 0:
            count, total = np.int64(0), np.int64(0)
            for v in range(value_start, value_start + values):
                count += n_seeds[v]
                total += position_or_node[v] * n_seeds[v]
                sums[v] = position_or_node[v] * (2 * count - number) + weighted_total - 2 * total + missing * null
            continue
        first, ways, depths, count = (
            regions.node_starts[j],
            regions.way_starts[j],
            regions.n_depths[j],
            regions.n_nodes[j],
        )
        for i in range(ways, ways + count * depths):
            below[i] = above[i] = 0
        for v in range(value_start, value_start + values):
            below[ways + position_or_node[v] * depths + regions.depth_index[v]] = n_seeds[v]
        for node in range(count - 1, 0, -1):
            for d in range(depths):
                below[ways + nodes[first + node, 0] * depths + d] += below[ways + node * depths + d]
        for node in range(1, count):
            node_ways, up = ways + node * depths, ways + nodes[first + node, 0] * depths
            for d in range(depths):
                others = below[up + d] - below[node_ways + d]
                if others > 0:
                    for target_depth in range(depths):
                        above[node_ways + target_depth] += others * category_distance(j, up, d, target_depth, regions)
            for target_depth in range(depths):
                above[node_ways + target_depth] += above[up + target_depth]
        for v in range(value_start, value_start + values):
            node_ways, depth = ways + position_or_node[v] * depths, regions.depth_index[v]
            sums[v] = above[node_ways + depth] + missing * null
            for d in range(depths):
                others = below[node_ways + d] - (n_seeds[v] if d == depth else 0)
                if others > 0:
                    sums[v] += others * category_distance(j, node_ways, d, depth, regions)


@kernel_part
def rebuild_candidates(index, candidate_arrays):
    """Compute all sums of distances again, and choose the remaining tuples with the least sums as candidates, in place.

    Growths of regions become 0, and candidates are put into their buckets.

    Args:
        index: `PartitionIndex`.
        candidate_arrays: `CandidateArrays`; updated in place.
    """
    n_remaining, regions, cells = index.n_remaining, index.regions, index.cells
    seed_sums, candidates, candidate_sums, state, _ = candidate_arrays
    sum_value_distances(regions, seed_sums)
    seed_sums.growths[:] = 0
    seed_sums.is_present[:] = 0
    for p in range(len(cells.cell_starts) - 1):
        for i in range(cells.cell_starts[p], cells.cell_starts[p + 1]):
            if cells.begins[i] < cells.ends[i]:
                cell = i - cells.cell_starts[p]
                for j in range(cells.attribute_starts[p + 1] - 1, cells.attribute_starts[p] - 1, -1):
                    seed_sums.is_present[regions.region_starts[j] + cell % regions.n_regions[j]] = 1
                    cell //= regions.n_regions[j]
    size = np.int64(0)
    for t in range(len(n_remaining)):
        if n_remaining[t] == 0:
            continue
        total = np.int64(0)
        for j in range(len(regions.is_tree)):
            total += seed_sums.sums[regions.value_starts[j] + index.codes[t, j]]
        size = push_bounded(candidate_sums, candidates, size, len(candidates), total, np.int64(t))
    state[CHOSEN], state[GREATEST_SUM] = size, -1
    if size == len(candidates):
        state[GREATEST_SUM], state[GREATEST_TUPLE] = candidate_sums[0], candidates[0]
    fill_buckets(index, candidate_arrays)


@kernel_part
def bucket_number(t, index, buckets):
    """Return the bucket of tuple `t`: its region if there is one category, else the only bucket.

    Args:
        t: Number of the tuple.
        index: `PartitionIndex`.
        buckets: `CandidateBuckets`.
    """
    if len(buckets.begins) == 1:
        return np.int64(0)
    return np.int64(index.regions.region_of[index.regions.value_starts[0] + index.codes[t, 0]])


@kernel_part
def fill_buckets(index, candidate_arrays):
    """Sort the candidates by bucket, in place, and find the least one of each bucket.

    Args:
        index: `PartitionIndex`.
        candidate_arrays: `CandidateArrays`; updated in place.
    """
    _, candidates, candidate_sums, state, buckets = candidate_arrays
    begins, ends, shifts, _ = buckets
    size = state[CHOSEN]
    tuples, sums = empty_int64(size), empty_int64(size)
    ends[:] = 0
    for c in range(size):
        tuples[c], sums[c] = candidates[c], candidate_sums[c]
        ends[bucket_number(tuples[c], index, buckets)] += 1
    total = np.int64(0)
    for b in range(len(begins)):
        begins[b], shifts[b] = total, 0
        total += ends[b]
        ends[b] = begins[b]
    for c in range(size):
        b = bucket_number(tuples[c], index, buckets)
        candidates[ends[b]], candidate_sums[ends[b]] = tuples[c], sums[c]
        ends[b] += 1
    for b in range(len(begins)):
        find_least_in_bucket(b, index.n_remaining, candidate_arrays)


@kernel_part
def find_least_in_bucket(b, n_remaining, candidate_arrays):
    """Find the candidate of bucket `b` with the least sum (ties: the first tuple), and remove exhausted ones, in place.

    Args:
        b: The bucket.
        n_remaining: (tuples,) remaining records.
        candidate_arrays: `CandidateArrays`; updated in place.
    """
    _, candidates, candidate_sums, _, buckets = candidate_arrays
    begins, ends, _, leasts = buckets
    c, best = begins[b], np.int64(-1)
    while c < ends[b]:
        t = candidates[c]
        if n_remaining[t] == 0:
            ends[b] -= 1
            candidates[c], candidate_sums[c] = candidates[ends[b]], candidate_sums[ends[b]]
            continue
        if (
            best < 0
            or candidate_sums[c] < candidate_sums[best]
            or (candidate_sums[c] == candidate_sums[best] and t < candidates[best])
        ):
            best = c
        c += 1
    leasts[b] = best


@kernel_part
def least_candidate(n_remaining, candidate_arrays):
    """Return the place of the candidate with the least sum (ties: the first tuple), or -1; and its sum.

    Only candidates with remaining records count.

    Args:
        n_remaining: (tuples,) remaining records.
        candidate_arrays: `CandidateArrays`; exhausted candidates are removed.
    """
    _, candidates, candidate_sums, _, buckets = candidate_arrays
    _, _, shifts, leasts = buckets
    best, least_sum = np.int64(-1), np.int64(0)
    for b in range(len(leasts)):
        if leasts[b] >= 0 and n_remaining[candidates[leasts[b]]] == 0:
            find_least_in_bucket(b, n_remaining, candidate_arrays)
        c = leasts[b]
        if c < 0:
            continue
        total = candidate_sums[c] + shifts[b]
        if best < 0 or total < least_sum or (total == least_sum and candidates[c] < candidates[best]):
            best, least_sum = c, total
    return best, least_sum


@kernel_part
def lowest_candidate(index, candidate_arrays):
    """Return the place of the candidate with the least sum of distances to the seeds, or -1 if it may not be the least.

    The result is -1 if another tuple might have a smaller or an equal sum, or if no candidate has remaining records.

    Only candidates with remaining records count (ties: the first tuple).

    Args:
        index: `PartitionIndex`.
        candidate_arrays: `CandidateArrays`.
    """
    seed_sums, candidates, _, state, _ = candidate_arrays
    best, least_sum = least_candidate(index.n_remaining, candidate_arrays)
    if best < 0 or state[GREATEST_SUM] < 0:
        return best
    bound, regions = state[GREATEST_SUM], index.regions
    for j in range(len(regions.is_tree)):
        growth, any_ = np.int64(0), False
        for c in range(regions.region_starts[j], regions.region_starts[j] + regions.n_regions[j]):
            if seed_sums.is_present[c] and (not any_ or seed_sums.growths[c] < growth):
                growth, any_ = seed_sums.growths[c], True
        bound += growth
    if least_sum == bound and candidates[best] <= state[GREATEST_TUPLE]:
        return best  # an earlier tuple that is no candidate had a greater sum than the greatest of a candidate
    return best if least_sum < bound else -1


@kernel_part
def add_seed(seed, index, candidate_arrays, lower):
    """Add the distances to a new seed to all candidates' sums, and `lower` to the regions' growths, in place.

    Where the seed is equally far from all records of a bucket, only the shift of the bucket grows.

    Args:
        seed: Number of the tuple.
        index: `PartitionIndex`.
        candidate_arrays: `CandidateArrays`; updated in place.
        lower: By region of the attributes, the least distance of the seed to a record in it.
    """
    codes, n_remaining, regions = index.codes, index.n_remaining, index.regions
    seed_sums, candidates, candidate_sums, _, buckets = candidate_arrays
    begins, ends, shifts, leasts = buckets
    for j in range(len(regions.is_tree)):
        seed_sums.n_seeds[regions.value_starts[j] + codes[seed, j]] += 1
    for c in range(len(lower)):
        seed_sums.growths[c] += lower[c]
    for b in range(len(begins)):
        shift = common_distance(seed, b, index, candidate_arrays)
        if shift >= 0:
            shifts[b] += shift
            if leasts[b] >= 0 and candidates[leasts[b]] == seed:
                candidate_sums[leasts[b]] -= shift
            continue
        for c in range(begins[b], ends[b]):
            if n_remaining[candidates[c]] > 0:
                candidate_sums[c] += tuple_distance(seed, candidates[c], codes, regions, INFINITE_DISTANCE)
        find_least_in_bucket(b, n_remaining, candidate_arrays)


@kernel_part
def common_distance(seed, b, index, candidate_arrays):
    """Return the distance of the seed to every other candidate of a bucket, or -1 if they may differ.

    Within the seed's own region, the distance grows with the height of the common ancestor: from `least_distances` to
    that of the region.

    Args:
        seed: Number of the tuple.
        b: The bucket.
        index: `PartitionIndex`.
        candidate_arrays: `CandidateArrays`.
    """
    buckets, regions = candidate_arrays.buckets, index.regions
    null_bucket, least_place = len(buckets.begins) - 1, buckets.leasts[b]
    own_bucket = bucket_number(seed, index, buckets)
    if own_bucket == null_bucket or b == null_bucket:  # the only bucket, or that of NULL
        return np.int64(-1)
    pair = regions.pair_starts[0] + own_bucket * regions.n_regions[0] + b
    least_distance, greatest_distance = regions.pair_bounds[pair, 0], regions.pair_bounds[pair, 1]
    if b == own_bucket:
        if index.n_remaining[seed] > 0 and (least_place < 0 or candidate_arrays.tuples[least_place] != seed):
            return np.int64(-1)  # the seed may be another candidate, and its distance is 0
        least_distance = index.least_distances[regions.value_starts[0] + index.codes[seed, 0]]
    return greatest_distance if least_distance == greatest_distance else np.int64(-1)


@kernel_part
def fill_partition_bounds(index, lower, tables):
    """Fill `tables` with the least possible distance to a seed of any record in each cell, for every partition.

    A partition is several attributes, and a cell a combination of their regions, whose bounds are in `lower`.

    Args:
        index: `PartitionIndex`.
        lower: By region of the attributes, the least distance of the seed to a record in it.
        tables: Output: by cell of all partitions, the least distance.
    """
    regions, cells = index.regions, index.cells
    for p in range(len(cells.cell_starts) - 1):
        begin = cells.cell_starts[p]
        tables[begin] = 0
        size = 1
        for j in range(cells.attribute_starts[p], cells.attribute_starts[p + 1]):
            n_regions = regions.n_regions[j]
            for i in range(size - 1, -1, -1):
                for c in range(n_regions - 1, -1, -1):
                    tables[begin + i * n_regions + c] = tables[begin + i] + lower[regions.region_starts[j] + c]
            size *= n_regions


@kernel_part
def allocate_shares(cells, tables, inverse, fewest, choice, shares):
    """Divide the N_SHARES shares of a distance among partitions, in `shares`, so that the fewest records are examined.

    A record is examined if its cell is within the share of one partition. Computed by dynamic programming.

    Args:
        cells: `PartitionCells`.
        tables: Least distance of each cell to the seed.
        inverse: Shares per unit of distance.
        fewest, choice: Scratch.
        shares: Output: number of shares of each partition.
    """
    number = len(shares)
    fewest[:, :] = 0
    n_within = np.zeros(N_SHARES + 1, np.int64)
    for p in range(number):
        n_within[:] = 0
        for i in range(cells.cell_starts[p], cells.cell_starts[p + 1]):
            bucket = tables[i] * inverse
            if bucket < N_SHARES:
                n_within[np.int64(bucket) + 1] += cells.ends[i] - cells.begins[i]
        for x in range(1, N_SHARES + 1):
            n_within[x] += n_within[x - 1]
        for n_shares in range(N_SHARES + 1):
            fewest[p + 1, n_shares] = -1
            for x in range(n_shares + 1):
                if p == 0 and x < n_shares:
                    continue
                count = fewest[p, n_shares - x] + n_within[x]
                if fewest[p + 1, n_shares] < 0 or count < fewest[p + 1, n_shares]:
                    fewest[p + 1, n_shares], choice[p, n_shares] = count, x
    n_shares = N_SHARES
    for p in range(number - 1, -1, -1):
        shares[p] = choice[p, n_shares]
        n_shares -= shares[p]


@kernel_part
def fill_least_elsewhere(cells, tables, least_elsewhere):
    """Fill `least_elsewhere` with the least distance of any remaining tuple in all partitions but one, by partition.

    Args:
        cells: `PartitionCells`.
        tables: By cell of the partitions, the least distance of the seed to a record in it.
        least_elsewhere: Output.
    """
    least_elsewhere[:] = 0
    for p in range(len(least_elsewhere)):
        least, is_found = np.int64(0), False
        for i in range(cells.cell_starts[p], cells.cell_starts[p + 1]):
            if cells.begins[i] < cells.ends[i] and (not is_found or tables[i] < least):
                least, is_found = tables[i], True
        for q in range(len(least_elsewhere)):
            if q != p:
                least_elsewhere[q] += least


@kernel_part
def search_partitions(seed, reach, wanted, index, tables, shares, inverse, heap_sums, heap_tuples):
    """Search for the `wanted` records nearest to a seed among those within the distance `reach`.

    The nearest tuples are pushed into the heap (`heap_sums`, `heap_tuples`).

    Args:
        seed: Number of the tuple.
        reach: Distance within which all records are found.
        wanted: Number of records that are searched for.
        index: `PartitionIndex`.
        tables: By cell of the partitions, the least distance of the seed to a record in it.
        shares: (partitions,) number of the N_SHARES shares of `reach`; cells nearer than its share are examined.
        inverse: Shares per unit of distance.
        heap_sums, heap_tuples: Output: the heap of distances and tuples, the farthest on top.

    Returns:
        Size of the heap; the number of records of its tuples, which may be fewer than `wanted`; and the number of
        tuples examined.
    """
    n_remaining, cells = index.n_remaining, index.cells
    cell_starts, order, begins, ends = cells.cell_starts, cells.order, cells.begins, cells.ends
    size, n_held, number, n_examined = np.int64(0), np.int64(0), len(shares), np.int64(0)
    least_elsewhere = empty_int64(np.int64(number))
    fill_least_elsewhere(cells, tables, least_elsewhere)
    for p in range(number):
        if shares[p] == 0:
            continue
        for i in range(cell_starts[p], cell_starts[p + 1]):
            if tables[i] * inverse >= shares[p]:
                continue
            while begins[i] < ends[i] and n_remaining[order[p, begins[i]]] == 0:
                begins[i] += 1
            for place in range(begins[i], ends[i]):
                t = np.int64(order[p, place])
                if n_held >= wanted and t > heap_tuples[0] and tables[i] + least_elsewhere[p] >= heap_sums[0]:
                    break  # tuples of a cell ascend: all others are later, too, and no nearer
                n_examined += 1
                total, is_new = np.int64(0), True
                for q in range(number):
                    least_there = tables[cell_starts[q] + cells.cell_of[t, q]]
                    if q < p and least_there * inverse < shares[q]:
                        is_new = False  # seen in an earlier part
                        break
                    total += least_there
                worst = heap_sums[0] if n_held >= wanted else reach
                if not is_new or total > worst or n_remaining[t] == 0:
                    continue
                if n_held >= wanted and total == worst and t > heap_tuples[0]:
                    continue
                total = tuple_distance(seed, t, index.codes, index.regions, worst)
                if total > worst or (n_held >= wanted and total == worst and t > heap_tuples[0]):
                    continue
                size, n_held = push_and_trim(heap_sums, heap_tuples, size, n_held, total, t, n_remaining, wanted)
    return size, n_held, n_examined


@kernel_part
def drop_exhausted_tuples(cells, n_remaining):
    """Remove tuples without remaining records, in place, from the tuple lists of the cells of each partition.

    Args:
        cells: `PartitionCells`; updated in place.
        n_remaining: (tuples,) remaining records.
    """
    order, begins, ends = cells.order, cells.begins, cells.ends
    for p in range(len(order)):
        for i in range(cells.cell_starts[p], cells.cell_starts[p + 1]):
            keep = begins[i]
            for place in range(begins[i], ends[i]):
                if n_remaining[order[p, place]] > 0:
                    order[p, keep] = order[p, place]
                    keep += 1
            ends[i] = keep


@kernel_part
def count_removed(t, count, index):
    """Subtract `count` records of tuple `t` from the remaining records of its values, in place.

    Args:
        t: Number of the tuple.
        count: Number of records.
        index: `PartitionIndex`; its `value_records` are updated.
    """
    for j in range(len(index.regions.is_tree)):
        index.value_records[index.regions.value_starts[j] + index.codes[t, j]] -= count


@kernel
def gather_partition_clusters(index, candidate_arrays, k, first_seed, members, seeds):
    """Form clusters of k records, as many as fit in `seeds`: a seed and the k - 1 remaining records nearest to it.

    A seed is the record with the least summed distance to all seeds so far. The search uses partitions of the
    attributes and is made for tables where few tuples repeat. All arrays are updated in place.

    Args:
        index: `PartitionIndex`.
        candidate_arrays: `CandidateArrays`.
        k: Records of a cluster.
        first_seed: Tuple of the first seed, or -1 to search for it.
        members: Output: rows (tuple, number of records); a row of -1 ends a cluster.
        seeds: Output: tuple of each seed.

    Returns:
        Rows used in `members`, and number of clusters.
    """
    n_remaining, cells = index.n_remaining, index.cells
    seed_sums, candidates, _, state, _ = candidate_arrays
    partitions = len(cells.order)
    heap_sums, heap_tuples = np.zeros(k + 1, np.int64), np.zeros(k + 1, np.int64)
    lower, tables = np.zeros(len(seed_sums.growths), np.int64), np.zeros(len(cells.begins), np.int64)
    shares, choice = np.zeros(partitions, np.int64), np.zeros((partitions, N_SHARES + 1), np.int64)
    fewest = np.zeros((partitions + 1, N_SHARES + 1), np.int64)
    n_rows, n_clusters, wanted = np.int64(0), 0, np.int64(k - 1)
    while n_clusters < len(seeds) and state[REMAINING] >= k and n_rows + k + 2 <= len(members):
        if first_seed >= 0:
            seed, first_seed = np.int64(first_seed), np.int64(-1)
        else:
            best = lowest_candidate(index, candidate_arrays)
            if best < 0:
                if 3 * state[EXHAUSTED] > len(n_remaining):
                    drop_exhausted_tuples(cells, n_remaining)
                    state[EXHAUSTED] = 0
                rebuild_candidates(index, candidate_arrays)
                state[EXAMINED] += len(n_remaining)
                best, _ = least_candidate(n_remaining, candidate_arrays)
            seed = candidates[best]
        n_remaining[seed] -= 1
        count_removed(seed, 1, index)
        fill_region_bounds(seed, index, lower)
        fill_partition_bounds(index, lower, tables)
        size, reach = np.int64(0), state[REACH]
        while True:
            inverse = (N_SHARES - 0.5) / (reach + 1.0)
            allocate_shares(cells, tables, inverse, fewest, choice, shares)
            size, n_held, n_examined = search_partitions(
                seed, reach, wanted, index, tables, shares, inverse, heap_sums, heap_tuples
            )
            state[EXAMINED] += n_examined
            if n_held >= wanted:
                break
            reach = 2 * reach + 1
        state[REACH] = heap_sums[0] + heap_sums[0] // 16
        cluster_begin = n_rows
        n_rows = take_members(seed, heap_tuples, size, n_held - wanted, n_remaining, members, n_rows)
        for i in range(cluster_begin + 1, n_rows - 1):
            count_removed(members[i, 0], members[i, 1], index)
            if n_remaining[members[i, 0]] == 0:
                state[EXHAUSTED] += 1
        state[REMAINING] -= k
        add_seed(seed, index, candidate_arrays, lower)
        seeds[n_clusters] = seed
        n_clusters += 1
    return n_rows, n_clusters
