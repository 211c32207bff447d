"""Algorithms that read sensitive values, implemented plainly, record by record."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from oracle.greedy import LossTable
from oracle.sorted_seeds import fill


def diversity(values: Sequence[int], different: int) -> float:
    """Return the entropy of some values over the greatest entropy of as many values of `different` kinds."""
    parts = min(len(values), different)
    if parts < 2:
        return 0.0
    shares = [values.count(v) / len(values) for v in set(values)]
    return -sum(p * math.log(p) for p in shares) / math.log(parts)


def loukides_shao(
    table: LossTable, k: int, columns: Sequence[Sequence[int]], threshold: float, weight: float, full_loss: int
) -> list[list[int]]:
    """Grow clusters by the record with the least sum of loss and lack of diversity, until it exceeds the threshold.

    Records of clusters with fewer than k records join the cluster where the whole loss grows least.
    """

    def cost(cluster: Sequence[int], r: int) -> tuple[float, ...]:
        score = _score(table, cluster, r, columns, weight, full_loss)
        return score, table.loss([*cluster, r]), first_equal_record(table, columns, r), r

    remaining_numbers, clusters = list(range(len(table.rows))), []
    while remaining_numbers:
        cluster = [remaining_numbers.pop(0)]
        while remaining_numbers:
            best = min(remaining_numbers, key=lambda r: cost(cluster, r))
            if table.loss([*cluster, best]) > threshold * full_loss:
                break
            cluster.append(best)
            remaining_numbers.remove(best)
        clusters.append(cluster)
    kept_clusters = [c for c in clusters if len(c) >= k]
    if not kept_clusters:
        return [list(range(len(table.rows)))]
    return fill(table, 1, kept_clusters, sorted(r for c in clusters if len(c) < k for r in c))


def _score(
    table: LossTable, cluster: Sequence[int], r: int, columns: Sequence[Sequence[int]], weight: float, full_loss: int
) -> float:
    missing = [10**9 - round(diversity([c[m] for m in [*cluster, r]], len(set(c))) * 10**9) for c in columns]
    return (1 - weight) * table.loss([*cluster, r]) + weight * full_loss * (sum(missing) / (10**9 * len(columns)))


def mckl(
    table: LossTable, k: int, columns: Sequence[Sequence[int]], min_values: int, order: Sequence[int], spare: int
) -> list[list[int]]:
    """Form clusters of the next record in the order and its nearest ones; no value may have more than k / least.

    Each remaining record joins the cluster where the whole loss grows least and no value exceeds its share, or is
    suppressed.
    """
    remaining_numbers, clusters = list(range(len(table.rows))), []

    def can_join(cluster: Sequence[int], r: int) -> bool:
        return all(c[r] >= 0 and _is_even([c[m] for m in [*cluster, r]], k, min_values) for c in columns)

    while len(remaining_numbers) >= k:
        begins = [r for r in order if r in remaining_numbers and can_join([], r)]
        if not begins:
            break
        cluster = [begins[0]]
        for r in sorted(
            remaining_numbers, key=lambda r: (table.distance(r, begins[0]), first_equal_record(table, columns, r), r)
        ):
            if r != begins[0] and len(cluster) < k and can_join(cluster, r):
                cluster.append(r)
        if len(cluster) < k:
            break
        clusters.append(cluster)
        remaining_numbers = [r for r in remaining_numbers if r not in cluster]
    if not clusters:
        return [remaining_numbers]
    for r in remaining_numbers:
        sample_clusters = [
            c for c in clusters if all(_has_room([v[m] for m in [*c, r]], v[r], min_values) for v in columns)
        ]
        if not sample_clusters and spare:
            spare -= 1
            continue
        fill(table, 1, sample_clusters or clusters, [r])
    return clusters


def _has_room(values: Sequence[int], value: int, min_values: int) -> bool:
    """Return whether a value has at most its share of the records of a cluster, rounded up."""
    return value < 0 or values.count(value) <= math.ceil(len(values) / min_values)


def _is_even(values: Sequence[int], k: int, min_values: int) -> bool:
    """Return whether no value exceeds its share of k records, and no more values than needed are rounded up."""
    counts = [values.count(v) for v in set(values)]
    return max(counts) <= math.ceil(k / min_values) and sum(c > k // min_values for c in counts) <= k % min_values


def first_equal_record(table: LossTable, columns: Sequence[Sequence[int]], r: int) -> int:
    """Return the first record with equal values; equal records are consecutive."""
    everybody = range(len(table.rows))
    return next(
        s for s in everybody if table.rows[s] == table.rows[r] and all(column[s] == column[r] for column in columns)
    )


def knn_gs(table: LossTable, k: int, groups: Sequence[int], n_per_group: int) -> list[list[int]]:
    """Form clusters of the first unassigned record and the nearest of each group; leftovers join the nearest seed."""
    remaining_numbers, clusters = list(range(len(table.rows))), []
    while len(remaining_numbers) >= k:
        seed = remaining_numbers[0]
        one_groups = sorted(set(groups))
        size = min(len(remaining_numbers), max(n_per_group * len(one_groups), k))
        max_totals = {g: sum(groups[r] == g for r in remaining_numbers) for g in one_groups}
        need = dict.fromkeys(one_groups, 0)
        for g in one_groups:
            need[g] = min(n_per_group, max_totals[g], size - sum(need.values()))
        while sum(need.values()) < size:
            need[max(one_groups, key=lambda g: (max_totals[g] - need[g], -g))] += 1
        if need[groups[seed]] == 0:
            need[max(g for g in one_groups if need[g])] -= 1
            need[groups[seed]] = 1
        cluster = [seed]
        for g in one_groups:
            others = sorted(
                (r for r in remaining_numbers if groups[r] == g and r != seed),
                key=lambda r: (table.distance(r, seed), r),
            )
            cluster += others[: need[g] - (groups[seed] == g)]
        clusters.append(cluster)
        remaining_numbers = [r for r in remaining_numbers if r not in cluster]
    for r in remaining_numbers:
        distances = [table.distance(r, c[0]) for c in clusters]
        clusters[distances.index(min(distances))].append(r)
    return clusters


def merge_small_parts(
    parts: Sequence[Sequence[int]], k: int, distance: Callable[[int, int], int]
) -> list[tuple[int, list[int]]]:
    """Repeatedly merge the first part of fewer than k records into the nearest one; parts keep their numbers."""
    one_parts = {p: list(part) for p, part in enumerate(parts) if part}
    while len(one_parts) > 1 and any(len(part) < k for part in one_parts.values()):
        small = next(p for p in sorted(one_parts) if len(one_parts[p]) < k)
        removed = one_parts.pop(small)
        one_parts[min(sorted(one_parts), key=lambda p: (distance(small, p), p))] += removed
    return [(p, sorted(one_parts[p])) for p in sorted(one_parts)]


def pppc(
    table: LossTable,
    k: int,
    kinds: Sequence[int],
    parts: Sequence[tuple[int, Sequence[int]]],
    center_distance: Callable[[int, int], int],
) -> list[list[int]]:
    """Form clusters in each part, of one record of each of the most frequent kinds.

    The record nearest to the center is first, then those of the least loss; each remaining record joins the cluster of
    its part whose whole loss grows least. `center_distance`: distance of a record to the center of a part.
    """
    result: list[list[int]] = []
    for number, part in parts:
        remaining_parts, clusters = list(part), []
        while len(remaining_parts) >= k:
            cluster: list[int] = []
            taken_values: set[int] = set()
            while len(cluster) < k:
                frequent = sorted(
                    {kinds[r] for r in remaining_parts} - taken_values,
                    key=lambda v: _by_frequency(kinds, remaining_parts, part, v),
                )
                if not frequent:
                    taken_values = set()
                    continue
                taken_values.add(frequent[0])
                sample_values = [r for r in remaining_parts if kinds[r] == frequent[0]]
                if cluster:
                    best = min(sample_values, key=lambda r: (table.loss([*cluster, r]), r))
                else:
                    best = min(sample_values, key=lambda r: (center_distance(r, number), r))
                cluster.append(best)
                remaining_parts.remove(best)
            clusters.append(cluster)
        result += fill(table, 1, clusters, remaining_parts)
    return result


def _by_frequency(kinds: Sequence[int], remaining: Sequence[int], part: Sequence[int], kind: int) -> tuple[int, int]:
    return -sum(kinds[r] == kind for r in remaining), min(r for r in part if kinds[r] == kind)


def medoids(table: LossTable, first: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """Return parts around medoids, which move to the record nearest to all of their part, 20 times at most."""
    centers = list(first)
    for done in range(21):
        parts: list[list[int]] = [[] for _ in centers]
        for r in range(len(table.rows)):
            own_values = [p for p, c in enumerate(centers) if table.rows[c] == table.rows[r]]
            nearest = min(range(len(centers)), key=lambda p: (table.distance(r, centers[p]), p))
            parts[own_values[0] if own_values else nearest].append(r)
        moved_minimums = [min(part, key=lambda r: (sum(table.distance(r, s) for s in part), r)) for part in parts]
        if moved_minimums == centers or done == 20:
            break
        centers = moved_minimums
    return parts, centers


def s_cpm(
    table: LossTable, k: int, columns: Sequence[Sequence[int]], parts: Sequence[Sequence[int]], penalty: float
) -> list[list[int]]:
    """Merge the smallest cluster of each part with the one for which the whole loss and the penalty grow least."""
    result: list[list[int]] = []
    for part in parts:
        clusters = [[r] for r in part]
        while len(clusters) > 1 and min(map(len, clusters)) < k:
            small = min(clusters, key=lambda c: (len(c), min(c)))
            others = [c for c in clusters if c is not small]
            best = min(others, key=lambda c: (_merge_cost(table, small, c, columns, penalty), min(c)))
            clusters = [c for c in others if c is not best] + [small + best]
        result += clusters
    return result


def _merge_cost(
    table: LossTable, one: Sequence[int], other: Sequence[int], columns: Sequence[Sequence[int]], penalty: float
) -> float:
    """Return the growth of loss and penalty when two clusters are merged."""
    both = [*one, *other]
    growth = len(both) * table.loss(both) - len(one) * table.loss(one) - len(other) * table.loss(other)
    equal_total = sum(c[a] == c[b] for a in one for b in other for c in columns)
    return growth + penalty * (equal_total / (len(one) * len(other) * len(columns)))
