"""Columns as the templates see them: how their values are read, what they are called, what is said about them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from dbanon import errors
from dbanon.hierarchy import relation
from dbanon.hierarchy.storage import Hierarchy
from dbanon.models.demand import Demand
from dbanon.policy.attribute import Attribute
from dbanon.release.publication import Publication
from dbanon.source.column_types import family, person_value
from dbanon.source.type_families import FAMILIES, Family
from dbanon.sqltext.quote import Sql, identifier, joined, text
from dbanon.sqltext.template import later, message


@dataclass(frozen=True)
class NumberColumn:
    """A quasi-identifier of numbers, dates or times, which is published as intervals.

    `value` reads it and `type` is what it is compared in; `scale` and `wide` are the step and the widest type of
    decimals. Interval ends have the type `end_type` and lie between its two limits; `months` is the length of a
    calendar grid. `magnitude` is the value that the algorithm computes with, and `drawn` says that values are
    published, not intervals.
    """

    i: int
    plain: str
    say: Mapping[str, Sql]
    family: Family
    value: Sql
    type: Sql
    scale: Sql
    wide: Sql
    is_finite: Sql
    top: Sql | None
    bottom: Sql | None
    grid: Sql | None
    months: int | None
    is_week: bool
    end_type: Sql
    low_limit: Sql
    high_limit: Sql
    end_is_day: bool
    magnitude: Sql
    drawn: bool

    is_number: ClassVar[bool] = True

    @property
    def column(self) -> Sql:
        """The column of the source."""
        return identifier(self.plain)

    @property
    def label(self) -> Sql:
        """Its name as a text."""
        return text(self.plain)


@dataclass(frozen=True)
class TreeColumn:
    """A column of categories: a quasi-identifier, which is published as nodes of its tree, or a sensitive column whose
    values have an order there.

    `rows` are those of the hierarchy (None: the values under one root); `i` stands in the names of its relations.
    """

    i: int | Sql
    plain: str
    say: Mapping[str, Sql]
    rows: Sql | None
    min_level: int = 0
    round: int = 1
    has_magnitudes: bool = False
    drawn: bool = False
    is_sensitive: bool = False

    is_number: ClassVar[bool] = False

    @property
    def column(self) -> Sql:
        """The column of the source."""
        return identifier(self.plain)

    @property
    def label(self) -> Sql:
        """Its name as a text."""
        return text(self.plain)

    @property
    def value(self) -> Sql:
        """How it is read."""
        return Sql(f"CAST({self.column} AS VARCHAR) COLLATE POSIX")

    @property
    def type(self) -> Sql:
        """The type in which it is compared."""
        return Sql("VARCHAR")


QuasiColumn = NumberColumn | TreeColumn


@dataclass(frozen=True)
class PassthroughColumn:
    """A column that is published as it is, sensitive or other; `check_rare` where values of few records are refused."""

    i: int
    plain: str
    type: str
    is_sensitive: bool
    check_rare: bool
    say_rare: Sql
    say_rare_left: Sql

    @property
    def name(self) -> Sql:
        """The published column."""
        return identifier(self.plain)

    @property
    def label(self) -> Sql:
        """Its name as a text."""
        return text(self.plain)

    @property
    def value(self) -> Sql:
        """How it is read; texts compare byte by byte, whatever collation the column has."""
        return Sql(f"{self.name} COLLATE POSIX") if self.type == "VARCHAR" else self.name

    @property
    def is_zoned(self) -> bool:
        """Whether its text depends on the session's time zone."""
        return self.type == "TIMESTAMP WITH TIME ZONE"

    @property
    def is_tagged(self) -> bool:
        """Whether unequal values of its type have the same text."""
        return bool(_TAGGED.search(self.type))

    @property
    def text_is_value(self) -> bool:
        """Whether equal values of its type have equal texts: 0.0 and -0.0, a month and 30 days do not."""
        return bool(_TEXT_IS_VALUE.match(self.type))

    @property
    def is_float(self) -> bool:
        """Whether it is FLOAT or DOUBLE."""
        return self.type in ("FLOAT", "DOUBLE")

    @property
    def as_lists(self) -> Sql | None:
        """The type with lists where it has arrays, or None where it has none."""
        lists = _ARRAY.sub(lambda match: match[1] or "[]", self.type)
        return None if lists == self.type else Sql(lists)


@dataclass(frozen=True)
class Magnitude:
    """A sensitive column of numbers or times: what the distance of two values is measured with."""

    family: Family
    wide: Sql
    scale: Sql


@dataclass(frozen=True)
class ModelView:
    """One demand of one sensitive column; `bound` is what the gate compares with, `file` and `form` say where its SQL
    is."""

    number: int
    demand: Demand
    plain: str

    @property
    def column(self) -> Sql:
        """The name of the sensitive column, as a text."""
        return text(self.plain)

    @property
    def parameter(self) -> str:
        return self.demand.parameter

    @property
    def file(self) -> str:
        return self.demand.of.file

    @property
    def form(self) -> str:
        return self.demand.form

    @property
    def settings(self) -> dict[str, Sql]:
        return {name: Sql(repr(value)) for name, value in self.demand.settings.items()}

    @property
    def bound(self) -> Sql:
        return Sql(repr(self.demand.bound))

    @property
    def higher(self) -> bool:
        return self.demand.rule.is_higher

    @property
    def strict(self) -> bool:
        return self.demand.rule.strict

    @property
    def compares(self) -> bool:
        """Whether classes are compared with the whole table."""
        return self.demand.rule.compares

    @property
    def order(self) -> str:
        return self.demand.rule.order

    @property
    def places(self) -> list[Sql]:
        """Columns that tell the order or the hierarchy of the values."""
        return [Sql(column) for column in self.demand.rule.places]

    @property
    def metric(self) -> str:
        return self.demand.rule.metric.name


@dataclass(frozen=True)
class SensitiveColumn:
    """A sensitive column that models are about or that the algorithm reads; `u` is its number among those that are
    published as they are."""

    i: int
    u: int
    plain: str
    tree: TreeColumn | None
    number: Magnitude | None
    models: tuple[ModelView, ...]


def quasi(call: Publication, i: int, attribute: Attribute) -> QuasiColumn:
    """The view of one quasi-identifier."""
    column, settings = attribute.quasi.column, attribute.quasi.settings
    function, table = call.function, call.source.shown
    say = {
        "nulls": message(errors.NullsRefused(function, table, column, later(f"(facts.records - facts.filled{i})"))),
        "wild": message(errors.NotFinite(function, table, column, later(f"facts.wild{i}"))),
        "no_values": message(errors.NoValues(function, table, column)),
    }
    if attribute.family is not None:
        return _number(attribute, FAMILIES[attribute.family], i, say, drawn=call.run.noise is not None)
    return TreeColumn(
        i,
        column,
        say | tree_messages(table, column, settings.hierarchy or "none", call.options.of_column("hierarchies", column)),
        rows=relation.rows(attribute.hierarchy) if attribute.hierarchy else None,
        min_level=settings.min_level or 0,
        round=attribute.round,
        has_magnitudes=_is_plain(attribute.quasi.type),
        drawn=call.run.noise is not None and call.run.noise.categories,
    )


def _is_plain(type_: str) -> bool:
    """Whether values of a type are numbers as they stand."""
    name = family(type_)[0]
    return name is not None and FAMILIES[name].is_plain


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


_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}


def _number(attribute: Attribute, family: Family, i: int, say: Mapping[str, Sql], drawn: bool) -> NumberColumn:
    settings, type_ = attribute.quasi.settings, value_type(attribute)
    calendar = family.is_calendar
    grid = _grid(attribute, calendar)

    def coded(given: str | None) -> Sql | None:
        """top or bottom; on a calendar grid they are whole days."""
        if given is None:
            return None
        end = Sql(f"CAST({text(given)} AS {type_})")
        return Sql(f"CAST({end} AS DATE)") if calendar and grid else end

    low_limit, high_limit = _limits(attribute)
    return NumberColumn(
        i,
        attribute.quasi.column,
        say,
        family,
        value=_number_value(attribute),
        type=type_,
        scale=Sql(f"1e{attribute.scale}"),
        wide=Sql(f"DECIMAL(38,{attribute.scale})"),
        is_finite=Sql(f" AND isfinite(q{i})") if family.has_infinity else Sql(""),
        top=coded(settings.top),
        bottom=coded(settings.bottom),
        grid=grid,
        months=_MONTHS.get(attribute.grid or "") if calendar else None,
        is_week=attribute.grid == "week",
        end_type=_end_type(attribute),
        low_limit=low_limit,
        high_limit=high_limit,
        end_is_day=calendar and grid is not None,
        magnitude=Sql("value::DOUBLE") if family.is_plain else Sql("position"),
        drawn=drawn,
    )


def _number_value(attribute: Attribute) -> Sql:
    """How a number or a time is read."""
    name = identifier(attribute.quasi.column)
    value = Sql(f"{name} AT TIME ZONE 'UTC'") if attribute.zoned else name
    if attribute.family == "float":
        return Sql(f"({value} + 0::{value_type(attribute)})")
    if attribute.family != "timestamp":
        return value
    if attribute.quasi.type != "TIMESTAMP_NS":
        return Sql(f"({value})::TIMESTAMP")
    # A cast would round, to the next day perhaps.
    nanos = f"epoch_ns({value})"
    whole = f"({nanos} - (({nanos} % 1000) + 1000) % 1000) // 1000"
    return Sql(f"CASE WHEN isfinite({value}) THEN make_timestamp({whole}) ELSE ({value})::TIMESTAMP END")


def _grid(attribute: Attribute, calendar: bool) -> Sql | None:
    """The grid that interval ends snap to: a calendar unit, or a number, exact where its type is."""
    if attribute.grid is None:
        return None
    if calendar:
        return text(attribute.grid)
    exact = attribute.family in ("integer", "huge", "decimal")
    return Sql(f"{text(attribute.grid)}::{_end_type(attribute) if exact else 'DOUBLE'}")


def value_type(attribute: Attribute) -> Sql:
    """The type in which a number or a time is compared."""
    return Sql("TIMESTAMP") if attribute.family == "timestamp" else Sql(attribute.quasi.type)


def _end_type(attribute: Attribute) -> Sql:
    """The type of published interval ends. One that was snapped to a grid may lie beyond the column's type."""
    if attribute.grid is None:
        return value_type(attribute)
    wider = {"integer": "HUGEINT", "decimal": f"DECIMAL(38,{attribute.scale})"}
    if attribute.family is not None and FAMILIES[attribute.family].is_calendar:
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


def unchanged(call: Publication) -> list[PassthroughColumn]:
    """The columns that are published as they are, in the table's order."""
    roles, function, table = call.roles, call.function, call.source.shown
    allowed = {n.lower() for n in call.options.columns("allow_rare")}
    names = [c for c in call.source.columns if c in roles.sensitive or c in roles.other]
    return [
        PassthroughColumn(
            i,
            name,
            call.source.columns[name],
            is_sensitive=name in roles.sensitive,
            check_rare=name in roles.other and name.lower() not in allowed,
            say_rare=message(errors.RareOther(function, table, name, later("count(*)"), call.k)),
            say_rare_left=message(errors.RareLeft(function, table, name, later(f"rare_{i}.values"), call.k)),
        )
        for i, name in enumerate(names)
    ]


def tested(call: Publication, unchanged: Sequence[PassthroughColumn]) -> list[SensitiveColumn]:
    """The sensitive columns that privacy models are about or that the algorithm reads, with these models."""
    if not call.looks_at_sensitive:
        return []
    numbers = {u.plain: u.i for u in unchanged}
    found = []
    for i, name in enumerate(call.roles.sensitive):
        order = call.orders.get(name)
        if order is None and any(d.rule.order == "hierarchy" for d in call.demands if d.sensitive == i):
            raise errors.NoSensitiveHierarchy(call.function, call.source.shown, name)
        found.append(
            SensitiveColumn(
                i,
                numbers[name],
                name,
                tree=_sensitive_tree(call, i, name, order) if order is not None else None,
                number=_magnitude(call.source.columns[name]) if call.run.forest is not None else None,
                models=tuple(_model(d, n, name) for n, d in enumerate(call.demands) if d.sensitive == i),
            )
        )
    return found


def _model(demand: Demand, number: int, name: str) -> ModelView:
    return ModelView(number, demand, name)


def _sensitive_tree(call: Publication, i: int, name: str, hierarchy: Hierarchy) -> TreeColumn:
    """The hierarchy of a sensitive column, in the form of a quasi-identifier's."""
    say = tree_messages(call.source.shown, name, call.roles.orders[name], call.options.of_column("hierarchies", name))
    return TreeColumn(Sql(f"s{i}"), name, say, relation.rows(hierarchy), is_sensitive=True)


def _magnitude(type_: str) -> Magnitude | None:
    """How values of a type are apart; None where they are neither numbers nor times."""
    kind, scale = family(type_)
    return None if kind is None else Magnitude(FAMILIES[kind], Sql(f"DECIMAL(38,{scale})"), Sql(f"1e{scale}"))


_TEXT_IS_VALUE = re.compile(
    r"^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(.*|VARCHAR|BOOLEAN|DATE|TIMESTAMP|UUID|ENUM\(.*)$"
)
_ARRAY = re.compile(r"""("(?:[^"]|"")*"|'(?:[^']|'')*')|\[\d+\]""")
_TAGGED = re.compile(r"\b(UNION\(|VARIANT\b)")
"""Types with unequal values of the same text."""


def tie_by(call: Publication, unchanged: Sequence[PassthroughColumn]) -> str:
    """How records of equal codes are hashed: 'value' by distinct values, 'row' one by one, '' not at all.

    Equal values of some types have different texts (0.0 and -0.0, a month and 30 days); these are hashed row by row.
    """
    if call.roles.person is not None:
        return "row"
    simple = all(u.text_is_value for u in unchanged)
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
    columns = joined(f"CAST({identifier(n)} AS VARCHAR)" for n in call.continuity.key)
    return Sql(columns if len(call.continuity.key) == 1 else f"row({columns})") if call.continuity.key else None
