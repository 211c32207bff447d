"""A DuckDB connection with dbanon attached, and features that a plain attached connection cannot have.

`name = value` is accepted for every parameter and misspelled names are reported; temporary tables, registered and local
DataFrames can be sources; `interrupt()` stops a running clustering and Ctrl-C raises KeyboardInterrupt.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from dbanon.api import duckdb_relations, frame_adapters, frame_references
from dbanon.api.frame_references import FunctionCall
from dbanon.api.memory_settings import duckdb_settings
from dbanon.api.redacted_relations import redact_relation
from dbanon.errors import redaction
from dbanon.runtime import interrupts, session, storage_version
from dbanon.source.view_mentions import temporary_views
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import identifier, text
from dbanon.udf import install
from dbanon.views import statement_parser

Progress = Callable[[float, float], None]
"""A callback `progress(fraction_done, loss_removed)`: the fraction of the work that is done and, while classes are
improved, the fraction of the loss that has been removed.
"""

_RENAMED_ATTRIBUTES = {"progress": "on_progress", "reviewed": "on_review"}
"""The attribute of a connection that replaced an attribute."""


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
        progress: Called during long computations (`best`, `mondrian`, `improve`, and the forests of `influence` and
            `attack`) with `fraction_done` and `loss_removed`, numbers from 0 to 1: the fraction of the work that is
            done, and of the loss that the search has removed. It runs during a statement and must not use the
            connection.
        memory: The memory limit of DuckDB, such as '2GB'. What needs more, raw rows included, is written temporarily to
            `temp_directory`. Memory of Python is not included.
        temp_directory: The folder for temporary files of DuckDB.
        options: Options of `duckdb.connect`.

    Returns:
        The attached connection.

    Raises:
        InvalidArgumentError: `memory` or `temp_directory` is not usable.
        NewerDatabaseError: A newer DuckDB wrote the database.

    Examples:
        >>> import dbanon
        >>> with dbanon.connect() as con:
        ...     con.sql("SELECT name FROM algorithms() WHERE family = 'optimizing'").fetchall()
        [('best',)]
    """
    config = duckdb_settings(memory, temp_directory, options.pop("config", None))
    with storage_version.translate_version_errors(database):
        duckdb_connection = duckdb.connect(str(database), config=config, **options)
    try:
        connection = Connection(duckdb_connection, progress)
        connection._has_checked_macros = str(database) == ":memory:"  # a new database, without macros
        return connection
    except BaseException:  # Ctrl-C, too, must not leave the file open
        duckdb_connection.close()
        raise


class Connection:
    """A DuckDB connection with dbanon attached; it has all methods of DuckDB's connection.

    Before a statement runs, `name = value` arguments of dbanon's functions are rewritten, DataFrames that they name are
    registered, and statements about anonymized views are run here. Open one with `dbanon.connect`.

    Args:
        raw: A connection of DuckDB, available as the property `raw`.
        progress: Called with the progress of long computations; see `connect`.

    Examples:
        >>> import dbanon
        >>> with dbanon.connect() as con:
        ...     con.execute("SELECT 1").fetchall()
        [(1,)]
    """

    def __init__(self, raw: Any, progress: Progress | None = None) -> None:
        """Attach dbanon to the DuckDB connection `raw`; without `progress`, a callback that its session has is kept."""
        self.duckdb_connection = install.start_session(raw)
        self._session = session.find_session(raw)
        self._session.on_progress = progress or self._session.on_progress
        self._frames: set[str] = set()
        self._source_reads: list[tuple[str, str]] = []
        self._has_checked_macros = False

    @property
    def raw(self) -> Any:
        """The DuckDB connection, with the macros of all functions."""
        install.create_macros(self.duckdb_connection)
        return self.duckdb_connection

    @property
    def on_progress(self) -> Progress | None:
        """The callback that receives the progress of long computations (see `connect`); None if there is none."""
        return self._session.on_progress

    @on_progress.setter
    def on_progress(self, callback: Progress | None) -> None:
        """Set the callback that receives the progress of long computations; None removes it."""
        self._session.on_progress = callback

    @property
    def on_review(self) -> Callable[[list[str]], None] | None:
        """The callback that receives a review, as lines of text, before the first version of a release is published.

        None if there is none.
        """
        return self._session.on_review

    @on_review.setter
    def on_review(self, callback: Callable[[list[str]], None] | None) -> None:
        """Set the callback that receives a review of a release before its first version is published.

        None removes it.
        """
        self._session.on_review = callback

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute.

        AttributeError for a name that an attribute had in an earlier version (`progress`, `reviewed`).
        """
        _check_attribute_name(name)
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        """Return the attribute of the DuckDB connection; called for names that this class does not define.

        Methods that fetch rows are wrapped so that errors are redacted. AttributeError for a name that an attribute had
        in an earlier version.
        """
        _check_attribute_name(name)
        attribute = getattr(self.duckdb_connection if name in _BUILTIN_ATTRIBUTES else self.raw, name)
        return self._redacting(attribute) if name in _FETCH_METHODS else attribute

    def _redacting(self, fetch: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that calls the DuckDB method `fetch`, with errors replaced as by `redact_errors`.

        Fetching continues the last statement, so errors of the statement can be raised then.
        """

        def fetched(*arguments: Any, **options: Any) -> Any:
            """Call the wrapped method; an error whose message may quote a value of a source is replaced."""
            with self.redact_errors():
                return fetch(*arguments, **options)

        return fetched

    def redact_errors(self) -> contextlib.AbstractContextManager[None]:
        """Return a context manager that replaces errors whose message may quote a value of a source.

        The sources are those that dbanon's functions in the last statement read; UnreadableValueError names the first
        function. Without such a call, errors are unchanged.
        """
        function = self._source_reads[0][0] if self._source_reads else ""
        return redaction.redact_values(function, lambda: [source for _, source in self._source_reads])

    def __enter__(self) -> Connection:
        """Return this connection."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.close()

    def execute(self, query: str, parameters: object = None) -> Connection:
        """Run one or several statements and return this connection, from which the rows of the last can be fetched.

        Errors that may quote a value of a source are replaced, and Ctrl-C raises KeyboardInterrupt. DataFrames of the
        caller can be sources by the name of their variable.

        Args:
            query: One or several statements; those about materialized anonymized views are included.
            parameters: Values of the prepared parameters of the last statement.
        """
        frame = sys._getframe(1)
        execute = self.duckdb_connection.execute
        *first, last = statement_parser.split_statements(query, self.duckdb_connection.extract_statements)
        self._remember_sources(query)
        with raise_keyboard_interrupt(), self.redact_errors():
            self._create_macros(query, execute)
            for step in first:
                self._run(execute, self._resolve_step(step, None, frame, execute))
            query = self._resolve_step(last, parameters, frame, execute)
            if isinstance(last, statement_parser.ViewStatement):
                self._run(execute, f"CALL system.main.query({text(query)})")  # complete at once, as UPDATE is
            elif parameters is None:
                self._run(execute, query)
            else:
                self._run(execute, query, parameters)
        return self

    def executemany(self, query: str, parameters: object = None) -> Connection:
        """Run a statement once for each set of values in `parameters` and return this connection."""
        execute = self.duckdb_connection.execute
        self._create_macros(query, execute)
        self._run(self.duckdb_connection.executemany, self._resolve_query(query, sys._getframe(1), execute), parameters)
        return self

    def sql(self, query: str, **options: Any) -> Any:
        """Run one or several statements and return the last one as a relation of DuckDB; None if it is no query.

        Only the last statement may be a query; it runs when rows of the relation are fetched. From DuckDB 2.0 on,
        errors of the relation, and of relations made of it, that may quote a value of a source are replaced.

        Args:
            query: One or several statements; those about materialized anonymized views are included.
            options: Options of DuckDB's `sql`, such as `params`.
        """
        frame = sys._getframe(1)
        execute, sql = self.duckdb_connection.execute, self.duckdb_connection.sql
        *first, last = statement_parser.split_statements(query, self.duckdb_connection.extract_statements)
        self._remember_sources(query)
        with raise_keyboard_interrupt(), self.redact_errors():
            self._create_macros(query if self._source_reads else None, sql)  # a relation can be given other SQL
            for step in first:
                self._run(execute, self._resolve_step(step, None, frame, execute))
            query = self._resolve_step(last, options.get("params"), frame, sql)
            if isinstance(last, statement_parser.ViewStatement):
                options.pop("params", None)
            relation = self._run(sql, query, **options)
        if not self._source_reads:
            return relation
        sources = [source for _, source in self._source_reads]
        return redact_relation(
            relation, self._source_reads[0][0], sources, lambda: install.create_macros(self.duckdb_connection)
        )

    query = sql
    from_query = sql

    def cursor(self) -> Connection:
        """Return a new attached connection to the same database instance, with the same progress callback."""
        return Connection(self.duckdb_connection.cursor(), self.on_progress)

    duplicate = cursor

    def parse_call(self, query: str, parameters: object = None, frame: Any = None) -> tuple[str, str, dict[str, Any]]:
        """Return the function, source and arguments of a query `FROM NAME('table', ...)` without computing a release.

        DataFrames of the stack frame that the call names are registered on the connection.

        Args:
            query: The query.
            parameters: Values of its prepared parameters.
            frame: The stack frame whose DataFrames can be sources by name; by default the caller's.

        Returns:
            The name of the function, the source, and the arguments by name as Python values.

        Raises:
            DbanonError: The call raises it.
        """
        from dbanon.views import statements

        frame = frame or sys._getframe(1)
        return statements.evaluate_call(self.raw, self._resolve_query(query, frame, self.raw.execute), parameters)

    def interrupt(self) -> None:
        """Stop the running statement of the connection, including clustering; call it from another thread."""
        self._session.interrupts += 1
        self.duckdb_connection.interrupt()

    def close(self) -> None:
        """Close the connection."""
        self.duckdb_connection.close()

    @classmethod
    @contextlib.contextmanager
    def wrap_attached(cls, raw: Any) -> Iterator[Connection]:
        """Yield a connection for the statements of a block on an attached DuckDB connection, `raw`.

        After the block, DataFrames that were registered for it are gone, and the session has forgotten which temporary
        relations it saw; these relations stay, and `raw` stays open and attached.

        Raises:
            ConnectionNotAttachedError: dbanon is not attached to `raw`.
        """
        current = session.find_session(raw)
        temporary, current.temporary = current.temporary, replace(current.temporary)
        connection = cls(raw)
        try:
            yield connection
        finally:
            current.temporary = temporary
            for name in connection._frames:
                raw.unregister(name)
                raw.execute(f"DROP VIEW IF EXISTS temp.main.{identifier(name)}")  # of a relation

    def _create_macros(self, query: object, run: Callable[[Any], object]) -> None:
        """Create the macros of the functions that a query mentions, by `run`, or of all functions if need be.

        All are created before a transaction, whose end could undo it, for a query that lists functions, and for one
        that is no text. So are they if a database has views or macros of the user: these may call a function of dbanon
        that the query does not mention, in place of which a macro of the same name would be called.
        """
        words = set(_WORD.findall(query.lower())) if isinstance(query, str) else _ALL_MACRO_WORDS
        if words.isdisjoint(_ALL_MACRO_WORDS) and install.has_views_or_macros(
            self.duckdb_connection, with_macros=not self._has_checked_macros
        ):
            words = _ALL_MACRO_WORDS
        self._has_checked_macros = True
        install.create_macros(self.duckdb_connection, words if words.isdisjoint(_ALL_MACRO_WORDS) else None, run)

    def _run(self, run: Callable[..., Any], query: Any, *arguments: Any, **options: Any) -> Any:
        """Return the result of `run` for a query; run it again if it failed for lack of a macro that it needs.

        A view or a macro of the user may call a function that the query does not mention.
        """
        try:
            return run(query, *arguments, **options)
        except duckdb.CatalogException as error:
            if "Function with name" not in str(error) or not install.create_macros(self.duckdb_connection):
                raise
            return run(query, *arguments, **options)

    def _remember_sources(self, query: object) -> None:
        """Store the names of dbanon's functions that a query calls, with their sources, for `redact_errors`.

        A `query` that is no text has none.
        """
        calls = list(frame_references.function_calls(query)) if isinstance(query, str) else []
        self._source_reads = [(call.function.name, call.source or "the source") for call in calls]

    def _resolve_step(self, step: Any, parameters: object, frame: Any, run: Callable[..., Any]) -> Any:
        """Return the query that DuckDB must run for one of several statements.

        A statement about an anonymized view is executed here; the returned query only reports its result. In any other
        statement, calls are prepared by `_resolve_query`.

        Args:
            step: The statement, as `split_statements` returns it.
            parameters: Values of its prepared parameters; used for a statement about an anonymized view only.
            frame: The caller's stack frame.
            run: The method of the connection that will run the query.
        """
        if isinstance(step, statement_parser.ViewStatement):
            from dbanon.views import statements

            return statements.run_statement(
                step, self.raw, lambda call: self._resolve_query(call, frame, self.raw.execute), parameters
            )
        return self._resolve_query(step, frame, run)

    def _resolve_query(self, query: object, frame: Any, run: Callable[..., Any]) -> Any:
        """Return a statement with its calls of dbanon's functions rewritten for DuckDB.

        It is returned unchanged if it is no text or calls none. DataFrames of the caller that a call names are
        registered, and the session's record of temporary relations is updated.

        Args:
            query: The statement.
            frame: The caller's stack frame.
            run: The method of the connection that will run the statement. Queries for this are run with it, too, so
                that an unfinished result is treated as DuckDB treats it.
        """
        if not isinstance(query, str):
            return query
        calls = list(frame_references.function_calls(query))
        if not calls:
            return query
        frame_references.check_no_cte_source(query, calls)
        self._register_frames(calls, frame, run)
        temporary = self._session.temporary
        temporary.columns = frame_references.temporary_columns(run)
        temporary.views = temporary_views(frame_references.CallerConnection(run)) if temporary.columns else {}
        temporary.scans = frame_references.temporary_scans(calls, temporary.columns, run)
        return frame_references.rewrite_arguments(query, calls)

    def _register_frames(self, calls: list[FunctionCall], frame: Any, run: Callable[..., Any]) -> None:
        """Register DataFrames, Arrow tables and relations that calls name as sources by variables of the caller.

        A name that a table or view of DuckDB has is skipped, unless it was registered here before. A relation becomes a
        temporary view.

        Args:
            calls: The calls of dbanon's functions in a statement.
            frame: The caller's stack frame, whose local and global variables are looked up.
            run: Executes a query.
        """
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
                    self.duckdb_connection.register(name, frame_adapters.readable_rows(value, call.function.name))
                self._frames.add(name)


def _check_attribute_name(name: str) -> None:
    """Raise AttributeError, with the new name, if an attribute of connections had the name in an earlier version."""
    if name in _RENAMED_ATTRIBUTES:
        raise AttributeError(f"a connection has no attribute '{name}'. '{name}' is now '{_RENAMED_ATTRIBUTES[name]}'.")


_FETCH_METHODS = frozenset(
    ("fetchone", "fetchmany", "fetchall", "fetchdf", "fetchnumpy", "fetch_df", "fetch_df_chunk", "fetch_arrow_reader",
     "fetch_record_batch", "to_arrow_table", "to_arrow_reader", "df", "pl", "arrow", "torch", "tf")
)  # fmt: skip
"""Methods of DuckDB's connection that return rows of the last statement."""

_BUILTIN_ATTRIBUTES = _FETCH_METHODS | {
    "commit", "create_function", "description", "extract_statements", "register", "rollback", "rowcount", "unregister",
}  # fmt: skip
"""Attributes of DuckDB's connection that need no macro."""

_WORD = re.compile(r"\w+")

_ALL_MACRO_WORDS = frozenset(
    ("attach", "begin", "duckdb_functions", "function", "import", "macro", "pg_proc", "sql_auto_complete", "start")
)
"""Words of statements before which all macros are created."""


@contextlib.contextmanager
def raise_keyboard_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt in place of an error of the block if Ctrl-C was pressed while it ran."""
    n_ctrl_c_before = interrupts.ctrl_c_count()
    try:
        yield
    except (duckdb.Error, RuntimeError) as error:
        if interrupts.ctrl_c_count() != n_ctrl_c_before:
            raise KeyboardInterrupt from error
        raise
