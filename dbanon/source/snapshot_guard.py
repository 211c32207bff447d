"""Check the settings that make reads from MySQL and SQLite a consistent snapshot, compared by DuckDB only.

A setting can be local to the caller's session, where no cursor of dbanon sees it: the statement that reads the source
checks it itself, by a condition (the guard).
"""

from typing import Any

from dbanon import errors
from dbanon.source import attached_databases
from dbanon.sqltext.quote import Sql, join_sql, text

_SQLITE_SINGLE_THREAD = "sqlite_disable_multithreaded_scans"

PUSHDOWN_SETTINGS = (
    "mysql_aggregate_pushdown_enabled",
    "mysql_enable_predicate_analyzer",
    "mysql_experimental_filter_pushdown",
    "mysql_order_pushdown_enabled",
)
"""Settings by which DuckDB lets MySQL filter, count and sort; MySQL treats some different texts as equal."""


def scanned_systems(cursor: Any, relation: Sql | None, relation_system: str | None) -> tuple[str, ...]:
    """Return those of the systems that need a guard (sqlite and mysql) whose tables a relation reads.

    If the relation cannot be bound, all of these systems that are attached are assumed.

    Args:
        cursor: A cursor that sees committed objects.
        relation: The relation; None for one that no cursor sees. Then MySQL is assumed if one of its databases is
            attached.
        relation_system: The system of the relation itself; None for one of DuckDB, whose plan is inspected.
    """
    if relation_system is not None:
        return (relation_system,) if relation_system in _SCANS else ()
    attached = [system for system in _SCANS if attached_databases.databases(cursor, system)]
    if not attached or relation is None:
        return tuple(system for system in attached if system == "mysql")
    try:
        plan = str(cursor.execute(f"EXPLAIN FROM {relation}").fetchall())
    except Exception:  # a view that cannot be bound here
        return tuple(attached)
    return tuple(system for system in attached if _SCANS[system] in plan)


_SCANS = {"sqlite": "SQLITE_SCAN", "mysql": "MYSQL_SCAN"}
"""Operators by which DuckDB's plan reads a table, by system."""


def guard_condition(cursor: Any, source_name: str, kinds: tuple[str, ...]) -> Sql | None:
    """Return a SQL condition that raises an error in a statement that would not read the source consistently.

    None if none is needed. The errors are MultithreadedScanEnabledError for SQLite and PushdownEnabledError for MySQL.

    Args:
        cursor: A cursor.
        source_name: The name of the source, for the errors.
        kinds: The systems that the source reads.
    """
    cases = []
    if "sqlite" in kinds:
        cases.append(
            f"WHEN NOT {_is_on(_SQLITE_SINGLE_THREAD)} THEN {_error(errors.MultithreadedScanEnabledError(source_name))}"
        )
    settings = _available_settings(cursor, PUSHDOWN_SETTINGS) if "mysql" in kinds else []
    if settings:
        any_pushdown = join_sql((_is_on(name) for name in settings), " OR ")
        cases.append(f"WHEN {any_pushdown} THEN {_error(errors.PushdownEnabledError(source_name, settings))}")
    return Sql(f"(CASE {' '.join(cases)} ELSE true END)") if cases else None


def guarded_relation(relation: Sql, guard: Sql | None) -> Sql:
    """Return SQL of a relation filtered by the guard, a condition that may raise an error; unchanged if it is None."""
    return relation if guard is None else Sql(f"(SELECT * FROM {relation} WHERE {guard})")


def check_isolation(function: str, cursor: Any, source_name: str, kinds: tuple[str, ...], database: str | None) -> None:
    """Check that no MySQL server that a source reads returns uncommitted rows.

    Args:
        function: The called function, for the error.
        cursor: A cursor.
        source_name: The name of the source, for the error.
        kinds: The systems that the source reads. Nothing is checked unless "mysql" is one of them.
        database: The attached database that the source is in; None for a relation of DuckDB, for which all attached
            MySQL databases are checked.

    Raises:
        ReadUncommittedError: The isolation level of a server is READ UNCOMMITTED.
    """
    databases = attached_databases.databases(cursor, "mysql").values() if database is None else [database]
    for name in databases if "mysql" in kinds else ():
        query = f"SELECT * FROM system.main.mysql_query({text(name)}, {text(_ISOLATION)})"
        if any(level == "READ-UNCOMMITTED" for _, level in cursor.execute(query).fetchall()):
            raise errors.ReadUncommittedError(function, source_name, name)


_ISOLATION = "SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')"


def disable_pushdown(cursor: Any) -> None:
    """Switch off all PUSHDOWN_SETTINGS that this DuckDB has, for all sessions.

    MySQL then does not filter, count or sort.
    """
    for name in _available_settings(cursor, PUSHDOWN_SETTINGS):
        cursor.execute(f"SET GLOBAL {name} = false")


def disable_multithreaded_scans(cursor: Any) -> None:
    """Let DuckDB read SQLite on one thread, in all sessions."""
    cursor.execute(f"SET GLOBAL {_SQLITE_SINGLE_THREAD} = true")


def _available_settings(cursor: Any, names: tuple[str, ...]) -> list[str]:
    """Return those of the names that are settings of this DuckDB, sorted."""
    rows = cursor.execute(
        f"SELECT name FROM system.main.duckdb_settings() WHERE name IN ({join_sql(map(text, names))}) ORDER BY ALL ASC"
    ).fetchall()
    return [name for (name,) in rows]


def _is_on(setting: str) -> Sql:
    """Return a SQL condition that a setting is true."""
    return Sql(f"CAST(system.main.current_setting({text(setting)}) AS BOOLEAN)")


def _error(error: errors.DbanonError) -> Sql:
    """Return SQL that raises an error with this message."""
    return Sql(f"system.main.error({text(str(error))})")
