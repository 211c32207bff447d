"""Columns as the templates see them: how their values are read, what they are called, what is said about them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from dbanon import errors, lineage
from dbanon.attribute import Attribute, family, is_category
from dbanon.publication import Publication
from dbanon.quote import Sql, identifier, text
from dbanon.template import later, message


def quasi(call: Publication, i: int, attribute: Attribute) -> dict[str, object]:
    """Template values of one quasi-identifier."""
    column, settings = attribute.quasi.column, attribute.quasi.settings
    function, table = call.function, call.source.shown
    name = identifier(column)
    values: dict[str, object] = {
        "i": i,
        "column": name,
        "plain": column,
        "is_number": attribute.is_number,
        "family": attribute.family,
        "say": {
            "nulls": message(errors.NullsRefused(function, table, column, later(f"(facts.records - facts.filled{i})"))),
            "wild": message(errors.NotFinite(function, table, column, later(f"facts.wild{i}"))),
            "no_values": message(errors.NoValues(function, table, column)),
        },
    }
    if attribute.is_number:
        return values | _number_values(attribute, i, name)
    shown = settings.hierarchy or "none"
    malformed = {
        "roots": "it must have exactly one root (a row without parent).",
        "unreachable": "some nodes are not reachable from the root.",
        "siblings": "two nodes under one parent have the same label.",
        "ambiguous": "a value of the column is the label of several leaves.",
        "same_name": "two inner nodes would be published under one name.",
    }
    say = cast(dict[str, object], values["say"])
    say |= {key: message(errors.MalformedHierarchy(shown, why)) for key, why in malformed.items()}
    asked = cast(Mapping[str, str], call.options["hierarchies"] or {})
    given = next((h for name_, h in asked.items() if name_.lower() == column.lower()), None)
    say["uncovered"] = message(errors.Uncovered(table, column, later("count(*)"), shown, given))
    say["reserved"] = message(errors.ReservedValue(table, column, later("count(*)")))
    return values | {
        "value": Sql(f"CAST({name} AS VARCHAR) COLLATE POSIX"),
        "type": Sql("VARCHAR"),
        "rows": lineage.rows(attribute.hierarchy) if attribute.hierarchy else None,
        "min_level": settings.min_level or 0,
    }


def _number_values(attribute: Attribute, i: int, name: Sql) -> dict[str, object]:
    family, settings = attribute.family, attribute.quasi.settings
    type_ = _value_type(attribute)
    value = Sql(f"{name} AT TIME ZONE 'UTC'") if attribute.zoned else name
    if family == "timestamp":
        value = Sql(f"({value})::TIMESTAMP")
    if family == "float":
        value = Sql(f"({value} + 0::{type_})")
    finite = family in ("float", "date", "timestamp", "nanos")
    calendar = family in ("date", "timestamp", "nanos")
    grid: Sql | None = None
    if attribute.grid is not None:
        grid = text(attribute.grid) if calendar else Sql(attribute.grid)
    steps = {"quarter": "3 MONTH", "decade": "10 YEAR", "century": "100 YEAR"}
    step = steps.get(attribute.grid or "", f"1 {attribute.grid}")

    def coded(given: str | None) -> Sql | None:
        """top or bottom; on a calendar grid they are whole days."""
        if given is None:
            return None
        end = Sql(f"CAST({text(given)} AS {type_})")
        return Sql(f"CAST({end} AS DATE)") if calendar and grid else end

    low_limit, high_limit = _limits(attribute)
    return {
        "value": value,
        "type": type_,
        "scale": Sql(f"1e{attribute.scale}"),
        "wide": Sql(f"DECIMAL(38,{attribute.scale})"),
        "is_finite": Sql(f" AND isfinite(q{i})") if finite else Sql(""),
        "top": coded(settings.top),
        "bottom": coded(settings.bottom),
        "grid": grid,
        "grid_step": Sql(f"INTERVAL {step}") if calendar and grid else None,
        "end_type": _end_type(attribute),
        "low_limit": low_limit,
        "high_limit": high_limit,
        "end_is_day": calendar and grid is not None,
    }


def _value_type(attribute: Attribute) -> Sql:
    """The type in which a number or a time is compared."""
    return Sql("TIMESTAMP") if attribute.family == "timestamp" else Sql(attribute.quasi.type)


def _end_type(attribute: Attribute) -> Sql:
    """The type of published interval ends. One that was snapped to a grid may lie beyond the column's type."""
    if attribute.grid is None:
        return _value_type(attribute)
    wider = {"integer": "HUGEINT", "decimal": f"DECIMAL(38,{attribute.scale})"}
    if attribute.family in ("date", "timestamp", "nanos"):
        return Sql("DATE")
    return Sql(wider.get(str(attribute.family), attribute.quasi.type))


def _limits(attribute: Attribute) -> tuple[Sql, Sql]:
    """Least and greatest value of the type of interval ends: where an end is that the grid puts beyond them."""
    type_ = _end_type(attribute)
    if type_ == "DATE":
        return Sql("DATE '5877642-06-25 (BC)'"), Sql("DATE '5881580-07-10'")
    if type_ == "HUGEINT":
        ends = str(-(2**127)), str(2**127 - 1)
    elif type_ == "UHUGEINT":
        ends = "0", str(2**128 - 1)
    elif type_.startswith("DECIMAL"):
        digits = "9" * (38 - attribute.scale) + ("." + "9" * attribute.scale if attribute.scale else "")
        ends = f"-{digits}", digits
    else:
        ends = "-inf", "inf"
    return Sql(f"{text(ends[0])}::{type_}"), Sql(f"{text(ends[1])}::{type_}")


def unchanged(call: Publication) -> list[dict[str, object]]:
    """Template values of the columns that are published as they are, in the table's order."""
    roles, function, table = call.roles, call.function, call.source.shown
    allowed = {n.lower() for n in cast(Sequence[str], call.options["allow_rare"] or ())}
    names = [c for c in call.source.columns if c in roles.sensitive or c in roles.other]
    return [
        {
            "i": i,
            "plain": name,
            "value": _unchanged_value(name, call.source.columns[name]),
            "name": identifier(name),
            "label": text(name),
            "is_sensitive": name in roles.sensitive,
            "is_zoned": call.source.columns[name] == "TIMESTAMP WITH TIME ZONE",
            "text_is_value": bool(_TEXT_IS_VALUE.match(call.source.columns[name])),
            "check_rare": name in roles.other and name.lower() not in allowed,
            "say_rare": message(errors.RareOther(function, table, name, later("count(*)"), call.k)),
        }
        for i, name in enumerate(names)
    ]


def _unchanged_value(name: str, type_: str) -> Sql:
    """A column that is published as it is; texts compare byte by byte, whatever collation the column has."""
    return Sql(f"{identifier(name)} COLLATE POSIX") if type_ == "VARCHAR" else identifier(name)


_TEXT_IS_VALUE = re.compile(
    r"^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(.*|VARCHAR|BOOLEAN|DATE|TIMESTAMP|UUID|ENUM\(.*)$"
)


def tie_by(call: Publication, unchanged: Sequence[Mapping[str, object]]) -> str:
    """How records of equal codes are hashed: 'value' by distinct values, 'row' one by one, '' not at all.

    Equal values of some types have different texts (0.0 and -0.0, a month and 30 days); these are hashed row by row.
    """
    if call.roles.person is not None:
        return "row"
    simple = all(_TEXT_IS_VALUE.match(call.source.columns[str(u["plain"])]) for u in unchanged)
    return ("value" if simple else "row") if unchanged else ""


def person(call: Publication) -> Sql | None:
    """The person of a record, such that equal persons have equal texts in every session."""
    name = call.roles.person
    if name is None:
        return None
    type_, value = call.source.columns[name], identifier(name)
    if type_ in ("FLOAT", "DOUBLE"):
        return Sql(f"({value} + 0::{type_})")
    if type_ == "TIMESTAMP WITH TIME ZONE":
        return Sql(f"epoch_us({value})")
    if type_ == "VARCHAR":
        return Sql(f"{value} COLLATE POSIX")
    if family(type_)[0] is None and not is_category(type_):
        raise errors.UnsupportedPerson(call.function, call.source.shown, name, type_)
    return value
