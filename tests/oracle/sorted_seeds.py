"""Systematic clustering and its relatives, implemented plainly, record by record."""

from __future__ import annotations

from collections.abc import Sequence

from oracle.greedy import LossTable


def growth(table: LossTable, cluster: Sequence[int], record: int) -> int:
    """Return the growth of the whole loss of a cluster with one more record."""
    return (len(cluster) + 1) * table.loss([*cluster, record]) - len(cluster) * table.loss(cluster)


def fill(table: LossTable, k: int, clusters: list[list[int]], rows: Sequence[int]) -> list[list[int]]:
    """Add row after row to the cluster of fewer than k records whose whole loss grows least, later to any."""
    for r in rows:
        sample_clusters = [c for c in clusters if len(c) < k] or clusters
        min(sample_clusters, key=lambda c: (growth(table, c, r), clusters.index(c))).append(r)
    return clusters


def systematic(table: LossTable, k: int) -> list[list[int]]:
    """Cluster around every k-th record from the middle one of the first k on."""
    n = len(table.rows)
    seeds = [(k + 1) // 2 - 1 + i * k for i in range(n // k)]
    return fill(table, k, [[s] for s in seeds], [r for r in range(n) if r not in seeds])


def combined(table: LossTable, k: int, values: Sequence[Sequence[int]], a: int, b: int) -> list[list[int]]:
    """Return groups of k in a row, of records sorted by the first a quasi-identifiers and b sensitive columns.

    The first record of each is a seed.
    """
    rows = sorted(range(len(table.rows)), key=lambda r: (table.rows[r][:a], [v[r] for v in values[:b]], r))
    seeds = [rows[i * k] for i in range(len(rows) // k)]
    return fill(table, k, [[s] for s in seeds], [r for r in rows if r not in seeds])


def organized(table: LossTable, k: int, values: Sequence[Sequence[int]], a: int) -> list[list[int]]:
    """Return clusters of k records around the first record of each group of k in a row, which only it may take."""
    rows = sorted(range(len(table.rows)), key=lambda r: (table.rows[r][:a], [v[r] for v in values[:a]], r))
    seeds = [rows[i * k] for i in range(len(rows) // k)]
    remaining_rows, clusters = [r for r in range(len(rows)) if r not in seeds], []
    for seed in seeds:
        cluster = [seed]
        while len(cluster) < k:
            cluster.append(min(remaining_rows, key=lambda r: (table.loss([*cluster, r]), r)))
            remaining_rows.remove(cluster[-1])
        clusters.append(cluster)
    return fill(table, 1, clusters, remaining_rows)


def adaptive(table: LossTable, k: int) -> list[list[int]]:
    """Cluster around the seeds of systematic clustering; records join while they cost at most the average so far."""
    n = len(table.rows)
    remaining_numbers, clusters, added, cost = list(range(n)), [], 0, 0.0
    for seed in [(k + 1) // 2 - 1 + i * k for i in range(n // k)]:
        same = [r for r in remaining_numbers if table.rows[r] == table.rows[seed]]
        if not same or len(remaining_numbers) < k:
            continue
        cluster = [same[0]]
        remaining_numbers.remove(same[0])
        while remaining_numbers:
            best = min(remaining_numbers, key=lambda r: (table.loss([*cluster, r]), r))
            extra_growth = growth(table, cluster, best)
            if len(cluster) >= k and float(extra_growth) * added > cost:
                break
            cluster.append(best)
            remaining_numbers.remove(best)
            added, cost = added + 1, cost + float(extra_growth)
        clusters.append(cluster)
    return fill(table, 1, clusters, remaining_numbers)
