"""profile() repairs numbers with units, currencies and open ends, and artefacts of spreadsheets."""

from __future__ import annotations

from typing import Any

import pytest

from dbanon.sqltext.quote import identifier

REPAIRS: dict[str, tuple[list[str], str, list[object]]] = {
    "open end": (["23", "45", "90+"], "whole numbers with an open end", [23, 45, 90]),
    "greater": (["23", "45", ">89"], "whole numbers with an open end", [23, 45, 90]),
    "released": (["<=18", "45", ">=90"], "whole numbers with an open end", [18, 45, 90]),
    "less": (["< 18", "45", "≥ 90"], "whole numbers with an open end", [17, 45, 90]),
    "ages": (["3 months", "2 years", "45"], "ages or durations with units, in years", [0.25, 2, 45]),
    "ages old": (["6 mos", "45 y/o", "73 days"], "ages or durations with units, in years", [0.2, 0.5, 45]),
    "ages by letter": (["73d", "1.2y", "45"], "ages or durations with units, in years", [0.2, 1.2, 45]),
    "hours": (
        ["101h", "24 h", "1h"],
        "numbers with the unit hours; keep the text if h is part",
        [1, 24, 101],
    ),
    "months": (["3 months", "12 months", "1 month"], "numbers with the unit months", [1, 3, 12]),
    "dollars": (["$1000.50", "$1,250", "$3"], "numbers with the currency $", [3, 1000.5, 1250]),
    "euros": (["10,50 €", "3 €", "-4,5€"], "numbers with the currency €", [-4.5, 3, 10.5]),
    "percent": (["12%", "7.5 %", "100%"], "numbers with the unit %", [7.5, 12, 100]),
    "lengths": (["150 cm", "172.5 CM", "90cm"], "numbers with the unit cm", [90, 150, 172.5]),
    "formulas": (['="02138"', '="02139"', '="10001"'], "texts of a spreadsheet", ["02138", "02139", "10001"]),
    "apostrophes": (["'1234", "'0234", "'x"], "texts of a spreadsheet", ["0234", "1234", "x"]),
}


def found_problems(con: Any) -> list[tuple[str, str | None]]:
    """Return the problems of the only column, each with the statement that repairs it."""
    [(problems, repairs)] = con.execute("SELECT problems, repairs FROM profile('t')").fetchall()
    return list(zip(problems, repairs, strict=True))


def create_column(con: Any, values: list[str], name: str = "x") -> None:
    """Create a table with one column that has these texts 20 times."""
    con.execute(f"CREATE TABLE t AS SELECT v AS {identifier(name)} FROM (SELECT unnest(?) AS v), range(20)", [values])


@pytest.mark.parametrize("kind", REPAIRS)
def test_number_with_more_text_is_repaired(con: Any, kind: str) -> None:
    texts, description, numbers = REPAIRS[kind]
    create_column(con, texts)
    [(problem, repair)] = found_problems(con)
    assert problem.startswith(description)
    con.execute(repair)
    [(values,)] = con.execute("SELECT list(DISTINCT x ORDER BY x) FROM t").fetchall()
    assert values == numbers or values == pytest.approx(numbers, abs=0.001)


def test_spreadsheet_texts_repaired_in_zip_codes_and_odd_names(con: Any) -> None:
    create_column(con, ['="02138"', '="02139"', '="10001"'], "zip x'); DROP TABLE t; --")
    con.execute(found_problems(con)[0][1])
    assert con.execute("SELECT min(COLUMNS(*)) FROM t").fetchall() == [("02138",)]


@pytest.mark.parametrize(
    "texts",
    [
        ["150 cm", "2 kg", "3 cm"], ["a+", "b+", "<c"], ["'t Hof", "Hof", "x"], ["E11.9", "90.1", "A"], ["5 m", "3 x"],
        ["1-2", "3-4", ">5"], ["12 $ 5", "$", "%"], ["101d", "102d", "7d"], ["12", "14", "14d"], ["3m", "4w", "5d"],
    ],
)  # fmt: skip
def test_other_texts_are_no_quantities(con: Any, texts: list[str]) -> None:
    create_column(con, texts)
    assert found_problems(con) == []
