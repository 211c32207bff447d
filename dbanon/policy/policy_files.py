"""Read roles and settings of columns from files: TOML, or CSV with the columns of dbanon.policy."""

import csv
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from dbanon.sqltext import names

_SETTINGS = (
    "role",
    "hierarchy",
    "weight",
    "min_level",
    "max_level",
    "top",
    "bottom",
    "rounding",
    "missing_codes",
    "settings",
)
_KEY_COLUMNS = ("database_name", "schema_name", "table_name", "column_name")
"""Columns of a policy that identify the column that a row is about."""

IsAboutTable = Callable[[str | None, str], bool]
"""(schema_name (None: not in the file), table_name) -> whether a row is about the table that is anonymized."""


def read_policy_file(
    path: Path, parse_codes: Callable[[str], Any], *, is_about_table: IsAboutTable | None = None
) -> dict[str, dict[str, Any]]:
    """Read roles and settings of columns from a TOML or CSV file.

    Args:
        path: TOML (by its ending) with a table or a role for each column, or CSV with column_name, role and any other
            columns of dbanon.policy.
        parse_codes: Reads the codes for missing values from a cell of CSV.
        is_about_table: Selects the rows of a CSV with the column table_name; None: all rows.

    Returns:
        By column: a dict of role and settings. Empty cells of a CSV are omitted.

    Raises:
        ValueError: The file has another format, a CSV has an unknown setting or gives a column twice, or it has no row
            about the table.
    """
    return _read_toml(path) if path.suffix.lower() == ".toml" else _read_csv(path, parse_codes, is_about_table)


def _read_toml(path: Path) -> dict[str, dict[str, Any]]:
    """Return roles and settings by column from a TOML file; a table `columns` may enclose all of them.

    Names of settings are not checked.

    Raises:
        ValueError: It is not TOML, or a column has neither a role nor a table of settings.
    """
    try:
        document: Mapping[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}.") from None
    columns = document.get("columns")
    if isinstance(columns, Mapping):
        if len(document) > 1:
            others = ", ".join(name for name in document if name != "columns")
            raise ValueError(f"{path} has the table columns and {others} outside of it. Give all columns in one place.")
        document = columns
    for column, settings in document.items():
        if not isinstance(settings, (str, Mapping)):
            raise ValueError(f"{path} gives {column} neither a role nor a table of settings.")
    return {c: ({"role": v} if isinstance(v, str) else dict(v)) for c, v in document.items()}


def _read_csv(
    path: Path, parse_codes: Callable[[str], Any], is_about_table: IsAboutTable | None
) -> dict[str, dict[str, Any]]:
    """Return roles and settings by column from a CSV file, as `read_policy_file`; empty cells are omitted.

    Raises:
        ValueError: The file is not CSV, lacks column_name or role, has an unknown column, a row without column_name,
            two rows for a column, or a text in place of a number.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            rows = list(csv.DictReader(file))
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not CSV: {error}.") from None
    if not rows or not {"column_name", "role"} <= rows[0].keys():
        raise ValueError(f"{path} has no columns column_name and role.")
    unknown = [str(name) for row in rows for name in row if name not in (*_KEY_COLUMNS, *_SETTINGS)]
    if unknown:
        accepted = ", ".join((*_KEY_COLUMNS, *_SETTINGS))
        raise ValueError(f"{path} has cells in the column {unknown[0]}, which no policy has. Accepted: {accepted}.")
    parsers: dict[str, Callable[[str], Any]] = {
        **_NUMBERS,
        "missing_codes": parse_codes,
        "settings": parse_transform_cell,
    }
    table_rows = _rows_of_table(path, rows, is_about_table)
    if not all(row["column_name"] for row in table_rows):
        raise ValueError(f"{path} has a row without column_name. Name the column of each row.")
    if repeated_column := next(
        (
            column
            for column, n_rows in Counter(names.fold_case(row["column_name"]) for row in table_rows).items()
            if n_rows > 1
        ),
        None,
    ):
        raise ValueError(f"{path} has two rows for {repeated_column}. Give each column one role.")
    for row, (setting, type_) in product(table_rows, _NUMBERS.items()):
        if row.get(setting) and not _is_number(row[setting], type_):
            accepts = "an integer" if type_ is int else "a number"
            raise ValueError(f"{path}: {setting} of {row['column_name']} must be {accepts}, got {row[setting]!r:.60}.")
    return columns_from_rows({s: parsers.get(s, str)(v) for s, v in row.items() if v} for row in table_rows)


_NUMBERS: dict[str, type[int] | type[float]] = {"weight": float, "min_level": int, "max_level": int}
"""The settings that are numbers, with their types."""


def _is_number(cell: str, type_: type[int] | type[float]) -> bool:
    """Return whether a cell is a number of a type."""
    try:
        type_(cell)
    except ValueError:
        return False
    return True


def _rows_of_table(path: Path, rows: list[dict[str, str]], is_about_table: IsAboutTable | None) -> list[dict[str, str]]:
    """Return the rows of a CSV that are about the table that is anonymized.

    All rows if there is no column table_name or `is_about_table` is None. Rows with an empty table_name are about every
    table.

    Raises:
        ValueError: No row is about the table.
    """
    if is_about_table is None or "table_name" not in rows[0]:
        return rows
    table_rows = [
        row for row in rows if not row["table_name"] or is_about_table(row.get("schema_name"), row["table_name"])
    ]
    if not table_rows:
        table_names = ", ".join(dict.fromkeys(row["table_name"] for row in rows))
        raise ValueError(
            f"{path} is about {table_names}, and not about the table that is anonymized. Hint: remove the column "
            "table_name if its rows are about this table."
        )
    return table_rows


def parse_transform_cell(cell: str) -> dict[str, str]:
    """Return the settings of a transformation in a cell of CSV, as DuckDB writes a MAP: `{length=12, prefix=P-}`.

    Colons in place of equals signs are accepted. Names and values may be in quotes; DuckDB quotes those with a comma, a
    quote, an equals sign, or blanks at an end.

    Raises:
        ValueError: The cell has another form.
    """
    inner = cell.strip().removeprefix("{").removesuffix("}").strip()
    texts = _PAIR.findall(inner)
    pairs = [re.split("[=:]", pair, maxsplit=1) for pair in texts]
    if not cell.strip().startswith("{") or any(len(pair) != 2 for pair in pairs) or ",".join(texts) != inner:
        raise ValueError(f"{cell!r:.60} is no list of settings such as {{length=12, prefix=P-}}.")
    return {_unquoted(name.strip()): _unquoted(value.strip()) for name, value in pairs}


_PAIR = re.compile(r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,])+""")
"""A name and its value: everything up to a comma that is not in quotes."""


def _unquoted(text: str) -> str:
    """Return a text without the quotes around it, in which a backslash precedes quotes and backslashes."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def columns_from_rows(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return a dict of role and settings by column, from rows of dbanon.policy (values by name).

    NULL and columns that are neither the role nor a setting are omitted.
    """
    return {row["column_name"]: {s: row[s] for s in _SETTINGS if row.get(s) is not None} for row in rows}
