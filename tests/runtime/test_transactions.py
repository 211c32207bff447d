"""Transactions of a cursor that are committed at the end of a block, or rolled back."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from dbanon.runtime import session


@pytest.fixture
def connection() -> Any:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (i INTEGER PRIMARY KEY)")
        yield connection


def values(connection: Any) -> list[Any]:
    return [value for (value,) in connection.execute("SELECT i FROM t ORDER BY i").fetchall()]


def test_transaction_commits_at_end_of_block(connection: Any) -> None:
    with session.transaction(connection):
        connection.execute("INSERT INTO t VALUES (1)")
        assert values(connection.cursor()) == []
    assert values(connection.cursor()) == [1]


def test_transaction_rolls_back_after_error(connection: Any) -> None:
    with pytest.raises(KeyboardInterrupt), session.transaction(connection):
        connection.execute("INSERT INTO t VALUES (1)")
        raise KeyboardInterrupt
    assert values(connection) == []
    connection.execute("BEGIN")  # none is open


def test_transaction_raises_error_of_failed_commit(connection: Any) -> None:
    other = connection.cursor()
    with pytest.raises(duckdb.Error, match="Failed to commit"), session.transaction(connection):
        connection.execute("INSERT INTO t VALUES (1)")
        with session.transaction(other):
            other.execute("INSERT INTO t VALUES (1)")
    assert values(connection) == [1]
