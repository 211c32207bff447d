"""Attach the connections of an engine, and create the tables of anonymized queries before a statement runs."""

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import duckdb
from sqlalchemy import Connection, Engine, event
from sqlalchemy.sql import visitors
from sqlalchemy.sql.expression import SelectBase, UpdateBase

from dbanon import errors
from dbanon.errors import exit_codes
from dbanon.integrations.sqlalchemy import policy
from dbanon.integrations.sqlalchemy.connection import raw_connection
from dbanon.integrations.sqlalchemy.constructs import CreateQueryTable, QueryName
from dbanon.integrations.sqlalchemy.literal_query import literal_query
from dbanon.integrations.sqlalchemy.query_policy import QueryPolicy, resolve_query_policy
from dbanon.runtime import session, storage_version
from dbanon.sqltext import names
from dbanon.sqltext.quote import qualified
from dbanon.table_functions.registry import table_functions
from dbanon.udf.install import attach

_LOCK = threading.Lock()
_PREPARED = "dbanon_ready"
_QUERY_TABLES = "dbanon_query_tables"

READ_ONLY_KEY = "dbanon_read_only"
"""Key in `info` of tables that are anonymized views."""


_EngineT = TypeVar("_EngineT")


def install(engine: _EngineT) -> _EngineT:
    """Make the SQL functions available on every connection of a DuckDB engine.

    Connections are attached when the pool opens them; existing ones when they are next checked out. A connection that
    is checked out during this call is not attached: close it first. Installing twice has no effect. Every pool works
    (QueuePool, NullPool, StaticPool, SingletonThreadPool), also from several threads. Attaching takes a few hundredths
    of a second per connection, which NullPool pays each time.

    Errors of dbanon's functions are raised by their own classes, such as `dbanon.RefusedError` for a refusal, in place
    of SQLAlchemy's DBAPIError; the cause (`__cause__`) is the error of DuckDB.

    The dialect has no asynchronous driver, so there is no AsyncEngine for DuckDB. In asynchronous code run a
    synchronous session in a thread, `await asyncio.to_thread(work)`, opened and closed inside `work`.

    Args:
        engine: An engine of the dialect `duckdb`.

    Returns:
        The same engine.

    Raises:
        NotADuckDBConnectionError: The engine is not one of DuckDB.

    Examples:
        ```python
        from dbanon.sqlalchemy import install

        engine = install(sqlalchemy.create_engine("duckdb:///hospital.duckdb"))
        with engine.connect() as connection:
            connection.execute(sqlalchemy.text("FROM best('patients', k := 10)"))
        ```
    """
    target = getattr(engine, "sync_engine", engine)
    if not isinstance(target, Engine) or target.dialect.name != "duckdb":
        raise errors.NotADuckDBConnectionError("install", repr(engine))
    for name, listener in _LISTENERS.items():
        if not event.contains(target, name, listener):
            event.listen(target, name, listener)
    return engine


def _attach_connection(dbapi_connection: Any, *_: object) -> None:
    """Attach dbanon to a pool's connection if it is not attached.

    One at a time, because each may create the catalog.
    """
    raw = raw_connection(dbapi_connection)
    if not session.has_session(raw):
        with _LOCK:
            attach(raw)


def _translate_error(context: Any) -> errors.DbanonError | None:
    """Return the error of dbanon that an error of DuckDB stands for, which SQLAlchemy raises in place of its own.

    It is NewerDatabaseError if a newer DuckDB wrote the database file, or the error that a function of dbanon raised,
    which DuckDB passes on as text. None leaves SQLAlchemy's own error.
    """
    original = context.original_exception
    if not isinstance(original, duckdb.Error):
        return None
    newer = storage_version.newer_database_error(original, context.engine.url.database)
    return newer or exit_codes.recognized_error(original, table_functions())


# --- anonymized queries -------------------------------------------------------------------------------------


def _before_execute(
    connection: Connection, statement: Any, multiparams: Any, params: Any, options: Mapping[str, Any]
) -> None:
    """Refuse a write to an anonymized view; store the rows of each query to be anonymized in its temporary table.

    Earlier such tables of the connection are dropped first. An inner query is stored before the query that contains it.

    Raises:
        ReadOnlyViewError: The statement would write to an anonymized view.
        DbanonError: A query is not allowed; see `resolve_query_policy`.
    """
    if not isinstance(statement, (SelectBase, UpdateBase)) or options.get(_PREPARED):
        return
    target_table = getattr(statement, "table", None) if isinstance(statement, UpdateBase) else None
    if target_table is not None and READ_ONLY_KEY in getattr(target_table, "info", ()):
        raise errors.ReadOnlyViewError(str(target_table.description))
    queries = [e for e in visitors.iterate(statement) if isinstance(e, QueryName)]
    if not queries:
        return
    _drop_query_tables(connection.connection.dbapi_connection, connection.info)
    # A query may contain another one: inner ones are later in the traversal, and their tables are created first.
    for query_name in dict.fromkeys(reversed(queries)):
        policy.check_policy(connection, query_name.model.function, query_name.model.declared)
        run = _QueryRun(query_name, dict(params))
        create = CreateQueryTable(query_name.table_name, query_name.query)
        connection.execute(create, run.values, execution_options={_PREPARED: run}).close()
        connection.info.setdefault(_QUERY_TABLES, {})[query_name.table_name] = run.query_policy
        _register_query_tables(connection)


@dataclass
class _QueryRun:
    """A query that is about to be stored in its temporary table.

    Attributes:
        query_name: The element with the query and the name of the table.
        values: The parameter values of the outer statement.
        query_policy: The policy that was found for it; None before its statement runs.
    """

    query_name: QueryName
    values: dict[str, Any]
    query_policy: QueryPolicy | None = None


def _before_cursor_execute(
    connection: Connection, cursor: Any, statement: str, parameters: Any, context: Any, executemany: bool
) -> None:
    """Resolve the policy of a query that is about to be stored in its temporary table, and keep it in the `_QueryRun`.

    The statement is the one that DuckDB will run, after compilation. Statements without a `_QueryRun` in their
    execution options are ignored.
    """
    run = context.execution_options.get(_PREPARED) if context is not None else None
    if isinstance(run, _QueryRun):
        prefix = CreateQueryTable(run.query_name.table_name, run.query_name.query).prefix
        literal = literal_query(connection, run.query_name.query, run.values)
        query = statement.removeprefix(prefix)
        run.query_policy = resolve_query_policy(connection, run.query_name.model, query, parameters, literal)


def _register_query_tables(connection: Connection) -> None:
    """Store the columns, scans and policies of the connection's query tables in its session, for the planner.

    The planner has a cursor of its own, which does not see temporary tables.
    """
    columns_by_table: dict[str, dict[str, str]] = {}
    raw: Any = connection.connection.dbapi_connection
    rows = raw.execute(
        "SELECT table_name, column_name, data_type FROM system.main.duckdb_columns() "
        "WHERE database_name = 'temp' AND table_name IN (SELECT system.main.unnest(?)) "
        "ORDER BY table_name ASC, column_index ASC",
        [list(connection.info[_QUERY_TABLES])],
    ).fetchall()
    for table, column, type_ in rows:
        columns_by_table.setdefault(table, {})[column] = type_
    temporary = session.find_session(raw_connection(connection)).temporary
    queries: dict[str, QueryPolicy] = {
        names.fold_case(n): j for n, j in connection.info[_QUERY_TABLES].items() if n in columns_by_table
    }
    temporary.columns = dict(columns_by_table)
    temporary.scans = {name: query.scans for name, query in queries.items()}
    temporary.policies = {name: query.policy for name, query in queries.items() if query.policy is not None}


def _drop_query_tables(dbapi_connection: Any, connection_info: dict[Any, Any]) -> None:
    """Drop the temporary tables of anonymized queries, and remove their names from `connection_info`."""
    for table in connection_info.pop(_QUERY_TABLES, ()):
        with contextlib.suppress(duckdb.Error):  # a transaction that failed takes them along
            dbapi_connection.execute(f"DROP TABLE IF EXISTS {qualified('temp', 'main', table)}")


def _on_commit(connection: Connection) -> None:
    """Drop the temporary tables of anonymized queries before a transaction is committed.

    Do nothing if there are none.
    """
    if connection.info.get(_QUERY_TABLES):
        _drop_query_tables(connection.connection.dbapi_connection, connection.info)


def _on_checkin(dbapi_connection: Any, record: Any) -> None:
    """Drop the temporary tables of anonymized queries when a connection is returned to the pool."""
    if dbapi_connection is not None:
        _drop_query_tables(dbapi_connection, record.info)


_LISTENERS: dict[str, Callable[..., Any]] = {
    "connect": _attach_connection,
    "handle_error": _translate_error,
    "checkout": _attach_connection,
    "checkin": _on_checkin,
    "before_execute": _before_execute,
    "before_cursor_execute": _before_cursor_execute,
    "commit": _on_commit,
}
"""Events that `install` listens to. These are module functions, so a second `install` finds them registered."""
