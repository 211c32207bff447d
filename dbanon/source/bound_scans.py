"""The tables that a query reads, as DuckDB binds it: through views, macros, `query_table` and subqueries."""

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbanon.sqltext import names
from dbanon.sqltext.quote import text

_PLAN = "logical_plan"
"""The name in EXPLAIN of the plan before the optimizer drops scans whose rows are not needed."""


@dataclass(frozen=True)
class Scan:
    """A leaf of a bound query plan: the operator, and the name of the table that it reads (None: it reads no table).

    Tables of DuckDB databases are named `database.schema.table`, quoted where necessary; those of other systems as the
    extension for the system names them.
    """

    operator: str
    table: str | None = None

    @property
    def place(self) -> tuple[str, str, str] | None:
        """Database, schema and name of the DuckDB table that the leaf reads; None for all other leaves."""
        parts = names.table_parts(self.table or "")
        return (parts[0], parts[1], parts[2]) if self.operator == "SEQ_SCAN" and parts and len(parts) == 3 else None


def bound_scans(
    connection: Any,
    query: str,
    parameters: Sequence[object] | Mapping[str, object] | None = None,
    search_path: str | None = None,
) -> tuple[Scan, ...] | None:
    """Return the leaves of a query's plan before optimization; None if DuckDB cannot bind the query here.

    The query is bound on `connection` and does not run: the connection's temporary objects, open transaction and search
    path count. Errors are not raised.

    Args:
        connection: The connection. One setting of it is changed and restored.
        query: The query.
        parameters: Values of the query's parameters.
        search_path: A search path that is set on the connection and not restored; None to keep its own.
    """
    try:
        if search_path is not None:
            connection.execute(f"SET search_path = {text(search_path)}")
        with _all_plans(connection):
            explain = f"EXPLAIN (FORMAT json) {query}"
            result = connection.execute(explain) if parameters is None else connection.execute(explain, parameters)
            plans = dict(result.fetchall())
        return tuple(_leaves(json.loads(plans[_PLAN]))) if _PLAN in plans else None
    except Exception:  # whatever is wrong with the query, the statement that runs it reports it
        return None


def scans_on_paths(cursor: Any, query: str, search_paths: Iterable[str]) -> tuple[Scan, ...] | None:
    """Return the leaves of a query's plans on all of some search paths; None if DuckDB can bind it on none of them.

    The leaves of different paths are combined, without duplicates. Uses a copy of the cursor.
    """
    with cursor.cursor() as binder:
        bound = [bound_scans(binder, query, search_path=path) for path in search_paths]
    if all(scans is None for scans in bound):
        return None
    return tuple(dict.fromkeys(scan for scans in bound for scan in scans or ()))


@contextlib.contextmanager
def _all_plans(connection: Any) -> Iterator[None]:
    """Let EXPLAIN on this connection show the plan before optimization within the block.

    The setting `explain_output` is restored at the end of the block.
    """
    previous = connection.execute("SELECT system.main.current_setting('explain_output')").fetchall()[0][0]
    connection.execute("SET explain_output = 'all'")
    try:
        yield
    finally:
        connection.execute(f"SET explain_output = {text(str(previous))}")


def _leaves(nodes: Sequence[Mapping[str, Any]]) -> Iterator[Scan]:
    """Yield the leaves of the plans in the JSON of EXPLAIN, in order, as scans."""
    for node in nodes:
        if node["children"]:
            yield from _leaves(node["children"])
        else:
            table = node.get("extra_info", {}).get("Table")
            yield Scan(node["name"].strip().upper(), table if isinstance(table, str) else None)
