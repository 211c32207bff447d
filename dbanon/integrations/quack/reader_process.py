"""The process that answers readers: it is started with a copy of what was published, and has nothing else.

It is no fork of a process that knows more, and its environment is nearly empty. DuckDB is opened read-only, without
access to files, with a locked configuration, and runs what `dbanon.integrations.quack.statement_checker` and,
independently, `dbanon.integrations.quack.plan_checker` let through.
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
from dbanon.integrations.quack.audit_log import Journal
from dbanon.integrations.quack.call_rewriter import Asks
from dbanon.integrations.quack.plan_checker import PlanChecker
from dbanon.integrations.quack.release_resolver import Releases
from dbanon.integrations.quack.statement_checker import Checked
from dbanon.integrations.quack.tokens import Checker
from dbanon.integrations.quack.transport import Answer, Transport
from dbanon.ledger import permissions
from dbanon.ledger.permissions import ReleaseRequest
from dbanon.table_functions import scalar_functions

READING = tuple(function.name for function in scalar_functions.FUNCTIONS)

_GRACE = 5.0
"""Seconds that an interrupted statement has to end."""
_BATCH = 10_000
_ROOM = 512 * 2**20
"""Bytes of an answer, whatever its rows."""
_PUBLISHED = "WHERE NOT internal AND schema_name <> 'dbanon'"


@dataclass(frozen=True)
class Limits:
    """What one statement may take: seconds, rows of the answer, and DuckDB's memory, which all of them share."""

    seconds: float
    rows: int
    memory: str


class Copy:
    """A file of published releases, opened."""

    def __init__(self, path: Path, limits: Limits) -> None:
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
            f"SELECT lower(schema_name), lower(table_name) FROM duckdb_tables() {_PUBLISHED}"
        ).fetchall()
        self.tables = frozenset((str(schema), str(table)) for schema, table in rows)
        self.plans = PlanChecker(self._columns(), (*READING, *statement_checker.TABLE_FUNCTIONS), config)
        rows = self.connection.execute(f"SELECT {', '.join(permissions.COLUMNS)} FROM dbanon.permitted").fetchall()
        self.permissions = [permissions.parse_permission(row) for row in rows]
        rows = self.connection.execute(
            "SELECT algorithm, source, parameters, schema_name, name FROM dbanon.asked"
        ).fetchall()
        self.releases = {ReleaseRequest(*row[:3]): row[3:] if row[4] else None for row in rows}

    def _columns(self) -> dict[tuple[str, str], dict[str, str]]:
        """Name and types of the columns of the published tables; names of tables in lower case."""
        rows = self.connection.execute(
            "SELECT lower(schema_name), lower(table_name), column_name, data_type FROM duckdb_columns() "
            f"{_PUBLISHED} ORDER BY schema_name, table_name, column_index"
        ).fetchall()
        columns: dict[tuple[str, str], dict[str, str]] = {}
        for schema, table, column, type_ in rows:
            columns.setdefault((str(schema), str(table)), {})[str(column)] = str(type_)
        return columns


class Reading:
    """Answers readers from the newest copy."""

    def __init__(self, limits: Limits, tokens_file: Path) -> None:
        self.limits, self.tokens_file = limits, tokens_file
        self.give_up: Callable[[str], None] = lambda why: None
        """Ends the process where a statement cannot be ended."""
        self._copy: Copy | None = None

    def serve(self, path: Path) -> None:
        """Answer from another copy from now on; what runs keeps the one that it began with."""
        self._copy = Copy(path, self.limits)

    @property
    def served(self) -> str | None:
        """The name of the file that is answered from."""
        return None if self._copy is None else self._copy.path.name

    def newest(self) -> Copy:
        """Return the copy that is answered from."""
        if self._copy is None:
            raise errors.ServerStoppingError("The server")
        return self._copy

    def answer(self, session: str, who: str, statement: str) -> Answer:
        asked = CATALOG.get(statement.strip())
        checked = None if asked else self._checked(who, statement)
        copy = self.newest()
        if checked is not None:
            asked = checked.statement
            self._check_plan(copy, checked)
        with contextlib.closing(copy.connection.cursor()) as cursor, self._timed(cursor):
            cursor.execute(asked)
            return self._fetched(cursor)

    def _check_plan(self, copy: Copy, checked: Checked) -> None:
        """Check what will run a second time, by its plan."""
        with contextlib.closing(copy.plans.cursor()) as cursor, self._timed(cursor):
            copy.plans.check(cursor, checked.text)
            if checked.statement != checked.text:
                copy.plans.check_serialized(cursor, checked.statement)

    def _checked(self, who: str, statement: str) -> Checked:
        """What is run for a statement. Where it asks for a release, that is in the newest copy then."""
        copy = self.newest()
        releases = Releases(self.newest, self._custodians, copy.path.parent, who, self.limits.seconds)
        with contextlib.closing(copy.connection.cursor()) as cursor, self._timed(cursor):
            read = lambda query, values: cursor.execute(query, values).fetchall()[0][0]  # noqa: E731
            mine = [p for p in copy.permissions if p.reader in (permissions.ANY_READER, who)]
            return statement_checker.checked(statement, read, copy.tables, READING, Asks(mine, releases.of))

    def _custodians(self) -> list[str]:
        """Whom a reader may ask."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            return [token.name for token in tokens.listed(self.tokens_file) if token.role == "custodian"]
        return []

    def functions(self, statement: str) -> list[str]:
        with contextlib.closing(self.newest().connection.cursor()) as cursor:
            return statement_checker.called(
                statement, lambda query, values: cursor.execute(query, values).fetchall()[0][0]
            )

    def ended(self, session: str) -> None:
        pass

    def told(self, error: BaseException) -> str | None:
        """Our errors, and DuckDB's about the statement; what concerns files or the process is not told."""
        if isinstance(error, (duckdb.FatalException, duckdb.InternalException)):
            self.give_up(type(error).__name__)
        if isinstance(error, DbanonError):
            return str(error)
        if isinstance(error, duckdb.OutOfMemoryException):
            return str(errors.LimitExceededError("The statement needs more memory than the server gives"))
        if isinstance(error, _ABOUT_STATEMENTS):
            said = str(error).split("\n\nLINE ")[0].strip()
            copy = self._copy
            return None if copy is not None and str(copy.path.parent) in said else said
        return None

    @contextlib.contextmanager
    def _timed(self, cursor: Any) -> Iterator[None]:
        """Interrupts what takes too long; a process that cannot be interrupted is ended."""
        late = threading.Event()
        last = threading.Timer(_GRACE, self.give_up, ("time",))

        def interrupt() -> None:
            late.set()
            cursor.interrupt()
            last.start()

        first = threading.Timer(self.limits.seconds, interrupt)
        first.daemon = last.daemon = True
        first.start()
        try:
            yield
        except (duckdb.Error, pa.ArrowException, OSError, RuntimeError):  # what is interrupted between two batches, too
            if not late.is_set():
                raise
            raise errors.LimitExceededError(f"The statement took longer than {self.limits.seconds:g} seconds") from None
        finally:
            first.cancel()
            last.cancel()  # one that was not started yet never ends anything

    def _fetched(self, cursor: Any) -> Answer:
        """Return the answer, up to the limit."""
        rows, room = 0, min(self.limits.rows * 1000, _ROOM)

        def seen(batch: Any) -> None:
            nonlocal rows, room
            rows, room = rows + batch.num_rows, room - batch.nbytes
            if rows > self.limits.rows or room < 0:
                raise errors.LimitExceededError(
                    f"The answer has more than {self.limits.rows} rows, or as much text as that"
                )

        return Answer.of(cursor, _BATCH, seen)


_ABOUT_STATEMENTS = (
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

CATALOG = {
    "SELECT catalog_name, schema_name\nFROM information_schema.schemata\n"
    "WHERE catalog_name NOT IN ('system', 'temp')\nORDER BY ALL": "SELECT DISTINCT 'releases' AS catalog_name, "
    f"schema_name FROM duckdb_tables() {_PUBLISHED} ORDER BY ALL",
    "SELECT schema_name, sql, 'table'\nFROM duckdb_tables()\nUNION ALL\n"
    "SELECT schema_name, view_name, 'view'\nFROM duckdb_views()": "SELECT schema_name, sql, 'table' "
    f"FROM duckdb_tables() {_PUBLISHED}",
}
"""What ATTACH asks, word for word, and what readers are told of the catalog: the published tables."""


# --- the process -----------------------------------------------------------------------------------------------------


def main(job: Mapping[str, Any]) -> int:
    """Serve until it is told to stop, by a signal or by the end of its input; 0, or AGAIN."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    threading.Thread(target=_until_end, args=(stopping,), daemon=True).start()
    limits = Limits(**job["limits"])
    folder = Path(job["folder"])
    desk = Reading(limits, Path(job["tokens"]))
    _follow(desk, folder)
    journal = Journal(Path(job["journal"]))
    transport = Transport(desk, Checker(Path(job["tokens"]), "reader"), journal, limits.memory)
    desk.give_up = transport.give_up
    try:
        transport.listen(job["host"], job["port"])
    except DbanonError as error:
        _say({"error": type(error).__name__, "message": str(error)})
        return 1
    _say({"listening": True})
    while not stopping.wait(0.3):
        _follow(desk, folder)
        if _resident() > job["resident"]:
            transport.give_up("memory")
    transport.stop(limits.seconds + _GRACE)
    return 0


def _follow(desk: Reading, folder: Path) -> None:
    """Answer from the newest copy."""
    with contextlib.suppress(duckdb.Error, OSError, ValueError):  # one that was just replaced
        found = published_copy.current(folder)
        if found is not None and found.path.name != desk.served:
            desk.serve(found.path)


def _until_end(stopping: threading.Event) -> None:
    """Stop with the process that started this one."""
    sys.stdin.read()
    stopping.set()


def _say(what: Mapping[str, object]) -> None:
    print(json.dumps(what), flush=True)


def _resident() -> int:
    """Return bytes of memory that this process has; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
