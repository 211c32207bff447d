"""Names of columns: DuckDB takes ASCII letters of either case as equal, and other letters as different."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pandas as pd
import pytest

import dbanon
from dbanon import errors


@pytest.fixture(scope="module")
def con() -> Iterator[Any]:
    """Provide a table with the columns É, é and n, of which é is sensitive and É a quasi-identifier."""
    with dbanon.connect() as connection:
        connection.execute('CREATE TABLE t AS SELECT i % 3 AS "É", i % 4 AS "é", i AS n FROM range(60) AS r (i)')
        dbanon.declare(connection, "t", É="quasi", é="sensitive")
        yield connection


def test_duckdb_folds_ascii_letters_only() -> None:
    with duckdb.connect() as plain:
        plain.execute('CREATE TABLE t ("É" INTEGER, "é" INTEGER)')
        with pytest.raises(duckdb.Error, match="already exists"):
            plain.execute('CREATE TABLE u ("E" INTEGER, "e" INTEGER)')


def test_columns_that_differ_by_accented_case_have_roles_of_their_own(con: Any) -> None:
    assert con.execute("FROM policy_problems()").fetchall() == []
    columns = con.execute("DESCRIBE FROM kacpc('t', k = 10)").fetchall()
    assert [row[:2] for row in columns] == [("É", "VARCHAR"), ("é", "BIGINT"), ("class_id", "BIGINT")]
    rows = con.execute("""SELECT count(DISTINCT "É"), count(DISTINCT "é") FROM kacpc('t', k = 10)""").fetchall()
    assert rows == [(3, 4)]
    both = con.execute("FROM k_anonymity('t', qi = ['É', 'é'])").fetchall()
    assert both[0][4] == {"É": 0, "é": 0}
    con.execute("CREATE TABLE copy AS FROM t")
    assert len(con.execute("FROM kacpc('copy', k = 5, qi = ['É', 'é'], weights = {'É': 2, 'é': 1})").fetchall()) == 60


def test_stored_release_of_such_columns_is_measured(con: Any) -> None:
    con.execute("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('t', k = 10)")
    risk = dict(con.execute("SELECT name, value FROM risk('safe')").fetchall())
    assert risk["prosecutor_highest"] == 1 / 20
    assert con.execute("FROM attack('safe', kind = 'homogeneity')").fetchall() == []


def test_withheld_column_stays_withheld_next_to_other_case(con: Any) -> None:
    con.execute('CREATE TABLE ids AS SELECT i % 3 AS "É", i AS "é" FROM range(60) AS r (i)')
    dbanon.declare(con, "ids", É="quasi", é="identifier")
    assert [row[0] for row in con.execute("DESCRIBE FROM kacpc('ids', k = 10)").fetchall()] == ["É", "class_id"]
    with pytest.raises(duckdb.Error, match="loosen"):
        con.execute("FROM kacpc('ids', k = 10, qi = ['É', 'é'])")


def test_frame_with_such_columns_is_read() -> None:
    people = pd.DataFrame({"É": [1, 1, 2, 2], "é": [1, 2, 3, 4]})
    assert dbanon.anonymize(people, "kacpc", k=2, qi=["É"]).release["É"].tolist() == ["1", "1", "2", "2"]
    with pytest.raises(errors.DuplicateColumnError):
        dbanon.anonymize(people.rename(columns={"É": "E", "é": "e"}), "kacpc", k=2, qi=["E"])
