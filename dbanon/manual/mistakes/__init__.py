"""How each error comes about: an example on the database that `dbanon demo` makes, or what happened where none can."""

from __future__ import annotations

from functools import cache

from dbanon import errors
from dbanon.errors import DbanonError
from dbanon.manual.mistakes import calls, releases
from dbanon.manual.mistakes.mistake import Mistake

_ALL = (
    calls.arguments,
    calls.sources,
    calls.roles,
    calls.hierarchies,
    calls.data,
    releases.releases,
    releases.publishing,
    releases.shell,
    releases.alchemy,
)


def documented() -> dict[str, type[DbanonError]]:
    """Every exception class that can be raised, by name, in the order of dbanon.errors."""
    return {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, DbanonError) and kind is not DbanonError
    }


@cache
def mistakes() -> dict[str, Mistake]:
    """One mistake for each error, by the name of its class."""
    return {type(m.error).__name__: m for some in _ALL for m in some()}


__all__ = ["Mistake", "documented", "mistakes"]
