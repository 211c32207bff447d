"""How wrong counts and averages on a release are: random queries on it, against the same ones on its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

from dbanon import catalog, errors, lineage, publishing
from dbanon.attribute import family, is_category
from dbanon.call import Call
from dbanon.catalog import Source
from dbanon.column import tree_messages
from dbanon.policy import ROLES, Declared
from dbanon.quote import Sql, identifier, literal, text
from dbanon.template import fill, later, message

MOST = 3
"""Predicates of a query, at most."""


def statement(call: Call) -> Sql:
    """The SQL of `query_error(release, source, ...)`.

    Raises UnknownTable, UnknownColumn, UnknownRole, TwoRoles, NoPolicy, NothingShared, UnsupportedType,
    UnsupportedSetting, UnknownHierarchy.
    """
    function, options = call.function.name, call.options
    find = partial(catalog.resolve, function, cursor=call.cursor, path=call.path, local=call.session.local)
    release, source = find(call.text("release")), find(call.text("source"))
    declared, fingerprint_sql, fingerprint = catalog.policy_of(source, call.cursor)
    columns = _columns(function, release, source, declared, cast("Sequence[str] | None", options["qi"]))
    hierarchies = _hierarchies(function, source, columns, declared, options)
    attributes = [
        _attribute(call, i, release, source, column, published, hierarchies.get(column))
        for i, (column, published) in enumerate(columns.items())
    ]
    fingerprints = {"fingerprint_sql": fingerprint_sql, "fingerprint": text(fingerprint)}
    return Sql(
        fill(
            "query/error.sql",
            release=release.sql,
            source=source.sql,
            attributes=attributes,
            averaging=any(a["averages"] for a in attributes),
            most=min(MOST, len(attributes)),
            count=options["queries"],
            seed=options["seed"],
            selectivity=literal(cast(float, options["selectivity"])),
            sanity=literal(cast(float, options["sanity"])),
            sources=[_stands(function, s) | fingerprints for s in (source, release)],
            say={
                "empty": message(errors.EmptySource(function, source.shown)),
                "empty_release": message(errors.EmptySource(function, release.shown)),
            },
        )
    )


def _stands(function: str, source: Source) -> dict[str, object]:
    """What is said where a table is not the one that was planned with."""
    return {
        "bare": text(source.table.lower()) if source.bare else None,
        "changed": message(errors.PolicyChanged(function, source.shown)),
        "shadowed": message(errors.ShadowedTable(function, source.shown, str(source.sql))),
    }


def _columns(
    function: str, release: Source, source: Source, declared: Sequence[Declared], asked: Sequence[str] | None
) -> dict[str, Sql]:
    """The columns of the queries: as the source spells them, and SQL for what the release has instead.

    Those that the call names must be in both; of the declared quasi-identifiers those that were released count.
    """
    spelled = {name.lower(): name for name in source.columns}
    where = "dbanon.policy" if asked is None else "qi"
    if asked is None:
        for row in declared:
            if row.role.lower() not in ROLES:
                raise errors.UnknownRole(source.shown, row.column, row.role, ROLES)
        names = [row.column for row in declared if row.role.lower() == "quasi"]
        names.sort(key=lambda name: list(spelled).index(name.lower()) if name.lower() in spelled else -1)
    else:
        names = list(asked)
    if not names:
        raise errors.NoPolicy(function, source.shown, source.columns)
    found: dict[str, Sql] = {}
    for name in names:
        if name.lower() not in spelled:
            raise errors.UnknownColumn(function, source.shown, name, where, source.columns)
        column = spelled[name.lower()]
        if column in found:
            raise errors.TwoRoles(function, source.shown, column, ("quasi", "quasi"))
        published = _published(release, column)
        if published is None and asked is not None:
            raise errors.UnknownColumn(function, release.shown, name, where, release.columns)
        if published is not None:
            found[column] = published
    if not found:
        raise errors.NothingShared(function, release.shown, source.shown, names)
    return found


def _published(release: Source, column: str) -> Sql | None:
    """A column of the release, or the struct of its typed bounds, age_min and age_max; None where it has neither."""
    names = {name.lower(): identifier(name) for name in release.columns}
    low, high = (names.get(f"{column.lower()}_{end}") for end in ("min", "max"))
    if column.lower() in names:
        return names[column.lower()]
    return Sql(f"CASE WHEN {low} IS NOT NULL THEN {{'low': {low}, 'high': {high}}} END") if low and high else None


def _hierarchies(
    function: str,
    source: Source,
    columns: Mapping[str, Sql],
    declared: Sequence[Declared],
    options: Mapping[str, object],
) -> dict[str, tuple[str, str | None]]:
    """(hierarchy, how the call named it) of the columns that have one."""
    spelled = {name.lower(): name for name in columns}
    found: dict[str, tuple[str, str | None]] = {
        spelled[row.column.lower()]: (row.settings.hierarchy, None)
        for row in declared
        if row.settings.hierarchy and row.column.lower() in spelled
    }
    for key, name in cast("Mapping[str, str]", options["hierarchies"] or {}).items():
        if key.lower() not in spelled:
            if key.lower() not in {name.lower() for name in source.columns}:
                raise errors.UnknownColumn(function, source.shown, key, "hierarchies", source.columns)
            why = "it is not a quasi-identifier that release and source share."
            raise errors.UnsupportedSetting(function, source.shown, key, "hierarchies", why)
        found[spelled[key.lower()]] = (name, name)
    return found


_FORMS = {
    "number": "25, [25, 29], <=18, >=90, [85, >=90]",
    "moment": "2020-01-31, [2020-01-01, 2020-01-31], and the same of times",
    "node": "nodes of its hierarchy",
    "flat": "values of the source, masks and intervals of them",
}


def _attribute(
    call: Call,
    i: int,
    release: Source,
    source: Source,
    column: str,
    published: Sql,
    hierarchy: tuple[str, str | None] | None,
) -> dict[str, object]:
    """Template values of one column."""
    function, type_ = call.function.name, source.columns[column]
    kind = None if hierarchy else family(type_)[0]
    nested = type_.endswith("]") or type_.startswith(("STRUCT", "MAP", "UNION", "JSON", "VARIANT", "BLOB", "BIT"))
    if (kind is None and hierarchy is None and not is_category(type_)) or nested:
        raise errors.UnsupportedType(function, source.shown, column, type_)
    values: dict[str, object] = {"i": i, "published": published, "is_number": kind is not None, "rows": None}
    name, asked = hierarchy or ("none", None)
    forms = "node" if hierarchy else "flat"
    if kind is not None:
        values |= _number(kind, type_, identifier(column))
        forms = "moment" if kind in _TIMES else "number"
    else:
        rows = lineage.rows(publishing.order(call, source, column, name)) if hierarchy else None
        value = Sql(f"CAST({identifier(column)} AS VARCHAR) COLLATE POSIX")
        values |= {"rows": rows, "value": value, "averages": False, "step": 1}
    return values | {
        "say": tree_messages(source.shown, column, name if ";" not in name else "given as text", asked)
        | {
            "no_values": message(errors.NoValues(function, source.shown, column)),
            "wild": message(errors.NotFinite(function, source.shown, column, later("sum(records)"))),
            "unread": message(
                errors.NotAPublishedForm(function, release.shown, column, later("count(*)"), _FORMS[forms])
            ),
        }
    }


_TIMES = ("date", "timestamp", "nanos", "time")


def _number(kind: str, type_: str, name: Sql) -> dict[str, object]:
    """Template values of a column of numbers, dates or times: its value, and how published ends are read.

    Whole numbers, days, microseconds are counted (step 1); fractions are measured (step 0). `unit`: microseconds of a
    step of time, `last`: how many of them after its begin a published day ends.
    """
    if kind not in _TIMES:
        fraction = kind == "float" or family(type_)[1] > 0
        # A FLOAT's text is not that of the DOUBLE of the same value.
        through = Sql("FLOAT" if type_ == "FLOAT" else "DOUBLE")
        value = Sql(f"({name}::DOUBLE + 0)")
        return {"value": value, "is_moment": False, "through": through, "averages": True, "step": 0 if fraction else 1}
    stamp = f"({name} AT TIME ZONE 'UTC')" if type_ == "TIMESTAMP WITH TIME ZONE" else str(name)
    if kind == "date":
        made, unit, last = f"({stamp} - DATE '1970-01-01')::DOUBLE", 86_400_000_000, 0
    else:
        made, unit, last = f"epoch_us({stamp}{'::TIMESTAMP' if kind == 'nanos' else ''})::DOUBLE", 1, 86_399_999_999
    if kind != "time":
        made = f"CASE WHEN {stamp} IS NULL THEN NULL WHEN isfinite({stamp}) THEN {made} ELSE 'inf'::DOUBLE END"
    return {"value": Sql(made), "is_moment": True, "unit": unit, "last": last, "averages": False, "step": 1}
