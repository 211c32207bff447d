"""Find tables of a Spark session by name, and the session's policy about each."""

from collections.abc import Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dbanon import errors
from dbanon.integrations.spark.given_policy import PolicySource
from dbanon.integrations.spark.table_names import joined_name

_DEFAULT_DATABASE = "default"
"""Spark's name of the database that DuckDB calls the schema main."""

Parts = tuple[str, ...]


def policy_source(session: SparkSession, table: str, policy: Any, hierarchies: Mapping[str, Any]) -> PolicySource:
    """Return a session's policy for one table, which is named as in Spark's SQL.

    Args:
        session: The session, whose catalog resolves names.
        table: The name of the table.
        policy: A mapping from table names to policies, or one policy for all tables (returned as it is).
        hierarchies: Hierarchies by name or column, returned unchanged.

    Raises:
        TableNotInPolicyError: `policy` is a mapping without an entry for the table.
        ConflictingRolesError: Several entries name the table.
    """
    location = _table_location(session, table)
    name = joined_name(_duckdb_parts(location))
    if not isinstance(policy, Mapping):
        return PolicySource(name, policy, hierarchies, "session")
    matching_keys = [
        key
        for key in policy
        if isinstance(key, str) and _is_same(session, _table_location(session, key, location), location)
    ]
    if len(matching_keys) > 1:
        raise errors.ConflictingRolesError("anonymize", name, "policy", map(repr, matching_keys))
    if not matching_keys or policy[matching_keys[0]] is None:
        raise errors.TableNotInPolicyError("anonymize", table, "policy", [("main", str(key)) for key in policy])
    return PolicySource(name, policy[matching_keys[0]], hierarchies, "table")


def _table_location(session: SparkSession, name: str, similar: Parts | None = None) -> Parts:
    """Return the location of a table in Spark: (catalog, databases..., name).

    - A temporary view has the catalog "".
    - A table that the catalog does not find has the catalog "" and the parts of its name.
    - A text that is no name is returned as ("", "", text).
    - If the name differs from that of `similar`, only the parts of the name are returned.

    Args:
        session: The session, whose catalog resolves names.
        name: The name of the table, as in Spark's SQL.
        similar: A location to compare with: if its last part is another name, the catalog is not queried.
    """
    try:
        parts = _parse_name(session, name)
    except PySparkException:
        return ("", "", name)
    if similar is not None and parts[-1].lower() != similar[-1].lower():
        return parts
    try:
        table = session.catalog.getTable(name)
    except PySparkException:
        return ("", *parts)
    namespace = tuple(table.namespace or ())
    return ("", *namespace, parts[-1]) if table.isTemporary else (table.catalog or "", *namespace, parts[-1])


def _parse_name(session: SparkSession, name: str) -> Parts:
    """Return the parts of a table name, without quotes, as Spark's SQL parser reads it."""
    parts: Any = session._jsparkSession.sessionState().sqlParser().parseMultipartIdentifier(name)
    return tuple(parts.apply(i) for i in range(parts.size()))


def _is_same(session: SparkSession, first: Parts, second: Parts) -> bool:
    """Return whether two locations are equal, without regard to case unless spark.sql.caseSensitive is true."""
    if str(session.conf.get("spark.sql.caseSensitive")).lower() == "true":
        return first == second
    return tuple(map(str.lower, first)) == tuple(map(str.lower, second))


def _duckdb_parts(location: Parts) -> Parts:
    """Return the databases and the name of a location, without Spark's catalog; "default" as only database is omitted.

    In DuckDB these are the schema and name of the table; its schema `main` corresponds to Spark's database `default`.
    """
    _, *namespace, name = location
    return (name,) if [part.lower() for part in namespace] in ([], [_DEFAULT_DATABASE]) else (*namespace, name)
