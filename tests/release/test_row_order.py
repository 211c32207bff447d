"""Rows in another order, or read by another number of threads, give the same release, classes and metrics."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pytest

import dbanon

ALIKE = {
    "DOUBLE": ["0.0", "'-0.0'", "'nan'", "1.0"],
    "DOUBLE[]": ["[0.0]", "['-0.0'::DOUBLE]", "[1.0]"],
    "STRUCT(a DOUBLE, b INTEGER)": ["{'a': 0.0, 'b': 1}", "{'a': '-0.0'::DOUBLE, 'b': 1}", "NULL"],
    "MAP(VARCHAR, DOUBLE)": ["MAP {'a': 0.0::DOUBLE}", "MAP {'a': '-0.0'::DOUBLE}"],
    "INTERVAL": ["INTERVAL 1 MONTH", "INTERVAL 30 DAY", "INTERVAL 720 HOUR"],
    "UNION(n INTEGER, s VARCHAR)": ["union_value(n := 1)", "union_value(s := '1')", "NULL"],
    "STRUCT(u UNION(n INTEGER, s VARCHAR))": ["{'u': union_value(n := 1)}", "{'u': union_value(s := '1')}"],
}
"""Values that compare equal and have different texts, or differ and have equal texts."""


ARRAYS = ["[1, 2]", "[1, NULL]", "[2, 1]", "[NULL, NULL]"]
"""As texts, in DuckDB's order."""


def release_rows(type_: str, values: list[str], order: int) -> list[Any]:
    """Return the release, classes and metrics of a call as text, for the rows in one of several orders."""
    rows = [f"({i // 4}, {values[i * 7 // 2 % len(values)]}::{type_})" for i in range(24)]
    random.Random(order).shuffle(rows)
    con = dbanon.attach(duckdb.connect(config={"threads": 1 + 3 * (order % 2)}))
    con.execute(f"CREATE TABLE t (age INTEGER, v {type_})")
    con.execute(f"INSERT INTO t VALUES {', '.join(rows)}")
    actual_rows = [
        con.execute(f"SELECT COLUMNS(*)::VARCHAR FROM kacpc{kind}('t', k := 3, qi := ['age'], {role})").fetchall()
        for kind, role in (
            ("", "sensitive := ['v'], alpha := 1"),
            ("_classes", "sensitive := ['v'], alpha := 1"),
            ("_metrics", "sensitive := ['v'], alpha := 1"),
            ("", "insensitive := ['v'], allow_rare := ['v']"),
        )
    ]
    con.close()
    return actual_rows


def test_array_values_sorted_within_class() -> None:
    """The rows of a class are in the order of their arrays, which DuckDB 2.0 cannot compare within rows."""
    values = ["[2, 1]", "[1, NULL]", "NULL", "[1, 2]", "[NULL, NULL]"]
    first = release_rows("INTEGER[2]", values, 0)
    assert [release_rows("INTEGER[2]", values, order) for order in (1, 2)] == [first, first]
    result = first[0]
    assert len(result) == 24 and {row[1] for row in result} == {None, *ARRAYS}
    for class_id in {row[-1] for row in result}:
        places = [ARRAYS.index(row[1]) for row in result if row[-1] == class_id and row[1] is not None]
        assert places == sorted(places)


@pytest.mark.parametrize("type_", ALIKE)
def test_release_independent_of_row_order_and_threads(type_: str) -> None:
    first = release_rows(type_, ALIKE[type_], 0)
    assert [release_rows(type_, ALIKE[type_], order) for order in (1, 2)] == [first, first]
