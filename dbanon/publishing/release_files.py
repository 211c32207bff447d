"""A release as a file of its own, to hand out: the release, its metrics, its certificate and nothing else."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from dbanon import errors
from dbanon.ledger.releases import LedgerEntry
from dbanon.publishing import certificate as certificates, read_back, written_columns
from dbanon.publishing.certificate import Certificate, Line
from dbanon.publishing.recompute_queries import Place
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
    """What a caller of `publish` wants of the files."""

    classes: bool = False
    storage_version: str | None = None
    overwrite: bool = False
    csv_formulas: str = "escape"


def write_release(
    session: Session, cursor: Any, entry: LedgerEntry, to: str | Path, options: OutputOptions
) -> list[Path]:
    """Write the files of a release and return their paths, the release first; see `dbanon.publish`."""
    files = _Files.of(str(to), entry.name, options.classes)
    is_escaped = csv_cells.is_escape("publish", options.csv_formulas)
    if options.storage_version is not None and files.form != ".duckdb":
        raise errors.InvalidArgumentError("publish", "storage_version", "left out where to is no .duckdb file", to)
    made_of = str(entry.call["source"])
    files.check(cursor, options.overwrite, [Path(made_of)] if names.is_file(made_of) else [])
    handout = _Handout(session, cursor, entry, files, is_escaped)
    with output_files.translate_os_errors("publish", to), files.drafts() as written:
        if files.form == ".duckdb":
            handout.database(written[""], options.storage_version or runtime_storage_version.DEFAULT_VERSION)
        else:
            handout.tables(written)
    return [files.final[kind] for kind in files.final if kind != "_classes" or options.classes]


def files_of(to: str | Path, name: str) -> list[Path]:
    """Return every file that `publish` of a release of that name may write or remove.

    InvalidArgumentError, TargetNotLocalError.
    """
    return list(_Files.of(str(to), name, True).final.values())


# --- files -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Files:
    """The files of a handout by the ending of their names; `classes` says whether those are wanted."""

    asked: str
    form: str
    final: Mapping[str, Path]
    classes: bool

    @classmethod
    def of(cls, to: str, name: str, classes: bool) -> _Files:
        path = output_files.local_target("publish", to)
        is_nameless = path.name.lower() in FORMATS and not path.is_dir()
        if to.endswith(("/", os.sep)) or path.is_dir() or not (path.suffix or is_nameless):
            path = path / (re.sub(r"[^\w.-]", "_", name) + ".parquet")
        form = path.suffix.lower()
        if form not in FORMATS:
            raise errors.InvalidArgumentError(
                "publish", "to", f"a file ending in {', '.join(FORMATS)}, or a folder", to
            )
        final = {"": path}
        if form != ".duckdb":
            endings = {e: e + path.suffix for e in ("_metrics", "_classes", "_certificate")}
            endings["_text"] = f"_certificate{path.suffix}.txt"
            final |= {kind: path.with_name(path.stem + ending) for kind, ending in endings.items()}
        with output_files.translate_os_errors("publish", to):
            [file.exists() for file in final.values()]  # a name with an ending can be too long to be asked for
        return cls(to, form, final, classes)

    def check(self, cursor: Any, overwrite: bool, read: Sequence[Path]) -> None:
        """Raise TargetInUseError for files that are read, TargetExistsError for others."""
        output_files.check_not_source("publish", self.final.values(), [*output_files.source_files(cursor), *read])
        with output_files.translate_os_errors("publish", self.asked):
            there = [str(p) for p in self.final.values() if p.exists()]
        if there and not overwrite:
            raise errors.TargetExistsError(self.asked, there)

    def drafts(self) -> AbstractContextManager[dict[str, Path]]:
        """Return files to be written beside the final ones, which they become once all are whole.

        Else nothing remains.
        """
        wanted = {kind: path for kind, path in self.final.items() if kind != "_classes" or self.classes}
        # An earlier file's classes, and its log, are not of this one.
        gone = (
            [output_files.wal_file(self.final[""])]
            if self.form == ".duckdb"
            else [self.final[k] for k in self.final.keys() - wanted]
        )
        gone += _earlier(self.final[""])
        return atomic_write.open_drafts(wanted, gone)


def _earlier(path: Path) -> list[Path]:
    """Return the certificate of a file under the name that it had before the ending of the file was in it."""
    old = path.with_name(f"{path.stem}_certificate.txt")
    with contextlib.suppress(OSError, UnicodeDecodeError):
        said = old.read_text(encoding="utf-8")
        if said.startswith("release\n") and text(path.name) in said:
            return [old]
    return []


# --- what is written -------------------------------------------------------------------------------------------------


class _Handout:
    """One release on its way out. All of it is read in one transaction."""

    def __init__(self, current: Session, cursor: Any, entry: LedgerEntry, files: _Files, is_escaped: bool) -> None:
        self.session, self.cursor, self.entry, self.files = current, cursor, entry, files
        self.is_escaped = is_escaped and files.form == ".csv"

    def database(self, draft: Path, storage_version: str) -> None:
        """A database with a table each, from Parquet files that are gone afterwards.

        StorageVersionTooOldError, OutputDiffersError.
        """
        name = self.entry.name
        parts = {ending: draft.with_name(f"{draft.name}{ending}.part") for ending in (*self._endings(), "_certificate")}
        types = {}
        try:
            with self._transaction() as certificate:
                lines = certificate.lines(certificate.handed_out(classes=self.files.classes))
                released = self._released(certificate)
                for ending in self._endings():
                    types[ending] = self._types(ending)
                    runtime_storage_version.check_column_types("publish", types[ending], storage_version)
                    stored = self._columns(ending)
                    columns = join_sql(
                        f"{written_columns.carried(n, stored[n], t)} AS {identifier(n)}"
                        for n, t in types[ending].items()
                    )
                    self._copy(Sql(f"SELECT {columns} FROM {self._in_order(ending)}"), parts[ending])
                self._copy(certificates.rows(lines), parts["_certificate"])
            types["_certificate"] = dict.fromkeys(certificates.COLUMNS, "VARCHAR")
            tables = [
                f"CREATE TABLE {identifier(name + ending)} AS SELECT "
                + join_sql(f"CAST({identifier(n)} AS {t}) AS {identifier(n)}" for n, t in types[ending].items())
                + f" FROM read_parquet({text(str(part.resolve()))})"
                for ending, part in parts.items()
            ]
            write_database(draft, self.files.asked, storage_version, tables)
        finally:
            for part in parts.values():
                part.unlink(missing_ok=True)
        with read_back.reading(self.files.asked, database=draft) as reader:
            for ending in self._endings():
                reader.check(reader.table(name + ending).difference(released[ending]))
            reader.check(
                reader.table(name + "_metrics").withheld_metrics(),
                reader.table(name + "_certificate").other_lines(lines),
            )

    def tables(self, drafts: Mapping[str, Path]) -> None:
        """A file each; the certificate names the hash of every other. Raises OutputDiffersError."""
        with self._transaction() as certificate:
            read = {ending: self._reads(ending) for ending in self._endings()}
            lines = certificate.lines(Place(read[""], read["_metrics"], read.get("_classes")))
            for ending in self._endings():
                self._copy(Sql(f"SELECT {self._selected(ending)} FROM {self._in_order(ending)}"), drafts[ending])
            lines += [self._hash(ending, drafts[ending]) for ending in self._endings()]
            rows, columns = certificates.rows(lines), dict.fromkeys(certificates.COLUMNS, "VARCHAR")
            if self.is_escaped:
                rows = Sql(f"SELECT {written_columns.CsvColumns(columns, True).selected()} FROM ({rows})")
            self._copy(rows, drafts["_certificate"])
            drafts["_text"].write_text(certificates.as_text(lines), encoding="utf-8")
            released = self._released(certificate)
            with read_back.reading(self.files.asked, is_escaped=self.is_escaped) as reader:
                written = reader.csv if self.files.form == ".csv" else reader.parquet
                for ending in self._endings():
                    reader.check(written(drafts[ending], released[ending]).difference(released[ending]))
                reader.check(
                    written(drafts["_metrics"], released["_metrics"]).withheld_metrics(),
                    written(drafts["_certificate"]).other_lines(lines),
                )

    def _released(self, certificate: Certificate) -> dict[str, read_back.Released]:
        """What the tables were when the gate had passed them, by the ledger."""
        hashes = dict(certificate.row["hashes"])
        return {
            ending: read_back.Released(self.cursor, self.entry.table(ending), self._columns(ending), hashes[ending])
            for ending in self._endings()
        }

    def _selected(self, ending: str) -> Sql:
        """Return the columns of a table as a file has them."""
        columns = self._columns(ending)
        if self.files.form == ".csv":
            return self._csv(columns).selected()
        return join_sql(f"{written_columns.plain(n, t)} AS {identifier(n)}" for n, t in columns.items())

    def _csv(self, columns: Mapping[str, str]) -> written_columns.CsvColumns:
        return written_columns.CsvColumns(
            columns, self.is_escaped, [n for n, role in self.entry.roles.items() if role == "quasi"]
        )

    def _hash(self, ending: str, draft: Path) -> Line:
        """What the file of a table is known by."""
        name = self.files.final[ending].name
        with draft.open("rb") as file:
            value = hashlib.file_digest(file, "sha256").hexdigest()
        return Line(
            certificates.FILES,
            name,
            value,
            Sql(f"SELECT sha256(content) FROM read_blob({text(names.escape_glob(name))})"),
        )

    def _endings(self) -> list[str]:
        return ["", "_metrics", *(["_classes"] if self.files.classes else [])]

    def _in_order(self, ending: str) -> Sql:
        return written_columns.in_order(self.entry.table(ending), self._columns(ending))

    def _copy(self, query: Sql, draft: Path) -> None:
        form = "FORMAT csv, HEADER" if self.files.form == ".csv" else "FORMAT parquet"
        self.cursor.execute(f"COPY ({query}) TO {text(str(draft.absolute()))} ({form})")

    def _reads(self, ending: str) -> Sql:
        """How a recipient in the folder of the files reads a table."""
        name = self.files.final[ending].name
        if self.files.form == ".parquet":
            return Sql(f"read_parquet({text(names.escape_glob(name))})")
        with_formulas = self._csv(self._columns(ending)).with_formulas(self.entry.table(ending))
        escaped = []
        if with_formulas is not None:
            found = self.cursor.execute(with_formulas)
            columns = [column[0] for column in found.description]
            escaped = [column for column, is_so in zip(columns, found.fetchall()[0], strict=True) if is_so]
        return self._csv(self._types(ending)).reader(name, escaped)

    def _columns(self, ending: str) -> dict[str, str]:
        """Name and types of one of the tables."""
        return catalog.columns_of(self.cursor, (self.entry.database, self.entry.schema, self.entry.name + ending))

    def _types(self, ending: str) -> dict[str, str]:
        """Names and types of a table as it goes out: an enumeration lists the values that rows have, in its order, and
        no others; within other types it is text."""
        return {
            n: self._listed(n, ending)
            if written_columns.ENUMERATION.fullmatch(t)
            else written_columns.without_enumerations(t)
            for n, t in self._columns(ending).items()
        }

    def _listed(self, column: str, ending: str) -> str:
        """Return the type of a column that is an enumeration; of one without a value, text."""
        name = identifier(column)
        values = self.cursor.execute(
            f"SELECT CAST(value AS VARCHAR) FROM (SELECT DISTINCT {name} AS value FROM {self.entry.table(ending)} "
            f"WHERE {name} IS NOT NULL) ORDER BY value ASC"
        ).fetchall()
        return f"ENUM({join_sql(text(v) for (v,) in values)})" if values else "VARCHAR"

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Certificate]:
        """Return the certificate of tables that are as they were released; ReleaseChangedError."""
        self.cursor.execute("BEGIN")
        try:
            certificate = Certificate(self.entry, self.session, self.cursor)
            for problem in certificate.problems():
                raise errors.ReleaseChangedError("publish", self.entry.shown, problem)
            yield certificate
            self.cursor.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(duckdb.Error):
                self.cursor.execute("ROLLBACK")
            raise


_WRITER = """
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


def write_database(draft: Path, shown: str, storage_version: str, statements: Sequence[str]) -> None:
    """Make a database by statements, in a process of its own; WriteFailedError.

    Pages of a database are written as they lie in memory, gaps included: in this process, where the source was read,
    a few bytes of it can be in them.
    """
    job = {
        "path": sys.path,
        "settings": _SETTINGS,
        "attach": f"ATTACH {text(str(draft.resolve()))} AS handout (STORAGE_VERSION {text(storage_version)})",
        "tables": list(statements),
    }
    ended = subprocess.run(  # noqa: S603
        [sys.executable, "-I", "-c", _WRITER], input=json.dumps(job), capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise errors.WriteFailedError(shown, ended.stderr.strip().split("\n")[-1])
