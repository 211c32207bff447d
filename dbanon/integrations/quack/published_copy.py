"""What readers are served: a database file with the published releases and nothing else.

It is made by a process that ends with it. Each release is written as `publish` writes it, so what was changed since it
was released is left out; then all are copied into one file, by a process that never saw the source.
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
from dbanon.api.publish import publish
from dbanon.errors import DbanonError
from dbanon.ledger import permissions, releases
from dbanon.ledger.permissions import Permission
from dbanon.ledger.releases import LedgerEntry
from dbanon.publishing.release_files import write_database
from dbanon.runtime import atomic_write, session, storage_version
from dbanon.runtime.version import __version__
from dbanon.source import catalog
from dbanon.sqltext.quote import Sql, argument, identifier, join_sql, literal, qualified, text
from dbanon.sqltext.templates import fill
from dbanon.table_functions import scalar_functions
from dbanon.views import release_requests
from dbanon.views.release_requests import RequestOutcome

LAYOUT = 3
"""Changes whenever files are made in another way."""

_ENDINGS = ("", "_classes", "_metrics", "_certificate")
_CURRENT = "current.json"
_MAKING = ".making-"
_HOUR = 3600.0


def folder_of(database: Path) -> Path:
    """Where the copies of a database lie, beside it."""
    return database.with_name(database.name + ".published")


def prepared(folder: Path) -> None:
    """Make the folder, which nobody else can read, and remove what processes that were killed left in it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for left in folder.glob(f"{_MAKING}*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _HOUR:
                shutil.rmtree(left)


@dataclass(frozen=True)
class Copies:
    """The file that is to be served, and the releases that are not in it, with the reason."""

    path: Path
    left_out: tuple[tuple[str, str], ...]


def current(folder: Path) -> Copies | None:
    """Return the newest file of a folder; None where none was made, or by a version that made them in another way."""
    with contextlib.suppress(FileNotFoundError):
        said = json.loads((folder / _CURRENT).read_text(encoding="utf-8"))
        path = folder / str(said["file"])
        if path.exists() and said.get("layout") == LAYOUT:
            return Copies(path, tuple((str(name), str(why)) for name, why in said["left_out"]))
    return None


def refreshed(connection: Any, folder: Path) -> Copies:
    """Return the file of what an attached connection's database has published now, made where it is not there yet."""
    attached = session.find_session(getattr(connection, "raw", connection))
    database = catalog.SearchPath.here(connection).places[0][0]
    with attached.cursor() as cursor:
        entries = releases.entries(cursor, database, "status = 'published'")
        asking = _Asking.of(cursor, database)
        mark = _fingerprint(cursor, entries, asking)
        found = current(folder)
        if found is not None and found.path.name == _name(mark, []):
            return found
        with tempfile.TemporaryDirectory(prefix=_MAKING, dir=folder) as making:
            files, left_out = _handed_out(connection, entries, Path(making))
            name = _name(mark, left_out)
            with _replaced(folder / name) as draft:
                write_database(draft, name, storage_version.DEFAULT_VERSION, list(_statements(cursor, files, asking)))
    with atomic_write.open_drafts({"": folder / _CURRENT}, []) as written:
        left_out += asking.problems
        written[""].write_text(json.dumps({"layout": LAYOUT, "file": name, "left_out": left_out}), encoding="utf-8")
    for old in folder.glob("releases-*.duckdb"):
        if old.name != name:  # a process that still reads it keeps it
            with contextlib.suppress(OSError):
                old.unlink()
    return Copies(folder / name, tuple(left_out))


def _name(mark: str, left_out: list[tuple[str, str]]) -> str:
    """The file with the releases of a fingerprint but for those that were left out, which another time may not be."""
    without = hashlib.sha256(json.dumps(left_out).encode()).hexdigest()[:8] if left_out else "all"
    return f"releases-{mark}-{without}.duckdb"


@contextlib.contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """Return a draft that becomes the file once it is whole."""
    with atomic_write.open_drafts({"": path}, []) as written:
        yield written[""]


@dataclass(frozen=True)
class _Asking:
    """What readers may ask to be released, which permissions permit nothing and why, and what was asked for."""

    permissions: list[Permission]
    problems: list[tuple[str, str]]
    outcomes: list[RequestOutcome]

    @classmethod
    def of(cls, cursor: Any, database: str) -> _Asking:
        found, wrong = permissions.stored_permissions(cursor, database)
        problems = [(f"what readers may ask of {source}", why) for source, why in wrong]
        return cls(found, problems, release_requests.stored_outcomes(cursor, database))


def _fingerprint(cursor: Any, entries: list[LedgerEntry], asking: _Asking) -> str:
    """What the file is known by: which versions of which releases, made how, and what may be and was asked for."""
    versions = [[e.schema, e.name, e.version, _hashes(cursor, e)] for e in entries]
    known = [LAYOUT, __version__, versions, asdict(asking)]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:24]


def _hashes(cursor: Any, entry: LedgerEntry) -> str:
    """Return the hashes that the ledger keeps of a version: one that was forgotten and made anew has others."""
    found = cursor.execute(
        f"SELECT CAST(hashes AS VARCHAR) FROM {qualified(entry.database, catalog.SCHEMA, 'release')} "
        "WHERE (schema_name, name, version) = (?, ?, ?)",
        [entry.schema, entry.name, entry.version],
    ).fetchall()
    return str(found[0][0])


def _handed_out(
    connection: Any, entries: list[LedgerEntry], making: Path
) -> tuple[dict[Path, LedgerEntry], list[tuple[str, str]]]:
    """Return a file of each release that may be handed out, and why the others may not."""
    files: dict[Path, LedgerEntry] = {}
    left_out: list[tuple[str, str]] = []
    for number, entry in enumerate(entries):
        path = making / f"{number}.duckdb"
        try:
            publish(connection, qualified(entry.database, entry.schema, entry.name), path, classes=True)
        except errors.WriteFailedError:
            raise
        except DbanonError as error:
            left_out.append((entry.shown, str(error)))
        else:
            files[path] = entry
    return files, left_out


# --- what the file holds ---------------------------------------------------------------------------------------------


def _statements(cursor: Any, files: dict[Path, LedgerEntry], asking: _Asking) -> Iterator[Sql]:
    """What makes the file, in the current database of a process of its own."""
    yield Sql(f"CREATE SCHEMA {catalog.SCHEMA}")
    yield from (Sql(s) for s in fill("integrations/quack/published_tables.sql").split(";") if s.strip())
    for number, (path, entry) in enumerate(files.items()):
        part = identifier(f"part_{number}")
        yield Sql(f"ATTACH {text(str(path.resolve()))} AS {part} (READ_ONLY)")
        if entry.schema != "main":
            yield Sql(f"CREATE SCHEMA IF NOT EXISTS {identifier(entry.schema)}")
        for ending in _ENDINGS:
            columns = join_sql(_carried(c, t) for c, t in _columns(cursor, entry, ending).items())
            table = f"{part}.main.{identifier(entry.name + ending)}"
            yield Sql(f"CREATE TABLE {qualified(entry.schema, entry.name + ending)} AS SELECT {columns} FROM {table}")
        yield _listed(entry, part)
        yield Sql(f"DETACH {part}")
    yield from _answers(asking, {(entry.schema, entry.name) for entry in files.values()})
    yield from scalar_functions.macro_statements("", excluded_arguments=("hierarchy",))


def _answers(asking: _Asking, served: set[tuple[str, str]]) -> Iterator[Sql]:
    """What readers may ask for, and what became of what they asked for, without private parameters."""
    permitted, askings = permissions.redact_private(asking.permissions, [outcome.asking for outcome in asking.outcomes])
    for permission in permitted:
        yield Sql(f"INSERT INTO {catalog.SCHEMA}.permitted VALUES ({join_sql(map(argument, permission.row))})")
    for shown, outcome in zip(askings, asking.outcomes, strict=True):
        release = outcome.release if outcome.release in served else None
        values = join_sql(literal(v) for v in (*astuple(shown), *(release or (None, None))))
        yield Sql(f"INSERT INTO {catalog.SCHEMA}.asked VALUES ({values})")


def _columns(cursor: Any, entry: LedgerEntry, ending: str) -> dict[str, str]:
    if ending == "_certificate":
        return dict.fromkeys(("section", "item", "value", "sql"), "VARCHAR")
    return catalog.columns_of(cursor, (entry.database, entry.schema, entry.name + ending))


def _carried(name: str, type_: str) -> Sql:
    """A column; an enumeration as text: its list would name values that were not released, and clients that attach a
    server fail on it."""
    column = identifier(name)
    return Sql(f"CAST({column} AS VARCHAR) AS {column}" if "ENUM" in type_ else column)


def _listed(entry: LedgerEntry, part: Sql) -> Sql:
    """Return the release in the list that readers see."""
    certificate = f"{part}.main.{identifier(entry.name + '_certificate')}"
    return Sql(
        f"INSERT INTO {catalog.SCHEMA}.served "
        f"SELECT {join_sql(map(literal, (entry.schema, entry.name, entry.shown)))}, "
        f"{entry.version}, (SELECT count(*) FROM {qualified(entry.schema, entry.name)}), "
        f"list({{'section': section, 'item': item, 'value': value, 'sql': sql}} ORDER BY rowid) FROM {certificate}"
    )
