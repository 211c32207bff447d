"""A dbt model that is materialized as `anonymized`: its query, and options of its versions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from dbanon import errors
from dbanon.errors import renamed_names

CREATE_OPTIONS = ("composition", "allow_small_differences")
"""Options for the first version, or one from scratch; in addition to `key`."""

REFRESH_OPTIONS = ("composition", "allow_small_differences", "mode", "if_stale", "erase")
"""Options of a refresh."""

_CHOICES = {"composition": ("warn", "refuse"), "mode": ("keep", "hold", "recluster")}
_FLAGS = ("allow_small_differences", "if_stale", "erase")
_OPTIONS = (*REFRESH_OPTIONS, "key")


@dataclass(frozen=True)
class DbtModel:
    """A dbt model with `materialized='anonymized'`.

    Attributes:
        place: Database, schema and name of its relation.
        query: Its compiled query.
        full_refresh: Whether dbt runs with --full-refresh.
        options: Validated options of the configuration, except `key`.
        key: The columns of the key; None if the configuration has none.
    """

    place: tuple[str, str, str]
    """Database, schema and name of its relation."""
    query: str
    full_refresh: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    key: tuple[str, ...] | None = None

    @classmethod
    def from_config(
        cls,
        place: tuple[str, str, str],
        query: str,
        config: Mapping[str, Any],
        *,
        full_refresh: bool = False,
        dbt_keys: Collection[str] = (),
    ) -> DbtModel:
        """Return a model with the options of its dbt configuration, after validating them.

        Keys of the configuration that are not (nor were) options and not similar to one are ignored: they may be for
        another tool.

        Args:
            place: Database, schema and name of its relation.
            query: Its compiled query.
            config: Its configuration.
            full_refresh: Whether dbt runs with --full-refresh.
            dbt_keys: Keys of the configuration that have a meaning for dbt.

        Raises:
            InvalidArgumentError: An option has an invalid value.
            UnknownParameterError: A key that is no option, and not one of `dbt_keys`, is similar to an option.
        """
        function = f"model {place[2]}"
        for name in config:
            if name not in (*_OPTIONS, *dbt_keys) and (
                name in renamed_names.REFRESH_OPTIONS or errors.did_you_mean(name, _OPTIONS)
            ):
                raise errors.UnknownParameterError(function, name, _OPTIONS, renamed_names.REFRESH_OPTIONS)
        options = {name: config[name] for name in _OPTIONS if config.get(name) is not None}
        for name, value in options.items():
            if name in _CHOICES and value not in _CHOICES[name]:
                accepts = "one of " + ", ".join(f"'{word}'" for word in _CHOICES[name])
                raise errors.InvalidArgumentError(function, name, accepts, repr(value))
            if name in _FLAGS and not isinstance(value, bool):
                raise errors.InvalidArgumentError(function, name, "true or false", repr(value))
        key = options.pop("key", None)
        columns = [key] if isinstance(key, str) else key
        if columns is not None and not (
            isinstance(columns, list | tuple) and columns and all(isinstance(column, str) for column in columns)
        ):
            raise errors.InvalidArgumentError(function, "key", "a column or a list of columns", repr(key))
        return cls(place, query, full_refresh, options, None if columns is None else tuple(columns))
