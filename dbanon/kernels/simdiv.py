"""Similarity-and-diversity clustering: centers of slices, and filling clusters by diversity and similarity.

`unit` (tuples, d) are vectors of length 1; the cosine of two is their product, in steps of 2^-40. Groups are records of
one tuple and equal sensitive values: `group_tuple` and `group_codes` (groups, sensitive columns);
`rows[row_at[g] + taken[g]]` is the next record of group g, in canonical order, and `left[g]` how many it has.
"""

import math

import numpy as np

from dbanon.kernels.jit import kernel, part

STEP = 2.0**40
"""Steps of 1: similarities and diversities are rounded to them, so equal ones are equal."""


FEW = 8
"""Records of a cluster up to which a heap does not pay."""


@part
def cosine(unit, a, b):
    """Return the cosine of two tuples in whole steps."""
    total = 0.0
    for j in range(unit.shape[1]):
        total += unit[a, j] * unit[b, j]
    return np.int64(np.rint(total * STEP))


@kernel
def slice_centers(ranked, tuple_of, unit, top, values, k, least):
    """Return one record of each slice of k of the ranked records (the last slice has the rest).

    Candidates are tuples with a cosine of at least `least` to k - 1 others of the slice, else those with most such
    others. The first of their records, by rank, whose value `top` no center has yet; else the first.
    """
    clusters = len(ranked) // k
    centers = np.empty(clusters, np.int64)
    used = np.zeros(values + 1, np.int64)
    place = np.full(len(unit), -1, np.int64)
    for c in range(clusters):
        begin, end = c * k, (c + 1) * k
        if c == clusters - 1:
            end = len(ranked)
        found = np.empty(end - begin, np.int64)
        count = np.zeros(end - begin, np.int64)
        size = 0
        for i in range(begin, end):
            t = tuple_of[ranked[i]]
            if place[t] < 0:
                place[t], found[size] = size, t
                size += 1
            count[place[t]] += 1
        others = np.empty(size, np.int64)
        for a in range(size):
            others[a] = count[a] - 1
        for a in range(size):
            for b in range(a + 1, size):
                if cosine(unit, found[a], found[b]) >= least:
                    others[a] += count[b]
                    others[b] += count[a]
        enough = min(k - 1, others.max())
        first, new = -1, -1
        for i in range(begin, end):
            t = tuple_of[ranked[i]]
            if others[place[t]] >= enough:
                if first < 0:
                    first = i
                if used[top[t]] == 0:
                    new = i
                    break
        chosen = ranked[new] if new >= 0 else ranked[first]
        centers[c] = chosen
        used[top[tuple_of[chosen]]] = 1
        for a in range(size):
            place[found[a]] = -1
    return centers


@kernel
def chain(unit, counts, first, order):
    """Rank records one after another: the most similar one that is left, ties to the first.

    `order` gets their tuples.
    """
    left = counts.copy()
    now = first
    for i in range(len(order)):
        if i > 0:
            best, similar = -1, np.int64(0)
            for t in range(len(unit)):
                if left[t] > 0:
                    found = cosine(unit, now, t)
                    if best < 0 or found > similar:
                        best, similar = t, found
            now = best
        order[i] = now
        left[now] -= 1


@part
def _diversity(size, held, distinct, normalized):
    """Shannon index in steps of a group of `size` records, whose values have `held` = sum of n ln n; normalized: over
    the greatest that as many records of `distinct` values can have."""
    found = math.log(size) - held / size
    if normalized:
        most = min(distinct, size)
        found = found / math.log(most) if most > 1 else 0.0
    return np.int64(np.rint(found * STEP))


@part
def _before(a, b, groups, near, similar):
    """Whether group a comes before group b of the same sensitive values: near enough, more similar, its next record
    first."""
    group_tuple, _, rows, row_at, taken, _ = groups
    s, t = group_tuple[a], group_tuple[b]
    if near[s] != near[t]:
        return near[s]
    if similar[s] != similar[t]:
        return similar[s] > similar[t]
    return rows[row_at[a] + taken[a]] < rows[row_at[b] + taken[b]]


@part
def _sink(heap, begin, size, i, groups, near, similar):
    """Put the i-th of `size` groups of a heap, which begins at `begin`, where it belongs."""
    while True:
        first = i
        for child in range(2 * i + 1, min(2 * i + 3, size)):
            if _before(heap[begin + child], heap[begin + first], groups, near, similar):
                first = child
        if first == i:
            return
        heap[begin + i], heap[begin + first] = heap[begin + first], heap[begin + i]
        i = first


@part
def _front(heap, begin, size, groups, near, similar):
    """Put the first of `size` groups where they begin."""
    group_tuple, _, rows, row_at, taken, _ = groups
    first = -1
    first_near, first_similar, first_row = False, np.int64(0), np.int64(0)
    for i in range(begin, begin + size):
        g = heap[i]
        t = group_tuple[g]
        if first >= 0 and first_near and not near[t]:
            continue
        row = rows[row_at[g] + taken[g]]
        if (
            first < 0
            or near[t] != first_near
            or similar[t] > first_similar
            or (similar[t] == first_similar and row < first_row)
        ):
            first, first_near, first_similar, first_row = i, near[t], similar[t], row
    if first >= 0:
        heap[begin], heap[first] = heap[first], heap[begin]


@kernel
def fill(cluster, steps, centers, unit, groups, kinds, sensitive, options, labels):
    """Fills clusters from number `cluster` on with k records each, until about `steps` groups were looked at; gives the
    next cluster.

    centers: record and tuple of each; kinds: groups by their sensitive values, where these begin, how many groups of
    each have records left, and their codes (kinds, columns); sensitive: codes of every record (columns, records),
    number of values of each column and of those that occur; options: `FillOptions`.

    Of one kind, all groups bring the same diversity, so only the first in the order of `_before` is compared with those
    of other kinds: the groups of a kind are a heap, or, where few are taken, are looked through for the first.
    """
    k, share, similar_share, least, by_pair, avoid_uniform = options
    few = k <= FEW
    group_tuple, _, rows, row_at, taken, left = groups
    heap, begin, live, kind_codes = kinds
    codes, values, distinct = sensitive
    columns = len(codes)
    counts = np.zeros((columns, values.max() + 1), np.int64)
    present = np.empty((columns, k + 1), np.int64)
    held_kinds = np.zeros(columns, np.int64)
    gain = np.zeros((columns, k + 1), np.int64)
    near = np.zeros(len(unit), np.bool_)
    similar = np.empty(len(unit), np.int64)
    known = np.full(len(unit), -1, np.int64)
    pair = np.int64(np.rint(math.log(2.0) * STEP))
    done = 0
    while cluster < len(centers) and done < steps:
        row, at = centers[cluster, 0], centers[cluster, 1]
        for s in range(columns):
            held_kinds[s] = 1
            present[s, 0] = codes[s, row]
            counts[s, codes[s, row]] = 1
        for v in range(len(live)):
            for a in range(begin[v], begin[v] + live[v]):
                t = group_tuple[heap[a]]
                if known[t] != cluster:
                    found = cosine(unit, at, t)
                    known[t], near[t], similar[t] = cluster, found >= least, np.int64(np.rint(similar_share * found))
            if few:
                _front(heap, begin[v], live[v], groups, near, similar)
            else:
                for i in range(live[v] // 2 - 1, -1, -1):
                    _sink(heap, begin[v], live[v], i, groups, near, similar)
            done += live[v]
        for size in range(1, k):
            uniform = avoid_uniform and size == k - 1
            for s in range(columns):
                if held_kinds[s] > 1:
                    uniform = False
                held, greatest = 0.0, 0
                for i in range(held_kinds[s]):
                    n = counts[s, present[s, i]]
                    held += n * math.log(n)
                    greatest = max(greatest, n)
                for n in range(greatest + 1):
                    now = held + (n + 1) * math.log(n + 1) - (n * math.log(n) if n > 0 else 0.0)
                    gain[s, n] = _diversity(size + 1, now, distinct[s], True)
            best = np.full(4, -1, np.int64)
            score = np.zeros(4, np.int64)
            for v in range(len(live)):
                if live[v] == 0:
                    continue
                g = heap[begin[v]]
                t = group_tuple[g]
                here, foreign = np.int64(0), False
                for s in range(columns):
                    value = kind_codes[v, s]
                    foreign = foreign or value != codes[s, row]
                    if not by_pair:
                        here += gain[s, counts[s, value]]
                    elif value != codes[s, row]:
                        here += pair
                here = np.int64(np.rint(share * (here / columns))) + similar[t]
                # 0 near enough, 1 any; 2 and 3 the same of those with another sensitive value.
                for kind in range(4 if uniform else 2):
                    if (kind % 2 == 1 or near[t]) and (kind < 2 or foreign):
                        b = best[kind]
                        if (
                            b < 0
                            or here > score[kind]
                            or (
                                here == score[kind]
                                and rows[row_at[g] + taken[g]] < rows[row_at[heap[begin[b]]] + taken[heap[begin[b]]]]
                            )
                        ):
                            best[kind], score[kind] = v, here
            done += len(live)
            chosen = -1
            if uniform:
                chosen = best[2] if best[2] >= 0 else best[3]
            if chosen < 0:
                chosen = best[0] if best[0] >= 0 else best[1]
            g = heap[begin[chosen]]
            labels[rows[row_at[g] + taken[g]]] = cluster
            taken[g] += 1
            left[g] -= 1
            for s in range(columns):
                value = kind_codes[chosen, s]
                if counts[s, value] == 0:
                    present[s, held_kinds[s]] = value
                    held_kinds[s] += 1
                counts[s, value] += 1
            if left[g] == 0:
                live[chosen] -= 1
                heap[begin[chosen]], heap[begin[chosen] + live[chosen]] = heap[begin[chosen] + live[chosen]], g
            if not few:
                _sink(heap, begin[chosen], live[chosen], 0, groups, near, similar)
            elif size < k - 1:
                _front(heap, begin[chosen], live[chosen], groups, near, similar)
        for s in range(columns):
            for i in range(held_kinds[s]):
                counts[s, present[s, i]] = 0
        cluster += 1
    return cluster
