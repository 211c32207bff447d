"""Read columns of a CSV file as text where DuckDB takes categories such as F and T for truth values."""

from pathlib import Path
from typing import Any

from dbanon.policy.column_names.category_names import is_category_name
from dbanon.runtime import input_files
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, identifier, join_sql, text

_CSV_ENDINGS = ("csv", "tsv", "txt")


def corrected_relation(connection: Any, path: Path, table: Sql | str) -> Sql | None:
    """Return the SQL expression that reads a file with texts in place of truth values; None if it has no such column.

    A column of a CSV file that DuckDB reads as BOOLEAN is read as text if its name says a category, as `sex` does, or
    if its texts are single letters: F and T are then published as they are, and not as false and true.

    Args:
        connection: A DuckDB connection.
        path: The file.
        table: SQL of the name of a table with its rows, as DuckDB reads them.
    """
    if names.file_ending(str(path)) not in _CSV_ENDINGS:
        return None
    columns = connection.execute(f"SELECT column_name, column_type FROM (DESCRIBE FROM {table})").fetchall()
    booleans = [name for name, type_ in columns if type_ == "BOOLEAN"]
    if not booleans:
        return None
    relation = input_files.file_relation(str(path))
    as_texts = _with_text_columns(relation, booleans)
    has_letters = join_sql(
        f"coalesce(system.main.bool_or(system.main.length({identifier(name)}) = 1), false)" for name in booleans
    )
    letter_flags = connection.execute(f"SELECT {has_letters} FROM {as_texts}").fetchall()[0]
    flagged_names = zip(booleans, letter_flags, strict=True)
    texts = [name for name, has_letter in flagged_names if has_letter or is_category_name(name)]
    return _with_text_columns(relation, texts) if texts else None


def _with_text_columns(relation: Sql, columns: list[str]) -> Sql:
    """Return the expression of a CSV file with these columns as texts."""
    types = join_sql(f"{text(name)}: 'VARCHAR'" for name in columns)
    return Sql(f"{relation.removesuffix(')')}, types = {{{types}}})")
