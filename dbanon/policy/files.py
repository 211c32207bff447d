"""Roles and settings of columns as files have them: TOML, or CSV with the columns of dbanon.policy."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

_SETTINGS = ("role", "hierarchy", "weight", "min_level", "max_level", "top", "bottom", "grid", "missing", "form")


def read(path: Path, missing: Callable[[str], Any]) -> dict[str, dict[str, Any]]:
    """Roles and settings by column: a TOML table a column, or a CSV with column_name, role and any of the policy's
    columns, whose codes for missing values `missing` reads. ValueError says what the file is not."""
    if path.suffix.lower() == ".toml":
        try:
            found: Mapping[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not TOML: {error}.") from None
        columns = found.get("columns", found)
        return {c: ({"role": v} if isinstance(v, str) else dict(v)) for c, v in columns.items()}
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or not {"column_name", "role"} <= rows[0].keys():
        raise ValueError(f"{path} has no columns column_name and role.")
    kinds: dict[str, Callable[[str], Any]] = {
        "weight": float,
        "min_level": int,
        "max_level": int,
        "missing": missing,
        "form": form,
    }
    return of_rows({s: kinds.get(s, str)(v) for s, v in row.items() if v} for row in rows)


def form(cell: str) -> dict[str, str]:
    """A cell of settings as DuckDB writes a MAP to CSV, `{length=12, prefix=P-}`, or with colons; ValueError."""
    pairs = [re.split("[=:]", pair, maxsplit=1) for pair in cell.strip().removeprefix("{").removesuffix("}").split(",")]
    if not cell.strip().startswith("{") or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{cell!r:.60} is no settings of a form, such as {{length=12, prefix=P-}}.")
    return {name.strip().strip("'\""): value.strip().strip("'\"") for name, value in pairs}


def of_rows(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Roles and settings by column, from rows of dbanon.policy; what is NULL there is left out."""
    return {row["column_name"]: {s: row[s] for s in _SETTINGS if row.get(s) is not None} for row in rows}
