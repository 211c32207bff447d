"""Hashes of the tables and of the ledger row of a version, stored when it is created, to detect later changes."""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb

from dbanon.ledger import text_hash
from dbanon.ledger.related_releases import NamedRelease
from dbanon.ledger.releases import TABLES, LedgerEntry
from dbanon.source import catalog
from dbanon.sqltext.quote import Sql, identifier, join_sql, qualified, text

LEDGER_COLUMNS = (
    "source", "algorithm", "statement", "call", "parameters", "roles", "withheld", "policy_fingerprint",
    "hierarchy_fingerprint", "library_versions", "source_fingerprint", "source_records", "records", "suppressed",
    "dropped", "released_at", "achieved", "metrics", "person_key", "refresh_mode",
)  # fmt: skip
"""Columns of the ledger that never change for a version."""


def hash_tables(cursor: Any, entry: NamedRelease, table_suffixes: Sequence[str] = TABLES) -> dict[str, str]:
    """Return SHA-256 hashes, in hexadecimal digits, of the tables of a release, by the endings of their names.

    A hash covers names and types of the columns, and the rows in their order. Time zone and calendar are set during
    this and restored. O(rows) time.

    Args:
        cursor: A cursor.
        entry: The release.
        table_suffixes: The endings of the names of the tables to hash, which follow the release's name: "" (the
            released rows), "_classes" or "_metrics", or those of related tables.
    """
    places = {ending: (entry.database, entry.schema, entry.name + ending) for ending in table_suffixes}
    with _fixed_time_settings(cursor):
        return {
            ending: _hash_relation(cursor, qualified(*place), catalog.columns_of(cursor, place))
            for ending, place in places.items()
        }


def hash_relation(cursor: Any, relation: Sql, columns: Mapping[str, str]) -> str:
    """Return the SHA-256 hash of any relation, computed as in `hash_tables`.

    It covers `columns` (types by name) and the rows in their order. O(rows) time.
    """
    with _fixed_time_settings(cursor):
        return _hash_relation(cursor, relation, columns)


def hash_ledger_row(cursor: Any, database: str, row: Sql) -> str:
    """Return the SHA-256 hash of the columns in LEDGER_COLUMNS of one ledger row of a version.

    `row` is a relation of one row with the columns of `dbanon.release`. `refresh_mode` is hashed under its earlier name
    `refresh`, so that stored hashes stay valid.
    """
    types = catalog.columns_of(cursor, (database, catalog.SCHEMA, "release"))
    if "refresh_mode" in types:  # earlier versions named it so, and hashed this name with the rows
        types["refresh"] = types.pop("refresh_mode")
        row = Sql(f"(SELECT * RENAME (refresh_mode AS refresh) FROM {row})")
    columns = ("refresh" if name == "refresh_mode" else name for name in LEDGER_COLUMNS)
    with _fixed_time_settings(cursor):
        return _hash_relation(cursor, row, {name: types[name] for name in columns})


def version_changes(cursor: Any, entry: LedgerEntry, table_suffixes: Sequence[str] = TABLES) -> list[str] | None:
    """Return descriptions of all changes since a version was created; None if no hashes were stored, [] if unchanged.

    Missing tables are reported alone. If all tables exist, their present hashes and that of the ledger row are compared
    with those that were stored at creation. Versions of an earlier dbanon have no stored hashes.

    Args:
        cursor: A cursor.
        entry: The version.
        table_suffixes: Endings, after the release's name, of the names of the tables that are compared: "" (the
            released rows), "_classes", "_metrics".
    """
    stored_hashes = _stored_hashes(cursor, entry)
    if stored_hashes is None:
        return None
    if missing := _missing_tables(cursor, entry, table_suffixes):
        return missing
    changes = changed_tables(cursor, entry, {ending: stored_hashes.get(ending) for ending in table_suffixes})
    if stored_hashes.get("ledger") != hash_ledger_row(cursor, entry.database, _ledger_row(entry)):
        changes.append("its entry in the ledger has changed since it was created")
    return changes


def changed_tables(cursor: Any, entry: NamedRelease, stored_hashes: Mapping[str, str | None]) -> list[str]:
    """Return descriptions of the tables that are missing or, if none is missing, of those whose hash has changed.

    `stored_hashes` gives the stored hash by the ending of a table's name. Empty if nothing changed.
    """
    return _missing_tables(cursor, entry, list(stored_hashes)) or [
        f"table {entry.name + ending} has other rows, another order or other columns than when it was created"
        for ending, current_hash in hash_tables(cursor, entry, list(stored_hashes)).items()
        if stored_hashes[ending] != current_hash
    ]


def _missing_tables(cursor: Any, entry: NamedRelease, endings: Sequence[str]) -> list[str]:
    """Return descriptions of the tables of a release, by the endings of their names, that do not exist."""
    existing = catalog.relations(cursor, entry.database)
    names = (entry.name + e for e in endings if (entry.database, entry.schema, entry.name + e) not in existing)
    return [f"table {name} is missing" for name in names]


def release_hash(cursor: Any, entry: LedgerEntry) -> str | None:
    """Return the hash of the released rows that was stored when a version was created; None without hashes."""
    return stored_hash(cursor, entry, "")


def stored_hash(cursor: Any, entry: LedgerEntry, key: str) -> str | None:
    """Return a hash that was stored when a version was created, by its key; None if it was not stored."""
    return (_stored_hashes(cursor, entry) or {}).get(key)


def _stored_hashes(cursor: Any, entry: LedgerEntry) -> dict[str, str] | None:
    """Return the hashes that were stored with a version; None if there are none.

    The keys are the endings of table names, `ledger` for the ledger row, and `state` (see `version_state.py`).
    """
    if "hashes" not in catalog.columns_of(cursor, (entry.database, catalog.SCHEMA, "release")):
        return None
    stored_hashes = cursor.execute(f"SELECT hashes FROM {_ledger_row(entry)}").fetchall()[0][0]
    return None if stored_hashes is None else dict(stored_hashes)


def _ledger_row(entry: LedgerEntry) -> Sql:
    """Return a relation of the one row of `dbanon.release` for a version."""
    key = join_sql([text(entry.schema), text(entry.name), Sql(str(entry.version))])
    return Sql(
        f"(FROM {qualified(entry.database, catalog.SCHEMA, 'release')} WHERE (schema_name, name, version) = ({key}))"
    )


def _hash_relation(cursor: Any, relation: Sql, columns: Mapping[str, str]) -> str:
    """Return the SHA-256 hash of the columns' names and types and of all rows of a relation, in insertion order.

    Time zone and calendar must be set before.
    """
    # Versions of DuckDB differ in whether they quote the names in a type.
    header = json.dumps([[name, type_.replace('"', "")] for name, type_ in columns.items()], ensure_ascii=False)
    # One call is more than twice as fast as joining the texts one by one.
    pieces = join_sql(_text_pieces(identifier(name), type_) for name, type_ in columns.items())
    line = f"system.main.concat({pieces})"
    # DuckDB returns rows in insertion order unless preserve_insertion_order is off.
    rows = f"SELECT {line} AS line FROM {relation}"
    if not cursor.execute("SELECT system.main.current_setting('preserve_insertion_order')").fetchall()[0][0]:
        rows = (
            f"SELECT line FROM (SELECT system.main.row_number() OVER () AS place, {line} AS line FROM {relation}) "
            "ORDER BY place ASC"
        )
    return text_hash.sha256(header, cursor.sql(rows))


def _text_pieces(column: Sql, type_: str) -> Sql:
    """Return SQL of the arguments of concat for a column: its length, `:` and its text, which determine its value.

    NULL is `-`. Lists of texts, of (value, size) structs and maps are encoded item by item, since versions of DuckDB
    differ in how they write texts in them.
    """
    if _COUNTED.fullmatch(type_):
        item_text, item_list = (
            f"{_length_prefixed(f'{_ITEM}.value')} || ',' || {_length_prefixed(f'{_ITEM}.size')}",
            str(column),
        )
    elif type_.startswith("MAP("):
        item_text, item_list = (
            f"{_length_prefixed(f'{_ITEM}.key')} || ',' || {_length_prefixed(f'{_ITEM}.value')}",
            f"system.main.map_entries({column})",
        )
    elif type_ == "VARCHAR[]":
        item_text, item_list = _length_prefixed(_ITEM), str(column)
    else:
        return _prefixed_pieces(f"({column})::VARCHAR")
    lines = f"system.main.list_transform({item_list}, lambda {_ITEM}: {item_text})"
    return _prefixed_pieces(f"(system.main.array_to_string({lines}, ';'))::VARCHAR")


_ITEM = '"dbanon item"'
"""The parameter of lambda expressions: it must not be the name of a column, which would be read instead."""

_COUNTED = re.compile(r'STRUCT\("?value"? .*, "?size"? BIGINT\)\[\]')
"""The values of a sensitive column in a class, with their counts."""


def _prefixed_pieces(value_text: str) -> Sql:
    """Return SQL of the arguments of concat, which skips NULL, that make the same text as `_length_prefixed`."""
    return Sql(
        f"system.main.strlen({value_text})::VARCHAR, CASE WHEN {value_text} IS NULL THEN '-' ELSE ':' END, {value_text}"
    )


def _length_prefixed(value: str) -> str:
    """Return SQL of the text of a value after its length in bytes and a colon; `-` for NULL."""
    value_text = f"({value})::VARCHAR"
    return f"coalesce(system.main.strlen({value_text})::VARCHAR || ':' || {value_text}, '-')"


@contextlib.contextmanager
def _fixed_time_settings(cursor: Any) -> Iterator[None]:
    """Set time zone UTC and the Gregorian calendar for the block, and restore the earlier settings after it.

    Instants then have the same text in every session. If the block fails, its error is raised even if the settings
    cannot be restored.
    """
    settings = {"TimeZone": "UTC", "Calendar": "gregorian"}
    rows = cursor.execute(
        "SELECT name, value FROM system.main.duckdb_settings() WHERE lower(name) IN ('timezone', 'calendar')"
    ).fetchall()
    changed_settings = {name: value for name, value in rows if value != settings[name]}
    for name in changed_settings:
        cursor.execute(f"SET {name} = {text(settings[name])}")
    restore = [f"SET {name} = {text(value)}" for name, value in changed_settings.items()]
    try:
        yield
    except BaseException:
        # An aborted transaction accepts no SET; the original error must be raised, not the one of SET.
        with contextlib.suppress(duckdb.Error):
            for statement in restore:
                cursor.execute(statement)
        raise
    for statement in restore:
        cursor.execute(statement)
