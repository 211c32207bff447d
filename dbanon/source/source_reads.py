"""The stored tables and the files that a source reads, and what of it cannot be determined."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dbanon import errors
from dbanon.source import attached_databases, view_dependencies
from dbanon.source.bound_scans import Scan, scans_on_paths
from dbanon.source.catalog import Source
from dbanon.source.governed_tables import FOREIGN_SCANS, TEMPORARY
from dbanon.source.view_mentions import Mentions, view_mentions
from dbanon.sqltext import names
from dbanon.sqltext.quote import text

Place = tuple[str, str, str]

MAX_FILES = 200
"""Files of one source that are told apart; a source of more counts as not determined."""

_NO_SOURCE = frozenset(
    {
        "DUMMY_SCAN",
        "EMPTY_RESULT",
        "EXPRESSION_SCAN",
        "COLUMN_DATA_SCAN",
        "CHUNK_SCAN",
        "CTE_SCAN",
        "REC_CTE_SCAN",
        "DELIM_SCAN",
        "DELIM_GET",
        "UNNEST",
        "RANGE",
        "GENERATE_SERIES",
        "REPEAT",
        "REPEAT_ROW",
    }
)
"""Operators that read no table and no file."""

_LITERAL = r"'(?:[^']|'')*'"
_LITERALS = rf"(?:{_LITERAL}|\[[^\]]*\]|(?:\w+\s*\.\s*)*list_value\s*\((?:\s*{_LITERAL}\s*,?)*\s*\))"


@dataclass
class SourceReads:
    """What a source reads: places of tables, patterns of files, and in words what cannot be determined."""

    tables: set[Place] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)


def source_reads(source: Source, cursor: Any) -> SourceReads:
    """Return what a stored table, a view or a file reads, as DuckDB binds it.

    Args:
        source: The source, resolved by `catalog.resolve`.
        cursor: A cursor that sees committed objects.
    """
    found = SourceReads()
    if names.is_file(source.shown) and source.table == source.shown:
        found.files.add(source.shown)
    elif source.foreign is not None:
        found.tables |= {source.place, *view_dependencies.reads(cursor, source.place)}
    elif source.is_table:
        found.tables.add(source.place)
    else:
        _read_view(source, cursor, found)
    return found


def _read_view(source: Source, cursor: Any, found: SourceReads) -> None:
    mentions = view_mentions(source.place, cursor, {})
    own = f"{_path(source)},system.main"
    scans = scans_on_paths(cursor, f"FROM {source.sql}", (own, "system.main"))
    if scans is None:
        found.unknown.add("a query that cannot be bound")
        if mentions is not None:
            found.tables |= _named_tables(mentions, cursor)
        return
    readers = set[str]()
    for scan in scans:
        if scan.place is not None:
            if scan.place[0] == TEMPORARY:
                found.unknown.add("a temporary table")
            else:
                found.tables.add(scan.place)
        elif scan.operator in FOREIGN_SCANS:
            places = _foreign_tables(scan, cursor)
            found.tables |= places
            if not places:
                found.unknown.add(scan.operator.lower())
        elif scan.operator not in _NO_SOURCE:
            readers.add(scan.operator)
    if readers:
        _read_files(readers, mentions, cursor, found)


def _path(source: Source) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in (source.database, source.schema))


def _foreign_tables(scan: Scan, cursor: Any) -> set[Place]:
    """Return the attached tables of another system that a scan may read, and what views among them read."""
    kind, parts = FOREIGN_SCANS[scan.operator], names.read_parts(scan.table or "")
    found = set[Place]()
    for database in attached_databases.databases(cursor, kind).values() if parts else ():
        for place in attached_databases.relations(cursor, database, kind):
            if parts and names.folded(place[2]) == names.folded(parts[-1]):
                found |= {place, *view_dependencies.reads(cursor, place)}
    return found


def _named_tables(mentions: Mentions, cursor: Any) -> set[Place]:
    """Return every stored table whose name a view mentions."""
    rows = cursor.execute(
        "SELECT database_name, schema_name, table_name FROM system.main.duckdb_tables() "
        "WHERE NOT internal AND database_name <> 'temp' ORDER BY ALL ASC"
    ).fetchall()
    return {place for place in rows if names.folded(place[2]) in mentions.relations}


def _read_files(readers: set[str], mentions: Mentions | None, cursor: Any, found: SourceReads) -> None:
    """Add the files that the texts of a view name; whatever reads something else is not determined."""
    texts = mentions.texts if mentions is not None else frozenset()
    for pattern in {pattern for query in texts for pattern in _patterns(query, readers, found)}:
        if names.scheme(pattern) is not None:  # a network is not searched
            found.files.add(pattern)
            continue
        with contextlib.suppress(errors.UnreadableFileError):
            found.files.update(matched_files(pattern, cursor))
    if len(found.files) > MAX_FILES:
        found.unknown.add(f"more than {MAX_FILES} files")
    if not found.files or mentions is None or not mentions.is_complete:
        found.unknown |= {reader.lower() for reader in readers}


def _patterns(query: str, readers: set[str], found: SourceReads) -> Iterator[str]:
    """Yield names of files in the arguments of readers, and behind FROM in quotation marks."""
    for reader in sorted(readers):
        for call in re.finditer(rf'(?<!\w)"?{re.escape(reader)}"?\s*\(\s*', query, re.IGNORECASE):
            argument = re.compile(rf"{_LITERALS}\s*(?=[,)])").match(query, call.end())
            literals = re.findall(_LITERAL, argument[0]) if argument else []
            if not literals or reader == "READ_DUCKDB":  # a path that is computed; a database, which has many tables
                found.unknown.add(reader.lower())
            yield from (literal[1:-1].replace("''", "'") for literal in literals)
    for quoted in re.findall(r'"((?:[^"]|"")+)"', query) + re.findall(rf"FROM\s+({_LITERAL})", query, re.IGNORECASE):
        name = quoted[1:-1].replace("''", "'") if quoted.startswith("'") else quoted.replace('""', '"')
        if names.is_file(name):
            yield name


def matched_files(pattern: str, cursor: Any) -> list[str]:
    """Return the files that DuckDB finds by a pattern; UnreadableFileError where it may not look."""
    try:
        rows = cursor.execute(f"SELECT file FROM system.main.glob({text(pattern)}) ORDER BY ALL ASC").fetchall()
    except Exception as error:
        raise errors.UnreadableFileError("materialize", pattern, str(error).split("\n")[0]) from None
    return [file for (file,) in rows]
