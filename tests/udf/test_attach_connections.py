"""`attach` on DuckDB's default connection and on cursors of attached connections."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors


@pytest.fixture
def default_connection() -> Iterator[Any]:
    """Provide a default connection of its own, and restore that of the process."""
    earlier = duckdb.default_connection()
    duckdb.set_default_connection(duckdb.connect())
    yield None
    duckdb.set_default_connection(earlier)


@pytest.mark.parametrize("subject", [duckdb, None], ids=["module", "connection"])
def test_default_connection_stays_attached(default_connection: Any, subject: Any) -> None:
    dbanon.attach(subject or duckdb.default_connection())
    gc.collect()
    duckdb.sql("CREATE TABLE p AS SELECT i % 3 AS a FROM range(30) AS r (i)")
    assert duckdb.sql("SELECT count(*) FROM kacpc('p', k = 10, qi = ['a'])").fetchall() == [(30,)]
    assert len(dbanon.risk(duckdb.default_connection(), "p", qi=["a"])) > 1


def test_cursor_of_attached_connection_is_recognized() -> None:
    with duckdb.connect() as connection:
        dbanon.attach(connection)
        connection.execute("CREATE TABLE p AS SELECT i % 3 AS a FROM range(30) AS r (i)")
        assert len(dbanon.risk(connection.cursor(), "p", qi=["a"])) > 1
        assert dbanon.create_release(connection.cursor(), "safe", "kacpc", "p", k=10, qi=["a"]).version == 1
        assert connection.execute("SELECT count(*) FROM safe").fetchall() == [(30,)]


def test_connection_of_dbanon_and_its_cursor_can_be_attached_again() -> None:
    """It waited for itself: to count instances it opened a cursor, which attached itself under the same lock."""
    with dbanon.connect() as connection:
        assert dbanon.attach(connection) is connection
        connection.execute("CREATE TABLE p AS SELECT i % 3 AS a FROM range(30) AS r (i)")
        for cursor in (connection.cursor(), dbanon.attach(connection.cursor())):
            assert cursor.execute("SELECT count(*) FROM kacpc('p', k = 10, qi = ['a'])").fetchall() == [(30,)]


def test_connection_that_is_not_attached_is_error() -> None:
    with duckdb.connect() as connection:
        for call in (lambda: dbanon.risk(connection, "p"), lambda: dbanon.refresh_release(connection, "safe")):
            with pytest.raises(errors.ConnectionNotAttachedError, match=r"Hint: call dbanon\.attach\(connection\)"):
                call()
