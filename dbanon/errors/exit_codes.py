"""Exit codes of commands: they distinguish a mistake from a refusal and from a locked file.

DuckDB passes on what dbanon's functions raise as text, so the class of such an error is recognized by its message.
"""

import re

import duckdb

from dbanon import errors
from dbanon.errors.base import Outcome
from dbanon.errors.recognition import recognized_error

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
