"""The stored tables and files that a source reads, and a description of those that cannot be determined."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dbanon import errors
from dbanon.source import attached_databases
from dbanon.source.bound_scans import Scan, scans_on_paths
from dbanon.source.catalog import Source
from dbanon.source.governed_tables import FOREIGN_SCANS, TEMPORARY, Place, tables_read
from dbanon.source.view_mentions import Mentions, view_mentions
from dbanon.sqltext import names
from dbanon.sqltext.quote import qualified, text

MAX_FILES = 200
"""Maximum number of files of one source that are listed; a source of more counts as undetermined."""

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
    """The reads of a source: places of tables, paths and URLs of files, and a text for each undetermined read.

    A place is (database, schema, table).
    """

    tables: set[Place] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)


def source_reads(source: Source, cursor: Any) -> SourceReads:
    """Return the stored tables and files that a source reads, as DuckDB binds it.

    Args:
        source: The source, resolved by `catalog.resolve_source`.
        cursor: A cursor that sees committed objects.

    Returns:
        For a table or a file, itself; for a view, what it reads through other views and macros, too.
    """
    reads = SourceReads()
    if names.is_file(source.shown) and source.table == source.shown:
        reads.files.add(source.shown)
    elif source.foreign is not None:
        reads.tables |= {source.place, *tables_read(cursor, source.place)}
    elif source.is_table:
        reads.tables.add(source.place)
    else:
        _add_view_reads(source, cursor, reads)
    return reads


def _add_view_reads(source: Source, cursor: Any, reads: SourceReads) -> None:
    """Add the reads of a view of DuckDB to `reads`, which is changed.

    If the view cannot be bound, an undetermined read is added, and all stored tables whose name the view mentions.
    Temporary tables, and tables of other systems that are not found, are undetermined reads.
    """
    mentions = view_mentions(source.place, cursor, {})
    own_path = f"{qualified(source.database, source.schema)},system.main"
    scans = scans_on_paths(cursor, f"FROM {source.sql}", (own_path, "system.main"))
    if scans is None:
        reads.unknown.add("a query that cannot be bound")
        if mentions is not None:
            reads.tables |= _named_tables(mentions, cursor)
        return
    readers = set[str]()
    for scan in scans:
        if scan.place is not None:
            if scan.place[0] == TEMPORARY:
                reads.unknown.add("a temporary table")
            else:
                reads.tables.add(scan.place)
        elif scan.operator in FOREIGN_SCANS:
            places = _foreign_tables(scan, cursor)
            reads.tables |= places
            if not places:
                reads.unknown.add(scan.operator.lower())
        elif scan.operator not in _NO_SOURCE:
            readers.add(scan.operator)
    if readers:
        _add_file_reads(readers, mentions, cursor, reads)


def _foreign_tables(scan: Scan, cursor: Any) -> set[Place]:
    """Return the tables of another system that a scan may read: those of its name in all attached databases.

    Tables that views of this name read are included. Empty if none is found.
    """
    kind, parts = FOREIGN_SCANS[scan.operator], names.scanned_table_parts(scan.table or "")
    tables = set[Place]()
    for database in attached_databases.databases(cursor, kind).values() if parts else ():
        for place in attached_databases.relations(cursor, database, kind):
            if parts and names.fold_case(place[2]) == names.fold_case(parts[-1]):
                tables |= {place, *tables_read(cursor, place)}
    return tables


def _named_tables(mentions: Mentions, cursor: Any) -> set[Place]:
    """Return every stored table whose unqualified name a view mentions, in any database and schema."""
    rows = cursor.execute(
        "SELECT database_name, schema_name, table_name FROM system.main.duckdb_tables() "
        "WHERE NOT internal AND database_name <> 'temp' ORDER BY ALL ASC"
    ).fetchall()
    return {place for place in rows if names.fold_case(place[2]) in mentions.relations}


def _add_file_reads(readers: set[str], mentions: Mentions | None, cursor: Any, reads: SourceReads) -> None:
    """Add the files that the texts of a view name to `reads`; every other read by `readers` counts as undetermined.

    Patterns are expanded to the existing files; URLs are added as they are.

    Args:
        readers: Operators of the plan that read files, such as READ_CSV.
        mentions: The texts and names of the view; None if it has no text.
        cursor: A cursor.
        reads: It is extended.
    """
    texts = mentions.texts if mentions is not None else frozenset()
    for pattern in {pattern for query in texts for pattern in _file_patterns(query, readers, reads)}:
        if names.url_scheme(pattern) is not None:  # a network is not searched
            reads.files.add(pattern)
            continue
        with contextlib.suppress(errors.UnreadableFileError):
            reads.files.update(matched_files(pattern, cursor))
    if len(reads.files) > MAX_FILES:
        reads.unknown.add(f"more than {MAX_FILES} files")
    if not reads.files or mentions is None or not mentions.is_complete:
        reads.unknown |= {reader.lower() for reader in readers}


def _file_patterns(query: str, readers: set[str], reads: SourceReads) -> Iterator[str]:
    """Yield the names or patterns of files in a query: in the arguments of readers, in quotation marks, or after FROM.

    A reader whose argument is computed, and READ_DUCKDB, which reads a database, is added to `reads` as undetermined.
    `readers` are operators of the plan that read files, such as READ_CSV.
    """
    for reader in sorted(readers):
        for call in re.finditer(rf'(?<!\w)"?{re.escape(reader)}"?\s*\(\s*', query, re.IGNORECASE):
            argument = re.compile(rf"{_LITERALS}\s*(?=[,)])").match(query, call.end())
            literals = re.findall(_LITERAL, argument[0]) if argument else []
            if not literals or reader == "READ_DUCKDB":  # a path that is computed; a database, which has many tables
                reads.unknown.add(reader.lower())
            yield from (literal[1:-1].replace("''", "'") for literal in literals)
    for quoted in re.findall(r'"((?:[^"]|"")+)"', query) + re.findall(rf"FROM\s+({_LITERAL})", query, re.IGNORECASE):
        name = quoted[1:-1].replace("''", "'") if quoted.startswith("'") else quoted.replace('""', '"')
        if names.is_file(name):
            yield name


def matched_files(pattern: str, cursor: Any) -> list[str]:
    """Return the files that match a pattern, sorted; empty if there are none.

    Raises:
        UnreadableFileError: DuckDB may not access them.
    """
    try:
        rows = cursor.execute(f"SELECT file FROM system.main.glob({text(pattern)}) ORDER BY ALL ASC").fetchall()
    except Exception as error:
        raise errors.UnreadableFileError("create_release", pattern, str(error).split("\n")[0]) from None
    return [file for (file,) in rows]
