"""profile() repairs whole numbers that are stored as DOUBLE or DECIMAL because some are missing."""

from __future__ import annotations

from typing import Any

import pytest

import dbanon
from dbanon.sqltext.quote import identifier, text

NAME = "age x'); DROP TABLE t; --"


def found_problems(con: Any, source: str = "t") -> list[tuple[str, str | None]]:
    """Return the problems of the only column, each with the statement that repairs it."""
    query = f"SELECT problems, repairs FROM profile({text(source)})"
    [(problems, repairs)] = con.execute(query).fetchall()
    return list(zip(problems, repairs, strict=True))


def create_column(con: Any, value: str) -> None:
    con.execute(f"CREATE OR REPLACE TABLE t AS SELECT {value} AS {identifier(NAME)} FROM range(60) r (i)")


@pytest.mark.parametrize(
    "value",
    [
        "CASE WHEN i % 9 > 0 THEN (20 + i % 7)::DOUBLE END",
        "CASE WHEN i % 9 > 0 THEN 20 + i % 7 ELSE 'nan'::FLOAT END",
        "CASE WHEN i % 9 > 0 THEN (20 + i % 7)::DECIMAL(9, 2) END",
    ],
)  # fmt: skip
def test_whole_numbers_become_integers(con: Any, value: str) -> None:
    create_column(con, value)
    [(problem, repair)] = found_problems(con)
    assert problem.startswith("whole numbers of type ")
    con.execute(repair)
    assert found_problems(con) == []
    assert con.execute("SELECT column_type FROM (DESCRIBE t)").fetchall() == [("BIGINT",)]
    assert con.execute("SELECT count(x), min(x), max(x) FROM t AS t (x)").fetchall() == [(53, 20, 26)]


def test_repaired_numbers_match_labels_of_whole_numbers(con: Any) -> None:
    create_column(con, "CASE WHEN i % 9 > 0 THEN (20 + i % 7)::DOUBLE END")
    dbanon.load_hierarchy(con, "ages", [[str(20 + i), ["low", "high"][i > 3], "*"] for i in range(7)])
    con.execute(found_problems(con)[0][1])
    column = identifier(NAME)
    released = f"kacpc('t', k = 5, qi = [{text(NAME)}], hierarchies = {{{text(NAME)}: 'ages'}}, nulls = 'drop')"
    labels = {label for (label,) in con.execute(f"SELECT {column} FROM {released}").fetchall()}
    assert labels <= {"20", "21", "22", "23", "24", "25", "26", "low", "high", "*"}


def test_view_of_whole_numbers_is_repaired_with_codes(con: Any) -> None:
    create_column(con, "CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN 999 ELSE (20 + i % 7)::DOUBLE END")
    con.execute("CREATE VIEW v AS FROM t")
    [(codes, statement), (_, other_statement)] = found_problems(con, "v")
    assert codes.startswith("codes for missing values") and statement == other_statement
    con.execute(statement)
    assert found_problems(con, "v_mended") == []
    assert con.execute("SELECT column_type FROM (DESCRIBE v_mended)").fetchall() == [("BIGINT",)]


@pytest.mark.parametrize(
    "value",
    [
        "(20 + i % 7)::DOUBLE", "CASE WHEN i % 9 > 0 THEN 20 + i % 7 / 2 END",
        "CASE WHEN i % 9 > 0 THEN 20 + i % 7 END",
        "CASE WHEN i % 9 > 0 THEN 1e300 + i % 7 END", "CASE WHEN i % 9 > 0 THEN (20 + i % 7)::DECIMAL(9, 0) END",
        "NULL::DOUBLE",
    ],
)  # fmt: skip
def test_other_numbers_keep_their_type(con: Any, value: str) -> None:
    create_column(con, value)
    assert found_problems(con) == []
