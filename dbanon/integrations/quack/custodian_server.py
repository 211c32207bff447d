"""Answers the custodian: everything that a connection of `dbanon.connect` can do, each session on one of its own."""

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb

from dbanon.api.connection import Connection, connect
from dbanon.errors import DbanonError
from dbanon.integrations.quack import fulfil_requests, published_copy, request_files
from dbanon.integrations.quack.audit_log import Journal
from dbanon.integrations.quack.subprocesses import Serving, stopped
from dbanon.integrations.quack.tokens import Checker, file_of
from dbanon.integrations.quack.transport import Answer, Transport
from dbanon.udf import install

_BATCH = 100_000
_PATIENCE = 3600.0
"""Seconds that what runs has to end when the server is stopped."""


class Everything:
    """Answers from the database itself. Sessions are separate: transactions, temporary tables and USE are theirs."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._own: dict[str, Connection] = {}
        self._lock = threading.Lock()
        self.changed = threading.Event()

    def answer(self, session: str, who: str, statement: str) -> Answer:
        own = self._of(session)
        try:
            own.execute(statement)
            return Answer.of(own, _BATCH)
        finally:
            self.changed.set()

    def _of(self, session: str) -> Connection:
        """Return the connection of a session."""
        with self._lock:
            own = self._own.get(session)
            if own is None:
                own = self.connection.cursor()
                own.raw.execute("SET arrow_lossless_conversion = true")
                own.raw.execute(install.planned_call(own.raw))
                self._own[session] = own
            return own

    def functions(self, statement: str) -> list[str]:
        return []

    def ended(self, session: str) -> None:
        with self._lock:
            own = self._own.pop(session, None)
        if own is not None:
            own.close()

    def told(self, error: BaseException) -> str | None:
        """Return all of it, without the lines that quote the statement."""
        if isinstance(error, (DbanonError, duckdb.Error)):
            return str(error).split("\n\nLINE ")[0].strip().removeprefix("Invalid Input Error: ")
        return f"{type(error).__name__}: {error}"


def serve(serving: Serving, bounds: dict[str, Any], told: Callable[[str], None], ready: Callable[[], None]) -> None:
    """Serve the custodian until SIGTERM or Ctrl-C; QuackExtensionMissingError, CannotListenError, and the errors of
    `connect`.

    `told` is given what readers are not served, and warnings of what statements disclose: a client is not shown these.
    """
    with stopped() as stopping, _warnings(told), connect(serving.database, **bounds) as connection:
        desk = Everything(connection)
        checker = Checker(file_of(serving.database), "custodian")
        transport = Transport(desk, checker, Journal(serving.journal))
        transport.listen(serving.host, serving.port)
        ready()
        copies = _Copies(connection, published_copy.folder_of(serving.database), told)
        while not stopping.wait(1.0):
            copies.keep(desk.changed)
        transport.stop(_PATIENCE)
        copies.keep(desk.changed)


@contextlib.contextmanager
def _warnings(told: Callable[[str], None]) -> Iterator[None]:
    """Report warnings when they come."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: told(f"Warning: {message}")
        yield


class _Copies:
    """The copies for readers, and what they ask to be released: who serves them cannot open a database that this
    process has."""

    def __init__(self, connection: Connection, folder: Path, told: Callable[[str], None]) -> None:
        self.connection, self.folder, self.told = connection, folder, told
        self._said: object = None
        self._began = False

    def keep(self, changed: threading.Event) -> None:
        """Makes what readers ask for and copies what is published, where readers are served and something may have
        changed."""
        if not self.folder.is_dir() or not (changed.is_set() or not self._began or request_files.waiting(self.folder)):
            return
        changed.clear()
        with contextlib.suppress(duckdb.Error, OSError, DbanonError):
            with request_files.taken(self.folder) as waiting:
                for said in fulfil_requests.made(self.connection, waiting):
                    self.told(said)
                left_out = published_copy.refreshed(self.connection, self.folder).left_out
            self._began = True
            if left_out and left_out != self._said:
                self.told("; ".join(f"{name} is not served: {why}" for name, why in left_out))
            self._said = left_out
