"""All of a piece of work or nothing: DuckDB's transactions, with errors that say what came between."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import duckdb

from dbanon import errors
from dbanon.engine import cells
from dbanon.files import writing


@contextlib.contextmanager
def transaction(cursor: Any, function: str, name: str) -> Iterator[None]:
    """All of it or nothing. Raises Busy where another connection changed the same release meanwhile."""
    cursor.execute("BEGIN")
    try:
        yield
        cursor.execute("COMMIT")
    except BaseException as error:
        with contextlib.suppress(duckdb.Error):
            cursor.execute("ROLLBACK")
        if isinstance(error, duckdb.Error) and (reason := writing.why(error)) is not None:
            raise errors.NotWritten(name, reason, function) from None
        if (kind := cells.quoted(error)) is not None:
            raise errors.UnreadableValue(function, [f"the source of {name}"], kind) from None
        if isinstance(error, duckdb.TransactionException):
            raise errors.Busy(function, name, first_line(error)) from None
        raise


def check_no_transaction(function: str, connection: Any) -> None:
    """Raises OpenTransaction inside a transaction of the caller: the work is done in one of its own."""
    try:
        # Only a database of DuckDB numbers its transactions; the moment at which one began has every database.
        asked = (
            "SELECT type = 'duckdb' FROM system.main.duckdb_databases() "
            "WHERE database_name = system.main.current_database()"
        )
        mark = "txid_current" if connection.execute(asked).fetchall()[0][0] else "now"
        first, second = (connection.execute(f"SELECT system.main.{mark}()").fetchall() for _ in range(2))
    except duckdb.TransactionException:  # one that was aborted
        raise errors.OpenTransaction(function) from None
    if first == second:
        raise errors.OpenTransaction(function)


def first_line(error: Exception) -> str:
    return str(error).split("\n")[0]
