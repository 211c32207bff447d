"""Hashes of what a version of a release is, made with it: by these a later change is known."""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb

from dbanon.ledger import text_hash
from dbanon.ledger.related_releases import NamedRelease
from dbanon.ledger.releases import TABLES, Entry
from dbanon.source import catalog
from dbanon.sqltext.quote import Sql, identifier, joined, qualified, text

LEDGER = (
    "source", "algorithm", "statement", "call", "parameters", "roles", "withheld", "policy_fingerprint",
    "hierarchy_fingerprint", "library_versions", "source_fingerprint", "source_records", "records", "suppressed",
    "dropped", "released_at", "achieved", "metrics", "person_key", "refresh",
)  # fmt: skip
"""What the ledger says of a version and never changes."""


def of_tables(cursor: Any, entry: NamedRelease, endings: Sequence[str] = TABLES) -> dict[str, str]:
    """The hashes (SHA-256) of tables of a version, by their endings: of names and types of the columns, and of the
    rows in their order. O(rows) time."""
    found = {}
    with _settled(cursor):
        for ending in endings:
            columns = catalog.columns_of(cursor, (entry.database, entry.schema, entry.name + ending))
            found[ending] = _of(cursor, entry.table(ending), columns)
    return found


def of_relation(cursor: Any, relation: Sql, columns: Mapping[str, str]) -> str:
    """Return the hash of any relation with these columns (type by name), as `of_tables` makes it of a table.

    O(rows) time.
    """
    with _settled(cursor):
        return _of(cursor, relation, columns)


def of_ledger(cursor: Any, database: str, row: Sql) -> str:
    """Return the hash of what the ledger says of a version: `row` is a relation of one row with its columns."""
    types = catalog.columns_of(cursor, (database, catalog.SCHEMA, "release"))
    with _settled(cursor):
        return _of(cursor, row, {name: types[name] for name in LEDGER})


def broken(cursor: Any, entry: Entry, endings: Sequence[str] = TABLES) -> list[str] | None:
    """What of a version, of its tables with these endings, is not as it was made; None where no hashes were kept, as by
    earlier versions of dbanon."""
    kept = _kept(cursor, entry)
    if kept is None:
        return None
    if missing := _missing(cursor, entry, endings):
        return missing
    said = changed(cursor, entry, {ending: kept.get(ending) for ending in endings})
    if kept.get("ledger") != of_ledger(cursor, entry.database, _ledger_row(entry)):
        said.append("the ledger says something else of it than when it was made")
    return said


def changed(cursor: Any, entry: NamedRelease, kept: Mapping[str, str | None]) -> list[str]:
    """Which tables are missing, or else are not as they were made, by their hashes then."""
    return _missing(cursor, entry, list(kept)) or [
        f"table {entry.name + ending} has other rows, another order or other columns than it was made with"
        for ending, hashed in of_tables(cursor, entry, list(kept)).items()
        if kept[ending] != hashed
    ]


def _missing(cursor: Any, entry: NamedRelease, endings: Sequence[str]) -> list[str]:
    there = catalog.relations(cursor, entry.database)
    names = (entry.name + e for e in endings if (entry.database, entry.schema, entry.name + e) not in there)
    return [f"table {name} is missing" for name in names]


def _kept(cursor: Any, entry: Entry) -> dict[str, str] | None:
    """Return the hashes that were made with a version."""
    if "hashes" not in catalog.columns_of(cursor, (entry.database, catalog.SCHEMA, "release")):
        return None
    found = cursor.execute(f"SELECT hashes FROM {_ledger_row(entry)}").fetchall()[0][0]
    return None if found is None else dict(found)


def _ledger_row(entry: Entry) -> Sql:
    key = joined([text(entry.schema), text(entry.name), Sql(str(entry.version))])
    table = qualified(entry.database, catalog.SCHEMA, "release")
    return Sql(f"(FROM {table} WHERE (schema_name, name, version) = ({key}))")


def _of(cursor: Any, relation: Sql, columns: Mapping[str, str]) -> str:
    # Versions of DuckDB differ in whether they quote the names in a type.
    header = json.dumps([[name, type_.replace('"', "")] for name, type_ in columns.items()], ensure_ascii=False)
    line = joined((_text(identifier(name), type_) for name, type_ in columns.items()), " || ")
    # Rows come in their order, unless a setting allows DuckDB another one.
    rows = f"SELECT {line} AS line FROM {relation}"
    if not cursor.execute("SELECT system.main.current_setting('preserve_insertion_order')").fetchall()[0][0]:
        rows = (
            f"SELECT line FROM (SELECT system.main.row_number() OVER () AS place, {line} AS line FROM {relation}) "
            "ORDER BY place ASC"
        )
    return text_hash.sha256(header, cursor.sql(rows))


def _text(column: Sql, type_: str) -> Sql:
    """Return a value as text that no other value has: with its length, or `-` for NULL.

    Lists and maps are taken apart, since versions of DuckDB differ in how they write the texts in them.
    """
    if _COUNTED.fullmatch(type_):
        each, items = f"{_plain(f'{_ITEM}.value')} || ',' || {_plain(f'{_ITEM}.size')}", str(column)
    elif type_.startswith("MAP("):
        each, items = (
            f"{_plain(f'{_ITEM}.key')} || ',' || {_plain(f'{_ITEM}.value')}",
            f"system.main.map_entries({column})",
        )
    elif type_ == "VARCHAR[]":
        each, items = _plain(_ITEM), str(column)
    else:
        return Sql(_plain(column))
    lines = f"system.main.list_transform({items}, lambda {_ITEM}: {each})"
    return Sql(_plain(f"system.main.array_to_string({lines}, ';')"))


_ITEM = '"dbanon item"'
"""The parameter of lambda expressions: a column of its name would be read in its place."""

_COUNTED = re.compile(r'STRUCT\("?value"? .*, "?size"? BIGINT\)\[\]')
"""The values of a sensitive column in a class, with how many there are."""


def _plain(value: str) -> str:
    shown = f"({value})::VARCHAR"
    return f"coalesce(system.main.strlen({shown})::VARCHAR || ':' || {shown}, '-')"


@contextlib.contextmanager
def _settled(cursor: Any) -> Iterator[None]:
    """Return instants are written alike wherever the hash is made."""
    settings = {"TimeZone": "UTC", "Calendar": "gregorian"}
    rows = cursor.execute(
        "SELECT name, value FROM system.main.duckdb_settings() WHERE lower(name) IN ('timezone', 'calendar')"
    ).fetchall()
    before = {name: value for name, value in rows if value != settings[name]}
    for name in before:
        cursor.execute(f"SET {name} = {text(settings[name])}")
    restore = [f"SET {name} = {text(value)}" for name, value in before.items()]
    try:
        yield
    except BaseException:
        # In a transaction that was aborted nothing can be set, and what went wrong must be told.
        with contextlib.suppress(duckdb.Error):
            for statement in restore:
                cursor.execute(statement)
        raise
    for statement in restore:
        cursor.execute(statement)
