"""Similarity-and-diversity clustering: centers of slices, and filling of clusters by diversity and similarity.

`unit` (tuples, d) are vectors of length 1; the cosine of two is their product, in steps of 2^-40. The next record of
group g, in canonical order, is rows[starts[g] + n_taken[g]] (see `ValueGroups`).
"""

import math

import numpy as np

from dbanon.kernels.jit import kernel, kernel_part

STEPS_PER_UNIT = 2.0**40
"""Similarities and diversities are rounded to multiples of 1 / this, so equal ones are equal."""


MAX_SCANNED_RECORDS = 8
"""Up to this many records per cluster, scanning for the best group takes less time than a heap."""


@kernel_part
def cosine(unit, a, b):
    """Return the cosine of the vectors of tuples `a` and `b`, in whole steps of 1 / STEPS_PER_UNIT.

    Args:
        unit: (tuples, d) vectors of length 1.
        a, b: Numbers of the tuples.
    """
    total = 0.0
    for j in range(unit.shape[1]):
        total += unit[a, j] * unit[b, j]
    return np.int64(np.rint(total * STEPS_PER_UNIT))


@kernel
def slice_centers(ranked_records, tuple_of, unit, top, values, k, min_cosine):
    """Return one record, the center, of each slice of k of the ranked records (the last slice has the rest).

    Candidates are tuples with a cosine of at least `min_cosine` to k - 1 others of the slice, else those with most such
    others. The center is the first of their records, by rank, whose value `top` no center has yet; else the first.

    Args:
        ranked_records: The records by rank.
        tuple_of: Tuple of each record.
        unit: Unit vectors by tuple.
        top: A value of each tuple that centers should not share.
        values: The greatest of these values.
        k: Records of a slice.
        min_cosine: The least cosine, in steps.
    """
    clusters = len(ranked_records) // k
    centers = np.empty(clusters, np.int64)
    is_used = np.zeros(values + 1, np.int64)
    place = np.full(len(unit), -1, np.int64)
    for c in range(clusters):
        begin, end = c * k, len(ranked_records) if c == clusters - 1 else (c + 1) * k
        slice_tuples = np.empty(end - begin, np.int64)
        tuple_counts = np.zeros(end - begin, np.int64)
        size = 0
        for i in range(begin, end):
            t = tuple_of[ranked_records[i]]
            if place[t] < 0:
                place[t], slice_tuples[size] = size, t
                size += 1
            tuple_counts[place[t]] += 1
        others = tuple_counts[:size] - 1
        for a in range(size):
            for b in range(a + 1, size):
                if cosine(unit, slice_tuples[a], slice_tuples[b]) >= min_cosine:
                    others[a] += tuple_counts[b]
                    others[b] += tuple_counts[a]
        n_enough = min(k - 1, others.max())
        first, first_unused = -1, -1
        for i in range(begin, end):
            t = tuple_of[ranked_records[i]]
            if others[place[t]] >= n_enough:
                if first < 0:
                    first = i
                if is_used[top[t]] == 0:
                    first_unused = i
                    break
        center = ranked_records[first_unused] if first_unused >= 0 else ranked_records[first]
        centers[c] = center
        is_used[top[tuple_of[center]]] = 1
        for a in range(size):
            place[slice_tuples[a]] = -1
    return centers


@kernel
def fill_similarity_order(unit, counts, first, order):
    """Order all records from tuple `first` on, each followed by the most similar remaining one (ties: the first).

    Quadratic time.

    Args:
        unit: (tuples, d) vectors of length 1.
        counts: (tuples,) number of records.
        first: Number of the first tuple.
        order: Output: (records,) tuple of each record.
    """
    n_remaining = counts.copy()
    current = first
    for i in range(len(order)):
        if i > 0:
            best, highest = -1, np.int64(0)
            for t in range(len(unit)):
                if n_remaining[t] > 0:
                    cosine_ = cosine(unit, current, t)
                    if best < 0 or cosine_ > highest:
                        best, highest = t, cosine_
            current = best
        order[i] = current
        n_remaining[current] -= 1


@kernel_part
def _diversity(size, entropy_sum, distinct, normalized):
    """Return the Shannon index of a group of `size` records as an integer, in steps of 1 / STEPS_PER_UNIT.

    If `normalized`, the index is divided by the greatest one that `size` records can have with `distinct` values; it is
    0 if only one value is possible.

    Args:
        size: Number of records.
        entropy_sum: Sum of n ln n over the numbers n of records by value.
        distinct: Number of different values of the column.
        normalized: Whether to divide by the greatest possible index.
    """
    diversity = math.log(size) - entropy_sum / size
    if normalized:
        max_distinct = min(distinct, size)
        diversity = diversity / math.log(max_distinct) if max_distinct > 1 else 0.0
    return np.int64(np.rint(diversity * STEPS_PER_UNIT))


@kernel_part
def _comes_before(a, b, groups, is_near, similar):
    """Return whether group `a` precedes group `b`: near groups first, then more similar ones, then by next record.

    It is meant for groups with the same sensitive values.

    Args:
        a, b: Numbers of the groups.
        groups: `ValueGroups`.
        is_near: (tuples,) whether each tuple is near the center.
        similar: (tuples,) weighted similarity of each tuple to the center.
    """
    group_tuple, rows, row_at, n_taken, _ = groups
    s, t = group_tuple[a], group_tuple[b]
    if is_near[s] != is_near[t]:
        return is_near[s]
    if similar[s] != similar[t]:
        return similar[s] > similar[t]
    return rows[row_at[a] + n_taken[a]] < rows[row_at[b] + n_taken[b]]


@kernel_part
def _sift_down(heap, begin, size, i, groups, is_near, similar):
    """Move the i-th group of a heap, in place, down to its place in the order of `_comes_before`.

    The heap begins at `begin` in `heap` and has `size` groups; the first group is on top.

    Args:
        heap: Numbers of groups; updated in place.
        begin: Where the groups begin in `heap`.
        size: Number of groups.
        i: Place of the group in the heap, from 0.
        groups: `ValueGroups`.
        is_near: (tuples,) whether each tuple is near the center.
        similar: (tuples,) weighted similarity of each tuple to the center.
    """
    while True:
        first = i
        for child in range(2 * i + 1, min(2 * i + 3, size)):
            if _comes_before(heap[begin + child], heap[begin + first], groups, is_near, similar):
                first = child
        if first == i:
            return
        heap[begin + i], heap[begin + first] = heap[begin + first], heap[begin + i]
        i = first


@kernel_part
def _move_first_to_front(heap, begin, size, groups, is_near, similar):
    """Swap the group that comes first (by `_comes_before`) of `size` groups from `begin` on with the one at `begin`.

    Args:
        heap: Numbers of groups; updated in place.
        begin: Where the groups begin in `heap`.
        size: Number of groups.
        groups: `ValueGroups`.
        is_near: (tuples,) whether each tuple is near the center.
        similar: (tuples,) weighted similarity of each tuple to the center.
    """
    first = begin
    for i in range(begin + 1, begin + size):
        if _comes_before(heap[i], heap[first], groups, is_near, similar):
            first = i
    if size > 0:
        heap[begin], heap[first] = heap[first], heap[begin]


@kernel
def fill_clusters(cluster, max_steps, centers, unit, groups, kinds, sensitive, options, labels):
    """Fill clusters, from number `cluster` on, with k records each, until about `max_steps` groups were examined.

    Each cluster has a center; the record with the greatest weighted sum of added diversity and similarity to the center
    joins, near records first. All groups of one kind (of equal sensitive values) add the same diversity, so only the
    first in the order of `_comes_before` is compared with those of other kinds. The groups of a kind are a heap or, if
    clusters are small, are scanned for the first.

    Args:
        cluster: The first cluster.
        max_steps: Number of examined groups after which to return.
        centers: Record and tuple of each center.
        unit: Unit vectors by tuple.
        groups: `ValueGroups`; updated in place.
        kinds: `GroupKinds`; updated in place.
        sensitive: `SensitiveCodes`.
        options: `FillOptions`.
        labels: Output: cluster of each record.

    Returns:
        The next cluster.
    """
    k, share, similar_share, min_cosine, by_pair, avoid_uniform = options
    is_small = k <= MAX_SCANNED_RECORDS
    group_tuple, rows, row_at, n_taken, n_remaining = groups
    heap, begin, live, kind_codes = kinds
    codes, values, distinct = sensitive
    columns = len(codes)
    counts = np.zeros((columns, values.max() + 1), np.int64)
    present = np.empty((columns, k + 1), np.int64)
    n_present = np.zeros(columns, np.int64)
    gain = np.zeros((columns, k + 1), np.int64)
    is_near = np.zeros(len(unit), np.bool_)
    similarity = np.empty(len(unit), np.int64)
    known_for = np.full(len(unit), -1, np.int64)
    pair = np.int64(np.rint(math.log(2.0) * STEPS_PER_UNIT))
    n_examined = 0
    while cluster < len(centers) and n_examined < max_steps:
        row, center_tuple = centers[cluster, 0], centers[cluster, 1]
        for s in range(columns):
            n_present[s] = 1
            present[s, 0] = codes[s, row]
            counts[s, codes[s, row]] = 1
        for v in range(len(live)):
            for a in range(begin[v], begin[v] + live[v]):
                t = group_tuple[heap[a]]
                if known_for[t] != cluster:
                    cosine_ = cosine(unit, center_tuple, t)
                    known_for[t], is_near[t], similarity[t] = (
                        cluster,
                        cosine_ >= min_cosine,
                        np.int64(np.rint(similar_share * cosine_)),
                    )
            if is_small:
                _move_first_to_front(heap, begin[v], live[v], groups, is_near, similarity)
            else:
                for i in range(live[v] // 2 - 1, -1, -1):
                    _sift_down(heap, begin[v], live[v], i, groups, is_near, similarity)
            n_examined += live[v]
        for size in range(1, k):
            uniform = avoid_uniform and size == k - 1
            for s in range(columns):
                if n_present[s] > 1:
                    uniform = False
                entropy_sum, greatest = 0.0, 0
                for i in range(n_present[s]):
                    n = counts[s, present[s, i]]
                    entropy_sum += n * math.log(n)
                    greatest = max(greatest, n)
                for n in range(greatest + 1):
                    new_sum = entropy_sum + (n + 1) * math.log(n + 1) - (n * math.log(n) if n > 0 else 0.0)
                    gain[s, n] = _diversity(size + 1, new_sum, distinct[s], True)
            best = np.full(4, -1, np.int64)
            score = np.zeros(4, np.int64)
            for v in range(len(live)):
                if live[v] == 0:
                    continue
                g = heap[begin[v]]
                t = group_tuple[g]
                gain_, is_other = np.int64(0), False
                for s in range(columns):
                    value = kind_codes[v, s]
                    is_other = is_other or value != codes[s, row]
                    if not by_pair:
                        gain_ += gain[s, counts[s, value]]
                    elif value != codes[s, row]:
                        gain_ += pair
                gain_ = np.int64(np.rint(share * (gain_ / columns))) + similarity[t]
                # 0 near enough, 1 any; 2 and 3 the same of those with another sensitive value.
                for kind in range(4 if uniform else 2):
                    if (kind % 2 == 1 or is_near[t]) and (kind < 2 or is_other):
                        b = best[kind]
                        if (
                            b < 0
                            or gain_ > score[kind]
                            or (
                                gain_ == score[kind]
                                and rows[row_at[g] + n_taken[g]]
                                < rows[row_at[heap[begin[b]]] + n_taken[heap[begin[b]]]]
                            )
                        ):
                            best[kind], score[kind] = v, gain_
            n_examined += len(live)
            best_kind = -1
            if uniform:
                best_kind = best[2] if best[2] >= 0 else best[3]
            if best_kind < 0:
                best_kind = best[0] if best[0] >= 0 else best[1]
            g = heap[begin[best_kind]]
            labels[rows[row_at[g] + n_taken[g]]] = cluster
            n_taken[g] += 1
            n_remaining[g] -= 1
            for s in range(columns):
                value = kind_codes[best_kind, s]
                if counts[s, value] == 0:
                    present[s, n_present[s]] = value
                    n_present[s] += 1
                counts[s, value] += 1
            if n_remaining[g] == 0:
                live[best_kind] -= 1
                heap[begin[best_kind]], heap[begin[best_kind] + live[best_kind]] = (
                    heap[begin[best_kind] + live[best_kind]],
                    g,
                )
            if not is_small:
                _sift_down(heap, begin[best_kind], live[best_kind], 0, groups, is_near, similarity)
            elif size < k - 1:
                _move_first_to_front(heap, begin[best_kind], live[best_kind], groups, is_near, similarity)
        for s in range(columns):
            for i in range(n_present[s]):
                counts[s, present[s, i]] = 0
        cluster += 1
    return cluster
