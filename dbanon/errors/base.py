"""What all exceptions share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


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
