"""Families of numbers, dates and times: SQL for the operations on values of each. Templates print these fields.

Placeholders: `{high}` and `{low}` for two values, `{distance}` for the distance of one from another, `{value}` for one
value; `{type}` for the type of the column, `{wide}` for the widest DECIMAL of its scale, `{scale}` for the steps of one
unit. Ends of intervals have the type `{end_type}`, are between `{least}` and `{greatest}` and on the grid `{grid}`,
which is `{units}` / `{parts}`; `{rest}` is the distance of a value from the beginning of its cell, `{first_day}` and
`{last_day}` are those of its cell in the calendar.

The release gate has an implementation of its own (dbanon.gate.rules) and imports nothing from here.
"""

from dataclasses import dataclass
from functools import partial

from dbanon.sqltext.quote import Sql

_AS_TEXT = Sql("({value})::VARCHAR")
_BEYOND_DOUBLE = Sql("abs({position}) >= 9007199254740992")


@dataclass(frozen=True)
class Family:
    """Types on which SQL has the same operations; fields of type Sql have the placeholders of the module's docstring.

    Attributes:
        gap: The distance of two values, the greater one first, as DOUBLE in the smallest step of the type, exact below
            2^53 (for floats: half the difference).
        moved: The value at a distance from `{low}`.
        low_end: The published lower end of an interval, rounded down to a grid.
        high_end: The published upper end, rounded up to a grid.
        width: A distance (`{gap}`) in the unit of the column, or in days.
        zero: A fixed value from which distances are measured.
        exact: The text of a value in steps from zero (for floats, of the value), needed if `is_inexact` is true.
        is_inexact: A condition on `{position}`, the gap of the value to `zero`: DOUBLE does not represent it exactly.
        in_steps: Whether distances are integers.
        is_plain: Whether values are numbers without conversion.
        is_counted: Whether the values between two values can be counted.
        is_calendar: Whether cells of its grids consist of days.
        has_infinity: Whether some values are not finite.
    """

    name: str
    gap: Sql
    moved: Sql
    low_end: Sql
    high_end: Sql
    width: Sql
    zero: Sql
    exact: Sql = _AS_TEXT
    is_inexact: Sql = _BEYOND_DOUBLE
    in_steps: bool = True
    is_plain: bool = False
    is_counted: bool = False
    is_calendar: bool = False
    has_infinity: bool = False


_MULTIPLE_BELOW = Sql("coalesce(TRY(({value})::{end_type} - {rest}), {least})")
_MULTIPLE_ABOVE = Sql("coalesce(TRY(({value})::{end_type} + ({grid} - 1 - {rest})), {greatest})")
_DAY_BELOW = Sql("coalesce(TRY({first_day}), {least})")
_DAY_ABOVE = Sql("coalesce(TRY({last_day}), {greatest})")

_CELL = "CASE WHEN {value} < 0 THEN least(floor({value}::DOUBLE / {grid}), -1) ELSE floor({value}::DOUBLE / {grid}) END"
"""The number of the grid cell of a DOUBLE or FLOAT; a quotient may be too small for a DOUBLE."""

_MICROSECONDS = Sql("(epoch_us({high})::HUGEINT - epoch_us({low})::HUGEINT)::DOUBLE")

_whole_numbers = partial(
    Family,
    low_end=_MULTIPLE_BELOW,
    high_end=_MULTIPLE_ABOVE,
    width=Sql("{gap}"),
    zero=Sql("0::{type}"),
    is_plain=True,
    is_counted=True,
)
_days = partial(Family, low_end=_DAY_BELOW, high_end=_DAY_ABOVE, is_calendar=True, has_infinity=True)

_FAMILIES = (
    _whole_numbers(
        "integer",
        gap=Sql("({high}::HUGEINT - {low}::HUGEINT)::DOUBLE"),
        moved=Sql("({low}::HUGEINT + {distance}::HUGEINT)::{type}"),
    ),
    _whole_numbers(
        "huge",
        # Where the difference is beyond the type, which has 38 digits then, it is that of the values as DOUBLE.
        gap=Sql("coalesce(TRY({high} - {low})::DOUBLE, {high}::DOUBLE - {low}::DOUBLE)"),
        # In two halves, as the whole may be beyond the type; down by a positive number, as UHUGEINT has no other.
        moved=Sql(
            "CASE WHEN {distance} < 0 "
            "THEN {low} - floor(-{distance} / 2)::{type} - ceil(-{distance} / 2)::{type} "
            "ELSE {low} + floor({distance} / 2)::{type} + ceil({distance} / 2)::{type} END"
        ),
    ),
    Family(
        "decimal",
        gap=Sql(
            "coalesce(replace((TRY({high}::{wide} - {low}::{wide}))::VARCHAR, '.', '')::HUGEINT::DOUBLE, "
            "{high}::DOUBLE * {scale} - {low}::DOUBLE * {scale})"
        ),
        moved=Sql(
            "({low}::{wide} + (floor({distance} / 2) / {scale})::{wide} "
            "+ (ceil({distance} / 2) / {scale})::{wide})::{type}"
        ),
        low_end=_MULTIPLE_BELOW,
        high_end=Sql("coalesce(TRY(({value})::{end_type} + ({grid} - {rest})), {greatest})"),
        width=Sql("{gap} / {scale}"),
        zero=Sql("0::{type}"),
        exact=Sql("replace(({value})::{wide}::VARCHAR, '.', '')"),
        is_plain=True,
        is_counted=True,
    ),
    Family(
        "float",
        gap=Sql("({high}::DOUBLE / 2 - {low}::DOUBLE / 2)"),
        moved=Sql(
            "CASE WHEN isfinite({low}::DOUBLE + {distance} + {distance}) "
            "THEN ({low}::DOUBLE + {distance} + {distance})::{type} END"
        ),
        # Numbers that are further apart than the grid are their own ends.
        low_end=Sql(
            "CASE WHEN abs({value}::DOUBLE / {grid}) >= 9007199254740992 THEN {value} "
            f"ELSE least({{value}}, greatest(coalesce(TRY(({_CELL} * {{units}} / {{parts}})::{{end_type}}), "
            "{least}), {least})) END"
        ),
        high_end=Sql(
            "CASE WHEN abs({value}::DOUBLE / {grid}) >= 9007199254740992 THEN {value} ELSE greatest({value}, "
            f"least(coalesce(TRY((({_CELL} + 1) * {{units}} / {{parts}})::{{end_type}}), "
            "{greatest}), {greatest})) END"
        ),
        width=Sql("{gap} * 2"),
        zero=Sql("0::{type}"),
        exact=Sql("({value})::DOUBLE::VARCHAR"),
        # Half of a number near zero may be no DOUBLE.
        is_inexact=Sql("(abs({position}) < 2.2250738585072014e-308 AND {value} <> 0)"),
        in_steps=False,
        is_plain=True,
        has_infinity=True,
    ),
    _days(
        "date",
        gap=Sql("({high} - {low})::DOUBLE"),
        moved=Sql("({low} + {distance}::INTEGER)"),
        width=Sql("{gap}"),
        zero=Sql("DATE '1970-01-01'"),
        is_inexact=Sql("false"),  # few days
        is_counted=True,
    ),
    _days(
        "timestamp",
        gap=_MICROSECONDS,
        moved=Sql("make_timestamp((epoch_us({low})::HUGEINT + {distance}::HUGEINT)::BIGINT)"),
        width=Sql("{gap} / 86400e6"),
        zero=Sql("TIMESTAMP '1970-01-01'"),
        exact=Sql("epoch_us({value})::VARCHAR"),
    ),
    _days(
        "nanos",
        gap=Sql("(epoch_ns({high})::HUGEINT - epoch_ns({low})::HUGEINT)::DOUBLE"),
        moved=Sql("make_timestamp_ns((epoch_ns({low})::HUGEINT + {distance}::HUGEINT)::BIGINT)"),
        width=Sql("{gap} / 86400e9"),
        zero=Sql("make_timestamp_ns(0)"),
        exact=Sql("epoch_ns({value})::VARCHAR"),
    ),
    Family(
        "time",
        gap=_MICROSECONDS,
        moved=Sql(
            "(TIME '00:00:00' + to_microseconds(greatest(least(epoch_us({low}) + {distance}, 86399999999), 0)::BIGINT))"
        ),
        low_end=Sql("{value}"),  # times have no grid
        high_end=Sql("{value}"),
        width=Sql("{gap} / 86400e6"),
        zero=Sql("TIME '00:00:00'"),
        is_inexact=Sql("false"),
    ),
)

FAMILIES = {family.name: family for family in _FAMILIES}
"""The families by name."""
