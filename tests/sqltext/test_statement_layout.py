"""Statements that people read have short lines and mean the same."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import dbanon
from dbanon.sqltext.quote import text
from dbanon.sqltext.statement_layout import MAX_WIDTH, lay_out
from dbanon.sqltext.tokenizer import spaced_words

STATEMENTS = {
    "positional joins": "SELECT * FROM (SELECT 1 AS a)"
    + "".join(f" POSITIONAL JOIN (SELECT {i} AS number_{i})" for i in range(9)),
    "columns": "SELECT " + ", ".join(f'{i} AS "column number {i}"' for i in range(40)),
    "conditions": "SELECT count(*) FROM range(40) AS t(i) WHERE " + " AND ".join(f"i <> {i}" for i in range(30)),
    "a long literal": f"SELECT '{'its a word, ' * 40}' AS text",
    "literals without blanks": f"SELECT '{'x' * 500}', DATE '2000-01-01', '{'ab' * 90}'",
    "a huge literal": f"SELECT length('{'x, ' * 20_000}')",
    "nested calls": "SELECT " + "least(" * 40 + "1" + ", 2)" * 40,
    "nested CASE": "SELECT " + "CASE WHEN true THEN " * 20 + "1" + " ELSE 2 END" * 20,
    "casts and operators": "SELECT " + " || ".join(f"({i} + 1)::VARCHAR COLLATE POSIX" for i in range(30)),
    "a long struct key": "SELECT {'" + "k" * 130 + "': 1, 'b': 2} AS s, 'x' || 'y'",
    "subscripts": "SELECT [" + ", ".join(map(str, range(100))) + "][3] AS third",
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_wrapped_statement_has_short_lines_and_same_rows(name: str) -> None:
    wrapped = lay_out(STATEMENTS[name])
    assert max(map(len, wrapped.splitlines())) <= (150 if "key" in name else 120)
    assert duckdb.sql(wrapped).fetchall() == duckdb.sql(STATEMENTS[name]).fetchall()
    assert lay_out(wrapped) == wrapped


@pytest.mark.parametrize("join", ["POSITIONAL JOIN", "LEFT JOIN", "FULL OUTER JOIN", "ASOF LEFT JOIN"])
def test_line_begins_with_all_words_of_join(join: str) -> None:
    parts = [f"(SELECT {i} AS number_{i})" for i in range(9)]
    lines = lay_out(f"SELECT * FROM {f' {join} '.join(parts)}").splitlines()
    assert lines[:2] == ["SELECT *", "FROM (SELECT 0 AS number_0)"] and len(lines) == 10
    assert all(line.startswith(f"{join} (") for line in lines[2:])


def test_line_breaks_in_literals_and_names_stay() -> None:
    statement = "-- One row.\nSELECT 'a\n  b' AS \"x\ny\", 1"
    assert lay_out(statement) == statement


def test_long_comment_becomes_several_comments() -> None:
    laid_out = lay_out("WITH a AS (\n-- " + "one row per word " * 20 + "\nSELECT 1)\nFROM a")
    first, *comments, select, end, result = laid_out.splitlines()
    assert (first, select, end, result) == ("WITH a AS (", "    SELECT 1", ")", "FROM a")
    assert all(line.startswith("    -- ") for line in comments) and len(comments) > 1
    assert max(map(len, comments)) <= MAX_WIDTH


def test_long_file_name_is_not_split(tmp_path: Path) -> None:
    file = tmp_path / f"{'long name ' * 12}.csv"
    file.write_text("a\n1\n", encoding="utf-8")
    wrapped = lay_out(f"SELECT a FROM '{file}' WHERE a = 1")
    assert duckdb.sql(wrapped).fetchall() == [(1,)]


def test_only_line_with_longer_name_stays_longer() -> None:
    name = '"' + "n" * 150 + '"'
    lines = lay_out(f"SELECT 1 AS {name}, " + ", ".join(map(str, range(100)))).splitlines()
    assert [len(line) > 120 for line in lines].count(True) == 1


LAYOUTS = {
    "relations and short subqueries": """\
WITH a AS (
    SELECT x, y
    FROM (SELECT 1 AS x, 2 AS y)
)
SELECT *
FROM a LEFT JOIN (SELECT 1 AS z) AS b ON a.x = b.z WHERE x IS DISTINCT FROM y
UNION ALL
SELECT 1, 2, 3
FROM range(2)""",
    "comments": """\
WITH RECURSIVE
-- One row.
a AS MATERIALIZED (
    SELECT
        -- One.
        1 AS x
),
b AS (
    SELECT *
    FROM
    -- Many.
    (
        SELECT least(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21) AS least_number,
            CASE
                -- No number.
                WHEN 1 IS NULL THEN 'a text that is so long that it does not fit into a line with the others'
                WHEN 2 IS NULL THEN 'b'
            END AS label
        FROM a
    ) AS first_table,
    -- One more.
    (SELECT 2 AS y) AS second_table
)
FROM b""",
    "long lists": f"""\
SELECT least({", ".join(f"value_{i}" for i in range(11))},
        value_11),
    greatest(value_1 + 1, value_2 + 2) AS greatest_value
FROM (
    SELECT {", ".join(f"{i} AS value_{i}" for i in range(7))},
        {", ".join(f"{i} AS value_{i}" for i in range(7, 12))}
)""",
    "several branches": f"""\
SELECT CASE
    WHEN a > 1 THEN '{"x" * 60}'
    WHEN a > 2 THEN '{"y" * 60}'
    ELSE 'none'
END AS text
FROM (SELECT 1 AS a)""",
    "two branches": f"""\
SELECT CASE WHEN a > 1 THEN '{"x" * 60}'
    ELSE '{"y" * 60}' END AS text
FROM (SELECT 1 AS a)""",
    "conditions": f"""\
SELECT *
FROM (SELECT 1 AS a) AS first_table
LEFT JOIN (SELECT 1 AS b, '{"y" * 30}' AS text) AS second_table
    ON first_table.a = second_table.b AND first_table.a + 1 = second_table.b + 1""",
    "rows": f"""\
SELECT *
FROM (
    VALUES
        (1, '{"x" * 60}'),
        (2, '{"y" * 60}')
) AS t (a, b)""",
    "an argument of many": f"""\
SELECT concat(
    coalesce(NULL, '{"a" * 50}',
        (SELECT '{"b" * 40}')),
    '{"x" * 60}'
)""",
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layout_follows_nesting(name: str) -> None:
    laid_out = LAYOUTS[name]
    assert lay_out(laid_out) == laid_out
    if "--" not in laid_out:
        assert lay_out(" ".join(laid_out.split())) == laid_out
    duckdb.sql(laid_out).fetchall()


@pytest.mark.parametrize("function", ["kacpc", "mdav_metrics", "best_classes"])
def test_printed_lines_are_indented_below_what_encloses_them(function: str) -> None:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE people AS SELECT range AS age, range % 7 AS ward FROM range(40)")
        query = dbanon.explain(con, f"FROM {function}('people', k=5, qi=['age'])")
    enclosing: list[int] = []  # the indentation of the line of each bracket, and CASE, that is open
    for line in query.splitlines():
        indent = len(line) - len(line.lstrip())
        if line.strip() and not line.lstrip().startswith("--"):
            words = [word.lower() for _, word in spaced_words(line)]
            closes = words[0] in (")", "]", "}", "end")
            assert indent == enclosing[-1] if closes else indent > max(enclosing, default=-1), line
            for word in words:
                if word in ("(", "[", "{", "case"):
                    enclosing.append(indent)
                elif word in (")", "]", "}", "end"):
                    enclosing.pop()
    assert not enclosing


def test_pieces_of_literal_with_many_quotes_fit_into_lines() -> None:
    value = "'a' 'b', " * 60
    wrapped = lay_out(f"SELECT {text(value)} AS quoted")
    assert max(map(len, wrapped.splitlines())) <= MAX_WIDTH
    assert duckdb.sql(wrapped).fetchall() == [(value,)]
