"""A published column whose name is that of an alias of rows in the statements of dbanon."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dbanon


@pytest.fixture(scope="module")
def con() -> Iterator[Any]:
    with dbanon.connect() as connection:
        connection.execute(
            'CREATE TABLE t AS SELECT i % 5 AS "DBANON row", i % 7 AS age, i % 2 AS "dbanon row_", i AS n '
            "FROM range(60) AS r (i)"
        )
        yield connection


@pytest.mark.parametrize(
    "roles", ["qi := ['dbanon row', 'age']", "qi := ['age'], sensitive := ['dbanon row', 'dbanon row_']"]
)
@pytest.mark.parametrize("intervals", ["text", "bounds"])
def test_column_named_like_row_alias_is_published(con: Any, roles: str, intervals: str) -> None:
    assert len(con.execute(f"FROM kacpc('t', k := 5, {roles}, intervals := '{intervals}')").fetchall()) == 60


def test_column_named_like_row_alias_in_view_stream_and_comparison(con: Any) -> None:
    call = "'t', k := 5, qi := ['age'], sensitive := ['dbanon row']"
    con.execute(f"CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc({call})")
    assert len(con.execute(f"FROM fads({call}, delta := 20, order_by := ['n'])").fetchall()) == 60
    columns = "qi = ['dbanon row', 'age'], sample_sizes = [40], metrics = 'classes'"
    query = f"SELECT problem FROM compare('t', k = [5], algorithms = 'mdav', {columns})"
    assert con.execute(query).fetchall() == [(None,)]
    step = "explain_step('kacpc', 't', 'published_rows', k = 5, qi = ['dbanon row', 'age'])"
    assert len(con.execute(f"FROM {step}").fetchall()) == 10
