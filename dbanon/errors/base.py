"""What all exceptions share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar, Literal

from dbanon.errors.example import Example, Situation

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


class DbanonError(Exception):
    """Base of all errors of this package. Nothing was released and nothing was changed."""

    outcome: ClassVar[Outcome] = "failed"

    words: ClassVar[str] = ""
    """A pattern by which the message is known where DuckDB hands it on as text; "" where nothing follows from it."""

    example: ClassVar[Example | Situation | None] = None
    """What raises it: the manual shows it."""
