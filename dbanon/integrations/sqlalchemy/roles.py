"""Roles on the model: what a column is, said once where it is mapped.

zip: Mapped[str] = mapped_column(info=quasi("zip5", weight=2))
Zip = Annotated[str, mapped_column(info=quasi("zip5", weight=2))]
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast

from sqlalchemy import Column

from dbanon import errors
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.policy.transforms import settings
from dbanon.source import stored_policy
from dbanon.source.stored_policy import DeclaredColumn, Settings
from dbanon.table_functions import parameters
from dbanon.table_functions.parameter_types import ForColumns, PerColumn

Info = dict[Any, Any]

_PARAMETERS = {"hierarchy": "hierarchies", "weight": "weights"}
"""Settings whose parameter in a call has another name."""


@dataclass(frozen=True)
class Role:
    """What a column is (a role of `dbanon.policy`), and how a quasi-identifier is generalized."""

    role: str
    settings: Settings = field(default_factory=Settings)

    def declared(self, column: str) -> DeclaredColumn:
        """Return the row of the policy that says so."""
        return DeclaredColumn(column, self.role, self.settings)

    def __str__(self) -> str:
        default = Settings()
        shown = [f"{n}={v}" for n, v in vars(self.settings).items() if v != getattr(default, n)]
        return f"{self.role}({', '.join(shown)})"


def quasi(
    hierarchy: str | None = None,
    weight: float = 1,
    *,
    min_level: int | None = None,
    max_level: int | None = None,
    top: str | float | date | Decimal | None = None,
    bottom: str | float | date | Decimal | None = None,
    grid: str | float | Decimal | None = None,
    missing: Any = None,
) -> Info:
    """`info` of a quasi-identifier: published generalized. The settings are the columns of `dbanon.policy`."""
    return _declared(
        "quasi",
        hierarchy=hierarchy,
        weight=weight,
        min_level=min_level,
        max_level=max_level,
        top=top,
        bottom=bottom,
        grid=grid,
        missing=missing,
    )


def sensitive(hierarchy: str | None = None, *, missing: Any = None) -> Info:
    """`info` of a sensitive column: published as it is. A hierarchy says how far values are apart for t-closeness."""
    return _declared("sensitive", hierarchy=hierarchy, missing=missing)


def identifier(*, missing: Any = None) -> Info:
    """`info` of a column that identifies people directly: withheld."""
    return _declared("identifier", missing=missing)


def person(*, missing: Any = None) -> Info:
    """`info` of the column that tells data subjects apart: withheld; k then counts persons."""
    return _declared("person", missing=missing)


def other(*, missing: Any = None) -> Info:
    """`info` of a column that is neither: published as it is where values are common enough."""
    return _declared("other", missing=missing)


def pseudonym(
    *,
    format: str | None = None,
    length: int | None = None,
    prefix: str | None = None,
    key: str | None = None,
    scope: str | None = None,
    person: bool = False,
    missing: Any = None,
) -> Info:
    """`info` of an identifier that is published as its pseudonym.

    It is the person where no other column is; of several pseudonyms the one with `person`.
    """
    said = "true" if person else None
    return _made("pseudonym", missing, format=format, length=length, prefix=prefix, key=key, scope=scope, person=said)


def mask(*, first: int = 0, last: int = 0, character: str = "*", missing: Any = None) -> Info:
    """`info` of a text of which the first and the last characters are published."""
    return _made("mask", missing, first=first, last=last, character=character)


def shift(days: int, *, key: str | None = None, scope: str | None = None, missing: Any = None) -> Info:
    """`info` of dates that are published shifted by up to `days` either way, those of a person all alike."""
    return _made("shift", missing, days=days, key=key, scope=scope)


def _made(role: str, missing: Any, **given: object) -> Info:
    """InvalidTransformSettingError, UnreadableKeyReferenceError where a setting does not fit."""
    form = stored_policy.parse_settings(given)
    settings.made("info", role, dict(form))
    return _info(Role(role, replace(_settings({"missing": missing}), form=form)))


def role_of(column: Column[Any]) -> Role | None:
    """Return the role that a column's `info` says, or None.

    Raises ConflictingRolesError, as where a column overrides an Annotated type.
    """
    found = [key for key in column.info if isinstance(key, Role)]
    if len(found) > 1:
        table = column.table.description if column.table is not None else ""
        raise errors.ConflictingRolesError("info", table, column.name, [str(role) for role in found])
    return found[0] if found else None


def plain(value: object) -> object:
    """Return a setting's value as the policy has it: dates and decimals are text."""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, date) else str(value) if isinstance(value, Decimal) else value


def _declared(role: str, **given: object) -> Info:
    return _info(Role(role, _settings(given)))


def _info(role: Role) -> Info:
    """Return the role is a key, not a value.

    SQLAlchemy merges the info of Annotated types, and both must stay visible.
    """
    return {role: "dbanon"}


def _settings(given: Mapping[str, object]) -> Settings:
    kinds = {p.name: p.kind for p in COMMON}
    accepted: dict[str, Any] = {}
    for name, value in ((name, value) for name, value in given.items() if value is not None):
        kind = cast(PerColumn | ForColumns, kinds[_PARAMETERS.get(name, name)]).kind
        try:
            accepted[name] = kind.check(plain(value))
        except ValueError:
            raise errors.InvalidArgumentError("quasi", name, str(kind), parameters.format_value(value)) from None
    return Settings(**accepted)
