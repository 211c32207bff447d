"""Quack as a transport: a DuckDB instance that takes statements, hands them on, and holds the answers.

Measured on Quack c154811 of DuckDB 1.5.5, and why this is built as it is:

- The authorization function is given the session and the text of each statement, once. Where it gives a text, that runs
  in place of the statement; NULL and errors refuse. So statements are answered here, by somebody else's connection, and
  what Quack runs reads the answer, or raises the error. Nothing a client says is run by the instance that listens.
- Quack 1.5.5 has no message to cancel a statement, and the connections of its sessions are out of reach: only a
  statement on a connection of ours can be interrupted.
- Rows that a client appends (INSERT through ATTACH) come in a message that shows the function the text
  `INSERT INTO "s"."t" VALUES (NULL)` and takes every answer but NULL and false as a yes, a text too.
- Python functions are seen by its sessions; they are called on the threads of its HTTP server, several at once.
- `enable_external_access = false` and a locked configuration, set once it listens, leave it working.
- `quack_active_connections()` lists the sessions; one that ended is in it no more.
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
from dbanon.integrations.quack.audit_log import Journal
from dbanon.integrations.quack.tokens import Checker, Token
from dbanon.sqltext.quote import Sql, identifier, join_sql, text

_APPENDS = re.compile(r"\W*insert\b", re.IGNORECASE)
_SLOWEST = 2.0
_WAITING = 3
"""Wrong tokens that are made to wait at once: more would hold the threads that others need."""
_NEW = 2.0
"""Seconds after which a session that Quack does not list yet will never be."""
AGAIN = 75
"""The exit code of a process that could not go on."""
SESSIONS = 256
"""Sessions of one token at once."""


@dataclass(frozen=True)
class Answer:
    """The rows of a statement, and the types of DuckDB that their columns have: Arrow hands on enumerations as text,
    and a client of 1.5.5 that attached the server fails on another type than the catalog says."""

    rows: pa.Table
    types: tuple[str, ...]

    @classmethod
    def of(cls, cursor: Any, size: int, seen: Callable[[pa.RecordBatch], None] = lambda batch: None) -> Answer:
        """What a statement gave that was just run; `seen` is shown each batch of at most `size` rows and may raise."""
        if not cursor.description:
            return cls(pa.table({"done": [True]}), ("BOOLEAN",))
        types = tuple(str(column[1]) for column in cursor.description)
        reader = cursor.to_arrow_reader(size)
        batches = []
        for batch in reader:
            seen(batch)
            batches.append(batch)
        return cls(pa.Table.from_batches(batches, reader.schema), types)


class Desk(Protocol):
    """Who answers statements."""

    def answer(self, session: str, who: str, statement: str) -> Answer:
        """Return the rows of a statement; `who` has the token. Errors are told to the client."""

    def functions(self, statement: str) -> list[str]:
        """Return the functions that a statement calls, for the log."""

    def ended(self, session: str) -> None:
        """A session is no more."""

    def told(self, error: BaseException) -> str | None:
        """What a client is told of an error; None: nothing but that it could not be answered."""


@dataclass
class _Session:
    """One session: whose it is, since when, and the table that holds its answer."""

    token: Token
    since: float
    answer: str | None = None


@dataclass
class Running:
    """A statement that is being answered, since when."""

    session: str
    since: float = field(default_factory=time.monotonic)


class Transport:
    """Listens, lets in who has a token, and hands statements to a desk."""

    def __init__(self, desk: Desk, checker: Checker, journal: Journal, memory: str | None = None) -> None:
        self.desk, self.checker, self.journal = desk, checker, journal
        self.running: dict[int, Running] = {}
        self._sessions: dict[str, _Session] = {}
        self._lock = threading.RLock()
        self._stopping = False
        self._wrong: list[float] = []
        self._waiting = threading.BoundedSemaphore(_WAITING)
        config: dict[str, Any] = {"arrow_lossless_conversion": True, "temp_directory": ""}
        self._config = config | ({} if memory is None else {"memory_limit": memory})
        self._uri = ""
        self._connection: Any = None

    def listen(self, host: str, port: int) -> None:
        """Begin to listen; QuackExtensionMissingError, CannotListenError."""
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._connection = connection = duckdb.connect(config=self._config)
        extension.load(connection, "serve")
        _registered(connection, "dbanon_admit", self._admit, 3, "BOOLEAN")
        _registered(connection, "dbanon_ask", self._ask, 2, "VARCHAR")
        connection.execute("SET GLOBAL quack_authentication_function = 'dbanon_admit'")
        connection.execute("SET GLOBAL quack_authorization_function = 'dbanon_ask'")
        self._uri = f"quack:{address}"
        others = "" if is_loopback(host) else ", allow_other_hostname := true"
        try:
            own = text(secrets.token_hex(32))  # nobody is let in by it
            connection.execute(
                f"CALL quack_serve({text(self._uri)}, token := {own}, disable_ssl := true{others})"
            ).fetchall()
        except duckdb.Error as error:
            why = "another process listens there, or the address is not of this machine"
            known = "bind" in str(error).lower()
            raise errors.CannotListenError("serve", address, why if known else str(error).split("\n")[0]) from None
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        threading.Thread(target=self._sweeping, daemon=True).start()

    def stop(self, wait: float) -> None:
        """Take no more statements, wait for those that run and for their answers to be fetched, and close."""
        self._stopping = True
        end = time.monotonic() + wait
        while self.running and time.monotonic() < end:
            time.sleep(0.02)
        fetched = time.monotonic() + 5.0
        while self._active() and time.monotonic() < min(end, fetched):
            time.sleep(0.05)
        with contextlib.suppress(duckdb.Error):
            self._connection.cursor().execute(f"CALL quack_stop({text(self._uri)})")

    def give_up(self, why: str) -> None:
        """End the process, which is to be started again: what runs cannot be ended otherwise.

        The log says whose it was.
        """
        for running in list(self.running.values()):
            begun = self._sessions.get(running.session)
            self.journal.note("gave up", None if begun is None else begun.token.name, running.session, why=why)
        os._exit(AGAIN)

    # --- what Quack calls --------------------------------------------------------------------------------------------

    def _admit(self, session: str, given: str, _: str) -> bool:
        """Return whether a session may begin."""
        token = self.checker.holder(given)
        if token is None:
            self._delay(session)
            return False
        fine = not self._stopping and self._begun(session, token)
        self.journal.note("session" if fine else "no session", token.name, session)
        return fine

    def _begun(self, session: str, token: Token) -> bool:
        for again in (False, True):
            with self._lock:
                if sum(other.token.name == token.name for other in self._sessions.values()) < SESSIONS:
                    self._sessions[session] = _Session(token, time.monotonic())
                    return True
            if not again:
                self._sweep()
        return False

    def _delay(self, session: str) -> None:
        """Make a wrong token wait, longer with every one of the last minute.

        Too many at once do not wait, and are not in the log, which they could fill.
        """
        now = time.monotonic()
        with self._lock:
            self._wrong = [*(t for t in self._wrong if now - t < 60), now][-100:]
            seconds = min(_SLOWEST, 0.1 * 2.0 ** min(len(self._wrong) - 1, 10))
        if self._waiting.acquire(blocking=False):
            try:
                self.journal.note("wrong token", None, session)
                time.sleep(seconds)
            finally:
                self._waiting.release()

    def _ask(self, session: str, statement: str) -> str | None:
        """What Quack is to run in place of a statement; None refuses."""
        with self._lock:
            begun = self._sessions.get(session)
        if begun is None or not self.checker.is_valid(begun.token):
            self.journal.note("token no more valid", None if begun is None else begun.token.name, session)
            return None
        if _APPENDS.match(statement) and "(NULL)" in statement:
            self.journal.note("refused", begun.token.name, session, why="rows through ATTACH")
            return None
        try:
            with self._answering(session):
                return self._kept(begun, self.desk.answer(session, begun.token.name, statement))
        except BaseException as error:  # whatever it was: a client is told what the desk says, and nothing else
            said = self.desk.told(error) or "The statement could not be answered."
            refused = isinstance(
                error,
                errors.ReaderStatementRefusedError | errors.RequestNotPermittedError | errors.ReleaseUnavailableError,
            )
            why = error.what if isinstance(error, errors.ReaderStatementRefusedError) else type(error).__name__
            functions: list[str] = []
            with contextlib.suppress(Exception):
                functions = self.desk.functions(statement)
            self.journal.note("refused" if refused else "failed", begun.token.name, session, functions, why)
            return f"SELECT error({text(said)})"

    @contextlib.contextmanager
    def _answering(self, session: str) -> Iterator[None]:
        running = Running(session)
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

    def _kept(self, begun: _Session, answer: Answer) -> str:
        """Keep an answer until the session asks again or ends; return the statement that reads it."""
        name = f"answer_{secrets.token_hex(16)}"  # which nobody can guess
        with self._lock:
            old, begun.answer = begun.answer, name
        columns = [f"c{i}" for i in range(len(answer.types))]
        with contextlib.closing(self._connection.cursor()) as cursor:
            cursor.register("arriving", answer.rows.rename_columns(columns))
            taken = join_sql(map(_taken, columns, answer.types))
            cursor.execute(f"CREATE TABLE memory.main.{name} AS SELECT {taken} FROM arriving")
            cursor.unregister("arriving")
            if old is not None:
                cursor.execute(f"DROP TABLE IF EXISTS memory.main.{old}")
        names = [identifier(name.replace("\0", "")) for name in answer.rows.column_names]
        shown = join_sql(Sql(f"{c} AS {name}") for c, name in zip(columns, names, strict=True))
        return f"SELECT {shown} FROM memory.main.{name}"

    def _sweeping(self) -> None:
        while not self._stopping:
            time.sleep(1.0)
            with contextlib.suppress(duckdb.Error):
                self._sweep()

    def _sweep(self) -> None:
        """Forget sessions that have ended, and their answers."""
        listed = {str(row[0]) for row in self._listed()}
        now = time.monotonic()
        with self._lock:
            asked = {running.session for running in self.running.values()}
            gone = [s for s, b in self._sessions.items() if s not in listed and s not in asked and now - b.since > _NEW]
            answers = [self._sessions.pop(session).answer for session in gone]
        with contextlib.closing(self._connection.cursor()) as cursor:
            for name in answers:
                if name is not None:
                    cursor.execute(f"DROP TABLE IF EXISTS memory.main.{name}")
        for session in gone:
            self.desk.ended(session)

    def _active(self) -> bool:
        """Return whether an answer is still being fetched."""
        with contextlib.suppress(duckdb.Error):
            return any(row[1] == "active" for row in self._listed())
        return False

    def _listed(self) -> list[tuple[object, ...]]:
        with contextlib.closing(self._connection.cursor()) as cursor:
            rows: list[tuple[object, ...]] = cursor.execute("SELECT #2, #4 FROM quack_active_connections()").fetchall()
        return rows


def _registered(connection: Any, name: str, function: Callable[..., Any], many: int, gives: Any) -> None:
    """Register a Python function that is called anew for each row, with NULL too."""
    types: Any = ["VARCHAR"] * many
    connection.create_function(name, function, types, gives, null_handling="special", side_effects=True)


def _taken(column: str, type_: str) -> Sql:
    """Return a column of an answer in the type that it had."""
    return Sql(f"CAST({column} AS {type_}) AS {column}" if "ENUM(" in type_ else column)


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address."""
    return host == "localhost" or host == "::1" or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None
