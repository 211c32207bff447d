"""DuckDB's own messages that quote a value of the source: recognised, so that ours takes their place.

A line of a CSV that does not parse, a cast in a view, a generated column, a constraint: DuckDB says which value it was.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence

import duckdb

from dbanon import errors

_QUOTING = (
    duckdb.ConversionException,
    duckdb.OutOfRangeException,
    duckdb.ConstraintException,
    duckdb.TypeMismatchException,  # a value of SQLite that its column does not have
)

_SERVERS = {
    "PostgreSQL": re.compile(r"ERROR:  (?!permission denied)"),
    "MySQL": re.compile(r'Failed to [a-z ]+ MySQL query .*": (?!\w+ command denied |Lost connection)', re.DOTALL),
}
"""What other systems say, in whichever error DuckDB passes it on: a cast in a view of theirs quotes the value."""

_LINE = re.compile(r"CSV Error on Line: \d+")

_CAST = re.compile(r"Could not convert |with value .* can't be cast", re.DOTALL)
"""What MySQL has and its column had not when DuckDB looked, in an error of binding."""

_INPUT = re.compile(
    r"Invalid Input Error: (Malformed JSON|Could not parse string|Failed to (?:parse|cast)|Invalid unicode)"
)


def quoted(error: BaseException) -> str | None:
    """What kind of error it is, in words without a value, if DuckDB's message may quote one; else None."""
    text = str(error)
    if isinstance(error, duckdb.Error) and (line := _LINE.search(text)):
        return line[0]
    for system, says in _SERVERS.items() if isinstance(error, duckdb.Error) else ():
        if says.search(text):
            return f"an error of {system}"
    if isinstance(error, _QUOTING):
        return text.partition(":")[0]
    if isinstance(error, duckdb.BinderException) and _CAST.search(text):
        return "Conversion Error"
    if isinstance(error, duckdb.InvalidInputException) and (said := _INPUT.match(text)):
        return said[1]
    return None


@contextlib.contextmanager
def withheld(function: str, sources: Callable[[], Sequence[str]]) -> Iterator[None]:
    """Raise UnreadableValueError in place of a message that quotes a value.

    `sources` are the tables that are read; where there are none, the statement is none of ours, and the message stays.
    """
    try:
        yield
    except duckdb.Error as error:
        kind = quoted(error)
        read = sources() if kind else ()
        if kind is None or not read:
            raise
        raise errors.UnreadableValueError(function, read, kind) from None
