"""Which tables a view reads, as far as its text names them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dbanon.source import beneath, catalog, foreign, stored_policy, view_text
from dbanon.source.catalog import Source
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, identifier

_HEAD = re.compile(r'(?:"(?:[^"]|"")*"|[^"])*?\sAS\s', re.DOTALL | re.IGNORECASE)
"""What stands before the query in CREATE VIEW."""


def declared_table(source: Source, cursor: Any, temporary: Mapping[str, str]) -> str | None:
    """A table or view with a policy that a view reads, itself or through other views; None for what is no view.

    A name that may be several tables is all of them. Tables that are only named in a text (`query_table('t')`) are not
    found.
    """
    view = (source.database, source.schema, source.table)
    if source.sql == identifier(source.table) and source.table.lower() in temporary:
        view = (_TEMPORARY, "main", source.table.lower())
    return next(_declared(view, cursor, set(), temporary, source.home), None)


_TEMPORARY = "temp"
"""Where temporary views are, which the planner is told of: their statements by lower-case name."""


def _declared(
    view: tuple[str, str, str],
    cursor: Any,
    seen: set[tuple[str, str, str]],
    temporary: Mapping[str, str],
    home: str,
) -> Iterator[str]:
    for relation in _read_by(view, cursor, temporary):
        if relation in seen:
            continue
        seen.add(relation)
        shown = ".".join(relation)
        if relation[0] != _TEMPORARY and _has_policy(relation, cursor, home):
            yield shown
        yield from _declared(relation, cursor, seen, temporary, home)


def _has_policy(relation: tuple[str, str, str], cursor: Any, home: str) -> bool:
    shown = ".".join(relation)
    found = foreign.of(shown, cursor, relation, home)
    return bool(stored_policy.policy_rows(Source(shown, Sql(""), {}, *relation, foreign=found), cursor))


def _read_by(view: tuple[str, str, str], cursor: Any, temporary: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The stored tables and views that a view names; none for a table, unless its system knows what it is a part of."""
    if view[0] != _TEMPORARY and (read := beneath.reads(cursor, view, parents=True)):
        return read
    found = (
        [(temporary[view[2]],)]
        if view[0] == _TEMPORARY
        else cursor.execute(
            "SELECT sql FROM system.main.duckdb_views() "
            "WHERE (database_name, schema_name, view_name) = (?, ?, ?) AND NOT internal",
            list(view),
        ).fetchall()
    )
    head = _HEAD.match(found[0][0]) if found else None
    if head is None:
        return []
    query = found[0][0][head.end() :]
    macros = view_text.macros(view_text.words(query)[0], cursor)
    wanted = [parts for text in (query, *macros) for parts in _named(text, cursor)]
    relations = [r for database in {view[0], *_databases(cursor)} for r in catalog.relations(cursor, database)]
    relations += [(_TEMPORARY, "main", name) for name in temporary if view[0] == _TEMPORARY]
    open_to = set(foreign.databases(cursor, "mysql").values())  # whose connection says which schema a bare name means
    return [r for r in relations if any(_may_be(parts, r, r[0] in open_to) for parts in wanted)]


def _named(query: str, cursor: Any) -> Iterator[tuple[str, ...]]:
    """The names, in lower-case parts, that a query reads; every word of one that DuckDB cannot read here."""
    try:
        named = cursor.get_table_names(query, qualified=True)
    except Exception:
        yield from ((word,) for word in view_text.words(query)[1])
        return
    for table in named:
        if parts := names.read_parts(table):
            yield tuple(part.lower() for part in parts)


def _databases(cursor: Any) -> list[str]:
    rows = cursor.execute("SELECT database_name FROM system.main.duckdb_databases() WHERE NOT internal").fetchall()
    return [row[0] for row in rows]


def _may_be(parts: tuple[str, ...], relation: tuple[str, str, str], is_open: bool) -> bool:
    """Whether a name with one to three parts can mean a relation; `is_open`: two parts are in any schema."""
    database, schema, table = (part.lower() for part in relation)
    if parts[-1] != table:
        return False
    before = parts[:-1]
    return before in ((), (schema,), (database, schema)) or (
        before == (database,) and (is_open or schema in ("main", "public"))
    )
