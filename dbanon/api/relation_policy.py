"""Refuse relations of DuckDB and ibis that read a table with a policy: such a table must be named in a call instead."""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbanon import errors
from dbanon.source import stored_policy
from dbanon.source.bound_scans import Scan, bound_scans
from dbanon.source.governed_tables import governed_names_read, governed_tables
from dbanon.sqltext.quote import argument, qualified


def check_relation(function: str, relation: Any) -> None:
    """Raise an error if a relation of DuckDB reads a table or view with a policy, also through other views.

    `function` is the called function, for messages. Nothing is checked if no policy is declared on its connection.

    Raises:
        RelationOverPolicyError: It reads one.
        SourceNotResolvedError: Its tables cannot be determined, and there are policies on its connection.
    """
    connection = _RelationConnection(relation)
    if not stored_policy.has_any_rows(connection):
        return
    scans = bound_scans(connection, f"FROM {connection.name}")
    if scans is None:
        scans = _serialized_scans(connection)
    if scans is None:
        raise errors.SourceNotResolvedError(function, "the relation", *_UNKNOWN_READS)
    governed = governed_names_read(function, "the relation", relation.sql_query(), scans, connection, connection)
    if governed:
        raise errors.RelationOverPolicyError(function, governed[0])


def check_ibis_table(function: str, table: Any) -> None:
    """Raise an error if a table of ibis with the DuckDB backend reads a table or view with a policy.

    `function` is the called function, for messages. Other backends, and connections without a policy, pass.

    Raises:
        RelationOverPolicyError: It reads one.
        SourceNotResolvedError: Its tables cannot be determined, and there are policies on its connection.
    """
    import ibis

    backend = table.get_backend()
    if backend.name != "duckdb" or not stored_policy.has_any_rows(backend.con):
        return
    governed = governed_tables(backend.con, str(ibis.to_sql(table, dialect="duckdb")), function)
    if governed:
        raise errors.RelationOverPolicyError(function, governed[0])


_UNKNOWN_READS = ("cannot be bound by DuckDB", "give the rows as a DataFrame or name a table on its connection")


class _RelationConnection:
    """A replacement for a relation's connection, which Python cannot access.

    Statements run as queries about the relation, in which `name`, a random name, denotes the relation.
    """

    def __init__(self, relation: Any) -> None:
        """Store the relation and choose a random name, by which queries refer to it."""
        self._relation = relation
        self.name = f"dbanon_{uuid.uuid4().hex}"

    def execute(self, query: str, parameters: Any = ()) -> Any:
        """Run a statement on the relation's connection and return the result as a relation.

        Each `?` in the text is replaced by the SQL literal of a parameter.
        """
        first, *pieces = query.split("?")
        values = zip(map(argument, parameters), pieces, strict=True)
        return self._relation.query(self.name, first + "".join(value + piece for value, piece in values))


def _serialized_scans(connection: _RelationConnection) -> tuple[Scan, ...] | None:
    """Return the scans of a relation, read from its serialized plan; None if DuckDB cannot serialize the plan.

    For DuckDB 1, whose relations cannot explain a query about themselves.
    """
    query = f"SELECT system.main.json_serialize_plan('FROM {connection.name}', optimize := false)"
    plan = json.loads(connection.execute(query).fetchall()[0][0])
    return None if plan["error"] else tuple(_plan_scans(plan["plans"]))


def _plan_scans(nodes: Sequence[Mapping[str, Any]]) -> Iterator[Scan]:
    """Yield a `Scan` for each LOGICAL_GET in nodes of a serialized plan and their children, depth first.

    A scan has the name of the scanning function and the qualified name of the table; None if it does not read a table.
    """
    for node in nodes:
        if node["type"] == "LOGICAL_GET":
            table = node.get("function_data") or {}
            name_parts = [table.get(part, "") for part in ("catalog", "schema", "table")]
            yield Scan(str(node.get("name", "")).upper(), str(qualified(*name_parts)) if all(name_parts) else None)
        yield from _plan_scans(node.get("children", ()))
