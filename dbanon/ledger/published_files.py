"""The ledger of published files: which file, copy or server gave which version of a release to whom, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from typing import Any

from dbanon import errors
from dbanon.errors.example import SAFE, Example
from dbanon.ledger.releases import LedgerEntry
from dbanon.runtime.session import Session
from dbanon.source import catalog, schema
from dbanon.source.catalog import SCHEMA, Cursor
from dbanon.sqltext.quote import Sql, join_sql, literal_rows, qualified, text
from dbanon.table_functions.table_function import Call, TableFunction

TABLE = "published_file"
MAX_STORED_TEXTS = 3
"""Recipients, purposes and legal bases that a report takes from the ledger."""
_RELEASE_COLUMNS = {"schema_name": "VARCHAR", "name": "VARCHAR", "version": "INTEGER"}
_FILE_COLUMNS = {
    "channel": "VARCHAR", "content": "VARCHAR", "file": "VARCHAR", "sha256": "VARCHAR", "published_at": "TIMESTAMP",
    "recipient": "VARCHAR", "purpose": "VARCHAR", "legal_basis": "VARCHAR",
}  # fmt: skip


@dataclass(frozen=True)
class Handover:
    """The recipient, purpose and legal basis of published files; None for what was not stated."""

    recipient: str | None = None
    purpose: str | None = None
    legal_basis: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was stated."""
        return self == Handover()

    def check(self, function: str) -> None:
        """Check that everything that was stated is a text that is not blank; `function` is the caller, for messages.

        Raises:
            InvalidArgumentError: A value is not.
        """
        for name, value in zip(("recipient", "purpose", "legal_basis"), astuple(self), strict=True):
            if value is not None and not (isinstance(value, str) and value.strip()):
                raise errors.InvalidArgumentError(function, name, "a text that is not empty", repr(value))


@dataclass(frozen=True)
class PublishedFile:
    """One row of `dbanon.published_file` without the release: a file, a copy in PostgreSQL, or access for a reader.

    Attributes:
        channel: "file", "postgres" or "server".
        content: "release", "classes", "metrics" or "certificate".
        file: The path of the file, the table in PostgreSQL, or the address of the server.
        sha256: The SHA-256 of the file, or of the rows of the release; None if it is unknown.
        published_at: The time in UTC, without a time zone.
        handover: Who got it and why.
    """

    channel: str
    content: str
    file: str
    sha256: str | None
    published_at: datetime
    handover: Handover = Handover()

    @property
    def row(self) -> tuple[Any, ...]:
        """The values of the row in the order of the table's columns, after those of the release."""
        return (self.channel, self.content, self.file, self.sha256, self.published_at, *astuple(self.handover))


def current_time() -> datetime:
    """Return the present time in UTC, as rows store it."""
    return datetime.now(UTC).replace(tzinfo=None)


def is_writable(cursor: Cursor, database: str) -> bool:
    """Return whether the ledger of a database can be written."""
    rows = cursor.execute(
        "SELECT readonly FROM system.main.duckdb_databases() WHERE database_name = ?", [database]
    ).fetchall()
    return bool(rows) and not rows[0][0]


def record_files(session: Session, cursor: Cursor, entry: LedgerEntry, files: Sequence[PublishedFile]) -> None:
    """Add one row per file of a version to the ledger, in one statement.

    The schema `dbanon` of the database is migrated if an earlier version of dbanon wrote it.
    """
    if not files:
        return
    if not catalog.has_table(cursor, entry.database, TABLE):
        schema.create(session.connection(), entry.database)
    row = f"({', '.join('?' * (len(_RELEASE_COLUMNS) + len(_FILE_COLUMNS)))})"
    values = [value for file in files for value in (entry.schema, entry.name, entry.version, *file.row)]
    cursor.execute(
        f"INSERT INTO {_table(entry.database)} ({', '.join((*_RELEASE_COLUMNS, *_FILE_COLUMNS))}) "
        f"VALUES {', '.join([row] * len(files))}",
        values,
    )


def unlisted_files(cursor: Cursor, entry: LedgerEntry, files: Sequence[PublishedFile]) -> list[PublishedFile]:
    """Return those files of a version that the ledger does not list for the same recipient with the same hash."""
    listed = {_identity(file) for file in files_of_version(cursor, entry)} if files else set()
    return [file for file in files if _identity(file) not in listed]


def _identity(file: PublishedFile) -> tuple[Any, ...]:
    """Return what distinguishes a file from others of the same version, apart from the time."""
    return file.channel, file.file, file.sha256, file.handover


def forget_files(cursor: Cursor, entry: LedgerEntry, files: Sequence[PublishedFile]) -> None:
    """Delete the rows of files that could not be put in their place."""
    for file in files:
        cursor.execute(
            f"DELETE FROM {_table(entry.database)} WHERE (schema_name, name, version, file, published_at) = "
            "(?, ?, ?, ?, ?)",
            [entry.schema, entry.name, entry.version, file.file, file.published_at],
        )


def files_of_version(cursor: Cursor, entry: LedgerEntry) -> list[PublishedFile]:
    """Return the published files of a version, by time; none if the ledger has no such table."""
    if not catalog.has_table(cursor, entry.database, TABLE):
        return []
    rows = cursor.execute(
        f"SELECT {', '.join(_FILE_COLUMNS)} FROM {_table(entry.database)} "
        "WHERE (schema_name, name, version) = (?, ?, ?) ORDER BY published_at ASC, file ASC, recipient ASC NULLS FIRST",
        [entry.schema, entry.name, entry.version],
    ).fetchall()
    return [PublishedFile(c, k, f, h, at, Handover(*stated)) for c, k, f, h, at, *stated in rows]


def stored_handover(cursor: Cursor, entry: LedgerEntry, stated: Handover) -> Handover:
    """Return a handover in which what is not stated is what the ledger has for the files of a version.

    Only files with everything that is stated count: the purpose of one recipient is not that of another. Several texts
    are joined by `; `; of more than MAX_STORED_TEXTS, only the last ones. Readers of a server are no recipients here,
    since nothing was stated for them.
    """
    files = [
        file
        for file in files_of_version(cursor, entry)
        if file.channel == "file"
        and file.content == "release"
        and all(
            value in (None, stored_value)
            for value, stored_value in zip(astuple(stated), astuple(file.handover), strict=True)
        )
    ]
    stored = [
        _joined(list(dict.fromkeys(value for value in values if value)))
        for values in zip(*(astuple(file.handover) for file in files), strict=True)
    ]
    return Handover(*(value or other for value, other in zip(astuple(stated), stored or [None] * 3, strict=True)))


def _joined(texts: Sequence[str]) -> str | None:
    """Return texts in one line, of many only the last ones; None if there are none."""
    shown = "; ".join(texts[-MAX_STORED_TEXTS:])
    return f"{shown}; and {len(texts) - MAX_STORED_TEXTS} more" if len(texts) > MAX_STORED_TEXTS else shown or None


def published_files(call: Call) -> Sql:
    """Return the SQL of the table function published_files(): the published files in all attached databases."""
    databases = [d for d in call.attached_databases() if catalog.has_table(call.cursor, d, TABLE)]
    columns = {**_RELEASE_COLUMNS, **_FILE_COLUMNS}
    if not databases:
        return literal_rows({"database_name": "VARCHAR", **columns}, [])
    queries = (f"SELECT {text(d)} AS database_name, {join_sql(columns)} FROM {_table(d)}" for d in databases)
    return Sql(
        f"FROM ({' UNION ALL '.join(queries)}) ORDER BY published_at ASC, database_name ASC, schema_name ASC, "
        "name ASC, version ASC, file ASC, recipient ASC NULLS FIRST"
    )


def _table(database: str) -> Sql:
    """Return the SQL name of the ledger table of published files in a database."""
    return qualified(database, SCHEMA, TABLE)


FUNCTIONS = (
    TableFunction(
        "published_files",
        (),
        (),
        "Lists who received a release: each file that publish wrote, each copy in PostgreSQL and each reader of a "
        "server, with hash and purpose.",
        handler=published_files,
        example=Example("SELECT name, version, file, recipient, purpose FROM published_files();", SAFE),
    ),
)
