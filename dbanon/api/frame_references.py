"""Find the calls of our functions in a statement, and the temporary relations that they can name."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import duckdb

from dbanon import errors
from dbanon.api import missing_codes
from dbanon.source.bound_scans import Scan, bound_scans
from dbanon.sqltext import names
from dbanon.sqltext.quote import identifier
from dbanon.sqltext.tokenizer import code_tokens
from dbanon.table_functions.registry import table_functions
from dbanon.table_functions.table_function import TableFunction


class FunctionCall:
    """A call of a table function in a statement: its source, its named arguments (offset of the operator, name,
    operator) and the places of the numbers in its lists of codes."""

    def __init__(self, function: TableFunction) -> None:
        self.function = function
        self.names: list[tuple[int, str, str]] = []
        self.numbers: list[tuple[int, int]] = []
        self.source: str | None = None


def function_calls(query: str) -> Iterator[FunctionCall]:
    """Call of our functions, in the order in which they close."""
    if "(" not in query or not _mention().search(query):
        return
    tokens = code_tokens(query)
    functions = table_functions()
    open_calls: list[FunctionCall | None] = []
    before = ""
    for i, token in enumerate(tokens):
        word = token.text
        current = open_calls[-1] if open_calls else None
        if word[:1] in "([{":
            name = before.strip('"').lower()
            open_calls.append(FunctionCall(functions[name]) if word == "(" and name in functions else None)
        elif word[:1] in ")]}":
            if open_calls and (done := open_calls.pop()) is not None:
                yield done
        elif current is not None and before in ("(", ","):
            following = tokens[i + 1].text if i + 1 < len(tokens) else ""
            if before == "(" and word.startswith("'"):
                current.source = word[1:-1].replace("''", "'")
            elif following.startswith(("=", ":=")) and not following.startswith("=="):
                current.names.append((tokens[i + 1].start, word.strip('"'), following))
                if missing_codes.mixes(current.function, word.strip('"')):
                    current.numbers += missing_codes.numbers(tokens[i + 2 :])
        before = word
    yield from (c for c in open_calls if c is not None)


@cache
def _mention() -> re.Pattern[str]:
    """Find the name of any of our functions."""
    return re.compile("|".join(map(re.escape, table_functions())), re.IGNORECASE)


def rewrite_arguments(query: str, calls: list[FunctionCall]) -> str:
    """Return the statement with `name = value` as `name := value` and codes as texts in our calls.

    UnknownParameterError.
    """
    marks: list[int] = []
    for call in calls:
        known = [*call.function.positional, *(p.name for p in call.function.parameters)]
        for at, name, operator in call.names:
            if name.lower() not in known:
                raise errors.UnknownParameterError(call.function.name, name, [p.name for p in call.function.parameters])
            if operator.startswith("=") and not operator.startswith("=>"):
                marks.append(at)
    edits = [(at, at, ":") for at in marks]
    edits += [(start, end, missing_codes.as_text(query[start:end])) for call in calls for start, end in call.numbers]
    for start, end, put in sorted(edits, reverse=True):
        query = query[:start] + put + query[end:]
    return query


def temporary_columns(read: Callable[..., Any]) -> dict[str, Mapping[str, str]]:
    """Return columns of the connection's temporary tables and views, registered DataFrames among them."""
    found: dict[str, dict[str, str]] = {}
    try:
        rows = read(
            "SELECT table_name, column_name, data_type FROM system.main.duckdb_columns() "
            "WHERE database_name = 'temp' ORDER BY table_name ASC, column_index ASC"
        ).fetchall()
    except duckdb.Error:  # an aborted transaction: the statement itself will say so
        return {}
    for table, column, type_ in rows:
        found.setdefault(names.folded(table), {})[column] = type_
    return dict(found)


def temporary_scans(
    calls: list[FunctionCall], temporary: Mapping[str, object], read: Callable[..., Any]
) -> dict[str, tuple[Scan, ...]]:
    """What the temporary relations read that are sources of calls; those that DuckDB cannot bind are not listed."""
    found = {}
    for call in calls:
        parts = names.table_parts(call.source or "") or (call.source or "",)
        name = names.folded(parts[-1])
        if name in temporary and len(parts) <= 2:
            scans = bound_scans(Executing(read), f"FROM temp.main.{identifier(name)}")
            if scans is not None:
                found[name] = scans
    return found


class Executing:
    """A connection whose statements run as the caller's do."""

    def __init__(self, read: Callable[..., Any]) -> None:
        self.execute = read
