"""profile() reports parts of a date of birth, codes of categories, and categories that were read as truth values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dbanon
from dbanon.cli import main
from dbanon.policy.column_names.category_names import is_category_name
from dbanon.policy.profiling.named_problems import birth_part
from dbanon.policy.profiling.suggestions import suggest_settings
from dbanon.source import catalog
from dbanon.sqltext.quote import identifier


def problems(con: Any, table: str = "t") -> dict[str, tuple[list[str], list[str | None]]]:
    """Return the problems of the columns that have some, and the statements that repair them."""
    rows = con.execute("SELECT column_name, problems, repairs FROM profile(?)", [table]).fetchall()
    return {name: (found, repairs) for name, found, repairs in rows if found}


# --- a date of birth in three columns --------------------------------------------------------------------

PARTS = {
    "english": ("year_of_birth", "month_of_birth", "day_of_birth"),
    "german": ("Geburtsjahr", "Geburtsmonat", "Geburtstag"),
    "spanish": ("año de nacimiento", "mes de nacimiento", "día de nacimiento"),
    "hostile": ("birth year \"x'); DROP TABLE t; --", "birth month", "birth day"),
}


@pytest.mark.parametrize("language", PARTS)
def test_parts_of_birth_date_become_one_column(con: Any, language: str) -> None:
    names = PARTS[language]
    assert [birth_part(name) for name in names] == ["year", "month", "day"]
    values = zip(("1990", "1 + i % 3", "28 + i % 4"), names, strict=True)
    selected = ", ".join(f"{sql} AS {identifier(name)}" for sql, name in values)
    con.execute(f"CREATE TABLE t AS SELECT {selected} FROM range(12) AS r (i)")
    [(found, repairs)] = problems(con).values()
    assert found[0].startswith("year, month and day of birth are one date in three columns")
    con.execute(repairs[0])
    assert con.execute("SELECT column_name, column_type FROM (DESCRIBE t)").fetchall() == [("birth_date", "DATE")]
    assert con.execute("SELECT min(birth_date)::VARCHAR, count(birth_date) FROM t").fetchall() == [("1990-01-28", 9)]
    assert problems(con) == {}


def test_parts_of_birth_date_in_view_have_no_statement(con: Any) -> None:
    con.execute("CREATE TABLE s AS SELECT 1990 AS birth_year, 1 AS birth_month, '2' AS birth_day, 1 AS birth_date")
    con.execute("CREATE VIEW t AS FROM s")
    [(found, repairs)] = problems(con).values()
    assert "Hint: compute it in the source" in found[0] and repairs == [None]
    con.execute("CREATE TABLE u AS FROM s")
    [(_, [repair])] = problems(con, "u").values()
    con.execute(repair)
    assert con.execute("SELECT birth_date, birth_date_2::VARCHAR FROM u").fetchall() == [(1, "1990-01-02")]


@pytest.mark.parametrize(
    "names", [("birth_year", "birth_month"), ("year", "month", "day"), ("birth_year", "visit_month", "visit_day")]
)
def test_other_parts_of_dates_are_no_problem(con: Any, names: tuple[str, ...]) -> None:
    con.execute(f"CREATE TABLE t AS SELECT {', '.join(f'1 + i % 12 AS {name}' for name in names)} FROM range(30) r (i)")
    assert problems(con) == {}


# --- categories as truth values --------------------------------------------------------------------------


def test_category_read_as_truth_value_is_reported(con: Any) -> None:
    columns = """i % 2 = 0 AS sex, i % 3 = 0 AS died, true AS "Gender'x" """
    con.execute(f"CREATE TABLE t AS SELECT {columns} FROM range(30) r (i)")
    found = problems(con)
    assert list(found) == ["sex", "Gender'x"]
    assert "types = {'sex': 'VARCHAR'}" in found["sex"][0][0] and found["sex"][1] == [None]


def test_commands_read_letters_and_categories_as_text(tmp_path: Path) -> None:
    rows = "\n".join(f"{'FT'[i % 2]},F,{['true', 'false'][i % 2]},{20 + i % 9}" for i in range(60))
    file = tmp_path / "visits.csv"
    file.write_text(f'"x\'); DROP TABLE t; --",sex,smoker,age\n{rows}\n')
    assert CliRunner().invoke(main, ["init", str(file), "--yes"]).exit_code == 0
    with dbanon.connect(tmp_path / "visits.duckdb") as con:
        types = con.execute("SELECT column_type FROM (DESCRIBE visits)").fetchall()
        assert types == [("VARCHAR",), ("VARCHAR",), ("BOOLEAN",), ("BIGINT",)]
        assert con.execute("SELECT DISTINCT sex FROM visits").fetchall() == [("F",)]
    output = tmp_path / "safe.csv"
    roles = ["--qi", "sex", "--qi", "age"]
    result = CliRunner().invoke(main, ["anonymize", str(file), "-o", str(output), "-k", "2", *roles])
    assert result.exit_code == 0, result.output
    assert output.read_text().splitlines()[1].startswith("F,")


# --- codes of categories ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "is_coded"),
    [
        ("gender_concept_id", "[8507, 8532, 0][1 + i % 3]", True), ("sex", "1 + i % 2", True),
        ("Familienstand", "(1 + i % 5)::DOUBLE", True), ("race_code", "1 + i % 12", True),
        ("age", "i % 40", False), ("zip_code", "10000 + i % 20", False), ("children", "i % 4", False),
        ("sex", "i % 200", False),
    ],
)  # fmt: skip
def test_codes_of_categories_get_flat_hierarchy(con: Any, name: str, values: str, is_coded: bool) -> None:
    con.execute(f"CREATE TABLE t AS SELECT {values} AS {name} FROM range(1200) r (i)")
    [(role, reason)] = con.execute("SELECT proposed_role, reason FROM profile('t')").fetchall()
    assert role == "quasi"
    assert reason.endswith("build a hierarchy with hierarchy_flat") == is_coded
    source = catalog.resolve_source("init", "t", con.cursor(), catalog.SearchPath.from_connection(con), {})
    hierarchy = suggest_settings(con.cursor(), source, name, None, 10, ()).hierarchy
    assert (hierarchy is not None and hierarchy.builder == "flat") == is_coded


def test_init_builds_flat_hierarchy_of_codes(tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    with dbanon.connect(database) as con:
        con.execute("CREATE TABLE t AS SELECT 1 + i % 3 AS race, 20 + i % 30 AS age FROM range(90) r (i)")
    assert CliRunner().invoke(main, ["init", str(database), "--yes"]).exit_code == 0
    with dbanon.connect(database) as con:
        assert con.execute("SELECT column_name, hierarchy FROM dbanon.policy ORDER BY 1").fetchall() == [
            ("age", None), ("race", "race")
        ]  # fmt: skip
        released = con.execute("SELECT DISTINCT race FROM kacpc('t', k = 5)").fetchall()
        assert {race for (race,) in released} <= {"1", "2", "3", "*"}


@pytest.mark.all_cases
@pytest.mark.parametrize("name", ["age", "zip", "birth_date", "children", "education_num", "visit_code", "Gewicht"])
def test_names_of_quantities_are_no_categories(name: str) -> None:
    assert not is_category_name(name)
