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

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Table

from dbanon import errors
from dbanon.alchemy.element import QueryModel
from dbanon.alchemy.info import Role, role_of
from dbanon.alchemy.literal_query import LiteralQuery
from dbanon.alchemy.policy import stored_role
from dbanon.alchemy.query_persons import GovernedTable, check_persons
from dbanon.alchemy.query_plan import Branch, PlanNotReadError, query_branches
from dbanon.alchemy.raw import place, raw_connection, written
from dbanon.session import own_cursor
from dbanon.source import catalog, stored_policy, transaction_check
from dbanon.source.bound_scans import Scan, bound_scans
from dbanon.source.governed_tables import governed_scans
from dbanon.source.stored_policy import Declared, Policy, TemporaryPolicy
from dbanon.sqltext import names
from dbanon.sqltext.builtin import OWN
from dbanon.sqltext.quote import Sql, joined

Place = tuple[str, str, str]

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
        PolicyDrift: The model and the database differ about a column.
        TwoRoles: The branches of the query give a column different roles.
        Undeclared: The call publishes a column that has no role.
        PersonLeftOut, RepeatedRecordsError: What `check_persons` raises.
        PolicyChanged: The policy of a table was changed in the open transaction.
    """
    raw = raw_connection(connection)
    with own_cursor(raw) as cursor:
        scans = bound_scans(raw, query.statement, query.parameters or None)
        if scans is None:
            hint = "run the query on its own to see why"
            raise errors.SourceNotResolvedError(model.function, SHOWN, "cannot be bound by DuckDB", hint)
        governed = list(dict.fromkeys(governed_scans(model.function, SHOWN, scans, cursor, place(raw).database)))
        if not governed:
            return JudgedQuery(_model_policy(model), scans)
        mapped = dict(_mapped_places(connection, model.function, query.literal.tables))
        _refuse_unmapped(model.function, governed, mapped)
        branches = _branches(model, raw, query.literal.text)
        tables = {
            place: GovernedTable.read(place, cursor)
            for branch in branches
            for place in branch.scans.values()
            if ".".join(place) in governed
        }
        rows = _rows(model, branches, tables, mapped)
        check_persons(model.function, raw, branches, tables, list(rows.values()), list(model.roles))
        return JudgedQuery(_governing(model, branches, tables, list(rows.values()), cursor), scans)


def _model_policy(model: QueryModel) -> TemporaryPolicy | None:
    """The roles of the model, for a query that reads no table with a policy."""
    declared = tuple(role.declared(name) for name, role in model.roles.items() if role is not None)
    return TemporaryPolicy(Policy(declared, Sql("''"), "")) if declared else None


# --- tables -------------------------------------------------------------------------------------------------


def _mapped_places(connection: Connection, function: str, tables: Iterable[Table]) -> Iterator[tuple[Place, Table]]:
    """Where the tables in the FROM of a query are stored."""
    raw = raw_connection(connection)
    path = place(raw)
    for table in tables:
        try:
            yield catalog.resolve(function, written(table, connection), raw, path, {}).place, table
        except errors.DbanonError:  # temporary, or of another system: it is no stored table of DuckDB
            continue


def _refuse_unmapped(function: str, governed: Sequence[str], mapped: Mapping[Place, Table]) -> None:
    known = {names.folded(".".join(place)) for place in mapped}
    for shown in governed:
        if names.folded(shown) not in known:
            raise errors.UnmappedTableError(function, shown)


def _branches(model: QueryModel, raw: Any, query: str) -> list[Branch]:
    try:
        branches = query_branches(raw, query)
        if any(len(branch.columns) != len(model.roles) for branch in branches):
            raise PlanNotReadError("the columns are others")
    except PlanNotReadError:
        why = "reads a table with a policy in a way in which its columns cannot be followed"
        hint = "select columns of mapped tables with joins and filters, or anonymize the whole table"
        raise errors.SourceNotResolvedError(model.function, SHOWN, why, hint) from None
    return branches


# --- columns ------------------------------------------------------------------------------------------------


def _rows(
    model: QueryModel,
    branches: Sequence[Branch],
    tables: Mapping[Place, GovernedTable],
    mapped: Mapping[Place, Table],
) -> dict[str, Declared]:
    """The rows of the policy of a query, by column."""
    found: dict[str, Declared] = {}
    for i, (name, role) in enumerate(model.roles.items()):
        row = _row(model.function, name, [_column_role(branch, i, tables, mapped) for branch in branches])
        if role is not None and (row is None or stored_role(row) != role):
            raise errors.PolicyDrift(model.function, SHOWN, [name])
        if role is not None and row is not None:
            found[name] = replace(row, column=name)
        elif name in model.published:
            raise errors.Undeclared(model.function, SHOWN, name, model.published[name])
    return found


def _column_role(
    branch: Branch, i: int, tables: Mapping[Place, GovernedTable], mapped: Mapping[Place, Table]
) -> Declared | None:
    """The role of one column of one branch: that of the policy, or of the model for a table without a policy."""
    origin = branch.columns[i]
    if origin is None:
        return None
    read = branch.scans[origin.scan]
    if read in tables:
        return tables[read].rows.get(names.folded(origin.column))
    if (table := mapped.get(read)) is not None:
        for column in table.c:
            if names.folded(column.name) == names.folded(origin.column) and (role := role_of(column)) is not None:
                return role.declared(column.name)
    return None


def _row(function: str, name: str, found: Sequence[Declared | None]) -> Declared | None:
    """The one role that a column has in all branches."""
    roles: dict[Role | None, Declared | None] = {None if row is None else stored_role(row): row for row in found}
    if len(roles) > 1:
        raise errors.TwoRoles(function, SHOWN, name, [str(role or "withheld") for role in roles])
    return next(iter(roles.values()), None)


# --- the policy ---------------------------------------------------------------------------------------------


def _governing(
    model: QueryModel,
    branches: Sequence[Branch],
    tables: Mapping[Place, GovernedTable],
    rows: Sequence[Declared],
    cursor: Any,
) -> TemporaryPolicy:
    """The policy of the rows, with a fingerprint of the policies they come from and of the tables that are read."""
    databases = sorted({place[0] for place in tables})
    if len(databases) > 1:
        why = f"reads tables with policies of several databases ({', '.join(databases)})"
        hint = "anonymize a query of one database"
        raise errors.SourceNotResolvedError(model.function, SHOWN, why, hint)
    others = {place for branch in branches for place in branch.scans.values()} - tables.keys()
    stored = [place for place in tables if place in catalog.relations(cursor, place[0])]
    state = transaction_check.catalog_state(cursor, stored)
    conditions = [transaction_check.check_sql(model.function, SHOWN, state)]
    numbers = [number for database in databases for number in stored_policy.governed_numbers(cursor, database)]
    if others and numbers:
        conditions.append(transaction_check.unlike_sql(model.function, SHOWN, others, numbers))
    fingerprints = [table.policy.fingerprint_sql for table in tables.values()]
    sql = Sql(f"(CASE WHEN {' AND '.join(conditions)} THEN {OWN}concat({joined(fingerprints)}) END)")
    fingerprint = "".join(table.policy.fingerprint for table in tables.values())
    return TemporaryPolicy(Policy(tuple(rows), sql, fingerprint), databases[0] if databases else None)
