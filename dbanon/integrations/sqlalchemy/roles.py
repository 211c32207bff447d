"""Declare roles on mapped columns: what each column is, stated where it is mapped.

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

ColumnInfo = dict[Any, Any]

_PARAMETER_NAMES = {"hierarchy": "hierarchies", "weight": "weights"}
"""Settings whose parameter in a call has another name."""


@dataclass(frozen=True)
class Role:
    """The role of a column in `dbanon.policy`, and its settings.

    Attributes:
        role: `quasi`, `sensitive`, `identifier`, `person`, `insensitive`, `pseudonym`, `mask` or `shift`.
        settings: Settings of the role: hierarchy, weight, levels, bounds, ...

    Examples:
        ```python
        from dbanon.sqlalchemy import role_of

        role_of(Patient.__table__.c.age).role  # 'quasi'
        ```
    """

    role: str
    settings: Settings = field(default_factory=Settings)

    def declared(self, column: str) -> DeclaredColumn:
        """Return the policy row that declares this role for a column."""
        return DeclaredColumn(column, self.role, self.settings)

    def __str__(self) -> str:
        """Return the role with its settings that differ from the defaults, such as `quasi(weight=2)`."""
        default = Settings()
        setting_texts = [f"{n}={v}" for n, v in vars(self.settings).items() if v != getattr(default, n)]
        return f"{self.role}({', '.join(setting_texts)})"


def quasi(
    hierarchy: str | None = None,
    weight: float = 1,
    *,
    min_level: int | None = None,
    max_level: int | None = None,
    top: str | float | date | Decimal | None = None,
    bottom: str | float | date | Decimal | None = None,
    rounding: str | float | Decimal | None = None,
    missing_codes: Any = None,
) -> ColumnInfo:
    """Return the `info` of a quasi-identifier, which is published generalized.

    Args:
        hierarchy: Name of the hierarchy.
        weight: Weight of the column in the information loss.
        min_level: Lowest level of the hierarchy that is published.
        max_level: Highest level of the hierarchy that is published.
        top: Values above it are published as one value (top coding).
        bottom: Values below it are published as one value (bottom coding).
        rounding: Width to which the ends of intervals are rounded.
        missing_codes: Codes that mean a missing value.

    Returns:
        A dict for `mapped_column(info=...)`.

    Raises:
        InvalidArgumentError: A setting does not have the type that `dbanon.policy` accepts.

    Examples:
        ```python
        from dbanon.sqlalchemy import quasi

        zip: Mapped[str] = mapped_column(info=quasi("zip5", weight=2))
        ```
    """
    return _settings_info(
        "quasi",
        hierarchy=hierarchy,
        weight=weight,
        min_level=min_level,
        max_level=max_level,
        top=top,
        bottom=bottom,
        rounding=rounding,
        missing_codes=missing_codes,
    )


def sensitive(hierarchy: str | None = None, *, missing_codes: Any = None) -> ColumnInfo:
    """Return the `info` of a sensitive column, which is published unchanged.

    Args:
        hierarchy: Name of the hierarchy whose levels give the distance of values for t-closeness.
        missing_codes: Codes that mean a missing value.

    Returns:
        A dict for `mapped_column(info=...)`.

    Raises:
        InvalidArgumentError: A setting does not have the type that `dbanon.policy` accepts.

    Examples:
        ```python
        from dbanon.sqlalchemy import sensitive

        diagnosis: Mapped[str] = mapped_column(info=sensitive())
        ```
    """
    return _settings_info("sensitive", hierarchy=hierarchy, missing_codes=missing_codes)


def identifier(*, missing_codes: Any = None) -> ColumnInfo:
    """Return the `info` of a column that identifies people directly; it is withheld.

    Args:
        missing_codes: Codes that mean a missing value.

    Returns:
        A dict for `mapped_column(info=...)`.

    Raises:
        InvalidArgumentError: A setting does not have the type that `dbanon.policy` accepts.

    Examples:
        ```python
        from dbanon.sqlalchemy import identifier

        name: Mapped[str] = mapped_column(info=identifier())
        ```
    """
    return _settings_info("identifier", missing_codes=missing_codes)


def person(*, missing_codes: Any = None) -> ColumnInfo:
    """Return the `info` of the column that distinguishes data subjects; it is withheld, and k counts persons.

    Args:
        missing_codes: Codes that mean a missing value.

    Returns:
        A dict for `mapped_column(info=...)`.

    Raises:
        InvalidArgumentError: A setting does not have the type that `dbanon.policy` accepts.

    Examples:
        ```python
        from dbanon.sqlalchemy import person

        patient_id: Mapped[int] = mapped_column(info=person())
        ```
    """
    return _settings_info("person", missing_codes=missing_codes)


def insensitive(*, missing_codes: Any = None) -> ColumnInfo:
    """Return the `info` of a column without another role; values that are common enough are published unchanged.

    Args:
        missing_codes: Codes that mean a missing value.

    Returns:
        A dict for `mapped_column(info=...)`.

    Raises:
        InvalidArgumentError: A setting does not have the type that `dbanon.policy` accepts.

    Examples:
        ```python
        from dbanon.sqlalchemy import insensitive

        ward: Mapped[str] = mapped_column(info=insensitive())
        ```
    """
    return _settings_info("insensitive", missing_codes=missing_codes)


def pseudonym(
    *,
    format: str | None = None,
    length: int | None = None,
    prefix: str | None = None,
    key: str | None = None,
    scope: str | None = None,
    person: bool = False,
    missing_codes: Any = None,
) -> ColumnInfo:
    """Return the `info` of an identifier that is published as its pseudonym.

    The column also distinguishes persons if no other column has the role person; of several pseudonyms, the one with
    `person` does.

    Args:
        format: Format of the pseudonym, as in `dbanon.policy`.
        length: Number of characters.
        prefix: Text before each pseudonym.
        key: Reference to the secret key.
        scope: Scope within which equal values have equal pseudonyms.
        person: Whether this column distinguishes data subjects.
        missing_codes: Codes that mean a missing value.

    Returns:
        A dict for `mapped_column(info=...)`.

    Raises:
        InvalidTransformSettingError: A setting does not fit the others.
        UnreadableKeyReferenceError: `key` is no reference to a key.

    Examples:
        ```python
        from dbanon.sqlalchemy import pseudonym

        patient_id: Mapped[int] = mapped_column(info=pseudonym(scope="trial", person=True))
        ```
    """
    return _transform_info(
        "pseudonym",
        missing_codes,
        format=format,
        length=length,
        prefix=prefix,
        key=key,
        scope=scope,
        person="true" if person else None,
    )


def mask(*, first: int = 0, last: int = 0, character: str = "*", missing_codes: Any = None) -> ColumnInfo:
    """Return the `info` of a text column of which only the first and the last characters are published.

    Args:
        first: Number of characters published at the start.
        last: Number of characters published at the end.
        character: Character that replaces each of the others.
        missing_codes: Codes that mean a missing value.

    Returns:
        A dict for `mapped_column(info=...)`.

    Raises:
        InvalidTransformSettingError: A setting does not fit.

    Examples:
        ```python
        from dbanon.sqlalchemy import mask

        phone: Mapped[str] = mapped_column(info=mask(last=2))
        ```
    """
    return _transform_info("mask", missing_codes, first=first, last=last, character=character)


def shift(days: int, *, key: str | None = None, scope: str | None = None, missing_codes: Any = None) -> ColumnInfo:
    """Return the `info` of a date column that is published shifted by the same number of days for each person.

    Args:
        days: Largest shift in either direction.
        key: Reference to the secret key.
        scope: Scope within which a person's dates are shifted equally.
        missing_codes: Codes that mean a missing value.

    Returns:
        A dict for `mapped_column(info=...)`.

    Raises:
        InvalidTransformSettingError: A setting does not fit the others.
        UnreadableKeyReferenceError: `key` is no reference to a key.

    Examples:
        ```python
        from dbanon.sqlalchemy import shift

        admitted: Mapped[date] = mapped_column(info=shift(30))
        ```
    """
    return _transform_info("shift", missing_codes, days=days, key=key, scope=scope)


def _transform_info(role: str, missing_codes: Any, **arguments: object) -> ColumnInfo:
    """Validate the settings of a pseudonym, mask or shift and return its `info` for a mapped column.

    Raises:
        InvalidTransformSettingError: A setting does not fit.
        UnreadableKeyReferenceError: A key is no reference to a key.
    """
    form = stored_policy.parse_settings(arguments)
    settings.parse_transform("info", role, dict(form))
    return _role_info(Role(role, replace(_validated_settings({"missing_codes": missing_codes}), settings=form)))


def role_of(column: Column[Any]) -> Role | None:
    """Return the role in the `info` of a column; None if it has none.

    Args:
        column: A mapped column.

    Returns:
        The role; None for a column without one.

    Raises:
        ConflictingRolesError: There are several roles, for example if a column overrides an Annotated type.

    Examples:
        ```python
        from dbanon.sqlalchemy import role_of

        role_of(Patient.__table__.c.age)
        ```
    """
    roles = [key for key in column.info if isinstance(key, Role)]
    if len(roles) > 1:
        table = column.table.description if column.table is not None else ""
        raise errors.ConflictingRolesError("info", table, column.name, [str(role) for role in roles])
    return roles[0] if roles else None


def policy_value(value: object) -> object:
    """Return a setting's value as the policy stores it: dates, datetimes and decimals as text, others unchanged."""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, date) else str(value) if isinstance(value, Decimal) else value


def _settings_info(role: str, **arguments: object) -> ColumnInfo:
    """Validate settings (None: not given) and return the `info` of a role with them.

    InvalidArgumentError if one is invalid.
    """
    return _role_info(Role(role, _validated_settings(arguments)))


def _role_info(role: Role) -> ColumnInfo:
    """Return the `info` dictionary of a role, which is its only key.

    The role is a key and not a value because SQLAlchemy merges the info of Annotated types, and both roles must stay
    visible.
    """
    return {role: "dbanon"}


def _validated_settings(arguments: Mapping[str, object]) -> Settings:
    """Validate settings as the parameters of a call are validated, and return them; None means not given.

    Raises:
        InvalidArgumentError: A value is invalid.
    """
    kinds = {p.name: p.kind for p in COMMON}
    settings_by_name: dict[str, Any] = {}
    for name, value in ((name, value) for name, value in arguments.items() if value is not None):
        kind = cast(PerColumn | ForColumns, kinds[_PARAMETER_NAMES.get(name, name)]).value_type
        try:
            settings_by_name[name] = kind.check(policy_value(value))
        except ValueError:
            raise errors.InvalidArgumentError("quasi", name, str(kind), parameters.format_value(value)) from None
    return Settings(**settings_by_name)
