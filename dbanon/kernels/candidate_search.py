"""Nearest-record search for tables where few tuples repeat: it works on partitions of the attributes.

A record within a distance r of the seed is, in some partition, within a share of r, for any shares that add up to r. So
in each partition only the records within its share are examined; shares are chosen to make these as few as possible.
The distance within a partition is bounded from below by regions, each a range of codes of an attribute.

The record of least sum is one of a few candidates, whose sums are kept exact. All other sums grow by at least as much
as the least of their regions; when they might have caught up, all sums are computed again.

`packed` is (attributes, scales, place, step, region, nodes, way, ends, pairs), see
dbanon.encoding.attribute_partitions.
"""

import numpy as np

from dbanon.kernels.allocate import empty_int64
from dbanon.kernels.heap import pop, push, push_and_trim
from dbanon.kernels.jit import kernel, kernel_part

INFINITE_DISTANCE = 2**62
"""More than any distance."""

N_SHARES = 32
"""Number of shares into which a distance is divided among the partitions."""


@kernel_part
def category_distance(j, ways_start, first_step, second_step, scales, way):
    """Return the distance of two categorical values, from their depth indexes below an ancestor.

    Args:
        j: The attribute.
        ways_start: Where the ways (lengths of paths by depth index) of the ancestor begin in `way`.
        first_step, second_step: The depth index of each value.
        scales: (attributes, 2) two factors of the distance.
        way: The ways of all nodes.
    """
    return np.int64(np.rint(way[ways_start + first_step] * way[ways_start + second_step] * scales[j, 0] * scales[j, 1]))


@kernel_part
def tuple_distance(one, other, codes, packed, limit):
    """Return the distance of two tuples (numbers `one` and `other`), or any number above `limit` if it is greater.

    Args:
        one, other: Numbers of the tuples.
        codes: (tuples, attributes) codes.
        packed: `PartitionIndex.attributes`: arrays of the attributes, their places, regions and hierarchies.
        limit: The distance above which the exact result does not matter.
    """
    attributes, scales, place, step, region, nodes, way, _, pairs = packed
    total = np.int64(0)
    for j in range(len(attributes)):
        a, b = np.int64(codes[one, j]), np.int64(codes[other, j])
        if a == b:
            continue
        values, value_start = attributes[j, 1], attributes[j, 3]
        if a == values or b == values:
            total += attributes[j, 2]
        elif attributes[j, 0] == 0:
            total += abs(place[value_start + a] - place[value_start + b])
        else:
            pair = attributes[j, 9] + region[value_start + a] * attributes[j, 8] + region[value_start + b]
            if pairs[pair, 0] == pairs[pair, 1]:
                total += pairs[pair, 0]
            else:
                node, last = place[value_start + min(a, b)], max(a, b)
                while last >= nodes[attributes[j, 4] + node, 1]:
                    node = np.int64(nodes[attributes[j, 4] + node, 0])
                ways = attributes[j, 5] + node * attributes[j, 6]
                total += category_distance(j, ways, step[value_start + a], step[value_start + b], scales, way)
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
    codes, packed, value_records, least_distances = (
        index.codes,
        index.attributes,
        index.value_records,
        index.least_distances,
    )
    attributes, place, region, ends, pairs = packed[0], packed[2], packed[4], packed[7], packed[8]
    for j in range(len(attributes)):
        code, values, null, value_start = np.int64(codes[seed, j]), attributes[j, 1], attributes[j, 2], attributes[j, 3]
        begin, regions = attributes[j, 7], attributes[j, 8]
        lower[begin + regions - 1] = 0 if code == values else null
        for c in range(regions - 1):
            if code == values:
                lower[begin + c] = null
            elif attributes[j, 0] == 0:
                place_of_seed = place[value_start + code]
                lower[begin + c] = max(
                    ends[begin + c, 0] - place_of_seed, place_of_seed - ends[begin + c, 1], np.int64(0)
                )
            else:
                lower[begin + c] = pairs[attributes[j, 9] + region[value_start + code] * regions + c, 0]
        if code < values and value_records[value_start + code] == 0:
            own = begin + region[value_start + code]
            lower[own] = max(lower[own], least_distances[value_start + code])


@kernel_part
def sum_value_distances(packed, added, below, above, sums):
    """Fill `sums` with the summed distance of each attribute value to the values that all seeds have on the attribute.

    Args:
        packed: `PartitionIndex.attributes`: arrays of the attributes, their places, regions and hierarchies.
        added: By value of all attributes, how many seeds have it.
        below, above: Scratch by node and depth index.
        sums: Output: by value of all attributes, its summed distance.
    """
    attributes, scales, place, step, _, nodes, way = packed[:7]
    for j in range(len(attributes)):
        values, null, value_start = attributes[j, 1], attributes[j, 2], attributes[j, 3]
        first, ways, steps = attributes[j, 4], attributes[j, 5], attributes[j, 6]
        missing, number, weighted_total = added[value_start + values], np.int64(0), np.int64(0)
        for v in range(value_start, value_start + values):
            number += added[v]
            weighted_total += place[v] * added[v]
        sums[value_start + values] = number * null
        if attributes[j, 0] == 0:
            count, total = np.int64(0), np.int64(0)
            for v in range(value_start, value_start + values):
                count += added[v]
                total += place[v] * added[v]
                sums[v] = place[v] * (2 * count - number) + weighted_total - 2 * total + missing * null
            continue
        count = attributes[j, 10]
        for i in range(ways, ways + count * steps):
            below[i] = above[i] = 0
        for v in range(value_start, value_start + values):
            below[ways + place[v] * steps + step[v]] = added[v]
        for node in range(count - 1, 0, -1):
            for s in range(steps):
                below[ways + nodes[first + node, 0] * steps + s] += below[ways + node * steps + s]
        for node in range(1, count):
            node_ways, up = ways + node * steps, ways + nodes[first + node, 0] * steps
            for s in range(steps):
                others = below[up + s] - below[node_ways + s]
                if others > 0:
                    for target_step in range(steps):
                        above[node_ways + target_step] += others * category_distance(j, up, s, target_step, scales, way)
            for target_step in range(steps):
                above[node_ways + target_step] += above[up + target_step]
        for v in range(value_start, value_start + values):
            node_ways = ways + place[v] * steps
            sums[v] = above[node_ways + step[v]] + missing * null
            for s in range(steps):
                others = below[node_ways + s] - (added[v] if s == step[v] else 0)
                if others > 0:
                    sums[v] += others * category_distance(j, node_ways, s, step[v], scales, way)


@kernel_part
def rebuild_candidates(index, candidate_arrays):
    """Compute all sums of distances again, and choose the remaining tuples with the least sums as candidates, in place.

    Growth bounds of regions become 0, and candidates are put into their buckets. state[1] becomes the greatest sum of a
    candidate, -1 if all tuples are candidates, and state[6] the last candidate that has this sum.

    Args:
        index: `PartitionIndex`.
        candidate_arrays: `CandidateArrays`; updated in place.
    """
    codes, n_remaining, packed, parts, posts, _, _ = index
    seed_sums, candidates, candidate_sums, state, _ = candidate_arrays
    added, below, above, sums, growth_bounds, is_present = seed_sums
    attributes, begins, ends = packed[0], posts[2], posts[3]
    sum_value_distances(packed, added, below, above, sums)
    growth_bounds[:] = 0
    is_present[:] = 0
    for p in range(len(parts)):
        for i in range(parts[p, 3]):
            place = i
            if begins[parts[p, 2] + i] < ends[parts[p, 2] + i]:
                for j in range(parts[p, 1] - 1, parts[p, 0] - 1, -1):
                    is_present[attributes[j, 7] + place % attributes[j, 8]] = 1
                    place //= attributes[j, 8]
    size = np.int64(0)
    for t in range(len(n_remaining)):
        if n_remaining[t] == 0:
            continue
        total = np.int64(0)
        for j in range(len(attributes)):
            total += sums[attributes[j, 3] + codes[t, j]]
        if size == len(candidates) - 1 and (
            total > candidate_sums[0] or (total == candidate_sums[0] and t > candidates[0])
        ):
            continue
        push(candidate_sums, candidates, size, total, np.int64(t))
        size += 1
        if size == len(candidates):
            pop(candidate_sums, candidates, size)
            size -= 1
    state[0], state[1] = size, -1
    if size == len(candidates) - 1:
        state[1], state[6] = candidate_sums[0], candidates[0]
    fill_buckets(index, candidate_arrays)


@kernel_part
def bucket_number(t, index, buckets):
    """Return the bucket of tuple `t`: its region if there is one category, else the only bucket.

    Args:
        t: Number of the tuple.
        index: `PartitionIndex`.
        buckets: `CandidateArrays.buckets`.
    """
    if len(buckets[0]) == 1:
        return np.int64(0)
    attributes, region = index.attributes[0], index.attributes[4]
    return np.int64(region[attributes[0, 3] + index.codes[t, 0]])


@kernel_part
def fill_buckets(index, candidate_arrays):
    """Sort the candidates by bucket, in place, and find the least one of each bucket.

    Args:
        index: `PartitionIndex`.
        candidate_arrays: `CandidateArrays`; updated in place.
    """
    _, candidates, candidate_sums, state, buckets = candidate_arrays
    begins, ends, shifts, _ = buckets
    size = state[0]
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
    _, candidates, _, state, _ = candidate_arrays
    growth_bounds, is_present = candidate_arrays.seed_sums[4], candidate_arrays.seed_sums[5]
    best, least_sum = least_candidate(index.n_remaining, candidate_arrays)
    if best < 0 or state[1] < 0:
        return best
    bound, attributes = state[1], index.attributes[0]
    for j in range(len(attributes)):
        growth, any_ = np.int64(0), False
        for c in range(attributes[j, 7], attributes[j, 7] + attributes[j, 8]):
            if is_present[c] and (not any_ or growth_bounds[c] < growth):
                growth, any_ = growth_bounds[c], True
        bound += growth
    if least_sum == bound and candidates[best] <= state[6]:
        return best  # a tuple before state[6] that is no candidate had a greater sum than state[1]
    return best if least_sum < bound else -1


@kernel_part
def add_seed(seed, index, candidate_arrays, lower):
    """Add the distances to a new seed to all candidates' sums, and `lower` to the regions' growth bounds, in place.

    Where the seed is equally far from all records of a bucket, only the shift of the bucket grows.

    Args:
        seed: Number of the tuple.
        index: `PartitionIndex`.
        candidate_arrays: `CandidateArrays`; updated in place.
        lower: By region of the attributes, the least distance of the seed to a record in it.
    """
    codes, n_remaining, packed, _, _, _, _ = index
    seed_sums, candidates, candidate_sums, _, buckets = candidate_arrays
    added, growth_bounds = seed_sums[0], seed_sums[4]
    begins, ends, shifts, leasts = buckets
    attributes = packed[0]
    for j in range(len(attributes)):
        added[attributes[j, 3] + codes[seed, j]] += 1
    for c in range(len(growth_bounds)):
        growth_bounds[c] += lower[c]
    for b in range(len(begins)):
        shift = common_distance(seed, b, index, candidate_arrays)
        if shift >= 0:
            shifts[b] += shift
            if leasts[b] >= 0 and candidates[leasts[b]] == seed:
                candidate_sums[leasts[b]] -= shift
            continue
        for c in range(begins[b], ends[b]):
            if n_remaining[candidates[c]] > 0:
                candidate_sums[c] += tuple_distance(seed, candidates[c], codes, packed, INFINITE_DISTANCE)
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
    buckets = candidate_arrays.buckets
    null, leasts = len(buckets[0]) - 1, buckets[3]
    own_bucket = bucket_number(seed, index, buckets)
    if own_bucket == null or b == null:  # the only bucket, or that of NULL
        return np.int64(-1)
    attributes, pairs = index.attributes[0], index.attributes[8]
    pair = attributes[0, 9] + own_bucket * attributes[0, 8] + b
    least_distance, greatest_distance = pairs[pair, 0], pairs[pair, 1]
    if b == own_bucket:
        if index.n_remaining[seed] > 0 and (leasts[b] < 0 or candidate_arrays.tuples[leasts[b]] != seed):
            return np.int64(-1)  # the seed may be another candidate, and its distance is 0
        least_distance = index.least_distances[attributes[0, 3] + index.codes[seed, 0]]
    return greatest_distance if least_distance == greatest_distance else np.int64(-1)


@kernel_part
def fill_partition_bounds(parts, packed, lower, tables):
    """Fill `tables` with the least possible distance to a seed of any record in each cell, for every partition.

    A partition is several attributes, and a cell a combination of their regions, whose bounds are in `lower`.

    Args:
        parts: `PartitionIndex.parts`: attributes and cells of each partition.
        packed: `PartitionIndex.attributes`: arrays of the attributes, their places, regions and hierarchies.
        lower: By region of the attributes, the least distance of the seed to a record in it.
        tables: Output: by cell of all partitions, the least distance.
    """
    attributes = packed[0]
    for p in range(len(parts)):
        begin = parts[p, 2]
        tables[begin] = 0
        size = 1
        for j in range(parts[p, 0], parts[p, 1]):
            regions = attributes[j, 8]
            for i in range(size - 1, -1, -1):
                for c in range(regions - 1, -1, -1):
                    tables[begin + i * regions + c] = tables[begin + i] + lower[attributes[j, 7] + c]
            size *= regions


@kernel_part
def allocate_shares(parts, tables, begins, ends, inverse, fewest, choice, shares):
    """Divide the N_SHARES shares of a distance among partitions, in `shares`, so that the fewest records are examined.

    A record is examined if its cell is within the share of one partition. Computed by dynamic programming.

    Args:
        parts: The partitions.
        tables: Least distance of each cell to the seed.
        begins, ends: Where the tuples of each cell begin and end.
        inverse: Shares per unit of distance.
        fewest, choice: Scratch.
        shares: Output: number of shares of each partition.
    """
    number = len(parts)
    fewest[:, :] = 0
    n_within = np.zeros(N_SHARES + 1, np.int64)
    for p in range(number):
        n_within[:] = 0
        for i in range(parts[p, 2], parts[p, 2] + parts[p, 3]):
            bucket = tables[i] * inverse
            if bucket < N_SHARES:
                n_within[np.int64(bucket) + 1] += ends[i] - begins[i]
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
def fill_least_elsewhere(parts, tables, begins, ends, least_elsewhere):
    """Fill `least_elsewhere` with the least distance of any remaining tuple in all partitions but one, by partition.

    Args:
        parts: `PartitionIndex.parts`: attributes and cells of each partition.
        tables: By cell of the partitions, the least distance of the seed to a record in it.
        begins, ends: Where the tuples of each cell begin and end.
        least_elsewhere: Output.
    """
    least_elsewhere[:] = 0
    for p in range(len(parts)):
        least, is_found = np.int64(0), False
        for i in range(parts[p, 2], parts[p, 2] + parts[p, 3]):
            if begins[i] < ends[i] and (not is_found or tables[i] < least):
                least, is_found = tables[i], True
        for q in range(len(parts)):
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
    codes, n_remaining, packed, parts, posts, _, _ = index
    signature, order, begins, ends = posts
    size, n_held, number, n_examined = np.int64(0), np.int64(0), len(parts), np.int64(0)
    least_elsewhere = empty_int64(np.int64(number))
    fill_least_elsewhere(parts, tables, begins, ends, least_elsewhere)
    for p in range(number):
        if shares[p] == 0:
            continue
        for i in range(parts[p, 2], parts[p, 2] + parts[p, 3]):
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
                    least_there = tables[parts[q, 2] + signature[t, q]]
                    if q < p and least_there * inverse < shares[q]:
                        is_new = False  # seen in an earlier part
                        break
                    total += least_there
                worst = heap_sums[0] if n_held >= wanted else reach
                if not is_new or total > worst or n_remaining[t] == 0:
                    continue
                if n_held >= wanted and total == worst and t > heap_tuples[0]:
                    continue
                total = tuple_distance(seed, t, codes, packed, worst)
                if total > worst or (n_held >= wanted and total == worst and t > heap_tuples[0]):
                    continue
                size, n_held = push_and_trim(heap_sums, heap_tuples, size, n_held, total, t, n_remaining, wanted)
    return size, n_held, n_examined


@kernel_part
def drop_exhausted_tuples(parts, posts, n_remaining):
    """Remove tuples without remaining records, in place, from the tuple lists of the cells of each partition.

    Args:
        parts: `PartitionIndex.parts`: attributes and cells of each partition.
        posts: `PartitionIndex.posts`: cells of each tuple, and tuples of each cell; updated in place.
        n_remaining: (tuples,) remaining records.
    """
    _, order, begins, ends = posts
    for p in range(len(parts)):
        for i in range(parts[p, 2], parts[p, 2] + parts[p, 3]):
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
    codes, attributes, value_records = index.codes, index.attributes[0], index.value_records
    for j in range(len(attributes)):
        value_records[attributes[j, 3] + codes[t, j]] -= count


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
    _, n_remaining, packed, parts, posts, _, _ = index
    seed_sums, candidates, _, state, _ = candidate_arrays
    heap_sums, heap_tuples = np.zeros(k + 1, np.int64), np.zeros(k + 1, np.int64)
    lower, tables = np.zeros(len(seed_sums[4]), np.int64), np.zeros(len(posts[2]), np.int64)
    shares, choice = np.zeros(len(parts), np.int64), np.zeros((len(parts), N_SHARES + 1), np.int64)
    fewest = np.zeros((len(parts) + 1, N_SHARES + 1), np.int64)
    n_rows, n_clusters, wanted = np.int64(0), 0, np.int64(k - 1)
    while n_clusters < len(seeds) and state[3] >= k and n_rows + k + 2 <= len(members):
        if first_seed >= 0:
            seed, first_seed = np.int64(first_seed), np.int64(-1)
        else:
            best = lowest_candidate(index, candidate_arrays)
            if best < 0:
                if 3 * state[4] > len(n_remaining):
                    drop_exhausted_tuples(parts, posts, n_remaining)
                    state[4] = 0
                rebuild_candidates(index, candidate_arrays)
                state[5] += len(n_remaining)
                best, _ = least_candidate(n_remaining, candidate_arrays)
            seed = candidates[best]
        n_remaining[seed] -= 1
        count_removed(seed, 1, index)
        fill_region_bounds(seed, index, lower)
        fill_partition_bounds(parts, packed, lower, tables)
        size, reach = np.int64(0), state[2]
        while True:
            inverse = (N_SHARES - 0.5) / (reach + 1.0)
            allocate_shares(parts, tables, posts[2], posts[3], inverse, fewest, choice, shares)
            size, n_held, n_examined = search_partitions(
                seed, reach, wanted, index, tables, shares, inverse, heap_sums, heap_tuples
            )
            state[5] += n_examined
            if n_held >= wanted:
                break
            reach = 2 * reach + 1
        state[2] = heap_sums[0] + heap_sums[0] // 16
        members[n_rows, 0], members[n_rows, 1] = seed, 1
        n_rows += 1
        surplus = n_held - wanted
        for i in range(size):
            t = heap_tuples[i]
            count = n_remaining[t] - (surplus if i == 0 else 0)
            members[n_rows, 0], members[n_rows, 1] = t, count
            n_rows += 1
            n_remaining[t] -= count
            count_removed(t, count, index)
            if n_remaining[t] == 0:
                state[4] += 1
        members[n_rows, 0] = -1
        n_rows += 1
        state[3] -= k
        add_seed(seed, index, candidate_arrays, lower)
        seeds[n_clusters] = seed
        n_clusters += 1
    return n_rows, n_clusters
