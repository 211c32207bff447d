"""Resolve the policy of a query to be anonymized from the tables with a policy that it reads.

The plan that DuckDB binds for the query, on the connection that will run it, decides. A column of the query has a role
if it is exactly one column of a mapped table in every branch of the query, with the same role, and if the model and
`dbanon.policy` agree about that role. Everything else (expressions, casts, literals, functions, fragments of text)
has no role and is withheld; a call cannot give it one if the query reads a table with a policy.

The rows of the query are stored in a temporary table, and the roles found here are the policy of that table. So the
planner checks the parameters of the call as it checks those of a call on the table itself.

Columns that are only read by WHERE, ON or ORDER BY select and order rows. They publish no value, so they may be any
columns of mapped tables.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Table

from dbanon import errors
from dbanon.errors.roles import QUERY_LABEL
from dbanon.integrations.sqlalchemy.connection import raw_connection, resolve_table
from dbanon.integrations.sqlalchemy.constructs import QueryModel
from dbanon.integrations.sqlalchemy.literal_query import LiteralQuery
from dbanon.integrations.sqlalchemy.policy import stored_role
from dbanon.integrations.sqlalchemy.query_persons import GovernedTable, check_persons
from dbanon.integrations.sqlalchemy.query_plan import (
    Branch,
    Place,
    PlanNotReadError,
    plan_branches,
    plan_places,
    serialized_plan,
)
from dbanon.integrations.sqlalchemy.query_views import direct_query_tables, view_shapes, views_read
from dbanon.integrations.sqlalchemy.roles import Role, role_of
from dbanon.runtime.session import builtin_cursor
from dbanon.source import catalog, transaction_check
from dbanon.source.applicable_policy import renamed_table_check
from dbanon.source.bound_scans import Scan, bound_scans
from dbanon.source.governed_tables import TEMPORARY, governed_scans
from dbanon.source.stored_policy import DeclaredColumn, Policy, TemporaryPolicy
from dbanon.source.view_mentions import view_mentions
from dbanon.sqltext import names
from dbanon.sqltext.qualify_builtins import SYSTEM_SCHEMA
from dbanon.sqltext.quote import Sql, join_sql, qualified

SOURCE_LABEL = QUERY_LABEL
"""Name of the source in messages."""


@dataclass(frozen=True)
class QueryPolicy:
    """The policy of the temporary table that stores the rows of a query, and the tables and files that the query scans.

    `policy` is None if no column has a role.
    """

    policy: TemporaryPolicy | None
    scans: tuple[Scan, ...]


def resolve_query_policy(
    connection: Connection, model: QueryModel, statement: str, parameters: Any, literal: LiteralQuery
) -> QueryPolicy:
    """Check a query that is about to run, and return the policy of the table that stores its rows.

    If the query reads no table or view with a policy, this is the model's policy. Otherwise it has the roles that model
    and `dbanon.policy` agree about.

    Args:
        connection: The connection that will run the query.
        model: The roles that the model and the call give the columns.
        statement: The statement of the query as it will run.
        parameters: The values of its parameters.
        literal: The same query with the values in its text.

    Raises:
        UnmappedTableError: A table with a policy is read that is no mapped table of the query.
        SourceNotResolvedError: DuckDB cannot bind the query, or the origin of its columns cannot be determined.
        PolicyDriftError: The model and the database differ about a column.
        ConflictingRolesError: The branches of the query give a column different roles.
        UndeclaredColumnError: The call publishes a column that has no role.
        PersonColumnNotSelectedError: See `check_persons`.
        RepeatedRecordsError: See `check_persons`.
        ShadowedTableError: A temporary object has the name of a mapped table with a policy.
    """
    raw = raw_connection(connection)
    current_database = catalog.SearchPath.from_connection(raw).database
    with builtin_cursor(raw) as cursor:
        raw.execute(f"EXPLAIN {statement}", parameters or None)  # its error is the query's own
        scans = bound_scans(raw, statement, parameters or None)
        if scans is None:
            raise _untraceable_error(model.function)
        governed = list(dict.fromkeys(governed_scans(model.function, SOURCE_LABEL, scans, cursor, current_database)))
        for table in direct_query_tables(raw, cursor, statement, parameters or (), scans):
            raise errors.UnmappedTableError(model.function, table)
        views = views_read(raw, cursor, statement, scans)
        mapped = dict(_mapped_tables(connection, model.function, literal.tables))
        _refuse_shadowed(model.function, mapped, scans, cursor)
        if not governed and not views:
            return QueryPolicy(_model_policy(model), scans)
        shapes = view_shapes(raw, [view for view in views if view in mapped])
        governed += map(".".join, views)
        if not shapes:
            _refuse_unmapped(model.function, governed, mapped)
        try:
            plan = serialized_plan(raw, literal.text)
            if shapes:
                governed = _outside_views(governed, scans, {*plan_places(plan, shapes), *views})
                _refuse_unmapped(model.function, governed, mapped)
            branches = plan_branches(plan, shapes)
        except PlanNotReadError:
            raise _untraceable_error(model.function) from None
        if any(len(branch.columns) != len(model.roles) for branch in branches):
            raise _untraceable_error(model.function)
        places = dict.fromkeys(place for branch in branches for place in branch.scans.values())
        tables = {place: GovernedTable.read(place, cursor) for place in places if ".".join(place) in governed}
        rows = _policy_rows(model, branches, tables, mapped)
        check_persons(model.function, raw, branches, tables, list(rows.values()), list(model.roles))
        view_tables = [scan.place for scan in scans if scan.place and scan.place[0] != TEMPORARY] if shapes else []
        check_sql = _transaction_check(model.function, places, tables, view_tables, cursor)
        database = _policy_database(model.function, tables) or current_database
        return QueryPolicy(_temporary_policy(check_sql, tables, list(rows.values()), database), scans)


def _model_policy(model: QueryModel) -> TemporaryPolicy | None:
    """Return a policy with the model's roles, for a query that reads no table with a policy.

    None if there are no roles.
    """
    declared = tuple(role.declared(name) for name, role in model.roles.items() if role is not None)
    return TemporaryPolicy(Policy(declared, Sql("''"), "", "")) if declared else None


# --- tables -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MappedTable:
    """A SQLAlchemy Table in the FROM of a query; `is_table` is false if the database stores it as a view."""

    table: Table
    is_table: bool


def _mapped_tables(
    connection: Connection, function: str, tables: Iterable[Table]
) -> Iterator[tuple[Place, MappedTable]]:
    """Yield (place, table) for the mapped tables in a query's FROM; place is the database, schema and name.

    A table that cannot be resolved, such as a temporary one, is omitted. `function` is the called function, for
    messages.
    """
    for table in tables:
        try:
            source = resolve_table(function, table, connection)
        except errors.DbanonError:  # temporary, or of another system: it is no stored table of DuckDB
            continue
        yield source.place, MappedTable(table, source.is_table)


def _outside_views(governed: Sequence[str], scans: Iterable[Scan], scanned_places: Iterable[Place]) -> list[str]:
    """Return the tables with a policy that a query reads directly, not only through a view that has its own policy.

    Args:
        governed: The names of the tables with a policy that the query reads.
        scans: All scans of the query.
        scanned_places: Database, schema and name of all that its plan scans, where such a view counts as one scan.

    Names in `governed` that are no scanned table are returned, too.
    """
    scanned_tables = {".".join(scan.place) for scan in scans if scan.place}
    direct_tables = set(map(".".join, scanned_places))
    return [table for table in governed if table in direct_tables or table not in scanned_tables]


def _refuse_unmapped(function: str, governed: Sequence[str], mapped: Mapping[Place, MappedTable]) -> None:
    """Raise UnmappedTableError if a table with a policy (`governed`) is not among the mapped tables of the query."""
    mapped_names = {names.fold_case(".".join(place)) for place in mapped}
    for governed_name in governed:
        if names.fold_case(governed_name) not in mapped_names:
            raise errors.UnmappedTableError(function, governed_name)


def _refuse_shadowed(function: str, mapped: Mapping[Place, MappedTable], scans: Iterable[Scan], cursor: Any) -> None:
    """Raise ShadowedTableError if the query does not scan a mapped table with a policy.

    Then a temporary object has the name of the table and is read in its place. Mapped tables that the database stores
    as views are not checked.

    Args:
        function: The called function, for the message.
        mapped: The mapped tables of the query.
        scans: The scans of the query.
        cursor: A cursor that reads policies.
    """
    scanned_places = {scan.place for scan in scans}
    for place, mapped_table in mapped.items():
        if mapped_table.is_table and place not in scanned_places and GovernedTable.read(place, cursor).rows_by_column:
            raise errors.ShadowedTableError(function, mapped_table.table.name, str(qualified(*place)))


def _untraceable_error(function: str) -> errors.SourceNotResolvedError:
    """Return the error for a query whose columns cannot be traced to stored columns."""
    why = "reads a table with a policy in a way that does not allow tracing its columns"
    hint = "select columns of mapped tables with joins and filters, or anonymize the whole table"
    return errors.SourceNotResolvedError(function, SOURCE_LABEL, why, hint)


# --- columns ------------------------------------------------------------------------------------------------


def _policy_rows(
    model: QueryModel,
    branches: Sequence[Branch],
    tables: Mapping[Place, GovernedTable],
    mapped: Mapping[Place, MappedTable],
) -> dict[str, DeclaredColumn]:
    """Return the policy row of each column of a query that has a role, by column name.

    Args:
        model: The roles that the model gives.
        branches: The branches of the query, with the stored column of each of its columns.
        tables: The tables with a policy.
        mapped: The mapped tables of the query.

    Raises:
        PolicyDriftError: Model and database differ about a column.
        ConflictingRolesError: The branches give a column different roles.
        UndeclaredColumnError: The call publishes a column without a role.
    """
    policy_rows: dict[str, DeclaredColumn] = {}
    for i, (name, role) in enumerate(model.roles.items()):
        row = _common_role(model.function, name, [_column_role(branch, i, tables, mapped) for branch in branches])
        if role is not None and (row is None or stored_role(row) != role):
            raise errors.PolicyDriftError(model.function, SOURCE_LABEL, [name])
        if role is not None and row is not None:
            policy_rows[name] = replace(row, column=name)
        elif name in model.published_roles:
            raise errors.UndeclaredColumnError(model.function, SOURCE_LABEL, name, model.published_roles[name])
    return policy_rows


def _column_role(
    branch: Branch, position: int, tables: Mapping[Place, GovernedTable], mapped: Mapping[Place, MappedTable]
) -> DeclaredColumn | None:
    """Return the policy row of one column in one branch (SELECT) of a query; None if it has no role there.

    Expressions have no role. For a mapped table without a policy, the row is made from the model's role.

    Args:
        branch: The branch.
        position: The position of the column.
        tables: The tables with a policy.
        mapped: The mapped tables of the query.
    """
    origin = branch.columns[position]
    if origin is None:
        return None
    place = branch.scans[origin.scan]
    if place in tables:
        return tables[place].rows_by_column.get(names.fold_case(origin.column))
    if place in mapped:
        for column in mapped[place].table.c:
            if names.fold_case(column.name) == names.fold_case(origin.column) and (role := role_of(column)) is not None:
                return role.declared(column.name)
    return None


def _common_role(function: str, name: str, branch_rows: Sequence[DeclaredColumn | None]) -> DeclaredColumn | None:
    """Return the policy row that a column has in all branches; None if it has a role in none.

    Raises:
        ConflictingRolesError: The roles or settings differ between branches.
    """
    roles: dict[Role | None, DeclaredColumn | None] = {
        None if row is None else stored_role(row): row for row in branch_rows
    }
    if len(roles) > 1:
        raise errors.ConflictingRolesError(function, SOURCE_LABEL, name, [str(role or "withheld") for role in roles])
    return next(iter(roles.values()), None)


# --- the policy ---------------------------------------------------------------------------------------------


def _temporary_policy(
    check: Sql, tables: Mapping[Place, GovernedTable], rows: Sequence[DeclaredColumn], database: str
) -> TemporaryPolicy:
    """Return the policy of the temporary table with a query's rows.

    It has the policy rows, their fingerprint, and a SQL expression that computes the fingerprint again from the stored
    policies.

    Args:
        check: A SQL condition; if it is false, the expression is NULL.
        tables: The tables from whose policies the rows come.
        rows: The policy rows.
        database: The database that is searched for hierarchies.
    """
    fingerprints = [table.policy.fingerprint_sql for table in tables.values()] or [Sql("''")]
    fingerprint_sql = Sql(f"(CASE WHEN {check} THEN {SYSTEM_SCHEMA}concat({join_sql(fingerprints)}) END)")
    policies = [table.policy for table in tables.values()]
    fingerprint = "".join(policy.fingerprint for policy in policies)
    stored_fingerprint = "".join(policy.stored_fingerprint for policy in policies)
    return TemporaryPolicy(Policy(tuple(rows), fingerprint_sql, fingerprint, stored_fingerprint), database)


def _policy_database(function: str, tables: Iterable[Place]) -> str | None:
    """Return the one database of the tables with a policy, in which hierarchies are searched; None without tables.

    Raises:
        SourceNotResolvedError: Tables of several databases have policies.
    """
    databases = sorted({place[0] for place in tables})
    if len(databases) > 1:
        why = f"reads tables with policies of several databases ({', '.join(databases)})"
        raise errors.SourceNotResolvedError(function, SOURCE_LABEL, why, "anonymize a query on one database")
    return databases[0] if databases else None


def _transaction_check(
    function: str, places: Iterable[Place], tables: Iterable[Place], view_tables: Sequence[Place], cursor: Any
) -> Sql:
    """Return a SQL condition that holds if the caller's transaction reads the committed objects.

    Relations with a policy, and what the views among them read, must be the committed ones; and no table with a policy
    may be read under another name.

    Args:
        function: The called function, for messages.
        places: Database, schema and name of all stored tables that the query scans.
        tables: Those of the tables and views with a policy.
        view_tables: Those of the tables that the query scans if views have a policy of their own; otherwise empty.
        cursor: A cursor that sees committed data.
    """
    existing_relations = [place for place in {*tables, *view_tables} if place in catalog.relations(cursor, place[0])]
    states = [transaction_check.catalog_state(cursor, existing_relations)]
    mentions = [view_mentions(place, cursor, {}) for place in tables] if view_tables else []
    states += [
        transaction_check.catalog_state(cursor, (), view_mention)
        for view_mention in mentions
        if view_mention is not None
    ]
    conditions = [transaction_check.check_sql(function, SOURCE_LABEL, state) for state in states]
    ungoverned = set(places) - {*tables, *view_tables}
    renamed = renamed_table_check(function, SOURCE_LABEL, ungoverned, cursor)
    return Sql(" AND ".join([*conditions, *([] if renamed is None else [renamed])]))
