"""Compare published files with the ledger of the database that they were published from: hashes, versions, rows."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from dbanon import errors
from dbanon.ledger import published_files
from dbanon.runtime import session
from dbanon.runtime.storage_version import translate_version_errors
from dbanon.source import catalog
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.quote import qualified, text


@dataclass(frozen=True)
class CertifiedFile:
    """A published file with what its certificate says of it.

    Attributes:
        path: The file.
        sha256: Its SHA-256.
        release: The name of the release according to the certificate; None without one.
        version: The version, likewise.
        n_rows: Its number of rows if it is the release; None for other files.
    """

    path: Path
    sha256: str
    release: str | None = None
    version: int | None = None
    n_rows: int | None = None


@dataclass(frozen=True)
class Ledger:
    """The ledgers of a database or of the databases of a connection, read once.

    Attributes:
        name: The path of the database, or `the ledger` of a connection.
        records: The numbers of released rows by release and version; several if schemas have releases of one name.
        files: The (release, version, file name) of published files, by SHA-256.
    """

    name: str
    records: Mapping[tuple[str, int], Collection[int]]
    files: Mapping[str, Sequence[tuple[str, int, str]]]

    def problems(self, file: CertifiedFile) -> Iterator[str]:
        """Yield how a file differs from what the ledger has of it."""
        name, certified = file.path.name, (file.release, file.version)
        entries = self.files.get(file.sha256, ())
        if not entries:
            others = sorted({(r, v) for rows in self.files.values() for r, v, other in rows if other == name})
            as_listed = "".join(
                f"; the {name} that it lists, of {_version_name(*other)}, has another" for other in others[-1:]
            )
            yield f"{self.name} lists no file with the hash of {name}{as_listed}"
        elif file.release is not None and certified not in [(release, version) for release, version, _ in entries]:
            in_ledger, in_certificate = _version_name(*entries[-1][:2]), _version_name(*certified)
            yield f"{name} is {in_ledger} in {self.name}, and {in_certificate} in its certificate"
        if file.release is None or file.version is None:
            return
        n_records = self.records.get((file.release, file.version), ())
        if not n_records:
            yield f"{self.name} has no {_version_name(*certified)}"
        elif file.n_rows is not None and file.n_rows not in n_records:
            counts = " or ".join(map(str, n_records))
            rows = plural_form(file.n_rows, "row", "rows")
            yield f"{name} has {file.n_rows} {rows}, and {_version_name(*certified)} has {counts} in {self.name}"


def _version_name(release: str | None, version: int | None) -> str:
    """Return a version as messages name it."""
    return f"version {version} of {release}"


def read_ledger(source: Any) -> Ledger:
    """Read the ledgers of a database file or of all databases of a connection.

    Args:
        source: The path of a database, which is opened for reading, or a connection of DuckDB or dbanon.

    Raises:
        InvalidArgumentError: There is no ledger.
        NewerDatabaseError: A newer DuckDB wrote the database.
    """
    if not isinstance(source, (str, Path)):
        with session.plain_connection(source).cursor() as cursor:
            return _read_ledger(cursor, "the ledger")
    if not Path(source).is_file():
        raise errors.InvalidArgumentError("verify", "ledger", _ACCEPTS, repr(str(source)))
    with translate_version_errors(source), duckdb.connect() as connection:
        try:
            connection.execute(f"ATTACH {text(str(Path(source).absolute()))} AS ledger (READ_ONLY)")
        except duckdb.Error as error:
            if "newer version" in str(error):
                raise
            raise errors.InvalidArgumentError("verify", "ledger", _ACCEPTS, repr(str(source))) from error
        return _read_ledger(connection, f"the ledger of {Path(source).name}")


_ACCEPTS = "the database with the ledger of the release, or a connection to it"


def _read_ledger(cursor: Any, name: str) -> Ledger:
    """Read the ledgers of all databases of a connection, which is called `name` in messages."""
    databases = cursor.execute(
        "SELECT database_name FROM system.main.duckdb_databases() WHERE NOT internal ORDER BY database_name ASC"
    ).fetchall()
    ledgers = [str(database) for (database,) in databases if catalog.has_table(cursor, database, "release")]
    if not ledgers:
        raise errors.InvalidArgumentError("verify", "ledger", _ACCEPTS, "a database without releases")
    records: dict[tuple[str, int], list[int]] = {}
    files: dict[str, list[tuple[str, int, str]]] = {}
    for database in ledgers:
        table = qualified(database, catalog.SCHEMA, "release")
        for release, version, n_rows in cursor.execute(f"SELECT name, version, records FROM {table}").fetchall():
            records.setdefault((release, version), []).append(n_rows)
        if not catalog.has_table(cursor, database, published_files.TABLE):
            continue
        table = qualified(database, catalog.SCHEMA, published_files.TABLE)
        query = f"SELECT name, version, file, sha256 FROM {table} WHERE channel = 'file' ORDER BY published_at ASC"
        for release, version, file, digest in cursor.execute(query).fetchall():
            files.setdefault(digest, []).append((release, version, Path(file).name))
    return Ledger(name, records, files)
