"""policy_problems(): find errors in dbanon.policy and dbanon.relation.

It reports rows about tables or columns that do not exist, identifiers that may be persons, unchanged columns that
together single people out, keys that do not match, and limits that another column undoes.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from dbanon import errors
from dbanon.errors.example import Example
from dbanon.policy import column_roles, missing_codes
from dbanon.policy.checks import relation_problems, singling_out, spellings, undone_limits
from dbanon.policy.hierarchies import lookup
from dbanon.policy.hierarchies.storage import Hierarchy
from dbanon.policy.profiling import repeated_identifiers
from dbanon.policy.profiling.repeated_identifiers import DeclaredRelation, UnreadableIdentifier
from dbanon.policy.transforms import settings
from dbanon.source import (
    attached_databases,
    catalog,
    missing_codes as source_missing_codes,
    snapshot_guard,
    stored_policy,
)
from dbanon.source.stored_policy import PolicyRow
from dbanon.sqltext import names, templates
from dbanon.sqltext.quote import Sql, identifier, literal_rows, qualified
from dbanon.table_functions.table_function import Call, TableFunction

_COLUMNS = ("database_name", "schema_name", "table_name", "column_name", "problem", "statement")


def policy_problems_sql(call: Call, only_table: catalog.Source | None = None) -> Sql:
    """Return the SQL of policy_problems(): errors in the committed policies of all attached databases.

    Rows of the policy are checked now; values of the tables are counted when the SQL runs. `only_table` restricts the
    result to one table.
    """
    problem_rows: list[Sequence[str | None]] = []
    relations: dict[Sql, tuple[DeclaredRelation, list[PolicyRow]]] = {}
    for database in call.attached_databases():
        if not catalog.has_table(call.cursor, database, "policy"):
            continue
        policy_rows = stored_policy.database_rows(database, call.cursor)
        if only_table is not None:
            policy_rows = [
                row
                for row in policy_rows
                if database == only_table.home and stored_policy.is_about(only_table, row.schema_name, row.table_name)
            ]
        problem_rows += _row_problems(call, database, policy_rows, relations)
    counted_problems: list[Mapping[str, object]] = []
    limits: list[Mapping[str, object]] = []
    for named_relation, rows in relations.values():
        relation = _without_missing_codes(call, named_relation, rows)
        for candidate in repeated_identifiers.repeated_identifiers(relation, rows, call.cursor):
            if isinstance(candidate, UnreadableIdentifier):
                problem_rows.append(_problem_row(candidate.declared, candidate.problem))
            else:
                counted_problems.append(repeated_identifiers.problem_values(candidate))
        for check in (
            singling_out.problem_values,
            spellings.person_problem_values,
            spellings.value_problem_values,
        ):
            counted_problems += check(relation, rows, call.cursor)
        limits += undone_limits.problem_values(relation, rows, call.cursor, partial(_hierarchy, call, rows[0]))
    problems_of_relations = [
        relation_problem
        for database in call.attached_databases()
        for relation_problem in relation_problems.relation_problems(call, database, only_table)
    ]
    problem_rows += [problem.row for problem in problems_of_relations if problem.count is None]
    counted_problems += [problem.template_values for problem in problems_of_relations if problem.count is not None]
    known_problems = literal_rows(dict.fromkeys(_COLUMNS, "VARCHAR"), problem_rows)
    return Sql(
        templates.fill(
            "policy/checks/policy_problems.sql", known=known_problems, candidates=counted_problems, limits=limits
        )
    )


def _row_problems(
    call: Call,
    database: str,
    policy_rows: Sequence[PolicyRow],
    relations: dict[Sql, tuple[DeclaredRelation, list[PolicyRow]]],
) -> list[Sequence[str | None]]:
    """Return the problems, as rows of the result, that the policy rows of a database have by themselves.

    Args:
        call: The call.
        database: The database.
        policy_rows: Its policy rows.
        relations: Tables by their SQL, with their policy rows. It is changed: the tables that the rows name and that
            can be read are added.
    """
    problem_rows: list[Sequence[str | None]] = []
    tables = catalog.relations(call.cursor, database)
    roles: dict[tuple[str, ...], str] = {}
    reported: set[str] = set()
    checked: set[attached_databases.Place] = set()
    for row in policy_rows:
        named_tables = [table for table in tables if stored_policy.row_matches(table, row.schema_name, row.table_name)]
        foreign_tables = attached_databases.tables_named_by_row(call.cursor, row.schema_name, row.table_name)
        if foreign_tables and foreign_tables[0] not in checked:
            checked.add(foreign_tables[0])
            messages = _error_messages(
                attached_databases.foreign_source,
                "policy_problems",
                call.cursor,
                foreign_tables[0],
                call.path.database,
            )
            new_messages = [problem for problem in messages if problem not in reported]
            reported.update(new_messages)
            problem_rows += [_problem_row(row, problem) for problem in new_messages]
        named_tables += foreign_tables
        row_messages = [*_role_problems(call, row), *_table_problems(call, named_tables, row)]
        for table in named_tables:
            key = (*table, names.fold_case(row.column))
            if key in roles:
                conflict = errors.ConflictingRolesError(
                    "dbanon.policy", row.table_name, row.column, (roles[key], row.role)
                )
                row_messages.append(str(conflict))
            roles[key] = row.role
        problem_rows += [_problem_row(row, problem) for problem in row_messages]
        for relation in _readable_relations(call, named_tables, row):
            relations.setdefault(relation.sql, (relation, []))[1].append(row)
    return problem_rows


def _hierarchy(call: Call, row: PolicyRow, name: str) -> Hierarchy | None:
    """Return the hierarchy of this name that a policy row means; None if it does not exist or is malformed."""
    policy_call = replace(call, path=catalog.SearchPath(row.database, row.schema_name))
    try:
        return lookup.find_hierarchy(policy_call, name, None)
    except errors.DbanonError:  # _role_problems reports it
        return None


def _problem_row(row: PolicyRow, problem: str) -> tuple[str | None, ...]:
    """Return one row of the result: database, schema, table and column of the policy row, the problem, and None.

    None is the statement, which such a problem does not have.
    """
    return row.database, row.schema_name, row.table_name, row.column, problem, None


def _role_problems(call: Call, row: PolicyRow) -> list[str]:
    """Return messages about a policy row's unknown role, wrong settings of a transformation, and unknown hierarchy.

    The hierarchy is checked for quasi-identifiers only.
    """
    problems, hierarchy = [], row.settings.hierarchy
    if row.role.lower() in settings.TRANSFORM_SETTINGS:
        problems += _error_messages(
            settings.parse_transform, f"{row.table_name}.{row.column}", row.role.lower(), dict(row.settings.settings)
        )
    elif row.role.lower() not in column_roles.ROLES:
        problems.append(str(errors.UnknownRoleError(row.table_name, row.column, row.role, column_roles.ROLES)))
    if hierarchy is not None and row.role.lower() == "quasi":
        policy_call = replace(call, path=catalog.SearchPath(row.database, row.schema_name))
        try:
            is_unknown = lookup.find_hierarchy(policy_call, hierarchy, None) is None
        except errors.DbanonError as error:
            return [*problems, str(error)]
        if is_unknown:
            known_hierarchies, column = lookup.hierarchy_names(policy_call, None), f"of {row.table_name}.{row.column}"
            problems.append(str(errors.UnknownHierarchyError("dbanon.policy", hierarchy, column, known_hierarchies)))
    return problems


def _error_messages(check: Callable[..., object], *arguments: object) -> list[str]:
    """Call `check` with the arguments; return [message] if it raises a DbanonError, else []."""
    try:
        check(*arguments)
    except errors.DbanonError as error:
        return [str(error)]
    return []


def _table_problems(call: Call, tables: Sequence[attached_databases.Place], row: PolicyRow) -> list[str]:
    """Return messages about the table and the column of a policy row; `tables` are the relations that it names.

    It reports that there is no such table, that DuckDB cannot read it, that it lacks the column, or wrong codes for
    missing values. Temporary tables and files are not checked.
    """
    if not tables:
        if names.is_file(row.table_name) or row.table_name.lower() in call.session.temporary.columns:
            return []
        if attached_databases.has_recorded_database(call.cursor, row.database, row.table_name):
            return [
                f"not checked: '{row.table_name}' is in a database that is not attached now, or does not exist there "
                "any more. Hint: ATTACH the database under the name that the policy uses."
            ]
        return [
            f"orphan: there is no table or view '{row.table_name}' (schema_name '{row.schema_name}') in this database. "
            "Hint: DELETE the row, or correct table_name or schema_name."
        ]
    kind = attached_databases.database_kind(call.cursor, tables[0][0])
    if kind is not None and (messages := _read_problems(call, tables[0], kind)):
        return messages
    columns = catalog.columns_of(call.cursor, tables[0])
    types = {names.fold_case(c): type_ for c, type_ in columns.items()}
    if names.fold_case(row.column) in types:
        type_ = types[names.fold_case(row.column)]
        return [
            str(
                errors.UnsupportedSettingError(
                    "dbanon.policy",
                    missing_codes.SETTING,
                    row.table_name,
                    row.column,
                    missing_codes.code_problem(type_, code),
                )
            )
            for code in row.settings.missing_codes
            if source_missing_codes.code_value(type_, code, call.holds) is None
        ]
    return [str(errors.UnknownColumnError("dbanon.policy", row.table_name, row.column, "column_name", columns))]


def _read_problems(call: Call, table: attached_databases.Place, kind: str) -> list[str]:
    """Return a list with the reason why DuckDB cannot read a table of another system by its name; [] if it can.

    `kind` is the system: postgres, mysql or sqlite.
    """
    columns = catalog.columns_of(call.cursor, table)
    return _error_messages(attached_databases.check_read, "policy_problems", call.cursor, table, kind, columns)


def _without_missing_codes(call: Call, relation: DeclaredRelation, rows: Sequence[PolicyRow]) -> DeclaredRelation:
    """Return a relation that reads the codes for missing values, which its policy rows declare, as NULL.

    It is unchanged if there are no codes, or if none is a value of its column.
    """
    codes = {row.column: row.settings.missing_codes for row in rows if row.settings.missing_codes}
    if not codes:
        return relation
    cleaned_sql = source_missing_codes.relation_without_codes(relation.sql, relation.columns(), codes, call.holds)
    return relation if cleaned_sql is None else replace(relation, sql=cleaned_sql)


def _readable_relations(
    call: Call, tables: Sequence[attached_databases.Place], row: PolicyRow
) -> Iterator[DeclaredRelation]:
    """Yield the relations, which can be read, that a policy row is about.

    They are `tables`; if there are none, the temporary relation or the file that the row names, for rows of the current
    database only.
    """
    for table in tables:
        sql, kind = qualified(*table), attached_databases.database_kind(call.cursor, table[0])
        if kind is None or not _read_problems(call, table, kind):
            guard = snapshot_guard.guard_condition(
                call.cursor, str(sql), snapshot_guard.scanned_systems(call.cursor, sql, kind)
            )
            yield DeclaredRelation(
                snapshot_guard.guarded_relation(sql, guard),
                partial(catalog.columns_of, call.cursor, table),
                table=sql if catalog.is_table(call.cursor, table) else None,
            )
    if tables or row.database != call.path.database:
        return
    yield from (
        DeclaredRelation(identifier(name), partial(dict, columns), is_visible=False)
        for name, columns in call.session.temporary.columns.items()
        if stored_policy.row_matches((row.database, "main", name), row.schema_name, row.table_name)
    )
    if names.is_file(row.table_name) and row.schema_name.lower() == "main":
        with contextlib.suppress(errors.UnreadableFileError, errors.RemoteFileError):
            source = catalog.resolve_source("policy_problems", row.table_name, call.cursor, call.path, {})
            yield DeclaredRelation(source.sql, partial(dict, source.columns))


FUNCTIONS = (
    TableFunction(
        "policy_problems",
        (),
        (),
        "Lists the errors in dbanon.policy (unknown tables, columns, roles and hierarchies, and identifiers that may "
        "be persons) and in dbanon.relation (unknown tables and columns, keys without a role, and rows that belong "
        "to no person).",
        handler=policy_problems_sql,
        example=Example("SELECT * FROM policy_problems();"),
    ),
)
