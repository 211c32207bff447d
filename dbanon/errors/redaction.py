"""Recognize messages of DuckDB that quote a value of the source, and replace them.

A line of a CSV file that does not parse, a cast in a view, a generated column, a constraint: DuckDB quotes the value.
"""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import duckdb

from dbanon import errors

_QUOTING_ERRORS = (
    duckdb.ConversionException,
    duckdb.OutOfRangeException,
    duckdb.ConstraintException,
    duckdb.TypeMismatchException,  # a value of SQLite that its column does not have
)

_SERVER_ERRORS = {
    "PostgreSQL": re.compile(r"ERROR:  (?!permission denied)"),
    "MySQL": re.compile(r'Failed to [a-z ]+ MySQL query .*": (?!\w+ command denied |Lost connection)', re.DOTALL),
}
"""Messages of other systems within errors of DuckDB: a cast in one of their views quotes the value."""

_CSV_LINE = re.compile(r"CSV Error on Line: (\d+)")

_FAILED_CAST = re.compile(r"Could not convert |with value .* can't be cast", re.DOTALL)
"""A binder error about a value that MySQL has and that the column's type did not allow when DuckDB looked it up."""

_INVALID_INPUT = re.compile(
    r"Invalid Input Error: (Malformed JSON|Could not parse string|Failed to (?:parse|cast)|Invalid unicode"
    r"|Invalid UTF8 Codepoint|Argument with name)"
)

_REGULAR_EXPRESSION = re.compile(
    r"Invalid Input Error: (?:missing [)\]]|missing argument to repetition operator|no argument for repetition operator"
    r"|bad repetition operator|invalid repetition size|invalid escape sequence|invalid character class"
    r"|invalid character class range|invalid named capture group|invalid perl operator|unexpected \)|trailing \\"
    r"|invalid UTF-8)"
)
"""Messages of RE2 about a regular expression, which can be a value of a column."""

_TIME_ZONE = "Not implemented Error: Unknown TimeZone"


def quoting_error_kind(error: BaseException) -> str | None:
    """Return a description, without the value, of an error whose message may quote a value of the source.

    The description is the kind of the error of DuckDB, such as `Conversion Error`; for lines of a CSV file `CSV Error
    on Line: 7`; or for an error of an attached database server `an error of PostgreSQL` (or of another system). Returns
    None if the message cannot quote a value.
    """
    text = str(error)
    if isinstance(error, duckdb.Error) and (line := _CSV_LINE.search(text)):
        return line[0]
    for system, pattern in _SERVER_ERRORS.items() if isinstance(error, duckdb.Error) else ():
        if pattern.search(text):
            return f"an error of {system}"
    if isinstance(error, _QUOTING_ERRORS):
        return text.partition(":")[0]
    if isinstance(error, duckdb.BinderException) and _FAILED_CAST.search(text):
        return "Conversion Error"
    if isinstance(error, duckdb.InvalidInputException) and (input_error := _INVALID_INPUT.match(text)):
        return input_error[1]
    if isinstance(error, duckdb.InvalidInputException) and _REGULAR_EXPRESSION.match(text):
        return "Invalid regular expression"
    if isinstance(error, duckdb.NotImplementedException) and text.startswith(_TIME_ZONE):
        return "Unknown TimeZone"
    return None


_ENCODING = re.compile(
    r"not utf-8 encoded|as valid UTF-8 encoded text|invalid UTF-8 encoding|UTF-(?:16|32) encoding is not supported"
)
"""Messages about a file whose text has another encoding."""


def is_encoding_error(error: BaseException) -> bool:
    """Return whether an error of DuckDB, or one of dbanon that repeats it, is about the encoding of a file."""
    return _ENCODING.search(str(error)) is not None


def encoding_error(function: str, sources: Iterable[str], error: BaseException) -> errors.FileEncodingError:
    """Return the error of dbanon for one that `is_encoding_error` recognizes; see `redacted_error`."""
    line = _CSV_LINE.search(str(error))
    return errors.FileEncodingError(function, sources, f"line {line[1]}" if line else "")


def redacted_error(function: str, sources: Iterable[str], error: BaseException) -> errors.DbanonError | None:
    """Return the error to raise instead of one whose message may quote a value; None if it cannot quote one.

    Args:
        function: The name in the message.
        sources: The tables or files that are read.
        error: The error, of DuckDB or another library.
    """
    kind = quoting_error_kind(error)
    if kind is None:
        return None
    if is_encoding_error(error):
        return encoding_error(function, sources, error)
    return errors.UnreadableValueError(function, sources, kind)


@contextlib.contextmanager
def redact_values(function: str, sources: Callable[[], Sequence[str]]) -> Iterator[None]:
    """Return a context manager that replaces errors of DuckDB whose message may quote a value of the source.

    Args:
        function: The name in the message.
        sources: Returns the tables that the statement reads; called only after such an error. If it returns none, the
            error of DuckDB is raised unchanged.

    Raises:
        UnreadableValueError, FileEncodingError: Instead of the error of DuckDB. All other errors are raised unchanged.
    """
    try:
        yield
    except duckdb.Error as error:
        source_names = sources() if quoting_error_kind(error) else ()
        redacted = redacted_error(function, source_names, error)
        if redacted is None or not source_names:
            raise
        raise redacted from None
