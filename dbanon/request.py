"""From a call to the SQL that answers it: arguments, catalog, policy, then the plan."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, cast

from dbanon import (
    arguments,
    attribute,
    catalog,
    cluster,
    errors,
    hierarchy,
    lineage,
    names,
    parameters,
    plan,
    policy,
    resources,
    template,
)
from dbanon.attribute import Attribute, Hierarchy
from dbanon.functions import TableFunction, table_functions
from dbanon.publication import Publication
from dbanon.quote import Sql, as_json, identifier, qualified, text
from dbanon.session import Session


@dataclass(frozen=True)
class Call:
    """One call of a table function: validated parameters, positional arguments, and where it was made."""

    function: TableFunction
    positional: Mapping[str, object]
    options: Mapping[str, object]
    session: Session
    cursor: Any
    path: catalog.SearchPath

    def text(self, name: str) -> str:
        """A positional argument, which must be a text."""
        value = self.positional.get(name)
        if value is None:
            raise errors.MissingArgument(self.function.name, name, "a text", f"see {self.function.name} in the README")
        if not isinstance(value, str):
            raise errors.InvalidArgument(self.function.name, name, "a text", parameters.shown(value))
        return value

    def source(self) -> catalog.Source:
        """The relation that the argument `tbl` names."""
        return catalog.resolve(self.function.name, self.text("tbl"), self.cursor, self.path, self.session.local)

    def holds(self, condition: str) -> bool:
        """Whether a SQL condition about literals is true."""
        return bool(self.cursor.execute(f"SELECT coalesce({condition}, false)").fetchall()[0][0])

    def databases(self, source: catalog.Source | None = None) -> list[str]:
        """Where hierarchies are looked up: the source's database, then the session's."""
        return list(dict.fromkeys([*([source.database] if source else []), self.path.database]))


def answer(session: Session, call: Mapping[str, Any], places: Sequence[str]) -> str:
    """The SQL of one call. `call` has function, positional, slots and named."""
    function = table_functions()[call["function"]]
    given = arguments.merged(function.name, call["slots"] or (), dict(call["named"] or {}))
    options = parameters.validated(function.name, function.parameters, given)
    with session.cursor() as cursor:
        made = Call(function, call["positional"] or {}, options, session, cursor, catalog.SearchPath.of(*places))
        handler = _publish if function.algorithm else _HANDLERS[function.name]
        return str(handler(made))


# --- the functions that publish --------------------------------------------------------------------------


def _publish(call: Call) -> str:
    name = call.function.name
    source = call.source()
    declared, fingerprint_sql, fingerprint = catalog.policy_of(source, call.cursor)
    looser = partial(attribute.looser, holds=call.holds)
    roles = policy.resolve(name, source.shown, source.columns, declared, call.options, looser)
    algorithm = cluster.find(cast(str, call.function.algorithm))
    return plan.statement(
        Publication(
            function=name,
            algorithm=algorithm.name,
            kind=cast(str, call.function.kind),
            k=cast(int, call.options["k"]),
            source=source,
            roles=roles,
            attributes=tuple(_attribute(call, source, q) for q in roles.quasi),
            options=call.options,
            own_options={p.name: call.options[p.name] for p in algorithm.own},
            fingerprint_sql=fingerprint_sql,
            fingerprint=fingerprint,
            session=call.session.token,
        )
    )


def _attribute(call: Call, source: catalog.Source, quasi: policy.Quasi) -> Attribute:
    return attribute.attribute(
        call.function.name,
        source.shown,
        quasi,
        find=lambda name: _find_hierarchy(call, name, source),
        known=lambda: _known_hierarchies(call, source),
        holds=call.holds,
    )


def _find_hierarchy(call: Call, name: str, source: catalog.Source | None) -> Hierarchy | None:
    """A hierarchy by name: ARX rows as text, stored with the source or in the session's database, or shipped."""
    stored = catalog.hierarchy_table(name, call.cursor, call.databases(source))
    if stored:
        return hierarchy.Stored(*stored)
    return hierarchy.read_arx("given as text", name) if hierarchy.is_inline(name) else hierarchy.shipped(name)


def _known_hierarchies(call: Call, source: catalog.Source | None) -> list[str]:
    stored = [n for db in call.databases(source) for n in catalog.stored_hierarchies(call.cursor, db)]
    return [*stored, *resources.shipped_hierarchies()]


# --- the functions about the policy and the registry -----------------------------------------------------


def _rows(columns: Mapping[str, str], rows: Sequence[Sequence[object]]) -> Sql:
    """A statement that gives literal rows."""
    document = [dict(zip(columns, row, strict=True)) for row in rows]
    return Sql(f"SELECT unnest(from_json({as_json(document)}, {as_json([dict(columns)])}), max_depth := 2)")


def _algorithms(call: Call) -> Sql:
    columns = ("name", "title", "family", "source", "evidence", "deterministic", "complexity", "parameters")
    rows = [
        [a.name, a.title, a.family, a.source, a.evidence, a.deterministic, a.complexity,
         [p.name for p in a.parameters]]
        for a in cluster.algorithms()
    ]  # fmt: skip
    types: dict[str, Any] = dict.fromkeys(columns, "VARCHAR")
    return _rows(types | {"deterministic": "BOOLEAN", "parameters": ["VARCHAR"]}, rows)


def _hierarchies(call: Call) -> Sql:
    rows: list[list[object]] = [
        ["stored", database, name]
        for database in _databases(call.cursor)
        for name in catalog.stored_hierarchies(call.cursor, database)
    ]
    rows += [["shipped", None, name] for name in resources.shipped_hierarchies()]
    return _rows({"kind": "VARCHAR", "database_name": "VARCHAR", "name": "VARCHAR"}, rows)


def _databases(cursor: Any) -> list[str]:
    return [
        row[0]
        for row in cursor.execute(
            "SELECT database_name FROM duckdb_databases() WHERE NOT internal ORDER BY 1"
        ).fetchall()
    ]


def _policy_problems(call: Call) -> Sql:
    """Problems of every attached database's policy, as committed."""
    problems: list[list[str]] = []
    for database in _databases(call.cursor):
        if not catalog.has_table(call.cursor, database, "policy"):
            continue
        table = qualified(database, catalog.SCHEMA, "policy")
        rows = call.cursor.execute(
            f"SELECT schema_name, table_name, column_name, role, hierarchy FROM {table} ORDER BY ALL"
        ).fetchall()
        relations = catalog.relations(call.cursor, database)
        seen: dict[tuple[object, ...], str] = {}
        for schema, named, column, role, of in rows:
            about = [r for r in relations if catalog.applies(r, schema, named)]
            found = [*_role_problems(call, database, schema, named, column, role, of)]
            found += _place_problems(call, about, schema, named, column)
            for relation in about:
                key = (*relation, column.lower())
                if key in seen:
                    found.append(str(errors.TwoRoles("dbanon.policy", named, column, (seen[key], role))))
                seen[key] = role
            problems += [[database, schema, named, column, problem] for problem in found]
    columns = ("database_name", "schema_name", "table_name", "column_name", "problem")
    return _rows(dict.fromkeys(columns, "VARCHAR"), problems)


def _role_problems(
    call: Call, database: str, schema: str, named: str, column: str, role: str, of: str | None
) -> list[str]:
    """What is wrong with the role and the hierarchy of a row."""
    problems = []
    if role.lower() not in policy.ROLES:
        problems.append(str(errors.UnknownRole(named, column, role, policy.ROLES)))
    if of is not None and role.lower() == "quasi":
        there = replace(call, path=catalog.SearchPath(database, schema))
        try:
            missing = _find_hierarchy(there, of, None) is None
        except errors.DbanonError as error:
            return [*problems, str(error)]
        if missing:
            known = _known_hierarchies(there, None)
            problems.append(str(errors.UnknownHierarchy("dbanon.policy", of, f"of {named}.{column}", known)))
    return problems


def _place_problems(
    call: Call, about: Sequence[tuple[str, str, str]], schema: str, named: str, column: str
) -> list[str]:
    """What is wrong with the table and the column of a row; `about` are the relations that it names."""
    if not about:
        if names.is_file(named) or named.lower() in call.session.local:
            return []
        return [
            f"orphan: there is no table or view '{named}' (schema_name '{schema}') in this database. "
            "Hint: DELETE the row, or correct table_name or schema_name."
        ]
    columns = catalog.columns_of(call.cursor, about[0])
    if column.lower() in {c.lower() for c in columns}:
        return []
    return [str(errors.UnknownColumn("dbanon.policy", named, column, "column_name", columns))]


def _uncovered(call: Call) -> Sql:
    source = call.source()
    column = _column(call, source)
    given = cast("str | None", call.options["hierarchy"])
    if given is None:
        declared, _, _ = catalog.policy_of(source, call.cursor)
        found = [d.settings.hierarchy for d in declared if d.column.lower() == column.lower()]
        given = next((h for h in found if h), None)
    rows: Sql | None = None
    if given is not None:
        of = _find_hierarchy(call, given, source)
        if of is None:
            where = f"of {source.shown}.{column}"
            raise errors.UnknownHierarchy(call.function.name, given, where, _known_hierarchies(call, source))
        rows = lineage.rows(of)
    return Sql(template.fill("hierarchy/uncovered.sql", source=source.sql, column=identifier(column), rows=rows))


def _column(call: Call, source: catalog.Source) -> str:
    """The column that the argument `col` names, as the table spells it."""
    wanted = call.text("col")
    for name in source.columns:
        if name.lower() == wanted.lower():
            return name
    raise errors.UnknownColumn(call.function.name, source.shown, wanted, "col", source.columns)


# --- hierarchies -----------------------------------------------------------------------------------------


def _named_rows(call: Call, paths: Sql) -> Sql:
    """Rows for INSERT INTO dbanon.hierarchy: name, node, parent, label, ord."""
    name = call.text("name")
    return Sql(f"SELECT {text(name)} AS name, * FROM ({lineage.rows_of_paths(paths)}) ORDER BY ord, node")


def _hierarchy_file(call: Call) -> Sql:
    return _named_rows(call, lineage.paths(hierarchy.read_file(call.text("name"), call.text("path"))))


def _hierarchy_shipped(call: Call) -> Sql:
    name = call.text("name")
    found = hierarchy.shipped(name)
    if found is None:
        known = resources.shipped_hierarchies()
        raise errors.UnknownHierarchy(call.function.name, name, "shipped", known)
    return _named_rows(call, lineage.paths(found))


def _hierarchy_arx(call: Call) -> Sql:
    name = call.text("name")
    found = _find_hierarchy(call, name, None)
    if found is None:
        raise errors.UnknownHierarchy(call.function.name, name, "stored", _known_hierarchies(call, None))
    return Sql(template.fill("hierarchy/arx.sql", rows=lineage.rows(found)))


def _problems_of_hierarchies(call: Call) -> Sql:
    tables = [
        {"database": text(db), "table": qualified(db, catalog.SCHEMA, "hierarchy")}
        for db in _databases(call.cursor)
        if catalog.has_table(call.cursor, db, "hierarchy")
    ]
    return Sql(template.fill("hierarchy/problems.sql", tables=tables))


def _built(name: str, families: tuple[str, ...] = (), **settings: Callable[[Call], object]) -> Callable[[Call], Sql]:
    """A builder that makes label paths of a column, of some families of types, with a template of sql/hierarchy/."""

    def build(call: Call) -> Sql:
        source = call.source()
        column = _column(call, source)
        if families and attribute.family(source.columns[column])[0] not in families:
            accepts = f"a column of {'numbers' if 'integer' in families else 'dates or timestamps'}"
            raise errors.InvalidArgument(call.function.name, "col", accepts, f"{column} {source.columns[column]}")
        values = {name: make(call) for name, make in settings.items()}
        paths = template.fill(
            f"hierarchy/{name}.sql",
            source=source.sql,
            column=identifier(column),
            integer=source.columns[column] in attribute.INTEGERS,
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
    "policy_problems": _policy_problems,
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
}
