"""Write the database file that readers are served: the published releases and nothing else.

A process that ends afterwards writes it. Each release is written as `publish` writes it, so releases that were changed
since are omitted; then all are copied into one file, by a process that never opened the source.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

from dbanon import errors
from dbanon.errors import DbanonError
from dbanon.ledger import permissions, releases
from dbanon.ledger.permissions import Permission
from dbanon.ledger.releases import LedgerEntry
from dbanon.publishing.certificate import FILES_SECTION
from dbanon.publishing.release_files import OutputOptions, write_database, write_release
from dbanon.runtime import atomic_write, session, storage_version
from dbanon.runtime.session import Session
from dbanon.runtime.version import __version__
from dbanon.source import catalog
from dbanon.sqltext.quote import Sql, argument, identifier, join_sql, literal, qualified, text
from dbanon.sqltext.templates import fill
from dbanon.table_functions import scalar_functions
from dbanon.views import release_requests
from dbanon.views.release_requests import RequestOutcome

LAYOUT_VERSION = 6
"""Version of the file's layout; increase it when files are written differently."""

_TABLE_SUFFIXES = ("", "_classes", "_metrics", "_certificate")
_CURRENT_FILE = "current.json"
_DRAFT_PREFIX = ".making-"
_MAX_DRAFT_AGE_S = 3600.0


def copy_folder(database: Path) -> Path:
    """Return the path of the folder for the copies of a database, next to it; it is not created."""
    return database.with_name(database.name + ".published")


def prepare_folder(folder: Path) -> None:
    """Create the folder, readable only by its owner.

    Remove drafts older than an hour, of processes that were killed.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    for leftover in folder.glob(f"{_DRAFT_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > _MAX_DRAFT_AGE_S:
                shutil.rmtree(leftover)


@dataclass(frozen=True)
class PublishedCopy:
    """A database file to be served to readers, and the releases that are not in it as (name, reason)."""

    path: Path
    omitted: tuple[tuple[str, str], ...]


def current_copy(folder: Path) -> PublishedCopy | None:
    """Return the copy that the folder names as current.

    None if there is none, or only one of another layout version.
    """
    with contextlib.suppress(FileNotFoundError):
        content = json.loads((folder / _CURRENT_FILE).read_text(encoding="utf-8"))
        path = folder / str(content["file"])
        if path.exists() and content.get("layout") == LAYOUT_VERSION:
            return PublishedCopy(path, tuple((str(name), str(why)) for name, why in content["left_out"]))
    return None


def refresh_copy(connection: Any, folder: Path) -> PublishedCopy:
    """Return a copy of what the connection's database publishes now, written to the folder unless it is there already.

    A new copy becomes the current one, and earlier files are deleted. Releases that cannot be published, and invalid
    permissions, are in `omitted` with the reason.
    """
    attached = session.find_session(session.plain_connection(connection))
    database = catalog.SearchPath.from_connection(connection).places[0][0]
    with attached.cursor() as cursor:
        entries = releases.entries(cursor, database, "status = 'published'")
        requests = _ReaderRequests.read(cursor, database)
        fingerprint = _fingerprint(cursor, entries, requests)
        copy = current_copy(folder)
        if copy is not None and copy.path.name == _file_name(fingerprint, []):
            return copy
        with tempfile.TemporaryDirectory(prefix=_DRAFT_PREFIX, dir=folder) as draft_folder:
            files, omitted = _publish_releases(attached, cursor, entries, Path(draft_folder))
            name = _file_name(fingerprint, omitted)
            with atomic_write.open_drafts({"": folder / name}, []) as drafts:
                write_database(
                    drafts[""], name, storage_version.DEFAULT_VERSION, list(_copy_statements(cursor, files, requests))
                )
    with atomic_write.open_drafts({"": folder / _CURRENT_FILE}, []) as drafts:
        omitted += requests.problems
        drafts[""].write_text(
            json.dumps({"layout": LAYOUT_VERSION, "file": name, "left_out": omitted}), encoding="utf-8"
        )
    for old_file in folder.glob("releases-*.duckdb"):
        if old_file.name != name:  # a process that still reads it keeps it
            with contextlib.suppress(OSError):
                old_file.unlink()
    return PublishedCopy(folder / name, tuple(omitted))


def _file_name(fingerprint: str, omitted: list[tuple[str, str]]) -> str:
    """Return the name of the copy's file, from the fingerprint of its content and a hash of the omitted releases.

    Because of this hash, a copy with omitted releases is written again: they may not be omitted next time.
    """
    suffix = hashlib.sha256(json.dumps(omitted).encode()).hexdigest()[:8] if omitted else "all"
    return f"releases-{fingerprint}-{suffix}.duckdb"


@dataclass(frozen=True)
class _ReaderRequests:
    """The stored permissions of readers, and the outcomes of their earlier requests.

    `problems` are the invalid permissions, as (description, reason).
    """

    permissions: list[Permission]
    problems: list[tuple[str, str]]
    outcomes: list[RequestOutcome]

    @classmethod
    def read(cls, cursor: Any, database: str) -> _ReaderRequests:
        """Return the permissions and request outcomes that are stored in a database."""
        valid, invalid = permissions.stored_permissions(cursor, database)
        problems = [(f"what readers may ask of {source}", why) for source, why in invalid]
        return cls(valid, problems, release_requests.stored_outcomes(cursor, database))


def _fingerprint(cursor: Any, entries: list[LedgerEntry], requests: _ReaderRequests) -> str:
    """Return a hash of everything that the copy depends on.

    These are the published versions, permissions, requests, and the versions of dbanon and of the file's layout.
    """
    versions = [[e.schema, e.name, e.version, _hashes(cursor, e)] for e in entries]
    fingerprint_parts = [LAYOUT_VERSION, __version__, versions, asdict(requests)]
    return hashlib.sha256(json.dumps(fingerprint_parts).encode()).hexdigest()[:24]


def _hashes(cursor: Any, entry: LedgerEntry) -> str:
    """Return the hashes that the ledger stores for a version, as text.

    A version that was forgotten and created again has other hashes.
    """
    rows = cursor.execute(
        f"SELECT CAST(hashes AS VARCHAR) FROM {qualified(entry.database, catalog.SCHEMA, 'release')} "
        "WHERE (schema_name, name, version) = (?, ?, ?)",
        [entry.schema, entry.name, entry.version],
    ).fetchall()
    return str(rows[0][0])


def _publish_releases(
    attached: Session, cursor: Any, entries: list[LedgerEntry], draft_folder: Path
) -> tuple[dict[Path, LedgerEntry], list[tuple[str, str]]]:
    """Publish each release to a file in the draft folder; return the files with their ledger entries, and the failures.

    Failures are (name, message). An error of writing a file is raised.
    """
    files: dict[Path, LedgerEntry] = {}
    omitted: list[tuple[str, str]] = []
    for number, entry in enumerate(entries):
        path = draft_folder / f"{number}.duckdb"
        try:
            schema = "" if entry.schema == "main" else entry.schema
            write_release(attached, cursor, entry, path, OutputOptions(classes=True, table_schema=schema))
        except errors.WriteFailedError:
            raise
        except DbanonError as error:
            omitted.append((entry.display_name, str(error)))
        else:
            files[path] = entry
    return files, omitted


# --- what the file holds ---------------------------------------------------------------------------------------------


def _copy_statements(cursor: Any, files: dict[Path, LedgerEntry], requests: _ReaderRequests) -> Iterator[Sql]:
    """Yield the SQL statements that fill the copy, in the order in which a process of its own runs them.

    They create the tables for readers, copy the tables of each release from its file, store permissions and requests,
    and create the scalar functions.
    """
    yield Sql(f"CREATE SCHEMA {catalog.SCHEMA}")
    yield from (Sql(s) for s in fill("integrations/quack/published_tables.sql").split(";") if s.strip())
    for number, (path, entry) in enumerate(files.items()):
        part = identifier(f"part_{number}")
        yield Sql(f"ATTACH {text(str(path.resolve()))} AS {part} (READ_ONLY)")
        if entry.schema != "main":
            yield Sql(f"CREATE SCHEMA IF NOT EXISTS {identifier(entry.schema)}")
        for ending in _TABLE_SUFFIXES:
            columns = join_sql(_copied_column(c, t) for c, t in _table_columns(cursor, entry, ending).items())
            table = f"{part}.main.{identifier(entry.name + ending)}"
            if ending == "_certificate":
                table = f"{table} WHERE {_SERVED_LINES} ORDER BY rowid ASC"
            yield Sql(f"CREATE TABLE {qualified(entry.schema, entry.name + ending)} AS SELECT {columns} FROM {table}")
        yield _list_release(entry, part)
        yield Sql(f"DETACH {part}")
    yield from _request_statements(requests, {(entry.schema, entry.name) for entry in files.values()})
    yield from scalar_functions.macro_statements("", excluded_arguments=("hierarchy",))


def _request_statements(requests: _ReaderRequests, served_releases: set[tuple[str, str]]) -> Iterator[Sql]:
    """Yield the statements that store permissions and outcomes of requests, without private parameters.

    `served_releases` are (schema, name) of the releases in the copy; an outcome with another release has NULL.
    """
    redacted_permissions, redacted_requests = permissions.redact_private(
        requests.permissions, [outcome.request for outcome in requests.outcomes]
    )
    for permission in redacted_permissions:
        yield Sql(f"INSERT INTO {catalog.SCHEMA}.permitted VALUES ({join_sql(map(argument, permission.row))})")
    for redacted_request, outcome in zip(redacted_requests, requests.outcomes, strict=True):
        release = outcome.release if outcome.release in served_releases else None
        values = join_sql(literal(v) for v in (*astuple(redacted_request), *(release or (None, None))))
        yield Sql(f"INSERT INTO {catalog.SCHEMA}.release_request VALUES ({values})")


def _table_columns(cursor: Any, entry: LedgerEntry, table_suffix: str) -> dict[str, str]:
    """Return the SQL types of the columns of a release's table by name.

    `table_suffix` is that of the table's name: "", "_classes", "_metrics" or "_certificate". The table of the
    certificate always has four text columns; those of the others are read from the catalog.
    """
    if table_suffix == "_certificate":
        return dict.fromkeys(("section", "item", "value", "sql"), "VARCHAR")
    return catalog.columns_of(cursor, (entry.database, entry.schema, entry.name + table_suffix))


def _copied_column(name: str, type_: str) -> Sql:
    """Return the SQL of a copied column; an ENUM becomes text, other types are unchanged.

    The values of the ENUM would name values that were not released, and clients that attach a server fail on it.
    """
    column = identifier(name)
    return Sql(f"CAST({column} AS VARCHAR) AS {column}" if "ENUM" in type_ else column)


_SERVED_LINES = Sql(f"section <> {text(FILES_SECTION)}")
"""The condition of the lines of a certificate that are served: the hashes are of tables whose types can be others."""


def _list_release(entry: LedgerEntry, part: Sql) -> Sql:
    """Return the INSERT that adds a release to the list for readers, with its number of rows and its certificate.

    `part` is the quoted name of the attached file of the release.
    """
    certificate = f"{part}.main.{identifier(entry.name + '_certificate')}"
    return Sql(
        f"INSERT INTO {catalog.SCHEMA}.served "
        f"SELECT {join_sql(map(literal, (entry.schema, entry.name, entry.display_name)))}, "
        f"{entry.version}, (SELECT count(*) FROM {qualified(entry.schema, entry.name)}), "
        f"list({{'section': section, 'item': item, 'value': value, 'sql': sql}} ORDER BY rowid) "
        f"FROM {certificate} WHERE {_SERVED_LINES}"
    )
