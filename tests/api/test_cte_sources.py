"""A query in WITH as a source: an error names the remedy, and tables of the same name can be read."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors

CALL = "kacpc('{}', k = 10, qi = ['a'])"


@pytest.fixture(scope="module")
def con() -> Any:
    with dbanon.connect() as connection:
        connection.execute("CREATE TABLE p AS SELECT i % 10 AS a FROM range(100) AS r (i)")
        yield connection


@pytest.mark.parametrize(
    "query",
    [
        f"WITH t AS (FROM p) SELECT * FROM {CALL.format('t')}",
        f"WITH p AS (FROM p LIMIT 50) SELECT * FROM {CALL.format('P')}",
        f'WITH s AS (SELECT 1), "t"(b) AS NOT MATERIALIZED (FROM p) FROM {CALL.format("t")}',
        f"FROM (WITH t AS MATERIALIZED (FROM p) FROM {CALL.format('t')})",
        f"WITH RECURSIVE t AS (SELECT '1', 2 UNION ALL FROM {CALL.format('t')}) FROM t",
    ],
)
def test_cte_as_source_is_error_with_remedy(con: Any, query: str) -> None:
    for run in (con.execute, con.sql):
        with pytest.raises(errors.CteSourceError, match=r"query in WITH.*Hint: CREATE VIEW .*write its schema"):
            run(query)


@pytest.mark.parametrize(
    "query",
    [
        f"WITH p AS (FROM {CALL.format('p')}) SELECT count(*) FROM p",
        f"WITH p AS (SELECT 1) SELECT count(*) FROM {CALL.format('main.p')}",
        f"SELECT n FROM (WITH p AS (SELECT 1) FROM p) AS q, (SELECT count(*) AS n FROM {CALL.format('p')})",
        f"SELECT count(*) /* WITH p AS (SELECT 1) */ FROM {CALL.format('p')}",
        f"SELECT count(TIMESTAMP WITH TIME ZONE '2020-01-01 00:00:00+00') FROM {CALL.format('p')}",
    ],
)
def test_tables_named_like_cte_of_other_scope_are_read(con: Any, query: str) -> None:
    assert con.execute(query).fetchall() == [(100,)]


def test_cte_on_attached_connection_names_remedy() -> None:
    with duckdb.connect() as plain:
        dbanon.attach(plain)
        with pytest.raises(duckdb.Error, match="CREATE VIEW if it is a query of WITH"):
            plain.execute(f"WITH t AS (SELECT 1 AS a) FROM {CALL.format('t')}")
