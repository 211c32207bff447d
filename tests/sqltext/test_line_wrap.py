"""Statements that people read have short lines and mean the same."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dbanon.sqltext.line_wrap import MAX_WIDTH, wrap_lines
from dbanon.sqltext.quote import text

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
    wrapped = wrap_lines(STATEMENTS[name])
    assert max(map(len, wrapped.splitlines())) <= (150 if "key" in name else 120)
    assert duckdb.sql(wrapped).fetchall() == duckdb.sql(STATEMENTS[name]).fetchall()
    assert wrap_lines(wrapped) == wrapped


def test_line_begins_with_both_words_of_positional_join() -> None:
    parts = [f"(SELECT {i} AS number_{i})" for i in range(9)]
    lines = wrap_lines(f"SELECT * FROM {' POSITIONAL JOIN '.join(parts)}").splitlines()
    assert len(lines) > 1 and all(line.startswith("    POSITIONAL JOIN") for line in lines[1:])


def test_short_lines_and_line_breaks_in_literals_stay() -> None:
    statement = "-- One row.\nSELECT 'a\n  b' AS \"x\ny\",\n    1"
    assert wrap_lines(statement) == statement


def test_long_comment_becomes_several_comments() -> None:
    wrapped = wrap_lines("    -- " + "one row per word " * 20 + "\n    SELECT 1")
    lines = wrapped.splitlines()
    assert all(line.startswith("    -- one" if i == 0 else "    -- ") for i, line in enumerate(lines[:-1]))
    assert max(map(len, lines)) <= 120 and lines[-1] == "    SELECT 1"


def test_long_file_name_is_not_split(tmp_path: Path) -> None:
    file = tmp_path / f"{'long name ' * 12}.csv"
    file.write_text("a\n1\n", encoding="utf-8")
    wrapped = wrap_lines(f"SELECT a FROM '{file}' WHERE a = 1")
    assert duckdb.sql(wrapped).fetchall() == [(1,)]


def test_only_line_with_longer_name_stays_longer() -> None:
    name = '"' + "n" * 150 + '"'
    lines = wrap_lines(f"SELECT 1 AS {name}, " + ", ".join(map(str, range(100)))).splitlines()
    assert [len(line) > 120 for line in lines].count(True) == 1


def test_short_brackets_and_column_lists_are_joined() -> None:
    columns, rows = "SELECT\n        x\n        , y", "(\n        SELECT 1 AS x, 2 AS y\n    )"
    statement = f"WITH a AS (\n    {columns}\n    FROM {rows}\n)\nSELECT * FROM a"
    joined = "WITH a AS (\n    SELECT x, y\n    FROM (SELECT 1 AS x, 2 AS y)\n)\nSELECT * FROM a"
    assert wrap_lines(statement) == joined


def test_comments_and_long_brackets_keep_their_lines() -> None:
    values = ", ".join(f"value_{i}" for i in range(12))
    for expression in ("(\n        -- One.\n        1\n    )", f"least(\n            {values}\n        )"):
        statement = f"WITH a AS (\n    SELECT\n        {expression}\n)\nFROM a"
        assert wrap_lines(statement) == statement


def test_pieces_of_literal_with_many_quotes_fit_into_lines() -> None:
    value = "'a' 'b', " * 60
    wrapped = wrap_lines(f"SELECT {text(value)} AS quoted")
    assert max(map(len, wrapped.splitlines())) <= MAX_WIDTH
    assert duckdb.sql(wrapped).fetchall() == [(value,)]
