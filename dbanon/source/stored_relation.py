"""Stored relations (dbanon.relation): by which columns rows of one table are about people of the entity table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dbanon.source import catalog, stored_policy
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, qualified, text

ColumnPairs = tuple[tuple[str, str], ...]
"""Columns of a table with the columns of the entity table that they reference."""


@dataclass(frozen=True)
class RelationRow:
    """One row of dbanon.relation as it is stored; `pairs` are the columns of its key, spelled as there.

    `schema` and `table` name the table of rows, `entity_schema` and `entity` the table of people.
    """

    schema: str
    table: str
    entity_schema: str
    entity: str
    pairs: ColumnPairs

    def is_about(self, child: catalog.Source, entity: catalog.Source) -> bool:
        """Return whether the row relates these two tables, which must have the same home database.

        `child` is the table of rows, `entity` the table of people.
        """
        return stored_policy.is_about(child, self.schema, self.table) and stored_policy.is_about(
            entity, self.entity_schema, self.entity
        )


class StoredKeys(NamedTuple):
    """The distinct keys that relate two tables, SQL for a fingerprint of the rows, and its value when they were read.

    Keys that differ only in the case of names or the order of columns are equal.
    """

    keys: tuple[ColumnPairs, ...]
    fingerprint_sql: Sql
    fingerprint: str


def relation_rows(cursor: catalog.Cursor, database: str) -> list[RelationRow]:
    """Return all rows of dbanon.relation in a database, sorted by tables; none if it has no such table yet."""
    if not catalog.has_table(cursor, database, "relation"):
        return []
    result = cursor.execute(
        "SELECT schema_name, table_name, entity_schema, entity_name, key, coalesce(entity_key, key) "
        f"FROM {qualified(database, catalog.SCHEMA, 'relation')} "
        "ORDER BY schema_name ASC, table_name ASC, entity_schema ASC, entity_name ASC"
    ).fetchall()
    return [RelationRow(a, b, c, d, _pairs(columns, entity_columns)) for a, b, c, d, columns, entity_columns in result]


def stored_keys(cursor: catalog.Cursor, child: catalog.Source, entity: catalog.Source) -> StoredKeys:
    """Return the keys that dbanon.relation declares between a table and the entity table, with a fingerprint.

    No keys if their policies are in different databases.

    `child` is the table of rows, `entity` the table of people.
    """
    if child.home != entity.home:
        return StoredKeys((), text(""), "")
    matching_pairs = [row.pairs for row in relation_rows(cursor, child.home) if row.is_about(child, entity)]
    keys = {
        frozenset((fold_case(column), fold_case(entity_column)) for column, entity_column in pairs): pairs
        for pairs in matching_pairs
    }
    sql = _fingerprint_sql(cursor, child, entity)
    return StoredKeys(tuple(keys.values()), sql, cursor.execute(f"SELECT {sql}").fetchall()[0][0])


def _pairs(columns: Sequence[str | None], entity_columns: Sequence[str | None]) -> ColumnPairs:
    """Return the columns of a key as pairs; NULL becomes "", which is the name of no column.

    Raises:
        ValueError: The numbers of columns differ.
    """
    return tuple((a or "", b or "") for a, b in zip(columns, entity_columns, strict=True))


def _fingerprint_sql(cursor: catalog.Cursor, child: catalog.Source, entity: catalog.Source) -> Sql:
    """Return a scalar subquery whose value changes when the rows of dbanon.relation about two tables change.

    A change of other rows with similar names can change it, too. Without a table dbanon.relation it changes when one is
    created. `child` is the table of rows, `entity` the table of people.
    """
    if not catalog.has_table(cursor, child.home, "relation"):
        return qualify_builtins(
            "(SELECT count(*)::VARCHAR FROM duckdb_tables() WHERE (database_name, schema_name, table_name) = "
            f"({text(child.home)}, {text(catalog.SCHEMA)}, 'relation'))"
        )
    near = f"{stored_policy.name_condition((child.table,))} AND "
    near += stored_policy.name_condition((entity.table,), "entity_name")
    return qualify_builtins(
        "(SELECT coalesce(md5(string_agg(line, chr(10) ORDER BY line COLLATE POSIX ASC)), '') FROM (SELECT "
        f"r::VARCHAR AS line FROM {qualified(child.home, catalog.SCHEMA, 'relation')} AS r WHERE {near}) AS rows)"
    )
