"""What the text of a view calls and names: whether it calls a function, itself or through views and macros."""

from itertools import zip_longest
from typing import Any

from dbanon.sqltext.qualify_builtins import bound
from dbanon.sqltext.tokenizer import code_tokens


def words(text: str) -> tuple[set[str], set[str]]:
    """Return the names in a statement, in lower case: those that are called, and all others."""
    called, others = set[str](), set[str]()
    found = code_tokens(text)
    for token, following in zip_longest(found, found[1:]):
        if token.kind in ("word", "quoted"):
            (called if following and following.text == "(" else others).add(token.name.lower())
    return called, others


def calls(function: str, view: tuple[str, str, str], cursor: Any) -> bool:
    """Return whether the view calls the function. Every word of a view may be a view that it reads."""
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
        called, others = words(text)
        if function.lower() in called:
            return True
        texts += [*macros(called, cursor), *_views(others, cursor)]
    return False


def macros(named: set[str], cursor: Any) -> list[str]:
    """What the macros of these names stand for, those in their definitions too."""
    found: list[str] = []
    seen: set[str] = set()
    while new := named - seen:
        seen |= new
        rows = cursor.execute(
            bound(
                "SELECT macro_definition FROM duckdb_functions() "
                "WHERE NOT internal AND macro_definition IS NOT NULL AND lower(function_name) IN (SELECT unnest(?))"
            ),
            [list(new)],
        ).fetchall()
        found += [row[0] for row in rows]
        named = set[str]().union(*(words(row[0])[0] for row in rows))
    return found


def _views(named: set[str], cursor: Any) -> list[str]:
    """Return the statements that made the views of these names."""
    rows = cursor.execute(
        bound("SELECT sql FROM duckdb_views() WHERE NOT internal AND lower(view_name) IN (SELECT unnest(?))"),
        [list(named)],
    ).fetchall()
    return [row[0] for row in rows]
