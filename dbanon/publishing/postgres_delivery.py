"""Puts what a release gives out into PostgreSQL, too: a copy that follows the ledger and is never ahead of it.

A version is made and recorded in the DuckDB database first. Then its release, its measures and its outgoing certificate
take the place of those of the version before in one transaction of PostgreSQL, are read back and compared. A process
that ends in between leaves the version before there, and the ledger knows what is still to be delivered.
"""

import contextlib
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from dbanon import errors
from dbanon.ledger import deliveries, publishing_lock, releases
from dbanon.ledger.deliveries import KIND, DeliveryTarget, ReleaseName
from dbanon.ledger.releases import LedgerEntry
from dbanon.publishing import certificate as certificates
from dbanon.publishing.written_columns import in_order
from dbanon.runtime.session import Session
from dbanon.source import attached_databases, catalog, postgres
from dbanon.sqltext.quote import Sql, identifier, join_sql, qualified

ENDINGS = ("", "_metrics", "_certificate")
"""Of the tables in PostgreSQL: what `publish` hands out without the classes."""

_LONGEST = 63  # bytes of a name in PostgreSQL, which cuts off the rest without a word
_RESERVED = ("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid")
"""Columns that every table of PostgreSQL has."""


class Later:
    """What is delivered at the end of a piece of work, when a version of it is in the ledger."""

    def __init__(self, function: str, cursor: Any) -> None:
        self.function, self.cursor = function, cursor
        self.release: ReleaseName | None = None
        self.named: str | None = None

    def known(self, of: ReleaseName, named: str | None) -> DeliveryTarget | None:
        """Where a release is to be shown by the ledger; None: nowhere but in its own database.

        `named`: by what name its database is attached that is meant. Raises DeliveryTargetMismatchError, and
        InvalidDeliveryTargetError where it could not be put there.
        """
        self.release, self.named = of, named
        known = deliveries.recorded_target(self.cursor, of)
        if known is not None:
            _check(self.function, self.cursor, _reached(self.function, self.cursor, of, known, named), known)
        return known

    def toward(
        self, of: ReleaseName, place: attached_databases.Place | None, *, is_new: bool, replace: bool
    ) -> DeliveryTarget | None:
        """Return the same at the `place` that is asked for, of a release that `is_new` or whose definition is
        replaced."""
        if place is None:
            return self.known(of, None)
        known = None if is_new else deliveries.recorded_target(self.cursor, of)
        if place is not None and known is None and not (is_new or replace):
            why = f"{of[2]} is a release of {of[0]} already, which is not shown there"
            hint = "CREATE OR REPLACE shows the next version of it there; another one needs another name"
            raise errors.InvalidDeliveryTargetError(self.function, str(qualified(*place)), why, hint)
        self.release, self.named = of, place[0]
        target = _placed(self.function, self.cursor, of, place, known)
        _check(self.function, self.cursor, place[0], target)
        return target


@contextlib.contextmanager
def afterwards(function: str, current: Session, cursor: Any) -> Iterator[Later]:
    """Deliver what is asked for meanwhile, unless something was raised; DeliveryFailedError."""
    later = Later(function, cursor)
    yield later
    if later.release is not None:
        deliver(function, current, cursor, later.release, later.named)


# --- before a version is made --------------------------------------------------------------------------------


def _placed(
    function: str, cursor: Any, of: ReleaseName, place: attached_databases.Place, known: DeliveryTarget | None
) -> DeliveryTarget:
    """What is asked for as a target, or the known one where that is the same.

    InvalidDeliveryTargetError, DeliveryTargetMismatchError.
    """
    identity, shown = attached_databases.identity(function, cursor, place[0], KIND), str(qualified(*place))
    found = postgres.schemas(cursor, place[0], place[1])
    if not found:
        raise errors.InvalidDeliveryTargetError(
            function, shown, f"{place[0]} has no schema {place[1]}", "CREATE SCHEMA there"
        )
    target = known or DeliveryTarget(identity, found[0][0], place[2], secrets.token_hex(16))
    if (target.identity, target.schema, target.name) != (identity, found[0][0], place[2]):
        hint = "leave it there, or DROP MATERIALIZED ANONYMIZED VIEW drops both"
        raise errors.DeliveryTargetMismatchError(function, of[2], target.shown, f"the statement says {shown}", hint)
    return target


def _check(function: str, cursor: Any, alias: str, target: DeliveryTarget) -> None:
    """InvalidDeliveryTargetError where the tables could not be made, or are not ours."""
    shown = str(qualified(alias, target.schema, target.name))
    if _is_read_only(cursor, alias):
        raise errors.InvalidDeliveryTargetError(
            function, shown, f"{alias} is attached READ_ONLY", "attach it without that"
        )
    if len((target.name + ENDINGS[-1]).encode()) > _LONGEST:
        why = f"with {ENDINGS[-1]} the name is longer than the {_LONGEST} bytes that PostgreSQL keeps of one"
        raise errors.InvalidDeliveryTargetError(function, shown, why, "choose a shorter name")
    there = postgres.find_relations(cursor, alias, target.schema, _names(target))
    for found in there:
        if not _is_ours(found, target):
            why = f"{found.name} is there, and dbanon did not put it there for this release"
            raise errors.InvalidDeliveryTargetError(
                function, shown, why, "choose another name, or drop it in PostgreSQL"
            )
    may = [may for schema, may in postgres.schemas(cursor, alias, target.schema) if schema == target.schema]
    if not any(may) and len(there) < len(ENDINGS):
        why = f"the role by which {alias} is attached may not make tables in the schema {target.schema}"
        raise errors.InvalidDeliveryTargetError(
            function, shown, why, f"GRANT CREATE ON SCHEMA {identifier(target.schema)} to it"
        )


def intend(function: str, cursor: Any, entry: LedgerEntry, target: DeliveryTarget | None) -> None:
    """Writes into the ledger, with a version, that it is to be delivered; InvalidDeliveryTargetError where
    PostgreSQL could not have its rows."""
    if target is None:
        return
    columns = _columns(cursor, entry, "")
    for name in columns:
        if len(name.encode()) > _LONGEST or name in _RESERVED:
            why = f"PostgreSQL cannot have a column {name}"
            raise errors.InvalidDeliveryTargetError(
                function, target.shown, why, "give it a shorter or another name, or withhold it"
            )
    for name in [n for n, type_ in columns.items() if _in_postgres(n, type_)[1] == "text"]:
        nul = f"system.main.contains({_in_postgres(name, columns[name])[0]}, system.main.chr(0))"
        if cursor.execute(f"SELECT 1 FROM {entry.table()} WHERE {nul} LIMIT 1").fetchall():
            why = f"{name} has texts with the NUL character, which PostgreSQL has not"
            raise errors.InvalidDeliveryTargetError(
                function, target.shown, why, "replace it in the source, or withhold the column"
            )
    deliveries.record_target(cursor, (entry.database, entry.schema, entry.name), target)


# --- after it was recorded -----------------------------------------------------------------------------------


def deliver(function: str, current: Session, cursor: Any, of: ReleaseName, named: str | None) -> None:
    """Make the copy of a release what the published version is.

    Nothing where it is that already. DeliveryFailedError.
    """
    target = deliveries.recorded_target(cursor, of)
    if target is None:
        return
    try:
        with publishing_lock.publishing_turn(current, function, of[2], of[0]):
            _deliver(function, current, cursor, of, named)
    except errors.LedgerBusyError as error:
        raise errors.DeliveryFailedError(function, of[2], target.shown, str(error)) from None


def _deliver(function: str, current: Session, cursor: Any, of: ReleaseName, named: str | None) -> None:
    """Make the copy while no other connection writes the ledger."""
    target = deliveries.recorded_target(cursor, of)
    entry = None if target is None else _published(cursor, of)
    if target is None or entry is None:
        return
    try:
        alias = _reached(function, cursor, of, target, named)
        with _transaction(cursor):
            entry = _published(cursor, of) or entry  # as it is together with its tables
            _copy(function, current, cursor, entry, target, alias)
    except (duckdb.Error, errors.DbanonError) as error:
        raise errors.DeliveryFailedError(function, entry.named, target.shown, _reason(error)) from None
    deliveries.set_delivered_version(cursor, of, entry.version)


def _published(cursor: Any, of: ReleaseName) -> LedgerEntry | None:
    where = "schema_name = ? AND lower(name) = lower(?) AND status = 'published'"
    return next(reversed(releases.entries(cursor, of[0], where, of[1:])), None)


@contextlib.contextmanager
def withdrawn(function: str, cursor: Any, entry: LedgerEntry, named: str | None) -> Iterator[None]:
    """Drop the copy of a release that is dropped inside; what is not ours stays.

    The caller holds the publishing turn, so that no other copy is made. DeliveryFailedError,
    DeliveryTargetMismatchError.
    """
    of = (entry.database, entry.schema, entry.name)
    target = deliveries.recorded_target(cursor, of)
    if target is not None:
        _withdraw(function, cursor, of, target, _reached(function, cursor, of, target, named))
    yield


def _withdraw(function: str, cursor: Any, of: ReleaseName, target: DeliveryTarget, alias: str) -> None:
    deliveries.set_delivered_version(cursor, of, None)
    try:
        with _transaction(cursor):
            for found in postgres.find_relations(cursor, alias, target.schema, _names(target)):
                if _is_ours(found, target):
                    postgres.execute_statement(cursor, alias, f"DROP TABLE {qualified(target.schema, found.name)}")
    except duckdb.Error as error:
        raise errors.DeliveryFailedError(function, of[2], target.shown, _reason(error)) from None


def undelivered(cursor: Any, entry: LedgerEntry) -> str | None:
    """What is to be said of a published version whose copy is not known to show it."""
    target = deliveries.recorded_target(cursor, (entry.database, entry.schema, entry.name))
    if target is None or target.version == entry.version:
        return None
    shows = "nothing" if target.version is None else f"version {target.version}"
    return (
        f"version {entry.version} is not delivered: {target.shown} has {shows}, as far as is known. Hint: refresh it, "
        "with if_stale = true"
    )


# --- the copy ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """What one table in PostgreSQL shall be: its name, its rows in their order, and its columns with PostgreSQL's
    types."""

    name: str
    rows: Sql
    columns: tuple[tuple[str, str], ...]

    def lines(self, relation: str) -> Sql:
        """Return the rows of a relation with its columns, each as a hash of all values.

        No setting makes others equal.
        """
        shown = join_sql(
            (f"coalesce(system.main.strlen({v}::VARCHAR)::VARCHAR || ':' || {v}::VARCHAR, '-')" for v in self._names),
            " || ",
        )
        return Sql(f"SELECT system.main.md5({shown}) AS line FROM {relation}")

    @property
    def _names(self) -> list[Sql]:
        return [identifier(name) for name, _ in self.columns]


def _copy(function: str, current: Session, cursor: Any, entry: LedgerEntry, target: DeliveryTarget, alias: str) -> None:
    """Replace the tables in PostgreSQL and compare them, inside a transaction; nothing where they are as they shall be.

    ReleaseChangedError where those in DuckDB are not what was released.
    """
    tables = _tables(function, current, cursor, entry, target)
    there = {found.name: found for found in postgres.find_relations(cursor, alias, target.schema, _names(target))}
    for found in there.values():
        if not _is_ours(found, target):
            raise _Refused(f"{found.name} is there, and dbanon did not put it there for this release")
    comment = f"dbanon {target.mark} version {entry.version}"
    same = all((t := there.get(table.name)) and (t.comment, t.columns) == (comment, table.columns) for table in tables)
    if same and not any(_differ(cursor, table, alias, target) for table in tables):
        return
    for table in tables:
        place, before = qualified(target.schema, table.name), there.get(table.name)
        if before is not None and before.columns == table.columns:
            # Rights, and views that read it, stay; who reads meanwhile sees the rows before (TRUNCATE is another thing)
            postgres.execute_statement(cursor, alias, f"DELETE FROM ONLY {place}")
        else:
            if before is not None:
                postgres.execute_statement(cursor, alias, f"DROP TABLE {place}")
            columns = join_sql(f"{identifier(name)} {type_}" for name, type_ in table.columns)
            postgres.execute_statement(cursor, alias, f"CREATE TABLE {place} ({columns})")
        postgres.execute_statement(cursor, alias, f"COMMENT ON TABLE {place} IS '{comment}'")
    postgres.clear_cache(cursor)
    for table in tables:
        _fill(cursor, table, qualified(alias, target.schema, table.name))
    for table in tables:
        if _differ(cursor, table, alias, target):
            raise _Refused(f"PostgreSQL gave other rows of {table.name} back than it was given")


def _fill(cursor: Any, table: _Table, place: Sql) -> None:
    """Write the rows; what PostgreSQL says of a row is not said, but for what concerns none."""
    try:
        cursor.execute(f"INSERT INTO {place} {table.rows}")
    except duckdb.Error as error:
        said = _WITHOUT_VALUES.search(str(error))
        raise _Refused(said[0] if said else f"PostgreSQL did not take the rows of {table.name}") from None


def _differ(cursor: Any, table: _Table, alias: str, target: DeliveryTarget) -> bool:
    """Return whether a table in PostgreSQL has other rows than it shall have, in whichever order."""
    mine = table.lines(f"({table.rows})")
    theirs = table.lines(qualified(alias, target.schema, table.name))
    query = f"(({mine}) EXCEPT ALL ({theirs})) UNION ALL (({theirs}) EXCEPT ALL ({mine}))"
    return bool(cursor.execute(f"SELECT 1 FROM ({query}) LIMIT 1").fetchall())


def _tables(function: str, current: Session, cursor: Any, entry: LedgerEntry, target: DeliveryTarget) -> list[_Table]:
    """What goes out of a version that is as it was made."""
    certificate = certificates.Certificate(entry, current, cursor, function)
    for problem in certificate.problems():
        raise errors.ReleaseChangedError(function, entry.shown, problem)
    said = certificates.rows(certificate.lines(certificate.handed_out(classes=False)))
    made = []
    for ending in ENDINGS:
        kept = ending in releases.TABLES
        columns = _columns(cursor, entry, ending) if kept else dict.fromkeys(certificates.COLUMNS, "VARCHAR")
        made.append(_table(target.name + ending, entry.table(ending) if kept else Sql(f"({said})"), columns))
    return made


def _table(name: str, relation: Sql, columns: Mapping[str, str]) -> _Table:
    """Return a relation as PostgreSQL shall have it, in its order whatever settings say."""
    there = {n: _in_postgres(n, type_) for n, type_ in columns.items()}
    cast = join_sql(f"{value} AS {identifier(n)}" for n, (value, _) in there.items())
    rows = Sql(f"SELECT {cast} FROM {in_order(relation, columns)}")
    return _Table(name, rows, tuple((n, type_) for n, (_, type_) in there.items()))


def _columns(cursor: Any, entry: LedgerEntry, ending: str) -> dict[str, str]:
    return catalog.columns_of(cursor, (entry.database, entry.schema, entry.name + ending))


_TYPES = {
    "BOOLEAN": "boolean", "SMALLINT": "smallint", "INTEGER": "integer", "BIGINT": "bigint", "FLOAT": "real",
    "DOUBLE": "double precision", "DATE": "date", "TIME": "time without time zone",
    "TIMESTAMP": "timestamp without time zone", "TIMESTAMP WITH TIME ZONE": "timestamp with time zone",
    "UUID": "uuid", "BLOB": "bytea", "VARCHAR": "text",
}  # fmt: skip
"""Types that PostgreSQL has, too, as it calls them."""
_WIDER = {
    "TINYINT": "SMALLINT", "UTINYINT": "SMALLINT", "USMALLINT": "INTEGER", "UINTEGER": "BIGINT",
    "UBIGINT": "DECIMAL(20,0)", "TIMESTAMP_S": "TIMESTAMP", "TIMESTAMP_MS": "TIMESTAMP",
}  # fmt: skip
"""Types whose values are all in one that it has."""


def _in_postgres(name: str, type_: str) -> tuple[Sql, str]:
    """Return a column's value as PostgreSQL takes it, and its type there.

    Lists, structs and maps are JSON, other types that PostgreSQL has not are texts.

    >>> _in_postgres("low", "UBIGINT"), _in_postgres("age", "HUGEINT")
    (('CAST("low" AS DECIMAL(20,0))', 'numeric(20,0)'), ('CAST("age" AS VARCHAR)', 'text'))
    """
    wanted = _WIDER.get(type_, type_)
    if wanted.startswith("DECIMAL"):
        return Sql(f"CAST({identifier(name)} AS {wanted})"), wanted.replace("DECIMAL", "numeric")
    if wanted in _TYPES:
        return Sql(f"CAST({identifier(name)} AS {wanted})"), _TYPES[wanted]
    if wanted.endswith("]") or wanted.startswith(("STRUCT(", "MAP(", "UNION(")):
        return Sql(f"CAST(system.main.to_json({identifier(name)}) AS VARCHAR)"), "text"
    return Sql(f"CAST({identifier(name)} AS VARCHAR)"), "text"


# --- which database, and whose tables ------------------------------------------------------------------------


def _names(target: DeliveryTarget) -> list[str]:
    return [target.name + ending for ending in ENDINGS]


def _is_ours(found: postgres.PostgresRelation, target: DeliveryTarget) -> bool:
    """Return whether it is a table that was made for this release, by this ledger."""
    known = found.name in _names(target) and found.kind == "r"
    return known and found.comment.startswith(f"dbanon {target.mark} ")


def _reached(function: str, cursor: Any, of: ReleaseName, target: DeliveryTarget, named: str | None) -> str:
    """By what name the database is attached that has the copy: to be written where possible, and as it was `named`;
    DeliveryTargetMismatchError."""
    found = []
    for alias in attached_databases.databases(cursor, KIND).values():
        with contextlib.suppress(errors.DatabaseIdentityUnavailableError):
            if attached_databases.identity(function, cursor, alias, KIND) == target.identity:
                found.append(alias)
    if not found:
        hint = (
            "attach it; where it is gone for good, DELETE its row from "
            f"{qualified(of[0], catalog.SCHEMA, 'delivery')}, and the release is here alone"
        )
        raise errors.DeliveryTargetMismatchError(function, of[2], target.shown, "that database is not attached", hint)
    return min(found, key=lambda alias: (_is_read_only(cursor, alias), alias != named))


def _is_read_only(cursor: Any, alias: str) -> bool:
    query = "SELECT readonly FROM system.main.duckdb_databases() WHERE database_name = ?"
    return bool(cursor.execute(query, [alias]).fetchall()[0][0])


# --- transactions and what went wrong ------------------------------------------------------------------------


class _Refused(errors.DbanonError):
    """Why a copy was not made, in words that quote no value."""


@contextlib.contextmanager
def _transaction(cursor: Any) -> Iterator[None]:
    """Return all of it or nothing; DuckDB looks anew at PostgreSQL's tables before and after."""
    postgres.clear_cache(cursor)
    cursor.execute("BEGIN")
    try:
        yield
        cursor.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(duckdb.Error):
            cursor.execute("ROLLBACK")
        raise
    finally:
        postgres.clear_cache(cursor)


_WITHOUT_VALUES = re.compile(
    r"(permission denied|could not (serialize|extend|write)|canceling|deadlock|server closed the connection|"
    r"no connection to the server|terminating connection|new row violates row-level security)[^\n]*"
)
"""What PostgreSQL says without naming a value."""


def _reason(error: Exception) -> str:
    """What an error says: ours whole, of PostgreSQL's what it is without the statement."""
    if isinstance(error, errors.DbanonError):
        return str(error)
    said = re.search(r"ERROR:  ([^\n]*)", str(error))
    return said[1] if said else str(error).split("\n")[0]
