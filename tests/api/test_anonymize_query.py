"""anonymize_query on connections of DuckDB that were attached, and on others."""

from __future__ import annotations

from typing import Any

import duckdb
import pandas as pd
import pytest

import dbanon
from dbanon import errors
from dbanon.runtime import session

CALL = "FROM mondrian('{}', k = 2, qi = ['age'])"


@pytest.fixture
def attached() -> Any:
    """Provide an attached connection of DuckDB with the table `people`."""
    with duckdb.connect() as con:
        con.execute("CREATE TABLE people AS SELECT unnest([21, 23, 61, 65]) AS age")
        yield dbanon.attach(con)


def test_anonymize_query_accepts_attached_connection(attached: Any) -> None:
    result = dbanon.anonymize_query(attached, CALL.format("people"))
    assert result.release.equals(attached.sql(CALL.format("people").replace(" = ", " := ")).df())
    assert len(result.classes) == 2
    with attached.cursor() as cursor:
        assert len(dbanon.anonymize_query(cursor, CALL.format("people")).release) == 4
    assert attached.execute("SELECT 1").fetchall() == [(1,)]


def test_anonymize_query_leaves_nothing_on_attached_connection(attached: Any) -> None:
    folk = pd.DataFrame({"age": range(8)})
    related = attached.sql("SELECT age FROM range(6) AS t (age)")
    attached.execute("CREATE TEMP TABLE own AS SELECT 1 AS a")
    temporary = session.find_session(attached).temporary
    assert len(dbanon.anonymize_query(attached, CALL.format("folk")).release) == len(folk)
    assert len(dbanon.anonymize_query(attached, CALL.format("related")).release) == len(related.fetchall())
    assert session.find_session(attached).temporary is temporary and not temporary.columns
    views = attached.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal AND database_name = 'temp'")
    assert views.fetchall() == []
    folk = pd.DataFrame({"age": range(12)})
    assert len(dbanon.anonymize_query(attached, CALL.format("folk")).release) == len(folk)


def test_anonymize_query_refuses_other_connections(attached: Any) -> None:
    with duckdb.connect() as plain, pytest.raises(errors.ConnectionNotAttachedError, match=r"dbanon\.attach"):
        dbanon.anonymize_query(plain, CALL.format("people"))
    with pytest.raises(errors.InvalidArgumentError, match=r"or one of DuckDB to which dbanon\.attach was applied"):
        dbanon.anonymize_query("clinic.duckdb", CALL.format("people"))
