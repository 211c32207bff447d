"""Escape text cells of a CSV file that a spreadsheet would execute as formulas, and undo it.

Spreadsheets execute a cell that begins with `=`, `+`, `-` or `@` (also their full-width and small forms), and skip
blanks, control characters and invisible characters in front of it. An apostrophe at the start makes the cell a text.
A cell that already looks escaped, such as `'=1`, gets another apostrophe, so that every text can be recovered: the
apostrophe is removed if the remaining text would have been escaped.
"""

import re
from collections.abc import Sequence

from dbanon import errors
from dbanon.sqltext.quote import Sql, text

CHOICES = ("escape", "keep")
"""Accepted values of `csv_formulas`; the first is the default."""

_IGNORED_RANGES = (
    (0x00, 0x20), (0x7F, 0xA0), (0xAD, 0xAD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x1680, 0x1680),
    (0x180B, 0x180F), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F), (0x2800, 0x2800), (0x3000, 0x3000),
    (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF9, 0xFFFB), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""Ranges of characters that a spreadsheet may skip at the start of a cell: blanks, control and invisible characters."""

_FORMULA_CHARACTERS = (
    "=+-@\u2212\u207a\u207b\u207c\u208a\u208b\u208c\ufb29\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20"
)
"""Characters that begin a formula, and those that a spreadsheet may treat as one of them (NFKC)."""

_NEGATIVE_NUMBER = r"-(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)(?:e[+-]?[0-9]+)?"
"""A negative number as a generalized column publishes it."""

_NON_TEXT_TYPES = re.compile(
    r".*\[\d*\]|(?:STRUCT|MAP|DECIMAL)\(.*\)|U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|BIGNUM|BOOLEAN|UUID|"
    r"DATE|TIME.*|INTERVAL|BIT|JSON",
    re.DOTALL,
)
"""Types whose text is a number, a date or begins with a bracket; JSON begins with neither `=`, `+` nor `@`."""


def _formula_start_pattern(code_point_format: str) -> str:
    """Return a regular expression for the start of a cell that must be escaped.

    It matches any apostrophes, then characters that spreadsheets skip, then a character that begins a formula.

    Args:
        code_point_format: The format string with which the regular expression engine (Python's or DuckDB's) writes a
            code point.
    """
    ranges = "".join(
        code_point_format.format(low) + ("" if low == high else "-" + code_point_format.format(high))
        for low, high in _IGNORED_RANGES
    )
    starts = "".join(code_point_format.format(ord(character)) for character in _FORMULA_CHARACTERS)
    return f"'*[{ranges}]*[{starts}]"


_FORMULA_START_SQL = _formula_start_pattern(r"\x{{{:04X}}}")
_FORMULA_START = re.compile(_formula_start_pattern(r"\U{:08x}"))
_NEGATIVE_NUMBER_PATTERN = re.compile(_NEGATIVE_NUMBER)


def is_escape(function: str, choice: object) -> bool:
    """Return True if the setting `csv_formulas` of a function is 'escape', False if it is 'keep'.

    Raises:
        InvalidArgumentError: `choice` is neither 'escape' nor 'keep'.
    """
    if choice not in CHOICES:
        raise errors.InvalidArgumentError(function, "csv_formulas", "'escape' or 'keep'", repr(choice))
    return choice == "escape"


def is_text(type_: str) -> bool:
    """Return whether cells of a DuckDB type can begin with any character, so that they may look like a formula.

    False for numbers, dates, times, JSON, UUID, booleans, lists, structs and maps.

    >>> is_text("VARCHAR"), is_text("DECIMAL(9,2)"), is_text("STRUCT(a VARCHAR)[]")
    (True, False, False)
    """
    return _NON_TEXT_TYPES.fullmatch(type_) is None


def escape_cell(cell: str, *, is_quasi: bool = False) -> str:
    """Return a cell's text, with an apostrophe in front if a spreadsheet would execute it or it already looks escaped.

    Args:
        cell: The text.
        is_quasi: The cell belongs to a generalized column, in which negative numbers are not escaped.

    >>> escape_cell("=1+1"), escape_cell(" +A1"), escape_cell("'=1"), escape_cell("-5"), escape_cell("a-b")
    ("'=1+1", "' +A1", "''=1", "'-5", 'a-b')
    >>> escape_cell("-5", is_quasi=True)
    '-5'
    """
    if _FORMULA_START.match(cell) is None or (is_quasi and _NEGATIVE_NUMBER_PATTERN.fullmatch(cell)):
        return cell
    return "'" + cell


def unescape_cell(cell: str) -> str:
    """Return the original text of a cell that `escape_cell` returned; an apostrophe that it did not add is kept.

    >>> unescape_cell("'=1+1"), unescape_cell("''=1"), unescape_cell("-5"), unescape_cell("'tis")
    ('=1+1', "'=1", '-5', "'tis")
    """
    return cell[1:] if cell[:1] == "'" and _FORMULA_START.match(cell, 1) is not None else cell


def header_cells(names: Sequence[str], *, escape: bool) -> list[str]:
    """Return the column names as cells of a CSV file's header line: escaped as formulas if `escape`, else unchanged."""
    return [escape_cell(name) for name in names] if escape else list(names)


def escape_sql(value: str, *, is_quasi: bool = False) -> Sql:
    """Return a SQL expression that escapes a VARCHAR expression as `escape_cell` escapes a text.

    Args:
        value: SQL of the text.
        is_quasi: The expression is a generalized column, in which negative numbers are not escaped.
    """
    return Sql(
        f"CASE WHEN {_other_start_sql(value)} THEN {value} WHEN {_formula_sql(value, is_quasi)} "
        f"THEN '''' || {value} ELSE {value} END"
    )


def is_escaped_sql(value: str, *, is_quasi: bool = False) -> Sql:
    """Return a SQL condition that `escape_sql` changes a VARCHAR expression; it is true or false, also for NULL.

    Args:
        value: SQL of the text.
        is_quasi: The expression is a generalized column, in which negative numbers are not escaped.
    """
    return Sql(
        f"CASE WHEN {_other_start_sql(value)} THEN false WHEN {_formula_sql(value, is_quasi)} THEN true ELSE false END"
    )


def _formula_sql(value: str, is_quasi: bool) -> str:
    """Return a SQL condition that a VARCHAR expression is escaped; see `escape_sql` for the parameters."""
    number = f" AND NOT system.main.regexp_full_match({value}, {text(_NEGATIVE_NUMBER)})" if is_quasi else ""
    return f"system.main.regexp_matches({value}, {text('^' + _FORMULA_START_SQL)}){number}"


def _other_start_sql(value: str) -> str:
    """Return a SQL condition that a VARCHAR expression begins with an ASCII letter, a digit or a bracket.

    Such a text, which most cells are, is no formula, so the slower regular expression need not be matched.
    """
    first = f"system.main.ascii({value})"
    return f"({first} BETWEEN 65 AND 122 OR {first} BETWEEN 48 AND 57)"


def unescape_sql(value: str) -> Sql:
    """Return a SQL expression that undoes `escape_sql` for a VARCHAR expression; it needs DuckDB only."""
    pattern = text(f"^'({_FORMULA_START_SQL})")
    return Sql(f"regexp_replace({value}, {pattern}, '\\1')")
