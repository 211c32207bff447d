"""The process that answers readers: it is started with a copy of what was published, and has nothing else.

It is no fork of a process that has more, and its environment is nearly empty. DuckDB is opened read-only, without
access to files, with a locked configuration, and runs only statements that pass
`dbanon.integrations.quack.statement_checker` and, independently, `dbanon.integrations.quack.plan_checker`.
"""

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from dbanon import errors
from dbanon.errors import DbanonError
from dbanon.integrations.quack import published_copy, statement_checker, tokens
from dbanon.integrations.quack.audit_log import AuditLog
from dbanon.integrations.quack.call_rewriter import CallRewriter
from dbanon.integrations.quack.plan_checker import PlanChecker
from dbanon.integrations.quack.release_resolver import ReleaseResolver
from dbanon.integrations.quack.statement_checker import CheckedStatement
from dbanon.integrations.quack.tokens import TokenChecker
from dbanon.integrations.quack.transport import StatementResult, Transport
from dbanon.ledger import permissions
from dbanon.ledger.permissions import ReleaseRequest
from dbanon.table_functions import scalar_functions

READER_FUNCTIONS = tuple(function.name for function in scalar_functions.FUNCTIONS)

_INTERRUPT_GRACE_S = 5.0
"""Seconds that an interrupted statement has to end."""
_BATCH_ROWS = 10_000
_MAX_RESULT_BYTES = 512 * 2**20
"""Largest size of a result, whatever its number of rows."""
_PUBLISHED_ONLY = "WHERE NOT internal AND schema_name <> 'dbanon'"


@dataclass(frozen=True)
class StatementLimits:
    """Limits of one statement: seconds, rows of the result, and DuckDB's memory, which all statements share."""

    seconds: float
    rows: int
    memory: str


class OpenCopy:
    """An opened copy: a database file with published releases, from which readers' statements are answered.

    Attributes:
        path: The file.
        connection: A read-only connection without access to files.
        tables: (schema, name) of the published tables, in lower case.
        plan_checker: Checks plans of statements over these tables.
        permissions: The releases that readers may request.
        releases: (schema, name) of the release of each request so far; None if it was refused.
    """

    def __init__(self, path: Path, limits: StatementLimits) -> None:
        """Open the file read-only with a locked configuration, and read its tables, permissions and requests."""
        self.path = path
        config: dict[str, Any] = {
            "enable_external_access": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "python_enable_replacements": False,
            "arrow_lossless_conversion": True,
            "temp_directory": "",
            "memory_limit": limits.memory,
        }
        self.connection: Any = duckdb.connect(str(path), read_only=True, config=config)
        self.connection.execute("SET lock_configuration = true")
        rows = self.connection.execute(
            f"SELECT lower(schema_name), lower(table_name) FROM duckdb_tables() {_PUBLISHED_ONLY}"
        ).fetchall()
        self.tables = frozenset((str(schema), str(table)) for schema, table in rows)
        self.plan_checker = PlanChecker(
            self._columns(), (*READER_FUNCTIONS, *statement_checker.TABLE_FUNCTIONS), config
        )
        rows = self.connection.execute(f"SELECT {', '.join(permissions.COLUMNS)} FROM dbanon.permitted").fetchall()
        self.permissions = [permissions.parse_permission(row) for row in rows]
        rows = self.connection.execute(
            "SELECT algorithm, source, parameters, schema_name, name FROM dbanon.release_request"
        ).fetchall()
        self.releases = {ReleaseRequest(*row[:3]): row[3:] if row[4] else None for row in rows}

    def _columns(self) -> dict[tuple[str, str], dict[str, str]]:
        """Return the types of the columns of each published table, by (schema, name) in lower case."""
        rows = self.connection.execute(
            "SELECT lower(schema_name), lower(table_name), column_name, data_type FROM duckdb_columns() "
            f"{_PUBLISHED_ONLY} ORDER BY schema_name, table_name, column_index"
        ).fetchall()
        columns: dict[tuple[str, str], dict[str, str]] = {}
        for schema, table, column, type_ in rows:
            columns.setdefault((str(schema), str(table)), {})[str(column)] = str(type_)
        return columns


class ReaderHandler:
    """Checks readers' statements and runs them on the newest copy of the published releases."""

    def __init__(self, limits: StatementLimits, tokens_file: Path) -> None:
        """Store the limits and the file with the tokens; `use_copy` must open a copy before statements are answered."""
        self.limits, self.tokens_file = limits, tokens_file
        self.exit_process: Callable[[str], None] = lambda why: None
        """Ends the process where a statement cannot be ended."""
        self._open_copy: OpenCopy | None = None

    def use_copy(self, path: Path) -> None:
        """Open the copy at `path` for all statements that begin from now on.

        Running statements use the previous one.
        """
        self._open_copy = OpenCopy(path, self.limits)

    @property
    def copy_name(self) -> str | None:
        """The name of the file that statements are answered from; None before the first."""
        return None if self._open_copy is None else self._open_copy.path.name

    def current_copy(self) -> OpenCopy:
        """Return the copy that statements are answered from.

        Raises:
            ServerStoppingError: There is none yet.
        """
        if self._open_copy is None:
            raise errors.ServerStoppingError("The server")
        return self._open_copy

    def answer(self, session: str, reader: str, statement: str) -> StatementResult:
        """Check a reader's statement, run it on the newest copy and return its result.

        The queries of CATALOG_QUERIES, which ATTACH sends, are replaced and not checked.

        Args:
            session: The session; not used.
            reader: The name of the reader's token.
            statement: The text of the statement.

        Raises:
            ReaderStatementRefusedError: The statement is not allowed.
            LimitExceededError: It takes too long, or its result is too large.
            ServerStoppingError: There is no copy yet.
        """
        sql = CATALOG_QUERIES.get(statement.strip())
        checked = None if sql else self._check_statement(reader, statement)
        copy = self.current_copy()
        if checked is not None:
            sql = checked.statement
            self._check_plan(copy, checked)
        with contextlib.closing(copy.connection.cursor()) as cursor, self._time_limit(cursor):
            cursor.execute(sql)
            return self._fetch(cursor)

    def _check_plan(self, copy: OpenCopy, checked: CheckedStatement) -> None:
        """Raise ReaderStatementRefusedError if the plan of the checked statement has something that is not allowed."""
        with contextlib.closing(copy.plan_checker.cursor()) as cursor, self._time_limit(cursor):
            copy.plan_checker.check(cursor, checked.text)
            if checked.statement != checked.text:
                copy.plan_checker.check_serialized(cursor, checked.statement)

    def _check_statement(self, reader: str, statement: str) -> CheckedStatement:
        """Check a reader's statement and return the statement to run.

        Releases that it requests are published first, by another process; they are in the newest copy then.
        """
        copy = self.current_copy()
        resolver = ReleaseResolver(
            self.current_copy, self._custodian_names, copy.path.parent, reader, self.limits.seconds
        )
        with contextlib.closing(copy.connection.cursor()) as cursor, self._time_limit(cursor):
            read = lambda query, values: cursor.execute(query, values).fetchall()[0][0]  # noqa: E731
            reader_permissions = [p for p in copy.permissions if p.reader in (permissions.ANY_READER, reader)]
            return statement_checker.check_statement(
                statement, read, copy.tables, READER_FUNCTIONS, CallRewriter(reader_permissions, resolver.resolve)
            )

    def _custodian_names(self) -> list[str]:
        """Return the names of the custodians' tokens, for messages; empty if the file cannot be read."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            return [token.name for token in tokens.read_tokens(self.tokens_file) if token.role == "custodian"]
        return []

    def called_functions(self, statement: str) -> list[str]:
        """Return the names of known functions that a statement calls, for the log; empty if it cannot be parsed."""
        with contextlib.closing(self.current_copy().connection.cursor()) as cursor:
            return statement_checker.called_functions(
                statement, lambda query, values: cursor.execute(query, values).fetchall()[0][0]
            )

    def end_session(self, session: str) -> None:
        """Do nothing: readers' sessions have no state here."""

    def error_message(self, error: BaseException) -> str | None:
        """Return the message of an error for the reader; None if it may show files or the process.

        After a fatal or internal error of DuckDB, the process ends.
        """
        if isinstance(error, (duckdb.FatalException, duckdb.InternalException)):
            self.exit_process(type(error).__name__)
        if isinstance(error, DbanonError):
            return str(error)
        if isinstance(error, duckdb.OutOfMemoryException):
            return str(errors.LimitExceededError("The statement needs more memory than the server allows"))
        if isinstance(error, _STATEMENT_ERRORS):
            message = str(error).split("\n\nLINE ")[0].strip()
            copy = self._open_copy
            return None if copy is not None and str(copy.path.parent) in message else message
        return None

    @contextlib.contextmanager
    def _time_limit(self, cursor: Any) -> Iterator[None]:
        """Interrupt the cursor's statement if the block takes longer than the limit, and raise LimitExceededError.

        The process ends if the statement does not stop within _INTERRUPT_GRACE_S seconds.
        """
        is_late = threading.Event()
        exit_timer = threading.Timer(_INTERRUPT_GRACE_S, self.exit_process, ("time",))

        def interrupt() -> None:
            """Interrupt the statement, and start the timer that ends the process."""
            is_late.set()
            cursor.interrupt()
            exit_timer.start()

        interrupt_timer = threading.Timer(self.limits.seconds, interrupt)
        interrupt_timer.daemon = exit_timer.daemon = True
        interrupt_timer.start()
        try:
            yield
        except (duckdb.Error, pa.ArrowException, OSError, RuntimeError):  # what is interrupted between two batches, too
            if not is_late.is_set():
                raise
            raise errors.LimitExceededError(f"The statement took longer than {self.limits.seconds:g} seconds") from None
        finally:
            interrupt_timer.cancel()
            exit_timer.cancel()  # does nothing if it was not started

    def _fetch(self, cursor: Any) -> StatementResult:
        """Return all rows of the statement that a cursor just ran.

        The limit of bytes is 1,000 per permitted row, and at most _MAX_RESULT_BYTES.

        Raises:
            LimitExceededError: It has too many rows or bytes.
        """
        rows, remaining_bytes = 0, min(self.limits.rows * 1000, _MAX_RESULT_BYTES)

        def check_batch(batch: Any) -> None:
            """Add a batch to the totals; raise LimitExceededError if they exceed the limits."""
            nonlocal rows, remaining_bytes
            rows, remaining_bytes = rows + batch.num_rows, remaining_bytes - batch.nbytes
            if rows > self.limits.rows or remaining_bytes < 0:
                raise errors.LimitExceededError(f"The result has more than {self.limits.rows} rows, or too much text")

        return StatementResult.from_cursor(cursor, _BATCH_ROWS, check_batch)


_STATEMENT_ERRORS = (
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ParserException,
    duckdb.ConversionException,
    duckdb.OutOfRangeException,
    duckdb.InvalidInputException,
    duckdb.InvalidTypeException,
    duckdb.NotImplementedException,
    duckdb.SyntaxException,
    duckdb.TypeMismatchException,
)

CATALOG_QUERIES = {
    "SELECT catalog_name, schema_name\nFROM information_schema.schemata\n"
    "WHERE catalog_name NOT IN ('system', 'temp')\nORDER BY ALL": "SELECT DISTINCT 'releases' AS catalog_name, "
    f"schema_name FROM duckdb_tables() {_PUBLISHED_ONLY} ORDER BY ALL",
    "SELECT schema_name, sql, 'table'\nFROM duckdb_tables()\nUNION ALL\n"
    "SELECT schema_name, view_name, 'view'\nFROM duckdb_views()": "SELECT schema_name, sql, 'table' "
    f"FROM duckdb_tables() {_PUBLISHED_ONLY}",
}
"""The queries that ATTACH sends, word for word, and those that are run instead: they list only the published tables."""


# --- the process -----------------------------------------------------------------------------------------------------


def main(job: Mapping[str, Any]) -> int:
    """Serve readers until a signal or the end of the input; return the exit code.

    A message of one line of JSON is printed: that the server listens, or an error (exit code 1). If the process needs
    too much memory, it ends with EXIT_RESTART.

    Args:
        job: The settings: `limits`, `folder` of the copies, file of the `tokens`, `journal` (audit log), `host`,
            `port`, and `resident`, the most bytes of memory.
    """
    stopping = threading.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda *_: stopping.set())
    threading.Thread(target=_stop_at_input_end, args=(stopping,), daemon=True).start()
    limits = StatementLimits(**job["limits"])
    folder = Path(job["folder"])
    handler = ReaderHandler(limits, Path(job["tokens"]))
    _use_newest_copy(handler, folder)
    audit_log = AuditLog(Path(job["journal"]))
    transport = Transport(handler, TokenChecker(Path(job["tokens"]), "reader"), audit_log, limits.memory)
    handler.exit_process = transport.exit_process
    try:
        transport.listen(job["host"], job["port"])
    except DbanonError as error:
        _send({"error": type(error).__name__, "message": str(error)})
        return 1
    _send({"listening": True})
    while not stopping.wait(0.3):
        _use_newest_copy(handler, folder)
        if _resident_bytes() > job["resident"]:
            transport.exit_process("memory")
    transport.stop(limits.seconds + _INTERRUPT_GRACE_S)
    return 0


def _use_newest_copy(handler: ReaderHandler, folder: Path) -> None:
    """Open the newest copy in the folder, unless the handler uses it already; ignore one that cannot be opened."""
    with contextlib.suppress(duckdb.Error, OSError, ValueError):  # one that was just replaced
        copy = published_copy.current_copy(folder)
        if copy is not None and copy.path.name != handler.copy_name:
            handler.use_copy(copy.path)


def _stop_at_input_end(stopping: threading.Event) -> None:
    """Set `stopping` when the standard input ends, because the process that started this one has ended."""
    sys.stdin.read()
    stopping.set()


def _send(message: Mapping[str, object]) -> None:
    """Print a message as one line of JSON, for the process that started this one."""
    print(json.dumps(message), flush=True)


def _resident_bytes() -> int:
    """Return the resident memory of this process in bytes; 0 if the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
