"""Find calls of dbanon's functions in a statement, and the temporary relations that they can name."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import duckdb

from dbanon import errors
from dbanon.api import missing_codes
from dbanon.source.bound_scans import Scan, bound_scans
from dbanon.sqltext import names
from dbanon.sqltext.cte_names import cte_names
from dbanon.sqltext.quote import identifier
from dbanon.sqltext.tokenizer import code_tokens
from dbanon.table_functions.registry import table_functions
from dbanon.table_functions.table_function import TableFunction


@dataclass
class FunctionCall:
    """A call of a table function of dbanon in the text of a statement.

    Attributes:
        function: The table function.
        names: Its `name = value` arguments: (offset of the operator in the text, name, operator).
        numbers: (start, end) offsets in the text of the numbers in its lists of codes for missing values.
        source: The value of the first argument if it is a string literal; None otherwise.
        start: The offset of its opening bracket in the text.
    """

    function: TableFunction
    start: int
    names: list[tuple[int, str, str]] = field(default_factory=list)
    numbers: list[tuple[int, int]] = field(default_factory=list)
    source: str | None = None


def function_calls(query: str) -> Iterator[FunctionCall]:
    """Yield the calls of dbanon's table functions in a statement, nested ones first (by closing bracket).

    Calls whose bracket is not closed come last.
    """
    if "(" not in query or not _function_name_pattern().search(query):
        return
    tokens = code_tokens(query)
    functions = table_functions()
    open_calls: list[FunctionCall | None] = []
    previous = ""
    for i, token in enumerate(tokens):
        word = token.text
        current = open_calls[-1] if open_calls else None
        if word[:1] in "([{":
            name = previous.strip('"').lower()
            open_calls.append(FunctionCall(functions[name], token.start) if word == "(" and name in functions else None)
        elif word[:1] in ")]}":
            if open_calls and (call := open_calls.pop()) is not None:
                yield call
        elif current is not None and previous in ("(", ","):
            following = tokens[i + 1].text if i + 1 < len(tokens) else ""
            if previous == "(" and word.startswith("'"):
                current.source = word[1:-1].replace("''", "'")
            elif following.startswith(("=", ":=")) and not following.startswith("=="):
                current.names.append((tokens[i + 1].start, word.strip('"'), following))
                if missing_codes.takes_codes(current.function, word.strip('"')):
                    current.numbers += missing_codes.number_spans(tokens[i + 2 :])
        previous = word
    yield from (c for c in open_calls if c is not None)


@cache
def _function_name_pattern() -> re.Pattern[str]:
    """Return a compiled pattern that finds the name of any table function of dbanon in a text, in any case."""
    return re.compile("|".join(map(re.escape, table_functions())), re.IGNORECASE)


def check_no_cte_source(query: str, calls: list[FunctionCall]) -> None:
    """Check that no call names as its source a query of WITH, which a function cannot read.

    Args:
        query: The statement.
        calls: The calls in it.

    Raises:
        CteSourceError: A call does.
    """
    if "with" not in query.lower():
        return
    for cte in cte_names(code_tokens(query)):
        for call in calls:
            parts = names.table_parts(call.source or "")
            is_visible = cte.start <= call.start < cte.end
            if is_visible and parts and len(parts) == 1 and names.fold_case(parts[0]) == names.fold_case(cte.name):
                raise errors.CteSourceError(call.function.name, cte.name)


def rewrite_arguments(query: str, calls: list[FunctionCall]) -> str:
    """Return the statement with `name := value` in place of `name = value` in the calls, and quoted codes.

    Numbers in lists of codes for missing values become string literals. `calls` are the calls in `query`.

    Raises:
        UnknownParameterError: A function has no such parameter.
    """
    equals_offsets: list[int] = []
    for call in calls:
        accepted_names = [*call.function.positional, *(p.name for p in call.function.parameters)]
        for offset, name, operator in call.names:
            if name.lower() not in accepted_names:
                raise errors.UnknownParameterError(call.function.name, name, [p.name for p in call.function.parameters])
            if operator.startswith("=") and not operator.startswith("=>"):
                equals_offsets.append(offset)
    edits = [(offset, offset, ":") for offset in equals_offsets]
    edits += [
        (start, end, missing_codes.quote_number(query[start:end])) for call in calls for start, end in call.numbers
    ]
    for start, end, replacement in sorted(edits, reverse=True):
        query = query[:start] + replacement + query[end:]
    return query


def temporary_columns(execute: Callable[..., Any]) -> dict[str, Mapping[str, str]]:
    """Return the columns of all temporary relations: {folded name of the relation: {column: SQL type}}.

    These are temporary tables and views and registered DataFrames. Empty if the transaction is aborted. `execute` runs
    a query on the caller's connection.
    """
    columns: dict[str, dict[str, str]] = {}
    try:
        rows = execute(
            "SELECT table_name, column_name, data_type FROM system.main.duckdb_columns() "
            "WHERE database_name = 'temp' ORDER BY table_name ASC, column_index ASC"
        ).fetchall()
    except duckdb.Error:  # an aborted transaction: the statement itself will say so
        return {}
    for table, column, type_ in rows:
        columns.setdefault(names.fold_case(table), {})[column] = type_
    return dict(columns)


def temporary_scans(
    calls: list[FunctionCall], temporary: Mapping[str, object], execute: Callable[..., Any]
) -> dict[str, tuple[Scan, ...]]:
    """Return the tables and files that temporary relations read, by the folded name of the relation.

    Only temporary relations that a call names as its source are included. A relation that DuckDB cannot bind is
    omitted.

    Args:
        calls: The calls of dbanon's functions in a statement.
        temporary: A mapping whose keys are the folded names of the temporary relations.
        execute: Runs a query on the caller's connection.
    """
    scans_by_name = {}
    for call in calls:
        parts = names.table_parts(call.source or "") or (call.source or "",)
        name = names.fold_case(parts[-1])
        if name in temporary and len(parts) <= 2:
            scans = bound_scans(CallerConnection(execute), f"FROM temp.main.{identifier(name)}")
            if scans is not None:
                scans_by_name[name] = scans
    return scans_by_name


class CallerConnection:
    """An object with only the method `execute`, which is the given function.

    It serves where a connection is expected.
    """

    def __init__(self, execute: Callable[..., Any]) -> None:
        """Store the function."""
        self.execute = execute
