"""Which policy applies to a query that is anonymized: that of the tables with a policy that it reads.

A query is judged by the plan that DuckDB binds for it, on the connection that will run it. A column of the query has a
role if it is exactly one column of a mapped table in every branch of the query, with the same role, and if the model
and `dbanon.policy` agree about that role. Everything else (expressions, casts, literals, functions, fragments of text)
has no role and is withheld; a call cannot give it one where the query reads a table with a policy.

The rows of the query are put into a temporary table, and the roles found here are the policy of that table. So the
planner judges the parameters of the call as it judges those of a call on the table itself.

Columns that are only read by WHERE, ON or ORDER BY select and order rows. They publish no value, so they may be any
columns of mapped tables.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Table

from dbanon import errors
from dbanon.integrations.sqlalchemy.connection import raw_connection, resolved
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
from dbanon.source import catalog, stored_policy, transaction_check
from dbanon.source.bound_scans import Scan, bound_scans
from dbanon.source.governed_tables import TEMPORARY, governed_scans
from dbanon.source.stored_policy import DeclaredColumn, Policy, TemporaryPolicy
from dbanon.source.view_mentions import view_mentions
from dbanon.sqltext import names
from dbanon.sqltext.qualify_builtins import SYSTEM_SCHEMA
from dbanon.sqltext.quote import Sql, join_sql, qualified

SHOWN = "the query"
"""What messages call the source."""


@dataclass(frozen=True)
class JudgedQuery:
    """The policy of the table that will hold the rows of a query (None: no column has a role), and what it scans."""

    policy: TemporaryPolicy | None
    scans: tuple[Scan, ...]


@dataclass(frozen=True)
class BoundQuery:
    """A query as it will run: its statement with its parameters, and the same with literals."""

    statement: str
    parameters: Any
    literal: LiteralQuery


def judged_query(connection: Connection, model: QueryModel, query: BoundQuery) -> JudgedQuery:
    """Return the policy of a query that is about to run.

    Raises:
        UnmappedTableError: A table with a policy is read, and is no mapped table of the query.
        SourceNotResolvedError: DuckDB cannot bind the query, or the origin of its columns cannot be determined.
        PolicyDriftError: The model and the database differ about a column.
        ConflictingRolesError: The branches of the query give a column different roles.
        Undeclared: The call publishes a column that has no role.
        PersonColumnNotSelectedError, RepeatedRecordsError: What `check_persons` raises.
        ShadowedTableError: A temporary object has the name of a mapped table with a policy.
    """
    raw = raw_connection(connection)
    current = catalog.SearchPath.here(raw).database
    with builtin_cursor(raw) as cursor:
        raw.execute(f"EXPLAIN {query.statement}", query.parameters or None)  # its error is the query's own
        scans = bound_scans(raw, query.statement, query.parameters or None)
        if scans is None:
            raise _not_followed(model.function)
        governed = list(dict.fromkeys(governed_scans(model.function, SHOWN, scans, cursor, current)))
        for table in direct_query_tables(raw, cursor, query.statement, query.parameters or (), scans):
            raise errors.UnmappedTableError(model.function, table)
        views = views_read(raw, cursor, query.statement, scans)
        mapped = dict(_mapped_tables(connection, model.function, query.literal.tables))
        _refuse_shadowed(model.function, mapped, scans, cursor)
        if not governed and not views:
            return JudgedQuery(_model_policy(model), scans)
        shapes = view_shapes(raw, [view for view in views if view in mapped])
        governed += map(".".join, views)
        if not shapes:
            _refuse_unmapped(model.function, governed, mapped)
        try:
            plan = serialized_plan(raw, query.literal.text)
            if shapes:
                governed = _outside_views(governed, scans, {*plan_places(plan, shapes), *views})
                _refuse_unmapped(model.function, governed, mapped)
            branches = plan_branches(plan, shapes)
        except PlanNotReadError:
            raise _not_followed(model.function) from None
        if any(len(branch.columns) != len(model.roles) for branch in branches):
            raise _not_followed(model.function)
        places = dict.fromkeys(place for branch in branches for place in branch.scans.values())
        tables = {place: GovernedTable.read(place, cursor) for place in places if ".".join(place) in governed}
        rows = _rows(model, branches, tables, mapped)
        check_persons(model.function, raw, branches, tables, list(rows.values()), list(model.roles))
        view_tables = [scan.place for scan in scans if scan.place and scan.place[0] != TEMPORARY] if shapes else []
        check = _transaction_check(model.function, places, tables, view_tables, cursor)
        database = _database(model.function, tables) or current
        return JudgedQuery(_governing(check, tables, list(rows.values()), database), scans)


def _model_policy(model: QueryModel) -> TemporaryPolicy | None:
    """Return the roles of the model, for a query that reads no table with a policy."""
    declared = tuple(role.declared(name) for name, role in model.roles.items() if role is not None)
    return TemporaryPolicy(Policy(declared, Sql("''"), "")) if declared else None


# --- tables -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MappedTable:
    """A table in the FROM of a query, and whether it is stored as a table or as a view."""

    table: Table
    is_table: bool


def _mapped_tables(
    connection: Connection, function: str, tables: Iterable[Table]
) -> Iterator[tuple[Place, MappedTable]]:
    """Yield the tables in the FROM of a query with the places where they are stored."""
    for table in tables:
        try:
            source = resolved(function, table, connection)
        except errors.DbanonError:  # temporary, or of another system: it is no stored table of DuckDB
            continue
        yield source.place, MappedTable(table, source.is_table)


def _outside_views(governed: Sequence[str], scans: Iterable[Scan], read: Iterable[Place]) -> list[str]:
    """Return the tables with a policy that are read other than by a view with a policy of its own."""
    stored = {".".join(scan.place) for scan in scans if scan.place}
    outside = set(map(".".join, read))
    return [table for table in governed if table in outside or table not in stored]


def _refuse_unmapped(function: str, governed: Sequence[str], mapped: Mapping[Place, MappedTable]) -> None:
    known = {names.fold_case(".".join(place)) for place in mapped}
    for shown in governed:
        if names.fold_case(shown) not in known:
            raise errors.UnmappedTableError(function, shown)


def _refuse_shadowed(function: str, mapped: Mapping[Place, MappedTable], scans: Iterable[Scan], cursor: Any) -> None:
    """Refuse a query that has a table with a policy in its FROM and reads a temporary object in its place."""
    read = {scan.place for scan in scans}
    for stored, found in mapped.items():
        if found.is_table and stored not in read and GovernedTable.read(stored, cursor).rows:
            raise errors.ShadowedTableError(function, found.table.name, str(qualified(*stored)))


def _not_followed(function: str) -> errors.SourceNotResolvedError:
    why = "reads a table with a policy in a way in which its columns cannot be followed"
    hint = "select columns of mapped tables with joins and filters, or anonymize the whole table"
    return errors.SourceNotResolvedError(function, SHOWN, why, hint)


# --- columns ------------------------------------------------------------------------------------------------


def _rows(
    model: QueryModel,
    branches: Sequence[Branch],
    tables: Mapping[Place, GovernedTable],
    mapped: Mapping[Place, MappedTable],
) -> dict[str, DeclaredColumn]:
    """Return the rows of the policy of a query, by column."""
    found: dict[str, DeclaredColumn] = {}
    for i, (name, role) in enumerate(model.roles.items()):
        row = _row(model.function, name, [_column_role(branch, i, tables, mapped) for branch in branches])
        if role is not None and (row is None or stored_role(row) != role):
            raise errors.PolicyDriftError(model.function, SHOWN, [name])
        if role is not None and row is not None:
            found[name] = replace(row, column=name)
        elif name in model.published_roles:
            raise errors.UndeclaredColumnError(model.function, SHOWN, name, model.published_roles[name])
    return found


def _column_role(
    branch: Branch, i: int, tables: Mapping[Place, GovernedTable], mapped: Mapping[Place, MappedTable]
) -> DeclaredColumn | None:
    """Return the role of one column of one branch: that of the policy, or of the model for a table without a policy."""
    origin = branch.columns[i]
    if origin is None:
        return None
    read = branch.scans[origin.scan]
    if read in tables:
        return tables[read].rows.get(names.fold_case(origin.column))
    if read in mapped:
        for column in mapped[read].table.c:
            if names.fold_case(column.name) == names.fold_case(origin.column) and (role := role_of(column)) is not None:
                return role.declared(column.name)
    return None


def _row(function: str, name: str, found: Sequence[DeclaredColumn | None]) -> DeclaredColumn | None:
    """Return the one role that a column has in all branches."""
    roles: dict[Role | None, DeclaredColumn | None] = {None if row is None else stored_role(row): row for row in found}
    if len(roles) > 1:
        raise errors.ConflictingRolesError(function, SHOWN, name, [str(role or "withheld") for role in roles])
    return next(iter(roles.values()), None)


# --- the policy ---------------------------------------------------------------------------------------------


def _governing(
    check: Sql, tables: Mapping[Place, GovernedTable], rows: Sequence[DeclaredColumn], database: str
) -> TemporaryPolicy:
    """Return the policy of the rows, with a fingerprint of the policies that they come from."""
    fingerprints = [table.policy.fingerprint_sql for table in tables.values()] or [Sql("''")]
    sql = Sql(f"(CASE WHEN {check} THEN {SYSTEM_SCHEMA}concat({join_sql(fingerprints)}) END)")
    fingerprint = "".join(table.policy.fingerprint for table in tables.values())
    return TemporaryPolicy(Policy(tuple(rows), sql, fingerprint), database)


def _database(function: str, tables: Iterable[Place]) -> str | None:
    """Return the one database whose policies apply, where hierarchies are looked up."""
    databases = sorted({place[0] for place in tables})
    if len(databases) > 1:
        why = f"reads tables with policies of several databases ({', '.join(databases)})"
        raise errors.SourceNotResolvedError(function, SHOWN, why, "anonymize a query of one database")
    return databases[0] if databases else None


def _transaction_check(
    function: str, places: Iterable[Place], tables: Iterable[Place], view_tables: Sequence[Place], cursor: Any
) -> Sql:
    """A condition that holds if the transaction reads the tables, and the views with their `view_tables`, that are
    committed, and no table with a policy by another name."""
    known = [place for place in {*tables, *view_tables} if place in catalog.relations(cursor, place[0])]
    states = [transaction_check.catalog_state(cursor, known)]
    mentions = [view_mentions(place, cursor, {}) for place in tables] if view_tables else []
    states += [transaction_check.catalog_state(cursor, (), found) for found in mentions if found is not None]
    conditions = [transaction_check.check_sql(function, SHOWN, state) for state in states]
    others = set(places) - {*tables, *view_tables}
    databases = sorted({place[0] for place in others})
    numbers = [number for database in databases for number in stored_policy.governed_table_oids(cursor, database)]
    if numbers:
        conditions.append(transaction_check.no_renamed_table_sql(function, SHOWN, others, numbers))
    return Sql(" AND ".join(conditions))
