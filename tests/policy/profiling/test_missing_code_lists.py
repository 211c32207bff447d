"""profile() proposes signs such as * and several numbers of one column as codes for missing values."""

from __future__ import annotations

from typing import Any

import pytest

from dbanon.sqltext.quote import identifier

HOSTILE = "x'); DROP TABLE t; --\""


def proposed_codes(con: Any, value: str, column: str = "age", records: int = 2000) -> list[str] | None:
    """Return the codes that profile() proposes for a column; `value` is SQL of its value in record i."""
    name = identifier(column)
    con.execute(f"CREATE OR REPLACE TABLE t AS SELECT {value} AS {name}, i % 7 AS x FROM range({records}) AS r (i)")
    rows = con.execute("SELECT missing_codes FROM profile('t') WHERE column_name = ?", [column]).fetchall()
    return None if rows[0][0] is None else sorted(rows[0][0])


@pytest.mark.parametrize(
    "code", ["*", "?", "-", ".", "N/A", "unknown", "Unknown", "not reported", "keine Angabe", "未知"]
)
def test_sign_in_texts_proposed_as_code(con: Any, code: str) -> None:
    value = f"CASE WHEN i % 9 = 0 THEN '{code}' ELSE ['female', 'male'][i % 2 + 1] END"
    assert proposed_codes(con, value, "sex") == [code]
    [(problem, repair)] = con.execute(
        "SELECT problems[1], repairs[1] FROM profile('t') WHERE column_name = 'sex'"
    ).fetchall()
    assert problem == f"codes for missing values: '{code}' in records: 223"
    con.execute(repair)
    assert con.execute("SELECT missing_codes FROM dbanon.policy").fetchall() == [([code],)]
    assert con.execute("SELECT problems FROM profile('t') WHERE column_name = 'sex'").fetchall() == [([],)]


CODED = {
    "questionnaire": ("CASE i % 50 WHEN 0 THEN 77 WHEN 1 THEN 88 WHEN 2 THEN 99 ELSE 18 + i % 48 END", "77 88 99"),
    "ends of two digits": ("CASE i % 90 WHEN 0 THEN 97 WHEN 1 THEN 98 WHEN 2 THEN 99 ELSE i % 86 END", "97 98 99"),
    "ends of three digits": ("CASE i % 40 WHEN 0 THEN 997 WHEN 1 THEN 998 ELSE 40 + i % 90 END", "997 998"),
    "repeated digits": ("CASE i % 40 WHEN 0 THEN 888 WHEN 1 THEN 999 ELSE 40 + i % 90 END", "888 999"),
    "with a larger one": ("CASE i % 50 WHEN 0 THEN 77 WHEN 1 THEN 88 WHEN 2 THEN 999 ELSE i % 49 END", "77 88 999"),
    "scale": ("CASE i % 50 WHEN 0 THEN 88 WHEN 1 THEN 99 ELSE 1 + i % 5 END", "88 99"),
    "negative": ("CASE i % 50 WHEN 0 THEN -9 WHEN 1 THEN -99 WHEN 2 THEN -88 ELSE i % 60 END", "-88 -9 -99"),
    "below negatives": ("CASE i % 50 WHEN 0 THEN -999 WHEN 1 THEN -99 ELSE i % 41 - 20 END", "-99 -999"),
    "decimals": ("CASE i % 50 WHEN 0 THEN 88 WHEN 1 THEN 99 ELSE 1 + i % 300 / 10 END", "88 99"),
}


@pytest.mark.parametrize("name", CODED)
def test_several_numbers_proposed_as_codes(con: Any, name: str) -> None:
    value, expected = CODED[name]
    assert proposed_codes(con, value) == expected.split()


CLEAN = {
    "ages to 99": "i * i % 100", "smooth tail": "(100 * sqrt(i / 2000))::INTEGER",
    "old people": "CASE WHEN i < 3 THEN [77, 88, 91][i + 1] ELSE 18 + i % 48 END",
    "a person of 88": "CASE WHEN i = 0 THEN 88 ELSE 18 + i % 58 END",
    "two old people": "CASE WHEN i < 2 THEN [88, 99][i + 1] ELSE 18 + i % 58 END",
    "hours with top": "CASE WHEN i % 20 = 0 THEN [80, 84, 90, 96, 98, 99][i // 20 % 6 + 1] ELSE 20 + i % 41 END",
    "prices": "[49, 59, 69, 79, 88, 99][i % 6 + 1]", "multiples": "11 * (1 + i % 9)",
    "codes of groups": "[1, 2, 3, 5, 7, 8, 9][i % 7 + 1]",
    "longitude": "CASE WHEN i % 9 = 0 THEN -77 ELSE -73 - i % 3 END",
    "differences": "i % 9 - 4", "years": "1950 + i % 60", "one value": "[88, 99][i % 2 + 1]",
    "dose": "[5, 10, 20, 40, 80, 160][i % 6 + 1]",
}  # fmt: skip


@pytest.mark.parametrize("name", CLEAN)
def test_plausible_numbers_not_proposed_as_codes(con: Any, name: str) -> None:
    column = name if name == "longitude" else "age"
    assert proposed_codes(con, CLEAN[name], column) is None


def test_codes_of_column_with_odd_name_can_be_declared(con: Any) -> None:
    assert proposed_codes(con, CODED["questionnaire"][0], f"age {HOSTILE}") == ["77", "88", "99"]
    [(repair,)] = con.execute("SELECT repairs[1] FROM profile('t') WHERE len(repairs) > 0").fetchall()
    con.execute(repair)
    assert con.execute("SELECT missing_codes FROM dbanon.policy").fetchall() == [(["77", "88", "99"],)]
    assert con.execute("SELECT count(*) FROM profile('t') WHERE len(problems) > 0").fetchall() == [(0,)]
