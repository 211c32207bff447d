"""A DuckDB instance that receives statements over Quack, passes them on, and holds the results.

Measured on Quack c154811 of DuckDB 1.5.5, and why this is built as it is:

- The authorization function gets the session and the text of each statement, once. If it returns a text, that runs
  instead of the statement; NULL and errors refuse. So statements are answered here, on another connection, and
  Quack runs a statement that reads the result, or raises the error. No text of a client is run by the instance that
  listens.
- Quack 1.5.5 has no message to cancel a statement, and the connections of its sessions are out of reach: only a
  statement on a connection of dbanon can be interrupted.
- For rows that a client appends (INSERT through ATTACH) the function gets the text `INSERT INTO "s"."t" VALUES (NULL)`,
  and every answer except NULL and false means yes, also a text.
- Sessions see Python functions; these are called on the threads of the HTTP server, several at once.
- `enable_external_access = false` and a locked configuration, set after it listens, do not disturb it.
- `quack_active_connections()` lists the sessions, without those that ended.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from dbanon import errors
from dbanon.integrations.quack import extension
from dbanon.integrations.quack.audit_log import AuditLog
from dbanon.integrations.quack.tokens import AccessToken, TokenChecker
from dbanon.sqltext.quote import Sql, identifier, join_sql, text

_INSERT_PATTERN = re.compile(r"\W*insert\b", re.IGNORECASE)
_MAX_DELAY_S = 2.0
_MAX_DELAYED = 3
"""Largest number of wrong tokens that are delayed at once: more would hold threads that others need."""
_SESSION_GRACE_S = 2.0
"""Seconds after which a session that Quack does not list has ended."""
EXIT_RESTART = 75
"""Exit code of a process that must be started again."""
MAX_SESSIONS = 256
"""Largest number of sessions of one token at once."""


@dataclass(frozen=True)
class StatementResult:
    """The rows of a statement, and DuckDB's types of their columns.

    Arrow returns enumerations as text, and a client of 1.5.5 that attached the server fails if a type is not the one in
    the catalog.
    """

    rows: pa.Table
    types: tuple[str, ...]

    @classmethod
    def from_cursor(
        cls, cursor: Any, batch_size: int, on_batch: Callable[[pa.RecordBatch], None] = lambda batch: None
    ) -> StatementResult:
        """Return the result of the statement that a cursor just ran; one row `done` = true if it has no result.

        Args:
            cursor: The cursor.
            batch_size: Largest number of rows per batch.
            on_batch: Called with each batch; it may raise.
        """
        if not cursor.description:
            return cls(pa.table({"done": [True]}), ("BOOLEAN",))
        types = tuple(str(column[1]) for column in cursor.description)
        reader = cursor.to_arrow_reader(batch_size)
        batches = []
        for batch in reader:
            on_batch(batch)
            batches.append(batch)
        return cls(pa.Table.from_batches(batches, reader.schema), types)


class StatementHandler(Protocol):
    """The protocol of an object that runs clients' statements for `Transport`."""

    def answer(self, session: str, token_name: str, statement: str) -> StatementResult:
        """Run a statement of a client and return its rows.

        `session` is Quack's identifier of the session, `token_name` the name of its token. If an error is raised, the
        client gets what `error_message` returns.
        """

    def called_functions(self, statement: str) -> list[str]:
        """Return the names of the functions that a statement calls, for the log."""

    def end_session(self, session: str) -> None:
        """Release the resources of a session that has ended."""

    def error_message(self, error: BaseException) -> str | None:
        """Return the message of an error for the client; None if it may only see that the statement failed."""


@dataclass
class _Session:
    """A session of a client: its token, the monotonic time when it began, and the table that stores its last result."""

    token: AccessToken
    since: float
    answer_table: str | None = None


@dataclass
class RunningStatement:
    """A statement that is being run: the identifier of its session, and the monotonic time when it began."""

    session: str
    since: float = field(default_factory=time.monotonic)


class Transport:
    """A Quack server that authenticates clients by token and passes their statements to a handler.

    `running` are the statements that are being run now.
    """

    def __init__(
        self, handler: StatementHandler, checker: TokenChecker, audit_log: AuditLog, memory: str | None = None
    ) -> None:
        """Prepare the server; `listen` starts it.

        Args:
            handler: Runs the statements.
            checker: Checks the tokens of clients.
            audit_log: The log of sessions and refused or failed statements.
            memory: DuckDB's memory limit for results; None for DuckDB's default.
        """
        self.handler, self.checker, self.audit_log = handler, checker, audit_log
        self.running: dict[int, RunningStatement] = {}
        self._sessions: dict[str, _Session] = {}
        self._lock = threading.RLock()
        self._stopping = False
        self._wrong_token_times: list[float] = []
        self._delay_slots = threading.BoundedSemaphore(_MAX_DELAYED)
        config: dict[str, Any] = {"arrow_lossless_conversion": True, "temp_directory": ""}
        self._config = config | ({} if memory is None else {"memory_limit": memory})
        self._uri = ""
        self._connection: Any = None

    def listen(self, host: str, port: int) -> None:
        """Start to listen on an address, in DuckDB's threads, and return.

        Raises:
            QuackExtensionMissingError: DuckDB's extension cannot be loaded.
            CannotListenError: The address is in use or not of this machine.
        """
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._connection = connection = duckdb.connect(config=self._config)
        extension.load(connection, "serve")
        _register_function(connection, "dbanon_admit", self._authenticate, 3, "BOOLEAN")
        _register_function(connection, "dbanon_ask", self._authorize, 2, "VARCHAR")
        connection.execute("SET GLOBAL quack_authentication_function = 'dbanon_admit'")
        connection.execute("SET GLOBAL quack_authorization_function = 'dbanon_ask'")
        self._uri = f"quack:{address}"
        options = "" if is_loopback(host) else ", allow_other_hostname := true"
        try:
            unused_token = text(secrets.token_hex(32))  # no client knows it
            connection.execute(
                f"CALL quack_serve({text(self._uri)}, token := {unused_token}, disable_ssl := true{options})"
            ).fetchall()
        except duckdb.Error as error:
            why = "another process listens there, or this machine does not have the address"
            is_address_in_use = "bind" in str(error).lower()
            raise errors.CannotListenError(
                "serve", address, why if is_address_in_use else str(error).split("\n")[0]
            ) from None
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        threading.Thread(target=self._sweep_loop, daemon=True).start()

    def stop(self, timeout: float) -> None:
        """Accept no more statements, wait at most `timeout` seconds for running ones, and stop the server.

        Results that clients are still fetching get up to 5 seconds within this time.
        """
        self._stopping = True
        deadline = time.monotonic() + timeout
        while self.running and time.monotonic() < deadline:
            time.sleep(0.02)
        fetch_deadline = time.monotonic() + 5.0
        while self._is_fetching() and time.monotonic() < min(deadline, fetch_deadline):
            time.sleep(0.05)
        with contextlib.suppress(duckdb.Error):
            self._connection.cursor().execute(f"CALL quack_stop({text(self._uri)})")

    def exit_process(self, why: str) -> None:
        """Record the running statements in the log with the reason, and end this process at once with EXIT_RESTART.

        It is used if a running statement cannot be ended otherwise; the process is started again.
        """
        for running in list(self.running.values()):
            session = self._sessions.get(running.session)
            self.audit_log.record(
                "gave up", None if session is None else session.token.name, running.session, reason=why
            )
        os._exit(EXIT_RESTART)

    # --- what Quack calls --------------------------------------------------------------------------------------------

    def _authenticate(self, session: str, secret: str, _: str) -> bool:
        """Return whether a client with this secret may begin a session; register the session if so.

        A wrong secret is answered after a delay. A session is refused if the server is stopping or its token has
        MAX_SESSIONS others. Quack passes a third argument, which is not used.
        """
        token = self.checker.find_token(secret)
        if token is None:
            self._delay_wrong_token(session)
            return False
        is_admitted = not self._stopping and self._open_session(session, token)
        self.audit_log.record("session" if is_admitted else "no session", token.name, session)
        return is_admitted

    def _open_session(self, session: str, token: AccessToken) -> bool:
        """Register a session and return True; return False if its token has too many sessions.

        These are MAX_SESSIONS others, even after ended ones were removed.
        """
        for is_retry in (False, True):
            with self._lock:
                if sum(other.token.name == token.name for other in self._sessions.values()) < MAX_SESSIONS:
                    self._sessions[session] = _Session(token, time.monotonic())
                    return True
            if not is_retry:
                self._remove_ended_sessions()
        return False

    def _delay_wrong_token(self, session: str) -> None:
        """Sleep before a wrong token is refused, longer with each wrong token of the last minute, and log it.

        If _MAX_DELAYED are delayed already, return at once without an entry in the log, which they could fill.
        """
        current_time = time.monotonic()
        with self._lock:
            self._wrong_token_times = [*(t for t in self._wrong_token_times if current_time - t < 60), current_time][
                -100:
            ]
            seconds = min(_MAX_DELAY_S, 0.1 * 2.0 ** min(len(self._wrong_token_times) - 1, 10))
        if self._delay_slots.acquire(blocking=False):
            try:
                self.audit_log.record("wrong token", None, session)
                time.sleep(seconds)
            finally:
                self._delay_slots.release()

    def _authorize(self, session: str, statement: str) -> str | None:
        """Run a client's statement and return the statement that Quack runs instead of it; None refuses it.

        The returned statement reads the stored result, or raises the error with the handler's message. None is returned
        if the session's token is not valid any more, or rows are inserted through ATTACH. Refusals and errors are
        logged.
        """
        with self._lock:
            session_state = self._sessions.get(session)
        if session_state is None or not self.checker.is_valid(session_state.token):
            self.audit_log.record(
                "token no longer valid", None if session_state is None else session_state.token.name, session
            )
            return None
        if _INSERT_PATTERN.match(statement) and "(NULL)" in statement:
            self.audit_log.record("refused", session_state.token.name, session, reason="rows through ATTACH")
            return None
        try:
            with self._register_running(session):
                return self._store_result(
                    session_state, self.handler.answer(session, session_state.token.name, statement)
                )
        except BaseException as error:  # of any kind: the client gets only the handler's message
            message = self.handler.error_message(error) or "The statement could not be run."
            is_refused = isinstance(
                error,
                errors.ReaderStatementRefusedError
                | errors.RequestNotPermittedError
                | errors.ReleaseUnavailableError
                | errors.RequestLimitReachedError,
            )
            why = error.subject if isinstance(error, errors.ReaderStatementRefusedError) else type(error).__name__
            functions: list[str] = []
            with contextlib.suppress(Exception):
                functions = self.handler.called_functions(statement)
            self.audit_log.record(
                "refused" if is_refused else "failed", session_state.token.name, session, functions, why
            )
            return f"SELECT error({text(message)})"

    @contextlib.contextmanager
    def _register_running(self, session: str) -> Iterator[None]:
        """Add a statement of the session to `running` during the block.

        Raises:
            ServerStoppingError: The server is stopping.
        """
        running = RunningStatement(session)
        with self._lock:
            if self._stopping:
                raise errors.ServerStoppingError(self._uri)
            self.running[id(running)] = running
        try:
            yield
        finally:
            with self._lock:
                self.running.pop(id(running), None)

    # --- answers -----------------------------------------------------------------------------------------------------

    def _store_result(self, session: _Session, result: StatementResult) -> str:
        """Store a result in a table and return the statement that reads it.

        The table of the session's previous result is dropped; this one exists until the next statement or the session's
        end.
        """
        name = f"answer_{secrets.token_hex(16)}"  # cannot be guessed
        with self._lock:
            previous, session.answer_table = session.answer_table, name
        columns = [f"c{i}" for i in range(len(result.types))]
        with contextlib.closing(self._connection.cursor()) as cursor:
            cursor.register("arriving", result.rows.rename_columns(columns))
            typed_columns = join_sql(map(_typed_column, columns, result.types))
            cursor.execute(f"CREATE TABLE memory.main.{name} AS SELECT {typed_columns} FROM arriving")
            cursor.unregister("arriving")
            if previous is not None:
                cursor.execute(f"DROP TABLE IF EXISTS memory.main.{previous}")
        names = [identifier(name.replace("\0", "")) for name in result.rows.column_names]
        select_list = join_sql(Sql(f"{c} AS {name}") for c, name in zip(columns, names, strict=True))
        return f"SELECT {select_list} FROM memory.main.{name}"

    def _sweep_loop(self) -> None:
        """Remove ended sessions once per second until the server stops."""
        while not self._stopping:
            time.sleep(1.0)
            with contextlib.suppress(duckdb.Error):
                self._remove_ended_sessions()

    def _remove_ended_sessions(self) -> None:
        """Forget the sessions that Quack does not list any more, drop their results, and notify the handler.

        Sessions younger than _SESSION_GRACE_S or with a running statement are kept.
        """
        open_sessions = {str(row[0]) for row in self._quack_sessions()}
        current_time = time.monotonic()
        with self._lock:
            busy_sessions = {running.session for running in self.running.values()}
            ended_sessions = [
                s
                for s, b in self._sessions.items()
                if s not in open_sessions and s not in busy_sessions and current_time - b.since > _SESSION_GRACE_S
            ]
            answers = [self._sessions.pop(session).answer_table for session in ended_sessions]
        with contextlib.closing(self._connection.cursor()) as cursor:
            for name in answers:
                if name is not None:
                    cursor.execute(f"DROP TABLE IF EXISTS memory.main.{name}")
        for session in ended_sessions:
            self.handler.end_session(session)

    def _is_fetching(self) -> bool:
        """Return whether a client is still fetching a result; False if Quack cannot report it."""
        with contextlib.suppress(duckdb.Error):
            return any(row[1] == "active" for row in self._quack_sessions())
        return False

    def _quack_sessions(self) -> list[tuple[object, ...]]:
        """Return the identifier and the state of each session that Quack lists."""
        with contextlib.closing(self._connection.cursor()) as cursor:
            rows: list[tuple[object, ...]] = cursor.execute("SELECT #2, #4 FROM quack_active_connections()").fetchall()
        return rows


def _register_function(
    connection: Any, name: str, function: Callable[..., Any], n_arguments: int, return_type: Any
) -> None:
    """Register a Python function of `n_arguments` texts in DuckDB; it is called for each row, also with NULL."""
    types: Any = ["VARCHAR"] * n_arguments
    connection.create_function(name, function, types, return_type, null_handling="special", side_effects=True)


def _typed_column(column: str, type_: str) -> Sql:
    """Return the SQL of a result's column: cast to `type_` if this is an ENUM or contains one, else only its name."""
    return Sql(f"CAST({column} AS {type_}) AS {column}" if "ENUM(" in type_ else column)


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is reachable from this machine only: localhost, ::1 or 127.x.x.x."""
    return host == "localhost" or host == "::1" or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None
