"""That the rows of a query can be counted by the people of the tables it reads.

A join can put the values of one person next to the numbers of many others, or repeat a record, and k would count these.
So the person column of a query must be that of each table whose columns it publishes: of the same scan of the table, or
made equal to it by a join. Of a table whose policy has no person, whose records are counted, every record must be there
at most once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbanon import errors
from dbanon.integrations.sqlalchemy.query_plan import Branch, Origin, Place
from dbanon.source import stored_policy
from dbanon.source.catalog import Source
from dbanon.source.stored_policy import DeclaredColumn, Policy
from dbanon.sqltext import names
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, identifier, join_sql, qualified

_WITHHELD = ("identifier", "person")


@dataclass(frozen=True)
class GovernedTable:
    """A table with a policy: its rows by folded column, and the columns that distinguish persons."""

    place: Place
    policy: Policy
    rows: Mapping[str, DeclaredColumn]
    persons: tuple[str, ...]

    @classmethod
    def read(cls, place: Place, cursor: Any) -> GovernedTable:
        """Read the policy of a table. Two rows about one column are an error of the policy (ConflictingRolesError)."""
        shown = ".".join(place)
        policy = stored_policy.policy_of(Source(shown, Sql(""), {}, *place), cursor)
        rows: dict[str, DeclaredColumn] = {}
        for row in policy.declared:
            column = names.fold_case(row.column)
            if column in rows:
                raise errors.ConflictingRolesError("dbanon.policy", shown, row.column, (rows[column].role, row.role))
            rows[column] = row
        person_columns = stored_policy.person_columns(
            (row.column, row.role, dict(row.settings.form)) for row in rows.values()
        )
        return cls(place, policy, rows, tuple(person_columns))

    @property
    def shown(self) -> str:
        """The table as messages show it."""
        return self.place[2]


def check_persons(
    function: str,
    connection: Any,
    branches: Sequence[Branch],
    tables: Mapping[Place, GovernedTable],
    rows: Sequence[DeclaredColumn],
    columns: Sequence[str],
) -> None:
    """Check that k counts the persons, or the records, of every table whose columns a query publishes.

    Args:
        function: The table function, for messages.
        connection: Where the query runs; unique keys are looked for in the data.
        branches: The branches of the query.
        tables: The tables with a policy that it reads.
        rows: The policy of the query.
        columns: The names of the columns of the query, in order.

    Raises:
        PersonColumnNotSelectedError: The person column of a table is not in the query, or not that of the published
        rows. RepeatedRecordsError: A record of a table without a person column may be in several rows.
    """
    roles = {row.column: row.role.lower() for row in rows}
    tellers = stored_policy.person_columns((row.column, row.role, dict(row.settings.form)) for row in rows)
    published = [i for i, name in enumerate(columns) if roles.get(name, "identifier") not in _WITHHELD]
    earlier_places: set[Place] = set()
    for branch in branches:
        persons = [o for name in tellers if (o := branch.columns[columns.index(name)]) is not None]
        origins = [o for i in published if (o := branch.columns[i]) is not None]
        for scan in dict.fromkeys(origin.scan for origin in origins):
            table = tables.get(branch.scans[scan])
            if table is None:
                continue
            for column in table.persons:
                if not any(_follows(branch, person, scan, (column,)) for person in persons):
                    raise errors.PersonColumnNotSelectedError(function, table.shown, column)
            if not table.persons and not _is_counted(connection, branch, scan, persons, table.place in earlier_places):
                raise errors.RepeatedRecordsError(function, table.shown)
        earlier_places |= {branch.scans[origin.scan] for origin in origins}


def _follows(branch: Branch, person: Origin, scan: int, columns: Sequence[str]) -> bool:
    """Return whether a column of a scan is the person, or equal to it wherever it is not NULL."""
    wanted = {Origin(scan, names.fold_case(column)) for column in columns}
    known = {_folded(person)}
    while not known & wanted:
        more = {b for a, b in _directed(branch) if a in known} - known
        if not more:
            return False
        known |= more
    return True


def _directed(branch: Branch) -> Iterator[tuple[Origin, Origin]]:
    """Yield pairs of columns of which the second is the first, or NULL."""
    for equality in branch.equal:
        yield _folded(equality.first), _folded(equality.second)
        if equality.is_mutual:
            yield _folded(equality.second), _folded(equality.first)


def _folded(origin: Origin) -> Origin:
    return Origin(origin.scan, names.fold_case(origin.column))


def _is_counted(connection: Any, branch: Branch, scan: int, persons: Sequence[Origin], is_repeated: bool) -> bool:
    """Return whether k counts the records of a scan: each is in one row, or has a person of its own."""
    compared = {c.column for e in branch.equal for c in (e.first, e.second) if c.scan == scan}
    keys = [column for column in sorted(compared) if _is_unique(connection, branch.scans[scan], (column,))]
    if any(_follows(branch, person, scan, keys) for person in persons):
        return True
    return not is_repeated and _has_single_rows(connection, branch, scan)


def _has_single_rows(connection: Any, branch: Branch, scan: int) -> bool:
    """Return whether every record of a scan is in one row at most: all other sources have one row for it."""
    found = {scan}
    waiting = [source for source in branch.sources if scan not in source.scans]
    while waiting:
        ready = [source for source in waiting if _is_looked_up(connection, branch, source.scans, source.key, found)]
        if not ready:
            return False
        found |= {number for source in ready for number in source.scans}
        waiting = [source for source in waiting if source not in ready]
    return True


def _is_looked_up(
    connection: Any, branch: Branch, scans: frozenset[int], key: frozenset[Origin] | None, found: set[int]
) -> bool:
    """Return whether a source has at most one row for each row of the scans that are found."""
    pairs = [(e.first, e.second) for e in branch.equal] + [(e.second, e.first) for e in branch.equal]
    equal = {b for a, b in pairs if a.scan in found and b.scan in scans}
    if key is not None and key <= equal:
        return True
    if len(scans) != 1 or not (only := scans & branch.scans.keys()):
        return False
    columns = tuple(sorted({origin.column for origin in equal}))
    return bool(columns) and _is_unique(connection, branch.scans[next(iter(only))], columns)


def _is_unique(connection: Any, place: Place, columns: Sequence[str]) -> bool:
    """Return whether no two rows of a table have the same values in some columns."""
    listed = join_sql(identifier(column) for column in columns)
    query = qualify_builtins(f"SELECT count(*) = count(DISTINCT row({listed})) FROM {qualified(*place)}")
    return bool(connection.execute(query).fetchall()[0][0])
