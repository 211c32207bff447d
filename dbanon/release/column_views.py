"""Columns as the templates see them: how their values are read, what they are called, what is said about them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from dbanon import errors
from dbanon.hierarchy import relation
from dbanon.hierarchy.storage import Hierarchy
from dbanon.models.demand import Demand
from dbanon.policy.attribute import Attribute
from dbanon.release.publication import Publication
from dbanon.source.column_types import family, person_value
from dbanon.sqltext.quote import Sql, identifier, joined, text
from dbanon.sqltext.template import later, message

_PLAIN_NUMBERS = ("integer", "huge", "decimal", "float")
"""Families whose values are numbers as they stand."""


def quasi(call: Publication, i: int, attribute: Attribute) -> dict[str, object]:
    """Template values of one quasi-identifier."""
    column, settings = attribute.quasi.column, attribute.quasi.settings
    function, table = call.function, call.source.shown
    name = identifier(column)
    values: dict[str, object] = {
        "i": i,
        "column": name,
        "plain": column,
        "label": text(column),
        "is_number": attribute.is_number,
        "is_sensitive": False,
        "family": attribute.family,
        "say": {
            "nulls": message(errors.NullsRefused(function, table, column, later(f"(facts.records - facts.filled{i})"))),
            "wild": message(errors.NotFinite(function, table, column, later(f"facts.wild{i}"))),
            "no_values": message(errors.NoValues(function, table, column)),
        },
    }
    if attribute.is_number:
        return values | _number_values(attribute, i, name)
    say = cast(dict[str, object], values["say"])
    asked = cast(Mapping[str, str], call.options["hierarchies"] or {})
    given = next((h for name_, h in asked.items() if name_.lower() == column.lower()), None)
    say |= tree_messages(table, column, settings.hierarchy or "none", given)
    return values | {
        "value": Sql(f"CAST({name} AS VARCHAR) COLLATE POSIX"),
        "type": Sql("VARCHAR"),
        "rows": relation.rows(attribute.hierarchy) if attribute.hierarchy else None,
        "min_level": settings.min_level or 0,
        "round": attribute.round,
        "has_magnitudes": family(attribute.quasi.type)[0] in _PLAIN_NUMBERS,
    }


def tree_messages(table: str, column: str, shown: str, given: str | None) -> dict[str, Sql]:
    """What is said about a hierarchy that does not fit; `given`: how the call named it."""
    malformed = {
        "roots": "it must have exactly one root (a row without parent).",
        "unreachable": "some nodes are not reachable from the root.",
        "siblings": "two nodes under one parent have the same label.",
        "ambiguous": "a value of the column is the label of several leaves.",
        "same_name": "two inner nodes would be published under one name.",
    }
    return {key: message(errors.MalformedHierarchy(shown, why)) for key, why in malformed.items()} | {
        "uncovered": message(errors.Uncovered(table, column, later("count(*)"), shown, given)),
        "reserved": message(errors.ReservedValue(table, column, later("count(*)"))),
        "several_nodes": message(errors.AmbiguousValue(table, column, later("count(*)"))),
    }


def _number_values(attribute: Attribute, i: int, name: Sql) -> dict[str, object]:
    family, settings = attribute.family, attribute.quasi.settings
    type_ = value_type(attribute)
    value = Sql(f"{name} AT TIME ZONE 'UTC'") if attribute.zoned else name
    if attribute.quasi.type == "TIMESTAMP_NS" and family == "timestamp":
        # A cast would round, to the next day perhaps.
        nanos = f"epoch_ns({value})"
        whole = f"({nanos} - (({nanos} % 1000) + 1000) % 1000) // 1000"
        value = Sql(f"CASE WHEN isfinite({value}) THEN make_timestamp({whole}) ELSE ({value})::TIMESTAMP END")
    elif family == "timestamp":
        value = Sql(f"({value})::TIMESTAMP")
    if family == "float":
        value = Sql(f"({value} + 0::{type_})")
    finite = family in ("float", "date", "timestamp", "nanos")
    calendar = family in ("date", "timestamp", "nanos")
    grid: Sql | None = None
    if attribute.grid is not None:
        exact = family in ("integer", "huge", "decimal")
        number = f"{text(attribute.grid)}::{_end_type(attribute)}" if exact else f"{text(attribute.grid)}::DOUBLE"
        grid = text(attribute.grid) if calendar else Sql(number)
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}

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
        "months": months.get(attribute.grid or "") if calendar else None,
        "is_week": attribute.grid == "week",
        "end_type": _end_type(attribute),
        "low_limit": low_limit,
        "high_limit": high_limit,
        "end_is_day": calendar and grid is not None,
        "magnitude": Sql("value::DOUBLE") if family in _PLAIN_NUMBERS else Sql("position"),
    }


def value_type(attribute: Attribute) -> Sql:
    """The type in which a number or a time is compared."""
    return Sql("TIMESTAMP") if attribute.family == "timestamp" else Sql(attribute.quasi.type)


def _end_type(attribute: Attribute) -> Sql:
    """The type of published interval ends. One that was snapped to a grid may lie beyond the column's type."""
    if attribute.grid is None:
        return value_type(attribute)
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
    elif type_ == "FLOAT":
        ends = "-3.4028234663852886e38", "3.4028234663852886e38"
    else:
        ends = "-1.7976931348623157e308", "1.7976931348623157e308"
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
            "is_tagged": bool(_TAGGED.search(call.source.columns[name])),
            "text_is_value": bool(_TEXT_IS_VALUE.match(call.source.columns[name])),
            "is_float": call.source.columns[name] in ("FLOAT", "DOUBLE"),
            "as_lists": _as_lists(call.source.columns[name]),
            "check_rare": name in roles.other and name.lower() not in allowed,
            "say_rare": message(errors.RareOther(function, table, name, later("count(*)"), call.k)),
            "say_rare_left": message(errors.RareLeft(function, table, name, later(f"rare_{i}.values"), call.k)),
        }
        for i, name in enumerate(names)
    ]


def _as_lists(type_: str) -> Sql | None:
    """The type with lists where it has arrays, or None where it has none."""
    lists = _ARRAY.sub(lambda match: match[1] or "[]", type_)
    return None if lists == type_ else Sql(lists)


def tested(call: Publication, unchanged: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Template values of the sensitive columns that privacy models are about, with these models."""
    if not call.demands and "sensitive" not in call.reads:
        return []
    by_name = {str(u["plain"]): u for u in unchanged}
    found: list[dict[str, object]] = []
    for i, name in enumerate(call.roles.sensitive):
        emds = [d.emd for d in call.demands if d.sensitive == i and d.emd]
        order = call.orders.get(name)
        if "hierarchical" in emds and order is None:
            raise errors.NoSensitiveHierarchy(call.function, call.source.shown, name)
        found.append(
            {
                "i": i,
                "u": by_name[name]["i"],
                "tree": _sensitive_tree(call, i, name, order) if order is not None else None,
                "number": _sensitive_number(call.source.columns[name]) if call.forest is not None else None,
                "models": [_model(d, n, name) for n, d in enumerate(call.demands) if d.sensitive == i],
            }
        )
    return found


def _model(demand: Demand, number: int, name: str) -> dict[str, object]:
    """Template values of one model; the bound is what the gate compares with."""
    return {
        "number": number,
        "kind": demand.kind,
        "parameter": demand.parameter,
        "emd": demand.emd,
        "extra": demand.extra,
        "bound": Sql(repr(demand.bound)),
        "column": text(name),
        "refused": f"classes that do not meet {demand.parameter} on {name}",
    }


def _sensitive_tree(call: Publication, i: int, name: str, hierarchy: Hierarchy) -> dict[str, object]:
    """Template values of the hierarchy of a sensitive column, in the form of a quasi-identifier's."""
    asked = cast(Mapping[str, str], call.options["hierarchies"] or {})
    given = next((h for name_, h in asked.items() if name_.lower() == name.lower()), None)
    return {
        "i": Sql(f"s{i}"),
        "value": Sql(f"CAST({identifier(name)} AS VARCHAR) COLLATE POSIX"),
        "is_number": False,
        "rows": relation.rows(hierarchy),
        "min_level": 0,
        "is_sensitive": True,
        "say": tree_messages(call.source.shown, name, call.roles.orders[name], given),
    }


def _sensitive_number(type_: str) -> dict[str, object] | None:
    """Template values of a sensitive column of numbers or times, for the distance of two values; None for others."""
    kind, scale = family(type_)
    if kind is None:
        return None
    return {"family": kind, "wide": Sql(f"DECIMAL(38,{scale})"), "scale": Sql(f"1e{scale}")}


def _unchanged_value(name: str, type_: str) -> Sql:
    """A column that is published as it is; texts compare byte by byte, whatever collation the column has."""
    return Sql(f"{identifier(name)} COLLATE POSIX") if type_ == "VARCHAR" else identifier(name)


_TEXT_IS_VALUE = re.compile(
    r"^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(.*|VARCHAR|BOOLEAN|DATE|TIMESTAMP|UUID|ENUM\(.*)$"
)
_ARRAY = re.compile(r"""("(?:[^"]|"")*"|'(?:[^']|'')*')|\[\d+\]""")
_TAGGED = re.compile(r"\b(UNION\(|VARIANT\b)")
"""Types with unequal values of the same text."""


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
    value = person_value(name, call.source.columns[name])
    if value is None:
        raise errors.UnsupportedPerson(call.function, call.source.shown, name, call.source.columns[name])
    return value


def key(call: Publication) -> Sql | None:
    """The key of a record, where columns other than a person tell people apart."""
    columns = joined(f"CAST({identifier(n)} AS VARCHAR)" for n in call.key)
    return Sql(columns if len(call.key) == 1 else f"row({columns})") if call.key else None
