"""Quasi-identifiers of numbers, dates and times: how they are read, and how their intervals end."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from dbanon.policy.attribute import Attribute, value_type
from dbanon.release.plan.named_column import HashedColumn
from dbanon.source.type_families import FAMILIES, Family
from dbanon.sqltext.quote import Sql, text


@dataclass(frozen=True)
class Grid:
    """What the ends of intervals snap to.

    `step` is a number or a calendar unit, None where there is no grid. The step of floating numbers is also given as
    `units` / `parts`. `months` is the length of a calendar grid, and `unit` what its texts name: a month, a quarter or
    a year (None: days).
    """

    step: Sql | None
    units: Sql
    parts: Sql
    months: int | None
    unit: str | None
    is_week: bool


@dataclass(frozen=True)
class BoundType:
    """The type of published interval ends, its least and greatest value, and whether they are days."""

    type: Sql
    min_value: Sql
    max_value: Sql
    is_day: bool


@dataclass(frozen=True)
class NumberColumn(HashedColumn):
    """A quasi-identifier of numbers, dates or times, which is published as intervals.

    `value` reads it and `type` is what it is compared in; `scale` and `wide` are the step and the widest type of
    decimals. `magnitude` is the value that the algorithm computes with, and `drawn` says that values are published, not
    intervals.
    """

    i: int
    raw_name: str
    say: Mapping[str, Sql]
    family: Family
    value: Sql
    type: Sql
    scale: Sql
    decimal_type: Sql
    is_finite: Sql
    top: Sql | None
    bottom: Sql | None
    grid: Grid
    ends: BoundType
    magnitude: Sql
    is_drawn: bool

    is_number: ClassVar[bool] = True

    @property
    def value_type(self) -> str:
        return str(self.type)

    @property
    def zero(self) -> Sql:
        """A value of its type that distances can be told from, whatever has come."""
        return Sql(self.family.zero.format(type=self.type))

    @property
    def is_dated(self) -> bool:
        """Whether what is published are texts of days or of longer units of the calendar."""
        return self.family.is_calendar and not self.is_drawn

    @property
    def is_snapped(self) -> bool:
        """Whether ends are multiples of a number: then losses go by them, not by the values."""
        return self.grid.step is not None and self.family.is_plain


_MAX_EXACT_POWER = 15
"""Powers of ten up to this one, and what divides them, are exact as DOUBLE."""

_GRID_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
_GRID_UNITS = {"month": "month", "quarter": "quarter", "year": "year", "decade": "year", "century": "year"}


def number_column(
    attribute: Attribute, family: Family, i: int, column_sql: Sql, messages: Mapping[str, Sql], has_noise: bool
) -> NumberColumn:
    """Return the column of a quasi-identifier of numbers, dates or times, as templates see it.

    Args:
        attribute: The quasi-identifier.
        family: The family of its type.
        i: Its number.
        column_sql: SQL of the column of the source, with NULL for codes of missing values.
        messages: The error messages about it, as SQL, by name.
        has_noise: Drawn values are published instead of intervals.
    """
    settings, type_ = attribute.quasi.settings, value_type(attribute)
    is_calendar = family.is_calendar
    step = _grid_step(attribute, is_calendar)
    units, parts = _grid_fraction(attribute)
    min_value, max_value = _type_limits(attribute)

    def coding_limit(setting: str | None) -> Sql | None:
        """top or bottom; on a calendar grid they are whole days."""
        if setting is None:
            return None
        limit = Sql(f"CAST({text(setting)} AS {type_})")
        return Sql(f"CAST({limit} AS DATE)") if is_calendar and step else limit

    return NumberColumn(
        i,
        attribute.quasi.column,
        messages,
        family,
        value=_number_value(attribute, column_sql),
        type=type_,
        scale=Sql(f"1e{attribute.scale}"),
        decimal_type=Sql(f"DECIMAL(38,{attribute.scale})"),
        is_finite=Sql(f" AND isfinite(q{i})") if family.has_infinity else Sql(""),
        top=coding_limit(settings.top),
        bottom=coding_limit(settings.bottom),
        grid=Grid(
            step,
            units,
            parts,
            months=_GRID_MONTHS.get(attribute.grid or "") if is_calendar else None,
            unit=_GRID_UNITS.get(attribute.grid or "") if is_calendar else None,
            is_week=attribute.grid == "week",
        ),
        ends=BoundType(_bound_type(attribute), min_value, max_value, is_day=is_calendar and step is not None),
        magnitude=Sql("value::DOUBLE") if family.is_plain else Sql("position"),
        is_drawn=has_noise,
    )


def _number_value(attribute: Attribute, column_sql: Sql) -> Sql:
    """How a number or a time is read."""
    value = Sql(f"{column_sql} AT TIME ZONE 'UTC'") if attribute.is_zoned else column_sql
    if attribute.family == "float":
        return Sql(f"({value} + 0::{value_type(attribute)})")
    if attribute.family != "timestamp":
        return value
    if attribute.quasi.type != "TIMESTAMP_NS":
        return Sql(f"({value})::TIMESTAMP")
    # A cast would round, to the next day perhaps.
    nanoseconds = f"epoch_ns({value})"
    microseconds = f"({nanoseconds} - (({nanoseconds} % 1000) + 1000) % 1000) // 1000"
    return Sql(f"CASE WHEN isfinite({value}) THEN make_timestamp({microseconds}) ELSE ({value})::TIMESTAMP END")


def _grid_step(attribute: Attribute, is_calendar: bool) -> Sql | None:
    """Return the grid that interval ends snap to: a calendar unit, or a number, exact where its type is."""
    if attribute.grid is None:
        return None
    if is_calendar:
        return text(attribute.grid)
    is_exact = attribute.family in ("integer", "huge", "decimal")
    return Sql(f"{text(attribute.grid)}::{_bound_type(attribute) if is_exact else 'DOUBLE'}")


def _grid_fraction(attribute: Attribute) -> tuple[Sql, Sql]:
    """Return the grid of floating numbers as a fraction of two that a DOUBLE holds.

    3 / 10 is 0.3 where 3 * 0.1 is not.
    """
    if attribute.grid is None or attribute.family != "float":
        return Sql("1::DOUBLE"), Sql("1::DOUBLE")
    units, parts = Decimal(attribute.grid).as_integer_ratio()
    if parts > 10**_MAX_EXACT_POWER or units > 2**53:
        return Sql(f"{text(attribute.grid)}::DOUBLE"), Sql("1::DOUBLE")
    return Sql(f"{units}::DOUBLE"), Sql(f"{parts}::DOUBLE")


def _bound_type(attribute: Attribute) -> Sql:
    """Return the type of published interval ends. One that was snapped to a grid may lie beyond the column's type."""
    if attribute.grid is None:
        return value_type(attribute)
    wider_types = {"integer": "HUGEINT", "decimal": f"DECIMAL(38,{attribute.scale})"}
    if attribute.family is not None and FAMILIES[attribute.family].is_calendar:
        return Sql("DATE")
    return Sql(wider_types.get(str(attribute.family), attribute.quasi.type))


def _type_limits(attribute: Attribute) -> tuple[Sql, Sql]:
    """Return the least and greatest value of the type of interval ends.

    Where an end is that the grid puts beyond them.
    """
    type_ = _bound_type(attribute)
    if type_ == "DATE":
        return Sql("DATE '5877642-06-25 (BC)'"), Sql("DATE '5881580-07-10'")
    if type_ == "HUGEINT":
        limits = str(-(2**127)), str(2**127 - 1)
    elif type_ == "UHUGEINT":
        limits = "0", str(2**128 - 1)
    elif type_.startswith("DECIMAL"):
        digits = "9" * (38 - attribute.scale) + ("." + "9" * attribute.scale if attribute.scale else "")
        limits = f"-{digits}", digits
    elif type_ == "FLOAT":
        limits = "-3.4028234663852886e38", "3.4028234663852886e38"
    else:
        limits = "-1.7976931348623157e308", "1.7976931348623157e308"
    return Sql(f"{text(limits[0])}::{type_}"), Sql(f"{text(limits[1])}::{type_}")
