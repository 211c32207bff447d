"""Find the functions that the text of a view calls, directly or through views and macros."""

from collections.abc import Collection
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
    texts, visited = view_statement(view, cursor), set[str]()
    while texts:
        text = texts.pop()
        if text is None or text in visited:
            continue
        visited.add(text)
        called, others = called_and_other_names(text)
        if function.lower() in called:
            return True
        texts += [*macro_definitions(called, cursor), *view_statements(others, cursor)]
    return False


def view_statement(view: tuple[str, str, str], cursor: Any) -> list[str | None]:
    """Return the CREATE statement of a stored view (database, schema, name): one element, or none if there is no view.

    The element is None for a view without a text.
    """
    rows = cursor.execute(
        "SELECT sql FROM system.main.duckdb_views() WHERE NOT internal AND database_name = ? AND schema_name = ? "
        "AND view_name = ?",
        list(view),
    ).fetchall()
    return [statement for (statement,) in rows]


def view_statements(view_names: Collection[str], cursor: Any) -> list[str | None]:
    """Return the CREATE statements of all stored views of these names, in any schema; None for one without a text.

    Case does not matter.
    """
    return _stored_texts("SELECT sql FROM duckdb_views() WHERE NOT internal AND lower(view_name)", view_names, cursor)


def macro_definitions(macro_names: Collection[str], cursor: Any) -> list[str | None]:
    """Return the definitions of all macros of these names, stored or temporary to the cursor.

    Case does not matter.
    """
    query = "SELECT macro_definition FROM duckdb_functions() WHERE NOT internal AND macro_definition IS NOT NULL"
    return _stored_texts(f"{query} AND lower(function_name)", macro_names, cursor)


def _stored_texts(query: str, lower_names: Collection[str], cursor: Any) -> list[str | None]:
    """Return the texts that a query finds, which ends with the column that is compared with the names."""
    if not lower_names:
        return []
    rows = cursor.execute(qualify_builtins(f"{query} IN (SELECT lower(unnest(?)))"), [list(lower_names)]).fetchall()
    return [text for (text,) in rows]
