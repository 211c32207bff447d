"""`dbanon anonymize` of a table publishes no more than its policy allows, with any options and parameters."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner
from support import kept
from support.command_line import (
    QUASI_KEEPS_SETTINGS,
    ROLES,
    anonymize,
    as_options,
    as_parameters,
    assert_refused,
    assert_released,
    write_people,
)
from support.policy_attempts import (
    ATTEMPTS,
    HIERARCHY,
    MISSING_ZIP,
    PERMITTED,
    POLICY,
    REFUSAL,
    TABLE_SPELLINGS,
    VIEWS,
    clinic,
)
from support.scale import sample_cases

import dbanon
from dbanon.cli import main

SCHEMA_SPELLINGS = ("s.patients", "S.Patients", "clinic.s.patients")
"""Names of a table in another schema, whose policy is the same."""

ROW_SPELLINGS = ("main.copied", "COPIED", '"copied"', "clinic.main.copied", "clinic.copied")
"""How rows of the policy can name the table `copied`."""


def _clinic(path: Path) -> None:
    with dbanon.connect(path) as con:
        clinic(con)
        for name, query in VIEWS.items():
            con.execute(f"CREATE VIEW {name} AS {query}")
        con.execute("CREATE SCHEMA s; CREATE TABLE s.patients AS FROM patients")
        con.execute(
            "INSERT INTO dbanon.policy SELECT * REPLACE ('s' AS schema_name) FROM dbanon.policy "
            "WHERE table_name = 'patients'"
        )
        for number, spelled in enumerate(ROW_SPELLINGS):
            con.execute(f"CREATE TABLE copied{number} AS FROM patients")
            named_text = spelled.replace("copied", f"copied{number}").replace("COPIED", f"COPIED{number}")
            con.execute(
                "INSERT INTO dbanon.policy SELECT * REPLACE (? AS table_name) FROM dbanon.policy "
                "WHERE table_name = 'patients' AND schema_name = 'main'",
                [named_text],
            )


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Create a database with the clinic: tables with the policy, and views without."""
    return kept.copy_database(tmp_path / "clinic.duckdb", _clinic)


# --- a table of a database -------------------------------------------------------------------------------------------


def test_anonymize_refuses_looser_parameters(database: Path) -> None:
    for attempt in sample_cases(ATTEMPTS, 24):
        assert_refused(anonymize(database, as_parameters(attempt)))


def test_anonymize_refuses_looser_options(database: Path) -> None:
    for attempt in sample_cases(ROLES, 12):
        assert_refused(anonymize(database, as_options(attempt, database.parent)))


def test_anonymize_accepts_parameters_that_tighten(database: Path) -> None:
    for attempt in sample_cases(PERMITTED, 12):
        assert_released(anonymize(database, as_parameters(attempt)))


def test_anonymize_keeps_settings_of_named_columns(database: Path) -> None:
    for words in sample_cases(QUASI_KEEPS_SETTINGS, 8):
        assert_released(anonymize(database, words))


@pytest.mark.parametrize(
    ("words", "expected_columns"),
    [
        (["--qi", "age"], ["age", "born", "zip", "sex", "weight_kg", "disease", "ward"]),
        (["--qi", "ward", "--identifier", "ZIP"], ["age", "born", "sex", "weight_kg", "disease", "ward"]),
        (["--sensitive", "ward"], ["age", "born", "zip", "sex", "weight_kg", "disease", "ward"]),
        (["-p", "qi=age"], ["age", "disease", "ward"]),
        (["-p", "qi=age", "--qi", "age", "-p", "withhold=ward"], ["age", "disease"]),
    ],
)
def test_options_leave_other_columns_as_declared(database: Path, words: list[str], expected_columns: list[str]) -> None:
    out = database.with_name("safe.parquet")
    call = ["anonymize", str(database), "--table", "patients", "-k", "5", "--algorithm", "mondrian", "-o", str(out)]
    result = CliRunner().invoke(main, [*call, "--quiet", *words])
    assert result.exit_code == 0, result.output
    assert [column[0] for column in duckdb.sql(f"FROM '{out}'").description] == [*expected_columns, "class_id"]


TABLES = [*TABLE_SPELLINGS, *SCHEMA_SPELLINGS, *(f"copied{i}" for i in range(len(ROW_SPELLINGS)))]


def test_anonymize_finds_policy_by_any_name(database: Path) -> None:
    for table in sample_cases(TABLES, 6):
        assert_refused(anonymize(database, ["--sensitive", "name", "--qi", "age"], table))


def test_anonymize_releases_tables_by_any_name(database: Path) -> None:
    for table in sample_cases(TABLES, 6):
        assert_released(anonymize(database, [], table))


def test_anonymize_refuses_views_over_declared_table(database: Path) -> None:
    for view in sample_cases(list(VIEWS), 3):
        for words in ([], ["--qi", "age", "--sensitive", "disease"]):
            assert_refused(anonymize(database, words, view), "no policy of its own")


@pytest.mark.parametrize(
    "table", ["dbanon", "people.csv", "memory.dbanon.policy", "input", "nowhere.patients", "(FROM patients)"]
)
def test_anonymize_refuses_policy_of_other_table(database: Path, table: str) -> None:
    text = str(write_people(database.parent)) if table == "people.csv" else table
    assert_refused(anonymize(database, ["--qi", "age"], text), "has no table or view")


@pytest.mark.parametrize("name", ["dbanon.duckdb", "input.duckdb", "memory.duckdb", "origin.duckdb"])
@pytest.mark.not_everyday
def test_anonymize_reads_databases_of_any_name(database: Path, name: str) -> None:
    renamed = database.rename(database.with_name(name))
    assert_released(anonymize(renamed, []))
    assert_refused(anonymize(renamed, ["--sensitive", "name"]))


def test_anonymize_does_not_write_database(database: Path) -> None:
    old_content = database.read_bytes()
    assert_released(anonymize(database, ["--qi", "zip"]))
    assert database.read_bytes() == old_content
    assert not database.with_name("clinic.duckdb.wal").exists()


# --- hierarchies -----------------------------------------------------------------------------------------------------


def test_hierarchy_file_does_not_replace_declared_hierarchy(database: Path) -> None:
    file = database.with_name("zip5.csv")
    file.write_text("".join(f"{path[0]};*\n" for path in HIERARCHY), encoding="utf-8")
    with dbanon.connect(database) as con:
        dbanon.load_hierarchy(con, "zip of zip5.csv", HIERARCHY)
        dbanon.declare(con, "patients", zip={**POLICY["zip"], "hierarchy": "zip of zip5.csv"})
    assert_refused(anonymize(database, ["--qi", f"zip={file}"]), "another hierarchy")
    assert_released(anonymize(database, ["--qi", "zip=zip of zip5.csv"]))


# --- other commands --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["create-release", "compare", "tradeoffs"])
def test_other_commands_refuse_looser_parameters(database: Path, command: str) -> None:
    call = {
        "create-release": ["create-release", str(database), "safe", "patients", "--algorithm", "mondrian", "-k", "5"],
        "compare": ["compare", str(database), "patients", "-k", "5", "--algorithms", "mondrian", "--quiet"],
        "tradeoffs": ["tradeoffs", str(database), "patients", "-k", "5", "--algorithms", "mondrian", "--quiet"],
    }[command]
    for attempt in sample_cases([a for a in ATTEMPTS if "allow_rare" not in a.parameters], 24):
        result = CliRunner().invoke(main, [*call, *as_parameters(attempt)])
        assert re.search(f"{REFUSAL}|no parameter", result.output), result.output
        assert "CANARY" not in result.output


@pytest.mark.parametrize("missing", [MISSING_ZIP])
def test_missing_codes_are_not_published(database: Path, missing: str) -> None:
    assert_released(anonymize(database, ["--qi", "zip", "-p", f"missing_codes={{'zip': ['{missing}']}}"]))


@pytest.mark.parametrize("table", TABLE_SPELLINGS)
def test_init_finds_policy_by_any_name(database: Path, table: str) -> None:
    result = CliRunner().invoke(main, ["init", str(database), table, "--yes"])
    assert result.exit_code == 1
    assert "has a policy already (9 columns)" in result.output
