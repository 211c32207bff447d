"""Which tables a view reads, as far as its text names them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dbanon import catalog, names
from dbanon.catalog import Source
from dbanon.quote import Sql

_HEAD = re.compile(r'(?:"(?:[^"]|"")*"|[^"])*?\sAS\s', re.DOTALL | re.IGNORECASE)
"""What stands before the query in CREATE VIEW."""


def declared_table(source: Source, cursor: Any) -> str | None:
    """A table or view with a policy that a view reads, itself or through other views; None for what is no view.

    A name that may be several tables is all of them. Tables that are only named in a text (`query_table('t')`) are not
    found.
    """
    return next(_declared((source.database, source.schema, source.table), cursor, set()), None)


def _declared(view: tuple[str, str, str], cursor: Any, seen: set[tuple[str, str, str]]) -> Iterator[str]:
    for relation in _read_by(view, cursor):
        if relation in seen:
            continue
        seen.add(relation)
        shown = ".".join(relation)
        if catalog.policy_rows(Source(shown, Sql(""), {}, *relation), cursor):
            yield shown
        yield from _declared(relation, cursor, seen)


def _read_by(view: tuple[str, str, str], cursor: Any) -> list[tuple[str, str, str]]:
    """The stored tables and views that a view names; none for a table."""
    found = cursor.execute(
        "SELECT sql FROM system.main.duckdb_views() "
        "WHERE (database_name, schema_name, view_name) = (?, ?, ?) AND NOT internal",
        list(view),
    ).fetchall()
    head = _HEAD.match(found[0][0]) if found else None
    if head is None:
        return []
    try:
        named = cursor.get_table_names(found[0][0][head.end() :], qualified=True)
    except Exception:  # DuckDB cannot read the view either
        return []
    wanted = [tuple(part.lower() for part in parts) for parts in map(names.table_parts, named) if parts]
    relations = [r for database in {view[0], *_databases(cursor)} for r in catalog.relations(cursor, database)]
    return [r for r in relations if any(_may_be(parts, r) for parts in wanted)]


def _databases(cursor: Any) -> list[str]:
    rows = cursor.execute("SELECT database_name FROM system.main.duckdb_databases() WHERE NOT internal").fetchall()
    return [row[0] for row in rows]


def _may_be(parts: tuple[str, ...], relation: tuple[str, str, str]) -> bool:
    """Whether a name with one to three parts can mean a relation."""
    database, schema, table = (part.lower() for part in relation)
    if parts[-1] != table:
        return False
    before = parts[:-1]
    return before in ((), (schema,), (database, schema)) or (before == (database,) and schema == "main")
