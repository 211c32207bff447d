"""Serve the custodian: everything that a connection of `dbanon.connect` can do, each session on its own connection."""

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb

from dbanon.api.connection import Connection, connect
from dbanon.errors import DbanonError
from dbanon.integrations.quack import custodian_work, published_copy, request_files
from dbanon.integrations.quack.audit_log import AuditLog
from dbanon.integrations.quack.subprocesses import ServerConfig, stop_event
from dbanon.integrations.quack.tokens import TokenChecker, token_file
from dbanon.integrations.quack.transport import StatementResult, Transport
from dbanon.udf import install

_BATCH_ROWS = 100_000
_STOP_TIMEOUT_S = 3600.0
"""Seconds that running statements have to end when the server is stopped."""


class CustodianHandler:
    """Runs the custodian's statements on the database itself, without restrictions.

    Each session has a connection of its own, with its transactions, temporary tables and USE. `database_changed` is set
    after each statement.
    """

    def __init__(self, connection: Connection) -> None:
        """Store the connection whose cursors sessions get."""
        self.connection = connection
        self._connections: dict[str, Connection] = {}
        self._lock = threading.Lock()
        self.database_changed = threading.Event()

    def answer(self, session: str, token_name: str, statement: str) -> StatementResult:
        """Run a statement on the session's connection and return its result; its errors are raised unchanged."""
        session_connection = self._session_connection(session)
        try:
            session_connection.execute(statement)
            return StatementResult.from_cursor(session_connection, _BATCH_ROWS)
        finally:
            self.database_changed.set()

    def _session_connection(self, session: str) -> Connection:
        """Return the connection of a session; open it, as a cursor of the server's connection, if it has none."""
        with self._lock:
            session_connection = self._connections.get(session)
            if session_connection is None:
                session_connection = self.connection.cursor()
                session_connection.raw.execute("SET arrow_lossless_conversion = true")
                session_connection.raw.execute(install.json_call_macro(session_connection.raw))
                self._connections[session] = session_connection
            return session_connection

    def called_functions(self, statement: str) -> list[str]:
        """Return an empty list: functions that the custodian calls are not logged."""
        return []

    def end_session(self, session: str) -> None:
        """Close the connection of a session, if it has one."""
        with self._lock:
            session_connection = self._connections.pop(session, None)
        if session_connection is not None:
            session_connection.close()

    def error_message(self, error: BaseException) -> str | None:
        """Return the message of an error of dbanon or DuckDB, without the lines that quote the statement.

        For any other error return its type and message. None is never returned.
        """
        if isinstance(error, (DbanonError, duckdb.Error)):
            return str(error).split("\n\nLINE ")[0].strip().removeprefix("Invalid Input Error: ")
        return f"{type(error).__name__}: {error}"


def serve(
    config: ServerConfig, bounds: dict[str, Any], on_message: Callable[[str], None], on_ready: Callable[[], None]
) -> None:
    """Serve the custodian until SIGTERM or Ctrl-C, then wait up to an hour for running statements.

    Each second, requests of readers are fulfilled and the copy for readers is updated if the database has changed.

    Args:
        config: The database, address and log.
        bounds: Arguments of `connect`.
        on_message: Receives releases that readers cannot be served, and warnings about what statements disclose; a
            client does not see these.
        on_ready: Called when the server listens.

    Raises:
        QuackExtensionMissingError: DuckDB's extension cannot be loaded.
        CannotListenError: The address is in use or not of this machine.
        DbanonError: As for `connect`.
    """
    with stop_event() as stopping, _report_warnings(on_message), connect(config.database, **bounds) as connection:
        handler = CustodianHandler(connection)
        checker = TokenChecker(token_file(config.database), "custodian")
        transport = Transport(handler, checker, AuditLog(config.audit_log))
        transport.listen(config.host, config.port)
        on_ready()
        copies = _CopyUpdater(connection, config.database, on_message)
        while not stopping.wait(1.0):
            copies.update(handler.database_changed)
        transport.stop(_STOP_TIMEOUT_S)
        copies.update(handler.database_changed)


@contextlib.contextmanager
def _report_warnings(on_message: Callable[[str], None]) -> Iterator[None]:
    """Pass each Python warning of the block to `on_message` as text, also repeated ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: on_message(f"Warning: {message}")
        yield


class _CopyUpdater:
    """Updates the copies for readers and publishes the releases that readers request, in the custodian's process.

    The process that serves readers cannot open a database that this process has open.
    """

    def __init__(self, connection: Connection, database: Path, on_message: Callable[[str], None]) -> None:
        """Store the connection, the file of its database, and the receiver of messages."""
        self.connection, self.database, self.on_message = connection, database, on_message
        self.folder = published_copy.copy_folder(database)
        self._last_omitted: object = None
        self._has_copied = False

    def update(self, database_changed: threading.Event) -> None:
        """Publish requested releases and refresh the copy, if the folder exists and something may have changed.

        That is the case at the first call, after `database_changed` was set (it is cleared), or if there are requests.
        Errors are ignored; new reasons why releases are not served are reported.
        """
        if not self.folder.is_dir() or not (
            database_changed.is_set() or not self._has_copied or request_files.has_requests(self.folder)
        ):
            return
        database_changed.clear()
        with contextlib.suppress(duckdb.Error, OSError, DbanonError):
            with request_files.take_requests(self.folder) as requests:
                for message in custodian_work.fulfil(self.connection, requests):
                    self.on_message(message)
                omitted = published_copy.refresh_copy(self.connection, self.folder).omitted
            self._has_copied = True
            custodian_work.record_readers(self.connection, self.database, [name for name, _ in omitted])
            if omitted and omitted != self._last_omitted:
                self.on_message("; ".join(f"{name} is not served: {why}" for name, why in omitted))
            self._last_omitted = omitted
