"""A DuckDB connection with dbanon attached, and features that a plain attached connection cannot have.

`name = value` is accepted for every parameter and misspelled names are reported; temporary tables, registered and local
DataFrames can be sources; `interrupt()` stops a running clustering and Ctrl-C raises KeyboardInterrupt.
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
from dbanon.api.memory_settings import duckdb_settings
from dbanon.errors import redaction
from dbanon.runtime import interrupts, session, storage_version
from dbanon.source.view_mentions import temporary_views
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import text
from dbanon.udf.install import attach
from dbanon.views import statement_parser, statements

Progress = Callable[[float, float], None]
"""A callback that receives the share of the work that is done and, while classes are improved, the share of the loss
that has been removed.
"""


def connect(
    database: str | Path = ":memory:",
    *,
    progress: Progress | None = None,
    memory: str | None = None,
    temp_directory: str | Path | None = None,
    **options: Any,
) -> Connection:
    """Open a database as `duckdb.connect` does and attach dbanon to it.

    Args:
        database: The path of the database; by default it is in memory.
        progress: Called with the share of the work that is done by long computations: `best`, `mondrian`, `improve`,
            and the forests of `influence` and `attack`. It runs during a statement and must not use the connection.
        memory: The memory limit of DuckDB, such as '2GB'. What needs more, raw rows included, is written temporarily to
            `temp_directory`. Memory of Python is not included.
        temp_directory: The folder for temporary files of DuckDB.
        options: Options of `duckdb.connect`.

    Returns:
        The attached connection.

    Raises:
        InvalidArgumentError: `memory` or `temp_directory` is not usable.
        NewerDatabaseError: A newer DuckDB wrote the database.

    >>> with connect() as con:
    ...     con.sql("SELECT name FROM algorithms() WHERE family = 'optimizing'").fetchall()
    [('best',)]
    """
    config = duckdb_settings(memory, temp_directory, options.pop("config", None))
    with storage_version.translate_version_errors(database):
        duckdb_connection = duckdb.connect(str(database), config=config, **options)
    try:
        return Connection(duckdb_connection, progress)
    except BaseException:  # Ctrl-C, too, must not leave the file open
        duckdb_connection.close()
        raise


class Connection:
    """A DuckDB connection with dbanon attached; it has all methods of DuckDB's connection.

    Statements are rewritten before they run. Open one with `dbanon.connect`.

    Args:
        raw: A connection of DuckDB, available as the attribute `raw`.
        progress: Called with the progress of long computations; see `connect`.

    >>> with connect() as con:
    ...     con.execute("SELECT 1").fetchall()
    [(1,)]
    """

    def __init__(self, raw: Any, progress: Progress | None = None) -> None:
        self.raw = attach(raw)
        self._session = session.find_session(raw)
        self._session.on_progress = progress or self._session.on_progress
        self._frames: set[str] = set()
        self._source_reads: list[tuple[str, str]] = []

    @property
    def on_progress(self) -> Progress | None:
        """The callback that is given the progress of a statement; see `connect`."""
        return self._session.on_progress

    @on_progress.setter
    def on_progress(self, callback: Progress | None) -> None:
        """The callback for the progress of a statement; see `connect`."""
        self._session.on_progress = callback

    @property
    def on_review(self) -> Callable[[list[str]], None] | None:
        """The callback that is given lines of text about the first release of a name before it is published."""
        return self._session.on_review

    @on_review.setter
    def on_review(self, callback: Callable[[list[str]], None] | None) -> None:
        """The callback that receives the review of a release, as lines, before a name's first version is published."""
        self._session.on_review = callback

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.raw, name)
        return self._redacting(attribute) if name in _FETCH_METHODS else attribute

    def _redacting(self, fetch: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method of DuckDB that fetches rows, with errors redacted: fetching runs the statement on."""

        def fetched(*arguments: Any, **options: Any) -> Any:
            with self.redact_errors():
                return fetch(*arguments, **options)

        return fetched

    def redact_errors(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which errors of the last statement contain no value of a source that it read."""
        function = self._source_reads[0][0] if self._source_reads else ""
        return redaction.redact_values(function, lambda: [source for _, source in self._source_reads])

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def execute(self, query: str, parameters: object = None) -> Connection:
        """Run a statement and return the connection, from which the rows can be fetched.

        Args:
            query: One or several statements; those about materialized anonymized views are included.
            parameters: Values of the prepared parameters of the last statement.
        """
        frame = sys._getframe(1)
        *first, last = statement_parser.split_statements(query, self.raw.extract_statements)
        self._remember_sources(query)
        with raise_keyboard_interrupt(), self.redact_errors():
            for step in first:
                self.raw.execute(self._resolve_step(step, None, frame, self.raw.execute))
            query = self._resolve_step(last, parameters, frame, self.raw.execute)
            if parameters is None or isinstance(last, statement_parser.ViewStatement):
                self.raw.execute(query)
            else:
                self.raw.execute(query, parameters)
        return self

    def executemany(self, query: str, parameters: object = None) -> Connection:
        """Run a statement once for each set of parameters and return the connection."""
        self.raw.executemany(self._resolve_query(query, sys._getframe(1), self.raw.execute), parameters)
        return self

    def sql(self, query: str, **options: Any) -> Any:
        """Return the relation of a query; only the last of several statements may be one.

        Args:
            query: One or several statements.
            options: Options of DuckDB's `sql`, such as `params`.
        """
        frame = sys._getframe(1)
        *first, last = statement_parser.split_statements(query, self.raw.extract_statements)
        self._remember_sources(query)
        with raise_keyboard_interrupt(), self.redact_errors():
            for step in first:
                self.raw.execute(self._resolve_step(step, None, frame, self.raw.execute))
            query = self._resolve_step(last, options.get("params"), frame, self.raw.sql)
            if isinstance(last, statement_parser.ViewStatement):
                options.pop("params", None)
            return self.raw.sql(query, **options)

    query = sql
    from_query = sql

    def cursor(self) -> Connection:
        """Return another attached connection to the same database instance."""
        return Connection(self.raw.cursor(), self.on_progress)

    duplicate = cursor

    def parse_call(self, query: str, parameters: object = None, frame: Any = None) -> tuple[str, str, dict[str, Any]]:
        """Return the function, source and arguments of a query `FROM NAME('table', ...)` without running it.

        Args:
            query: The query.
            parameters: Values of its prepared parameters.
            frame: The stack frame whose DataFrames can be sources by name; by default the caller's.

        Returns:
            The name of the function, the source, and the arguments by name as Python values.

        Raises:
            DbanonError: The call raises it.
        """
        frame = frame or sys._getframe(1)
        return statements.evaluate_call(self.raw, self._resolve_query(query, frame, self.raw.execute), parameters)

    def interrupt(self) -> None:
        """Stop the running statement of the connection, including clustering."""
        self._session.interrupts += 1
        self.raw.interrupt()

    def close(self) -> None:
        """Close the connection."""
        self.raw.close()

    def _remember_sources(self, query: object) -> None:
        """Store the functions and sources of the calls in a query; `redact_errors` needs them."""
        calls = list(frame_references.function_calls(query)) if isinstance(query, str) else []
        self._source_reads = [(call.function.name, call.source or "the source") for call in calls]

    def _resolve_step(self, step: Any, parameters: object, frame: Any, run: Callable[..., Any]) -> Any:
        """Return the query that DuckDB runs for one statement; run a statement about a view here first."""
        if isinstance(step, statement_parser.ViewStatement):
            return statements.run_statement(
                step, self.raw, lambda call: self._resolve_query(call, frame, self.raw.execute), parameters
            )
        return self._resolve_query(step, frame, run)

    def _resolve_query(self, query: object, frame: Any, run: Callable[..., Any]) -> Any:
        """Return a statement as DuckDB can run it; the planner learns of the temporary relations first.

        `run` is the method that will run the statement, so that an unfinished result is treated as DuckDB treats it.
        """
        if not isinstance(query, str):
            return query
        calls = list(frame_references.function_calls(query))
        if not calls:
            return query
        self._register_frames(calls, frame, run)
        temporary = self._session.temporary
        temporary.columns = frame_references.temporary_columns(run)
        temporary.views = temporary_views(frame_references.CallerConnection(run)) if temporary.columns else {}
        temporary.scans = frame_references.temporary_scans(calls, temporary.columns, run)
        return frame_references.rewrite_arguments(query, calls)

    def _register_frames(self, calls: list[FunctionCall], frame: Any, run: Callable[..., Any]) -> None:
        """Register the caller's DataFrames and Arrow tables that are named as sources, if no table has the name."""
        for call in calls:
            name = call.source
            if name is None or not name.isidentifier():
                continue
            value = frame.f_locals.get(name, frame.f_globals.get(name))
            relation = duckdb_relations.is_relation(value)
            if not relation and not frame_adapters.is_frame(value):
                continue
            existing = run(
                qualify_builtins(
                    f"SELECT 1 FROM duckdb_tables() WHERE lower(table_name) = lower({text(name)}) "
                    "AND schema_name <> 'dbanon' UNION ALL "
                    f"SELECT 1 FROM duckdb_views() WHERE lower(view_name) = lower({text(name)})"
                )
            ).fetchall()
            if not existing or name in self._frames:
                if relation:
                    value.create_view(name)
                else:
                    self.raw.register(name, frame_adapters.readable_rows(value, call.function.name))
                self._frames.add(name)


_FETCH_METHODS = frozenset(
    ("fetchone", "fetchmany", "fetchall", "fetchdf", "fetchnumpy", "fetch_df", "fetch_df_chunk", "fetch_arrow_reader",
     "fetch_record_batch", "to_arrow_table", "to_arrow_reader", "df", "pl", "arrow", "torch", "tf")
)  # fmt: skip
"""Methods of DuckDB's connection that return rows of the last statement."""


@contextlib.contextmanager
def raise_keyboard_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt in place of an error that Ctrl-C caused."""
    n_ctrl_c_before = interrupts.ctrl_c_count()
    try:
        yield
    except (duckdb.Error, RuntimeError) as error:
        if interrupts.ctrl_c_count() != n_ctrl_c_before:
            raise KeyboardInterrupt from error
        raise
