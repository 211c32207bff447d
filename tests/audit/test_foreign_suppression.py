"""Releases of other tools with suppressed rows: `suppressed` says which rows do not count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import dbanon


@pytest.fixture(scope="module")
def con() -> Iterator[Any]:
    with dbanon.connect() as connection:
        connection.execute(
            """
            CREATE TABLE foreign_release AS FROM (VALUES
                ('[20, 30[', '021**', 'Flu'), ('[20, 30[', '021**', 'HIV'),
                ('[30, 40[', '*', 'Flu'), ('[30, 40[', '*', 'Cold'), ('[30, 40[', '*', 'Cold'),
                ('*', '*', 'Flu')
            ) AS t (age, zip, disease)
            """
        )
        yield connection


def least_k(con: Any, arguments: str) -> float:
    value: float = con.execute(f"SELECT min(value) FROM k_anonymity('foreign_release', {arguments})").fetchone()[0]
    return value


def test_suppressed_rows_do_not_count_for_k(con: Any) -> None:
    assert least_k(con, "qi = ['age', 'zip']") == 1
    assert least_k(con, "qi = ['age', 'zip'], suppressed := '*'") == 2
    assert least_k(con, "qi = ['zip'], suppressed := '*'") == 2  # every quasi-identifier of the call counts
    assert least_k(con, "qi = ['age', 'zip'], suppressed := '?'") == 1
    rows = con.execute("SELECT min(value) FROM l_diversity('foreign_release', qi = ['age', 'zip'], "
                       "sensitive = ['disease'], suppressed := '*')").fetchall()  # fmt: skip
    assert rows == [(2,)]


def test_suppressed_rows_do_not_count_for_risk(con: Any) -> None:
    def values(arguments: str) -> dict[str, float]:
        query = f"SELECT name, value FROM risk('foreign_release', qi = ['age', 'zip']{arguments})"
        return dict(con.execute(query).fetchall())

    assert values("")["uniqueness_sample"] == pytest.approx(1 / 6)
    with_suppressed = values(", suppressed := '*'")
    assert with_suppressed["uniqueness_sample"] == 0
    assert with_suppressed["prosecutor_highest"] == 0.5
    query = "FROM uniqueness('foreign_release', qi = ['age', 'zip'], suppressed := '*')"
    assert con.execute(f"SELECT value {query}").fetchall() == [(0,)]


def test_release_of_suppressed_rows_alone_is_empty(con: Any) -> None:
    con.execute("CREATE OR REPLACE TABLE stars AS SELECT '*' AS age FROM range(5)")
    for function in ("k_anonymity", "uniqueness"):
        with pytest.raises(duckdb.Error, match="stars has no rows"):
            con.execute(f"FROM {function}('stars', qi = ['age'], suppressed := '*')")


def test_risk_of_frame_takes_suppressed(con: Any) -> None:
    frame = con.execute("FROM foreign_release").df()
    risk = dbanon.risk(frame, qi=["age", "zip"], suppressed="*").set_index("name")["value"]
    assert risk["uniqueness_sample"] == 0
