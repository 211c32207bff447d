"""Answers as text: columns, types and rows, in the order in which they are returned."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

import duckdb

Lines: TypeAlias = list[str]
Answer: TypeAlias = tuple[str, Callable[[], Lines]]
"""The name of a case, and a function that returns its lines; it is called before the next case is requested."""


def statements(con: Any, statement_source: Callable[..., Iterator[str]], are_refused: bool = False) -> Iterator[Answer]:
    """Yield the answers of a connection; for statements that are to be refused, the messages."""
    names = [name for (name,) in con.execute("SELECT name FROM algorithms()").fetchall()]
    for sql in statement_source(names) if inspect.signature(statement_source).parameters else statement_source():
        yield sql, partial(refusal if are_refused else rows, con, sql)


def rows(con: Any, sql: str, without: tuple[str, ...] = ()) -> Lines:
    """Return names and types of the columns, then the rows in order; `without` columns that may differ."""
    cursor = con.execute(sql)
    kept_values = [i for i, column in enumerate(cursor.description) if column[0] not in without]
    head = [f"{cursor.description[i][0]} {cursor.description[i][1]}" for i in kept_values]
    return [", ".join(head), *(", ".join(cell(row[i]) for i in kept_values) for row in cursor.fetchall())]


def refusal(con: Any, sql: str) -> Lines:
    """Return the message of a statement that must fail, without the position that DuckDB appends."""
    try:
        con.execute(sql).fetchall()
    except duckdb.Error as error:
        return [str(error).split("\n\nLINE ")[0]]
    raise AssertionError(f"{sql} is not refused")


def cell(value: Any) -> str:
    """Return a value as text: doubles exactly, keys of maps in order."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {cell(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(cell, value)) + "]"
    return repr(value)
