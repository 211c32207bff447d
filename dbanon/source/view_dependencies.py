"""The tables that a view or a table of another system reads, for systems that report it."""

from typing import Any

from dbanon.source import attached_databases, mysql, postgres


def tables_read(cursor: Any, place: attached_databases.Place, parents: bool = False) -> list[attached_databases.Place]:
    """Return the tables that a view of another system reads, also through other views, and the partitions of a table.

    Partitions are found in PostgreSQL only, and with `parents` also the tables of which the relation is a partition.
    The relation itself is not included. Empty for DuckDB and SQLite, which do not report this.

    `place` is database, schema and name of the view or table.
    """
    kind = attached_databases.database_kind(cursor, place[0])
    if kind == "postgres":
        return postgres.tables_read(cursor, place, parents)
    return mysql.tables_read(cursor, place) if kind == mysql.KIND else []
