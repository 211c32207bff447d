"""From a call to the SQL that answers it: arguments, catalog, policy, then the plan."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, cast

from dbanon import cluster, errors
from dbanon.audit import anonymity, attack, influence, query_error, risk, threats
from dbanon.files import reading
from dbanon.functions import arguments, literals
from dbanon.functions.call import Call, literal_rows
from dbanon.hierarchy import lookup, relation, storage
from dbanon.policy import problems, profile
from dbanon.release import plan, prepare
from dbanon.session import Session
from dbanon.source import catalog, column_types, stored_policy
from dbanon.sqltext import resources, template
from dbanon.sqltext.builtin import bound
from dbanon.sqltext.quote import Sql, identifier, qualified, text
from dbanon.views import certificate, ledger


def answer(session: Session, call: Mapping[str, Any], places: Sequence[str]) -> str:
    """The SQL of one call. `call` has function, positional, slots and named."""
    if session.recorded is not None:
        session.recorded.append(call)
        return "SELECT 1"
    given = arguments.merged(call["function"], call["slots"] or (), dict(call["named"] or {}))
    with session.cursor() as cursor:
        if call["positional"] or call["named"]:
            literals.refuse(call["function"], cursor)
        made = prepare.call(session, cursor, call["function"], call["positional"] or {}, given, places)
        handler = _publish if made.function.algorithm else _HANDLERS[made.function.name]
        return bound(str(handler(made)))


def _publish(call: Call) -> str:
    return plan.statement(prepare.publication(call))


# --- the functions about the policy and the registry -----------------------------------------------------


def _algorithms(call: Call) -> Sql:
    columns = (
        "name", "title", "family", "source", "evidence", "deterministic", "complexity", "meets", "own_parameters",
        "parameters",
    )  # fmt: skip
    rows = [
        [a.name, a.title, a.family, a.source, a.evidence, a.deterministic, a.complexity,
         list(a.meets), [p.name for p in a.own], [p.name for p in a.parameters]]
        for a in cluster.algorithms()
    ]  # fmt: skip
    types: dict[str, Any] = dict.fromkeys(columns, "VARCHAR")
    types |= {"deterministic": "BOOLEAN"} | {name: ["VARCHAR"] for name in columns[-3:]}
    return literal_rows(types, rows)


def _hierarchies(call: Call) -> Sql:
    rows: list[list[object]] = [
        ["stored", database, name]
        for database in call.attached()
        for name in catalog.stored_hierarchies(call.cursor, database)
    ]
    rows += [["shipped", None, name] for name in resources.shipped_hierarchies()]
    return literal_rows({"kind": "VARCHAR", "database_name": "VARCHAR", "name": "VARCHAR"}, rows)


def _uncovered(call: Call) -> Sql:
    source = call.source()
    column = _column(call, source)
    given = cast("str | None", call.options["hierarchy"])
    if given is None:
        declared, _, _ = stored_policy.policy_of(source, call.cursor)
        found = [d.settings.hierarchy for d in declared if d.column.lower() == column.lower()]
        given = next((h for h in found if h), None)
    rows: Sql | None = None
    if given is not None:
        of = lookup.find(call, given, source)
        if of is None:
            where = f"of {source.shown}.{column}"
            raise errors.UnknownHierarchy(call.function.name, given, where, lookup.known(call, source))
        rows = relation.rows(of)
    return Sql(template.fill("hierarchy/uncovered.sql", source=source.sql, column=identifier(column), rows=rows))


def _column(call: Call, source: catalog.Source) -> str:
    """The column that the argument `col` names, as the table spells it."""
    wanted = call.text("col")
    for name in source.columns:
        if name.lower() == wanted.lower():
            return name
    raise errors.UnknownColumn(call.function.name, source.shown, wanted, "col", source.columns)


def _measure(call: Call) -> Sql:
    source = call.source()
    found = stored_policy.policy_of(source, call.cursor)
    return anonymity.statement(call.function.name, source, found, call.options, partial(prepare.order, call, source))


# --- hierarchies -----------------------------------------------------------------------------------------


def _named_rows(call: Call, paths: Sql) -> Sql:
    """Rows for INSERT INTO dbanon.hierarchy: name, node, parent, label, ord."""
    name = call.text("name")
    return Sql(f"SELECT {text(name)} AS name, * FROM ({relation.rows_of_paths(paths)}) ORDER BY ord ASC, node ASC")


def _hierarchy_file(call: Call) -> Sql:
    name = call.text("name")
    arx = reading.content(call.function.name, call.text("path"), call.cursor)
    return _named_rows(call, relation.paths(storage.read_arx(name, arx)))


def _hierarchy_shipped(call: Call) -> Sql:
    name = call.text("name")
    found = storage.shipped(name)
    if found is None:
        known = resources.shipped_hierarchies()
        raise errors.UnknownHierarchy(call.function.name, name, "shipped", known)
    return _named_rows(call, relation.paths(found))


def _hierarchy_arx(call: Call) -> Sql:
    name = call.text("name")
    found = lookup.find(call, name, None)
    if found is None:
        raise errors.UnknownHierarchy(call.function.name, name, "stored", lookup.known(call, None))
    return Sql(template.fill("hierarchy/arx.sql", rows=relation.rows(found)))


def _problems_of_hierarchies(call: Call) -> Sql:
    tables = [
        {"database": text(db), "table": qualified(db, catalog.SCHEMA, "hierarchy")}
        for db in call.attached()
        if catalog.has_table(call.cursor, db, "hierarchy")
    ]
    return Sql(template.fill("hierarchy/problems.sql", tables=tables))


def _built(name: str, families: tuple[str, ...] = (), **settings: Callable[[Call], object]) -> Callable[[Call], Sql]:
    """A builder that makes label paths of a column, of some families of types, with a template of sql/hierarchy/."""

    def build(call: Call) -> Sql:
        source = call.source()
        column = _column(call, source)
        if families and column_types.family(source.columns[column])[0] not in families:
            accepts = f"a column of {'numbers' if 'integer' in families else 'dates or timestamps'}"
            raise errors.InvalidArgument(call.function.name, "col", accepts, f"{column} {source.columns[column]}")
        values = {name: make(call) for name, make in settings.items()}
        paths = template.fill(
            f"hierarchy/{name}.sql",
            source=source.sql,
            column=identifier(column),
            integer=source.columns[column] in column_types.INTEGERS,
            date=source.columns[column] == "DATE",  # TIMESTAMP ends before DATE does
            zoned=source.columns[column] == "TIMESTAMP WITH TIME ZONE",
            **values,
        )
        return _named_rows(call, Sql(paths))

    return build


def _widths(call: Call) -> list[Sql]:
    widths = cast("tuple[int, ...]", call.options["widths"])
    for fine, coarse in pairwise(widths):
        if coarse % fine:
            accepts = "widths of which each is a multiple of the one before"
            raise errors.InvalidArgument(call.function.name, "widths", accepts, json.dumps(widths))
    return [Sql(str(w)) for w in widths]


def _keep(call: Call) -> list[Sql] | None:
    keep = cast("tuple[int, ...] | None", call.options["keep"])
    return [Sql(str(n)) for n in keep] if keep else None


def _date_levels(call: Call) -> list[str]:
    return list(cast("tuple[str, ...]", call.options["levels"]))


_HANDLERS: dict[str, Callable[[Call], Sql]] = {
    "algorithms": _algorithms,
    "policy_problems": problems.statement,
    "profile": profile.statement,
    "hierarchies": _hierarchies,
    "hierarchy_problems": _problems_of_hierarchies,
    "uncovered": _uncovered,
    "hierarchy_file": _hierarchy_file,
    "hierarchy_shipped": _hierarchy_shipped,
    "hierarchy_arx": _hierarchy_arx,
    "hierarchy_flat": _built("flat"),
    "hierarchy_prefix": _built("prefix", keep=_keep),
    "hierarchy_intervals": _built("intervals", ("integer", "huge", "decimal", "float"), widths=_widths),
    "hierarchy_dates": _built("dates", ("date", "timestamp", "nanos"), levels=_date_levels),
    **dict.fromkeys((f.name for f in anonymity.FUNCTIONS), _measure),
    **dict.fromkeys((f.name for f in threats.RISKS), risk.statement),
    **dict.fromkeys((f.name for f in threats.ATTACKS), attack.statement),
    "releases": ledger.releases,
    "release_status": ledger.release_status,
    "delta_problems": ledger.delta_problems,
    "composition": ledger.composition,
    "query_error": query_error.statement,
    "certificate": certificate.statement,
    "influence": influence.statement,
}
