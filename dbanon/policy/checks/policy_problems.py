"""What is wrong in dbanon.policy and dbanon.relation: rows that name what is not there, identifiers that may be
persons, columns that are published as they are and single people out together, keys that do not fit."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from dbanon import errors
from dbanon.errors.example import Example
from dbanon.policy import column_roles, missing_codes
from dbanon.policy.checks import person_spellings, relation_problems, singling_out, undone_limits
from dbanon.policy.hierarchies import lookup
from dbanon.policy.hierarchies.storage import Hierarchy
from dbanon.policy.profiling import repeated_identifiers
from dbanon.policy.profiling.repeated_identifiers import Declared, Relation, Unreadable
from dbanon.policy.transforms import settings
from dbanon.source import (
    attached_databases,
    catalog,
    missing_codes as source_missing_codes,
    snapshot_guard,
    stored_policy,
)
from dbanon.sqltext import names, templates
from dbanon.sqltext.quote import Sql, identifier, literal_rows, qualified
from dbanon.table_functions.table_function import Call, TableFunction

_COLUMNS = ("database_name", "schema_name", "table_name", "column_name", "problem", "statement")

Place = tuple[str, str, str]
"""Database, schema and name of a table or view."""


def statement(call: Call, only: catalog.Source | None = None) -> Sql:
    """The SQL of policy_problems(): every attached database's policy as committed; values are counted when it runs.

    `only` is a table, for problems of its rows alone.
    """
    known: list[Sequence[str | None]] = []
    relations: dict[Sql, tuple[Relation, list[Declared]]] = {}
    settings_of: dict[Declared, stored_policy.Settings] = {}
    for database in call.attached():
        if not catalog.has_table(call.cursor, database, "policy"):
            continue
        places = catalog.relations(call.cursor, database)
        seen: dict[tuple[str, ...], str] = {}
        told: set[str] = set()
        asked: set[Place] = set()
        for row, given in _stored(call, database):
            settings_of[row] = given
            if only is not None and (database != only.home or not stored_policy.is_about(only, row.schema, row.table)):
                continue
            about = [place for place in places if stored_policy.row_matches(place, row.schema, row.table)]
            elsewhere = attached_databases.tables_named_by_row(call.cursor, row.schema, row.table)
            if elsewhere and elsewhere[0] not in asked:
                asked.add(elsewhere[0])
                wrong = _raised(
                    attached_databases.foreign_source, "policy_problems", call.cursor, elsewhere[0], call.path.database
                )
                found_there = [problem for problem in wrong if problem not in told]
                told.update(found_there)
                known += [_reported(row, problem) for problem in found_there]
            about += elsewhere
            found = [*_role_problems(call, row, given.hierarchy), *_place_problems(call, about, row)]
            for place in about:
                key = (*place, row.column.lower())
                if key in seen:
                    found.append(
                        str(errors.ConflictingRolesError("dbanon.policy", row.table, row.column, (seen[key], row.role)))
                    )
                seen[key] = row.role
            known += [_reported(row, problem) for problem in found]
            for relation in _readable(call, about, row):
                relations.setdefault(relation.sql, (relation, []))[1].append(row)
    counted: list[Mapping[str, object]] = []
    limits: list[Mapping[str, object]] = []
    for found_at, rows in relations.values():
        relation = _cleaned(call, found_at, rows)
        for candidate in repeated_identifiers.candidates(relation, rows, call.cursor):
            if isinstance(candidate, Unreadable):
                known.append(_reported(candidate.declared, candidate.problem))
            else:
                counted.append(repeated_identifiers.values(candidate))
        together = [check.counted(relation, rows, call.cursor) for check in (singling_out, person_spellings)]
        counted += [problem for problem in together if problem is not None]
        limits += undone_limits.counted(
            relation, [(row, settings_of[row]) for row in rows], call.cursor, partial(_hierarchy, call, rows[0])
        )
    found_wrong = [w for database in call.attached() for w in relation_problems.problems(call, database, only)]
    known += [wrong.row for wrong in found_wrong if wrong.count is None]
    counted += [wrong.values for wrong in found_wrong if wrong.count is not None]
    literal = literal_rows(dict.fromkeys(_COLUMNS, "VARCHAR"), known)
    return Sql(templates.fill("policy/checks/policy_problems.sql", known=literal, candidates=counted, limits=limits))


def _stored(call: Call, database: str) -> list[tuple[Declared, stored_policy.Settings]]:
    """Return the rows of a database's policy, each with its settings."""
    table = qualified(database, catalog.SCHEMA, "policy")
    found = call.cursor.execute(f"SELECT * FROM {table} ORDER BY schema_name ASC, table_name ASC, column_name ASC")
    names = [column[0] for column in found.description]
    rows = [dict(zip(names, cells, strict=True)) for cells in found.fetchall()]
    return [
        (
            Declared(
                database,
                row["schema_name"],
                row["table_name"],
                row["column_name"],
                row["role"],
                stored_policy.parse_codes(row.get("missing")),
                stored_policy.parse_settings(row.get("form")),
            ),
            stored_policy.Settings(
                hierarchy=row["hierarchy"],
                min_level=row.get("min_level"),
                top=row.get("top"),
                bottom=row.get("bottom"),
                grid=row.get("grid"),
            ),
        )
        for row in rows
    ]


def _hierarchy(call: Call, row: Declared, name: str) -> Hierarchy | None:
    """Return a hierarchy that the policy of a row's table names; None where there is none."""
    there = replace(call, path=catalog.SearchPath(row.database, row.schema))
    try:
        return lookup.find(there, name, None)
    except errors.DbanonError:  # which _role_problems reports
        return None


def _reported(row: Declared, problem: str) -> tuple[str | None, ...]:
    """Return one row of the answer, without a statement."""
    return row.database, row.schema, row.table, row.column, problem, None


def _role_problems(call: Call, row: Declared, hierarchy: str | None) -> list[str]:
    """What is wrong with the role and the hierarchy of a row."""
    problems = []
    if row.role.lower() in settings.KNOWN:
        problems += _raised(settings.made, f"{row.table}.{row.column}", row.role.lower(), dict(row.form))
    elif row.role.lower() not in column_roles.ROLES:
        problems.append(str(errors.UnknownRoleError(row.table, row.column, row.role, column_roles.ROLES)))
    if hierarchy is not None and row.role.lower() == "quasi":
        there = replace(call, path=catalog.SearchPath(row.database, row.schema))
        try:
            missing = lookup.find(there, hierarchy, None) is None
        except errors.DbanonError as error:
            return [*problems, str(error)]
        if missing:
            known, where = lookup.known(there, None), f"of {row.table}.{row.column}"
            problems.append(str(errors.UnknownHierarchyError("dbanon.policy", hierarchy, where, known)))
    return problems


def _raised(check: Callable[..., object], *arguments: object) -> list[str]:
    """What a check raises."""
    try:
        check(*arguments)
    except errors.DbanonError as error:
        return [str(error)]
    return []


def _place_problems(call: Call, about: Sequence[Place], row: Declared) -> list[str]:
    """What is wrong with the table and the column of a row; `about` are the relations that it names."""
    if not about:
        if names.is_file(row.table) or row.table.lower() in call.session.temporary.columns:
            return []
        if attached_databases.is_detached(call.cursor, row.database, row.table):
            return [
                f"not checked: '{row.table}' is in a database that is not attached now, or it is gone from there. "
                "Hint: ATTACH it by the name that the policy has for it."
            ]
        return [
            f"orphan: there is no table or view '{row.table}' (schema_name '{row.schema}') in this database. "
            "Hint: DELETE the row, or correct table_name or schema_name."
        ]
    of = attached_databases.database_kind(call.cursor, about[0][0])
    if of is not None and (found := _reading_problems(call, about[0], of)):
        return found
    columns = catalog.columns_of(call.cursor, about[0])
    types = {c.lower(): type_ for c, type_ in columns.items()}
    if row.column.lower() in types:
        return _code_problems(call, row, types[row.column.lower()])
    return [str(errors.UnknownColumnError("dbanon.policy", row.table, row.column, "column_name", columns))]


def _reading_problems(call: Call, place: Place, kind: str) -> list[str]:
    """Why DuckDB cannot read a table of another system by its name."""
    columns = catalog.columns_of(call.cursor, place)
    return _raised(attached_databases.check_read, "policy_problems", call.cursor, place, kind, columns)


def _code_problems(call: Call, row: Declared, type_: str) -> list[str]:
    """Return codes for missing values that no value of the column can be."""
    setting = missing_codes.SETTING
    return [
        str(
            errors.UnsupportedSettingError(
                "dbanon.policy", setting, row.table, row.column, missing_codes.problem(type_, code)
            )
        )
        for code in row.missing
        if source_missing_codes.code_value(type_, code, call.holds) is None
    ]


def _cleaned(call: Call, relation: Relation, rows: Sequence[Declared]) -> Relation:
    """Return a relation with NULL in place of its codes for missing values."""
    codes = {row.column: row.missing for row in rows if row.missing}
    if not codes:
        return relation
    found = source_missing_codes.relation_without_codes(relation.sql, relation.columns(), codes, call.holds)
    return relation if found is None else replace(relation, sql=found)


def _readable(call: Call, about: Sequence[Place], row: Declared) -> Iterator[Relation]:
    """What a row is about, to be read: tables and views `about`, else a temporary relation or a file."""
    for place in about:
        sql, of = qualified(*place), attached_databases.database_kind(call.cursor, place[0])
        if of is None or not _reading_problems(call, place, of):
            guard = snapshot_guard.guard_condition(
                call.cursor, str(sql), snapshot_guard.scanned_systems(call.cursor, sql, of)
            )
            yield Relation(snapshot_guard.guarded_relation(sql, guard), partial(catalog.columns_of, call.cursor, place))
    if about or row.database != call.path.database:
        return
    yield from (
        Relation(identifier(name), partial(dict, columns), seen=False)
        for name, columns in call.session.temporary.columns.items()
        if stored_policy.row_matches((row.database, "main", name), row.schema, row.table)
    )
    if names.is_file(row.table) and row.schema.lower() == "main":
        with contextlib.suppress(errors.UnreadableFileError, errors.RemoteFileError):
            source = catalog.resolve_source("policy_problems", row.table, call.cursor, call.path, {})
            yield Relation(source.sql, partial(dict, source.columns))


FUNCTIONS = (
    TableFunction(
        "policy_problems",
        (),
        (),
        "What is wrong in dbanon.policy: unknown tables, columns, roles, hierarchies; identifiers that may be persons. "
        "And in dbanon.relation: unknown tables and columns, keys without a role, rows about nobody.",
        handler=statement,
        example=Example("SELECT * FROM policy_problems();"),
    ),
)
