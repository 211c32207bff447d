"""Define quasi-identifiers of numbers, dates and times: how they are read, and the grid of their published bounds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import ClassVar

from dbanon.policy.attribute import Attribute, value_type
from dbanon.release.plan.named_column import HashedColumn
from dbanon.source.type_families import FAMILIES, Family
from dbanon.sqltext.quote import Sql, text


@dataclass(frozen=True)
class Grid:
    """The grid on which the bounds of published intervals lie.

    Attributes:
        step: SQL of the width of a cell: a number or a calendar unit; None without a grid.
        units, parts: SQL of numerator and denominator of the step of floating-point numbers; 1 for other types.
        months: The number of months of a cell of a calendar grid; None for days, weeks and other types.
        unit: The unit that texts of dates name: month, quarter or year; None: days, or no dates.
        is_week: Whether cells are weeks.
    """

    step: Sql | None
    units: Sql
    parts: Sql
    months: int | None
    unit: str | None
    is_week: bool


@dataclass(frozen=True)
class BoundType:
    """The type of the bounds of published intervals.

    Attributes:
        type: The DuckDB type.
        min_value: SQL of its least value.
        max_value: SQL of its greatest value.
        is_day: Bounds are whole days.
    """

    type: Sql
    min_value: Sql
    max_value: Sql
    is_day: bool


@dataclass(frozen=True)
class NumberColumn(HashedColumn):
    """A quasi-identifier of numbers, dates or times, which is published as intervals.

    Attributes:
        i: Its number.
        raw_name: Its name.
        say: The error messages about it, as SQL, by name.
        family: The SQL operations on values of its type.
        value: SQL of its value.
        type: The type in which values are compared, and of which the ledger stores hashes.
        scale: The number of units per 1 of a DECIMAL.
        decimal_type: The widest DECIMAL of the same scale.
        top: The value above which values are coded as one, or None.
        bottom: The value below which values are coded as one, or None.
        grid: The grid of its bounds.
        ends: The type of its bounds.
        magnitude: SQL of the number that the algorithm computes with.
        is_drawn: Values with noise are published instead of intervals.
    """

    i: int
    raw_name: str
    say: Mapping[str, Sql] = field(hash=False)
    family: Family
    value: Sql
    type: Sql
    scale: Sql
    decimal_type: Sql
    top: Sql | None
    bottom: Sql | None
    grid: Grid
    ends: BoundType
    magnitude: Sql
    is_drawn: bool

    is_number: ClassVar[bool] = True

    @property
    def zero(self) -> Sql:
        """SQL of a fixed value of the column's type from which distances are measured."""
        return Sql(self.family.zero.format(type=self.type))

    @property
    def is_dated(self) -> bool:
        """Whether published texts are days, months, quarters or years.

        So it is for a date or timestamp without noise; not for a time.
        """
        return self.family.is_calendar and not self.is_drawn

    @property
    def is_snapped(self) -> bool:
        """Whether published bounds are multiples of a number: the column has a grid and is not a date or time."""
        return self.grid.step is not None and self.family.is_plain


_MAX_EXACT_POWER = 15
"""Powers of ten up to this one, and their divisors, are exact as DOUBLE."""

_GRID_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
_GRID_UNITS = {"month": "month", "quarter": "quarter", "year": "year", "decade": "year", "century": "year"}


def number_column(
    attribute: Attribute, family: Family, i: int, column_sql: Sql, messages: Mapping[str, Sql], has_noise: bool
) -> NumberColumn:
    """Build the column of a quasi-identifier of numbers, dates or times, as templates see it.

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
        """Return SQL of the setting `top` or `bottom`, or None; on a calendar grid it is a whole day."""
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
    """Return SQL of the value of a number, date or time in the form in which it is compared.

    -0.0 becomes 0.0. Timestamps become TIMESTAMP, instants in UTC; TIMESTAMP_NS with a grid is truncated to
    microseconds. TIMESTAMP_NS without a grid and all other types are unchanged.
    """
    value = Sql(f"{column_sql} AT TIME ZONE 'UTC'") if attribute.is_zoned else column_sql
    if attribute.family == "float":
        return Sql(f"({value} + 0::{value_type(attribute)})")
    if attribute.family != "timestamp":
        return value
    if attribute.quasi.type != "TIMESTAMP_NS":
        return Sql(f"({value})::TIMESTAMP")
    # A cast would round, possibly to the next day.
    nanoseconds = f"epoch_ns({value})"
    microseconds = f"({nanoseconds} - (({nanoseconds} % 1000) + 1000) % 1000) // 1000"
    return Sql(f"CASE WHEN isfinite({value}) THEN make_timestamp({microseconds}) ELSE ({value})::TIMESTAMP END")


def _grid_step(attribute: Attribute, is_calendar: bool) -> Sql | None:
    """Return SQL of the width of the grid's cells: a calendar unit or a number; None without a grid.

    The number has the type of the bounds if this is exact, else DOUBLE.
    """
    if attribute.grid is None:
        return None
    if is_calendar:
        return text(attribute.grid)
    is_exact = attribute.family in ("integer", "huge", "decimal")
    return Sql(f"{text(attribute.grid)}::{_bound_type(attribute) if is_exact else 'DOUBLE'}")


def _grid_fraction(attribute: Attribute) -> tuple[Sql, Sql]:
    """Return a floating-point column's grid width as a fraction: SQL of numerator and denominator as DOUBLE.

    A width of 0.1 becomes 1 / 10, because bounds must be the nearest DOUBLE: 3 * 1 / 10 is 0.3, but 3 * 0.1 is not. If
    numerator or denominator is too large for an exact DOUBLE, the width itself is the numerator and the denominator
    is 1. Both are 1 without a grid and for columns of other types.
    """
    if attribute.grid is None or attribute.family != "float":
        return Sql("1::DOUBLE"), Sql("1::DOUBLE")
    units, parts = Decimal(attribute.grid).as_integer_ratio()
    if parts > 10**_MAX_EXACT_POWER or units > 2**53:
        return Sql(f"{text(attribute.grid)}::DOUBLE"), Sql("1::DOUBLE")
    return Sql(f"{units}::DOUBLE"), Sql(f"{parts}::DOUBLE")


def _bound_type(attribute: Attribute) -> Sql:
    """Return the DuckDB type of published bounds; with a grid it may be wider than the column's, or DATE."""
    if attribute.grid is None:
        return value_type(attribute)
    wider_types = {"integer": "HUGEINT", "decimal": f"DECIMAL(38,{attribute.scale})"}
    if attribute.family is not None and FAMILIES[attribute.family].is_calendar:
        return Sql("DATE")
    return Sql(wider_types.get(str(attribute.family), attribute.quasi.type))


def _type_limits(attribute: Attribute) -> tuple[Sql, Sql]:
    """Return SQL of the least and greatest value of the bounds' type; they replace bounds beyond the type."""
    type_ = _bound_type(attribute)
    if type_ == "DATE":
        return Sql("DATE '5877642-06-25 (BC)'"), Sql("DATE '5881580-07-10'")
    digits = "9" * (38 - attribute.scale) + ("." + "9" * attribute.scale if attribute.scale else "")
    limits_by_type = {
        "HUGEINT": (str(-(2**127)), str(2**127 - 1)),
        "UHUGEINT": ("0", str(2**128 - 1)),
        "DECIMAL": (f"-{digits}", digits),
        "FLOAT": ("-3.4028234663852886e38", "3.4028234663852886e38"),
    }
    double_limits = "-1.7976931348623157e308", "1.7976931348623157e308"
    low, high = limits_by_type.get(type_.partition("(")[0], double_limits)
    return Sql(f"{text(low)}::{type_}"), Sql(f"{text(high)}::{type_}")


MAX_JOINED_COLUMNS = 20
"""With more quasi-identifiers than this, a statement has relations with one row per column in place of joins.

Rows of columns save planning, which grows faster than the number of columns, and cost about 0.7 microseconds more per
value of the table. For 20 columns the two are equal at 60,000 records.
"""


def number_blocks(columns: Iterable[object]) -> list[list[NumberColumn]]:
    """Return the numbers among the quasi-identifiers, grouped by equal type and settings, each group in their order."""
    groups: dict[NumberColumn, list[NumberColumn]] = {}
    for column in columns:
        if isinstance(column, NumberColumn):
            groups.setdefault(replace(column, i=0, raw_name="", say={}, value=Sql("")), []).append(column)
    return list(groups.values())
