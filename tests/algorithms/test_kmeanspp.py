"""k-means++ without outliers compared with plain loops over all records, by hand, and called in SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import Any

import duckdb
import hypothesis.strategies as st
import numpy as np
import pytest
from hand_traced.tables import LETTERS, letters
from hypothesis import given
from oracle import assign as slow
from oracle.reference import Attribute, Category, Number, Record, Value
from support import by_row, small_table
from support.small_table import ASKED
from support.tables import SOME, Table, encode_records, groups_of, labels_of, tables

from dbanon import algorithms
from dbanon.algorithms.base.registry import MAX_SUPPRESSED
from dbanon.algorithms.centroid import kmeanspp_cloud
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint

ROUNDS = 7


def labels(table: EncodedTable, k: int, max_suppressed: int = 0, **options: object) -> list[int]:
    selected_algorithm = algorithms.find("kmeanspp_cloud")
    defaults_by_name = (
        {p.name: p.default for p in selected_algorithm.own_parameters}
        | {"rounds": ROUNDS, MAX_SUPPRESSED: max_suppressed}
        | options
    )
    values: list[int] = by_row.labels(
        selected_algorithm.run(table, Constraint(k), defaults_by_name, lambda: None)
    ).tolist()
    return values


def as_numbers(records: Sequence[Record], attributes: Sequence[Attribute]) -> list[tuple[Value, ...]]:
    """Return records with labels replaced by 0, 1, 2 ... in the order of the leaves."""
    columns: list[list[Value]] = []
    for j, attribute in enumerate(attributes):
        column = [record[j] for record in records]
        if isinstance(attribute, Category):
            order = [label for label in attribute.tree.leaf_order() if label in column]
            column = [None if label is None else order.index(str(label)) for label in column]
        columns.append(column)
    return list(zip(*columns, strict=True))


def draw_record(seed: int) -> Callable[[list[int]], int]:
    """Return a function that draws a record with a probability in proportion to its chance, as the package does.

    The first draw uses the remainder of a 64-bit number, the others its first 53 bits.
    """
    draws, first = np.random.PCG64(seed).jumped(), True

    def draw(chances: list[int]) -> int:
        nonlocal first
        raw = int(draws.random_raw())
        if first:
            first = False
            return raw % len(chances)
        position = Fraction(raw >> 11, 2**53) * sum(chances)
        return next(r for r, until in enumerate(accumulate(chances)) if until > position)

    return draw


def choose_farthest() -> Callable[[list[int]], int]:
    return lambda chances: chances.index(max(chances))


@SOME
@given(table=tables(), mode=st.sampled_from(["random", "deterministic"]), seed=st.integers(0, 3))
def test_kmeanspp_clusters_equal_plain_loop(table: Table, mode: str, seed: int) -> None:
    encoded_table = encode_records(replace(table, persons=None))
    n, numbers = encoded_table.space.rows, [Number(a.weight) for a in table.attributes]
    plain_table = slow.SpotTable(as_numbers(encoded_table.records, table.attributes), numbers, modes=True)
    number = max(n // table.k, 1)
    seeds = slow.plus_plus_seeds(
        plain_table, number, choose_farthest() if mode == "deterministic" else draw_record(seed)
    )
    raw = np.random.PCG64(seed).random_raw(n)
    order = sorted(range(n), key=lambda r: (0 if mode == "deterministic" else raw[r], r))
    expected = labels_of(slow.no3(plain_table, table.k, seeds, order, ROUNDS), n)
    actual_labels = labels(encoded_table.space, table.k, mode=mode, seed=seed)
    assert groups_of(actual_labels) == groups_of(expected)


@SOME
@given(table=tables(st.integers(-40, 40).map(lambda eighths: eighths / 8)), deviations=st.sampled_from([1.0, 1.5, 2.0]))
def test_records_beyond_deviations_are_suppressed(table: Table, deviations: float) -> None:
    encoded_table = encode_records(replace(table, persons=None))
    expected = set()
    for j, attribute in enumerate(table.attributes):
        column = [record[j] for record in encoded_table.records] if isinstance(attribute, Number) else []
        known_fractions = [Fraction(value) for value in column if value is not None]
        if not known_fractions:
            continue
        mean = sum(known_fractions) / len(known_fractions)
        variance = sum((x - mean) ** 2 for x in known_fractions) / len(known_fractions)
        for r, value in enumerate(column):
            limit = Fraction(deviations) + Fraction(kmeanspp_cloud.DEVIATION_SLACK)
            if value is not None and (Fraction(value) - mean) ** 2 > limit**2 * variance:
                expected.add(r)
    actual_labels = labels(
        encoded_table.space, table.k, encoded_table.space.rows, mode="deterministic", deviations=deviations
    )
    out = {r for r, label in enumerate(actual_labels) if label < 0}
    if encoded_table.space.rows - len(expected) >= table.k:
        assert out == expected
    else:
        assert out < expected and encoded_table.space.rows - len(out) >= table.k


def test_farthest_records_suppressed_first() -> None:
    """Deviations from the mean 20: 100, 20 (three times) and 60. Two may be suppressed: 120, and one at -40."""
    values = [-40, 20 - 20, 20, 20, 20, 20, 20, 120]
    encoded_table = encode_records(Table([(v,) for v in values], [Number()], 2)).space
    for maximum, out in ((0, []), (1, [7]), (2, [0, 7]), (8, [0, 7])):
        actual_labels = labels(encoded_table, 2, maximum, deviations=1.0)
        assert [r for r, label in enumerate(actual_labels) if label < 0] == out


def test_categories_are_numbered_in_leaf_order() -> None:
    """a, b, d, g are 0, 1, 2, 3: d is nearer to g than to a, and both pairs are published as *."""
    encoded_table = encode_records(Table(letters("abdgg"), LETTERS, 2)).space
    assert groups_of(labels(encoded_table, 2, mode="deterministic")) == [[0, 1], [2, 3, 4]]


def test_seeds_covering_all_records_then_evenly_spread() -> None:
    values = [5] * 8 + [9] * 4
    encoded_table = encode_records(Table([(v,) for v in values], [Number()], 2)).space
    result = np.bincount(labels(encoded_table, 2))
    assert result.tolist() == [2] * 6


@pytest.fixture
def people(con: Any) -> Any:
    return small_table.people(con, oldest=500)


@pytest.mark.parametrize(
    "extra_arguments", ["", ", l=2", ", max_level={'town': 0}", ", max_partition=20", ", weights={'age': 3}"]
)
def test_kmeanspp_classes_meet_model(people: Any, extra_arguments: str) -> None:
    rows = people.execute(f"FROM kmeanspp_cloud_classes{ASKED.format(extra_arguments)}").fetchall()
    names = [d[0] for d in people.description]
    classes = [dict(zip(names, row, strict=True)) for row in rows]
    kept_classes = [c for c in classes if c["class_id"] is not None]
    assert sum(c["size"] for c in classes) == 60
    assert min(c["size"] for c in kept_classes) >= 5 and len(kept_classes) > 3
    assert extra_arguments != ", l=2" or min(len(c["disease"]) for c in kept_classes) >= 2


def test_records_far_from_mean_suppressed_and_reported(people: Any) -> None:
    out = "SELECT value FROM kmeanspp_cloud_metrics{} WHERE metric = 'suppressed'"
    for extra, expected in (("", 1), (", suppress=0", 0), (", deviations=9", 0)):
        assert people.execute(out.format(ASKED.format(extra))).fetchall() == [(expected,)]
    assert people.execute(
        f"SELECT count(*) FROM kmeanspp_cloud{ASKED.format('')} WHERE age LIKE '%500%'"
    ).fetchall() == [(0,)]


def test_seed_determines_kmeanspp_clusters(people: Any) -> None:
    small_table.assert_seed_determines_release(people, "kmeanspp_cloud")


def test_kmeanspp_deviations_below_one_refused(people: Any) -> None:
    with pytest.raises(duckdb.Error, match="deviations must be a number from 1 to 1000"):
        people.execute(f"FROM kmeanspp_cloud{ASKED.format(', deviations=0')}")
