"""Check published files against the certificate next to them, or in the database."""

import contextlib
import csv
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from dbanon import errors
from dbanon.ledger import hashes
from dbanon.publishing.certificate import FILES_SECTION
from dbanon.publishing.ledger_comparison import CertifiedFile, read_ledger
from dbanon.runtime.csv_formulas import unescape_cell
from dbanon.sqltext import names
from dbanon.sqltext.quote import one_line, qualified, text


def verify(path: str | Path, ledger: Any = None) -> list[str]:
    """Return the problems of published files: an empty list if all are as they were published.

    The SHA-256 of each file is compared with the certificate; in a .duckdb file, that of the columns and rows of each
    table. The certificate is not signed: anyone who changes the release can write a certificate for it. Compare it with
    one that you received another way, or give the ledger: the SHA-256 of each file, the version and the number of rows
    are then compared with what it has of them.

    Args:
        path: The file of the release (.parquet, .csv, .duckdb), or a folder, in which every certificate is checked.
        ledger: The database from which the files were published, as a path or an open connection.

    Returns:
        One sentence per problem, beginning with the name of the certificate or of the .duckdb file.

    Raises:
        InvalidArgumentError: There is no certificate, or no ledger.
        NewerDatabaseError: A newer DuckDB wrote the database of the ledger.

    Examples:
        >>> import tempfile
        >>> import dbanon
        >>> con = dbanon.connect()
        >>> _ = con.execute("CREATE TABLE people AS SELECT unnest([21, 23, 61, 65]) AS age")
        >>> _ = dbanon.create_release(con, "safe", "mdav", "people", k=2, qi=["age"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     dbanon.verify(dbanon.publish(con, "safe", f"{folder}/safe.parquet")[0])
        []
    """
    listed_files = None if ledger is None else read_ledger(ledger)
    target = Path(path)
    certificates = [target.with_name(f"{target.stem}_certificate{target.suffix}")]
    databases = [target] if target.suffix.lower() == ".duckdb" and target.is_file() else []
    if target.is_dir():
        certificates = sorted(p for e in ("parquet", "csv") for p in target.glob(f"*_certificate.{e}"))
        databases = sorted(target.glob("*.duckdb"))
    certificates = [p for p in certificates if p.is_file() and p.suffix.lower() in (".parquet", ".csv")]
    problems_by_file = {file.name: _certificate_problems(file) for file in certificates}
    for file in databases:
        problems = _database_file_problems(file)
        if problems is not None:
            problems_by_file[file.name] = problems
    if not problems_by_file:
        accepts = (
            "a .duckdb file that publish wrote, a .parquet or .csv file that it wrote, with its certificate in the "
            "same folder, or a folder with such files"
        )
        raise errors.InvalidArgumentError("verify", "path", accepts, str(path))
    if listed_files is not None:
        for certificate in certificates:
            for certified in _certified_files(certificate):
                problems_by_file[certificate.name].extend(listed_files.problems(certified))
        for file in databases:
            if file.name in problems_by_file:
                problems_by_file[file.name].extend(listed_files.problems(_certified_database(file)))
    return [f"{name}: {problem}" for name, problems in problems_by_file.items() for problem in problems]


def _database_file_problems(path: Path) -> list[str] | None:
    """Return how a published DuckDB file differs from its certificates; None if it has no certificate.

    The file is read by a connection that can read nothing else.
    """
    with duckdb.connect() as connection:
        try:
            connection.execute(f"ATTACH {text(str(path.absolute()))} AS handout (READ_ONLY)")
            connection.execute("SET enable_external_access = false")
            if not _certificate_tables(connection, "handout"):
                return None
            return list(written_database_problems(connection, "handout"))
        except duckdb.Error as error:
            return [f"it cannot be read: {str(error).splitlines()[0]}"]


def written_database_problems(connection: Any, database: str) -> Iterator[str]:
    """Yield how the tables of a published database differ from what its certificates record.

    Problems are: a table is missing or has other columns or rows; no certificate names a table; a certificate has no
    hashes. O(rows).

    Args:
        connection: A connection to which the database is attached.
        database: The name of the database.
    """
    certificates = _certificate_tables(connection, database)
    tables = {str(row[0]) for row in connection.execute(_TABLES, [database]).fetchall()}
    named = set(certificates)
    for certificate in certificates:
        rows = connection.execute(
            f"SELECT item, value FROM {qualified(database, 'main', certificate)} WHERE section = ?", [FILES_SECTION]
        ).fetchall()
        if not rows:
            named |= {name for name in tables if name.startswith(certificate.removesuffix(_CERTIFICATE))}
            yield f"{certificate} has no hashes; an earlier version of dbanon wrote it. Hint: publish it again"
        for item, value in rows:
            name = str(item).removeprefix(ROWS_OF)
            named.add(name)
            if name not in tables:
                yield f"table {name} is missing"
                continue
            relation = qualified(database, "main", name)
            columns = connection.execute(f"DESCRIBE FROM {relation}").fetchall()
            if hashes.hash_relation(connection, relation, {str(row[0]): str(row[1]) for row in columns}) != value:
                yield f"table {name} has other columns or rows, or another order, than when it was published"
    yield from (f"no certificate names table {name}" for name in sorted(tables - named))


_TABLES = (
    "SELECT table_name FROM information_schema.tables WHERE table_catalog = ? AND table_schema = 'main' "
    "ORDER BY table_name ASC"
)
_CERTIFICATE = "_certificate"
ROWS_OF = "rows of "
"""The beginning of the items of a certificate in a database that have the hashes of tables."""


def _certificate_tables(connection: Any, database: str) -> list[str]:
    """Return the names of the certificates in an attached database; none in a custodian's database."""
    tables = [str(row[0]) for row in connection.execute(_TABLES, [database]).fetchall()]
    return [name for name in tables if name.endswith(_CERTIFICATE) and name.removesuffix(_CERTIFICATE) in tables]


def _certificate_problems(certificate: Path) -> list[str]:
    """Return how published files differ from what their certificate records; an empty list if nothing differs.

    Problems are: a file is missing or has another hash; the text form of the certificate is missing or names other
    hashes; the certificate names no files.
    """
    hashes = _certificate_items(certificate, FILES_SECTION)
    if hashes is None:
        return ["it cannot be read as a certificate"]
    if not hashes:
        return ["it names no files; an earlier version of dbanon wrote it"]
    problems = []
    for name, expected in hashes.items():
        file = certificate.with_name(name) if name == Path(name).name else None
        if file is None or not file.is_file():
            problems.append(f"{name} is missing")
        elif file_hash(file) != expected:
            problems.append(f"{name} is not the file that it was written for")
    read = certificate.with_name(f"{certificate.name}.txt")
    lines = read.read_text(encoding="utf-8", errors="replace").split("\n") if read.is_file() else []
    if not lines:
        problems.append(f"{read.name} is missing")
    elif any(f"  {one_line(f'{name}: {value}')}" not in lines for name, value in hashes.items()):
        problems.append(f"{read.name} belongs to other files")
    return problems


def _certified_files(certificate: Path) -> Iterator[CertifiedFile]:
    """Yield the files of a CSV or Parquet certificate that exist: the release and others, itself, and its text form."""
    stated = _certificate_items(certificate, "release") or {}
    release_name = f"{certificate.stem.removesuffix(_CERTIFICATE)}{certificate.suffix}"
    hashes = _certificate_items(certificate, FILES_SECTION) or {}
    for name in (*hashes, certificate.name, f"{certificate.name}.txt"):
        file = certificate.with_name(Path(name).name)
        if not file.is_file():
            continue
        if name == release_name:
            yield CertifiedFile(file, file_hash(file), stated.get("name"), _as_version(stated), _row_count(file))
        else:
            yield CertifiedFile(file, file_hash(file))


def _certified_database(path: Path) -> CertifiedFile:
    """Return a published DuckDB file with its certificate, without it if the file cannot be read."""
    certified = CertifiedFile(path, file_hash(path))
    with duckdb.connect() as connection, contextlib.suppress(duckdb.Error):
        connection.execute(f"ATTACH {text(str(path.absolute()))} AS handout (READ_ONLY)")
        connection.execute("SET enable_external_access = false")
        for certificate in _certificate_tables(connection, "handout")[:1]:
            certificate_rows, release_rows = (
                qualified("handout", "main", name) for name in (certificate, certificate.removesuffix(_CERTIFICATE))
            )
            query = f"SELECT item, value FROM {certificate_rows} WHERE section = 'release'"
            stated = dict(connection.execute(query).fetchall())
            ((n_rows,),) = connection.execute(f"SELECT count(*) FROM {release_rows}").fetchall()
            return replace(certified, release=stated.get("name"), version=_as_version(stated), n_rows=n_rows)
    return certified


def _as_version(stated: Mapping[str, str]) -> int | None:
    """Return the version that a certificate states; None if it is no number."""
    number = stated.get("version", "")
    return int(number) if number.isdecimal() else None


def _row_count(file: Path) -> int | None:
    """Return the number of rows of a CSV or Parquet file; None if it cannot be read."""
    name = text(names.escape_glob(str(file)))
    options = "all_varchar = true, header = true, delim = ',', quote = '\"', escape = '\"'"
    reader = f"read_parquet({name})" if file.suffix.lower() == ".parquet" else f"read_csv({name}, {options})"
    with duckdb.connect() as connection, contextlib.suppress(duckdb.Error):
        return int(connection.execute(f"SELECT count(*) FROM {reader}").fetchall()[0][0])
    return None


def _certificate_items(certificate: Path, wanted_section: str) -> Mapping[str, str] | None:
    """Return the items of a section of a CSV or Parquet certificate with their values; None if it cannot be read."""
    columns = ("section", "item", "value")
    try:
        if certificate.suffix.lower() == ".csv":
            with certificate.open(newline="", encoding="utf-8") as file:
                rows = [tuple(unescape_cell(row[name] or "") for name in columns) for row in csv.DictReader(file)]
        else:
            with duckdb.connect() as connection:
                relation = f"read_parquet({text(names.escape_glob(str(certificate)))})"
                rows = connection.execute(f"SELECT {', '.join(columns)} FROM {relation}").fetchall()
    except (duckdb.Error, csv.Error, KeyError, UnicodeDecodeError):
        return None
    return {str(label): str(value) for section, label, value in rows if section == wanted_section}


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
