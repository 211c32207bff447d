"""Errors of calls about DataFrames: they name the DataFrame, and their hints what can be done with one."""

import contextlib
import re
from collections.abc import Iterator

import duckdb

_REPLACEMENTS = (
    (re.compile(r"\n+LINE \d+: .*", re.DOTALL), ""),
    (
        re.compile(r"declare its policy, INSERT INTO .*?; or name the columns in the call, qi = (\[.*?\.\.\.\])"),
        r"name the columns in the call, qi=\1; dbanon.profile(data) proposes them",
    ),
    (
        re.compile(r"FROM uncovered_values\('the (?:[^']|'')*', '((?:[^']|'')*)'[^)]*\)"),
        r"compare the values of the column '\1' with the first labels of the rows in hierarchies",
    ),
    (re.compile(r"extract such a column in a view, or withhold it"), "convert such a column, or withhold it"),
    (re.compile(r"turn them into NULL in a view"), "turn them into missing values"),
)
"""Parts of messages that speak of SQL, and what replaces them."""


@contextlib.contextmanager
def speak_of_frames() -> Iterator[None]:
    """Return a context manager that replaces hints of errors of DuckDB that a call about a DataFrame cannot follow.

    The type of the error stays.
    """
    try:
        yield
    except duckdb.Error as error:
        message = str(error)
        for pattern, replacement in _REPLACEMENTS:
            message = pattern.sub(replacement, message)
        if message == str(error):
            raise
        raise type(error)(message) from None
