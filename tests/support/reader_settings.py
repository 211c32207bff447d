"""Settings of a reader's DuckDB that change what SQL means: SQL for recipients must not depend on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

READER_SETTINGS: tuple[dict[str, str], ...] = (
    {
        "integer_division": "true",
        "default_order": "'DESC'",
        "default_null_order": "'NULLS_FIRST'",
        "ieee_floating_point_ops": "false",
        "default_collation": "'NOCASE'",
        "error_on_division_by_zero": "true",
        "old_implicit_casting": "true",
        "scalar_subquery_error_on_multiple_rows": "false",
        "preserve_identifier_case": "false",
    },
    {"dialect_compatibility_mode": "'SPARK'"},
)
"""Settings that are tried together; Spark's dialect has a meaning of its own for some of the first ones."""


@contextmanager
def apply_settings(con: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """Change those of these settings that DuckDB has, on a connection, within the block."""
    query = "SELECT name FROM duckdb_settings() WHERE list_contains(?, name)"
    existing = [name for (name,) in con.execute(query, [list(settings)]).fetchall()]
    try:
        for name in existing:
            con.execute(f"SET {name} = {settings[name]}")
        yield
    finally:
        for name in existing:
            con.execute(f"RESET {name}")
