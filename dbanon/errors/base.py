"""What all exceptions share."""

import difflib
import re
from collections.abc import Callable, Iterable
from functools import cache
from string import Formatter
from typing import ClassVar, Literal

from dbanon.errors.example import Example, Situation
from dbanon.sqltext.quote import text

Outcome = Literal["failed", "usage", "refused", "busy", "interrupted"]
"""What an error means to whoever called: something failed; the call was not understood; privacy would suffer; another
connection or process is in the way, and later may do; Ctrl-C."""


def near(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the closest known name, or nothing."""
    by_lower = {k.lower(): k for k in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f" Did you mean '{by_lower[close[0]]}'?" if close else ""


def listed(names: Iterable[object]) -> str:
    """`'a', 'b'` for messages; long lists are cut."""
    items = [repr(str(n)) for n in names]
    return ", ".join(items[:12]) + (f", ... ({len(items)} in all)" if len(items) > 12 else "")


_NOTATIONS: dict[str, Callable[..., str]] = {
    "names": listed,
    "list": ", ".join,
    "and": " and ".join,
    "or": " or ".join,
    "sql": text,
}


class _MessageFormatter(Formatter):
    """A formatter that knows notations of values: `{columns:names}` quotes names, `{table:sql}` is a literal of SQL."""

    def format_field(self, value: object, format_spec: str) -> str:
        notation = _NOTATIONS.get(format_spec)
        return notation(value) if notation else format(value, format_spec)


_FORMATTER = _MessageFormatter()


@cache
def fields(message: str) -> tuple[str, ...]:
    """Return the fields of a template in the order in which they first occur."""
    return tuple(dict.fromkeys(field for _, field, _, _ in _FORMATTER.parse(message) if field))


class DbanonError(Exception):
    """Base of all errors of this package. Nothing was released and nothing was changed."""

    outcome: ClassVar[Outcome] = "failed"

    message: ClassVar[str] = ""
    """The template of the message, whose fields are the arguments of the class in the order in which they first occur
    (a field may have a notation: `names`, `list`, `and`, `or`, `sql`);
    "" where the class makes the message of its arguments itself."""

    words: ClassVar[str] = ""
    """A pattern by which the message is known where DuckDB hands it on as text; "" where the template is enough."""

    example: ClassVar[Example | Situation | None] = None
    """What raises it: the manual shows it."""

    def __init__(self, *values: object) -> None:
        if self.message:
            values = (_FORMATTER.vformat(self.message, (), dict(zip(fields(self.message), values, strict=True))),)
        super().__init__(*values)

    @classmethod
    def pattern(cls) -> str:
        """Return `words`, else the longest fixed part of the template; "" where the text need not be recognized."""
        if cls.words or cls.outcome == "failed":
            return cls.words
        return re.escape(max((part for part, *_ in _FORMATTER.parse(cls.message)), key=len, default=""))


class RefusedError(DbanonError):
    """A call that would endanger the privacy of people."""

    outcome = "refused"


class UsageError(DbanonError):
    """A call that is not understood."""

    outcome = "usage"
