"""Puts the functions in place: UDFs into the instance, macros onto the connection, the catalog into the database."""

import atexit
import itertools
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from functools import cache
from typing import Any

import duckdb

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

    Creates the schema `dbanon` (policy, hierarchies) in the current database where that can be written and `catalog`
    is true. Macros are temporary and belong to this connection: attach cursors and pool connections too. Attaching
    twice is harmless.
    """
    try:
        session.find_session(connection)
    except KeyError:
        begun = session.start_session(connection, _cache_of(connection))
        begun.own_macros = own_macros
        begun.recorded_calls = []  # DuckDB binds a macro that is made: nothing needs to be planned then
        connection.execute(_planning(begun.token))
        for macro in _parsed():
            connection.execute(macro)
        begun.recorded_calls = None
    if catalog:
        schema.create(connection)
    return connection


# --- UDFs belong to the instance -------------------------------------------------------------------------

_CACHES: weakref.WeakValueDictionary[int, label_cache.LabelCache] = weakref.WeakValueDictionary()


def _cache_of(connection: Any) -> label_cache.LabelCache:
    """Return the label cache of the connection's instance; registers the UDFs where they are missing.

    One of them tells the instance's number, so that all its connections find the same cache.
    """
    with _LOCK:
        instance = _instance(connection)
        if instance is None:
            instance = next(_NUMBERS)
            connection.create_function("dbanon_plan", registry.PLAN, [_TEXT] * 3, _TEXT, null_handling="special")
            for function, gives in registry.ARROW_FUNCTIONS:
                connection.create_function(
                    function.__name__, function, None, gives, type="arrow", null_handling="special"
                )
            _TELLING.append(_telling(instance))
            connection.create_function("dbanon_instance", _TELLING[-1], [], _NUMBER)
        return _CACHES.setdefault(instance, label_cache.LabelCache())


def _instance(connection: Any) -> int | None:
    """Return the number of the connection's instance; None where the UDFs are missing.

    It is asked for on a cursor, so the caller's transaction does not see an error.
    """
    with closing(connection.cursor()) as cursor, suppress(duckdb.CatalogException):
        return int(cursor.execute("SELECT system.main.dbanon_instance()").fetchall()[0][0])
    return None


def _telling(number: int) -> Callable[[], int]:
    return lambda: number


_NUMBERS = itertools.count(1)

_TELLING: list[Callable[[], int]] = []
"""Kept for good: DuckDB 1 calls what it does not keep, once the connection that registered it is closed."""

_TEXT: Any = "VARCHAR"  # by its name: DuckDB complains at exit of a type that a module still holds
_NUMBER: Any = "BIGINT"
# --- macros belong to the connection ---------------------------------------------------------------------


_READ: list[tuple[object, list[Any]]] = []
"""The registered table functions, and the statements that make them."""

atexit.register(_READ.clear)  # DuckDB complains at exit of a statement that is still held


def _parsed() -> list[Any]:
    """Return the CREATE MACRO statements that are the same for all connections; reading their text is half their cost.

    They are read with DuckDB's settings, not with those of whoever attaches first.
    """
    functions = table_functions()
    for of, statements in _READ:
        if of is functions:
            return statements
    with duckdb.connect() as reader:
        statements = reader.extract_statements(";\n".join((*macros(), *scalar_functions.macro_statements())))
    _READ[:] = [(functions, statements)]
    return statements


def _planning(token: str) -> str:
    """CREATE MACRO of what all table functions of a connection call: it plans the call of a session."""
    return f"CREATE OR REPLACE TEMP MACRO dbanon_statement({CALL_ARGUMENTS}) AS {_planned(token, CALL)}"


@cache
def own_macros() -> Mapping[str, str]:
    """Return the MD5 hash of the definition of every table function on an attached connection, by name."""
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
CALL = "to_json({'function': called, 'positional': given, 'slots': filled, 'named': others})::VARCHAR"
"""A call as the planner reads it, made of what a macro of a table function gives."""


def planned_call(connection: Any) -> str:
    """CREATE MACRO of what answers a call that was written as JSON elsewhere, on an attached connection."""
    planned = _planned(session.find_session(connection).token, "call")
    return f"CREATE OR REPLACE TEMP MACRO dbanon_called(call) AS TABLE FROM {SYSTEM_SCHEMA}query({planned})"


def _planned(token: str, call: str) -> str:
    """Return SQL for the statement that answers a call."""
    places = "[current_database(), current_schema(), current_setting('search_path')]"
    planned = f"dbanon_plan({text(token)}, {call}, to_json({places})::VARCHAR)"
    return qualify_builtins(
        f"list_transform([{planned}], lambda p: CASE WHEN p[1] = '!' THEN error(p[2:]) ELSE p END)[1]"
    )


def macros(
    query: str = f"{SYSTEM_SCHEMA}query(",
    end: str = ")",
    only: Callable[[TableFunction], object] = lambda function: True,
) -> Iterator[str]:
    """Yield the CREATE MACRO statements of the table functions: first what they share.

    `query` and `end` are the call of what answers a statement, before and after it; `only` says which functions.
    """
    yield (
        f"CREATE OR REPLACE TEMP MACRO dbanon_slots({', '.join(_SLOTS)}) AS "
        f"{qualify_builtins(arguments.capture_sql(_SLOTS, arguments.CAPTURED))}"
    )
    yield from (_macro(function, query, end) for function in filter(only, table_functions().values()))


_SLOTS = [f"a{i}" for i in range(1, arguments.SLOTS + 1)]


def _slots(function: TableFunction) -> str:
    """Return SQL for the texts of a function's positional slots."""
    if not function.parameters:
        return "NULL" if function.positional else qualify_builtins(arguments.capture_sql(_SLOTS[:1], ()))
    if function.captured == arguments.CAPTURED:
        return f"temp.main.dbanon_slots({', '.join(_SLOTS)})"
    return qualify_builtins(arguments.capture_sql(_SLOTS, function.captured))


def _macro(function: TableFunction, query: str, end: str) -> str:
    """CREATE MACRO of one table function: its arguments become JSON, the planner's answer becomes the query."""
    # One that takes nothing has a slot, too: DuckDB 2.0 makes no macro that calls query() with constants alone where a
    # database has a macro of that name.
    slots = _SLOTS if function.parameters else [] if function.positional else _SLOTS[:1]
    names = [p.name for p in function.parameters]
    parameters = [identifier(n) for n in function.positional]
    parameters += [Sql(f"{identifier(n)} := NULL") for n in (*slots, *names)]
    positional = join_sql(f"{identifier(n)} := {identifier(n)}" for n in function.positional)
    named = join_sql(f"{identifier(n)} := {identifier(n)}" for n in names)
    call = join_sql(
        [
            text(function.name),
            Sql(f"{SYSTEM_SCHEMA}struct_pack({positional})" if positional else "NULL"),
            Sql(_slots(function)),
            Sql(f"{SYSTEM_SCHEMA}struct_pack({named})" if named else "NULL"),
        ]
    )
    statement = f"temp.main.dbanon_statement({call})"
    if function.positional:
        # Where DuckDB binds a macro that is made, a test of a parameter comes to nothing, and binding ends there.
        statement = f"CASE WHEN ({identifier(function.positional[0])} IS NULL) IS NULL THEN NULL ELSE {statement} END"
    return (
        f"CREATE OR REPLACE TEMP MACRO {identifier(function.name)}({', '.join(parameters)}) AS TABLE "
        f"FROM {query}{statement}{end}"
    )
