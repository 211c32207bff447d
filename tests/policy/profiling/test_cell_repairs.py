"""profile() finds malformed cells of a messy file, and the statement that it returns repairs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dbanon
from dbanon.policy.profiling import repairs as profiling_repairs
from dbanon.sqltext.quote import identifier, text

Found = dict[str, list[tuple[str, str | None]]]


def found_problems(con: Any, table: str = "t") -> Found:
    """Return the problems of each column that has any, each with the statement that repairs it."""
    rows = con.execute(f"SELECT column_name, problems, repairs FROM profile({text(table)})").fetchall()
    assert all(len(problems) == len(repairs) for _, problems, repairs in rows)
    return {name: list(zip(problems, repairs, strict=True)) for name, problems, repairs in rows if problems}


def repair_table(con: Any, table: str = "t") -> Found:
    """Run every returned statement once; return the problems found."""
    previous = found_problems(con, table)
    for statement in dict.fromkeys(s for each_value in previous.values() for _, s in each_value if s is not None):
        con.execute(statement)
    return previous


def column_problem(con: Any, values: list[str | None], name: str = "x") -> str | None:
    """Return the problem of a column of texts, next to a column that extends it to 20 rows."""
    query = f"SELECT {identifier(name)}, i FROM (SELECT unnest(?) AS {identifier(name)}), range(20) r (i)"
    con.execute(f"CREATE OR REPLACE TABLE t AS {query}", [values])
    message = found_problems(con).get(name, [])
    assert len(message) <= 1
    return message[0][0] if message else None


# --- dates and numbers as text ---------------------------------------------------------------------------

DATES = {
    "2001-12-31": "%Y-%m-%d", "2001/12/31": "%Y/%m/%d", "31.12.2001": "%d.%m.%Y", "31.12.01": "%d.%m.%y",
    "31/12/2001": "%d/%m/%Y", "12/31/2001": "%m/%d/%Y", "31-12-2001": "%d-%m-%Y", "12-31-2001": "%m-%d-%Y",
    "12/31/01": "%m/%d/%y", "31.12.2001 23:59": "%d.%m.%Y %H:%M", "12/31/2001 23:59:59": "%m/%d/%Y %H:%M:%S",
    "31-Dec-2001": "%d-%b-%Y", "31 December 2001": "%d %B %Y", "2001-12-31T23:59:59": "%Y-%m-%dT%H:%M:%S",
}  # fmt: skip


@pytest.mark.parametrize("date_text", DATES)
def test_dates_as_text_become_dates(con: Any, date_text: str) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT strftime(TIMESTAMP '2001-12-31 23:59:59' - INTERVAL (i) DAY, ?) AS x "
        "FROM range(90) r (i)",
        [DATES[date_text]],
    )
    assert con.execute("SELECT x FROM t LIMIT 1").fetchall() == [(date_text,)]
    [(problem, _)] = repair_table(con)["x"]
    assert problem.startswith(f"dates as text, {DATES[date_text]}") and "ambiguous" not in problem
    first, days, type_ = con.execute(
        "SELECT max(x)::DATE::VARCHAR, count(DISTINCT x::DATE), any_value(typeof(x)) FROM t"
    ).fetchall()[0]
    assert (first, days) == ("2001-12-31", 90)
    assert type_ == ("TIMESTAMP" if ":" in date_text else "DATE")
    assert found_problems(con) == {}


def test_ambiguous_date_states_chosen_order_and_reason(con: Any) -> None:
    actual_column = column_problem(con, [f"0{i}/0{j}/2020" for i in range(1, 10) for j in range(1, 10)])
    assert actual_column == (
        "dates as text, %d/%m/%Y; ambiguous, as no number is above 12: taken as day before month, as most countries "
        "write"
    )
    con.execute("ALTER TABLE t ADD COLUMN seen VARCHAR")
    con.execute("UPDATE t SET seen = '12/' || (10 + i) || '/2020'")
    assert found_problems(con)["x"][0][0] == (
        "dates as text, %m/%d/%Y; ambiguous, as no number is above 12: taken as other columns of the table show"
    )
    repair_table(con)
    assert con.execute("SELECT count(*) FROM t WHERE month(x) = 2 AND day(x) = 3").fetchall() == [(20,)]


NUMBERS = {
    ("3,5", "12,25", "-0,75"): (" with decimal commas", [-0.75, 3.5, 12.25]),
    ("1.234,5", "12", "1.000.000"): (" with decimal commas", [12, 1234.5, 1_000_000]),
    ("1,234.5", "12", "1,000,000"): (" with commas between thousands", [12, 1234.5, 1_000_000]),
    ("0,125", "1,250", "2,375"): (" with decimal commas", [0.125, 1.25, 2.375]),
    ("1.5", "2", "3e2"): ("", [1.5, 2, 300]),
    ("17", " 18", "19 ", "-"): ("", [17, 18, 19]),
}


@pytest.mark.parametrize("number_texts", NUMBERS)
def test_numbers_as_text_become_numbers(con: Any, number_texts: tuple[str, ...]) -> None:
    message, numbers = NUMBERS[number_texts]
    problem = column_problem(con, list(number_texts))
    assert problem is not None and problem.startswith(f"numbers as text{message}") and "ambiguous" not in problem
    repair_table(con)
    assert con.execute("SELECT list(DISTINCT x ORDER BY x) FILTER (x IS NOT NULL) FROM t").fetchall() == [(numbers,)]
    assert found_problems(con) == {}


@pytest.mark.not_everyday
def test_ambiguous_numbers_are_reported(con: Any) -> None:
    thousands = "ambiguous, as three digits follow every comma: taken as thousands, not as decimals"
    assert (
        column_problem(con, ["1,234", "2,345", "3,456"])
        == f"numbers as text with commas between thousands; {thousands}"
    )
    con.execute("ALTER TABLE t ADD COLUMN weight VARCHAR")
    con.execute("UPDATE t SET weight = i || ',5'")
    assert "with decimal commas; ambiguous" in found_problems(con)["x"][0][0]
    repair_table(con)
    assert con.execute("SELECT min(x), max(weight) FROM t").fetchall() == [(1.234, 19.5)]
    assert "taken as decimals" in str(column_problem(con, ["1.234", "2.345", "3.456"]))


@pytest.mark.parametrize(
    "values",
    [
        ["02138", "02139", "10001"],
        ["007", "008", "009+"],
        ["0101", "0102", "0103D"],
        ["1", "2"],
        ["E11", "I10", "12"],
        ["2020-13-45", "2020-00-00", "2020-99-99"],
    ],
    ids=["leading zeros", "zeros and a sign", "zeros and a letter", "two values", "words", "no dates"],
)
def test_text_codes_not_repaired_to_numbers(con: Any, values: list[str | None]) -> None:
    assert column_problem(con, values) is None


def test_zip_codes_and_keys_keep_their_texts(con: Any) -> None:
    assert column_problem(con, ["10115", "10117", "12345"], "plz") is None
    assert column_problem(con, ["10115", "10117", "12345"], "room_no") is None


def test_invalid_texts_counted_and_listed_not_lost(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT CASE WHEN i = 7 THEN 'SECRET' WHEN i = 8 THEN '?' "
        "ELSE strftime(DATE '2001-01-01' + i::INT, '%d.%m.%Y') END AS x FROM range(99) r (i)"
    )
    [(problem, statement)] = found_problems(con)["x"][:1]
    assert statement is None and "SECRET" not in problem
    assert "values that are none: 1" in problem
    listing = problem.partition("Hint: correct them; ")[2].removesuffix(" lists them.")
    assert con.execute(listing).fetchall() == [("SECRET", 1)]


# --- codes for missing values ----------------------------------------------------------------------------


def test_codes_in_texts_numbers_and_dates_are_declared_missing(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT CASE i % 9 WHEN 0 THEN 'NA' WHEN 1 THEN '' WHEN 2 THEN '?' "
        "ELSE ['F', 'M'][i % 2 + 1] END AS sex, "
        "CASE i % 30 WHEN 0 THEN 999 WHEN 1 THEN -1 ELSE 20 + i % 60 END AS age, "
        "CASE WHEN i % 30 = 0 THEN DATE '9999-12-31' WHEN i % 30 = 1 THEN DATE '1900-01-01' "
        "ELSE DATE '1980-01-01' + i::INT END AS admitted, ['flu', 'cold', 'n/a'][i % 3 + 1] AS disease "
        "FROM range(300) r (i)"
    )
    previous = repair_table(con)
    assert {name: [problem for problem, _ in entry] for name, entry in previous.items()} == {
        "sex": ["codes for missing values: '', '?', 'NA' in records: 102"],
        "age": ["codes for missing values: '-1', '999' in records: 20"],
        "admitted": ["codes for missing values: '1900-01-01', '9999-12-31' in records: 20"],
        "disease": ["codes for missing values: 'n/a' in records: 100"],
    }
    declared = con.execute(
        "SELECT column_name, role, hierarchy, missing_codes FROM dbanon.policy ORDER BY ALL"
    ).fetchall()
    assert declared == [
        ("admitted", "quasi", None, ["1900-01-01", "9999-12-31"]),
        ("age", "quasi", None, ["-1", "999"]),
        ("disease", "sensitive", None, ["n/a"]),
        ("sex", "quasi", "sex", ["", "?", "NA"]),
    ]
    assert found_problems(con) == {}
    assert con.execute("FROM policy_problems()").fetchall() == []
    ages = con.execute("SELECT DISTINCT age FROM kacpc('t', k=5)").fetchall()
    assert not [age for (age,) in ages if age and ("999" in age or "-1" in age)]


def test_codes_added_to_existing_policy(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT ['a', 'b', 'N/A', 'none of it'][i % 4 + 1] AS x FROM range(80) r (i)")
    dbanon.declare(con, "t", x={"role": "insensitive", "missing_codes": ["none of it"]})
    [(_, statement)] = repair_table(con)["x"]
    assert str(statement).startswith("UPDATE ")
    assert con.execute("SELECT missing_codes FROM dbanon.policy").fetchall() == [(["none of it", "N/A"],)]
    assert found_problems(con) == {}


def test_declared_codes_repaired_with_surrounding_text(con: Any) -> None:
    """The codes would not fit the new type, so they are removed from the policy."""
    con.execute(
        "CREATE TABLE t AS SELECT CASE WHEN i % 9 = 0 THEN 'NA' WHEN i % 7 = 0 THEN '?' "
        "ELSE strftime(DATE '1950-01-01' + (i * 37)::INTEGER, '%d.%m.%Y') END AS x FROM range(200) r (i)"
    )
    dbanon.declare(con, "t", x={"role": "quasi", "missing_codes": ["NA"]})
    old_rows = con.execute("SELECT count(*) FROM t WHERE x IN ('NA', '?')").fetchall()
    repair_table(con)
    new_rows = con.execute("SELECT count(*), any_value(typeof(x)) FROM t WHERE x IS NULL").fetchall()
    assert new_rows == [(*old_rows[0], "DATE")]
    assert con.execute("SELECT missing_codes FROM dbanon.policy").fetchall() == [(None,)]
    assert found_problems(con) == {} and con.execute("FROM policy_problems()").fetchall() == []


def test_valid_value_is_no_missing_code(con: Any) -> None:
    countries = ["NA", "DE", "FR", "IT", "ES", "PT", "PL", "NL", "BE", "AT", "CH", "SE", "NO", "FI"]
    assert column_problem(con, countries, "country") is None, "Namibia"
    numbers = "i % 100 AS age, i % 9 - 4 AS change, i % 1200 AS paid"
    con.execute(f"CREATE OR REPLACE TABLE t AS SELECT {numbers} FROM range(2400) r (i)")
    assert found_problems(con) == {}, "99, -1 and 999 among their neighbours"
    con.execute("CREATE OR REPLACE TABLE t AS SELECT DATE '1960-01-01' + i::INT AS born FROM range(20000) r (i)")
    assert found_problems(con) == {}, "1970-01-01 among its neighbours"


def test_unknown_column_not_published_by_proposal(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT ['a', 'b', 'NA'][i % 3 + 1] AS x FROM range(90) r (i)")
    [(problem, statement)] = found_problems(con)["x"]
    assert statement is None
    assert problem.endswith("declare them when you say what the column is, missing_codes = ['NA']")
    assert con.execute("SELECT statement FROM profile('t')").fetchall() == [(None,)]


# --- blanks, odd names, views and files ------------------------------------------------------------------


def test_repair_trims_blanks_around_values(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT ['flu ', 'flu', chr(9) || 'cold', ' NA'][i % 4 + 1] AS disease FROM range(80) r (i)"
    )
    assert [p for p, _ in repair_table(con)["disease"]] == [
        "codes for missing values: 'NA' in records: 20", "blanks around values in records: 60"
    ]  # fmt: skip
    assert con.execute("SELECT DISTINCT disease FROM t ORDER BY 1").fetchall() == [("NA",), ("cold",), ("flu",)]
    assert found_problems(con) == {}


HOSTILE = ["x'); DROP TABLE t; --", "🦆 {{ q }} {}", 'a "b"', "é\n;", "{% if %}", "select", "value"]
MESSY = {
    "birth": "CASE WHEN i % 9 = 0 THEN 'n/a' ELSE strftime(DATE '1950-01-01' + i::INT, ' %d.%m.%Y') END",
    "weight": "CASE WHEN i % 9 = 0 THEN '-' ELSE i || ',5' END",
    "age": "CASE WHEN i % 9 = 0 THEN 999 ELSE 20 + i % 50 END",
    "disease": "['NA', 'flu ', 'cold'][i % 3 + 1]",
}


@pytest.mark.parametrize("odd", HOSTILE)
def test_repair_statements_valid_for_odd_names(con: Any, odd: str) -> None:
    actual_text = ", ".join(f"{sql} AS {identifier(f'{name} {odd}')}" for name, sql in MESSY.items())
    con.execute(f"CREATE TABLE {identifier(odd)} AS SELECT {actual_text} FROM range(90) r (i)")
    source = str(identifier(odd))
    assert [name.split(" ")[0] for name in repair_table(con, source)] == list(MESSY)
    assert found_problems(con, source) == {}
    types = con.execute(f"SELECT column_type FROM (DESCRIBE {source})").fetchall()
    assert types == [("DATE",), ("DOUBLE",), ("BIGINT",), ("VARCHAR",)]


@pytest.mark.parametrize("kind", ["view", "file", "temporary"])
def test_repair_of_view_file_or_temp_table_creates_view(tmp_path: Path, kind: str) -> None:
    actual_text = ", ".join(f"{sql} AS {identifier(name)}" for name, sql in MESSY.items())
    with dbanon.connect() as con:
        con.execute(
            f"CREATE {'TEMP ' * (kind == 'temporary')}TABLE visits AS SELECT {actual_text} FROM range(90) r (i)"
        )
        con.execute("CREATE VIEW seen AS FROM visits") if kind == "view" else None
        path = str(tmp_path / "visits.parquet")
        con.execute(f"COPY visits TO {text(path)}")
        source = {"view": "seen", "file": path, "temporary": "visits"}[kind]
        statements = {statement for each_value in found_problems(con, source).values() for _, statement in each_value}
        assert len(statements) == 1, "a view has all columns at once"
        repair_table(con, source)
        view = "seen_mended" if kind == "view" else "visits_mended"
        assert found_problems(con, view) == {}
        nulls = con.execute(f"SELECT {', '.join(f'count(*) FILTER ({name} IS NULL)' for name in MESSY)} FROM {view}")
        assert nulls.fetchall() == [(10, 10, 10, 30)]


@pytest.mark.not_everyday
def test_repair_converts_enum_column(con: Any) -> None:
    con.execute("CREATE TYPE lists AS ENUM ('3,5', '4,5 ', 'NA')")
    con.execute("CREATE TABLE t AS SELECT (['3,5', '4,5 ', 'NA'])[i % 3 + 1]::lists AS weight FROM range(90) r (i)")
    repair_table(con)
    assert con.execute("SELECT sum(weight) FROM t").fetchall() == [(240,)]


def test_repair_report_contains_no_cell(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT ['SECRET-1', ' SECRET-2', 'NA'][i % 3 + 1] AS ward, '0' || i || '/SECRET' AS x, "
        "CASE WHEN i = 3 THEN 4711000 ELSE i % 7 END AS age FROM range(90) r (i)"
    )
    message = str(con.execute("FROM profile('t')").fetchall())
    assert "SECRET" not in message and "4711000" not in message


def test_repair_text_codes_and_formats_are_distinct() -> None:
    assert len(set(profiling_repairs.TEXT_CODES)) == len(profiling_repairs.TEXT_CODES)
    assert len({form.is_readable for form in profiling_repairs.TEXT_FORMATS}) == len(profiling_repairs.TEXT_FORMATS)
    for place, form in enumerate(profiling_repairs.TEXT_FORMATS):
        assert form.twin is None or form.twin != place
