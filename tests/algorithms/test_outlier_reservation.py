"""k-member on the records that other rules do not take: WKMCA and the hybrid with one-pass k-means.

Compared with plain loops and called in SQL.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from oracle import assign as slow_assign, greedy as slow
from support import by_row, small_table
from support.small_table import ASKED
from support.tables import SOME, Table, encode_records, tables
from test_assign import random_case
from test_gather import equal_clusters, with_unit
from test_greedy import records

from dbanon import algorithms
from dbanon.algorithms.greedy.wkmca import column_variation
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, NumericAttribute
from dbanon.privacy_models.constraint import Constraint


def clusters(name: str, table: EncodedTable, k: int, **options: object) -> list[list[int]]:
    selected_algorithm = algorithms.find(name)
    defaults_by_name = (
        {p.name: p.default for p in selected_algorithm.own_parameters} | {"mode": "deterministic"} | options
    )
    labels = by_row.labels(selected_algorithm.run(table, Constraint(k), defaults_by_name, lambda: None))
    return [np.flatnonzero(labels == c).tolist() for c in range(int(labels.max()) + 1)]


def with_magnitudes(table: EncodedTable) -> EncodedTable:
    """Return the table with known values of numbers: 1, 2, 3, ... in the order of their positions."""
    attributes = (
        replace(a, magnitudes=a.positions + 1) if isinstance(a, NumericAttribute) else a for a in table.attributes
    )
    return replace(table, attributes=tuple(attributes))


@given(tables())
@SOME
def test_wkmca_equals_plain_loop(table: Table) -> None:
    result = with_magnitudes(records(encode_records(table).space))
    k = max(table.k, 2)
    if result.rows < 2 * k:
        return
    shares = [plain_variation(result, j) for j in range(len(result.attributes))]
    mean = sum(shares) / len(shares)
    attributes = [
        replace(a, weight=a.weight * (s / mean if s > 0 else 1.0))
        for a, s in zip(result.attributes, shares, strict=True)
    ]
    pairs = with_unit(replace(result, attributes=tuple(attributes)), k, "edges")
    expected = slow.wkmca(pairs, k, math.ceil(0.2 * result.rows))
    assert equal_clusters(pairs, clusters("wkmca", result, k, outliers=0.2)) == equal_clusters(pairs, expected)


def plain_variation(table: EncodedTable, j: int) -> float:
    """Return the variation of an attribute, record by record.

    Standard deviation over mean of a number, entropy over the greatest possible entropy of a category.
    """
    attribute = table.attributes[j]
    codes = [int(c) for c, n in zip(table.codes[:, j], table.counts, strict=True) for _ in range(int(n))]
    known_codes = [c for c in codes if c < attribute.values]
    if len(set(known_codes)) < 2:
        return 0.0
    if isinstance(attribute, CategoricalAttribute):
        shares = [known_codes.count(c) / len(known_codes) for c in sorted(set(known_codes))]
        return float(-(np.array(shares) * np.log(shares)).sum() / np.log(len(shares)))
    return column_variation(table, j, attribute)


def test_number_weight_is_coefficient_of_variation() -> None:
    codes = np.array([[0], [1], [2]], np.int32)
    for values, expected in (([10.0, 20.0, 30.0], math.sqrt(200 / 3) / 20), ([-1.0, 0.0, 1.0], 1.0)):
        number = NumericAttribute(np.arange(3.0), True, magnitudes=np.array(values))
        assert column_variation(
            EncodedTable((number,), codes, np.ones(3, np.int64), None, 3), 0, number
        ) == pytest.approx(expected)


@given(tables())
@SOME
def test_hybrid_equals_plain_loop(table: Table) -> None:
    encoding = encode_records(replace(table, persons=None))
    encoded_table, k = encoding.space, max(table.k, 2)
    if encoded_table.rows < 2 * k:
        return
    plain_table = slow_assign.SpotTable(encoding.records, table.attributes, modes=False)
    seeds, _ = random_case(encoded_table.rows, encoded_table.rows // k, "deterministic", 0)
    passed, centers = slow_assign.one_pass_clusters(plain_table, seeds)
    pairs = with_unit(encoded_table, k, "edges")
    expected = slow.hybrid(pairs, k, passed, lambda r, c: plain_table.distance(r, centers[c]))
    assert equal_clusters(pairs, clusters("oka_kmember", encoded_table, k)) == equal_clusters(pairs, expected)


@pytest.fixture
def people(con: Any) -> Any:
    return small_table.people(con, oldest=500)


@pytest.mark.parametrize("call", ["wkmca", "oka_kmember"])
@pytest.mark.parametrize("extra_arguments", ["", ", l=2", ", max_level={'town': 0}", ", max_partition=20"])
def test_outlier_reserving_classes_meet_model(people: Any, call: str, extra_arguments: str) -> None:
    small_table.assert_classes(people, call, extra_arguments, classes=4, values=2 if ", l=2" in extra_arguments else 1)


def test_wkmca_outliers_seed_no_cluster(people: Any) -> None:
    """The record aged 500 is the seed of the first cluster of k-member, which 4 records far from it must join."""
    loss = "SELECT value FROM {}_metrics" + ASKED.format("{}") + " WHERE metric = 'precision'"
    with_, without = (
        people.execute(loss.format("wkmca", f", mode='deterministic', outliers={share}")).fetchone()[0]
        for share in (0, 0.05)
    )
    assert with_ != without


@pytest.mark.parametrize("call", ["wkmca", "oka_kmember"])
def test_seed_determines_wkmca_and_oka_kmember_clusters(people: Any, call: str) -> None:
    small_table.assert_seed_determines_release(people, call)
