"""That what is in another system is read as it is at one moment, and compared by DuckDB alone: its settings say so.

A setting can be one of the session alone, which no cursor of ours sees: a statement asks itself where it reads.
"""

from typing import Any

from dbanon import errors
from dbanon.source import attached_databases
from dbanon.sqltext.quote import Sql, joined, text

_THREADS = "sqlite_disable_multithreaded_scans"

PUSHES = (
    "mysql_aggregate_pushdown_enabled",
    "mysql_enable_predicate_analyzer",
    "mysql_experimental_filter_pushdown",
    "mysql_order_pushdown_enabled",
)
"""Settings by which DuckDB lets MySQL filter, count and sort, for which texts are equal that differ."""


def kinds(cursor: Any, relation: Sql | None, of: str | None) -> tuple[str, ...]:
    """The systems whose tables are read with a relation: that which it is `of`, or those that DuckDB would scan for it.
    Of one that no cursor sees (None) this is not known: MySQL, where a database of it is attached."""
    if of is not None:
        return (of,) if of in _SCANS else ()
    attached = [kind for kind in _SCANS if attached_databases.databases(cursor, kind)]
    if not attached or relation is None:
        return tuple(kind for kind in attached if kind == "mysql")
    try:
        plan = str(cursor.execute(f"EXPLAIN FROM {relation}").fetchall())
    except Exception:  # a view that cannot be bound here
        return tuple(attached)
    return tuple(kind for kind in attached if _SCANS[kind] in plan)


_SCANS = {"sqlite": "SQLITE_SCAN", "mysql": "MYSQL_SCAN"}
"""What DuckDB's plan calls the reading of a table."""


def guard(cursor: Any, shown: str, kinds: tuple[str, ...]) -> Sql | None:
    """What holds in a statement that reads such a relation well, and ends another: MultithreadedScanEnabledError,
    PushdownEnabledError.

    None where that is any.
    """
    said = []
    if "sqlite" in kinds:
        said.append(f"WHEN NOT {_is_on(_THREADS)} THEN {_error(errors.MultithreadedScanEnabledError(shown))}")
    known = _known(cursor, PUSHES) if "mysql" in kinds else []
    if known:
        pushes = joined((_is_on(name) for name in known), " OR ")
        said.append(f"WHEN {pushes} THEN {_error(errors.PushdownEnabledError(shown, known))}")
    return Sql(f"(CASE {' '.join(said)} ELSE true END)") if said else None


def read(relation: Sql, guard: Sql | None) -> Sql:
    """Return a relation that is read where that holds."""
    return relation if guard is None else Sql(f"(SELECT * FROM {relation} WHERE {guard})")


def check(function: str, cursor: Any, shown: str, kinds: tuple[str, ...], database: str | None) -> None:
    """ReadUncommittedError where a server of MySQL shows what is not committed.

    Of a relation of DuckDB (None) all count.
    """
    asked = attached_databases.databases(cursor, "mysql").values() if database is None else [database]
    for name in asked if "mysql" in kinds else ():
        query = f"SELECT * FROM system.main.mysql_query({text(name)}, {text(_ISOLATION)})"
        if any(level == "READ-UNCOMMITTED" for _, level in cursor.execute(query).fetchall()):
            raise errors.ReadUncommittedError(function, shown, name)


_ISOLATION = "SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')"


def leave_to_duckdb(cursor: Any) -> None:
    """Set all of PUSHES that this DuckDB has, for all sessions."""
    for name in _known(cursor, PUSHES):
        cursor.execute(f"SET GLOBAL {name} = false")


def _known(cursor: Any, names: tuple[str, ...]) -> list[str]:
    rows = cursor.execute(
        f"SELECT name FROM system.main.duckdb_settings() WHERE name IN ({joined(map(text, names))}) ORDER BY ALL ASC"
    ).fetchall()
    return [name for (name,) in rows]


def _is_on(setting: str) -> Sql:
    return Sql(f"CAST(system.main.current_setting({text(setting)}) AS BOOLEAN)")


def _error(error: errors.DbanonError) -> Sql:
    return Sql(f"system.main.error({text(str(error))})")
