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

from dbanon import errors, session
from dbanon.engine import install
from dbanon.files import drafts, storage, writing
from dbanon.session import Session
from dbanon.source import catalog
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, identifier, joined, text
from dbanon.views import certificate as certificates
from dbanon.views.certificate import Certificate, Line
from dbanon.views.ledger import Entry
from dbanon.views.recompute import Place

FORMATS = (".duckdb", ".parquet", ".csv")


def publish(
    source: Any,
    release: str,
    to: str | Path,
    *,
    classes: bool = False,
    storage_version: str | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Writes a published release to files of its own; gives their paths, the release first.

    `source` is the path of a database, or an attached connection. `to` ends in .duckdb (tables NAME, NAME_metrics and
    NAME_certificate), in .parquet or .csv (the release there, `_metrics` and `_certificate` beside it), or is a folder
    (the same by the release's name, in Parquet). `classes` adds NAME_classes; `storage_version` is the oldest DuckDB
    that shall read a .duckdb file: v1.0.0, unless a column has a type that needs a newer one (NewerType). Each file
    appears whole or not at all, the release last, and a folder that is new with all of its files at once; the
    certificate names the SHA-256 of the others, which `verify` compares. Existing files are refused unless `overwrite`.
    So is a release that is not what it was when it was made.

    A recipient sees the published columns with their roles, the algorithm and the version of dbanon, the model and its
    parameters, what was achieved, how many records were left out and why (with the released ones that is the size of
    the source), how many columns are withheld, and whether composition was checked. He does not see the name or path
    of the source, fingerprints, names of withheld columns and keys, hierarchies, other parameters, or what was found
    between this release and others.
    """
    with _opened(source) as (current, cursor, path):
        entry = certificates.published("publish", release, cursor, path)
        files = _Files.of(str(to), entry.name, classes)
        if storage_version is not None and files.form != ".duckdb":
            raise errors.InvalidArgument("publish", "storage_version", "left out where to is no .duckdb file", to)
        made_of = str(entry.call["source"])
        files.check(cursor, overwrite, [Path(made_of)] if names.is_file(made_of) else [])
        handout = _Handout(current, cursor, entry, files)
        with writing.written("publish", to), files.drafts() as written:
            if files.form == ".duckdb":
                handout.database(written[""], storage_version or storage.WIDEST)
            else:
                handout.tables(written)
        return [files.final[kind] for kind in files.final if kind != "_classes" or classes]


def files_of(to: str | Path, name: str) -> list[Path]:
    """Every file that `publish` of a release of that name may write or remove; InvalidArgument, TargetNotLocal."""
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
        path = writing.local("publish", to)
        if to.endswith(("/", os.sep)) or path.is_dir() or not path.suffix:
            path = path / (re.sub(r"[^\w.-]", "_", name) + ".parquet")
        form = path.suffix.lower()
        if form not in FORMATS:
            raise errors.InvalidArgument("publish", "to", f"a file ending in {', '.join(FORMATS)}, or a folder", to)
        final = {"": path}
        if form != ".duckdb":
            endings = {e: e + path.suffix for e in ("_metrics", "_classes", "_certificate")}
            endings["_text"] = f"_certificate{path.suffix}.txt"
            final |= {kind: path.with_name(path.stem + ending) for kind, ending in endings.items()}
        return cls(to, form, final, classes)

    def check(self, cursor: Any, overwrite: bool, read: Sequence[Path]) -> None:
        """Raises TargetInUse for files that are read, TargetExists for others."""
        writing.apart("publish", self.final.values(), [*writing.read_by(cursor), *read])
        with writing.written("publish", self.asked):
            there = [str(p) for p in self.final.values() if p.exists()]
        if there and not overwrite:
            raise errors.TargetExists(self.asked, there)

    def drafts(self) -> AbstractContextManager[dict[str, Path]]:
        """Files to be written beside the final ones, which they become once all are whole; else nothing remains."""
        wanted = {kind: path for kind, path in self.final.items() if kind != "_classes" or self.classes}
        # An earlier file's classes, and its log, are not of this one.
        gone = [_log(self.final[""])] if self.form == ".duckdb" else [self.final[k] for k in self.final.keys() - wanted]
        gone += _earlier(self.final[""])
        return drafts.drafts(wanted, gone)


def _earlier(path: Path) -> list[Path]:
    """The certificate of a file under the name that it had before the ending of the file was in it."""
    old = path.with_name(f"{path.stem}_certificate.txt")
    with contextlib.suppress(OSError, UnicodeDecodeError):
        said = old.read_text(encoding="utf-8")
        if said.startswith("release\n") and text(path.name) in said:
            return [old]
    return []


def _log(path: Path) -> Path:
    """The write-ahead log of a database file."""
    return path.with_name(path.name + ".wal")


# --- what is written -------------------------------------------------------------------------------------------------


class _Handout:
    """One release on its way out. All of it is read in one transaction."""

    def __init__(self, current: Session, cursor: Any, entry: Entry, files: _Files) -> None:
        self.session, self.cursor, self.entry, self.files = current, cursor, entry, files

    def database(self, draft: Path, storage_version: str) -> None:
        """A database with a table each, from Parquet files that are gone afterwards; NewerType."""
        name = self.entry.name
        parts = {ending: draft.with_name(f"{draft.name}{ending}.part") for ending in (*self._endings(), "_certificate")}
        types = {}
        try:
            with self._transaction() as certificate:
                lines = certificate.lines(certificate.handed_out(classes=self.files.classes))
                for ending in self._endings():
                    types[ending] = self._types(ending)
                    storage.check("publish", types[ending], storage_version)
                    stored = self._columns(ending)
                    columns = joined(
                        f"{_carried(n, stored[n], t)} AS {identifier(n)}" for n, t in types[ending].items()
                    )
                    self._copy(Sql(f"SELECT {columns} FROM {self._in_order(ending)}"), parts[ending])
                self._copy(certificates.rows(lines), parts["_certificate"])
            types["_certificate"] = dict.fromkeys(certificates.COLUMNS, "VARCHAR")
            tables = [
                f"CREATE TABLE {identifier(name + ending)} AS SELECT "
                + joined(f"CAST({identifier(n)} AS {t}) AS {identifier(n)}" for n, t in types[ending].items())
                + f" FROM read_parquet({text(str(part.resolve()))})"
                for ending, part in parts.items()
            ]
            write_database(draft, self.files.asked, storage_version, tables)
        finally:
            for part in parts.values():
                part.unlink(missing_ok=True)

    def tables(self, drafts: Mapping[str, Path]) -> None:
        """A file each; the certificate names the hash of every other."""
        with self._transaction() as certificate:
            read = {ending: self._reads(ending) for ending in self._endings()}
            lines = certificate.lines(Place(read[""], read["_metrics"], read.get("_classes")))
            for ending in self._endings():
                columns = joined(_written(n, t) for n, t in self._columns(ending).items())
                self._copy(Sql(f"SELECT {columns} FROM {self._in_order(ending)}"), drafts[ending])
            lines += [self._hash(ending, drafts[ending]) for ending in self._endings()]
            self._copy(certificates.rows(lines), drafts["_certificate"])
            drafts["_text"].write_text(certificates.as_text(lines), encoding="utf-8")

    def _hash(self, ending: str, draft: Path) -> Line:
        """What the file of a table is known by."""
        name = self.files.final[ending].name
        with draft.open("rb") as file:
            value = hashlib.file_digest(file, "sha256").hexdigest()
        return Line(
            certificates.FILES, name, value, Sql(f"SELECT sha256(content) FROM read_blob({text(names.pattern(name))})")
        )

    def _endings(self) -> list[str]:
        return ["", "_metrics", *(["_classes"] if self.files.classes else [])]

    def _place(self, ending: str) -> Sql:
        """A name that no column of a table has."""
        return identifier("place".ljust(5 + max(map(len, self._columns(ending))), "_"))

    def _in_order(self, ending: str) -> Sql:
        """The rows of a table in their order, which COPY need not keep where `preserve_insertion_order` is off."""
        place = self._place(ending)
        return Sql(f"(SELECT *, row_number() OVER () AS {place} FROM {self.entry.table(ending)}) ORDER BY {place} ASC")

    def _copy(self, query: Sql, draft: Path) -> None:
        form = "FORMAT csv, HEADER" if self.files.form == ".csv" else "FORMAT parquet"
        self.cursor.execute(f"COPY ({query}) TO {text(str(draft))} ({form})")

    def _reads(self, ending: str) -> Sql:
        """How a recipient in the folder of the files reads a table."""
        name = text(names.pattern(self.files.final[ending].name))
        if self.files.form == ".parquet":
            return Sql(f"read_parquet({name})")
        columns = joined(f"{text(n)}: {text(t)}" for n, t in self._types(ending).items())
        return Sql(
            f"read_csv({name}, header = true, delim = ',', quote = '\"', escape = '\"', allow_quoted_nulls = false, "
            f"columns = {{{columns}}})"
        )

    def _columns(self, ending: str) -> dict[str, str]:
        """Names and types of one of the tables."""
        place = (self.entry.database, self.entry.schema, self.entry.name + ending)
        return catalog.columns_of(self.cursor, place)

    def _types(self, ending: str) -> dict[str, str]:
        """Names and types of a table as it goes out: an enumeration lists the values that rows have, in its order, and
        no others; within other types it is text."""
        found = self._columns(ending)
        return {n: self._listed(n, ending) if _LIST.fullmatch(t) else _without_lists(t) for n, t in found.items()}

    def _listed(self, column: str, ending: str) -> str:
        """The type of a column that is an enumeration; of one without a value, text."""
        name = identifier(column)
        values = self.cursor.execute(
            f"SELECT CAST(value AS VARCHAR) FROM (SELECT DISTINCT {name} AS value FROM {self.entry.table(ending)} "
            f"WHERE {name} IS NOT NULL) ORDER BY value ASC"
        ).fetchall()
        return f"ENUM({joined(text(v) for (v,) in values)})" if values else "VARCHAR"

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Certificate]:
        """The certificate of tables that are as they were released; ReleaseChanged."""
        self.cursor.execute("BEGIN")
        try:
            certificate = Certificate(self.entry, self.session, self.cursor)
            for problem in certificate.problems():
                raise errors.ReleaseChanged("publish", self.entry.shown, problem)
            yield certificate
            self.cursor.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(duckdb.Error):
                self.cursor.execute("ROLLBACK")
            raise


_LOSSY = re.compile(r"HUGEINT|\bBIT\b|ENUM|INTERVAL|\bTIME\b")
"""Types that Parquet does not give back as they were."""

_LIST = re.compile(r"""("(?:[^"]|"")*")|\bENUM\((?:'(?:[^']|'')*'(?:, )?)*\)""")
"""A quoted name, or an enumeration."""


def _without_lists(type_: str) -> str:
    """A type with text for the enumerations in it.

    >>> _without_lists("STRUCT(b ENUM('a', 'it''s'), c MAP(VARCHAR, ENUM(')')))[]")
    'STRUCT(b VARCHAR, c MAP(VARCHAR, VARCHAR))[]'
    """
    return _LIST.sub(lambda match: match[1] or "VARCHAR", type_)


def _written(name: str, type_: str) -> Sql:
    """A column as a file has it: enumerations as text, since DuckDB 1 writes their lists into Parquet."""
    plain = _without_lists(type_)
    return Sql(identifier(name) if plain == type_ else f"CAST({identifier(name)} AS {plain}) AS {identifier(name)}")


def _carried(name: str, type_: str, wanted: str) -> Sql:
    """A column as Parquet carries it without loss to the type that is wanted."""
    carried = "VARCHAR" if _LOSSY.search(wanted) else wanted
    return Sql(identifier(name) if carried == type_ else f"CAST({identifier(name)} AS {carried})")


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
    """Makes a database by statements, in a process of its own; NotWritten.

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
        said = ended.stderr.strip().split("\n")
        raise errors.NotWritten(shown, said[-1])


@contextlib.contextmanager
def _opened(source: Any) -> Iterator[tuple[Session, Any, catalog.SearchPath]]:
    """The session, a cursor and the search path of a connection, or of a database file that is opened to be read."""
    own = None
    if isinstance(source, (str, Path)):
        with storage.opening(source):
            own = duckdb.connect(str(source), read_only=True)
    try:
        connection = install.attach(own) if own is not None else source
        current = session.of_connection(getattr(connection, "raw", connection))
        path = catalog.SearchPath.here(connection)
        with current.cursor() as cursor:
            yield current, cursor, path
    finally:
        if own is not None:
            own.close()
