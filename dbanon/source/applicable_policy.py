"""Which policy applies to a source. Every interface asks here, and a call can only tighten the answer.

A source with rows in `dbanon.policy` has these. One without rows must not be derived from a table or view that has
some: what a view, a macro or a query reads is determined by DuckDB's own binding. Where it cannot be determined, or
where rows that match no table may be about the source, the call is refused.
"""

from collections.abc import Collection, Mapping
from typing import Any

from dbanon import errors
from dbanon.runtime.session import Session
from dbanon.source import catalog, stored_policy, transaction_check, unmatched_policy
from dbanon.source.bound_scans import Scan, scans_on_paths
from dbanon.source.catalog import SearchPath, Source
from dbanon.source.governed_tables import TEMPORARY, governed_beneath, governed_names, governed_scans, governed_views
from dbanon.source.view_mentions import Mentions, view_mentions
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, identifier, qualified

Place = tuple[str, str, str]


def applicable_policy(
    function: str, source: Source, cursor: Any, path: SearchPath, session: Session | None = None
) -> stored_policy.Policy:
    """Return the policy that applies to a source, with a check that execution reads what was planned.

    Args:
        function: The table function or command that reads the source, for messages.
        source: The source, resolved by `catalog.resolve`.
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
    local = _LocalRelations(session)
    view = local.place(source)
    temporary = local.policy(view)
    if temporary is not None and temporary.database is not None:
        return temporary.policy
    mentions = None if source.is_table else view_mentions(view, cursor, local.views)
    scans = local.scans(view) if view[0] == TEMPORARY else _stored_scans(source, cursor, path, mentions)
    if not policy.declared:
        _refuse_derived(function, source, view, scans, mentions, cursor, local)
        read = {place: catalog.columns_of(cursor, place) for place in sorted(_stored_tables(source, scans))}
        if view[0] != TEMPORARY and not names.is_file(source.table):
            read[source.place] = dict(source.columns)
        databases = {source.home: None, path.database: None} | dict.fromkeys(place[0] for place in read)
        unmatched_policy.check_unmatched_rows(function, read, cursor, databases, local.names)
    checked = _stored_tables(source, scans)
    if view[0] != TEMPORARY and (source.is_table or mentions is not None):
        state = transaction_check.catalog_state(cursor, checked, mentions, local.own_macros(mentions))
        return _with_check(policy, transaction_check.check_sql(function, source.shown, state))
    if policy.declared and checked:
        state = transaction_check.catalog_state(cursor, checked)
        return _with_check(policy, transaction_check.check_sql(function, source.shown, state))
    policy = policy if temporary is None else temporary.policy
    if view[0] != TEMPORARY:
        checked = checked or frozenset({source.place})
    return _with_check(policy, _unlike_governed(function, source, checked, cursor))


class _LocalRelations:
    """Relations that only the caller sees: temporary ones and those of its transaction, as far as they are tracked."""

    def __init__(self, session: Session | None) -> None:
        self._session = session
        self.names = frozenset(session.temporary.columns) if session else frozenset[str]()
        self.views: Mapping[str, str] = session.temporary.views if session else {}
        self._scans: Mapping[str, tuple[Scan, ...]] = session.temporary.scans if session else {}

    def policy(self, place: Place) -> stored_policy.TemporaryPolicy | None:
        """Return the policy of a temporary table that holds the rows of a query; None for other relations."""
        known = self._session.temporary.policies if self._session else {}
        return known.get(place[2]) if place[0] == TEMPORARY else None

    def own_macros(self, mentions: Mentions | None) -> dict[str, str]:
        """Return those of dbanon's own table functions that a view calls, with hashes of their definitions."""
        if self._session is None or mentions is None or not mentions.functions:
            return {}
        return {name: hashed for name, hashed in self._session.own_macros().items() if name in mentions.functions}

    def place(self, source: Source) -> Place:
        """Where a source is; temporary relations are in `temp`."""
        name = names.folded(source.table)
        is_local = source.sql == identifier(source.table) and name in self.names
        return (TEMPORARY, "main", name) if is_local else source.place

    def scans(self, place: Place) -> tuple[Scan, ...] | None:
        """What a temporary relation reads, as the caller's connection bound it; None where it could not."""
        return self._scans.get(place[2])


def _stored_scans(source: Source, cursor: Any, path: SearchPath, mentions: Mentions | None) -> tuple[Scan, ...] | None:
    """What a stored view or a file reads; None if DuckDB cannot bind it.

    A bare name in a view is also looked up on the search path of the statement that reads the view: that of the caller,
    or that of a cursor of ours.
    """
    if mentions is None:
        return ()
    places = [*path.entries, (path.database, path.schema)]
    callers = ",".join(str(qualified(*place)) for place in places if place[0] != TEMPORARY)
    return scans_on_paths(cursor, f"FROM {source.sql}", (callers, "system.main"))


def _refuse_derived(
    function: str,
    source: Source,
    view: Place,
    scans: tuple[Scan, ...] | None,
    mentions: Mentions | None,
    cursor: Any,
    local: _LocalRelations,
) -> None:
    """Refuse a source without a policy that reads a table or view with one."""
    found = next(governed_views(view, mentions, scans, cursor, local.views), None)
    if found is None and scans is not None:
        found = next(governed_scans(function, source.shown, scans, cursor, source.home), None)
    if found is None and source.foreign is not None:
        found = next(governed_beneath(view, cursor, source.home), None)
    if found is not None:
        raise errors.ViewOverPolicyError(function, source.shown, found, next(iter(source.columns)))
    if scans is None and mentions is not None:
        found = next(governed_names(mentions, cursor, source.home), None)
        if found is not None:
            raise errors.ViewOverPolicyError(function, source.shown, found, next(iter(source.columns)))
        if not local.own_macros(mentions) and stored_policy.has_any_rows(cursor):
            why = "reads what only its own connection has, or calls a function that is not stored"
            raise errors.SourceNotResolvedError(function, source.shown, why, "read stored tables in it")


def _stored_tables(source: Source, scans: tuple[Scan, ...] | None) -> frozenset[Place]:
    """Return the stored tables of DuckDB databases that a source is or reads."""
    if source.is_table:
        return frozenset({source.place})
    return frozenset(scan.place for scan in scans or () if scan.place and scan.place[0] != TEMPORARY)


def _unlike_governed(function: str, source: Source, tables: Collection[Place], cursor: Any) -> Sql | None:
    """A condition that ends the statement where one of the tables is, in the caller's transaction, a table with a
    policy under another name; None where nothing needs to be checked."""
    databases = sorted({place[0] for place in tables})
    numbers = [number for database in databases for number in stored_policy.governed_numbers(cursor, database)]
    return transaction_check.unlike_sql(function, source.shown, tables, numbers) if numbers else None


def _with_check(policy: stored_policy.Policy, check: Sql | None) -> stored_policy.Policy:
    """Return the policy with a condition before its fingerprint."""
    if check is None:
        return policy
    return policy._replace(fingerprint_sql=Sql(f"(CASE WHEN {check} THEN {policy.fingerprint_sql} END)"))
