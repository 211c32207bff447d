"""r-gather and the crossover of clusters, implemented plainly, record by record."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from oracle.greedy import LossTable

Clusters = list[list[int]]


def radius(table: LossTable, clusters: Sequence[Sequence[int]]) -> int:
    """Return the greatest distance of a record to the best center of its cluster; any record can be a center."""
    everybody = range(len(table.rows))
    return max(min(max(table.distance(c, r) for r in cluster) for c in everybody) for cluster in clusters)


def centers(table: LossTable, k: int, max_distance: int) -> tuple[int, list[int]]:
    """Return the limit that bisection finds, and its centers; no record is suppressed."""
    everybody = range(len(table.rows))
    low = max(sorted(table.distance(r, s) for s in everybody)[k - 1] for r in everybody) - 1
    high, limit = max_distance, low + 1
    best: list[int] | None = None
    while best is None or high > low + 1:
        result = feasible_centers(table, k, limit)
        if result is None:
            low = limit
        else:
            high, best = limit, result
        limit = (low + high + 1) // 2
    return high, best


def feasible_centers(table: LossTable, k: int, limit: int) -> list[int] | None:
    """Return centers with k records each within the limit: a matching of places with records; None if impossible."""
    selection: list[int] = []
    for r in range(len(table.rows)):
        if all(table.distance(r, c) > limit for c in selection):
            selection.append(r)
    holder: dict[int, int] = {}

    def fill(center: int, visited: set[int]) -> bool:
        for r in range(len(table.rows)):
            if r not in visited and table.distance(center, r) <= limit:
                visited.add(r)
                if r not in holder or fill(holder[r], visited):
                    holder[r] = center
                    return True
        return False

    enough = all(fill(c, set()) for c in selection for _ in range(k))
    return selection if enough else None


def spread_clusters(table: LossTable, k: int, max_outliers: int, max_distance: int) -> list[list[int]]:
    """Return clusters with at most `max_outliers` suppressed records, which are last."""
    everybody = range(len(table.rows))

    def clusters_within(limit: int) -> list[list[int]] | None:
        selection: list[int] = []
        for r in everybody:
            near = sum(table.distance(r, s) <= limit for s in everybody)
            if near >= k and all(table.distance(r, c) > 2 * limit for c in selection):
                selection.append(r)
        clusters: list[list[int]] = [[] for _ in [*selection, -1]]
        for r in everybody:
            distances = [table.distance(r, c) for c in selection]
            clusters[distances.index(min(distances)) if distances and min(distances) <= 3 * limit else -1].append(r)
        return clusters if selection and len(clusters[-1]) <= max_outliers else None

    low, high, limit = -1, max_distance, 0
    best: list[list[int]] | None = None
    while best is None or high > low + 1:
        result = clusters_within(limit)
        if result is None:
            low = limit
        else:
            high, best = limit, result
        limit = (low + high + 1) // 2
    return best


Pair = Callable[[int, int], tuple[int, int]]
"""The ranks of two clusters to cross, from the number of generations without a gain and the number of clusters."""


def ga(
    table: LossTable, start: Sequence[Sequence[int]], k: int, generations: int, patience: int, pair: Pair
) -> Clusters:
    """Cross clusters two at a time, selected by the rank of a record's loss in them."""
    clusters, idle = [sorted(c) for c in start], 0
    for _ in range(generations):
        if idle == patience:
            break
        order = sorted(range(len(clusters)), key=lambda c: (-table.loss(clusters[c]), c))
        a, b = sorted(order[rank] for rank in pair(idle, len(clusters)))
        new = _crossed_clusters(table, sorted(clusters[a] + clusters[b]), k)
        idle += 1
        if sum(len(c) * table.loss(c) for c in new) < sum(len(c) * table.loss(c) for c in (clusters[a], clusters[b])):
            clusters[a], clusters[b], idle = sorted(new[0]), sorted(new[1]), 0
    return clusters


def _crossed_clusters(table: LossTable, pool: list[int], k: int) -> Clusters:
    """Return two clusters around the farthest pair of the pool, filled in turn; leftovers join by least growth."""
    x, y = max(itertools.combinations(pool, 2), key=lambda pair: (table.distance(*pair), -pair[0], -pair[1]))
    new, remaining_pools = [[x], [y]], [r for r in pool if r not in (x, y)]
    while len(new[1]) < k:
        for cluster in new:
            cluster.append(min(remaining_pools, key=lambda r: (table.loss([*cluster, r]), r)))
            remaining_pools.remove(cluster[-1])
    for r in remaining_pools:
        growth = [(len(c) + 1) * table.loss([*c, r]) - len(c) * table.loss(c) for c in new]
        new[growth.index(min(growth))].append(r)
    return new


def pair_in_turn(idle: int, number: int) -> tuple[int, int]:
    """Return the pair number `idle` of 1 and 2, 1 and 3, 2 and 3, 1 and 4 ..., cyclically."""
    pairs = [(i, j) for j in range(number) for i in range(j)]
    return pairs[idle % len(pairs)]


def pair_by_rank(draw: Callable[[], float]) -> Pair:
    """Return a function that draws two different ranks; of n, the first has weight n, the last has weight 1."""

    def rank(number: int) -> int:
        target = int(draw() * (number * (number + 1) // 2))
        weights = itertools.accumulate(range(number, 0, -1))
        return next(i for i, until in enumerate(weights) if target < until)

    def pair(idle: int, number: int) -> tuple[int, int]:
        one, other = rank(number), rank(number - 1)
        return one, other + (other >= one)

    return pair
