"""Install the functions: UDFs in the instance, macros on the connection, the schema `dbanon` in the database."""

import atexit
import itertools
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from typing import Any

import duckdb

from dbanon.errors import renamed_names
from dbanon.runtime import label_cache, session
from dbanon.source import schema
from dbanon.sqltext.qualify_builtins import SYSTEM_SCHEMA, qualify_builtins
from dbanon.sqltext.quote import Sql, identifier, join_sql, text
from dbanon.table_functions import arguments, scalar_functions
from dbanon.table_functions.registry import table_functions
from dbanon.table_functions.table_function import TableFunction
from dbanon.udf import registry

_LOCK = threading.Lock()


def attach(connection: Any, *, catalog: bool = True) -> Any:
    """Make the table functions available on a DuckDB connection, and return the connection back.

    UDFs are registered in the DuckDB instance, and temporary macros created on this connection: attach cursors and pool
    connections too before they run SQL with these functions (Python functions attach a cursor by themselves). Attaching
    again creates no macros. With `catalog`, the schema `dbanon` (policy, hierarchies) is created in the current
    database, or migrated to this version, if the database can be written. `duckdb.default_connection()`, or the module
    `duckdb`, stays attached. Connections of `dbanon.connect` and their cursors are attached already.

    Examples:
        >>> import duckdb
        >>> import dbanon
        >>> con = dbanon.attach(duckdb.connect())
        >>> con.sql("SELECT name FROM algorithms() WHERE family = 'optimizing'").fetchall()
        [('best',)]
    """
    if connection is duckdb:
        connection = duckdb.default_connection()
    duckdb_connection = session.plain_connection(connection)
    start_session(duckdb_connection, catalog=False)
    create_macros(duckdb_connection)
    if duckdb_connection is duckdb.default_connection():
        _DEFAULT_CONNECTION[:] = [duckdb_connection]
    if catalog:
        schema.create(duckdb_connection)
    return connection


def start_session(connection: Any, *, catalog: bool = True) -> Any:
    """Attach a DuckDB connection without the macros of table functions (see `create_macros`), and return it back.

    `catalog` is that of `attach`.
    """
    if not session.has_session(connection):
        session.start_session(connection, _label_cache(connection)).own_macros = own_macros
    if catalog:
        schema.create(connection)
    return connection


def create_macros(
    connection: Any, names: Iterable[str] | None = None, run: Callable[[Any], object] | None = None
) -> bool:
    """Create the macros that a connection with a session lacks, of all functions or of those with these names.

    Other names are ignored. Returns whether macros were created.

    Args:
        connection: The connection.
        names: Names of functions in lower case, current or earlier ones; None for all functions.
        run: The method of the connection that runs the statements; by default `execute`.
    """
    current = session.find_session(connection)
    if current.has_all_macros:
        return False
    statements: list[Any] = []
    if names is None:
        statements = [_planner_macro(current.token), *_parsed_macros()]
        current.has_all_macros = True
    elif new := [name for name in names if name not in current.created_macros and name in _function_names()]:
        statements = [] if current.created_macros else [_planner_macro(current.token), _slots_macro()]
        statements += _macros_of(new)
        current.created_macros.update(new)
    earlier, current.recorded.calls = current.recorded.calls, []  # DuckDB binds a new macro: that plans nothing
    try:
        for statement in statements:
            (run or connection.execute)(statement)
    except BaseException:
        current.has_all_macros = False
        current.created_macros.clear()
        raise
    finally:
        current.recorded.calls = earlier
    return bool(statements)


def has_views_or_macros(connection: Any, *, with_macros: bool = True) -> bool:
    """Return whether a connection lacks macros, and a database of it has views or macros of users.

    Of macros, which are slow to list, other connections may create some after the first query of this one: they are
    searched for only `with_macros`. Views are always searched for. O(views + macros).
    """
    if session.find_session(connection).has_all_macros:
        return False
    queries = [
        "SELECT 1 FROM duckdb_views() WHERE NOT internal AND "
        "NOT (schema_name = 'dbanon' AND view_name IN ('hierarchy_node', 'hierarchy_path')) LIMIT 1"
    ]
    if with_macros:
        queries.append(
            "SELECT 1 FROM duckdb_functions() WHERE function_type IN ('macro', 'table_macro') AND NOT internal "
            "AND database_name <> 'temp' LIMIT 1"
        )
    with closing(session.builtin_cursor(connection)) as cursor:
        return any(cursor.execute(query).fetchall() for query in queries)


_DEFAULT_CONNECTION: list[Any] = []
"""DuckDB's default connection, if it is attached: its Python object would be deleted after the call, and its session
with it. DuckDB keeps the connection open anyway."""

atexit.register(_DEFAULT_CONNECTION.clear)


def _attach_cursor(connection: Any) -> bool:
    """Attach a connection if another one to its database instance is attached; return whether it is."""
    if not isinstance(connection, duckdb.DuckDBPyConnection) or _instance_number(connection) is None:
        return False
    attach(connection, catalog=False)
    return True


session.on_unknown_connection[:] = [_attach_cursor]


# --- UDFs belong to the instance -------------------------------------------------------------------------

_CACHES: weakref.WeakValueDictionary[int, label_cache.LabelCache] = weakref.WeakValueDictionary()


def _label_cache(connection: Any) -> label_cache.LabelCache:
    """Return the label cache of the connection's DuckDB instance; register the UDFs in it if they are missing.

    The cache has the cluster labels of earlier calls. One of the UDFs returns the number of the instance, so that all
    its connections find the same cache.
    """
    with _LOCK:
        instance = _instance_number(connection)
        if instance is None:
            instance = next(_NUMBERS)
            connection.create_function("dbanon_plan", registry.PLAN, [_TEXT] * 3, _TEXT, null_handling="special")
            for function, return_type in registry.ARROW_FUNCTIONS:
                connection.create_function(
                    function.__name__, function, None, return_type, type="arrow", null_handling="special"
                )
            _NUMBER_FUNCTIONS.append(lambda: instance)
            connection.create_function("dbanon_instance", _NUMBER_FUNCTIONS[-1], [], _NUMBER)
        return _CACHES.setdefault(instance, label_cache.LabelCache())


def _instance_number(connection: Any) -> int | None:
    """Return the number of the connection's instance; None if the UDFs are missing.

    The query runs on a cursor, so that an error does not abort the caller's transaction.
    """
    with closing(connection.cursor()) as cursor, suppress(duckdb.CatalogException):
        return int(cursor.execute("SELECT system.main.dbanon_instance()").fetchall()[0][0])
    return None


_NUMBERS = itertools.count(1)

_NUMBER_FUNCTIONS: list[Callable[[], int]] = []
"""Kept forever: DuckDB 1 calls a function after the connection that registered it is closed, and does not keep it."""

_TEXT: Any = "VARCHAR"  # by its name: DuckDB complains at exit of a type that a module still holds
_NUMBER: Any = "BIGINT"
# --- macros belong to the connection ---------------------------------------------------------------------


_PARSED_MACROS: list[tuple[object, list[Any]]] = []
"""The registered table functions, and the parsed statements that create their macros."""

atexit.register(_PARSED_MACROS.clear)  # DuckDB complains at exit of a statement that is still held


def _parsed_macros() -> list[Any]:
    """Return the parsed CREATE MACRO statements of table and scalar functions, which all connections share.

    They are parsed once per process with DuckDB's default settings, and again if the registered functions change.
    Parsing is half of their cost.
    """
    functions = table_functions()
    for parsed_functions, statements in _PARSED_MACROS:
        if parsed_functions is functions:
            return statements
    with duckdb.connect() as reader:
        statements = reader.extract_statements(";\n".join((*table_macros(), *scalar_functions.macro_statements())))
    _PARSED_MACROS[:] = [(functions, statements)]
    return statements


@cache
def _function_names() -> frozenset[str]:
    """Return the current and earlier names of all table functions and scalar functions (cached)."""
    return frozenset((*table_functions(), *(f.name for f in scalar_functions.FUNCTIONS), *renamed_names.FUNCTIONS))


def _macros_of(names: Collection[str]) -> Iterator[str]:
    """Yield the CREATE MACRO statements of the functions with these names, current or earlier ones.

    If one of them is a scalar function, all scalar functions get macros.
    """
    functions, renamed = table_functions(), renamed_names.FUNCTIONS
    for name in names:
        if name in functions:
            yield _table_macro(functions[name], _QUERY_PREFIX, _QUERY_SUFFIX)
        elif renamed.get(name) in functions:
            yield _earlier_macro(name, _QUERY_PREFIX, _QUERY_SUFFIX)
    if any(name not in functions and renamed.get(name) not in functions for name in names):
        yield from scalar_functions.macro_statements()


def _planner_macro(token: str) -> str:
    """Return the CREATE MACRO statement of `dbanon_statement`, by which the macros of all table functions plan a call.

    `token` is that of the session in which calls are planned.
    """
    return f"CREATE OR REPLACE TEMP MACRO dbanon_statement({CALL_ARGUMENTS}) AS {_planner_sql(token, CALL_JSON)}"


@cache
def own_macros() -> Mapping[str, str]:
    """Return the MD5 hash of the definition of every table function on a newly attached connection, by name (cached).

    A connection whose macro has another hash has a macro of another version, or of the user.
    """
    with duckdb.connect() as scratch:
        attach(scratch, catalog=False)
        rows = scratch.execute(
            qualify_builtins(
                "SELECT function_name, md5(macro_definition) FROM duckdb_functions() "
                "WHERE database_name = 'temp' AND function_type = 'table_macro'"
            )
        ).fetchall()
    return dict(rows)


CALL_ARGUMENTS = "called, given, filled, others"
CALL_JSON = "to_json({'function': called, 'positional': given, 'slots': filled, 'named': others})::VARCHAR"
"""SQL for a call as the planner reads it, from the arguments that the macro of a table function passes."""


def json_call_macro(connection: Any) -> str:
    """Return the CREATE MACRO statement of `dbanon_called(call)`, which runs a table function's call, given as JSON.

    The macro is not created here. The macro contains the token of the connection's session.

    Raises:
        ConnectionNotAttachedError: The connection is not attached.
    """
    planner_sql = _planner_sql(session.find_session(connection).token, "call")
    return f"CREATE OR REPLACE TEMP MACRO dbanon_called(call) AS TABLE FROM {SYSTEM_SCHEMA}query({planner_sql})"


def _planner_sql(token: str, call_sql: str) -> str:
    """Return a SQL expression whose value is the statement that answers a call; it raises the planner's errors.

    Args:
        token: The token of the session.
        call_sql: SQL of the call as JSON (VARCHAR).
    """
    places = "[current_database(), current_schema(), current_setting('search_path')]"
    plan_sql = f"dbanon_plan({text(token)}, {call_sql}, to_json({places})::VARCHAR)"
    return qualify_builtins(
        f"list_transform([{plan_sql}], lambda p: CASE WHEN p[1] = '!' THEN error(p[2:]) ELSE p END)[1]"
    )


_QUERY_PREFIX = f"{SYSTEM_SCHEMA}query("
_QUERY_SUFFIX = ")"


def table_macros(
    query_prefix: str = _QUERY_PREFIX,
    query_suffix: str = _QUERY_SUFFIX,
    is_included: Callable[[TableFunction], object] = lambda function: True,
) -> Iterator[str]:
    """Yield the CREATE MACRO statements: of the macro that all table functions share, then of each table function.

    Earlier names of functions get a macro too. Nothing is run.

    Args:
        query_prefix: SQL of the call that runs a planned statement, up to the statement.
        query_suffix: The rest of that call.
        is_included: Whether a function gets a macro.
    """
    yield _slots_macro()
    functions = table_functions()
    yield from (
        _table_macro(function, query_prefix, query_suffix) for function in filter(is_included, functions.values())
    )
    # A call by an earlier name is an error that states the new one, in views and on plain connections too.
    for earlier_name, name in renamed_names.FUNCTIONS.items():
        if name in functions and is_included(functions[name]):
            yield _earlier_macro(earlier_name, query_prefix, query_suffix)


def _earlier_macro(earlier_name: str, query_prefix: str, query_suffix: str) -> str:
    """Return the CREATE MACRO statement of a table function under an earlier name; see `table_macros`."""
    function = table_functions()[renamed_names.FUNCTIONS[earlier_name]]
    return _table_macro(replace(function, name=earlier_name), query_prefix, query_suffix)


def _slots_macro() -> str:
    """Return the CREATE MACRO statement of `dbanon_slots`, which the macros of table functions share."""
    return (
        f"CREATE OR REPLACE TEMP MACRO dbanon_slots({', '.join(_SLOTS)}) AS "
        f"{qualify_builtins(arguments.capture_sql(_SLOTS, arguments.CAPTURED))}"
    )


_SLOTS = [f"a{i}" for i in range(1, arguments.SLOTS + 1)]


def _slots_sql(function: TableFunction) -> str:
    """Return SQL of the texts of a function's unnamed arguments, which its macro receives in the parameters a1, a2, ...

    It is NULL for a function with positional arguments and no parameters. A function with neither captures a1 alone.
    """
    if not function.parameters:
        return "NULL" if function.positional else qualify_builtins(arguments.capture_sql(_SLOTS[:1], ()))
    if function.captured == arguments.CAPTURED:
        return f"temp.main.dbanon_slots({', '.join(_SLOTS)})"
    return qualify_builtins(arguments.capture_sql(_SLOTS, function.captured))


def _table_macro(function: TableFunction, query_prefix: str, query_suffix: str) -> str:
    """Return the CREATE MACRO statement of one table function; the macro plans its call and runs the planned statement.

    Earlier names of parameters are accepted too, so that the planner can state the new name.

    Args:
        function: The table function.
        query_prefix: SQL of the call that runs a planned statement, up to the statement.
        query_suffix: The rest of that call.
    """
    # One that takes nothing has a slot, too: DuckDB 2.0 makes no macro that calls query() with constants alone where a
    # database has a macro of that name.
    slots = _SLOTS if function.parameters else [] if function.positional else _SLOTS[:1]
    names = [p.name for p in function.parameters]
    names += renamed_names.earlier_parameters(names)  # so that the planner can state the new name
    parameters = [identifier(n) for n in function.positional]
    parameters += [Sql(f"{identifier(n)} := NULL") for n in (*slots, *names)]
    positional = join_sql(f"{identifier(n)} := {identifier(n)}" for n in function.positional)
    named = join_sql(f"{identifier(n)} := {identifier(n)}" for n in names)
    call_sql = join_sql(
        [
            text(function.name),
            Sql(f"{SYSTEM_SCHEMA}struct_pack({positional})" if positional else "NULL"),
            Sql(_slots_sql(function)),
            Sql(f"{SYSTEM_SCHEMA}struct_pack({named})" if named else "NULL"),
        ]
    )
    statement = f"temp.main.dbanon_statement({call_sql})"
    if function.positional:
        # Where DuckDB binds a macro that is made, a test of a parameter comes to nothing, and binding ends there.
        statement = f"CASE WHEN ({identifier(function.positional[0])} IS NULL) IS NULL THEN NULL ELSE {statement} END"
    return (
        f"CREATE OR REPLACE TEMP MACRO {identifier(function.name)}({', '.join(parameters)}) AS TABLE "
        f"FROM {query_prefix}{statement}{query_suffix}"
    )
