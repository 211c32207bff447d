"""How one quasi-identifier is generalized: as a number (ranges) or along a tree (nodes), from its type and settings."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation

from dbanon import errors
from dbanon.policy.column_roles import Quasi
from dbanon.policy.hierarchies.storage import Hierarchy
from dbanon.source.column_types import family, is_category, is_nested
from dbanon.sqltext.quote import Sql, text

_UNITS = ("day", "week", "month", "quarter", "year", "decade", "century")
_ENDLESS = ("float", "date", "timestamp", "nanos")
"""Families that have NaN or infinities."""
_CALENDAR = ("date", "timestamp", "nanos")
DEFAULT_DATE_GRID = "month"

_EXACT = Context(prec=1000)
"""More digits than any type has: the usual 28 would round."""


@dataclass(frozen=True)
class Attribute:
    """One quasi-identifier, ready to be planned.

    `family` is None for categories; for numbers it selects the arithmetic: integer, huge, decimal, float, date,
    timestamp, nanos or time. `scale` is the number of decimals of a DECIMAL and of its grid. Inner nodes of a category
    are published where their number of steps from the root is a multiple of `round`.
    """

    quasi: Quasi
    family: str | None
    scale: int = 0
    hierarchy: Hierarchy | None = None
    grid: str | None = None
    round: int = 1

    @property
    def is_number(self) -> bool:
        return self.family is not None

    @property
    def is_integral(self) -> bool:
        """Whether distances are whole multiples of the type's step."""
        return self.family not in (None, "float")

    @property
    def zoned(self) -> bool:
        """TIMESTAMP WITH TIME ZONE is read and published in UTC, whatever the session's zone."""
        return self.quasi.type == "TIMESTAMP WITH TIME ZONE"


def attribute(
    function: str,
    table: str,
    quasi: Quasi,
    find: Callable[[str], Hierarchy | None],
    known: Callable[[], list[str]],
    holds: Callable[[str], bool],
) -> Attribute:
    """Return the attribute of a quasi-identifier.

    `find` gives the hierarchy of a name, `known` names that exist (for messages), `holds` whether a SQL condition is
    true. Raises UnsupportedTypeError, UnsupportedSettingError or UnknownHierarchyError.
    """
    settings = quasi.settings

    def refuse(setting: str, why: str) -> errors.DbanonError:
        return errors.UnsupportedSettingError(function, setting, table, quasi.column, why)

    kind, scale = (None, 0) if settings.hierarchy else family(quasi.type)
    if kind is None:
        if settings.hierarchy is None and not is_category(quasi.type):
            raise errors.UnsupportedTypeError(function, table, quasi.column, quasi.type)
        if settings.hierarchy is not None and is_nested(quasi.type):
            raise errors.UnsupportedTypeError(function, table, quasi.column, quasi.type)
        for setting in ("top", "bottom", "grid"):
            if getattr(settings, setting) is not None:
                raise refuse(setting, "it is a category, not a number or a date.")
        if settings.max_level is not None and (settings.min_level or 0) > settings.max_level:
            raise refuse("min_level", f"{settings.min_level} is above max_level {settings.max_level}.")
        hierarchy = None
        if settings.hierarchy is not None:
            hierarchy = find(settings.hierarchy)
            if hierarchy is None:
                raise errors.UnknownHierarchyError(function, settings.hierarchy, f"of {table}.{quasi.column}", known())
        return Attribute(quasi, None, hierarchy=hierarchy, round=_levels(settings.round, refuse))
    for setting in ("min_level", "max_level"):
        if getattr(settings, setting) is not None:
            raise refuse(setting, "it is a number or a date without a hierarchy.")
    value_type = "TIMESTAMP" if kind == "timestamp" else quasi.type
    for setting in ("top", "bottom"):
        given = getattr(settings, setting)
        if given is not None and not holds(f"TRY_CAST({text(given)} AS {value_type}) IS NOT NULL"):
            raise refuse(setting, f"{given!r} is not a value of type {quasi.type}.")
        if given is not None and kind in _ENDLESS and not holds(f"isfinite(CAST({text(given)} AS {value_type}))"):
            raise refuse(setting, f"{given!r} is not finite.")
    setting = "grid" if settings.round is None else "round"
    grid = _grid(kind, quasi.type, getattr(settings, setting), lambda why: refuse(setting, why))
    if kind == "decimal" and grid is not None:
        scale = max(scale, _decimals(Decimal(grid)))
    if kind == "nanos" and grid is not None:  # the day of an instant does not depend on its nanoseconds
        kind = "timestamp"
    if settings.top is not None and settings.bottom is not None:
        ends = [f"CAST({text(given)} AS {value_type})" for given in (settings.bottom, settings.top)]
        days = kind in _CALENDAR and grid is not None
        if not holds(" < ".join(f"{end}::DATE" for end in ends) if days else " < ".join(ends)):
            raise refuse("bottom", f"{settings.bottom} is not below top {settings.top}.")
    return Attribute(quasi, kind, scale, grid=grid)


def _grid(family: str, type_: str, given: str | None, refuse: Callable[[str], errors.DbanonError]) -> str | None:
    """Return the grid that holds: as given, month for dates, none for numbers."""
    if given is None:
        return DEFAULT_DATE_GRID if family in _CALENDAR else None
    if given.lower() == "none":
        return None
    if family in _CALENDAR:
        if given.lower() not in _UNITS:
            raise refuse(f"{given!r} is not one of {', '.join(_UNITS)}, none.")
        return given.lower()
    if family == "time":
        raise refuse("times have no grid; use none.")
    whole = family in ("integer", "huge")
    try:
        size = Decimal(given)
    except InvalidOperation:
        size = Decimal(0)
    # Beyond these no number of any type is: arithmetic with them would take long, or have no digits left.
    fits = size.is_finite() and size > 0 and abs(size.adjusted()) < 400
    if not fits or (whole and size != size.to_integral_value()):
        raise refuse(f"{given!r} is not a positive {'integer' if whole else 'number'} or none.")
    if family == "float":
        if not 0 < float(size) < float("inf"):
            raise refuse(f"{given!r} is beyond what a DOUBLE holds.")
        return repr(float(size))
    if whole:
        if size >= (2**128 if type_ == "UHUGEINT" else 2**127):
            raise refuse(f"{given!r} is beyond what {'UHUGEINT' if type_ == 'UHUGEINT' else 'HUGEINT'} holds.")
        return str(int(size))
    _, digits, decimals = re.split(r"[(,]", type_.rstrip(")"))
    if max(size.adjusted() + 1, int(digits) - int(decimals)) + max(int(decimals), _decimals(size)) > 38:
        raise refuse(f"{given!r} and values of type {type_} have more than 38 digits together.")
    return f"{size.normalize(_EXACT):f}"


def _decimals(number: Decimal) -> int:
    """Return digits after the point."""
    return max(-int(number.normalize(_EXACT).as_tuple().exponent), 0)


_DEEPEST = 2**31 - 1
"""Steps that no hierarchy has."""


def _levels(given: str | None, refuse: Callable[[str, str], errors.DbanonError]) -> int:
    """Return the round of a category: every so manyth level from the root down is published."""
    try:
        steps = float(given or 1)
    except ValueError:
        steps = 0.0
    if not 1 <= steps < float("inf") or steps != int(steps):
        raise refuse("round", f"{given!r} is not a positive integer, as a category needs.")
    return int(min(steps, _DEEPEST))


def looser(setting: str, type_: str, value: object, before: object, holds: Callable[[str], bool]) -> bool:
    """Return whether a setting of a call would tell a reader more than the declared one (None: the default)."""
    if setting == "min_level":
        return int(str(value)) < int(str(before or 0))
    if setting in ("top", "bottom") and before is not None:
        kind = "TIMESTAMP" if family(type_)[0] == "timestamp" else type_
        ends = [f"TRY_CAST({text(str(end))} AS {kind})" for end in (value, before)]
        return holds((" > " if setting == "top" else " < ").join(ends))
    if setting == "grid":
        calendar = family(type_)[0] in _CALENDAR
        declared = str(before or (DEFAULT_DATE_GRID if calendar else "none")).lower()
        return declared != "none" and not _coarser(str(value).lower(), declared)
    return False


def cuts(setting: str, type_: str, value: object, declared: str | None, holds: Callable[[str], bool]) -> str | None:
    """The declared or default grid, where a top or bottom of a call lies within a cell of it: values of that cell on
    its two sides would be published apart. A top begins a cell, a bottom ends one."""
    kind, decimals = family(type_)
    try:
        grid = _grid(kind, type_, declared, errors.DbanonError) if kind is not None else None
    except errors.DbanonError:  # what is declared does not fit, which is told where it is used
        return None
    if grid is None:
        return None
    next_one = "" if setting == "top" else " + 1"
    if kind in _CALENDAR:
        first = f"(TRY_CAST({text(str(value))} AS TIMESTAMP)::DATE{next_one})"
        part = {"decade": "year", "century": "year"}.get(grid, grid)
        edge = f"date_trunc('{part}', {first}) = {first}"
        if part != grid:
            edge += f" AND year({first}) % {10 if grid == 'decade' else 100} = 0"
    elif kind == "float":
        number = f"TRY_CAST({text(str(value))} AS DOUBLE)"
        edge = f"abs({number} - round({number} / {grid}) * {grid}) <= 1e-9 * {grid}"
    elif kind == "decimal":
        exact = f"DECIMAL(38,{max(decimals, _decimals(Decimal(grid)))})"
        edge = f"TRY_CAST({text(str(value))} AS {type_}) % {text(grid)}::{exact} = 0"
    else:
        exact = "UHUGEINT" if type_ == "UHUGEINT" else "HUGEINT"
        edge = f"TRY(TRY_CAST({text(str(value))} AS {type_})::{exact}{next_one}) % {text(grid)}::{exact} = 0"
    return grid if holds(f"NOT ({edge})") else None


_NESTED = ("day", "month", "quarter", "year", "decade", "century")


def _coarser(grid: str, than: str) -> bool:
    """Return whether every cell of a grid is made of whole cells of another."""
    if grid == than or (grid == "week" and than == "day"):
        return True
    if grid in _NESTED and than in _NESTED:
        return _NESTED.index(grid) > _NESTED.index(than)
    try:
        return Decimal(grid) > 0 and _EXACT.remainder(Decimal(grid), Decimal(than)) == 0
    except (InvalidOperation, ZeroDivisionError):
        return False


def value_type(attribute: Attribute) -> Sql:
    """Return the type in which a number or a time is compared."""
    return Sql("TIMESTAMP") if attribute.family == "timestamp" else Sql(attribute.quasi.type)
