"""Names that may determine what a view reads: tables, views and macros in its text, and in the texts of those."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dbanon.source import view_references
from dbanon.sqltext import names

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
    statements = [temporary[view[2]]] if is_temporary else view_references.view_statement(view, cursor)
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
        called = {names.fold_case(word) for word in view_references.called_and_other_names(query)[0]}
        mentioned = set(_relation_names(query, called, cursor))
        literals |= {mention.replace("''", "'") for mention in _LITERAL.findall(query)}
        texts += [
            *view_references.view_statements(mentioned - relations, cursor),
            *view_references.macro_definitions(called - functions, cursor),
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
        qualified_names = [(word,) for word in view_references.called_and_other_names(query)[1]]
    if _READS_BY_TEXT & set(called) or not qualified_names:  # a macro may pass a text on to query_table
        qualified_names += [names.table_parts(literal.replace("''", "'")) for literal in _LITERAL.findall(query)]
    yield from (names.fold_case(parts[-1]) for parts in qualified_names if parts)
