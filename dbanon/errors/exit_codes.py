"""Exit codes of commands: they distinguish a mistake from a refusal and from a locked file.

DuckDB passes on what dbanon's functions raise as text, so the class of such an error is recognized by its message.
"""

import re
from collections.abc import Collection
from functools import cache
from string import Formatter

import duckdb

from dbanon import errors
from dbanon.errors.base import DbanonError, Outcome

EXIT_CODES: dict[Outcome, int] = {"failed": 1, "usage": 2, "refused": 3, "busy": 4, "interrupted": 130}
"""The exit code of the shell and of every command for each outcome; 0 on success."""

_LOCKED = re.compile(r"could not set lock|conflicting lock|being used by another process", re.IGNORECASE)
_CONFLICT = re.compile(r"conflict", re.IGNORECASE)


def error_outcome(error: BaseException) -> Outcome:
    """Return the outcome of a call that raised this error: "failed", "usage", "refused", "busy" or "interrupted".

    An error of dbanon has the outcome of its class; if DuckDB passed it on as text, it is recognized by its message.
    Locked files and conflicts between transactions of DuckDB are "busy", Ctrl-C is "interrupted". All other errors are
    "failed".
    """
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, errors.DbanonError):
        return error.outcome
    if not isinstance(error, duckdb.Error):
        return "failed"
    text = str(error).split("\n\nLINE ")[0]
    is_locked = isinstance(error, duckdb.IOException) and _LOCKED.search(text)
    if is_locked or (isinstance(error, duckdb.TransactionException) and _CONFLICT.search(text)):
        return "busy"
    recognized = recognized_error(error)
    return "failed" if recognized is None else recognized.outcome


_OUTCOME_ORDER = ("busy", "interrupted", "refused", "usage", "failed")
"""If messages of several classes match, a refusal counts rather than a mistake, and either rather than a failure."""

_MIN_LENGTHS = {"failed": 25}
"""Length of the shortest pattern that is specific enough: failures are recognized by fixed parts of their messages."""


def recognized_error(error: BaseException, functions: Collection[str] = ()) -> DbanonError | None:
    """Return the error of dbanon that DuckDB passed on as text, as an instance of its class; None if it is none.

    Its message is that of the error, without what DuckDB adds. If messages of several classes match, the class is the
    one with the longest fixed text. If none matches, a message that begins with the name of one of `functions` and a
    colon is a DbanonError.
    """
    if isinstance(error, DbanonError):
        return error
    if not isinstance(error, duckdb.Error):
        return None
    message = str(error).split("\n\nLINE ")[0].removeprefix("Invalid Input Error: ")
    error_class = next((cls for cls, pattern in error_patterns() if pattern.search(message)), None)
    if error_class is None and message.partition(": ")[0] in functions:
        error_class = DbanonError
    return None if error_class is None else error_class.__new__(error_class, message)


@cache
def error_patterns() -> tuple[tuple[type[DbanonError], re.Pattern[str]], ...]:
    """Return (class, compiled message pattern) of every error class that has a pattern, in the order of precedence."""
    error_classes = {k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, DbanonError)}
    patterns = [
        (k, k.pattern() or ".*".join(re.escape(part) for part, *_ in Formatter().parse(k.message)))
        for k in error_classes
    ]
    patterns.sort(key=lambda pair: (_OUTCOME_ORDER.index(pair[0].outcome), -len(pair[1]), pair[0].__name__))
    return tuple(
        (k, re.compile(pattern, re.DOTALL)) for k, pattern in patterns if len(pattern) >= _MIN_LENGTHS.get(k.outcome, 1)
    )
