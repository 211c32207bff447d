"""A DuckDB connection with dbanon on it, and what a plain attached connection cannot have.

`name = value` works for every parameter and misspelled ones are named; temporary tables, registered and local
DataFrames can be sources; `interrupt()` stops a running clustering and Ctrl-C is a KeyboardInterrupt.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb

from dbanon.api import duckdb_relations, frame_adapters, frame_references
from dbanon.api.frame_references import FunctionCall
from dbanon.api.memory_settings import settings
from dbanon.errors import redaction
from dbanon.runtime import interrupts, session, storage_version
from dbanon.source.view_mentions import temporary_views
from dbanon.sqltext.qualify_builtins import bound
from dbanon.sqltext.quote import text
from dbanon.udf.install import attach
from dbanon.views import statement_parser, statements

Progress = Callable[[float, float], None]
"""Called with the share of the work that is done and, where classes are improved, that of the loss that is gone."""


def connect(
    database: str | Path = ":memory:",
    *,
    progress: Progress | None = None,
    memory: str | None = None,
    temp_directory: str | Path | None = None,
    **options: Any,
) -> Connection:
    """Open a database as `duckdb.connect` does (same options) and attach dbanon to it.

    `memory`, such as '2GB', is the most that DuckDB takes: what needs more is written to `temp_directory` meanwhile,
    raw rows among it. What Python needs comes on top. InvalidArgumentError where these are not usable;
    NewerDatabaseError.

    `progress` is called by what takes long and can say how far it has come: `best`, `mondrian`, `improve`, and the
    forests of `influence` and `attack`. It is called while a statement runs, so it must not use the connection.

    >>> with connect() as con:
    ...     con.sql("SELECT name FROM algorithms() WHERE family = 'search'").fetchall()
    [('best',)]
    """
    config = settings(memory, temp_directory, options.pop("config", None))
    with storage_version.opening(database):
        raw = duckdb.connect(str(database), config=config, **options)
    try:
        return Connection(raw, progress)
    except BaseException:  # Ctrl-C, too, must not leave the file open
        raw.close()
        raise


class Connection:
    """Everything a DuckDB connection has, by delegation; statements are looked at before they run."""

    def __init__(self, raw: Any, progress: Progress | None = None) -> None:
        self.raw = attach(raw)
        self._session = session.of_connection(raw)
        self._session.on_progress = progress or self._session.on_progress
        self._frames: set[str] = set()
        self._read: list[tuple[str, str]] = []

    @property
    def progress(self) -> Progress | None:
        """What is told how far a statement has come; see `connect`."""
        return self._session.on_progress

    @progress.setter
    def progress(self, told: Progress | None) -> None:
        self._session.on_progress = told

    @property
    def reviewed(self) -> Callable[[list[str]], None] | None:
        """What is told, in lines of text, what the first release of a name will publish, before it does."""
        return self._session.reviewed

    @reviewed.setter
    def reviewed(self, told: Callable[[list[str]], None] | None) -> None:
        self._session.reviewed = told

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.raw, name)
        return self._withholding(found) if name in _FETCHING else found

    def _withholding(self, fetch: Callable[..., Any]) -> Callable[..., Any]:
        """Fetching runs the rest of the statement."""

        def fetched(*given: Any, **options: Any) -> Any:
            with self.withheld():
                return fetch(*given, **options)

        return fetched

    def withheld(self) -> contextlib.AbstractContextManager[None]:
        """Return no value of a source in an error of the last statement, if that called one of our functions."""
        function = self._read[0][0] if self._read else ""
        return redaction.withheld(function, lambda: [source for _, source in self._read])

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def execute(self, query: str, parameters: object = None) -> Connection:
        """Run a statement; fetch from the connection, as with DuckDB."""
        frame = sys._getframe(1)
        *first, last = statement_parser.steps(query, self.raw.extract_statements)
        self._noted(query)
        with ctrl_c_raised(), self.withheld():
            for step in first:
                self.raw.execute(self._plain(step, None, frame, self.raw.execute))
            query = self._plain(last, parameters, frame, self.raw.execute)
            if parameters is None or isinstance(last, statement_parser.View):
                self.raw.execute(query)
            else:
                self.raw.execute(query, parameters)
        return self

    def executemany(self, query: str, parameters: object = None) -> Connection:
        """Run a statement once for each set of parameters."""
        self.raw.executemany(self._ready(query, sys._getframe(1), self.raw.execute), parameters)
        return self

    def sql(self, query: str, **options: Any) -> Any:
        """Return the relation of a query."""
        frame = sys._getframe(1)
        *first, last = statement_parser.steps(query, self.raw.extract_statements)
        self._noted(query)
        with ctrl_c_raised(), self.withheld():
            for step in first:
                self.raw.execute(self._plain(step, None, frame, self.raw.execute))
            query = self._plain(last, options.get("params"), frame, self.raw.sql)
            if isinstance(last, statement_parser.View):
                options.pop("params", None)
            return self.raw.sql(query, **options)

    query = sql
    from_query = sql

    def cursor(self) -> Connection:
        """Return another connection to the same instance, attached too."""
        return Connection(self.raw.cursor(), self.progress)

    duplicate = cursor

    def called(self, query: str, parameters: object = None, frame: Any = None) -> tuple[str, str, dict[str, Any]]:
        """What `FROM NAME('table', ...)` calls, without answering it: the function, the source and the arguments by
        name, as Python values. `frame`: whose DataFrames are sources by their names; by default the caller's. The
        errors are those of the call."""
        frame = frame or sys._getframe(1)
        return statements.recorded(self.raw, self._ready(query, frame, self.raw.execute), parameters)

    def interrupt(self) -> None:
        """Stop what the connection is doing, clustering included."""
        self._session.interrupts += 1
        self.raw.interrupt()

    def close(self) -> None:
        """Close the connection."""
        self.raw.close()

    def _noted(self, query: object) -> None:
        """Keep what our functions in a query read, for errors."""
        calls = list(frame_references.function_calls(query)) if isinstance(query, str) else []
        self._read = [(call.function.name, call.source or "the source") for call in calls]

    def _plain(self, step: Any, parameters: object, frame: Any, read: Callable[..., Any]) -> Any:
        """What DuckDB shall run: a statement about a materialized view is carried out, and becomes its result."""
        if isinstance(step, statement_parser.View):
            return statements.run(step, self.raw, lambda call: self._ready(call, frame, self.raw.execute), parameters)
        return self._ready(step, frame, read)

    def _ready(self, query: object, frame: Any, read: Callable[..., Any]) -> Any:
        """Return the statement as DuckDB shall see it; the planner is told of temporary relations first.

        `read` is how the statement itself will run, so that an unfinished result is treated as DuckDB does.
        """
        if not isinstance(query, str):
            return query
        calls = list(frame_references.function_calls(query))
        if not calls:
            return query
        self._register_frames(calls, frame, read)
        temporary = self._session.temporary
        temporary.columns = frame_references.temporary_columns(read)
        temporary.views = temporary_views(frame_references.Executing(read)) if temporary.columns else {}
        temporary.scans = frame_references.temporary_scans(calls, temporary.columns, read)
        return frame_references.rewrite_arguments(query, calls)

    def _register_frames(self, calls: list[FunctionCall], frame: Any, read: Callable[..., Any]) -> None:
        """Register DataFrames and Arrow tables of the caller that are named as a source and by nothing else."""
        for call in calls:
            name = call.source
            if name is None or not name.isidentifier():
                continue
            value = frame.f_locals.get(name, frame.f_globals.get(name))
            relation = duckdb_relations.is_relation(value)
            if not relation and not frame_adapters.is_frame(value):
                continue
            taken = read(
                bound(
                    f"SELECT 1 FROM duckdb_tables() WHERE lower(table_name) = lower({text(name)}) "
                    "AND schema_name <> 'dbanon' UNION ALL "
                    f"SELECT 1 FROM duckdb_views() WHERE lower(view_name) = lower({text(name)})"
                )
            ).fetchall()
            if not taken or name in self._frames:
                if relation:
                    value.create_view(name)
                else:
                    self.raw.register(name, frame_adapters.readable(value, call.function.name))
                self._frames.add(name)


_FETCHING = frozenset(
    ("fetchone", "fetchmany", "fetchall", "fetchdf", "fetchnumpy", "fetch_df", "fetch_df_chunk", "fetch_arrow_reader",
     "fetch_record_batch", "to_arrow_table", "to_arrow_reader", "df", "pl", "arrow", "torch", "tf")
)  # fmt: skip
"""What gives rows of the last statement."""


@contextlib.contextmanager
def ctrl_c_raised() -> Iterator[None]:
    """Turn an error that Ctrl-C caused into KeyboardInterrupt."""
    before = interrupts.ctrl_c_count()
    try:
        yield
    except (duckdb.Error, RuntimeError) as error:
        if interrupts.ctrl_c_count() != before:
            raise KeyboardInterrupt from error
        raise
