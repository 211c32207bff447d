"""Transactions that write a ledger: they commit completely or not at all, with errors that name the interference."""

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
def transaction(cursor: Any, function: str, name: str, specs: Sequence[ReleaseSpec] = ()) -> Iterator[None]:
    """Run the block in a transaction that is committed at its end, or rolled back if an error occurs.

    Before the commit it runs the checks of `checked_before_commit`, and checks that the policies of `specs` are
    unchanged and that the caller still holds the publishing lock. The policies are checked since plain SQL changes them
    without the lock.

    Args:
        cursor: The cursor of the transaction.
        function: The function that writes, for messages.
        name: The release, for messages.
        specs: The release specs by which the call was planned.

    Raises:
        LedgerBusyError: Another connection changed the same tables at the same time, or the lock was lost.
        PolicyChangedError: The policy of one of the specs was changed since the call was planned.
        WriteFailedError: The database could not be written.
        UnreadableValueError, FileEncodingError: A value or a file of the source cannot be read.
    """
    cursor.execute("BEGIN")
    try:
        yield
        for check in _CHECKS.get():
            check()
        _check_policies(cursor, function, specs)
        publishing_lock.check_rows_held(function, name)
        cursor.execute("COMMIT")
    except BaseException as error:
        with contextlib.suppress(duckdb.Error):
            cursor.execute("ROLLBACK")
        if isinstance(error, duckdb.Error) and (reason := output_files.os_reason(error)) is not None:
            raise errors.WriteFailedError(name, reason, function) from None
        if (redacted := redaction.redacted_error(function, [f"the source of {name}"], error)) is not None:
            raise redacted from None
        if isinstance(error, duckdb.TransactionException):
            raise errors.LedgerBusyError(function, name, first_line(error)) from None
        raise


@contextlib.contextmanager
def checked_before_commit(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` right before each commit of a `transaction` inside the block; it raises an error to prevent it."""
    reset_token = _CHECKS.set((*_CHECKS.get(), check))
    try:
        yield
    finally:
        _CHECKS.reset(reset_token)


def _check_policies(cursor: Any, function: str, specs: Sequence[ReleaseSpec]) -> None:
    """Check that the policies of all specs are still the committed ones.

    They are read outside the open transaction of `cursor`, so that changes committed since it began are seen.

    Raises:
        PolicyChangedError: A policy was changed.
    """
    for spec in specs:
        with session.builtin_cursor(cursor) as fresh:
            fingerprint = stored_policy.policy_of(spec.source, fresh).fingerprint
        if fingerprint != spec.policy.fingerprint:
            raise errors.PolicyChangedError(function, spec.source.shown)


def check_no_transaction(function: str, connection: Any) -> None:
    """Check that the caller has no open transaction, since the work is done in a separate one.

    Raises:
        OpenTransactionError: A transaction is open or was aborted.
    """
    try:
        # Only a database of DuckDB numbers its transactions; the moment at which one began has every database.
        query = (
            "SELECT type = 'duckdb' FROM system.main.duckdb_databases() "
            "WHERE database_name = system.main.current_database()"
        )
        mark = "txid_current" if connection.execute(query).fetchall()[0][0] else "now"
        first, second = (connection.execute(f"SELECT system.main.{mark}()").fetchall() for _ in range(2))
    except duckdb.TransactionException:  # one that was aborted
        raise errors.OpenTransactionError(function) from None
    if first == second:
        raise errors.OpenTransactionError(function)


def first_line(error: Exception) -> str:
    """Return the first line of an error's message."""
    return str(error).split("\n")[0]
