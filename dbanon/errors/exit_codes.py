"""What became of a call, for scripts: the exit code that tells a mistake from a refusal and from a file that is locked.

DuckDB hands on what our functions raise as text, so the class of such an error is known by its words.
"""

import re
from functools import cache

import duckdb

from dbanon import errors
from dbanon.errors.base import Outcome

EXIT_CODES: dict[Outcome, int] = {"failed": 1, "usage": 2, "refused": 3, "busy": 4, "interrupted": 130}
"""What the shell and every command end with; 0 where all went well."""

_LOCKED = re.compile(r"could not set lock|conflicting lock|being used by another process", re.IGNORECASE)
_CONFLICT = re.compile(r"conflict", re.IGNORECASE)


def outcome(error: BaseException) -> Outcome:
    """What an error of ours, or of DuckDB, means to whoever called."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, errors.DbanonError):
        return error.outcome
    if not isinstance(error, duckdb.Error):
        return "failed"
    text = str(error).split("\n\nLINE ")[0]
    if isinstance(error, duckdb.IOException) and _LOCKED.search(text):
        return "busy"
    if isinstance(error, duckdb.TransactionException) and _CONFLICT.search(text):
        return "busy"
    return next((kind for kind, words in _known() if words.search(text)), "failed")


@cache
def _known() -> tuple[tuple[Outcome, re.Pattern[str]], ...]:
    """Return words and what they mean; a refusal before the mistake that some of its words would also be."""
    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, errors.DbanonError)]
    patterns = ((k.outcome, k.pattern()) for k in sorted(kinds, key=lambda k: k.outcome))
    return tuple((kind, re.compile(pattern, re.DOTALL)) for kind, pattern in patterns if pattern)
