"""Tables of a Spark session by name, and which policy of a session is about each."""

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
    """Return the policy of a session for one table, which is named as Spark's SQL names it.

    Raises:
        TableNotInPolicyError: A policy by table has no entry for the table.
        ConflictingRolesError: It has several.
    """
    place = _place(session, table)
    name = joined_name(_duckdb_parts(place))
    if not isinstance(policy, Mapping):
        return PolicySource(name, policy, hierarchies, "session")
    own = [key for key in policy if isinstance(key, str) and _is_same(session, _place(session, key, place), place)]
    if len(own) > 1:
        raise errors.ConflictingRolesError("anonymize", name, "policy", map(repr, own))
    if not own or policy[own[0]] is None:
        known = [("main", str(key)) for key in policy]
        raise errors.TableNotInPolicyError("anonymize", table, "policy", known)
    return PolicySource(name, policy[own[0]], hierarchies, "table")


def _place(session: SparkSession, name: str, like: Parts | None = None) -> Parts:
    """Catalog, databases and name of a table or view; of a temporary view its name after an empty text.

    The catalog is not asked about a name whose last part is not that of the place `like`.
    """
    try:
        parts = _parsed(session, name)
    except PySparkException:
        return ("", "", name)
    if like is not None and parts[-1].lower() != like[-1].lower():
        return parts
    try:
        found = session.catalog.getTable(name)
    except PySparkException:
        return ("", *parts)
    namespace = tuple(found.namespace or ())
    return ("", *namespace, parts[-1]) if found.isTemporary else (found.catalog or "", *namespace, parts[-1])


def _parsed(session: SparkSession, name: str) -> Parts:
    """Return the parts of a name, as Spark's SQL reads it."""
    parts: Any = session._jsparkSession.sessionState().sqlParser().parseMultipartIdentifier(name)
    return tuple(parts.apply(i) for i in range(parts.size()))


def _is_same(session: SparkSession, one: Parts, other: Parts) -> bool:
    """Return whether Spark's catalog takes two places for one."""
    if str(session.conf.get("spark.sql.caseSensitive")).lower() == "true":
        return one == other
    return tuple(map(str.lower, one)) == tuple(map(str.lower, other))


def _duckdb_parts(place: Parts) -> Parts:
    """Return the schema and the name of a table in a database of DuckDB; it has no word for catalogs of Spark."""
    _, *namespace, name = place
    return (name,) if [part.lower() for part in namespace] in ([], [_DEFAULT_DATABASE]) else (*namespace, name)
