"""Whether a view calls a function, itself or through the views and macros that it reads."""

from __future__ import annotations

import re
from typing import Any

from dbanon import names
from dbanon.builtin import bound

_SAID = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
"""Texts and comments, where a name calls nothing."""

_CALLED = re.compile(r'(?:"((?:[^"]|"")+)"|([^\W\d][\w$]*))\s*\(')

_QUERY = re.compile(r'(?:"(?:[^"]|"")*"|[^"])*?\sAS\s', re.DOTALL | re.IGNORECASE)
"""What stands before the query in CREATE VIEW."""


def calls(function: str, view: tuple[str, str, str], cursor: Any) -> bool:
    """Whether the view calls the function. A name that may be several views or macros is all of them."""
    rows = cursor.execute(
        "SELECT sql FROM system.main.duckdb_views() WHERE (database_name, schema_name, view_name) = (?, ?, ?)",
        list(view),
    ).fetchall()
    texts, seen = [row[0] for row in rows], set[str]()
    while texts:
        text = texts.pop()
        if text is None or text in seen:
            continue
        seen.add(text)
        called = {(quoted or bare).lower() for quoted, bare in _CALLED.findall(_SAID.sub(" ", text))}
        if function.lower() in called:
            return True
        texts += [*_macros(called, cursor), *_views(text, cursor)]
    return False


def _macros(named: set[str], cursor: Any) -> list[str]:
    """What the macros of these names stand for."""
    if not named:
        return []
    rows = cursor.execute(
        bound(
            "SELECT macro_definition FROM duckdb_functions() "
            "WHERE NOT internal AND macro_definition IS NOT NULL AND lower(function_name) IN (SELECT unnest(?))"
        ),
        [list(named)],
    ).fetchall()
    return [row[0] for row in rows]


def _views(text: str, cursor: Any) -> list[str]:
    """The views that a query, or CREATE VIEW, reads."""
    head = _QUERY.match(text) if text[:7].upper() == "CREATE " else None
    query = text[head.end() :] if head else text
    named = _named(query, cursor) or _named(f"SELECT {query}", cursor)  # a macro may stand for a value
    rows = cursor.execute(
        bound("SELECT sql FROM duckdb_views() WHERE NOT internal AND lower(view_name) IN (SELECT unnest(?))"),
        [[parts[-1].lower() for parts in map(names.table_parts, named) if parts]],
    ).fetchall()
    return [row[0] for row in rows]


def _named(query: str, cursor: Any) -> set[str]:
    """The tables and views that a query names; none where DuckDB cannot read it."""
    try:
        found: set[str] = cursor.get_table_names(query, qualified=True)
    except Exception:
        return set()
    return found
