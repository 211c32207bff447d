"""What a view or a table of another system reads, of those systems that tell."""

from typing import Any

from dbanon.source import attached_databases, mysql, postgres


def reads(cursor: Any, place: attached_databases.Place, parents: bool = False) -> list[attached_databases.Place]:
    """What a view reads, also through other views, and the parts of a table; `parents`: also the tables that one is a
    part of. Itself is not among them; of tables of DuckDB and SQLite there is nothing."""
    of = attached_databases.kind(cursor, place[0])
    if of == "postgres":
        return postgres.reads(cursor, place, parents)
    return mysql.reads(cursor, place) if of == mysql.KIND else []
