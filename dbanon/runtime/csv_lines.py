"""Lines of a CSV file that DuckDB does not read as records, or reads as records of one column.

DuckDB guesses the form of a file from its first lines. It skips leading lines whose number of fields differs and lines
that begin with a sign for comments, and it takes each line as one value if the numbers of fields differ too much. Its
messages quote lines; these count them.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, text

_SEPARATORS = (",", ";", "\t", "|")
_NO_SIGN = "(empty)"
"""What sniff_csv returns in place of an empty text."""

N_SHOWN_LINES = 3
"""Number of line numbers that a message shows."""


@dataclass(frozen=True)
class CsvForm:
    """The form of a CSV file as DuckDB reads it.

    Attributes:
        delimiter: The sign between fields.
        n_skipped: Number of lines at the beginning that are not read, the header not included.
        has_header: Whether a line has the names of the columns.
        comment: The sign at the beginning of lines that are not read; empty without one.
        columns: The types of the columns by name.
        date_formats: The formats of dates and timestamps, as of strptime, by type; empty if DuckDB found none.
    """

    delimiter: str
    n_skipped: int
    has_header: bool
    comment: str
    columns: dict[str, str]
    date_formats: dict[str, str]


def is_csv(path: str) -> bool:
    """Return whether a file is read as CSV, by its ending."""
    return names.file_ending(path) in ("csv", "tsv", "txt")


def reading_notes(path: str, raw: Any) -> list[str]:
    """Return sentences about what was not read from a CSV file, or not as it is meant; no value of it.

    Args:
        path: The file.
        raw: A connection of DuckDB. It is not changed.

    Returns:
        One sentence per finding; empty for files of other kinds and for files that cannot be examined.
    """
    if not is_csv(path):
        return []
    with raw.cursor() as cursor, contextlib.suppress(duckdb.Error):
        form = csv_form(path, cursor)
        return [*_skipped_lines(path, form, cursor), *_merged_columns(path, form, cursor), *_two_digit_years(form)]
    return []


def rejected_lines(path: str, raw: Any) -> str | None:
    """Return a sentence about the lines that prevent a CSV file from being read: how many, and the first numbers.

    None if there are none, or the file cannot be examined. `raw` is a connection of DuckDB; it is not changed.
    """
    if not is_csv(path):
        return None
    with raw.cursor() as cursor, contextlib.suppress(duckdb.Error):
        form = csv_form(path, cursor)
        if lines := _rejected_lines(path, form.delimiter, cursor, f"skip = {form.n_skipped}")[1]:
            return (
                f"{_count_lines(lines)} cannot be read: the number of fields differs from that of the other lines, or "
                "a field is no value of its column."
            )
    return None


def csv_form(path: str, cursor: Any) -> CsvForm:
    """Return the form in which DuckDB reads a CSV file."""
    [row] = cursor.execute(
        "SELECT Delimiter, SkipRows, HasHeader, Comment, Columns, DateFormat, TimestampFormat "
        f"FROM system.main.sniff_csv({text(names.escape_glob(path))})"
    ).fetchall()
    delimiter, n_skipped, has_header, comment, columns, date_format, timestamp_format = row
    return CsvForm(
        delimiter,
        n_skipped,
        has_header,
        "" if comment == _NO_SIGN else comment,
        {column["name"]: column["type"] for column in columns},
        {"DATE": date_format or "", "TIMESTAMP": timestamp_format or ""},
    )


def _skipped_lines(path: str, form: CsvForm, cursor: Any) -> list[str]:
    """Return sentences about lines at the beginning, and lines of comments, that are not read."""
    notes = []
    if form.n_skipped:
        notes.append(
            f"{_count_text(form.n_skipped, 'line')} at the beginning {_are(form.n_skipped)} not read, because the "
            "number of fields differs from that of the other lines"
            + (" (the names of the columns may be among them)." if not form.has_header else ".")
        )
    if form.comment:
        [(n_comments,)] = cursor.execute(
            f"SELECT system.main.count(*) FROM {_lines(path)} WHERE system.main.starts_with(line, {text(form.comment)})"
        ).fetchall()
        if n_comments:
            notes.append(
                f"{_count_text(n_comments, 'line')} that {'begins' if n_comments == 1 else 'begin'} with "
                f"{form.comment} {_are(n_comments)} not read, as {'a comment' if n_comments == 1 else 'comments'}."
            )
    return notes


def _merged_columns(path: str, form: CsvForm, cursor: Any) -> list[str]:
    """Return a sentence about a file whose lines are read as one column, although its header or lines have several."""
    if len(form.columns) != 1:
        return []
    (header,) = form.columns
    separator = max(_SEPARATORS, key=header.count)
    if separator in header:
        n_records, lines = _rejected_lines(path, separator, cursor, "all_varchar = true, header = true")
        if lines and len(lines) < n_records:
            return [_one_column_note(lines, "the first line")]
    return _uneven_lines(path, cursor)


def _uneven_lines(path: str, cursor: Any) -> list[str]:
    """Return a sentence about a file that is read as one column, although most of its lines have the same separators.

    A line such as a title comes first. Separators in quotes are counted, too: this is only a note.
    """
    counts = ", ".join(
        f"system.main.length(line) - system.main.length(system.main.replace(line, {text(separator)}, ''))"
        for separator in _SEPARATORS
    )
    numbered_lines = f"SELECT system.main.row_number() OVER () AS number, [{counts}] AS counts FROM {_lines(path)}"
    for place in range(1, len(_SEPARATORS) + 1):
        n_separators, n_lines, n_usual = cursor.execute(
            f"SELECT system.main.mode(counts[{place}]), system.main.count(*), system.main.count(*) FILTER "
            f"(WHERE counts[{place}] = usual) FROM (SELECT *, system.main.mode(counts[{place}]) OVER () AS usual "
            f"FROM ({numbered_lines}))"
        ).fetchall()[0]
        if not n_separators or 2 * n_usual <= n_lines:
            continue
        lines = cursor.execute(
            f"SELECT number FROM ({numbered_lines}) WHERE counts[{place}] <> {n_separators} ORDER BY number ASC"
        ).fetchall()
        return [_one_column_note([line for (line,) in lines], "most lines")]
    return []


def _one_column_note(lines: Sequence[int], others: str) -> str:
    """Return a sentence that each line is read as one column, because of some lines.

    Args:
        lines: The numbers of these lines.
        others: The lines whose number of fields differs from theirs, such as `the first line`.
    """
    return (
        f"each line is read as one column, because {_count_lines(lines)} {'has' if len(lines) == 1 else 'have'} "
        f"another number of fields than {others}. Hint: correct them, or load the file into a table with read_csv and "
        "null_padding = true."
    )


def _two_digit_years(form: CsvForm) -> list[str]:
    """Return a sentence about columns of dates whose years have two digits."""
    columns = [name for name, type_ in form.columns.items() if "%y" in form.date_formats.get(type_, "")]
    if not columns:
        return []
    return [
        f"years of two digits are read as 1969 to 2068 in {', '.join(columns)}. Hint: if some dates are earlier, "
        "subtract INTERVAL 100 YEAR from them."
    ]


def _rejected_lines(path: str, delimiter: str, cursor: Any, options: str) -> tuple[int, list[int]]:
    """Return how many records a CSV file has if it has a delimiter, and the numbers of the lines that DuckDB rejects.

    `options` are further options of read_csv.
    """
    rejects = "rejects_table = 'rejected_fields', rejects_scan = 'rejecting_scans'"
    [(n_records,)] = cursor.execute(
        f"SELECT system.main.count(*) FROM system.main.read_csv({text(names.escape_glob(path))}, "
        f"delim = {text(delimiter)}, ignore_errors = true, store_rejects = true, {rejects}, {options})"
    ).fetchall()
    rows = cursor.execute("SELECT DISTINCT line FROM temp.rejected_fields ORDER BY line ASC").fetchall()
    return n_records, [line for (line,) in rows]


def _lines(path: str) -> Sql:
    """Return SQL of a relation that has one row per line of a file, with the column `line`."""
    return Sql(
        f"system.main.read_csv({text(names.escape_glob(path))}, auto_detect = false, header = false, "
        r"delim = '\x01', quote = '', escape = '', columns = {'line': 'VARCHAR'})"
    )


def _count_lines(lines: Sequence[int]) -> str:
    """Return how many lines there are and the numbers of the first ones, such as `2 lines (5, 9)`."""
    line_numbers = ", ".join(f"{line:,}" for line in lines[:N_SHOWN_LINES])
    return f"{_count_text(len(lines), 'line')} ({line_numbers}{', ...' if len(lines) > N_SHOWN_LINES else ''})"


def _count_text(n: int, noun: str) -> str:
    """Return a number and a noun, such as `1 line` or `2 lines`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _are(n: int) -> str:
    """Return the verb for a number of things."""
    return "is" if n == 1 else "are"
