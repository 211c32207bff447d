"""r-gather again, record by record and as plainly as it is described."""

from __future__ import annotations

from collections.abc import Sequence

from oracle.greedy import Plain


def radius(table: Plain, clusters: Sequence[Sequence[int]]) -> int:
    """The greatest distance of a record to the best center of its cluster, any record."""
    everybody = range(len(table.rows))
    return max(min(max(table.distance(c, r) for r in cluster) for c in everybody) for cluster in clusters)


def centers(table: Plain, k: int, widest: int) -> tuple[int, list[int]]:
    """The limit that bisection finds, and its centers; nobody is left out."""
    everybody = range(len(table.rows))
    low = max(sorted(table.distance(r, s) for s in everybody)[k - 1] for r in everybody) - 1
    high, limit = widest, low + 1
    best: list[int] | None = None
    while best is None or high > low + 1:
        found = flowing(table, k, limit)
        if found is None:
            low = limit
        else:
            high, best = limit, found
        limit = (low + high + 1) // 2
    return high, best


def flowing(table: Plain, k: int, limit: int) -> list[int] | None:
    """Centers that lie apart, if each can have k records within the limit: a matching of places with records."""
    chosen: list[int] = []
    for r in range(len(table.rows)):
        if all(table.distance(r, c) > limit for c in chosen):
            chosen.append(r)
    holder: dict[int, int] = {}

    def fill(center: int, tried: set[int]) -> bool:
        for r in range(len(table.rows)):
            if r not in tried and table.distance(center, r) <= limit:
                tried.add(r)
                if r not in holder or fill(holder[r], tried):
                    holder[r] = center
                    return True
        return False

    enough = all(fill(c, set()) for c in chosen for _ in range(k))
    return chosen if enough else None


def spread(table: Plain, k: int, spare: int, widest: int) -> list[list[int]]:
    """Clusters with at most so many left out, which come last."""
    everybody = range(len(table.rows))

    def tried(limit: int) -> list[list[int]] | None:
        chosen: list[int] = []
        for r in everybody:
            near = sum(table.distance(r, s) <= limit for s in everybody)
            if near >= k and all(table.distance(r, c) > 2 * limit for c in chosen):
                chosen.append(r)
        clusters: list[list[int]] = [[] for _ in [*chosen, -1]]
        for r in everybody:
            away = [table.distance(r, c) for c in chosen]
            clusters[away.index(min(away)) if away and min(away) <= 3 * limit else -1].append(r)
        return clusters if chosen and len(clusters[-1]) <= spare else None

    low, high, limit = -1, widest, 0
    best: list[list[int]] | None = None
    while best is None or high > low + 1:
        found = tried(limit)
        if found is None:
            low = limit
        else:
            high, best = limit, found
        limit = (low + high + 1) // 2
    return best
