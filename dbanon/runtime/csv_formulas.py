"""Escape text cells of a CSV file that a spreadsheet would execute as formulas, and undo it.

Spreadsheets execute a cell that begins with `=`, `+`, `-` or `@` (also their full-width and small forms), and skip
blanks, control characters and invisible characters in front of it. An apostrophe at the start makes the cell a text.
A text that is such an escaped one already, `'=1`, gets another apostrophe, so that every text can be recovered: the
apostrophe is removed where the remaining text would have got one.
"""

import re
from collections.abc import Sequence

from dbanon import errors
from dbanon.sqltext.quote import Sql, text

CHOICES = ("escape", "keep")
"""What is done with such cells; the first is the default."""

_SKIPPED = (
    (0x00, 0x20), (0x7F, 0xA0), (0xAD, 0xAD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x1680, 0x1680),
    (0x180B, 0x180F), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F), (0x2800, 0x2800), (0x3000, 0x3000),
    (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF9, 0xFFFB), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""Ranges of characters that a spreadsheet may skip at the start of a cell: blanks, control and invisible characters."""

_STARTS = "=+-@\u2212\u207a\u207b\u207c\u208a\u208b\u208c\ufb29\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20"
"""Characters that begin a formula, and those that a spreadsheet may take for one of them (NFKC)."""

_NUMBER = r"-(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)(?:e[+-]?[0-9]+)?"
"""A negative number as a generalized column publishes it."""

_NO_TEXT = re.compile(
    r".*\[\d*\]|(?:STRUCT|MAP|DECIMAL)\(.*\)|U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|BIGNUM|BOOLEAN|UUID|"
    r"DATE|TIME.*|INTERVAL|BIT|JSON",
    re.DOTALL,
)
"""Types whose text is a number, a date or begins with a bracket; JSON begins with neither `=`, `+` nor `@`."""


def _pattern(one: str) -> str:
    """Return the start of a text that is escaped, with the characters as `one` writes a code point."""
    ranges = "".join(one.format(low) + ("" if low == high else "-" + one.format(high)) for low, high in _SKIPPED)
    starts = "".join(one.format(ord(character)) for character in _STARTS)
    return f"'*[{ranges}]*[{starts}]"


_START_SQL = _pattern(r"\x{{{:04X}}}")
_START = re.compile(_pattern(r"\U{:08x}"))
_IS_NUMBER = re.compile(_NUMBER)


def check(function: str, choice: object) -> bool:
    """Return whether cells are escaped.

    Raises:
        InvalidArgumentError: `choice` is neither 'escape' nor 'keep'.
    """
    if choice not in CHOICES:
        raise errors.InvalidArgumentError(function, "csv_formulas", "'escape' or 'keep'", repr(choice))
    return choice == "escape"


def is_text(type_: str) -> bool:
    """Return whether cells of a column of this DuckDB type can begin with any character.

    >>> is_text("VARCHAR"), is_text("DECIMAL(9,2)"), is_text("STRUCT(a VARCHAR)[]")
    (True, False, False)
    """
    return _NO_TEXT.fullmatch(type_) is None


def escaped(cell: str, *, is_quasi: bool = False) -> str:
    """Return a text so that no spreadsheet executes it; `is_quasi`: negative numbers stay as they are.

    >>> escaped("=1+1"), escaped(" +A1"), escaped("'=1"), escaped("-5"), escaped("-5", is_quasi=True), escaped("a-b")
    ("'=1+1", "' +A1", "''=1", "'-5", '-5', 'a-b')
    """
    if _START.match(cell) is None or (is_quasi and _IS_NUMBER.fullmatch(cell)):
        return cell
    return "'" + cell


def unescaped(cell: str) -> str:
    """Return the text that `escaped` was given.

    >>> unescaped("'=1+1"), unescaped("''=1"), unescaped("-5"), unescaped("'tis")
    ('=1+1', "'=1", '-5', "'tis")
    """
    return cell[1:] if cell[:1] == "'" and _START.match(cell, 1) is not None else cell


def headers(names: Sequence[str], *, escape: bool) -> list[str]:
    """Return the names of columns as the first line of a file has them."""
    return [escaped(name) for name in names] if escape else list(names)


def escaped_sql(value: str, *, is_quasi: bool = False) -> Sql:
    """Return the SQL of `escaped` for an expression of type VARCHAR."""
    number = f" AND NOT system.main.regexp_full_match({value}, {text(_NUMBER)})" if is_quasi else ""
    start = f"system.main.regexp_matches({value}, {text('^' + _START_SQL)})"
    return Sql(f"CASE WHEN {start}{number} THEN '''' || {value} ELSE {value} END")


def unescaped_sql(value: str) -> Sql:
    """Return the SQL of `unescaped` for an expression of type VARCHAR, for any DuckDB."""
    pattern = text(f"^'({_START_SQL})")
    return Sql(f"regexp_replace({value}, {pattern}, '\\1')")
