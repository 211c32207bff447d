"""Find the functions that the text of a view calls, directly or through views and macros."""

from itertools import zip_longest
from typing import Any

from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.tokenizer import code_tokens


def called_and_other_names(text: str) -> tuple[set[str], set[str]]:
    """Return the lower-case names in a SQL statement: those that are called as functions, and all others."""
    called, others = set[str](), set[str]()
    tokens = code_tokens(text)
    for token, following in zip_longest(tokens, tokens[1:]):
        if token.kind in ("word", "quoted"):
            (called if following and following.text == "(" else others).add(token.name.lower())
    return called, others


def view_calls_function(function: str, view: tuple[str, str, str], cursor: Any) -> bool:
    """Return whether a view calls the function, directly or through views and macros.

    Every name in the text that is not called is taken for a view that may be read. False if there is no view `view`
    (database, schema, name).
    """
    rows = cursor.execute(
        "SELECT sql FROM system.main.duckdb_views() WHERE database_name = ? AND schema_name = ? AND view_name = ?",
        list(view),
    ).fetchall()
    texts, visited = [row[0] for row in rows], set[str]()
    while texts:
        text = texts.pop()
        if text is None or text in visited:
            continue
        visited.add(text)
        called, others = called_and_other_names(text)
        if function.lower() in called:
            return True
        texts += [*macro_definitions(called, cursor), *_view_statements(others, cursor)]
    return False


def macro_definitions(macro_names: set[str], cursor: Any) -> list[str]:
    """Return the definitions of the macros of these lower-case names, and of the macros that they call."""
    definitions: list[str] = []
    visited: set[str] = set()
    while new := macro_names - visited:
        visited |= new
        rows = cursor.execute(
            qualify_builtins(
                "SELECT macro_definition FROM duckdb_functions() "
                "WHERE NOT internal AND macro_definition IS NOT NULL AND lower(function_name) IN (SELECT unnest(?))"
            ),
            [list(new)],
        ).fetchall()
        definitions += [row[0] for row in rows]
        macro_names = set[str]().union(*(called_and_other_names(row[0])[0] for row in rows))
    return definitions


def _view_statements(view_names: set[str], cursor: Any) -> list[str]:
    """Return the CREATE statements of the stored views of these lower-case names, in any schema."""
    rows = cursor.execute(
        qualify_builtins(
            "SELECT sql FROM duckdb_views() WHERE NOT internal AND lower(view_name) IN (SELECT unnest(?))"
        ),
        [list(view_names)],
    ).fetchall()
    return [row[0] for row in rows]
