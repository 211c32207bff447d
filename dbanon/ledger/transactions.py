"""Transactions that write a ledger: all of a piece of work or nothing, with errors that say what interfered."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

import duckdb

from dbanon import errors
from dbanon.errors import redaction
from dbanon.ledger import publishing_lock
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.runtime import output_files, session
from dbanon.source import stored_policy

_CHECKS: ContextVar[tuple[Callable[[], None], ...]] = ContextVar("checks before commit", default=())


@contextlib.contextmanager
def transaction(cursor: Any, function: str, name: str, publications: Sequence[ReleaseSpec] = ()) -> Iterator[None]:
    """Commit all of the block or nothing of it. The caller holds a publishing turn.

    A policy is changed by plain SQL, without a turn. A version that was planned by rows which are no longer there when
    it is about to be committed is not published.

    Raises:
        Busy: Another connection changed the same tables at the same time.
        PolicyChangedError: The policy of one of the publications was changed since the call was planned.
    """
    cursor.execute("BEGIN")
    try:
        yield
        for check in _CHECKS.get():
            check()
        _check_policies(cursor, function, publications)
        publishing_lock.check_held(function, name)
        cursor.execute("COMMIT")
    except BaseException as error:
        with contextlib.suppress(duckdb.Error):
            cursor.execute("ROLLBACK")
        if isinstance(error, duckdb.Error) and (reason := output_files.os_reason(error)) is not None:
            raise errors.WriteFailedError(name, reason, function) from None
        if (kind := redaction.quoted(error)) is not None:
            raise errors.UnreadableValueError(function, [f"the source of {name}"], kind) from None
        if isinstance(error, duckdb.TransactionException):
            raise errors.LedgerBusyError(function, name, first_line(error)) from None
        raise


@contextlib.contextmanager
def checked_before_commit(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` right before each commit inside: it raises what prevents the commit."""
    before = _CHECKS.set((*_CHECKS.get(), check))
    try:
        yield
    finally:
        _CHECKS.reset(before)


def _check_policies(cursor: Any, function: str, publications: Sequence[ReleaseSpec]) -> None:
    """PolicyChangedError; looks at what is committed now, which the transaction itself does not see."""
    for publication in publications:
        with session.builtin_cursor(cursor) as fresh:
            now = stored_policy.policy_of(publication.source, fresh).fingerprint
        if now != publication.policy.fingerprint:
            raise errors.PolicyChangedError(function, publication.source.shown)


def check_no_transaction(function: str, connection: Any) -> None:
    """Raise OpenTransactionError inside a transaction of the caller: the work is done in one of its own."""
    try:
        # Only a database of DuckDB numbers its transactions; the moment at which one began has every database.
        asked = (
            "SELECT type = 'duckdb' FROM system.main.duckdb_databases() "
            "WHERE database_name = system.main.current_database()"
        )
        mark = "txid_current" if connection.execute(asked).fetchall()[0][0] else "now"
        first, second = (connection.execute(f"SELECT system.main.{mark}()").fetchall() for _ in range(2))
    except duckdb.TransactionException:  # one that was aborted
        raise errors.OpenTransactionError(function) from None
    if first == second:
        raise errors.OpenTransactionError(function)


def first_line(error: Exception) -> str:
    return str(error).split("\n")[0]
