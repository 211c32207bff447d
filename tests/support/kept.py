"""Initial states shared by several tests: made for the first of them, and copied for every test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

_folder = tempfile.TemporaryDirectory(prefix="dbanon_kept_")
_states: dict[Hashable, tuple[Path, Any]] = {}


def copy_database(path: Path, make: Callable[..., Any], *given: Hashable) -> Path:
    """Put the database that `make(path, *given)` makes and closes at a path."""
    named_values = make, path.name, *given
    if named_values not in _states:
        kept_place = _place(path.name)
        _states[named_values] = kept_place, make(kept_place, *given)
    shutil.copy(_states[named_values][0], path)
    return path


def restore_state(connection: Any, key: Hashable, make: Callable[[Any], Any]) -> Any:
    """Bring an attached, empty in-memory database to a state; return the value that `make` returned.

    `make` creates tables and writes into those of the schema dbanon, and does nothing else; `key` identifies the
    state.
    """
    con = getattr(connection, "raw", connection)
    if key not in _states:
        gave, path = make(connection), _place("kept.duckdb")
        con.execute(f"ATTACH '{path}' AS kept; COPY FROM DATABASE memory TO kept; DETACH kept")
        _states[key] = path, gave
        return gave
    path, gave = _states[key]
    con.execute(f"ATTACH '{path}' AS kept (READ_ONLY)")
    all_query = (
        "SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE database_name = 'kept' ORDER BY table_oid"
    )
    for schema, table, sql in con.execute(all_query).fetchall():
        name = f'"{schema}"."{table}"'
        con.execute(f"DELETE FROM {name}" if schema == "dbanon" else sql)
        con.execute(f"INSERT INTO {name} FROM kept.{name}")
    con.execute("DETACH kept")
    return gave


def _place(name: str) -> Path:
    folder = Path(_folder.name) / str(len(_states))
    folder.mkdir()
    return folder / name
