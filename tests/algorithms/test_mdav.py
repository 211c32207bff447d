"""MDAV on tables of many tuples, compared with a loop that reads all records."""

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


def random_encoded_table(draws: np.random.Generator, rows: int, kind: str) -> EncodedTable:
    """Return three numbers and a category of one kind: all distinct, on a grid with ties, or with NULLs and repeats."""
    attributes: list[encoded_table.Attribute] = []
    columns = []
    for j in range(3):
        values = draws.random(rows) if kind == "apart" else draws.integers(0, 12, rows) / 4
        known_values, codes = np.unique(values, return_inverse=True)
        if kind == "nulls":
            codes = np.where(draws.random(rows) < 0.1 * j, len(known_values), codes)
        attributes.append(NumericAttribute(known_values - known_values[0], False, 1 + 0.5 * j))
        columns.append(codes.astype(np.int32))
    attributes.append(CategoricalAttribute(np.array([-1, 0, 0, 0], np.int32), np.array([1, 2, 3], np.int32), 0.1))
    columns.append(draws.integers(0, 3 if kind != "nulls" else 4, rows).astype(np.int32))
    return encoded_table.encode_table(attributes, columns, draws.integers(0, 2**62, rows).astype(np.uint64), None)[0]


def plain_clusters(table: EncodedTable, k: int) -> list[list[int]]:
    """Return the clusters of records in the order of the algorithm."""
    codes = table.codes[table.tuple_of]
    units = [round(a.weight * 2**30) for a in table.attributes]
    places: list[Any] = []
    for j, a in enumerate(table.attributes):
        scaled = a.positions / a.positions[-1] if isinstance(a, NumericAttribute) else np.arange(a.values + 1.0)
        places.append(
            np.append(scaled, np.nan)[codes[:, j]] if isinstance(a, NumericAttribute) else scaled[codes[:, j]]
        )
    remaining_array = np.arange(table.rows)

    def record_distance(place: list[float]) -> Any:
        total = np.zeros(len(remaining_array), np.int64)
        for a, x, q, unit in zip(table.attributes, places, place, units, strict=True):
            x = x[remaining_array]
            equal_result = (x == q) | (np.isnan(x) & np.isnan(q))
            term = np.where(equal_result, 0, unit)
            if isinstance(a, NumericAttribute) and not math.isnan(q):
                known_values = ~np.isnan(x)
                term[known_values] = np.rint((x[known_values] - q) ** 2 * unit)
            total += term
        return total

    def average() -> list[float]:
        place: list[float] = []
        for j, a in enumerate(table.attributes):
            x = places[j][remaining_array]
            if isinstance(a, NumericAttribute):
                steps = 2.0 ** (62 - math.frexp(np.nanmax(places[j]) * table.total)[1])
                known_values = x[~np.isnan(x)]
                total = sum(round(p * steps) for p in known_values.tolist())
                place.append(float(total) / len(known_values) / steps if len(known_values) else math.nan)
            else:
                place.append(float(np.argmax(np.bincount(x.astype(int)))))
        return place

    clusters = []
    while len(remaining_array) >= 2 * k:
        turns, place = 2 if len(remaining_array) >= 3 * k else 1, average()
        for _ in range(turns):
            seed = remaining_array[np.argmax(record_distance(place))]
            place = [float(p[seed]) for p in places]
            remaining_array = remaining_array[remaining_array != seed]
            near = remaining_array[np.argsort(record_distance(place), kind="stable")[: k - 1]]
            clusters.append(sorted([int(seed), *near.tolist()]))
            remaining_array = np.setdiff1d(remaining_array, near)
    return [*clusters, sorted(remaining_array.tolist())]


@pytest.mark.parametrize("kind", ["apart", "rounding", "nulls"])
@pytest.mark.parametrize(("rows", "k"), [(2000, 3), (900, 25)])
def test_mdav_of_many_tuples_equals_plain_loop(kind: str, rows: int, k: int) -> None:
    table = random_encoded_table(np.random.default_rng(rows), rows, kind)
    labels = by_row.run_labels(algorithms.find("mdav"), table, Constraint(k), {"scale": "range"})
    assert [np.flatnonzero(labels == c).tolist() for c in range(int(labels.max()) + 1)] == plain_clusters(table, k)
