"""profile() finds spellings of one value, rows of totals, and dates of birth in the wrong century, and repairs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from dbanon.cli import main
from dbanon.sqltext.quote import identifier, text

HOSTILE = "x'); DROP TABLE t; --\""
SPELLED = (
    "['HIV', 'HIV', 'hiv', 'Hiv ', 'flu', 'na' || chr(239) || 've', 'nai' || chr(776) || 've', 'two  words', "
    "'Two words'][i % 9 + 1]"
)


def found_problems(con: Any, table: str = "t") -> dict[str, list[tuple[str, str | None]]]:
    rows = con.execute(f"SELECT column_name, problems, repairs FROM profile({text(table)})").fetchall()
    assert all(len(problems) == len(repairs) for _, problems, repairs in rows)
    return {name: list(zip(problems, repairs, strict=True)) for name, problems, repairs in rows if problems}


def repair_table(con: Any) -> None:
    for problems in found_problems(con).values():
        for _, repair in problems:
            con.execute(repair)


# --- spellings -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["diagnosis", f"diagnosis {HOSTILE}", "diagnosis value", "spelling of diagnosis"])
def test_spellings_of_sensitive_value_made_one(con: Any, name: str) -> None:
    con.execute(f"CREATE TABLE t AS SELECT {SPELLED} AS {identifier(name)}, i AS n, i AS value FROM range(90) r (i)")
    problems = found_problems(con)[name]
    assert [problem.partition(",")[0] for problem, _ in problems] == [
        "blanks around values in records: 10", "spellings of one value"
    ]  # fmt: skip
    assert problems[1][0].endswith("different values: 7")
    repair_table(con)
    values = con.execute(f"SELECT list(DISTINCT {identifier(name)}).list_sort() FROM t").fetchall()
    assert values == [(["HIV", "Two words", "flu", "naïve"],)]
    assert name not in found_problems(con)


def test_spellings_of_other_columns_not_reported(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT ['F', 'f', 'M'][i % 3 + 1] AS sex, "
        "['flu', 'HIV', 'E11', 'E11.0'][i % 4 + 1] AS diagnosis "
        "FROM range(90) r (i)"
    )
    assert found_problems(con) == {}


def test_policy_problems_report_spellings_of_declared_columns(con: Any) -> None:
    con.execute(f"CREATE TABLE t AS SELECT {SPELLED} AS x, {SPELLED} AS y, i % 7 AS age FROM range(90) r (i)")
    con.execute("CREATE VIEW v AS FROM t")
    con.execute(
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('t', 'x', 'sensitive'), "
        "('t', 'y', 'quasi'), ('t', 'age', 'quasi'), ('v', 'x', 'sensitive'), ('v', 'age', 'quasi')"
    )
    query = "SELECT table_name, column_name, problem, statement FROM policy_problems() ORDER BY ALL"
    rows = con.execute(query).fetchall()
    assert [row[:2] for row in rows] == [("t", "x"), ("v", "x")]
    assert all("7 values differ from another one only by case" in problem for _, _, problem, _ in rows)
    assert not any(value in problem for *_, problem, _ in rows for value in ("HIV", "hiv", "words"))
    assert rows[1][3] is None, "a view cannot be updated"
    con.execute(rows[0][3])
    assert con.execute(query).fetchall() == []
    assert con.execute("SELECT count(DISTINCT x), count(DISTINCT y) FROM t").fetchall() == [(4, 8)]


def test_init_reports_spellings_and_changes_no_value(tmp_path: Path) -> None:
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(f"CREATE TABLE t AS SELECT {SPELLED} AS diagnosis, i % 7 AS age FROM range(90) r (i)")
    done = CliRunner().invoke(main, ["init", str(path), "--yes", "--json"])
    assert done.exit_code == 0 and "UPDATE" in done.stderr
    assert ["7 values differ from another one" in problem for problem in json.loads(done.stdout)["problems"]] == [True]
    with duckdb.connect(str(path)) as con:
        assert con.execute("SELECT count(DISTINCT diagnosis) FROM t").fetchall() == [(8,)]


# --- rows of totals --------------------------------------------------------------------------------------

TOTALS = ("Total", "TOTAL", "Sum", "All", "Gesamt", "Summe:", "Итого", "合计", "Razem")


@pytest.mark.parametrize("label", TOTALS)
def test_row_of_totals_deleted(con: Any, label: str) -> None:
    con.execute("CREATE TABLE t AS SELECT 'ward ' || i AS ward, i * 0.1 AS cost, i % 9 AS age FROM range(90) r (i)")
    con.execute("INSERT INTO t SELECT ?, sum(cost), NULL FROM t", [label])
    [(column, [(problem, repair)])] = found_problems(con).items()
    assert (column, problem) == ("ward", f"a row of totals, which is no record: '{label}'")
    con.execute(repair)
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(90,)]
    assert found_problems(con) == {}


def test_row_of_totals_found_in_table_with_odd_names(con: Any) -> None:
    label, cost = identifier(f"a {HOSTILE}"), identifier(f"b {HOSTILE}")
    con.execute(f"CREATE TABLE t AS SELECT 'ward ' || i % 7 AS {label}, 1 + i AS {cost} FROM range(90) r (i)")
    con.execute(f"INSERT INTO t SELECT 'Total', sum({cost}) FROM t")
    repair_table(con)
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(90,)]


@pytest.mark.parametrize("value", ["4005 + 1", "NULL", "44", "0"])
def test_row_named_total_without_sum_not_reported(con: Any, value: str) -> None:
    con.execute("CREATE TABLE t AS SELECT 'ward ' || i AS ward, i AS cost, i % 9 = 0 AS died FROM range(90) r (i)")
    con.execute(f"INSERT INTO t SELECT 'All', {value}, false")
    assert found_problems(con) == {}


# --- dates of birth --------------------------------------------------------------------------------------


def test_births_in_wrong_century_moved(con: Any, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    lines = (f"{y % 28 + 1}/{y % 12 + 1}/{y % 100:02},{y % 28 + 1}/{y % 12 + 1}/20,{y % 5}" for y in range(1925, 2019))
    path.write_text("\n".join(["born,admitted,ward", *lines]))
    con.execute(f"CREATE TABLE t AS FROM read_csv({text(str(path))}, dateformat = '%d/%m/%y')")
    assert con.execute("SELECT max(born) > DATE '2060-01-01', typeof(any_value(born)) FROM t").fetchall() == [
        (True, "DATE")
    ]
    [(problem, repair)] = found_problems(con)["born"]
    assert problem == (
        "dates of birth after today or after another date of the record, in records: 44; two digits of a year were "
        "read as 1969 to 2068"
    )
    con.execute(repair)
    assert con.execute("SELECT min(year(born)), max(year(born)) FROM t").fetchall() == [(1925, 2018)]
    assert "born" not in found_problems(con)


def test_births_after_other_date_moved(con: Any) -> None:
    con.execute(
        f"CREATE TABLE t AS SELECT DATE '1990-01-01' + (i * 80)::INT AS {identifier('birth ' + HOSTILE)}, "
        f"TIMESTAMP '2008-01-01 12:00' AS {identifier('seen ' + HOSTILE)} FROM range(90) r (i)"
    )
    repair_table(con)
    column = identifier("birth " + HOSTILE)
    assert con.execute(f"SELECT min(year({column})), count(*) FILTER ({column} > '2008-01-01') FROM t").fetchall() == [
        (1908, 0)
    ]


@pytest.mark.parametrize("first", ["1930-01-01", "1990-01-01"])
def test_plausible_births_not_reported(con: Any, first: str) -> None:
    """Dates before 1969 were not read from two digits; and a typing error of some days is none of the century."""
    con.execute(
        f"CREATE TABLE t AS SELECT DATE '{first}' + (i * 80)::INT AS born, "
        f"DATE '{first}' + (i * 80)::INT + CASE WHEN i = 3 THEN -1 ELSE 100 END AS seen FROM range(90) r (i)"
    )
    con.execute("INSERT INTO t SELECT DATE '1950-01-01', DATE '1960-01-01' WHERE ? < '1950'", [first])
    assert found_problems(con) == {}
