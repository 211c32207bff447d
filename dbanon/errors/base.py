"""Base classes of all exceptions, and helpers for messages."""

import difflib
import re
from collections.abc import Callable, Iterable
from functools import cache
from string import Formatter
from typing import ClassVar, Literal

from dbanon.errors.example import Example, Situation
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.quote import text

Outcome = Literal["failed", "usage", "refused", "busy", "interrupted"]
"""The outcome of a call that raised an error.

`failed`: something went wrong; `usage`: the call was not understood; `refused`: the result would endanger privacy;
`busy`: another connection or process is in the way, try again; `interrupted`: Ctrl-C.
"""


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return ` Did you mean 'x'?`, with a leading space, for the candidate most similar to `name`.

    Returns "" if no candidate is similar. Upper and lower case are equal in the comparison; `x` is spelled as in
    `candidates`.
    """
    by_lower = {k.lower(): k for k in candidates}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f" Did you mean '{by_lower[close[0]]}'?" if close else ""


def format_names(names: Iterable[object]) -> str:
    """Return quoted names for a message, as in `'a', 'b'`.

    Of more than twelve names, the first twelve are followed by the total, as in `..., ... (30 in all)`.
    """
    quoted_names = [repr(str(n)) for n in names]
    return ", ".join(quoted_names[:12]) + (f", ... ({len(quoted_names)} in all)" if len(quoted_names) > 12 else "")


_NOTATIONS: dict[str, Callable[..., str]] = {
    "names": format_names,
    "list": ", ".join,
    "and": " and ".join,
    "or": " or ".join,
    "sql": text,
}


class _MessageFormatter(Formatter):
    """A formatter with notations for values.

    `{columns:names}` quotes names, `{table:sql}` gives a SQL literal, `{count:row is|rows are}` the form for a count.
    """

    def format_field(self, value: object, format_spec: str) -> str:
        """Format a value by the notation `format_spec`; as str.format does if it is no notation."""
        if "|" in format_spec:
            return plural_form(value, *format_spec.split("|", 1))
        notation = _NOTATIONS.get(format_spec)
        return notation(value) if notation else format(value, format_spec)


_FORMATTER = _MessageFormatter()


@cache
def message_fields(message: str) -> tuple[str, ...]:
    """Return the distinct field names of a message template, in the order in which they first occur."""
    return tuple(dict.fromkeys(field for _, field, _, _ in _FORMATTER.parse(message) if field))


class DbanonError(Exception):
    """Base of all errors of this package. Nothing was released and nothing was changed, unless the message says so.

    The subclasses are in `dbanon.errors`; the manual has a page about them (`dbanon docs errors`).

    Attributes:
        outcome: The outcome of the call.
        message: The template of the message, or "" if the class builds the message itself. Its fields are the arguments
            of the class in the order in which they first occur; a field may have a notation: `names`, `list`, `and`,
            `or`, `sql`, or a singular and a plural, `row|rows`.
        message_pattern: A regular expression that recognizes the message in a text of DuckDB; "" if the template is
            enough.
        example: Code that raises the error, or a description of when it is raised; the manual shows it.
    """

    outcome: ClassVar[Outcome] = "failed"

    message: ClassVar[str] = ""
    message_pattern: ClassVar[str] = ""
    example: ClassVar[Example | Situation | None] = None

    def __init__(self, *values: object) -> None:
        """Fill the template `message` with the values, one for each of its fields.

        If `message` is empty, the values are passed to Exception unchanged.

        Raises:
            ValueError: The number of values is not that of the fields.
        """
        if self.message:
            values = (
                _FORMATTER.vformat(self.message, (), dict(zip(message_fields(self.message), values, strict=True))),
            )
        super().__init__(*values)

    @classmethod
    def pattern(cls) -> str:
        """Return a regular expression that recognizes this error in a text of DuckDB.

        It is `message_pattern`, or the longest fixed part of the template `message`, escaped. Returns "" if there is
        neither, and for errors with the outcome `failed` that have no `message_pattern`.
        """
        if cls.message_pattern or cls.outcome == "failed":
            return cls.message_pattern
        return re.escape(max((part for part, *_ in _FORMATTER.parse(cls.message)), key=len, default=""))


class RefusedError(DbanonError):
    """A call whose result would endanger the privacy of people."""

    outcome = "refused"


class UsageError(DbanonError):
    """A call that is not understood."""

    outcome = "usage"
