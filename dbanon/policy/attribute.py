"""Decide how a quasi-identifier is generalized, by type and settings: as a number (ranges) or a category (nodes)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation

from dbanon import errors
from dbanon.policy.column_roles import QuasiIdentifier
from dbanon.policy.hierarchies.storage import Hierarchy
from dbanon.policy.hierarchies.value_labels import has_notations
from dbanon.source.column_types import CALENDAR_FAMILIES, family, is_category, is_nested
from dbanon.sqltext.quote import Sql, text

_CALENDAR_UNITS = ("day", "week", "month", "quarter", "year", "decade", "century")
_FAMILIES_WITH_INFINITY = ("float", "date", "timestamp", "nanos")
"""Families of types that have NaN or infinities."""
DEFAULT_DATE_GRID = "month"

_EXACT = Context(prec=1000)
"""More digits than any type has: the default of 28 would round."""


@dataclass(frozen=True)
class Attribute:
    """A quasi-identifier of a call with everything that planning needs: how its values are generalized.

    A category is generalized to nodes of its hierarchy; inner nodes are published if their depth is a multiple of
    `round`. All other attributes are numbers, dates and times, and are generalized to ranges.

    Attributes:
        quasi: The column with its settings.
        family: None for categories; for numbers the arithmetic: integer, huge, decimal, float, date, timestamp, nanos,
            time.
        scale: Number of decimals of a DECIMAL and of its grid.
        hierarchy: The hierarchy of a category; None without one.
        grid: The unit to which the ends of ranges are rounded, such as `month` or `5`; None without rounding.
        leaf_shapes: How the hierarchy writes numbers and truth values, if values of the type can be written in several
            ways (see `value_labels.leaf_shapes_sql`); else empty.
    """

    quasi: QuasiIdentifier
    family: str | None
    scale: int = 0
    hierarchy: Hierarchy | None = None
    grid: str | None = None
    round: int = 1
    leaf_shapes: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        """Whether the attribute is a number, date or time, which is generalized to ranges."""
        return self.family is not None

    @property
    def is_integral(self) -> bool:
        """Whether distances of values are whole multiples of a smallest step; false for floats and categories."""
        return self.family not in (None, "float")

    @property
    def is_zoned(self) -> bool:
        """Whether the type is TIMESTAMP WITH TIME ZONE.

        It is read and published in UTC, whatever the session's zone.
        """
        return self.quasi.type == "TIMESTAMP WITH TIME ZONE"


def resolve_attribute(
    function: str,
    table: str,
    quasi: QuasiIdentifier,
    find_hierarchy: Callable[[str], Hierarchy | None],
    known_hierarchies: Callable[[], list[str]],
    holds: Callable[[str], bool],
    read_leaf_shapes: Callable[[Hierarchy], tuple[str, ...]],
) -> Attribute:
    """Return the attribute of a quasi-identifier: by its type and settings, as a number or as a category.

    A column with a hierarchy is a category, whatever its type.

    Args:
        function: The calling function, for messages.
        table: The table, for messages.
        quasi: The quasi-identifier.
        find_hierarchy: Returns the hierarchy of a name, or None.
        known_hierarchies: Returns the names of existing hierarchies, for messages.
        holds: Returns whether a SQL condition is true.
        read_leaf_shapes: Returns the shapes of the leaves of a hierarchy that are numbers or truth values.

    Raises:
        UnsupportedTypeError: The type cannot be generalized.
        UnsupportedSettingError: A setting does not fit the type.
        UnknownHierarchyError: The hierarchy does not exist.
    """
    settings = quasi.settings

    def setting_error(setting: str, why: str) -> errors.DbanonError:
        """Return the error for a setting of the column, with the reason."""
        return errors.UnsupportedSettingError(function, setting, table, quasi.column, why)

    family_, scale = (None, 0) if settings.hierarchy else family(quasi.type)
    if family_ is not None:
        return _resolve_number(quasi, family_, scale, holds, setting_error)
    if is_nested(quasi.type) if settings.hierarchy is not None else not is_category(quasi.type):
        raise errors.UnsupportedTypeError(function, table, quasi.column, quasi.type)
    for setting in ("top", "bottom", "rounding"):
        if getattr(settings, setting) is not None:
            raise setting_error(setting, "it is a category, not a number or a date.")
    if settings.max_level is not None and (settings.min_level or 0) > settings.max_level:
        raise setting_error("min_level", f"{settings.min_level} is above max_level {settings.max_level}.")
    hierarchy = None
    if settings.hierarchy is not None:
        hierarchy = find_hierarchy(settings.hierarchy)
        if hierarchy is None:
            raise errors.UnknownHierarchyError(
                function, settings.hierarchy, f"of {table}.{quasi.column}", known_hierarchies()
            )
    return Attribute(
        quasi,
        None,
        hierarchy=hierarchy,
        round=_level_step(settings.coarsen, setting_error),
        leaf_shapes=read_leaf_shapes(hierarchy) if hierarchy and has_notations(quasi.type) else (),
    )


def _resolve_number(
    quasi: QuasiIdentifier,
    family_: str,
    scale: int,
    holds: Callable[[str], bool],
    setting_error: Callable[[str, str], errors.DbanonError],
) -> Attribute:
    """Return the attribute of a number or date without a hierarchy.

    Args:
        quasi: The quasi-identifier.
        family_: The arithmetic family of its type.
        scale: The number of decimals of its type.
        holds: Returns whether a SQL condition is true.
        setting_error: Returns the error to raise, given a setting and a reason.
    """
    settings = quasi.settings
    for setting in ("min_level", "max_level"):
        if getattr(settings, setting) is not None:
            raise setting_error(setting, "it is a number or a date without a hierarchy.")
    value_type = "TIMESTAMP" if family_ == "timestamp" else quasi.type
    for setting in ("top", "bottom"):
        bound = getattr(settings, setting)
        if bound is not None and not holds(f"TRY_CAST({text(bound)} AS {value_type}) IS NOT NULL"):
            raise setting_error(setting, f"{bound!r} is not a value of type {quasi.type}.")
        if (
            bound is not None
            and family_ in _FAMILIES_WITH_INFINITY
            and not holds(f"isfinite(CAST({text(bound)} AS {value_type}))")
        ):
            raise setting_error(setting, f"{bound!r} is not finite.")
    setting = "rounding" if settings.coarsen is None else "coarsen"
    grid = _resolve_grid(family_, quasi.type, getattr(settings, setting), lambda why: setting_error(setting, why))
    if family_ == "decimal" and grid is not None:
        scale = max(scale, _n_decimals(Decimal(grid)))
    if family_ == "nanos" and grid is not None:  # the day of an instant does not depend on its nanoseconds
        family_ = "timestamp"
    if settings.top is not None and settings.bottom is not None:
        ends = [f"CAST({text(bound)} AS {value_type})" for bound in (settings.bottom, settings.top)]
        compares_days = family_ in CALENDAR_FAMILIES and grid is not None
        if not holds(" < ".join(f"{end}::DATE" for end in ends) if compares_days else " < ".join(ends)):
            raise setting_error("bottom", f"{settings.bottom} is not below top {settings.top}.")
    return Attribute(quasi, family_, scale, grid=grid)


def _resolve_grid(
    family: str, type_: str, setting: str | None, setting_error: Callable[[str], errors.DbanonError]
) -> str | None:
    """Return the grid (the unit to which ends of ranges are rounded) in normal form; None for no grid.

    Args:
        family: The family of the column's type: integer, huge, decimal, float, date, timestamp, nanos or time.
        type_: The DuckDB type.
        setting: The grid as written; None for the default, which is `month` for dates and none for other types.
        setting_error: Returns the error to raise, given a reason.

    Raises:
        DbanonError: The grid is not valid for the type, as `setting_error` returns it.
    """
    if setting is None:
        return DEFAULT_DATE_GRID if family in CALENDAR_FAMILIES else None
    if setting.lower() == "none":
        return None
    if family in CALENDAR_FAMILIES:
        if setting.lower() not in _CALENDAR_UNITS:
            raise setting_error(f"{setting!r} is not one of {', '.join(_CALENDAR_UNITS)}, none.")
        return setting.lower()
    if family == "time":
        raise setting_error("times have no grid; use none.")
    is_integer = family in ("integer", "huge")
    try:
        size = Decimal(setting)
    except InvalidOperation:
        size = Decimal(0)
    # No type has greater numbers: arithmetic with them would be slow or lose all digits.
    is_valid = size.is_finite() and size > 0 and abs(size.adjusted()) < 400
    if not is_valid or (is_integer and size != size.to_integral_value()):
        raise setting_error(f"{setting!r} is not a positive {'integer' if is_integer else 'number'} or none.")
    if family == "float":
        if not 0 < float(size) < float("inf"):
            raise setting_error(f"{setting!r} is beyond what a DOUBLE holds.")
        return repr(float(size))
    if is_integer:
        if size >= (2**128 if type_ == "UHUGEINT" else 2**127):
            raise setting_error(f"{setting!r} is beyond what {'UHUGEINT' if type_ == 'UHUGEINT' else 'HUGEINT'} holds.")
        return str(int(size))
    _, digits, decimals = re.split(r"[(,]", type_.rstrip(")"))
    if max(size.adjusted() + 1, int(digits) - int(decimals)) + max(int(decimals), _n_decimals(size)) > 38:
        raise setting_error(f"{setting!r} and values of type {type_} have more than 38 digits together.")
    return f"{size.normalize(_EXACT):f}"


def _n_decimals(number: Decimal) -> int:
    """Return the number of digits after the decimal point, without trailing zeros."""
    return max(-int(number.normalize(_EXACT).as_tuple().exponent), 0)


_MAX_STEP = 2**31 - 1
"""More levels than any hierarchy has."""


def _level_step(setting: str | None, setting_error: Callable[[str, str], errors.DbanonError]) -> int:
    """Return the number n of a category such that every n-th level of its hierarchy from the root down is published.

    Args:
        setting: The setting `coarsen` as text; None or empty for 1.
        setting_error: Returns the error to raise, given the setting's name and a reason.

    Raises:
        DbanonError: The setting is not a positive integer, as `setting_error` returns it.
    """
    try:
        step = float(setting or 1)
    except ValueError:
        step = 0.0
    if not 1 <= step < float("inf") or step != int(step):
        raise setting_error("coarsen", f"{setting!r} is not a positive integer, as a category needs.")
    return int(min(step, _MAX_STEP))


def is_less_strict(setting: str, type_: str, value: object, declared: object, holds: Callable[[str], bool]) -> bool:
    """Return whether a setting of a call would reveal more than the declared one.

    Args:
        setting: The name of the setting: `min_level`, `top`, `bottom` or `rounding`; false for any other.
        type_: The DuckDB type of the column.
        value: The value in the call.
        declared: The declared value; None for the default: level 0; for rounding, month for dates and none for other
            types. Without a declared top or bottom the result is false.
        holds: Returns whether a SQL condition is true.
    """
    if setting == "min_level":
        return int(str(value)) < int(str(declared or 0))
    if setting in ("top", "bottom") and declared is not None:
        value_type_ = "TIMESTAMP" if family(type_)[0] == "timestamp" else type_
        ends = [f"TRY_CAST({text(str(end))} AS {value_type_})" for end in (value, declared)]
        return holds((" > " if setting == "top" else " < ").join(ends))
    if setting == "rounding":
        is_calendar = family(type_)[0] in CALENDAR_FAMILIES
        declared_grid = str(declared or (DEFAULT_DATE_GRID if is_calendar else "none")).lower()
        return declared_grid != "none" and not _is_coarser(str(value).lower(), declared_grid)
    return False


def bound_off_grid(
    setting: str, type_: str, value: object, declared: str | None, holds: Callable[[str], bool]
) -> str | None:
    """Return the declared or default grid if a top or bottom of a call is inside one of its cells; else None.

    Values of that cell on both sides of the bound would be published differently. A top must start a cell, a bottom
    must end one. Also None if there is no grid or the declared one is not valid.

    Args:
        setting: `top` or `bottom`.
        type_: The DuckDB type of the column.
        value: The bound in the call.
        declared: The declared grid; None for the default: month for dates, none for other types.
        holds: Returns whether a SQL condition is true.
    """
    kind, decimals = family(type_)
    try:
        grid = _resolve_grid(kind, type_, declared, errors.DbanonError) if kind is not None else None
    except errors.DbanonError:  # the declared grid is not valid, which is reported where it is used
        return None
    if grid is None:
        return None
    offset = "" if setting == "top" else " + 1"
    if kind in CALENDAR_FAMILIES:
        first = f"(TRY_CAST({text(str(value))} AS TIMESTAMP)::DATE{offset})"
        unit = {"decade": "year", "century": "year"}.get(grid, grid)
        is_on_grid = f"date_trunc('{unit}', {first}) = {first}"
        if unit != grid:
            is_on_grid += f" AND year({first}) % {10 if grid == 'decade' else 100} = 0"
    elif kind == "float":
        number = f"TRY_CAST({text(str(value))} AS DOUBLE)"
        is_on_grid = f"abs({number} - round({number} / {grid}) * {grid}) <= 1e-9 * {grid}"
    elif kind == "decimal":
        exact = f"DECIMAL(38,{max(decimals, _n_decimals(Decimal(grid)))})"
        is_on_grid = f"TRY_CAST({text(str(value))} AS {type_}) % {text(grid)}::{exact} = 0"
    else:
        exact = "UHUGEINT" if type_ == "UHUGEINT" else "HUGEINT"
        is_on_grid = f"TRY(TRY_CAST({text(str(value))} AS {type_})::{exact}{offset}) % {text(grid)}::{exact} = 0"
    return grid if holds(f"NOT ({is_on_grid})") else None


_NESTED_UNITS = ("day", "month", "quarter", "year", "decade", "century")


def _is_coarser(grid: str, other: str) -> bool:
    """Return whether every cell of `grid` consists of whole cells of the grid `other`; also true if both are equal.

    Grids are calendar units or numbers, as text; false if they cannot be compared.
    """
    if grid == other or (grid == "week" and other == "day"):
        return True
    if grid in _NESTED_UNITS and other in _NESTED_UNITS:
        return _NESTED_UNITS.index(grid) > _NESTED_UNITS.index(other)
    try:
        return Decimal(grid) > 0 and _EXACT.remainder(Decimal(grid), Decimal(other)) == 0
    except (InvalidOperation, ZeroDivisionError):
        return False


def value_type(attribute: Attribute) -> Sql:
    """Return the SQL type in which values are compared: TIMESTAMP for all timestamps, else the column's type."""
    return Sql("TIMESTAMP") if attribute.family == "timestamp" else Sql(attribute.quasi.type)
