"""The lock for writing the ledgers, which one connection holds at a time.

A version is checked against all earlier releases. Two transactions that each check against the ledger as it was when
they began would both commit. So every operation that writes a ledger first updates the one row of
`dbanon.publishing_turn` in every attached ledger. It keeps these updates open, in separate transactions, until it has
committed or failed. A second connection finds the row in conflict, retries, and plans only when it has updated the row
itself.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import duckdb

from dbanon import errors
from dbanon.runtime import interrupts
from dbanon.runtime.session import Session
from dbanon.source import schema
from dbanon.source.catalog import SCHEMA
from dbanon.sqltext.quote import qualified

MAX_WAIT_S = 60.0
"""Maximum time that a connection waits for another one that writes a ledger."""

_MAX_PAUSE_S = 0.1

_HELD_ROWS: ContextVar[Mapping[str, Mapping[str, Any]]] = ContextVar("held publishing turns")
"""Cursors whose open transactions hold the row, by session token and database."""


@contextlib.contextmanager
def publishing_turn(current: Session, function: str, name: str, database: str) -> Iterator[None]:
    """Hold the lock of the ledger of `database`, and of all other attached writable ledgers, while the block runs.

    Every read that a decision about a release depends on must be inside: another connection cannot change the ledger
    before the block ends. Blocks of one session may be nested; an inner one takes only locks that the session does not
    have yet. The locks are released at the end of the block, also after an error.

    Args:
        current: The session of the caller.
        function: The function that writes, for messages.
        name: The release, for messages.
        database: The database whose ledger is written. Its schema `dbanon` is created or migrated to the current
            version.

    Raises:
        LedgerBusyError: Another connection held a lock for `MAX_WAIT_S` seconds.
        StatementInterruptedError: The session was interrupted while it tried to get the locks.
    """
    schema.create(current.connection(), database)
    held_rows = _HELD_ROWS.get({}).get(current.token, {})
    with contextlib.ExitStack() as stack:
        new_rows = _take_rows(current, function, name, held_rows, stack)
        reset_token = _HELD_ROWS.set({**_HELD_ROWS.get({}), current.token: {**held_rows, **new_rows}})
        try:
            yield
        finally:
            _HELD_ROWS.reset(reset_token)
            for cursor in new_rows.values():
                with contextlib.suppress(duckdb.Error):  # whether this works changes nothing that was published
                    cursor.execute("COMMIT")


def check_rows_held(function: str, name: str) -> None:
    """Check that the transactions which hold the publishing locks of this context are still open.

    Args:
        function: The function that writes, for messages.
        name: The release, for messages.

    Raises:
        LedgerBusyError: A lock was lost: FORCE CHECKPOINT of another connection ends the transactions of all others.
        RuntimeError: No lock is held.
    """
    turns = _HELD_ROWS.get({})
    if not turns:
        raise RuntimeError(f"{function} writes a ledger without a publishing turn")
    for cursors in turns.values():
        for cursor in cursors.values():
            try:
                cursor.execute("SELECT 1").fetchall()
            except duckdb.Error as error:
                raise errors.LedgerBusyError(function, name, str(error).split("\n")[0]) from None


def _take_rows(
    current: Session, function: str, name: str, held_rows: Mapping[str, Any], stack: contextlib.ExitStack
) -> dict[str, Any]:
    """Take the locks of all attached ledgers that are not held yet; return the cursors of their open transactions.

    If one lock is taken by another connection, all are given up and taken again after a pause. All connections take
    them in the order of database names, so that no two connections block each other.

    Args:
        current: The session of the caller.
        function: The function that writes, for messages.
        name: The release, for messages.
        held_rows: The locks that the session holds already, by database.
        stack: Receives the cursors, which it closes.

    Raises:
        LedgerBusyError: A lock was not free within `MAX_WAIT_S` seconds.
        StatementInterruptedError: The session was interrupted.
    """
    deadline = time.monotonic() + MAX_WAIT_S
    pause = 0.005
    with interrupts.interrupt_check(current, lambda: errors.StatementInterruptedError(function)) as check:
        while True:
            check()
            attempt = contextlib.ExitStack()
            cursors = {database: attempt.enter_context(current.cursor()) for database in _ledgers(current, held_rows)}
            try:
                for database, cursor in cursors.items():
                    _update_row(cursor, database)
            except duckdb.TransactionException:
                attempt.close()  # which rolls back
            except BaseException:
                attempt.close()
                raise
            else:
                stack.push(attempt.pop_all())
                return cursors
            if time.monotonic() > deadline:
                raise errors.LedgerBusyError(
                    function, name, f"another connection has been writing for {MAX_WAIT_S:.0f} seconds"
                )
            time.sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE_S)


def _ledgers(current: Session, held_rows: Mapping[str, Any]) -> list[str]:
    """Return the attached writable DuckDB databases with a lock table that are not in `held_rows`, sorted."""
    with current.cursor() as cursor:
        rows = cursor.execute(
            "SELECT database_name FROM system.main.duckdb_tables() "
            "JOIN system.main.duckdb_databases() USING (database_name) "
            "WHERE (schema_name, table_name) = (?, 'publishing_turn') AND type = 'duckdb' AND NOT readonly "
            "ORDER BY ALL ASC",
            [SCHEMA],
        ).fetchall()
    return [database for (database,) in rows if database not in held_rows]


def _update_row(cursor: Any, database: str) -> None:
    """Take the lock of a database: update its row of dbanon.publishing_turn in a transaction that stays open.

    A row that was deleted is first inserted again.

    Raises:
        duckdb.TransactionException: Another transaction has updated the row, or it was deleted again.
    """
    table = qualified(database, SCHEMA, "publishing_turn")
    for _ in range(2):
        cursor.execute("BEGIN")
        if cursor.execute(f"UPDATE {table} SET turns = turns + 1 WHERE id = 1").fetchall() == [(1,)]:
            return
        cursor.execute("ROLLBACK")
        cursor.execute(f"INSERT INTO {table} VALUES (1, 0) ON CONFLICT DO NOTHING")
    raise duckdb.TransactionException(f"the row of {table} is deleted again and again")
