"""policy_problems() names columns whose values undo a limit of another column, and no independent columns."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

import dbanon

AGE = {"role": "quasi", "top": 90}
YEAR = {"role": "quasi", "rounding": "year"}


def undone_limits(con: Any) -> set[tuple[str, str]]:
    """Return limited columns, each with the column that undoes its limit."""
    rows = con.execute("SELECT column_name, problem FROM policy_problems()").fetchall()
    values = ((column, re.search(r"has no effect because of the column (\w+),", problem)) for column, problem in rows)
    return {(column, match[1]) for column, match in values if match}


def people(con: Any, columns: str, rows: int = 2000) -> None:
    """Create a table of people of ages up to 104, in an order that is independent of the other columns."""
    con.execute(
        f"CREATE TABLE p AS SELECT *, {columns} FROM (SELECT i, 20 + (hash(i) % 85)::INTEGER AS age, "
        f"hash(i, 7) AS noise FROM range({rows}) AS r (i))"
    )


UNDOING = {
    "year of birth": ("2024 - age AS x", AGE, "quasi"),
    "one of two years": ("2024 - age - (noise % 2)::INTEGER AS x", AGE, "quasi"),
    "date of birth as text": (
        "CAST(DATE '2024-01-01' - (age * 365 + noise % 300)::INTEGER AS VARCHAR) AS x", AGE, "insensitive",
    ),
    "date of birth": ("DATE '2024-01-01' - (age * 365 + noise % 300)::INTEGER AS x", AGE, "sensitive"),
    "years in months": ("age * 12 + (noise % 12)::INTEGER AS x", AGE, "sensitive"),
    "known for a quarter": ("CASE WHEN noise % 4 = 0 THEN 2024 - age END AS x", AGE, "insensitive"),
    "one in ten is wrong": ("CASE WHEN noise % 10 = 0 THEN 1950 ELSE 2024 - age END AS x", AGE, "insensitive"),
    "bottom": ("2024 - age AS x", {"role": "quasi", "bottom": 40}, "quasi"),
    "rounding": ("2024 - age AS x", {"role": "quasi", "rounding": 20}, "insensitive"),
    "top and grid": ("2024 - age AS x", {"role": "quasi", "rounding": 10, "top": 80}, "insensitive"),
    "words": ("'born in ' || (2024 - age) AS x", AGE, "insensitive"),
    "a finer grid": ("2024 - age AS x", {"role": "quasi", "rounding": 40}, {"role": "quasi", "rounding": 5}),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDOING)
def test_limit_undone_by_other_column_reported(con: Any, name: str) -> None:
    columns, limited, other = UNDOING[name]
    people(con, columns)
    dbanon.declare(con, "p", age=limited, x=other)
    assert undone_limits(con) == {("age", "x")}


INDEPENDENT = {
    "few values": ("(noise % 3)::INTEGER AS x", AGE, "insensitive"),
    "many values": ("(noise % 900)::INTEGER AS x", AGE, "sensitive"),
    "values of their own": ("noise AS x", AGE, "sensitive"),
    "texts of their own": ("noise::VARCHAR AS x", AGE, "insensitive"),
    "a constant": ("1 AS x", AGE, "insensitive"),
    "no values": ("NULL::INTEGER AS x", AGE, "insensitive"),
    "what the limit shows": ("age // 20 AS x", {"role": "quasi", "rounding": 20}, "insensitive"),
    "whether the top is reached": ("age >= 90 AS x", AGE, "insensitive"),
    "an equal limit": ("age AS x", AGE, AGE),
    "withheld": ("2024 - age AS x", AGE, "identifier"),
    "no limit": ("2024 - age AS x", "quasi", "quasi"),
    "mostly one value": ("CASE WHEN noise % 50 = 0 THEN noise % 7 ELSE 9 END AS x", AGE, "insensitive"),
}  # fmt: skip


@pytest.mark.parametrize("name", INDEPENDENT)
def test_uninformative_columns_undo_no_limit(con: Any, name: str) -> None:
    columns, limited, other = INDEPENDENT[name]
    people(con, columns)
    dbanon.declare(con, "p", age=limited, x=other)
    assert undone_limits(con) == set()


def test_zip_min_level_undone_by_finer_quarter_column(con: Any) -> None:
    con.execute(
        "CREATE TABLE p AS SELECT (10000 + h % 40)::VARCHAR AS zip, 'quarter ' || (h % 40 // 2) AS quarter, "
        "'town ' || (h % 40 // 10) AS town, (hash(i, 3) % 30)::VARCHAR AS shop "
        "FROM (SELECT i, hash(i) AS h FROM range(3000) AS r (i))"
    )
    con.execute("INSERT INTO dbanon.hierarchy FROM hierarchy_prefix('zips', 'p', 'zip', keep := [4])")
    dbanon.declare(
        con,
        "p",
        zip={"role": "quasi", "hierarchy": "zips", "min_level": 1},
        quarter="insensitive",
        town="insensitive",
        shop="insensitive",
    )
    assert undone_limits(con) == {("zip", "quarter")}


def test_shipped_hierarchy_min_level_undone_by_years_column(con: Any) -> None:
    con.execute(
        "CREATE TABLE p AS SELECT ['Bachelors', 'Masters', 'Doctorate', 'HS-grad', '11th', '9th']"
        "[(h % 6)::INTEGER + 1] AS education, (h % 6)::INTEGER AS years "
        "FROM (SELECT hash(i) AS h FROM range(600) AS r (i))"
    )
    dbanon.declare(
        con, "p", education={"role": "quasi", "hierarchy": "adult_education", "min_level": 1}, years="sensitive"
    )
    assert undone_limits(con) == {("education", "years")}


@pytest.mark.parametrize("grid", ["month", "quarter", "year", "decade", "week"])
@pytest.mark.parametrize("type_", ["DATE", "TIMESTAMP", "TIMESTAMPTZ", "VARCHAR"])
def test_date_grid_undone_by_other_date_column(con: Any, grid: str, type_: str) -> None:
    con.execute(
        "CREATE TABLE p AS SELECT day AS admission, (day + 3)::TIMESTAMP::"
        f"{type_} AS billing, (hash(i, 5) % 400)::INTEGER AS price "
        "FROM (SELECT i, DATE '2000-01-01' + (hash(i) % 9000)::INTEGER AS day FROM range(4000) AS r (i))"
    )
    dbanon.declare(con, "p", admission={"role": "quasi", "rounding": grid}, billing="insensitive", price="sensitive")
    assert undone_limits(con) == {("admission", "billing")}


def test_top_with_few_records_above_undone_by_ordered_column(con: Any) -> None:
    con.execute(
        "CREATE TABLE p AS SELECT 20 + i % 85 AS age, 2024 - (20 + i % 85) AS born, hash(i) % 90 AS shop "
        "FROM range(85) AS r (i)"
    )
    dbanon.declare(con, "p", age=AGE, born="quasi", shop="insensitive")
    assert undone_limits(con) == {("age", "born")}


@pytest.mark.parametrize("rounding", ["(SELECT 10)", "10 + 0", "1 OR true"])
def test_rounding_is_not_run_as_sql(con: Any, rounding: str) -> None:
    people(con, "age * 10 AS income")
    dbanon.declare(con, "p", age={"role": "quasi", "rounding": 10}, income="quasi")
    assert undone_limits(con) == {("age", "income")}
    con.execute("UPDATE dbanon.policy SET rounding = ? WHERE column_name = 'age'", [rounding])
    assert undone_limits(con) == set()


def test_policy_review_names_limited_and_undoing_column(con: Any) -> None:
    people(con, "2024 - age AS birth_year, (noise % 5)::INTEGER AS ward")
    dbanon.declare(con, "p", age=AGE, birth_year="quasi", ward="insensitive")
    rows = con.execute("SELECT column_name, finding FROM policy_review('p') WHERE topic = 'problem'").fetchall()
    assert [column for column, _ in rows] == ["age"]
    assert (
        "its limit (top 90) has no effect because of the column birth_year, which is published generalized"
        in rows[0][1]
    )


def test_undone_limit_found_next_to_odd_types_and_values(con: Any) -> None:
    con.execute(
        "CREATE TABLE p AS SELECT CASE i % 4 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN 'inf'::DOUBLE ELSE i % 90 END "
        "AS score, 'infinity'::DATE AS day, [i] AS list, {'a': i} AS pair, TIME '10:00' + INTERVAL (i) SECOND "
        "AS clock, 90 - i % 90 AS twin, i % 3 = 0 AS flag, (i % 90)::DECIMAL(8, 2) AS price FROM range(900) AS r (i)"
    )
    dbanon.declare(
        con, "p", score={"role": "quasi", "top": 50}, day={"role": "quasi", "rounding": "year"}, list="insensitive",
        pair="insensitive",
        clock={"role": "quasi", "top": "10:05:00"}, twin="insensitive", flag="insensitive",
        price={"role": "quasi", "rounding": "0.5"},
    )  # fmt: skip
    assert ("score", "twin") in undone_limits(con)


def test_undone_limit_problem_contains_no_cell(con: Any) -> None:
    people(con, "'SECRET ' || age AS x")
    dbanon.declare(con, "p", age=AGE, x="insensitive")
    assert "SECRET" not in str(con.execute("FROM policy_problems()").fetchall())


@pytest.mark.not_everyday
def test_limit_check_of_60_columns_within_time_limit(con: Any) -> None:
    many_text = ", ".join(f"(hash(i * 64 + {n}) % {n * 7 + 2})::INTEGER AS c{n}" for n in range(60))
    con.execute(f"CREATE TABLE p AS SELECT {many_text} FROM range(200000) AS r (i)")
    limits = {f"c{n}": {"role": "quasi", "rounding": 10} for n in range(0, 60, 12)}
    dbanon.declare(con, "p", **({f"c{n}": "insensitive" for n in range(60)} | limits))
    start = time.process_time()
    assert undone_limits(con) == set()
    assert time.process_time() - start < 20


def test_adult_limit_undone_only_by_determining_column(con: Any, data_folder: Path) -> None:
    con.execute(f"CREATE TABLE p AS FROM '{data_folder / 'adult.csv'}'")
    shipped = ("workclass", "education", "marital_status", "occupation", "race", "native_country")
    lifted = {name: {"role": "quasi", "hierarchy": f"adult_{name}", "min_level": 1} for name in shipped}
    dbanon.declare(
        con, "p", age={"role": "quasi", "top": 70}, hours_per_week={"role": "quasi", "rounding": 10}, sex="quasi",
        salary="sensitive", capital_gain="sensitive", capital_loss="sensitive",
        fnlwgt="insensitive", relationship="insensitive",
        **lifted,
    )  # fmt: skip
    assert undone_limits(con) <= {("marital_status", "relationship")}
