"""What dbanon.relation says of two tables: by which columns rows of one are about people of the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dbanon.source import catalog, stored_policy
from dbanon.sqltext.qualify_builtins import bound
from dbanon.sqltext.quote import Sql, qualified, text

Pairs = tuple[tuple[str, str], ...]
"""Columns of a table with the columns of the table of people that they name."""


@dataclass(frozen=True)
class Row:
    """One row of dbanon.relation as it is stored; `pairs` are its columns, as they are spelled there."""

    schema: str
    table: str
    entity_schema: str
    entity: str
    pairs: Pairs

    def is_about(self, child: catalog.Source, entity: catalog.Source) -> bool:
        """Return whether it relates these two tables of one database."""
        return stored_policy.is_about(child, self.schema, self.table) and stored_policy.is_about(
            entity, self.entity_schema, self.entity
        )


class Stored(NamedTuple):
    """What is said of two tables: each key once, in lower case as far as columns go, and SQL for a fingerprint of the
    rows with its value when they were read."""

    keys: tuple[Pairs, ...]
    fingerprint_sql: Sql
    fingerprint: str


def rows(cursor: catalog.Cursor, database: str) -> list[Row]:
    """Return all rows of a database; none where it has no such table yet."""
    if not catalog.has_table(cursor, database, "relation"):
        return []
    found = cursor.execute(
        "SELECT schema_name, table_name, entity_schema, entity_name, key, coalesce(entity_key, key) "
        f"FROM {qualified(database, catalog.SCHEMA, 'relation')} "
        "ORDER BY schema_name ASC, table_name ASC, entity_schema ASC, entity_name ASC"
    ).fetchall()
    return [Row(a, b, c, d, _pairs(own, theirs)) for a, b, c, d, own, theirs in found]


def of_tables(cursor: catalog.Cursor, child: catalog.Source, entity: catalog.Source) -> Stored:
    """What is said of a table and the table of people. Only tables with their policies in one database are related."""
    if child.home != entity.home:
        return Stored((), text(""), "")
    about = [row.pairs for row in rows(cursor, child.home) if row.is_about(child, entity)]
    keys = {frozenset((own.lower(), theirs.lower()) for own, theirs in pairs): pairs for pairs in about}
    sql = _fingerprint_sql(cursor, child, entity)
    return Stored(tuple(keys.values()), sql, cursor.execute(f"SELECT {sql}").fetchall()[0][0])


def _pairs(own: Sequence[str | None], theirs: Sequence[str | None]) -> Pairs:
    """Return a name that is NULL is the name of no column."""
    return tuple((a or "", b or "") for a, b in zip(own, theirs, strict=True))


def _fingerprint_sql(cursor: catalog.Cursor, child: catalog.Source, entity: catalog.Source) -> Sql:
    """Return a scalar subquery that changes when the rows about two tables do, and with few others."""
    if not catalog.has_table(cursor, child.home, "relation"):
        return bound(
            "(SELECT count(*)::VARCHAR FROM duckdb_tables() WHERE (database_name, schema_name, table_name) = "
            f"({text(child.home)}, {text(catalog.SCHEMA)}, 'relation'))"
        )
    near = f"{stored_policy.contained((child.table,))} AND "
    near += stored_policy.contained((entity.table,), "entity_name")
    return bound(
        "(SELECT coalesce(md5(string_agg(line, chr(10) ORDER BY line COLLATE POSIX ASC)), '') FROM (SELECT "
        f"r::VARCHAR AS line FROM {qualified(child.home, catalog.SCHEMA, 'relation')} AS r WHERE {near}) AS rows)"
    )
