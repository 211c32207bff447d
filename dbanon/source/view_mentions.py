"""Names that may determine what a view reads or calls: those in its text, and in the texts of its views and macros."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from dbanon.sqltext import names
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.tokenizer import code_tokens

_READS_BY_TEXT = frozenset({"query", "query_table"})
"""Functions of DuckDB that read the table whose name is in a text."""

_LITERAL = re.compile(r"'((?:[^']|'')*)'")

_HEAD = re.compile(r'(?:"(?:[^"]|"")*"|[^"])*?\sAS\s', re.DOTALL | re.IGNORECASE)
"""The part of CREATE VIEW before the query."""


@dataclass(frozen=True)
class Mentions:
    """The unqualified, case-folded names that a view or query mentions, also through views and macros.

    Attributes:
        relations: Names of relations that the view or query may read; that of a view itself is included.
        functions: Names of functions that the view or query calls.
        literals: All SQL string literals in it.
        is_complete: False if DuckDB has no text of a view that is mentioned.
        texts: The queries themselves, including those of views and macros.
    """

    relations: frozenset[str]
    functions: frozenset[str]
    literals: frozenset[str]
    is_complete: bool
    texts: frozenset[str] = frozenset()


def view_mentions(view: tuple[str, str, str], cursor: Any, temporary: Mapping[str, str]) -> Mentions | None:
    """Return the names that a view mentions, also through views and macros; None if it is no view.

    Args:
        view: Database (`temp` for a temporary view), schema and name.
        cursor: A cursor that sees committed objects.
        temporary: Statements of the caller's temporary views by folded name.
    """
    is_temporary = view[0] == "temp" and view[2] in temporary
    statements = [temporary[view[2]]] if is_temporary else view_statement(view, cursor)
    return text_mentions(statements, cursor, temporary, view[2]) if statements else None


def temporary_views(connection: Any) -> dict[str, str]:
    """Return the CREATE statements of the connection's temporary views by case-folded name."""
    rows = connection.execute(
        "SELECT view_name, sql FROM system.main.duckdb_views() WHERE database_name = 'temp' AND NOT internal"
    ).fetchall()
    return {names.fold_case(name): statement for name, statement in rows}


def text_mentions(
    statements: Iterable[str | None], cursor: Any, temporary: Mapping[str, str], name: str | None = None
) -> Mentions:
    """Return the names that SQL statements mention, also through the views and macros that the statements name.

    Args:
        statements: The statements; None for one whose text DuckDB does not have.
        cursor: A cursor that sees committed objects.
        temporary: Statements of the caller's temporary views by folded name.
        name: The view that the statements define; it is among the relations. None if they define none.
    """
    relations = set() if name is None else {names.fold_case(name)}
    functions, literals, visited, queries = set[str](), set[str](), set[str](), set[str]()
    texts, is_complete = list(statements), True
    while texts:
        statement = texts.pop()
        if not statement:
            is_complete = False
        if not statement or statement in visited:
            continue
        visited.add(statement)
        head = _HEAD.match(statement) if statement[:6].upper() == "CREATE" else None
        query = statement[head.end() :] if head else statement
        queries.add(query)
        called = {names.fold_case(word) for word in called_and_other_names(query)[0]}
        mentioned = set(_relation_names(query, called, cursor))
        literals |= {mention.replace("''", "'") for mention in _LITERAL.findall(query)}
        texts += [
            *view_statements(mentioned - relations, cursor),
            *macro_definitions(called - functions, cursor),
            *(temporary[mention] for mention in mentioned & temporary.keys()),
        ]
        relations |= mentioned
        functions |= called
    return Mentions(frozenset(relations), frozenset(functions), frozenset(literals), is_complete, frozenset(queries))


def _relation_names(query: str, called: Iterable[str], cursor: Any) -> Iterator[str]:
    """Yield the names of the relations that a query reads, unqualified and case-folded; more if that is uncertain.

    If DuckDB cannot parse the query, all names in it are yielded, except those of called functions. If it calls query()
    or query_table(), or names no relation, its string literals are read as names, too.

    Args:
        query: The query.
        called: The functions that it calls.
        cursor: A cursor that parses it.
    """
    try:
        qualified_names = [names.scanned_table_parts(table) for table in cursor.get_table_names(query, qualified=True)]
    except Exception:
        qualified_names = [(word,) for word in called_and_other_names(query)[1]]
    if _READS_BY_TEXT & set(called) or not qualified_names:  # a macro may pass a text on to query_table
        qualified_names += [names.table_parts(literal.replace("''", "'")) for literal in _LITERAL.findall(query)]
    yield from (names.fold_case(parts[-1]) for parts in qualified_names if parts)


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
