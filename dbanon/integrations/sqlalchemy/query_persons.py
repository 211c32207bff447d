"""Check that k counts persons (or records) in the rows of a query.

A join can put the values of one person next to the numbers of many others, or repeat a record, and k would count these.
So the person column of a query must be that of each table whose columns it publishes: from the same scan of the table,
or equal to it by a join. For a table whose policy has no person column, records are counted, so every record must occur
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

_WITHHELD_ROLES = ("identifier", "person")


@dataclass(frozen=True)
class GovernedTable:
    """A table or view with a policy.

    Attributes:
        place: Its database, schema and name.
        policy: Its policy.
        rows_by_column: The policy's rows by folded column name.
        person_columns: The columns that distinguish persons.
    """

    place: Place
    policy: Policy
    rows_by_column: Mapping[str, DeclaredColumn]
    person_columns: tuple[str, ...]

    @classmethod
    def read(cls, place: Place, cursor: Any) -> GovernedTable:
        """Read the policy of the table at a place; the table may have no policy rows.

        Raises:
            ConflictingRolesError: Two rows are about one column.
        """
        label = ".".join(place)
        policy = stored_policy.policy_of(Source(label, Sql(""), {}, *place), cursor)
        rows: dict[str, DeclaredColumn] = {}
        for row in policy.declared:
            column = names.fold_case(row.column)
            if column in rows:
                raise errors.ConflictingRolesError("dbanon.policy", label, row.column, (rows[column].role, row.role))
            rows[column] = row
        person_columns = stored_policy.person_columns(
            (row.column, row.role, dict(row.settings.settings)) for row in rows.values()
        )
        return cls(place, policy, rows, tuple(person_columns))

    @property
    def label(self) -> str:
        """The table's name in messages, without database and schema."""
        return self.place[2]


def check_persons(
    function: str,
    connection: Any,
    branches: Sequence[Branch],
    tables: Mapping[Place, GovernedTable],
    rows: Sequence[DeclaredColumn],
    columns: Sequence[str],
) -> None:
    """Raise an error unless k counts the persons, or the records, of every table whose columns a query publishes.

    Args:
        function: The table function, for messages.
        connection: The connection that runs the query; unique keys are looked up in the data.
        branches: The branches of the query (one per SELECT of a UNION).
        tables: The tables with a policy that it reads.
        rows: The policy of the query.
        columns: The names of the columns of the query, in order.

    Raises:
        PersonColumnNotSelectedError: The person column of a table is not in the query, or not that of the published
            rows.
        RepeatedRecordsError: A record of a table without a person column may be in several rows.
    """
    roles = {row.column: row.role.lower() for row in rows}
    person_columns = stored_policy.person_columns((row.column, row.role, dict(row.settings.settings)) for row in rows)
    published_positions = [i for i, name in enumerate(columns) if roles.get(name, "identifier") not in _WITHHELD_ROLES]
    earlier_places: set[Place] = set()
    for branch in branches:
        persons = [o for name in person_columns if (o := branch.columns[columns.index(name)]) is not None]
        origins = [o for i in published_positions if (o := branch.columns[i]) is not None]
        for scan in dict.fromkeys(origin.scan for origin in origins):
            table = tables.get(branch.scans[scan])
            if table is None:
                continue
            for column in table.person_columns:
                if not any(_equals_person(branch, person, scan, (column,)) for person in persons):
                    raise errors.PersonColumnNotSelectedError(function, table.label, column)
            if not table.person_columns and not _has_countable_records(
                connection, branch, scan, persons, table.place in earlier_places
            ):
                raise errors.RepeatedRecordsError(function, table.label)
        earlier_places |= {branch.scans[origin.scan] for origin in origins}


def _equals_person(branch: Branch, person: Origin, scan: int, columns: Sequence[str]) -> bool:
    """Return whether a column of a scan is the query's person column, or equal to it by joins and filters.

    Equal means: in every row of the branch in which the column is not NULL.

    Args:
        branch: The branch (one SELECT of a UNION).
        person: The stored column that is the query's person column.
        scan: The number of the scan.
        columns: The columns of the scan of which one must be equal.
    """
    scan_columns = {Origin(scan, names.fold_case(column)) for column in columns}
    equal_columns = {_fold_origin(person)}
    while not equal_columns & scan_columns:
        new_columns = {b for a, b in _equality_pairs(branch) if a in equal_columns} - equal_columns
        if not new_columns:
            return False
        equal_columns |= new_columns
    return True


def _equality_pairs(branch: Branch) -> Iterator[tuple[Origin, Origin]]:
    """Yield pairs of columns of which the second equals the first or is NULL, in every row of the branch.

    Names are in folded case.
    """
    for equality in branch.equalities:
        yield _fold_origin(equality.first), _fold_origin(equality.second)
        if equality.is_mutual:
            yield _fold_origin(equality.second), _fold_origin(equality.first)


def _fold_origin(origin: Origin) -> Origin:
    """Return the stored column with its name in folded case."""
    return Origin(origin.scan, names.fold_case(origin.column))


def _has_countable_records(
    connection: Any, branch: Branch, scan: int, persons: Sequence[Origin], is_published_before: bool
) -> bool:
    """Return whether the records of a scanned table without a person column can be counted for k.

    They can if the query's person column equals a unique column of the table; or if each record is in at most one row
    of the branch, and no earlier branch of the query publishes the table (`is_published_before`).

    Args:
        connection: The connection on which uniqueness is looked up in the data.
        branch: The branch (one SELECT of a UNION).
        scan: The number of the scan of the table in the branch.
        persons: The stored columns that are person columns of the query.
        is_published_before: Whether an earlier branch of the query publishes the table.
    """
    compared_columns = {c.column for e in branch.equalities for c in (e.first, e.second) if c.scan == scan}
    unique_columns = [
        column for column in sorted(compared_columns) if _is_unique(connection, branch.scans[scan], (column,))
    ]
    if any(_equals_person(branch, person, scan, unique_columns) for person in persons):
        return True
    return not is_published_before and _has_single_rows(connection, branch, scan)


def _has_single_rows(connection: Any, branch: Branch, scan: int) -> bool:
    """Return whether every record of a scan is in at most one row of the branch.

    That is the case if all other joined inputs of the branch, in some order, have at most one row for each row of those
    joined before. `scan` is the number of the scan.
    """
    joined_scans = {scan}
    remaining = [source for source in branch.sources if scan not in source.scans]
    while remaining:
        single_row_sources = [
            source
            for source in remaining
            if _has_single_match(connection, branch, source.scans, source.key, joined_scans)
        ]
        if not single_row_sources:
            return False
        joined_scans |= {number for source in single_row_sources for number in source.scans}
        remaining = [source for source in remaining if source not in single_row_sources]
    return True


def _has_single_match(
    connection: Any, branch: Branch, scans: frozenset[int], key: frozenset[Origin] | None, joined_scans: set[int]
) -> bool:
    """Return whether an input of a join has at most one row for each row of the scans joined so far.

    Args:
        connection: The connection on which uniqueness is looked up in the data, if the input is one stored table.
        branch: The branch (one SELECT of a UNION).
        scans: The numbers of the scans of the input.
        key: Columns in which no two rows of the input agree; None if unknown.
        joined_scans: The numbers of the scans joined so far.
    """
    pairs = [(e.first, e.second) for e in branch.equalities] + [(e.second, e.first) for e in branch.equalities]
    equal_columns = {b for a, b in pairs if a.scan in joined_scans and b.scan in scans}
    if key is not None and key <= equal_columns:
        return True
    if len(scans) != 1 or not (table_scans := scans & branch.scans.keys()):
        return False
    columns = tuple(sorted({origin.column for origin in equal_columns}))
    return bool(columns) and _is_unique(connection, branch.scans[next(iter(table_scans))], columns)


def _is_unique(connection: Any, place: Place, columns: Sequence[str]) -> bool:
    """Return whether no two rows of a stored table have the same values in these columns, by a query of the data.

    NULL counts as a value. `place` is the database, schema and name of the table.
    """
    column_list = join_sql(identifier(column) for column in columns)
    query = qualify_builtins(f"SELECT count(*) = count(DISTINCT row({column_list})) FROM {qualified(*place)}")
    return bool(connection.execute(query).fetchall()[0][0])
