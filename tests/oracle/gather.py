"""KNN, KMCSSA and GCCG, implemented plainly, record by record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dbanon.encoding.encoded_table import Attribute, EncodedTable, NumericAttribute
from oracle.greedy import LossTable, mdav


def _nearest(table: LossTable, seed: int, candidates: Sequence[int], records: int) -> list[int]:
    return sorted(candidates, key=lambda r: (table.distance(r, seed), r))[:records]


def knn(table: LossTable, k: int) -> list[list[int]]:
    """Cluster the first unassigned record with its nearest ones; leftovers join by least growth of the whole loss."""
    remaining_numbers, clusters = list(range(len(table.rows))), []
    while len(remaining_numbers) >= k:
        seed = remaining_numbers.pop(0)
        clusters.append([seed, *_nearest(table, seed, remaining_numbers, k - 1)])
        remaining_numbers = [r for r in remaining_numbers if r not in clusters[-1]]
    for r in remaining_numbers:
        growth = [(len(c) + 1) * table.loss([*c, r]) - len(c) * table.loss(c) for c in clusters]
        clusters[growth.index(min(growth))].append(r)
    return clusters


def kmcssa(table: LossTable, k: int) -> list[list[int]]:
    """Cluster the closest unassigned record with its nearest ones; leftovers join the nearest seed."""
    everybody = list(range(len(table.rows)))
    far = {r: sum(table.distance(r, s) for s in everybody) for r in everybody}
    remaining_people, clusters = sorted(everybody, key=lambda r: (far[r], r)), []
    while len(remaining_people) >= k:
        seed = remaining_people.pop(0)
        clusters.append([seed, *_nearest(table, seed, remaining_people, k - 1)])
        remaining_people = [r for r in remaining_people if r not in clusters[-1]]
    return _to_nearest(table, clusters, remaining_people)


def _to_nearest(table: LossTable, clusters: list[list[int]], leftovers: Sequence[int]) -> list[list[int]]:
    """Add the remaining records to the cluster of the nearest seed."""
    seeds = [c[0] for c in clusters]
    for r in sorted(leftovers):
        distances = [table.distance(r, s) for s in seeds]
        clusters[distances.index(min(distances))].append(r)
    return clusters


def multilevel(space: EncodedTable, table: LossTable, k: int, levels: int, coarser: int) -> list[list[int]]:
    """Run MDAV on averages of neighbouring numbers, and within each group on less coarse ones.

    There are no NULLs among numbers. Equal records are interchangeable.
    """
    groups = [list(range(len(table.rows)))]
    for level in range(levels):
        above = levels - 1 - level
        rows, attributes = _averages(space, table, 2**above)
        minimum = min(k * coarser**above, len(table.rows))
        result = []
        for group in groups:
            codes = np.array([rows[r] for r in group], np.int32)
            part = EncodedTable(attributes, codes, np.ones(len(group), np.int64), None, space.total)
            result += [[group[r] for r in c] for c in mdav(part, minimum)]
        groups = result
    return groups


def _averages(
    space: EncodedTable, table: LossTable, length: int
) -> tuple[list[tuple[int, ...]], tuple[Attribute, ...]]:
    """Return the rows and attributes with every `length` numbers replaced by their weighted mean."""
    if length == 1:
        return table.rows, space.attributes
    numbers = {j: a for j, a in enumerate(space.attributes) if isinstance(a, NumericAttribute)}
    others = [j for j in range(len(space.attributes)) if j not in numbers]
    kinds = [space.attributes[j] for j in others]
    columns: list[list[int]] = [[row[j] for row in table.rows] for j in others]
    for first in range(0, len(numbers), length):
        sample_numbers = list(numbers)[first : first + length]
        means: list[float | None] = []
        for row in table.rows:
            known_values = [j for j in sample_numbers if row[j] < space.attributes[j].values]
            full_total = sum(space.attributes[j].weight for j in known_values)
            total = 0.0
            for j in known_values:
                positions = numbers[j].positions
                width = float(positions[-1])
                total += float(positions[row[j]]) / width * space.attributes[j].weight if width > 0 else 0.0
            means.append(total / full_total if known_values else None)
        values = sorted({m for m in means if m is not None})
        columns.append([len(values) if m is None else values.index(m) for m in means])
        array = np.array([v - values[0] for v in values])
        kinds.append(NumericAttribute(array, False, sum(space.attributes[j].weight for j in sample_numbers)))
    return list(zip(*columns, strict=True)), tuple(kinds)


def gccg(space: EncodedTable, table: LossTable, k: int, parts: int) -> list[list[int]]:
    """Cluster around centers, the middle records of each k in a row by score, with their nearest other records.

    Parts of fewer than k records are joined with the next.
    """
    n = len(table.rows)

    def score(r: int) -> float:
        total = 0.0
        for j, a in enumerate(space.attributes):
            code = table.rows[r][j]
            if isinstance(a, NumericAttribute) and code < a.values:
                total += a.weight * (float(a.positions[code] / a.positions[-1]) if a.positions[-1] > 0 else 0.0)
            else:
                total += a.weight * [row[j] for row in table.rows].count(code) / n
        return round(total, 12)

    scores = [score(r) for r in range(n)]
    order = sorted(range(n), key=lambda r: (scores[r], r))
    part: dict[int, list[int]] = {}
    for r in order:
        last = max(i for i, other in enumerate(order) if table.rows[other] == table.rows[r])
        part.setdefault(last * min(parts, max(n // k, 1)) // n, []).append(r)
    joined_values: list[list[int]] = []
    for number in sorted(part):
        if joined_values and len(joined_values[-1]) < k:
            joined_values[-1] += part[number]
        else:
            joined_values.append(list(part[number]))
    if len(joined_values) > 1 and len(joined_values[-1]) < k:
        joined_values[-2] += joined_values.pop()
    clusters: list[list[int]] = []
    for records in joined_values:
        if len(records) < 2 * k:
            clusters.append(records)
            continue
        centers = [records[i * k + (k - 1) // 2] for i in range(len(records) // k)]
        remaining_records, values = [r for r in records if r not in centers], []
        for center in centers:
            values.append([center, *_nearest(table, center, remaining_records, k - 1)])
            remaining_records = [r for r in remaining_records if r not in values[-1]]
        clusters += _to_nearest(table, values, remaining_records)
    return clusters
