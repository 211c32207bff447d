"""k-member, k-members, GAA-CP, IKAC and MDAV, implemented plainly, record by record."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dbanon.encoding.encoded_table import Attribute, EncodedTable, NumericAttribute

Row = tuple[int, ...]


@dataclass(frozen=True)
class LossTable:
    """A table by record: codes of every canonical row, and one loss function per attribute on sets of codes."""

    rows: list[Row]
    losses: list[Callable[[set[int]], int]]

    def loss(self, members: Sequence[int]) -> int:
        """Return the loss of one record in a cluster."""
        return sum(loss({self.rows[m][j] for m in members}) for j, loss in enumerate(self.losses))

    def distance(self, a: int, b: int) -> int:
        """Return the loss of two records together; 0 on an attribute where they are equal."""
        return sum(
            0 if self.rows[a][j] == self.rows[b][j] else loss({self.rows[a][j], self.rows[b][j]})
            for j, loss in enumerate(self.losses)
        )


def loss_table(space: EncodedTable, unit: float, heights: str) -> LossTable:
    """Return the plain form of an encoded table.

    Args:
        space: The encoded table.
        unit: The loss of a lost attribute of weight 1, a power of two.
        heights: edges or leaves.
    """
    rows = [
        tuple(int(c) for c in codes)
        for codes, n in zip(space.codes, space.counts.tolist(), strict=True)
        for _ in range(n)
    ]
    return LossTable(rows, [_loss(space, j, unit, heights) for j in range(len(space.attributes))])


def _loss(space: EncodedTable, j: int, unit: float, heights: str) -> Callable[[set[int]], int]:
    """Return the loss function of an attribute on sets of codes."""
    attribute = space.attributes[j]
    full_result = unit * attribute.weight

    def codes_loss(codes: set[int]) -> int:
        if codes == {attribute.values}:
            return 0
        if attribute.values in codes:
            return round(full_result)
        if isinstance(attribute, NumericAttribute):
            from dbanon.encoding.distance import rounded_positions

            one_rounded_positions = rounded_positions(attribute, full_result)
            return int(one_rounded_positions[max(codes)] - one_rounded_positions[min(codes)])
        lines = [attribute.path_to_root(int(attribute.node[c])) for c in codes]
        ancestor = next(n for n in lines[0] if all(n in line for line in lines))
        children = [n for n, p in enumerate(attribute.parent.tolist()) if p == ancestor]
        if not children:
            return 0
        if heights == "leaves":
            return round(float(attribute.leaves[ancestor] / attribute.leaves[0]) * full_result)
        return round(_height(attribute.parent.tolist(), ancestor) / _height(attribute.parent.tolist(), 0) * full_result)

    return codes_loss


def _height(parent: list[int], node: int) -> int:
    """Return the number of edges down to the deepest leaf."""
    below = [n for n, p in enumerate(parent) if p == node]
    return 1 + max(_height(parent, n) for n in below) if below else 0


def greedy(
    table: LossTable,
    k: int,
    seed_of: Callable[[list[int]], int],
    fixed_clusters: Sequence[Sequence[int]] = (),
    outliers: Sequence[int] = (),
) -> list[list[int]]:
    """Return clusters of a seed and the records that cost least.

    Leftovers and reserved records join by least growth of the whole loss. Some clusters are kept unchanged.
    """
    present_values = {*outliers, *(r for c in fixed_clusters for r in c)}
    remaining_numbers, clusters = (
        [r for r in range(len(table.rows)) if r not in present_values],
        [list(c) for c in fixed_clusters],
    )
    while len(remaining_numbers) >= k:
        seed = seed_of(remaining_numbers)
        remaining_numbers.remove(seed)
        cluster = [seed]
        while len(cluster) < k:
            best = min(remaining_numbers, key=lambda r: (table.loss([*cluster, r]), r))
            cluster.append(best)
            remaining_numbers.remove(best)
        clusters.append(cluster)
    for r in sorted([*remaining_numbers, *outliers]):
        growth = [(len(c) + 1) * table.loss([*c, r]) - len(c) * table.loss(c) for c in clusters]
        clusters[growth.index(min(growth))].append(r)
    return clusters


def hybrid(
    table: LossTable, k: int, one_pass_clusters: Sequence[Sequence[int]], center_distance: Callable[[int, int], int]
) -> list[list[int]]:
    """Keep the k records nearest to the center in each one-pass k-means cluster of k or more; cluster the others.

    The others are clustered by k-member. `center_distance`: distance of a record to the center of a cluster.
    """
    kept_values = [
        sorted(c, key=lambda r: (center_distance(r, i), -r))[:k] for i, c in enumerate(one_pass_clusters) if len(c) >= k
    ]
    return greedy(table, k, farthest_seed(table, 0), kept_values)


def wkmca(table: LossTable, k: int, outliers: int) -> list[list[int]]:
    """Run k-member with the records farthest from all others reserved; losses are weighted already."""
    everybody = range(len(table.rows))
    distance_totals = {r: sum(table.distance(r, s) for s in everybody) for r in everybody}
    aside = sorted(everybody, key=lambda r: (-distance_totals[r], r))[:outliers]
    return greedy(table, k, farthest_seed(table, 0), outliers=aside)


def farthest_seed(table: LossTable, reference: int) -> Callable[[list[int]], int]:
    """Return a function that returns the seed farthest from the seed before; the first from the reference."""
    last = [reference]

    def seed(remaining: list[int]) -> int:
        last[0] = min(remaining, key=lambda r: (-table.distance(r, last[0]), r))
        return last[0]

    return seed


def ikac(table: LossTable, k: int, first: int) -> list[list[int]]:
    """Cluster seeds with the greatest summed distance to all earlier ones, and their k - 1 nearest records.

    Leftovers join the nearest seed.
    """
    remaining_numbers, clusters, seeds = list(range(len(table.rows))), [], []
    while len(remaining_numbers) >= k:
        seed = (
            first if not seeds else min(remaining_numbers, key=lambda r: (-sum(table.distance(r, s) for s in seeds), r))
        )
        remaining_numbers.remove(seed)
        near = sorted(remaining_numbers, key=lambda r: (table.distance(r, seed), r))[: k - 1]
        clusters.append([seed, *near])
        remaining_numbers = [r for r in remaining_numbers if r not in near]
        seeds.append(seed)
    for r in remaining_numbers:
        far_off = [table.distance(r, s) for s in seeds]
        clusters[far_off.index(min(far_off))].append(r)
    return clusters


def mdav(space: EncodedTable, k: int, unit: int = 2**30) -> list[list[int]]:
    """Return the clusters of MDAV-generic by range.

    Distances are squared differences of numbers, 0 or 1 for categories and NULL. Means are of positions that are
    rounded to multiples of 2^-s, with s the largest for which all of them together stay below 2^62.
    """
    rows = loss_table(space, 1, "edges").rows
    remaining, clusters = list(range(len(rows))), []

    def term(j: int, code: int, place: float | None, category: int | None) -> int:
        attribute = space.attributes[j]
        full_rounded = round(attribute.weight * unit)
        if place is not None and isinstance(attribute, NumericAttribute) and code < attribute.values:
            return round((_scaled(attribute)[code] - place) ** 2 * full_rounded)
        return 0 if code == category else full_rounded

    def average() -> list[tuple[float | None, int | None]]:
        values: list[tuple[float | None, int | None]] = []
        for j, attribute in enumerate(space.attributes):
            codes = [rows[r][j] for r in remaining]
            known_codes = [c for c in codes if c < attribute.values]
            if isinstance(attribute, NumericAttribute):
                scaled = _scaled(attribute)
                steps = 2.0 ** (62 - math.frexp(max(scaled, default=0.0) * space.total)[1])
                total = sum(round(scaled[c] * steps) for c in known_codes)
                mean = float(total) / len(known_codes) / steps if known_codes else None
                values.append((mean, None if known_codes else attribute.values))
            else:
                values.append((None, min(set(codes), key=lambda c: (-codes.count(c), c))))
        return values

    def record_point(record: int) -> list[tuple[float | None, int | None]]:
        return [
            (
                _scaled(a)[rows[record][j]] if isinstance(a, NumericAttribute) and rows[record][j] < a.values else None,
                rows[record][j],
            )
            for j, a in enumerate(space.attributes)
        ]

    def distance(record: int, point: list[tuple[float | None, int | None]]) -> int:
        return sum(term(j, rows[record][j], *point[j]) for j in range(len(point)))

    def cluster(point: list[tuple[float | None, int | None]]) -> int:
        nonlocal remaining
        seed = min(remaining, key=lambda r: (-distance(r, point), r))
        remaining.remove(seed)
        near = sorted(remaining, key=lambda r: (distance(r, record_point(seed)), r))[: k - 1]
        clusters.append([seed, *near])
        remaining = [r for r in remaining if r not in near]
        return seed

    while len(remaining) >= 2 * k:
        pair = len(remaining) >= 3 * k
        seed = cluster(average())
        if pair:
            cluster(record_point(seed))
    return [*clusters, remaining]


def _place(attribute: Attribute, code: int) -> float | None:
    return _scaled(attribute)[code] if isinstance(attribute, NumericAttribute) and code < attribute.values else None


def _scaled(attribute: NumericAttribute) -> list[float]:
    width = float(attribute.positions[-1]) if attribute.values else 0.0
    return [float(p) / width if width > 0 else 0.0 for p in attribute.positions]


def eld(table: LossTable, values: Sequence[int | None], k: int, min_values: int, first: int) -> list[list[int]]:
    """Grow clusters until they have k records and `min_values` values; leftovers join by least growth."""

    def n_different(rows: Sequence[int]) -> int:
        return len({values[r] for r in rows} - {None})

    remaining_numbers, clusters, last = list(range(len(table.rows))), [], first
    while len(remaining_numbers) >= k and n_different(remaining_numbers) >= min_values:
        far_off = min(remaining_numbers, key=lambda r: (-table.distance(r, last), r))
        last = first if not clusters else far_off
        remaining_numbers.remove(last)
        cluster = [last]
        while len(cluster) < k or n_different(cluster) < min_values:
            cluster.append(min(remaining_numbers, key=lambda r: (table.loss([*cluster, r]), r)))
            remaining_numbers.remove(cluster[-1])
        clusters.append(cluster)
    for r in remaining_numbers:
        growth = [(len(c) + 1) * table.loss([*c, r]) - len(c) * table.loss(c) for c in clusters]
        clusters[growth.index(min(growth))].append(r)
    return clusters
