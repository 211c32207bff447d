"""What a model asks for: its query, and how its configuration says that versions are made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from dbanon import errors

FIRST = ("composition", "allow_delta")
"""What is said about a release that is made, or made anew; with `key`."""

NEXT = ("composition", "allow_delta", "refresh", "if_stale", "erase")
"""What is said about a refresh."""

_WORDS = {"composition": ("warn", "refuse"), "refresh": ("keep", "hold", "recluster")}
_FLAGS = ("allow_delta", "if_stale", "erase")
_KNOWN = (*NEXT, "key")


@dataclass(frozen=True)
class Model:
    """One model with `materialized='anonymized'`."""

    place: tuple[str, str, str]
    """Database, schema and name of its relation."""
    query: str
    full_refresh: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    key: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        place: tuple[str, str, str],
        query: str,
        config: Mapping[str, Any],
        *,
        full_refresh: bool = False,
        of_dbt: Collection[str] = (),
    ) -> Model:
        """Return a model with its configuration validated; `of_dbt` are keys that mean something to dbt.

        InvalidArgumentError; UnknownParameterError for a key that is one of ours but for a letter. Others are for
        others.
        """
        function = f"model {place[2]}"
        for name in config:
            if name not in (*_KNOWN, *of_dbt) and errors.did_you_mean(name, _KNOWN):
                raise errors.UnknownParameterError(function, name, _KNOWN)
        given = {name: config[name] for name in _KNOWN if config.get(name) is not None}
        for name, value in given.items():
            if name in _WORDS and value not in _WORDS[name]:
                accepts = "one of " + ", ".join(f"'{word}'" for word in _WORDS[name])
                raise errors.InvalidArgumentError(function, name, accepts, repr(value))
            if name in _FLAGS and not isinstance(value, bool):
                raise errors.InvalidArgumentError(function, name, "true or false", repr(value))
        key = given.pop("key", None)
        columns = [key] if isinstance(key, str) else key
        if columns is not None and not (
            isinstance(columns, list | tuple) and columns and all(isinstance(column, str) for column in columns)
        ):
            raise errors.InvalidArgumentError(function, "key", "a column or a list of columns", repr(key))
        return cls(place, query, full_refresh, given, None if columns is None else tuple(columns))
