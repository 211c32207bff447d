"""Puts the functions on the connections of an engine, and makes the tables of anonymized queries before they run."""

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
from sqlalchemy import Connection, Engine, event
from sqlalchemy.sql import visitors
from sqlalchemy.sql.expression import SelectBase, UpdateBase

from dbanon import errors
from dbanon.integrations.sqlalchemy import policy
from dbanon.integrations.sqlalchemy.connection import raw_connection
from dbanon.integrations.sqlalchemy.constructs import CreateQueryTable, QueryName
from dbanon.integrations.sqlalchemy.literal_query import literal_query
from dbanon.integrations.sqlalchemy.query_policy import BoundQuery, JudgedQuery, judged_query
from dbanon.runtime import session, storage_version
from dbanon.sqltext import names
from dbanon.sqltext.quote import qualified
from dbanon.udf.install import attach

_LOCK = threading.Lock()
_READY = "dbanon_ready"
_TABLES = "dbanon_query_tables"

READ_ONLY = "dbanon_read_only"
"""Key in `info` of tables that are anonymized views."""


def install(engine: Any) -> Any:
    """Make the functions available on every connection of a DuckDB engine, and return the engine back.

    Connections are attached when the pool opens them; those that it has already, when they are next checked out. One
    that is checked out while this runs is not: close it first. Installing twice is harmless. It works with every pool
    (QueuePool, NullPool, StaticPool, SingletonThreadPool) and from several threads; attaching takes some hundredths
    of a second a connection, which NullPool pays each time.

    The dialect has no asynchronous driver, so there is no AsyncEngine for DuckDB. In asynchronous code run a
    synchronous session in a thread, `await asyncio.to_thread(work)`, opened and closed inside `work`.
    """
    target = getattr(engine, "sync_engine", engine)
    if not isinstance(target, Engine) or target.dialect.name != "duckdb":
        raise errors.NotADuckDBConnectionError("install", repr(engine))
    for name, listener in _LISTENERS.items():
        if not event.contains(target, name, listener):
            event.listen(target, name, listener)
    return engine


def _attach(dbapi_connection: Any, *_: object) -> None:
    """Attach a pool connection where it is not; one at a time, because each may create the catalog."""
    raw = raw_connection(dbapi_connection)
    try:
        session.find_session(raw)
    except KeyError:
        with _LOCK:
            attach(raw)


def _not_opened(context: Any) -> None:
    """Raise NewerDatabaseError where the dialect could not open the file for that."""
    newer = storage_version.newer_database_error(context.original_exception, context.engine.url.database)
    if newer is not None:
        raise newer


# --- anonymized queries -------------------------------------------------------------------------------------


def _before_execute(
    connection: Connection, statement: Any, multiparams: Any, params: Any, options: Mapping[str, Any]
) -> None:
    """Refuse writes to anonymized views; make the tables of the anonymized queries in a statement."""
    if not isinstance(statement, (SelectBase, UpdateBase)) or options.get(_READY):
        return
    written = getattr(statement, "table", None) if isinstance(statement, UpdateBase) else None
    if written is not None and READ_ONLY in getattr(written, "info", ()):
        raise errors.ReadOnlyViewError(str(written.description))
    queries = [e for e in visitors.iterate(statement) if isinstance(e, QueryName)]
    if not queries:
        return
    _forget(connection.connection.dbapi_connection, connection.info)
    # A query may stand inside another one: inner ones come later in the traversal and are made first.
    for name in dict.fromkeys(reversed(queries)):
        policy.same(connection, name.model.function, name.model.declared)
        run = _QueryRun(name, dict(params))
        create = CreateQueryTable(name.rows, name.query)
        connection.execute(create, run.values, execution_options={_READY: run}).close()
        connection.info.setdefault(_TABLES, {})[name.rows] = run.judgement
        _show_planner(connection)


@dataclass
class _QueryRun:
    """A query whose rows are about to be put into a table, with the values of the outer statement."""

    name: QueryName
    values: dict[str, Any]
    judgement: JudgedQuery | None = None


def _before_cursor_execute(
    connection: Connection, cursor: Any, statement: str, parameters: Any, context: Any, executemany: bool
) -> None:
    """Judge a query as DuckDB binds it, in the form in which it is about to run."""
    run = context.execution_options.get(_READY) if context is not None else None
    if isinstance(run, _QueryRun):
        head = CreateQueryTable(run.name.rows, run.name.query).head
        literal = literal_query(connection, run.name.query, run.values)
        query = BoundQuery(statement.removeprefix(head), parameters, literal)
        run.judgement = judged_query(connection, run.name.model, query)


def _show_planner(connection: Connection) -> None:
    """Report the planner of the connection's query tables, which its own cursor cannot see, and of their policies."""
    local: dict[str, dict[str, str]] = {}
    raw: Any = connection.connection.dbapi_connection
    rows = raw.execute(
        "SELECT table_name, column_name, data_type FROM system.main.duckdb_columns() "
        "WHERE database_name = 'temp' AND table_name IN (SELECT system.main.unnest(?)) "
        "ORDER BY table_name ASC, column_index ASC",
        [list(connection.info[_TABLES])],
    ).fetchall()
    for table, column, type_ in rows:
        local.setdefault(table, {})[column] = type_
    temporary = session.find_session(raw_connection(connection)).temporary
    queries: dict[str, JudgedQuery] = {names.fold_case(n): j for n, j in connection.info[_TABLES].items() if n in local}
    temporary.columns = dict(local)
    temporary.scans = {name: query.scans for name, query in queries.items()}
    temporary.policies = {name: query.policy for name, query in queries.items() if query.policy is not None}


def _forget(dbapi_connection: Any, info: dict[Any, Any]) -> None:
    """Drop the query tables of a connection."""
    for table in info.pop(_TABLES, ()):
        with contextlib.suppress(duckdb.Error):  # a transaction that failed takes them along
            dbapi_connection.execute(f"DROP TABLE IF EXISTS {qualified('temp', 'main', table)}")


def _ended(connection: Connection) -> None:
    """A transaction ends."""
    if connection.info.get(_TABLES):
        _forget(connection.connection.dbapi_connection, connection.info)


def _returned(dbapi_connection: Any, record: Any) -> None:
    """A connection goes back to the pool."""
    if dbapi_connection is not None:
        _forget(dbapi_connection, record.info)


_LISTENERS: dict[str, Callable[..., Any]] = {
    "connect": _attach,
    "handle_error": _not_opened,
    "checkout": _attach,
    "checkin": _returned,
    "before_execute": _before_execute,
    "before_cursor_execute": _before_cursor_execute,
    "commit": _ended,
}
"""What `install` listens to. The functions stand in the module, so that a second `install` finds them."""
