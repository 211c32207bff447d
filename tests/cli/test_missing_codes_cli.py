"""Codes for missing values on the command line and in the shell: policy files, parameters, completion."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

import dbanon
from dbanon.api import missing_codes
from dbanon.cli import main

ROWS = [f"{999 if i % 8 == 0 else 20 + i % 6},{['Rome', 'NA', '?'][i % 3]},{['A', '-'][i % 2]}" for i in range(48)]


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.csv"
    path.write_text("\n".join(["age,town,vote", *ROWS]))
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def nulls(path: Path) -> list[int]:
    """Return the number of released values that are NULL, by column."""
    with duckdb.connect() as con:
        query = f"SELECT count(*) - count(age), count(*) - count(town), count(*) - count(vote) FROM '{path}'"
        return list(con.execute(query).fetchall()[0])


ROLES = ["--qi", "age", "--qi", "town", "--sensitive", "vote"]


@pytest.mark.parametrize("assignment", ["missing_codes=['NA', 999, '-', '?']", "missing_codes=NA,?,-,999"])
def test_missing_codes_may_mix_texts_and_numbers(survey: Path, assignment: str) -> None:
    output = survey.with_name("out.parquet")
    done = run("anonymize", survey, "-o", output, "-k", 3, *ROLES, "-p", assignment)
    assert done.exit_code == 0, done.output
    actual_nulls = nulls(output)
    assert actual_nulls[2] == 24 and actual_nulls[0] + actual_nulls[1] > 0
    with duckdb.connect() as con:
        assert not con.execute(f"SELECT 1 FROM '{output}' WHERE town IN ('NA', '?') OR age LIKE '%999%'").fetchall()


TOML = """
[columns.age]
role = "quasi"
missing_codes = [999]
[columns.town]
role = "quasi"
missing_codes = ["NA", "?"]
[columns.vote]
role = "sensitive"
missing_codes = "-"
"""
CSV = "column_name,role,missing_codes\nage,quasi,999\ntown,quasi,\"[NA, '?']\"\nvote,sensitive,-\n"


def test_policy_files_accept_missing_codes(survey: Path) -> None:
    actual_nulls = []
    for name, message in (("policy.toml", TOML), ("policy.csv", CSV)):
        policy = survey.with_name(name)
        policy.write_text(message)
        output = survey.with_name(f"out{len(actual_nulls)}.parquet")
        done = run("anonymize", survey, "-o", output, "-k", 3, "--policy", policy)
        assert done.exit_code == 0, done.output
        actual_nulls.append(nulls(output))
    assert actual_nulls[0] == actual_nulls[1]
    assert actual_nulls[0][2] == 24


def test_missing_codes_cell_is_list_or_single_code() -> None:
    with duckdb.connect() as con:
        values = ["NA", "?", "it's, so", "", "999"]
        (cell,) = con.execute("SELECT CAST($1 AS VARCHAR)", [values]).fetchall()[0]
    assert missing_codes.codes_from_cell(cell) == values
    assert missing_codes.codes_from_cell("N/A, unknown") == ["N/A, unknown"]
    assert missing_codes.codes_from_cell("[NULL, a]") == ["a"]


def test_database_without_missing_codes_column_is_read(tmp_path: Path, survey: Path) -> None:
    path = tmp_path / "old.duckdb"
    with dbanon.connect(path) as con:
        con.execute(f"CREATE TABLE t AS FROM '{survey}'")
        dbanon.declare(con, "t", age={"role": "quasi", "missing_codes": 999}, town="quasi", vote="sensitive")
        con.execute("CREATE TABLE u AS FROM t")
        dbanon.declare(con, "u", age="quasi")
    display = run("policy", path, "u")
    assert display.exit_code == 0 and "999" in run("policy", path, "t", "--json").output
    output = tmp_path / "coded.parquet"
    assert run("anonymize", path, "--table", "t", "-k", 3, "-o", output).exit_code == 0
    assert nulls(output)[0] > 0
    with duckdb.connect(str(path)) as raw:
        raw.execute("UPDATE dbanon.policy SET missing_codes = NULL")
        raw.execute("ALTER TABLE dbanon.policy DROP COLUMN missing_codes")
    assert run("policy", path, "t").exit_code == 0
    assert run("anonymize", path, "--table", "t", "-k", 3, "-o", output, "--replace").exit_code == 0
    assert nulls(output)[0] == 0


@pytest.mark.parametrize(
    ("typed", "quoted"),
    [
        ("['NA', 999]", "['NA', '999']"),
        ("[999,-1.5e3 , - 2]", "['999','-1.5e3' , '-2']"),
        ("{'age': [999, 'x'], 'b': []}", "{'age': ['999', 'x'], 'b': []}"),
        ("[998 + 1, 'a']", "[998 + 1, 'a']"),
        ("999", "999"),
        ("['5''s', 7], 8]", "['5''s', '7'], 8]"),
    ],
)
def test_only_numbers_of_plain_lists_are_quoted(typed: str, quoted: str) -> None:
    assert missing_codes.quote_listed_numbers(typed) == quoted
