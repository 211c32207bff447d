"""V-MDAV compared with a plain loop over records."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support import by_row

from dbanon import algorithms
from dbanon.encoding import encoded_table
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, NumericAttribute
from dbanon.privacy_models.constraint import Constraint


def table(draws: np.random.Generator, rows: int, values: int, nulls: float) -> EncodedTable:
    """Return two numbers and a category with `values` distinct values, a share `nulls` of them NULL."""
    numbers = [NumericAttribute(np.arange(float(values)), True, weight) for weight in (1.0, 1.5)]
    tree = CategoricalAttribute(np.array([-1, 0, 0, 0], np.int32), np.array([1, 2, 3], np.int32), 0.1)
    columns = [draws.integers(0, n, rows).astype(np.int32) for n in (values, values, 3)]
    for codes, n in zip(columns, (values, values, 3), strict=True):
        codes[draws.random(rows) < nulls] = n
    order = draws.integers(0, 2**62, rows).astype(np.uint64)
    return encoded_table.encode_table([*numbers, tree], columns, order, None)[0]


def distance(space: EncodedTable, one: list[float], other: list[float]) -> int:
    """Return the distance of two records, in steps of 2^-30; NaN is NULL."""
    total = 0
    for a, x, y in zip(space.attributes, one, other, strict=True):
        unit = round(a.weight * 2**30)
        if isinstance(a, NumericAttribute) and not math.isnan(x) and not math.isnan(y):
            total += round((x - y) ** 2 * unit)
        elif not (x == y or (math.isnan(x) and math.isnan(y))):
            total += unit
    return total


def average(space: EncodedTable, records: list[list[float]]) -> list[float]:
    """Return the mean of each number and the most frequent value of each category."""
    place = []
    for a, column in zip(space.attributes, zip(*records, strict=True), strict=True):
        known_columns = [x for x in column if not math.isnan(x)]
        if isinstance(a, NumericAttribute):
            steps = 2.0 ** (62 - math.frexp(max(known_columns) * space.total)[1])
            place.append(
                float(sum(round(x * steps) for x in known_columns)) / len(known_columns) / steps
                if known_columns
                else math.nan
            )
        else:
            place.append(max(sorted(set(column)), key=column.count))
    return place


def v_mdav(space: EncodedTable, k: int, gamma: float) -> list[list[int]]:
    """Return the clusters of records, in the order in which they are made."""
    records: list[list[float]] = []
    for codes in space.codes[space.tuple_of].tolist():
        records.append(
            [
                (a.positions[c] / a.positions[-1] if c < a.values else math.nan)
                if isinstance(a, NumericAttribute)
                else float(c)
                for a, c in zip(space.attributes, codes, strict=True)
            ]
        )
    all_numbers = range(len(records))
    separate_distances: Any = [[distance(space, records[i], records[j]) for j in all_numbers] for i in all_numbers]
    middle = average(space, records)
    remaining_values, clusters = list(all_numbers), []
    while len(remaining_values) >= k:
        seed = max(remaining_values, key=lambda i: (distance(space, records[i], middle), -i))
        cluster = [
            seed,
            *sorted((i for i in remaining_values if i != seed), key=lambda i: separate_distances[seed][i])[: k - 1],
        ]
        remaining_values = [i for i in remaining_values if i not in cluster]
        while len(cluster) < 2 * k - 1 and len(remaining_values) > 1:
            inside, joining = min((separate_distances[i][j], j) for i in cluster for j in remaining_values)
            outside = min(separate_distances[joining][j] for j in remaining_values if j != joining)
            if inside >= gamma * gamma * outside:
                break
            cluster.append(joining)
            remaining_values.remove(joining)
        clusters.append(cluster)
    joined_values = [
        (i, min((separate_distances[i][j], j, number) for number, cluster in enumerate(clusters) for j in cluster)[2])
        for i in remaining_values
    ]
    for i, number in joined_values:
        clusters[number].append(i)
    return [sorted(cluster) for cluster in clusters]


@pytest.mark.parametrize("gamma", [0.0, 0.2, 1.1, 3.0])
@pytest.mark.parametrize(("rows", "values", "nulls"), [(120, 1000, 0.0), (150, 12, 0.0), (130, 6, 0.1), (7, 9, 0.0)])
def test_v_mdav_equals_plain_loop(rows: int, values: int, nulls: float, gamma: float) -> None:
    for k in (2, 3, 5):
        code_table = table(np.random.default_rng(rows + k), rows, values, nulls)
        labels = by_row.run_labels(
            algorithms.find("v_mdav"),
            code_table,
            Constraint(k),
            {"scale": "range", "gamma": gamma, "allow_slow": False},
        )
        actual_values = [np.flatnonzero(labels == c).tolist() for c in range(int(labels.max()) + 1)]
        assert actual_values == v_mdav(code_table, k, gamma)


def test_v_mdav_gamma_gives_clusters_of_unequal_size(con: Any) -> None:
    """3 + 5 records in two clumps: clusters of three leave records that are nearest to the other clump's middle."""
    con.execute("CREATE TABLE clumps AS SELECT unnest([1, 2, 3, 80, 81, 82, 83, 84]) AS a")
    sizes = "SELECT size FROM v_mdav_classes('clumps', k := 3, qi := ['a'], gamma := {}) ORDER BY size"
    assert con.execute(sizes.format(1.1)).fetchall() == [(3,), (5,)]
