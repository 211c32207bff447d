"""profile() recognizes dates and zip codes that are stored as whole numbers, and partial dates, and repairs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dbanon
from dbanon.sqltext.quote import identifier, text

HOSTILE = "x'); DROP TABLE t; --\""
MONTH, DAY = "lpad((1 + i % 12)::VARCHAR, 2, '0')", "lpad((1 + i % 28)::VARCHAR, 2, '0')"
PARTIAL = (
    f"CASE i % 3 WHEN 0 THEN '{{0}}00{{0}}00' WHEN 1 THEN '{{0}}' || {MONTH} || '{{0}}00' "
    f"ELSE '{{0}}' || {MONTH} || '{{0}}' || {DAY} END"
)
DAY_TEXT = "(DATE '2000-01-01' + (i % 300)::INT)"

NUMBERS = {
    "zip": ("501 + i * 137 % 98000", "zip codes that", "VARCHAR", "lpad((501 + i * 137 % 98000)::VARCHAR, 5, '0')"),
    "plz": ("1067 + i * 97 % 98000", "zip codes that", "VARCHAR", "lpad((1067 + i * 97 % 98000)::VARCHAR, 5, '0')"),
    "postnummer": ("150 + i * 7 % 9000", "zip codes that", "VARCHAR", "lpad((150 + i * 7 % 9000)::VARCHAR, 4, '0')"),
    "birth_date": ("9000 + i * 31 % 30000", "dates as numbers of days", "DATE",
                   "(DATE '1924-08-21' + (i * 31 % 30000)::INT)::VARCHAR"),
    "Aufnahmedatum": ("43000 + i % 300", "dates as numbers of days", "DATE",
                      "(DATE '2017-09-22' + (i % 300)::INT)::VARCHAR"),
    "visit": (f"strftime({DAY_TEXT}, '%Y%m%d')::INT", "dates as whole numbers", "DATE", f"{DAY_TEXT}::VARCHAR"),
    "seen": (f"strftime({DAY_TEXT}, '%Y%m%d')", "dates as text, %Y%m%d", "DATE", f"{DAY_TEXT}::VARCHAR"),
    "born": (f"(1950 + i % 50 || {PARTIAL.replace('{0}', '')})::INT", "partial dates as whole", "VARCHAR", None),
    "died": (f"1950 + i % 50 || {PARTIAL.replace('{0}', '-')}", "partial dates, %Y-%m-%d", "VARCHAR", None),
}  # fmt: skip
"""By column: SQL of the values, the beginning of the problem, the type after the repair, and SQL of the values then."""


def found_problems(con: Any, table: str = "t") -> dict[str, tuple[list[str], list[str | None]]]:
    rows = con.execute(f"SELECT column_name, problems, repairs FROM profile({text(table)})").fetchall()
    return {name: (problems, repairs) for name, problems, repairs in rows if problems}


def create_table(con: Any, suffix: str = "") -> None:
    columns = ", ".join(f"{value} AS {identifier(name + suffix)}" for name, (value, *_) in NUMBERS.items())
    con.execute(f"CREATE OR REPLACE TABLE t AS SELECT i, {columns} FROM range(900) AS r (i)")


@pytest.mark.parametrize("suffix", ["", f" {HOSTILE}"], ids=["plain", "odd names"])
def test_numbers_that_are_dates_or_zip_codes_repaired(con: Any, suffix: str) -> None:
    create_table(con, suffix)
    problems = found_problems(con)
    assert set(problems) == {name + suffix for name in NUMBERS}
    for name, (_, problem, type_, expected) in NUMBERS.items():
        [found], [repair] = problems[name + suffix]
        assert found.startswith(problem) and repair is not None
        con.execute(repair)
        column = identifier(name + suffix)
        assert con.execute(f"SELECT DISTINCT typeof({column}) FROM t").fetchall() == [(type_,)]
        if expected is not None:
            assert con.execute(f"SELECT count(*) FROM t WHERE {column}::VARCHAR <> {expected}").fetchall() == [(0,)]
    lengths = f"list(DISTINCT length({identifier('born' + suffix)}) ORDER BY 1)"
    assert con.execute(f"SELECT {lengths.replace(' ORDER BY 1', '')}.list_sort() FROM t").fetchall() == [([4, 7, 10],)]
    assert set(found_problems(con)) == {f"born{suffix}", f"died{suffix}"}, "calendars"


def test_partial_dates_published_along_calendar(con: Any) -> None:
    con.execute(
        f"CREATE TABLE t AS SELECT 1950 + i % 50 || {PARTIAL.replace('{0}', '-')} AS born FROM range(900) r (i)"
    )
    for expected in ("partial dates, %Y-%m-%d", "dates of which some have no day or no month"):
        [([problem], [repair])] = found_problems(con).values()
        assert problem.startswith(expected) and repair is not None
        con.execute(repair)
    [(statement,)] = con.execute("SELECT statement FROM profile('t')").fetchall()
    con.execute(statement)
    assert found_problems(con) == {}
    assert con.execute("SELECT role, hierarchy FROM dbanon.policy").fetchall() == [("quasi", "born")]
    assert con.execute("FROM hierarchy_problems()").fetchall() == []
    labels = {label for (label,) in con.execute("SELECT DISTINCT born FROM kacpc('t', k := 30)").fetchall()}
    assert labels <= {"*", *(f"{y}0s" for y in range(195, 200)), *(f"{y}-*" for y in range(1950, 2000)),
                      *(str(y) for y in range(1950, 2000))}  # fmt: skip


def test_calendar_of_declared_column_named_in_policy(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT [1950 + i % 20 || '', 1950 + i % 20 || '-03'][i % 2 + 1] AS born FROM range(80) r (i)"
    )
    con.execute("INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('t', 'born', 'quasi')")
    [(_, [repair])] = found_problems(con).values()
    con.execute(repair)
    assert con.execute("SELECT hierarchy FROM dbanon.policy").fetchall() == [("born",)]


def test_calendar_gets_name_that_no_hierarchy_has(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT 1950 + i % 20 || '-0' || 1 + i % 9 AS born FROM range(900) r (i)")
    for name in ("born", "t born", "t born dates", "t born dates 2"):
        dbanon.load_hierarchy(con, name, [["a", "*"], ["b", "*"]])
    [(repairs,)] = con.execute("SELECT repairs FROM profile('t')").fetchall()
    assert "hierarchy_dates('t born dates 3', " in repairs[0]


def test_hierarchy_dates_accepts_texts_of_any_precision(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT unnest(['1987', '1987-05', '1987-05-03', '1991-12-01T10:00', 'unsure', NULL]) AS d"
    )
    con.execute("INSERT INTO dbanon.hierarchy FROM hierarchy_dates('d', 't', 'd')")
    assert con.execute("SELECT path FROM dbanon.hierarchy_path ORDER BY path").fetchall() == [
        (["1987", "1987-*", "1980s", "*"],),
        (["1987-05", "1987-05-*", "1987-Q2", "1987-*", "1980s", "*"],),
        (["1987-05-03", "1987-05-*", "1987-Q2", "1987-*", "1980s", "*"],),
        (["1991-12-01T10:00", "1991-12-*", "1991-Q4", "1991-*", "1990s", "*"],),
        (["unsure", "*"],),
    ]
    con.execute("DELETE FROM dbanon.hierarchy")
    con.execute("INSERT INTO dbanon.hierarchy FROM hierarchy_dates('d', 't', 'd', levels := ['day', 'century'])")
    paths = dict(con.execute("SELECT path[1], path[2:] FROM dbanon.hierarchy_path").fetchall())
    assert paths["1987-05-03"] == ["1987-05-03 (day)", "1900-1999", "*"] and paths["1987"] == ["1900-1999", "*"]


CLEAN = {
    "zip": "10001 + i * 31 % 80000", "zip_count": "i * 31 % 80000", "postcode": "1000 + i % 8000", "post": "100 + i",
    "birth_year": "1930 + i % 80", "dates": "i % 9", "salary": "20000 + i * 40", "days": "20000 + i",
    "birth_weight": "2500 + i % 2000", "update_count": "30000 + i", "since_date": "250101 + i % 12 * 100 + i % 28",
    "plan": "20200101 + i * 97", "amount": "i * 20011", "death_date": "DATE '2000-01-01' + i::INT",
    "born": "DATE '1930-01-01' + (i * 20)::INT", "term": "2009 + i % 12 || '-' || 10 + i % 12",
}  # fmt: skip


def test_plausible_numbers_not_reported(con: Any) -> None:
    columns = ", ".join(f"{value} AS {identifier(name)}" for name, value in CLEAN.items())
    con.execute(f"CREATE TABLE t AS SELECT {columns} FROM range(900) AS r (i)")
    assert found_problems(con) == {}


def test_numbers_that_are_no_dates_counted_not_lost(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT CASE i WHEN 7 THEN 20200230 WHEN 8 THEN 4711 ELSE "
        "strftime(DATE '2000-01-01' + (i % 200)::INT, '%Y%m%d')::INT END AS visit FROM range(300) r (i)"
    )
    [([problem], [repair])] = found_problems(con).values()
    assert repair is None and "values that are none: 2" in problem and "4711" not in problem
    listing = problem.partition("Hint: correct them; ")[2].removesuffix(" lists them.")
    assert sorted(con.execute(listing).fetchall()) == [(4711, 1), (20200230, 1)]


def test_numbers_of_file_repaired_in_view(con: Any, tmp_path: Path) -> None:
    create_table(con)
    path = str(tmp_path / "visits.parquet")
    con.execute(f"COPY (SELECT zip, visit, died FROM t) TO {text(path)}")
    repairs = {repair for _, repairs in found_problems(con, path).values() for repair in repairs}
    [statement] = repairs
    assert statement is not None
    con.execute(statement)
    types = con.execute("SELECT column_type FROM (DESCRIBE visits_mended)").fetchall()
    assert types == [("VARCHAR",), ("DATE",), ("VARCHAR",)]
