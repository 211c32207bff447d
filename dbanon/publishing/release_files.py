"""Write a release as files for recipients: the release, its metrics and its certificate only."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from dbanon import errors
from dbanon.errors.warnings import UnrecordedFileWarning, warn
from dbanon.ledger import hashes, published_files
from dbanon.ledger.published_files import Handover, PublishedFile
from dbanon.ledger.releases import LedgerEntry
from dbanon.publishing import certificate as certificates, read_back, verify, written_columns
from dbanon.publishing.certificate import Certificate, Line
from dbanon.publishing.recompute_queries import TableLocations
from dbanon.runtime import (
    atomic_write,
    csv_formulas as csv_cells,
    output_files,
    storage_version as runtime_storage_version,
)
from dbanon.runtime.session import Session
from dbanon.source import catalog
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, identifier, join_sql, text

FORMATS = (".duckdb", ".parquet", ".csv")


@dataclass(frozen=True)
class OutputOptions:
    """The options of `publish`.

    Attributes:
        classes: Whether the table of classes is written, too.
        storage_version: The oldest DuckDB that shall read a .duckdb file; None for the default.
        overwrite: Whether existing files are replaced.
        csv_formulas: "escape" or "keep": the treatment of texts that a spreadsheet would run as formulas.
        table_schema: The schema that the certificate in a .duckdb file names for the tables, if these are copied from
            the file to a schema of another database; "" if they are read in the file.
    """

    classes: bool = False
    storage_version: str | None = None
    overwrite: bool = False
    csv_formulas: str = "escape"
    table_schema: str = ""


_CONTENTS = {
    "": "release", "_metrics": "metrics", "_classes": "classes", "_certificate": "certificate", "_text": "certificate",
}  # fmt: skip
"""What the files contain, by the keys of `_OutputFiles.final`, as the ledger names it."""


def publish_release(
    session: Session, cursor: Any, entry: LedgerEntry, target: str | Path, options: OutputOptions, handover: Handover
) -> list[Path]:
    """Write the files of a release as `write_release`, and record each of them in the ledger before it appears.

    A ledger that cannot be written gets no rows, and a warning says so.

    Args:
        session: The session.
        cursor: A cursor.
        entry: The version to write.
        target: A file with an ending of FORMATS, or a folder.
        options: The options.
        handover: Who gets the files, and why.

    Raises:
        InvalidArgumentError: A text of `handover` is empty.
        WriteFailedError: The ledger cannot be written, and `handover` is not empty.

    Also raises the errors of `write_release`.
    """
    handover.check("publish")
    is_recorded = published_files.is_writable(cursor, entry.database)
    if not is_recorded and not handover.is_empty:
        why = "the database is read-only, so recipient, purpose and legal basis cannot be stored"
        raise errors.WriteFailedError(f"the ledger of {entry.database}", why)
    recorded_files: list[PublishedFile] = []

    def record(paths: Mapping[str, tuple[Path, Path]]) -> None:
        """Record drafts, given with their final paths."""
        published_at = published_files.current_time()
        files = [
            PublishedFile(
                "file", _CONTENTS[kind], str(final.absolute()), verify.file_hash(draft), published_at, handover
            )
            for kind, (draft, final) in paths.items()
        ]
        published_files.record_files(session, cursor, entry, files)
        recorded_files.extend(files)

    try:
        paths = write_release(session, cursor, entry, target, options, record if is_recorded else None)
    except BaseException:
        published_files.forget_files(cursor, entry, recorded_files)  # drafts that did not become files
        raise
    if not is_recorded:
        message = f"{entry.database} is read-only: its ledger does not list the files that were written to {target}"
        warn(message, UnrecordedFileWarning)
    return paths


def write_release(
    session: Session,
    cursor: Any,
    entry: LedgerEntry,
    target: str | Path,
    options: OutputOptions,
    on_written: Callable[[Mapping[str, tuple[Path, Path]]], None] | None = None,
) -> list[Path]:
    """Write the files of a release, read them back, and return their paths, the release first; see `dbanon.publish`.

    Either all files appear or none.

    Args:
        session: The session.
        cursor: A cursor.
        entry: The version to write.
        target: A file with an ending of FORMATS, or a folder.
        options: The options.
        on_written: Is called before the files appear, with pairs of the draft and the final path of each file, by
            the keys of `_OutputFiles.final`.

    Raises:
        InvalidArgumentError: An option or the ending of the target is not accepted.
        TargetExistsError: A file exists, and may not be replaced.
        TargetInUseError: A file is being read.
        ReleaseChangedError: The tables of the release have changed since it was published.
        OutputDiffersError: A file differs from the release after writing.
    """
    files = _OutputFiles.from_target(str(target), entry.name, options.classes)
    is_escaped = csv_cells.is_escape("publish", options.csv_formulas)
    if options.storage_version is not None and files.form != ".duckdb":
        raise errors.InvalidArgumentError("publish", "storage_version", "omitted unless to is a .duckdb file", target)
    made_of = str(entry.call["source"])
    files.check(cursor, options.overwrite, [Path(made_of)] if names.is_file(made_of) else [])
    handout = _ReleaseWriter(session, cursor, entry, files, is_escaped)
    with output_files.translate_os_errors("publish", target), files.drafts() as drafts:
        if files.form == ".duckdb":
            version = options.storage_version or runtime_storage_version.DEFAULT_VERSION
            handout.database(drafts[""], version, options.table_schema)
        else:
            handout.tables(drafts)
        if on_written is not None:
            on_written({kind: (draft, files.final[kind]) for kind, draft in drafts.items()})
    return [files.final[kind] for kind in files.final if kind != "_classes" or options.classes]


def output_paths(target: str | Path, name: str) -> list[Path]:
    """Return every file that `publish` of a release of that name may write or remove.

    Raises:
        InvalidArgumentError: The target has an unknown ending.
        TargetNotLocalError: The target is a URL.
    """
    return list(_OutputFiles.from_target(str(target), name, True).final.values())


# --- files -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _OutputFiles:
    """The files that a release is written to.

    Attributes:
        target: The target as it was given.
        form: The ending of the release's file: .duckdb, .parquet or .csv.
        final: The paths by table ("", "_metrics", "_classes", "_certificate") and "_text", the certificate as text;
            only "" for a .duckdb file, which has all tables.
        classes: Whether the table of classes is wanted.
    """

    target: str
    form: str
    final: Mapping[str, Path]
    classes: bool

    @classmethod
    def from_target(cls, target: str, name: str, classes: bool) -> _OutputFiles:
        """Return the paths of the files that a release is written to; none of them is created.

        Args:
            target: A file with an ending of FORMATS, or a folder, which gets NAME.parquet. A target that ends with a
                slash, is an existing folder or has no ending is a folder.
            name: The name of the release.
            classes: Whether the file of classes is wanted.

        Raises:
            InvalidArgumentError: The target has an unknown ending.
            TargetNotLocalError: The target is a URL.
            WriteFailedError: A path cannot exist, for example because its name is too long.
        """
        path = output_files.local_target("publish", target)
        is_nameless = path.name.lower() in FORMATS and not path.is_dir()
        if target.endswith(("/", os.sep)) or path.is_dir() or not (path.suffix or is_nameless):
            path = path / (re.sub(r"[^\w.-]", "_", name) + ".parquet")
        form = path.suffix.lower()
        if form not in FORMATS:
            raise errors.InvalidArgumentError(
                "publish", "to", f"a file ending in {', '.join(FORMATS)}, or a folder", target
            )
        final = {"": path}
        if form != ".duckdb":
            endings = {e: e + path.suffix for e in ("_metrics", "_classes", "_certificate")}
            endings["_text"] = f"_certificate{path.suffix}.txt"
            final |= {kind: path.with_name(path.stem + ending) for kind, ending in endings.items()}
        with output_files.translate_os_errors("publish", target):
            [file.exists() for file in final.values()]  # a name with an ending can be too long to be asked for
        return cls(target, form, final, classes)

    def check(self, cursor: Any, overwrite: bool, read: Sequence[Path]) -> None:
        """Check that no output file is being read, and that none exists unless it may be replaced.

        Args:
            cursor: A cursor; files of attached databases count as being read.
            overwrite: Whether existing files may be replaced.
            read: Further files that are being read.

        Raises:
            TargetInUseError: A file is being read.
            TargetExistsError: A file exists, and `overwrite` is false.
        """
        output_files.check_not_source("publish", self.final.values(), [*output_files.source_files(cursor), *read])
        with output_files.translate_os_errors("publish", self.target):
            existing_paths = [str(p) for p in self.final.values() if p.exists()]
        if existing_paths and not overwrite:
            raise errors.TargetExistsError(self.target, existing_paths)

    def drafts(self) -> contextlib.AbstractContextManager[dict[str, Path]]:
        """Return a context manager that yields draft paths, by the keys of `final`, for the files that are wanted.

        At the end of the block all drafts replace the final files together; after an error none remains. Files of an
        earlier release that are not wanted any more are then removed: the classes, the log of a database, and an
        earlier certificate.
        """
        wanted = {kind: path for kind, path in self.final.items() if kind != "_classes" or self.classes}
        # An earlier file's classes, and its log, are not of this one.
        outdated_paths = (
            [output_files.wal_file(self.final[""])]
            if self.form == ".duckdb"
            else [self.final[k] for k in self.final.keys() - wanted]
        )
        outdated_paths += _old_certificates(self.final[""])
        return atomic_write.open_drafts(wanted, outdated_paths)


def _old_certificates(path: Path) -> list[Path]:
    """Return the certificate of the file that an earlier version of dbanon wrote, in a list; empty if there is none.

    Its name lacks the ending of the file.
    """
    old = path.with_name(f"{path.stem}_certificate.txt")
    with contextlib.suppress(OSError, UnicodeDecodeError):
        content = old.read_text(encoding="utf-8")
        if content.startswith("release\n") and text(path.name) in content:
            return [old]
    return []


# --- what is written -------------------------------------------------------------------------------------------------


class _ReleaseWriter:
    """Writer of the files of one release; all tables are read in one transaction."""

    def __init__(
        self, current: Session, cursor: Any, entry: LedgerEntry, files: _OutputFiles, is_escaped: bool
    ) -> None:
        """Store what is written: the tables of the version `entry`, to `files`; formulas are escaped only in CSV."""
        self.session, self.cursor, self.entry, self.files = current, cursor, entry, files
        self.is_escaped = is_escaped and files.form == ".csv"
        self.escaped_columns: dict[str, list[str]] = {}  # by the ending of the table's name, once they are known

    def database(self, draft: Path, storage_version: str, table_schema: str) -> None:
        """Write a DuckDB database with one table for each table of the release, and read it back.

        The tables are first copied to temporary Parquet files, from which another process creates the database.

        Args:
            draft: The file to write.
            storage_version: The oldest DuckDB that shall read the file.
            table_schema: The schema that the certificate names for the tables; "" for none.

        Raises:
            StorageVersionTooOldError: The storage version cannot store the type of a column.
            OutputDiffersError: The database differs from the release.
        """
        name = self.entry.name
        parts = {ending: draft.with_name(f"{draft.name}{ending}.part") for ending in (*self._endings(), "_certificate")}
        types = {}
        try:
            with self._transaction() as certificate:
                lines = certificate.lines(certificate.published_tables(classes=self.files.classes, schema=table_schema))
                released_tables = self._released_tables(certificate)
                for ending in self._endings():
                    types[ending] = self._types(ending)
                    runtime_storage_version.check_column_types("publish", types[ending], storage_version)
                    stored = self._columns(ending)
                    columns = join_sql(
                        f"{written_columns.parquet_column(n, stored[n], t)} AS {identifier(n)}"
                        for n, t in types[ending].items()
                    )
                    self._copy(Sql(f"SELECT {columns} FROM {self._in_order(ending)}"), parts[ending])
                    lines.append(self._row_hash(ending, types[ending]))
                self._copy(certificates.rows_sql(lines), parts["_certificate"])
            types["_certificate"] = dict.fromkeys(certificates.COLUMNS, "VARCHAR")
            tables = [
                f"CREATE TABLE {identifier(name + ending)} AS SELECT "
                + join_sql(f"CAST({identifier(n)} AS {t}) AS {identifier(n)}" for n, t in types[ending].items())
                + f" FROM read_parquet({text(str(part.resolve()))})"
                for ending, part in parts.items()
            ]
            write_database(draft, self.files.target, storage_version, tables)
        finally:
            for part in parts.values():
                part.unlink(missing_ok=True)
        with read_back.open_reader(self.files.target, database=draft) as reader:
            for ending in self._endings():
                reader.check(reader.table(name + ending).difference(released_tables[ending]))
            reader.check(
                reader.table(name + "_metrics").withheld_metrics(self.entry.options.get("leaves")),
                reader.table(name + "_certificate").other_lines(lines),
                *verify.written_database_problems(reader.connection, "handout"),
            )

    def tables(self, drafts: Mapping[str, Path]) -> None:
        """Write one Parquet or CSV file per table and the certificate, also as text, and read them back.

        The certificate contains the hash of every other file.

        Args:
            drafts: The files to write, by the keys of `_OutputFiles.final`.

        Raises:
            OutputDiffersError: A file differs from the release.
        """
        with self._transaction() as certificate:
            groups = certificate.stored_groups(self._columns(""))
            read = {ending: self._reads(ending, groups if ending == "" else None) for ending in self._endings()}
            lines = certificate.lines(TableLocations(read[""], read["_metrics"], read.get("_classes")))
            for ending in self._endings():
                self._copy(Sql(f"SELECT {self._selected(ending)} FROM {self._in_order(ending)}"), drafts[ending])
            lines += [self._hash(ending, drafts[ending]) for ending in self._endings()]
            rows, columns = certificates.rows_sql(lines), dict.fromkeys(certificates.COLUMNS, "VARCHAR")
            if self.is_escaped:
                rows = Sql(f"SELECT {written_columns.CsvColumns(columns, True).selected()} FROM ({rows})")
            self._copy(rows, drafts["_certificate"])
            drafts["_text"].write_text(certificates.as_text(lines), encoding="utf-8")
            released_tables = self._released_tables(certificate)
            with read_back.open_reader(self.files.target, is_escaped=self.is_escaped) as reader:
                read_table = reader.csv if self.files.form == ".csv" else reader.parquet
                for ending in self._endings():
                    reader.check(
                        read_table(drafts[ending], released_tables[ending]).difference(released_tables[ending])
                    )
                reader.check(
                    read_table(drafts["_metrics"], released_tables["_metrics"]).withheld_metrics(
                        self.entry.options.get("leaves")
                    ),
                    read_table(drafts["_certificate"]).other_lines(lines),
                )

    def _released_tables(self, certificate: Certificate) -> dict[str, read_back.ReleasedTable]:
        """Return the tables of the release, with the hashes, if any, recorded when the gate had passed them.

        They are by the ending of the table's name: "", "_metrics" and, if it is wanted, "_classes".
        """
        stored_hashes = dict(certificate.row["hashes"] or {})
        return {
            ending: read_back.ReleasedTable(
                self.cursor, self.entry.table(ending), self._columns(ending), stored_hashes.get(ending)
            )
            for ending in self._endings()
        }

    def _selected(self, table_suffix: str) -> Sql:
        """Return the SELECT list of a table as it is written to a Parquet or CSV file.

        `table_suffix` is the ending of the table's name after that of the release: "", "_metrics" or "_classes".
        """
        columns = self._columns(table_suffix)
        if self.files.form == ".csv":
            return self._csv(columns).selected(self.escaped_columns.get(table_suffix))
        return join_sql(f"{written_columns.plain_column(n, t)} AS {identifier(n)}" for n, t in columns.items())

    def _csv(self, columns: Mapping[str, str]) -> written_columns.CsvColumns:
        """Return columns (type by name) as they are written to CSV."""
        return written_columns.CsvColumns(
            columns, self.is_escaped, [n for n, role in self.entry.roles.items() if role == "quasi"]
        )

    def _hash(self, table_suffix: str, draft: Path) -> Line:
        """Return the line of the certificate with the SHA-256 of a table's file, and SQL that recomputes it.

        Args:
            table_suffix: The ending of the table's name after that of the release: "", "_metrics" or "_classes".
            draft: The temporary file, which is read. The line and the SQL have the final name.
        """
        name = self.files.final[table_suffix].name
        return Line(
            certificates.FILES_SECTION,
            name,
            verify.file_hash(draft),
            Sql(f"SELECT sha256(content) FROM read_blob({text(names.escape_glob(name))})"),
        )

    def _row_hash(self, table_suffix: str, types: Mapping[str, str]) -> Line:
        """Return the line of the certificate with the SHA-256 of a table's columns and rows, which `verify` compares.

        Args:
            table_suffix: The ending of the table's name after that of the release: "", "_metrics" or "_classes".
            types: The types of its columns in the database that is written.
        """
        value = hashes.hash_relation(self.cursor, written_columns.cast(self.entry.table(table_suffix), types), types)
        return Line(certificates.FILES_SECTION, verify.ROWS_OF + self.entry.name + table_suffix, value)

    def _endings(self) -> list[str]:
        """Return the endings of the names of the tables to write: "", "_metrics" and, if it is wanted, "_classes"."""
        return ["", "_metrics", *(["_classes"] if self.files.classes else [])]

    def _in_order(self, table_suffix: str) -> Sql:
        """Return a table of the release with an ORDER BY that keeps the order of its rows, if one is needed.

        CSV has no groups of rows that depend on how DuckDB reads the table, so rows are not sorted if DuckDB keeps
        their order. `table_suffix` is the ending of the table's name after that of the release: "", "_metrics" or
        "_classes".
        """
        setting = "SELECT system.main.current_setting('preserve_insertion_order')"
        if self.files.form == ".csv" and self.cursor.execute(setting).fetchall()[0][0]:
            return self.entry.table(table_suffix)
        return written_columns.in_order(self.entry.table(table_suffix), self._columns(table_suffix))

    def _copy(self, query: Sql, draft: Path) -> None:
        """Write the result of a query to a file, as CSV if the release is written as CSV, else as Parquet."""
        form = "FORMAT csv, HEADER" if self.files.form == ".csv" else "FORMAT parquet"
        self.cursor.execute(f"COPY ({query}) TO {text(str(draft.absolute()))} ({form})")

    def _reads(self, table_suffix: str, groups: Sql | None = None) -> Sql:
        """Return the relation with which a recipient reads a table's file in the folder of the release.

        For CSV, it restores the columns that contain escaped formulas; the table is read to find them.

        Args:
            table_suffix: The ending of the table's name after that of the release: "", "_metrics" or "_classes".
            groups: A table of the distinct rows of the table (see `record_groups`), if there is one.
        """
        name = self.files.final[table_suffix].name
        if self.files.form == ".parquet":
            return Sql(f"read_parquet({text(names.escape_glob(name))})")
        with_formulas = self._csv(self._columns(table_suffix)).with_formulas(groups or self.entry.table(table_suffix))
        escaped = []
        if with_formulas is not None:
            (has_formula,) = catalog.rows_by_column(self.cursor.execute(with_formulas))
            escaped = [column for column, is_so in has_formula.items() if is_so]
        self.escaped_columns[table_suffix] = escaped
        return self._csv(self._types(table_suffix)).reader(name, escaped)

    def _columns(self, table_suffix: str) -> dict[str, str]:
        """Return the columns (type by name, in order) of the table with the name of the release and `table_suffix`.

        `table_suffix` is "", "_metrics" or "_classes". Empty if there is no such table.
        """
        return catalog.columns_of(self.cursor, (self.entry.database, self.entry.schema, self.entry.name + table_suffix))

    def _types(self, table_suffix: str) -> dict[str, str]:
        """Return the columns (type by name) of a table as they are published.

        An ENUM lists only the values that occur in the rows, in its order; within other types it becomes VARCHAR.
        `table_suffix` is the ending of the table's name after that of the release: "", "_metrics" or "_classes".
        """
        return {
            n: self._enumeration_type(n, table_suffix)
            if written_columns.ENUMERATION.fullmatch(t)
            else written_columns.without_enumerations(t)
            for n, t in self._columns(table_suffix).items()
        }

    def _enumeration_type(self, column: str, table_suffix: str) -> str:
        """Return the ENUM type of a column with only those values that occur, in its order; VARCHAR if none occurs.

        Args:
            column: A column of ENUM type.
            table_suffix: The ending of the table's name after that of the release: "", "_metrics" or "_classes".
        """
        name = identifier(column)
        values = self.cursor.execute(
            "SELECT CAST(value AS VARCHAR) "
            f"FROM (SELECT DISTINCT {name} AS value FROM {self.entry.table(table_suffix)} "
            f"WHERE {name} IS NOT NULL) ORDER BY value ASC"
        ).fetchall()
        return f"ENUM({join_sql(text(v) for (v,) in values)})" if values else "VARCHAR"

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Certificate]:
        """Open a transaction and yield the certificate of the release, after checking that its tables have not changed.

        Raises:
            ReleaseChangedError: They have changed since the release was published.
        """
        self.cursor.execute("BEGIN")
        try:
            certificate = Certificate(self.entry, self.session, self.cursor)
            for problem in certificate.problems():
                raise errors.ReleaseChangedError("publish", self.entry.display_name, problem)
            yield certificate
            self.cursor.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(duckdb.Error):
                self.cursor.execute("ROLLBACK")
            raise


_WRITER_SCRIPT = """
import json, sys
job = json.load(sys.stdin)
sys.path[:] = job["path"]
import duckdb
try:
    con = duckdb.connect(config=job["settings"])
    con.execute(job["attach"])
    con.execute("USE handout")
    for table in job["tables"]:
        con.execute(table)
    con.execute("USE memory")
    con.execute("DETACH handout")
    con.close()
except duckdb.Error as error:
    sys.exit(str(error).split(chr(10))[0])
"""
_SETTINGS: dict[str, str] = {}


def write_database(draft: Path, target_name: str, storage_version: str, statements: Sequence[str]) -> None:
    """Create a DuckDB database from statements, in a separate process.

    Pages of a database are written as they are in memory, gaps included. In this process, which read the source, a few
    bytes of the source could be in them.

    Args:
        draft: The file to create.
        target_name: The name of the target, for messages.
        storage_version: The oldest DuckDB that shall read the file.
        statements: SQL statements that create the tables.

    Raises:
        WriteFailedError: DuckDB could not write the file.
    """
    job = {
        "path": sys.path,
        "settings": _SETTINGS,
        "attach": f"ATTACH {text(str(draft.resolve()))} AS handout (STORAGE_VERSION {text(storage_version)})",
        "tables": list(statements),
    }
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-I", "-c", _WRITER_SCRIPT], input=json.dumps(job), capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise errors.WriteFailedError(target_name, result.stderr.strip().split("\n")[-1])
