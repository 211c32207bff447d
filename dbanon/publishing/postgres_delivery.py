"""Copy releases to PostgreSQL; a copy follows the ledger and is never ahead of it.

A version is first created and recorded in the DuckDB database. Then its release, its metrics and its certificate for
recipients replace those of the previous version in one transaction of PostgreSQL, and are read back and compared. If
the process ends in between, PostgreSQL still has the previous version, and the ledger knows that a delivery is pending.
"""

import contextlib
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from dbanon import errors
from dbanon.ledger import deliveries, hashes, published_files, publishing_lock, releases
from dbanon.ledger.deliveries import KIND, DeliveryTarget, ReleaseName
from dbanon.ledger.releases import LedgerEntry
from dbanon.publishing import certificate as certificates
from dbanon.publishing.written_columns import in_order
from dbanon.runtime.session import Session
from dbanon.source import attached_databases, catalog, postgres
from dbanon.sqltext.quote import Sql, identifier, join_sql, qualified

ENDINGS = ("", "_metrics", "_certificate")
_DEFAULT_SCHEMA = "public"
"""The schema in which PostgreSQL, and a DuckDB that uses the attached database, find names without a schema."""
"""Endings of the tables in PostgreSQL: the same as of the files that `publish` writes without classes."""

_MAX_NAME_BYTES = 63  # bytes of a name in PostgreSQL, which cuts off the rest without a word
_SYSTEM_COLUMNS = ("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid")
"""Columns that every table of PostgreSQL has."""


class PendingDelivery:
    """The delivery (the copy to PostgreSQL) that is due when an operation has recorded a version in the ledger.

    `release` is the release to copy, None if there is nothing to do; `alias` is the name of an attached database to
    prefer.
    """

    def __init__(self, function: str, cursor: Any) -> None:
        """Store the function that was called, for messages, and a cursor; no release is noted yet."""
        self.function, self.cursor = function, cursor
        self.release: ReleaseName | None = None
        self.alias: str | None = None

    def recorded_target(self, release: ReleaseName, alias: str | None) -> DeliveryTarget | None:
        """Return the PostgreSQL table to which versions of a release are copied, and note the release for delivery.

        Returns None if the ledger has no such table for the release; nothing is then delivered.

        Args:
            release: The release.
            alias: The name to prefer if the target's database is attached under several names; None without preference.

        Raises:
            DeliveryTargetMismatchError: The database is not attached.
            InvalidDeliveryTargetError: The copy could not be created there.
        """
        self.release, self.alias = release, alias
        recorded = deliveries.recorded_target(self.cursor, release)
        if recorded is not None:
            _check_target(
                self.function,
                self.cursor,
                _reachable_alias(self.function, self.cursor, release, recorded, alias),
                recorded,
            )
        return recorded

    def requested_target(
        self, release: ReleaseName, place: attached_databases.Place | None, *, is_new: bool, replace: bool
    ) -> DeliveryTarget | None:
        """Return the PostgreSQL table to which a release is to be copied, and note the release for delivery.

        Args:
            release: The release.
            place: The requested table: attached database, schema and name. None if the call requests none: the table in
                the ledger is then returned, or None (see `recorded_target`).
            is_new: Whether no version of the release is published.
            replace: Whether its definition is replaced.

        Raises:
            InvalidDeliveryTargetError: The release exists without a copy and is not replaced, or the copy could not be
                created.
            DeliveryTargetMismatchError: The target in the ledger is another table.
        """
        if place is None:
            return self.recorded_target(release, None)
        recorded = None if is_new else deliveries.recorded_target(self.cursor, release)
        if recorded is None and not (is_new or replace):
            why = f"{release[2]} is already a release of {release[0]}, without a copy there"
            hint = "CREATE OR REPLACE shows the next version of it there; another one needs another name"
            raise errors.InvalidDeliveryTargetError(self.function, str(qualified(*place)), why, hint)
        self.release, self.alias = release, place[0]
        target = _resolve_target(self.function, self.cursor, release, place, recorded)
        _check_target(self.function, self.cursor, place[0], target)
        return target


@contextlib.contextmanager
def deliver_afterwards(function: str, current: Session, cursor: Any) -> Iterator[PendingDelivery]:
    """Yield a PendingDelivery; at the end of the block copy the release that was noted in it to PostgreSQL.

    Nothing is copied if the block raised an error or noted no release.

    Raises:
        DeliveryFailedError: The copy could not be created.
    """
    delivery = PendingDelivery(function, cursor)
    yield delivery
    if delivery.release is not None:
        deliver(function, current, cursor, delivery.release, delivery.alias)


# --- before a version is made --------------------------------------------------------------------------------


def _resolve_target(
    function: str,
    cursor: Any,
    release: ReleaseName,
    place: attached_databases.Place,
    recorded_target: DeliveryTarget | None,
) -> DeliveryTarget:
    """Return the requested PostgreSQL table as a target: the recorded one if there is one, else a new one.

    Args:
        function: The function that was called, for messages.
        cursor: A cursor.
        release: The release.
        place: The requested table: attached database, schema and name.
        recorded_target: The target in the ledger; None if there is none.

    Raises:
        InvalidDeliveryTargetError: The schema does not exist.
        DeliveryTargetMismatchError: The recorded target is another table.
    """
    identity, place_text = attached_databases.identity(function, cursor, place[0], KIND), str(qualified(*place))
    schemas = postgres.schemas(cursor, place[0], place[1])
    if not schemas:
        raise errors.InvalidDeliveryTargetError(
            function, place_text, f"{place[0]} has no schema {place[1]}", "CREATE SCHEMA there"
        )
    target = recorded_target or DeliveryTarget(identity, schemas[0][0], place[2], secrets.token_hex(16))
    if (target.identity, target.schema, target.name) != (identity, schemas[0][0], place[2]):
        hint = "keep it there, or drop both with DROP MATERIALIZED ANONYMIZED VIEW"
        raise errors.DeliveryTargetMismatchError(
            function, release[2], target.display_name, f"the statement has {place_text}", hint
        )
    return target


def _check_target(function: str, cursor: Any, alias: str, target: DeliveryTarget) -> None:
    """Check that the tables of a copy can be created at a target, and that existing ones are copies of this release.

    Args:
        function: The function that was called, for messages.
        cursor: A cursor.
        alias: The name by which the database of the target is attached.
        target: The target.

    Raises:
        InvalidDeliveryTargetError: The database is read-only; a name is too long; a table was not created by dbanon for
            this release; or a table is missing and the role may not create tables.
    """
    target_text = str(qualified(alias, target.schema, target.name))
    if _is_read_only(cursor, alias):
        raise errors.InvalidDeliveryTargetError(
            function, target_text, f"{alias} is attached READ_ONLY", "attach it without READ_ONLY"
        )
    if len((target.name + ENDINGS[-1]).encode()) > _MAX_NAME_BYTES:
        reason = f"with {ENDINGS[-1]} the name is longer than {_MAX_NAME_BYTES} bytes, the limit of PostgreSQL"
        raise errors.InvalidDeliveryTargetError(function, target_text, reason, "choose a shorter name")
    existing = postgres.find_relations(cursor, alias, target.schema, _table_names(target))
    for relation in existing:
        if not _is_own_table(relation, target):
            reason = f"{relation.name} exists already, and dbanon did not create it for this release"
            raise errors.InvalidDeliveryTargetError(
                function, target_text, reason, "choose another name, or drop it in PostgreSQL"
            )
    may = [may for schema, may in postgres.schemas(cursor, alias, target.schema) if schema == target.schema]
    if not any(may) and len(existing) < len(ENDINGS):
        reason = f"the role by which {alias} is attached may not create tables in the schema {target.schema}"
        raise errors.InvalidDeliveryTargetError(
            function, target_text, reason, f"GRANT CREATE ON SCHEMA {identifier(target.schema)} to it"
        )


def record_pending_delivery(function: str, cursor: Any, entry: LedgerEntry, target: DeliveryTarget | None) -> None:
    """Record in the ledger, in the transaction that creates a version, that its copy is pending.

    Does nothing if `target` is None.

    Raises:
        InvalidDeliveryTargetError: A column of the release has a name that PostgreSQL cannot have, or a text with the
            NUL character.
    """
    if target is None:
        return
    columns = _columns(cursor, entry, "")
    for name in columns:
        if len(name.encode()) > _MAX_NAME_BYTES or name in _SYSTEM_COLUMNS:
            why = f"PostgreSQL cannot have a column {name}"
            raise errors.InvalidDeliveryTargetError(
                function, target.display_name, why, "give it a shorter or another name, or withhold it"
            )
    for name in [n for n, type_ in columns.items() if _postgres_column(n, type_)[1] == "text"]:
        nul = f"system.main.contains({_postgres_column(name, columns[name])[0]}, system.main.chr(0))"
        if cursor.execute(f"SELECT 1 FROM {entry.table()} WHERE {nul} LIMIT 1").fetchall():
            why = f"{name} has texts with the NUL character, which PostgreSQL does not support"
            raise errors.InvalidDeliveryTargetError(
                function, target.display_name, why, "replace it in the source, or withhold the column"
            )
    deliveries.record_target(cursor, (entry.database, entry.schema, entry.name), target)


# --- after it was recorded -----------------------------------------------------------------------------------


def deliver(function: str, current: Session, cursor: Any, release: ReleaseName, alias: str | None) -> None:
    """Copy the published version of a release to its PostgreSQL table, unless the copy is up to date.

    Does nothing if the release has no copy, or no published version.

    Raises:
        DeliveryFailedError: The copy could not be created, also because another connection works on the release.
    """
    target = deliveries.recorded_target(cursor, release)
    if target is None:
        return
    try:
        with publishing_lock.publishing_turn(current, function, release[2], release[0]):
            _deliver_locked(function, current, cursor, release, alias)
    except errors.LedgerBusyError as error:
        raise errors.DeliveryFailedError(function, release[2], target.display_name, str(error)) from None


def _deliver_locked(
    function: str, current: Session, cursor: Any, release: ReleaseName, preferred_alias: str | None
) -> None:
    """Copy the published version of a release to its PostgreSQL table and record the delivered version (see `deliver`).

    No other connection may change the release at the same time. Does nothing if the release has no copy or no published
    version. `preferred_alias` is the name to prefer if the database is attached under several names.

    Raises:
        DeliveryFailedError: The copy could not be created.
    """
    target = deliveries.recorded_target(cursor, release)
    entry = None if target is None else _published_version(cursor, release)
    if target is None or entry is None:
        return
    try:
        alias = _reachable_alias(function, cursor, release, target, preferred_alias)
        with _transaction(cursor):
            entry = _published_version(cursor, release) or entry  # as it is together with its tables
            _replace_tables(function, current, cursor, entry, target, alias)
    except (duckdb.Error, errors.DbanonError) as error:
        raise errors.DeliveryFailedError(
            function, entry.version_name, target.display_name, _failure_reason(error)
        ) from None
    deliveries.set_delivered_version(cursor, release, entry.version)
    copy = published_files.PublishedFile(
        "postgres", "release", target.display_name, hashes.release_hash(cursor, entry), published_files.current_time()
    )
    published_files.record_files(current, cursor, entry, published_files.unlisted_files(cursor, entry, [copy]))


def _published_version(cursor: Any, release: ReleaseName) -> LedgerEntry | None:
    """Return the published version of a release; None if there is none."""
    condition = "schema_name = ? AND lower(name) = lower(?) AND status = 'published'"
    return next(reversed(releases.entries(cursor, release[0], condition, release[1:])), None)


@contextlib.contextmanager
def drop_copy_first(function: str, cursor: Any, entry: LedgerEntry, alias: str | None) -> Iterator[None]:
    """Drop the copy of a release in PostgreSQL, if it has one, then run the block, which drops the release itself.

    Tables that are no copy of this release are not dropped. If the copy cannot be dropped, the block does not run. The
    caller holds the publishing lock, so that no other copy is created. `alias` is the name to prefer if the database of
    the copy is attached under several names.

    Raises:
        DeliveryFailedError: The copy could not be dropped.
        DeliveryTargetMismatchError: The database of the copy is not attached.
    """
    release = (entry.database, entry.schema, entry.name)
    target = deliveries.recorded_target(cursor, release)
    if target is not None:
        _drop_copy(function, cursor, release, target, _reachable_alias(function, cursor, release, target, alias))
    yield


def _drop_copy(function: str, cursor: Any, release: ReleaseName, target: DeliveryTarget, alias: str) -> None:
    """Drop the tables of a copy that belong to this release, and record that no version is delivered.

    Raises:
        DeliveryFailedError: A table could not be dropped.
    """
    deliveries.set_delivered_version(cursor, release, None)
    try:
        with _transaction(cursor):
            for relation in postgres.find_relations(cursor, alias, target.schema, _table_names(target)):
                if _is_own_table(relation, target):
                    postgres.execute_statement(cursor, alias, f"DROP TABLE {qualified(target.schema, relation.name)}")
    except duckdb.Error as error:
        raise errors.DeliveryFailedError(function, release[2], target.display_name, _failure_reason(error)) from None


def undelivered_notice(cursor: Any, entry: LedgerEntry) -> str | None:
    """Return a message if the ledger does not say that the copy in PostgreSQL is of this version; otherwise None.

    Returns None, too, if the release has no copy. PostgreSQL is not asked.
    """
    target = deliveries.recorded_target(cursor, (entry.database, entry.schema, entry.name))
    if target is None or target.version == entry.version:
        return None
    shows = "nothing" if target.version is None else f"version {target.version}"
    return (
        f"version {entry.version} was not copied: as far as known, {target.display_name} has {shows}. Hint: refresh "
        "it, with if_stale = true"
    )


# --- the copy ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _PostgresTable:
    """A table as PostgreSQL must have it.

    Attributes:
        name: Its name.
        rows: A query for its rows, in order.
        columns: Names and PostgreSQL types of its columns.
    """

    name: str
    rows: Sql
    columns: tuple[tuple[str, str], ...]

    def lines(self, relation: str) -> Sql:
        """Return a query for a hash of each row of a relation that has the table's columns.

        No setting of the session changes the hashes.
        """
        row_text = join_sql(
            (f"coalesce(system.main.strlen({v}::VARCHAR)::VARCHAR || ':' || {v}::VARCHAR, '-')" for v in self._names),
            " || ",
        )
        return Sql(f"SELECT system.main.md5({row_text}) AS line FROM {relation}")

    @property
    def _names(self) -> list[Sql]:
        """The quoted names of the columns."""
        return [identifier(name) for name, _ in self.columns]


def _replace_tables(
    function: str, current: Session, cursor: Any, entry: LedgerEntry, target: DeliveryTarget, alias: str
) -> None:
    """Replace the tables in PostgreSQL by those of a version and compare the result; do nothing if they are up to date.

    A table with the right columns keeps its privileges and dependent views; others are dropped and created. The caller
    has opened a transaction.

    Raises:
        ReleaseChangedError: The tables in DuckDB have changed since the release was published.
        _CopyRefusedError: A table of that name belongs to others, or PostgreSQL has other rows after writing.
    """
    tables = _published_tables(function, current, cursor, entry, target)
    existing = {
        relation.name: relation
        for relation in postgres.find_relations(cursor, alias, target.schema, _table_names(target))
    }
    for relation in existing.values():
        if not _is_own_table(relation, target):
            raise _CopyRefusedError(f"{relation.name} exists already, and dbanon did not create it for this release")
    comment = f"dbanon {target.mark} version {entry.version}"
    same = all(
        (t := existing.get(table.name)) and (t.comment, t.columns) == (comment, table.columns) for table in tables
    )
    if same and not any(_has_other_rows(cursor, table, alias, target) for table in tables):
        return
    for table in tables:
        place, previous = qualified(target.schema, table.name), existing.get(table.name)
        if previous is not None and previous.columns == table.columns:
            # DELETE keeps privileges and dependent views, and concurrent readers see the old rows; TRUNCATE does not.
            postgres.execute_statement(cursor, alias, f"DELETE FROM ONLY {place}")
        else:
            if previous is not None:
                postgres.execute_statement(cursor, alias, f"DROP TABLE {place}")
            columns = join_sql(f"{identifier(name)} {type_}" for name, type_ in table.columns)
            postgres.execute_statement(cursor, alias, f"CREATE TABLE {place} ({columns})")
        postgres.execute_statement(cursor, alias, f"COMMENT ON TABLE {place} IS '{comment}'")
    postgres.clear_cache(cursor)
    for table in tables:
        _insert_rows(cursor, table, qualified(alias, target.schema, table.name))
    for table in tables:
        if _has_other_rows(cursor, table, alias, target):
            raise _CopyRefusedError(f"PostgreSQL returned other rows of {table.name} than were written")


def _insert_rows(cursor: Any, table: _PostgresTable, place: Sql) -> None:
    """Insert the rows of a table in PostgreSQL.

    Raises:
        _CopyRefusedError: PostgreSQL did not accept them. The message quotes no row.
    """
    try:
        cursor.execute(f"INSERT INTO {place} {table.rows}")
    except duckdb.Error as error:
        message = _VALUE_FREE_MESSAGES.search(str(error))
        raise _CopyRefusedError(
            message[0] if message else f"PostgreSQL did not accept the rows of {table.name}"
        ) from None


def _has_other_rows(cursor: Any, table: _PostgresTable, alias: str, target: DeliveryTarget) -> bool:
    """Return whether a table in PostgreSQL differs from the rows that it must have; their order does not count."""
    mine = table.lines(f"({table.rows})")
    theirs = table.lines(qualified(alias, target.schema, table.name))
    query = f"(({mine}) EXCEPT ALL ({theirs})) UNION ALL (({theirs}) EXCEPT ALL ({mine}))"
    return bool(cursor.execute(f"SELECT 1 FROM ({query}) LIMIT 1").fetchall())


def _published_tables(
    function: str, current: Session, cursor: Any, entry: LedgerEntry, target: DeliveryTarget
) -> list[_PostgresTable]:
    """Return the tables to copy: the release, its metrics, and its certificate for recipients.

    Raises:
        ReleaseChangedError: The tables in DuckDB have changed since the release was published.
    """
    certificate = certificates.Certificate(entry, current, cursor, function)
    for problem in certificate.problems():
        raise errors.ReleaseChangedError(function, entry.display_name, problem)
    schema = "" if target.schema == _DEFAULT_SCHEMA else target.schema
    locations = certificate.published_tables(classes=False, schema=schema, name=target.name)
    certificate_rows = certificates.rows_sql(certificate.lines(locations))
    stored_tables = [
        _postgres_table(target.name + ending, entry.table(ending), _columns(cursor, entry, ending))
        for ending in ENDINGS
        if ending in releases.TABLES
    ]
    certificate_table = _postgres_table(
        target.name + "_certificate", Sql(f"({certificate_rows})"), dict.fromkeys(certificates.COLUMNS, "VARCHAR")
    )
    return [*stored_tables, certificate_table]


def _postgres_table(name: str, relation: Sql, columns: Mapping[str, str]) -> _PostgresTable:
    """Return a relation as a table of PostgreSQL with that name, its columns cast and its rows in the present order."""
    postgres_columns = {n: _postgres_column(n, type_) for n, type_ in columns.items()}
    cast = join_sql(f"{value} AS {identifier(n)}" for n, (value, _) in postgres_columns.items())
    rows = Sql(f"SELECT {cast} FROM {in_order(relation, columns)}")
    return _PostgresTable(name, rows, tuple((n, type_) for n, (_, type_) in postgres_columns.items()))


def _columns(cursor: Any, entry: LedgerEntry, ending: str) -> dict[str, str]:
    """Return the columns (type by name) of one of the release's tables in DuckDB."""
    return catalog.columns_of(cursor, (entry.database, entry.schema, entry.name + ending))


_POSTGRES_TYPES = {
    "BOOLEAN": "boolean", "SMALLINT": "smallint", "INTEGER": "integer", "BIGINT": "bigint", "FLOAT": "real",
    "DOUBLE": "double precision", "DATE": "date", "TIME": "time without time zone",
    "TIMESTAMP": "timestamp without time zone", "TIMESTAMP WITH TIME ZONE": "timestamp with time zone",
    "UUID": "uuid", "BLOB": "bytea", "VARCHAR": "text",
}  # fmt: skip
"""Types that PostgreSQL has, too, as it calls them."""
_CAST_TYPES = {
    "TINYINT": "SMALLINT", "UTINYINT": "SMALLINT", "USMALLINT": "INTEGER", "UINTEGER": "BIGINT",
    "UBIGINT": "DECIMAL(20,0)", "TIMESTAMP_S": "TIMESTAMP", "TIMESTAMP_MS": "TIMESTAMP",
}  # fmt: skip
"""Types whose values are all in one that it has."""


def _postgres_column(name: str, type_: str) -> tuple[Sql, str]:
    """Return SQL of a column's value as PostgreSQL accepts it, and the column's type there.

    Small or unsigned integers and TIMESTAMP_S and TIMESTAMP_MS are cast to a wider type that PostgreSQL has. Lists,
    structs, maps and unions become JSON in a text; other types that PostgreSQL does not have become texts.

    >>> _postgres_column("low", "UBIGINT"), _postgres_column("age", "HUGEINT")
    (('CAST("low" AS DECIMAL(20,0))', 'numeric(20,0)'), ('CAST("age" AS VARCHAR)', 'text'))
    """
    wanted = _CAST_TYPES.get(type_, type_)
    if wanted.startswith("DECIMAL"):
        return Sql(f"CAST({identifier(name)} AS {wanted})"), wanted.replace("DECIMAL", "numeric")
    if wanted in _POSTGRES_TYPES:
        return Sql(f"CAST({identifier(name)} AS {wanted})"), _POSTGRES_TYPES[wanted]
    if wanted.endswith("]") or wanted.startswith(("STRUCT(", "MAP(", "UNION(")):
        return Sql(f"CAST(system.main.to_json({identifier(name)}) AS VARCHAR)"), "text"
    return Sql(f"CAST({identifier(name)} AS VARCHAR)"), "text"


# --- which database, and whose tables ------------------------------------------------------------------------


def _table_names(target: DeliveryTarget) -> list[str]:
    """Return the names of the three tables of a copy in PostgreSQL: the release, its metrics and its certificate."""
    return [target.name + ending for ending in ENDINGS]


def _is_own_table(relation: postgres.PostgresRelation, target: DeliveryTarget) -> bool:
    """Return whether a relation in PostgreSQL is a table that dbanon created for this release.

    That is a table (no view) with one of the names of the copy, and with a comment that begins with `dbanon` and the
    mark of the target.
    """
    return (
        relation.name in _table_names(target)
        and relation.kind == "r"
        and relation.comment.startswith(f"dbanon {target.mark} ")
    )


def _reachable_alias(
    function: str, cursor: Any, release: ReleaseName, target: DeliveryTarget, preferred_alias: str | None
) -> str:
    """Return the name by which the database that has the copy of a release is attached.

    If it is attached under several names, those that can be written come first, then `preferred_alias`. Attached
    databases that cannot be identified are skipped.

    Raises:
        DeliveryTargetMismatchError: The database is not attached.
    """
    aliases = []
    for alias in attached_databases.databases(cursor, KIND).values():
        with contextlib.suppress(errors.DatabaseIdentityUnavailableError):
            if attached_databases.identity(function, cursor, alias, KIND) == target.identity:
                aliases.append(alias)
    if not aliases:
        hint = (
            "attach it; if it no longer exists, DELETE its row from "
            f"{qualified(release[0], catalog.SCHEMA, 'delivery')}, and the release has no copy any more"
        )
        raise errors.DeliveryTargetMismatchError(
            function, release[2], target.display_name, "that database is not attached", hint
        )
    return min(aliases, key=lambda alias: (_is_read_only(cursor, alias), alias != preferred_alias))


def _is_read_only(cursor: Any, alias: str) -> bool:
    """Return whether a database is attached read-only."""
    query = "SELECT readonly FROM system.main.duckdb_databases() WHERE database_name = ?"
    return bool(cursor.execute(query, [alias]).fetchall()[0][0])


# --- transactions and what went wrong ------------------------------------------------------------------------


class _CopyRefusedError(errors.DbanonError):
    """The reason why a copy was not created, in words that quote no value of the release."""


@contextlib.contextmanager
def _transaction(cursor: Any) -> Iterator[None]:
    """Run the block in one transaction, which is rolled back after an error.

    Before and after, DuckDB's cached list of PostgreSQL's tables is cleared.
    """
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


_VALUE_FREE_MESSAGES = re.compile(
    r"(permission denied|could not (serialize|extend|write)|canceling|deadlock|server closed the connection|"
    r"no connection to the server|terminating connection|new row violates row-level security)[^\n]*"
)
"""What PostgreSQL says without naming a value."""


def _failure_reason(error: Exception) -> str:
    """Return the message of an error of dbanon; of other errors only the first line, without the statement.

    Of an error of PostgreSQL, that is the line after `ERROR:`.
    """
    if isinstance(error, errors.DbanonError):
        return str(error)
    match = re.search(r"ERROR:  ([^\n]*)", str(error))
    return match[1] if match else str(error).split("\n")[0]
