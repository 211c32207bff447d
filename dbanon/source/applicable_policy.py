"""Determine the policy that applies to a source; every interface uses this, and a call can only make it stricter.

A source with rows in `dbanon.policy` is governed by them. A source without rows must not be derived from a table or
view that has some: DuckDB's own binding determines what a view, a macro or a query reads. If that is not possible, or
if policy rows that match no table may be about the source, the call is refused.
"""

import itertools
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dbanon import errors
from dbanon.errors.warnings import PolicyWarning
from dbanon.runtime.session import Session
from dbanon.source import attached_databases, catalog, stored_policy, transaction_check
from dbanon.source.bound_scans import Scan, scans_on_paths
from dbanon.source.catalog import SearchPath, Source
from dbanon.source.governed_tables import (
    TEMPORARY,
    Place,
    governed_dependencies,
    governed_names,
    governed_scans,
    governed_views,
)
from dbanon.source.view_mentions import Mentions, view_mentions
from dbanon.sqltext import names
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, identifier, qualified


def applicable_policy(
    function: str, source: Source, cursor: Any, path: SearchPath, session: Session | None = None
) -> stored_policy.Policy:
    """Return the policy that applies to a source, with a check that execution reads what was planned.

    The policy has no columns if the source has no rows in dbanon.policy and reads no table that has some. The check is
    part of the SQL of the policy's fingerprint. If the source is a temporary table of a query's rows, its policy is
    that of the query.

    Args:
        function: The table function or command that reads the source, for messages.
        source: The source, resolved by `catalog.resolve_source`.
        cursor: A cursor that sees committed objects.
        path: Where the caller's bare names are looked up.
        session: The caller's session, which knows temporary relations where the connection keeps track of them.

    Raises:
        ViewOverPolicyError: The source has no policy and reads a table or view that has one.
        SourceNotResolvedError: What the source reads cannot be determined.
        DatabaseReadAsFileError: The source reads a DuckDB database as a file.
        UnmatchedPolicyError: Policy rows that match no table may be about the source.
    """
    policy = stored_policy.policy_of(source, cursor)
    local_relations = _LocalRelations(session)
    view = local_relations.place(source)
    temporary_policy = local_relations.policy(view)
    if temporary_policy is not None and temporary_policy.database is not None:
        return temporary_policy.policy
    mentions = None if source.is_table else view_mentions(view, cursor, local_relations.views)
    scans = local_relations.scans(view) if view[0] == TEMPORARY else _stored_scans(source, cursor, path, mentions)
    if not policy.declared:
        _refuse_derived(function, source, view, scans, mentions, cursor, local_relations)
        tables_read = {place: catalog.columns_of(cursor, place) for place in sorted(_stored_tables(source, scans))}
        if view[0] != TEMPORARY and not names.is_file(source.table):
            tables_read[source.place] = dict(source.columns)
        databases = {source.home: None, path.database: None} | dict.fromkeys(place[0] for place in tables_read)
        check_unmatched_rows(function, tables_read, cursor, databases, local_relations.names)
    checked_tables = _stored_tables(source, scans)
    if view[0] != TEMPORARY and (source.is_table or mentions is not None):
        state = transaction_check.catalog_state(cursor, checked_tables, mentions, local_relations.own_macros(mentions))
        return _with_catalog_check(policy, function, source, state)
    if policy.declared and checked_tables:
        return _with_catalog_check(policy, function, source, transaction_check.catalog_state(cursor, checked_tables))
    policy = policy if temporary_policy is None else temporary_policy.policy
    if view[0] != TEMPORARY:
        checked_tables = checked_tables or frozenset({source.place})
    checked_sql = renamed_table_check(function, source.shown, checked_tables, cursor, policy.fingerprint_sql)
    return policy if checked_sql is None else policy._replace(fingerprint_sql=checked_sql)


class _LocalRelations:
    """Relations that only the caller sees: temporary ones, and those of an open transaction, as far as tracked.

    `names` are their folded names, `views` the definitions of temporary views. Empty without a session.
    """

    def __init__(self, session: Session | None) -> None:
        """Take the temporary relations that the session tracks; there are none without a session."""
        self._session = session
        self.names = frozenset(session.temporary.columns) if session else frozenset[str]()
        self.views: Mapping[str, str] = session.temporary.views if session else {}
        self._scans: Mapping[str, tuple[Scan, ...]] = session.temporary.scans if session else {}

    def policy(self, place: Place) -> stored_policy.TemporaryPolicy | None:
        """Return the policy of a temporary table that holds a query's rows; None for other relations.

        `place` is database (TEMPORARY for temporary relations), schema and name.
        """
        known = self._session.temporary.policies if self._session else {}
        return known.get(place[2]) if place[0] == TEMPORARY else None

    def own_macros(self, mentions: Mentions | None) -> dict[str, str]:
        """Return the dbanon table functions that a view calls, by name, with hashes of their present definitions.

        `mentions` are the names in the view's definition; None, or no session, gives an empty result.
        """
        if self._session is None or mentions is None or not mentions.functions:
            return {}
        return {name: hashed for name, hashed in self._session.own_macros().items() if name in mentions.functions}

    def place(self, source: Source) -> Place:
        """Return database, schema and name of a source; the database of a temporary relation is TEMPORARY."""
        name = names.fold_case(source.table)
        is_local = source.sql == identifier(source.table) and name in self.names
        return (TEMPORARY, "main", name) if is_local else source.place

    def scans(self, place: Place) -> tuple[Scan, ...] | None:
        """Return what a temporary relation reads: the leaves of its plan on the caller's connection; None if unknown.

        `place` is database (TEMPORARY), schema and name of the relation; only the name is used.
        """
        return self._scans.get(place[2])


def _stored_scans(source: Source, cursor: Any, path: SearchPath, mentions: Mentions | None) -> tuple[Scan, ...] | None:
    """Return what a stored view or a file reads (leaves of its plan); () for a table; None if DuckDB cannot bind it.

    A source is a table if `mentions` (the names in its definition) is None. A bare name in a view is also looked up on
    the search path of the statement that reads the view: that of the caller, or that of a cursor of dbanon. So the
    tables on both paths are returned.
    """
    if mentions is None:
        return ()
    places = [*path.entries, (path.database, path.schema)]
    caller_path = ",".join(str(qualified(*place)) for place in places if place[0] != TEMPORARY)
    return scans_on_paths(cursor, f"FROM {source.sql}", (caller_path, "system.main"))


def _refuse_derived(
    function: str,
    source: Source,
    place: Place,
    scans: tuple[Scan, ...] | None,
    mentions: Mentions | None,
    cursor: Any,
    local_relations: _LocalRelations,
) -> None:
    """Check that a source without a policy reads no table or view with a policy.

    Args:
        function: The function that reads the source, for messages.
        source: The source.
        place: Its database, schema and name; the database of a temporary relation is TEMPORARY.
        scans: The tables that it reads, as DuckDB bound it; None if it could not be bound.
        mentions: The names in the definition of a view; None for a table.
        cursor: A cursor that sees committed objects.
        local_relations: The relations that only the caller sees.

    Raises:
        ViewOverPolicyError: The source reads a table or view with a policy, or mentions the name of one and cannot be
            bound.
        SourceNotResolvedError: What the source reads cannot be determined, and a policy exists.
    """
    governed = itertools.chain(
        governed_views(place, mentions, scans, cursor, local_relations.views),
        () if scans is None else governed_scans(function, source.shown, scans, cursor, source.home),
        () if source.foreign is None else governed_dependencies(place, cursor, source.home),
        governed_names(mentions, cursor, source.home) if scans is None and mentions is not None else (),
    )
    for governed_name in governed:  # each is searched only if those before it find nothing
        raise errors.ViewOverPolicyError(function, source.shown, governed_name, next(iter(source.columns)))
    is_unresolved = scans is None and mentions is not None
    if is_unresolved and not local_relations.own_macros(mentions) and stored_policy.has_any_rows(cursor):
        reason = "reads what only its own connection has, or calls a function that is not stored"
        raise errors.SourceNotResolvedError(function, source.shown, reason, "read stored tables in it")


def _stored_tables(source: Source, scans: tuple[Scan, ...] | None) -> frozenset[Place]:
    """Return the places of the tables of DuckDB databases that a source reads; of a table only its own place.

    `scans` are the leaves of the plan of a view or query; None (unknown) gives an empty set. Temporary tables are
    omitted.
    """
    if source.is_table:
        return frozenset({source.place})
    return frozenset(scan.place for scan in scans or () if scan.place and scan.place[0] != TEMPORARY)


def _with_catalog_check(
    policy: stored_policy.Policy, function: str, source: Source, state: transaction_check.CatalogState
) -> stored_policy.Policy:
    """Return the policy whose fingerprint SQL raises an error if the catalog has another state than the planned one."""
    checked_sql = transaction_check.check_sql(function, source.shown, state, policy.fingerprint_sql)
    return policy._replace(fingerprint_sql=checked_sql)


def renamed_table_check(
    function: str, source_name: str, tables: Collection[Place], cursor: Any, value: Sql = transaction_check.TRUE
) -> Sql | None:
    """Return SQL of `value`, which raises an error if one of the tables is a governed table under another name.

    A governed table has policy rows; in the caller's transaction it may have been renamed to a name in `tables`. None
    if their databases have no governed table, so that nothing needs a check.
    """
    databases = sorted({place[0] for place in tables})
    numbers = [number for database in databases for number in stored_policy.governed_table_oids(cursor, database)]
    if not numbers:
        return None
    return transaction_check.no_renamed_table_sql(function, source_name, tables, numbers, value)


@dataclass(frozen=True)
class UnmatchedRows:
    """Policy rows with one stored table name that matches no table, and the columns that they declare."""

    schema_name: str
    table_name: str
    columns: tuple[str, ...]


def check_unmatched_rows(
    function: str,
    tables: Mapping[attached_databases.Place, Iterable[str]],
    cursor: Any,
    databases: Iterable[str],
    local_names: Collection[str],
) -> None:
    """Refuse a source without a policy if policy rows under another table name may be about it.

    Only policy rows whose table name matches no table are examined, for example those of a table that was renamed.
    They may be about a table if most of their columns are columns of it. If `tables` is not empty, all other unmatched
    rows are reported by a PolicyWarning, one per database.

    Args:
        function: The table function or command, for messages.
        tables: The columns of the source and of the tables that it reads, by place. None of them has a policy.
        cursor: A cursor that sees committed objects.
        databases: Databases whose policy may be about the tables.
        local_names: Folded names of relations that only the caller's connection sees; rows with such a name match.

    Raises:
        UnmatchedPolicyError: More than half of the columns in the unmatched rows of one table name are columns of one
            of `tables`.
    """
    for database in databases:
        unmatched = list(unmatched_rows(cursor, database, local_names))
        for rows in unmatched:
            stored, row_columns = (rows.schema_name, rows.table_name), set(map(names.fold_case, rows.columns))
            for place, columns in tables.items():
                if 2 * len(row_columns & set(map(names.fold_case, columns))) > len(row_columns):
                    key = (
                        place[1:]
                        if attached_databases.database_kind(cursor, place[0]) is None
                        else attached_databases.policy_key(place)
                    )
                    raise errors.UnmatchedPolicyError(function, ".".join(place), database, stored, key)
        if unmatched and tables:
            table_names = ", ".join(repr(rows.table_name) for rows in unmatched[:5])
            warnings.warn(
                f"{function}: rows of {database}.dbanon.policy for {table_names} match no table, and "
                f"{'.'.join(list(tables)[-1])} has no policy. Hint: FROM policy_problems() lists them; correct the "
                "names or delete the rows.",
                PolicyWarning,
                stacklevel=2,
            )


def unmatched_rows(cursor: Any, database: str, local_names: Collection[str] = ()) -> Iterator[UnmatchedRows]:
    """Yield the policy rows of a database, grouped by schema and table name, that match no table or view there.

    Rows about a table in an attached database of another system, or about a recorded one that is not attached, are
    omitted. `local_names` are relations that only the caller's connection sees; they count as tables.
    """
    if not catalog.has_table(cursor, database, "policy"):
        return
    stored = cursor.execute(
        qualify_builtins(
            "SELECT schema_name, table_name, list(column_name ORDER BY column_name COLLATE POSIX ASC) "
            f"FROM {qualified(database, catalog.SCHEMA, 'policy')} GROUP BY ALL ORDER BY ALL ASC"
        )
    ).fetchall()
    if not stored:
        return
    places = [*catalog.relations(cursor, database), *((database, "main", name) for name in local_names)]
    for schema_name, table_name, columns in stored:
        if any(stored_policy.row_matches(place, schema_name, table_name) for place in places):
            continue
        if attached_databases.tables_named_by_row(
            cursor, schema_name, table_name
        ) or attached_databases.has_recorded_database(cursor, database, table_name):
            continue
        yield UnmatchedRows(schema_name, table_name, tuple(columns))
