"""Puts the functions in place: UDFs into the instance, macros onto the connection, the catalog into the database."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from dbanon import session
from dbanon.engine import udf, udf_attack
from dbanon.functions import arguments, scalar_functions
from dbanon.functions.registry import table_functions
from dbanon.functions.table_function import TableFunction
from dbanon.source import schema
from dbanon.sqltext.builtin import OWN, bound
from dbanon.sqltext.quote import Sql, identifier, joined, text

_LOCK = threading.Lock()
_MARK = "dbanon_cache_"


def attach(connection: Any, *, catalog: bool = True) -> Any:
    """Makes the table functions available on a DuckDB connection, and gives the connection back.

    Creates the schema `dbanon` (policy, hierarchies) in the current database where that can be written and `catalog`
    is true. Macros are temporary and belong to this connection: attach cursors and pool connections too. Attaching
    twice is harmless.
    """
    try:
        session.of_connection(connection)
    except KeyError:
        begun = session.begin(connection, _cache_of(connection))
        begun.recorded = []  # DuckDB binds a macro that is made: nothing needs to be planned then
        for table in macros(begun.token):
            connection.execute(table)
        begun.recorded = None
        for scalar in scalar_functions.macros():
            connection.execute(scalar)
    if catalog:
        schema.create(connection)
    return connection


# --- UDFs belong to the instance -------------------------------------------------------------------------

_CACHES: weakref.WeakValueDictionary[str, session.LabelCache] = weakref.WeakValueDictionary()


def _cache_of(connection: Any) -> session.LabelCache:
    """The label cache of the connection's instance; registers the UDFs where they are missing.

    A function whose name carries a number marks the instance, so that all its connections find the same cache.
    """
    with _LOCK:
        marks = connection.execute(
            bound(f"SELECT DISTINCT function_name FROM duckdb_functions() WHERE starts_with(function_name, '{_MARK}')")
        ).fetchall()
        if marks:
            name = marks[0][0]
        else:
            name = f"{_MARK}{next(_NUMBERS)}"
            connection.create_function("dbanon_plan", udf.dbanon_plan, _PLANNED, _TEXT, null_handling="special")
            connection.create_function(
                "dbanon_cluster",
                udf.dbanon_cluster,
                None,
                "STRUCT(parts STRUCT(gid BIGINT, cluster INTEGER, first INTEGER, last INTEGER)[], "
                "wide STRUCT(cluster INTEGER, low INTEGER[], high INTEGER[])[], "
                "drawn STRUCT(cluster INTEGER, seat INTEGER, code INTEGER[], position DOUBLE[])[], error VARCHAR)",
                type="arrow",
                null_handling="special",
            )
            connection.create_function(
                "dbanon_influence",
                udf.dbanon_influence,
                None,
                "STRUCT(scores STRUCT(sensitive VARCHAR, place INTEGER, attribute VARCHAR, influence DOUBLE, "
                "rank INTEGER, zeta DOUBLE, sigma DOUBLE, accuracy DOUBLE, test_accuracy DOUBLE)[], error VARCHAR)",
                type="arrow",
                null_handling="special",
            )
            connection.create_function(
                "dbanon_attack",
                udf_attack.dbanon_attack,
                None,
                "STRUCT(rows STRUCT(id BIGINT, place BIGINT, confidence DOUBLE)[], error VARCHAR)",
                type="arrow",
                null_handling="special",
            )
            connection.create_function(name, udf.dbanon_plan, _PLANNED, _TEXT, null_handling="special")
        cache = _CACHES.get(name)
        if cache is None:
            cache = session.LabelCache()
            _CACHES[name] = cache
        return cache


_NUMBERS = itertools.count(1)

_TEXT: Any = "VARCHAR"  # by its name: DuckDB complains at exit of a type that a module still holds
_PLANNED = [_TEXT] * 3


# --- macros belong to the connection ---------------------------------------------------------------------


def macros(token: str) -> Iterator[str]:
    """All CREATE MACRO statements of a connection: first what the table functions share, which is much of them."""
    places = "[current_database(), current_schema(), current_setting('search_path')]"
    call = "{'function': called, 'positional': given, 'slots': filled, 'named': others}"
    planned = f"dbanon_plan({text(token)}, to_json({call})::VARCHAR, to_json({places})::VARCHAR)"
    yield (
        "CREATE OR REPLACE TEMP MACRO dbanon_statement(called, given, filled, others) AS "
        + bound(f"list_transform([{planned}], lambda p: CASE WHEN p[1] = '!' THEN error(p[2:]) ELSE p END)[1]")
    )
    yield (
        f"CREATE OR REPLACE TEMP MACRO dbanon_slots({', '.join(_SLOTS)}) AS "
        f"{bound(arguments.capture(_SLOTS, arguments.CAPTURED))}"
    )
    yield from map(_macro, table_functions().values())


_SLOTS = [f"a{i}" for i in range(1, arguments.SLOTS + 1)]


def _slots(function: TableFunction) -> str:
    """SQL for the texts of a function's positional slots."""
    if not function.parameters:
        return "NULL" if function.positional else bound(arguments.capture(_SLOTS[:1], ()))
    if function.captured == arguments.CAPTURED:
        return f"temp.main.dbanon_slots({', '.join(_SLOTS)})"
    return bound(arguments.capture(_SLOTS, function.captured))


def _macro(function: TableFunction) -> str:
    """CREATE MACRO of one table function: its arguments become JSON, the planner's answer becomes the query."""
    # One that takes nothing has a slot, too: DuckDB 2.0 makes no macro that calls query() with constants alone where a
    # database has a macro of that name.
    slots = _SLOTS if function.parameters else [] if function.positional else _SLOTS[:1]
    names = [p.name for p in function.parameters]
    parameters = [identifier(n) for n in function.positional]
    parameters += [Sql(f"{identifier(n)} := NULL") for n in (*slots, *names)]
    positional = joined(f"{identifier(n)} := {identifier(n)}" for n in function.positional)
    named = joined(f"{identifier(n)} := {identifier(n)}" for n in names)
    call = joined(
        [
            text(function.name),
            Sql(f"{OWN}struct_pack({positional})" if positional else "NULL"),
            Sql(_slots(function)),
            Sql(f"{OWN}struct_pack({named})" if named else "NULL"),
        ]
    )
    return (
        f"CREATE OR REPLACE TEMP MACRO {identifier(function.name)}({', '.join(parameters)}) AS TABLE "
        f"FROM {OWN}query(temp.main.dbanon_statement({call}))"
    )
