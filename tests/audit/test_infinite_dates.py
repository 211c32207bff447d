"""Infinite dates and timestamps as numbers: they keep their sign."""

from __future__ import annotations

import math

import duckdb
import pytest

from dbanon.audit import column_pairs
from dbanon.sqltext.quote import Sql


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        ("date", "DATE"),
        ("timestamp", "TIMESTAMP"),
        ("nanos", "TIMESTAMP_NS"),
        ("timestamp", "TIMESTAMP WITH TIME ZONE"),
    ],
)
def test_infinite_values_keep_their_sign(kind: str, type_: str) -> None:
    reading = column_pairs._numeric_reading(kind, type_, Sql("v"))
    rows = f"SELECT t::{type_} AS v FROM (VALUES ('-infinity'), ('infinity'), ('1960-01-02'), (NULL)) AS r (t)"
    with duckdb.connect() as con:
        low, high, finite, missing = (row[0] for row in con.execute(f"SELECT {reading.value} FROM ({rows})").fetchall())
    assert (low, high, missing) == (-math.inf, math.inf, None)
    assert finite < 0
