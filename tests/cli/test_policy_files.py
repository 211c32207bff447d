"""A policy file of `dbanon anonymize` and `dbanon stream`: options tighten it, and it tightens that of a database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    stream,
    toml,
    write_people,
    write_policy,
)
from support.policy_attempts import ATTEMPTS, HIERARCHY, POLICY, REFUSAL, K, clinic, problems, rows_sql
from support.scale import sample_cases

import dbanon
from dbanon import errors
from dbanon.api.stream import anonymize_stream
from dbanon.cli import main
from dbanon.policy import policy_files


def _clinic(path: Path) -> None:
    with dbanon.connect(path) as con:
        clinic(con)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Create a database with the clinic."""
    return kept.copy_database(tmp_path / "clinic.duckdb", _clinic)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Write the rows of the clinic to a file."""
    return write_people(tmp_path)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """Write the policy of the clinic to a file, with its hierarchy in another."""
    return write_policy(tmp_path)


# --- a policy file in addition to that of the database ---------------------------------------------------------------

LOOSER_FILES: tuple[dict[str, Any], ...] = (
    {"name": "sensitive"},
    {"Name": "insensitive"},
    {"note": "quasi"},
    {"pid": "identifier"},
    {"pid": "sensitive"},
    {"name": "person"},
    {"age": "sensitive"},
    {"disease": "insensitive"},
    {"age": {"role": "quasi", "top": 95}},
    {"age": {"role": "quasi", "rounding": "none"}},
    {"born": {"role": "quasi", "rounding": "day"}},
    {"zip": {"role": "quasi", "min_level": 0}},
    {"zip": {"role": "quasi", "hierarchy": "flat.csv"}},
    {"zip": {"role": "quasi", "missing_codes": ["02138"]}},
    {"age": {"role": "quasi", "hierarchy": "sex"}},
)
TIGHTER_FILES: tuple[dict[str, Any], ...] = (
    POLICY,
    {"age": "quasi", "zip": "quasi"},
    {"age": {"role": "quasi", "top": 80, "rounding": 20}},
    {"zip": {"role": "quasi", "min_level": 2, "hierarchy": "zip5"}},
    {"ward": "sensitive", "disease": "sensitive"},
    {"born": "identifier", "PID": "person"},
)


def test_policy_file_cannot_loosen_stored_policy(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(database.parent)
    Path("flat.csv").write_text("".join(f"{path[0]};*\n" for path in HIERARCHY), encoding="utf-8")
    for columns in sample_cases(LOOSER_FILES, 5):
        file = toml(Path("looser.toml"), columns)
        assert_refused(anonymize(database, ["--policy", str(file)]))


def test_policy_file_can_tighten_stored_policy(database: Path) -> None:
    for columns in sample_cases(TIGHTER_FILES, 5):
        file = toml(database.with_name("tighter.toml"), columns)
        assert_released(anonymize(database, ["--policy", str(file)]))


@pytest.mark.parametrize("role", ["pseudonym", "mask", "shift"])
def test_policy_file_adds_no_transformed_column(database: Path, role: str) -> None:
    file = toml(database.with_name("made.toml"), {"name": role})
    assert_refused(anonymize(database, ["--policy", str(file)]), "can only tighten")


def test_policy_file_may_repeat_stored_mask(database: Path) -> None:
    stored = {"role": "mask", "settings": {"first": "2"}}
    with dbanon.connect(database) as con:
        dbanon.declare(con, "patients", ward=stored)
    csv = database.with_name("mask.csv")
    csv.write_text("column_name,role,settings\nward,mask,{first=2}\n", encoding="utf-8")
    result, _ = anonymize(database, ["--policy", str(csv)])
    assert result.exit_code == 0, result.output
    csv.write_text("column_name,role,settings\nward,mask,{first=3}\n", encoding="utf-8")
    assert_refused(anonymize(database, ["--policy", str(csv)]), "can only tighten")


# --- a policy file and no stored policy ------------------------------------------------------------------------------


def test_options_cannot_loosen_policy_file(people: Path, policy: Path) -> None:
    for attempt in sample_cases(ROLES, 16):
        words = as_options(attempt, people.parent)
        assert_refused(anonymize(people, ["--policy", str(policy), *words], None))


def test_parameters_cannot_loosen_policy_file(people: Path, policy: Path) -> None:
    for attempt in sample_cases(ATTEMPTS, 32):
        assert_refused(anonymize(people, ["--policy", str(policy), *as_parameters(attempt)], None))


def test_options_can_tighten_policy_file(people: Path, policy: Path) -> None:
    for words in sample_cases([words for words in QUASI_KEEPS_SETTINGS if "zip=zip5" not in words], 8):
        assert_released(anonymize(people, ["--policy", str(policy), *words], None))


def test_policy_errors_name_policy_file(people: Path, policy: Path) -> None:
    result, _ = anonymize(people, ["--policy", str(policy), "--sensitive", "name"], None)
    assert result.output == (
        "Error: mondrian: people.csv.name is declared identifier in policy.toml, but the call asks for sensitive, "
        "which would loosen the policy. Hint: a call may only tighten the policy; change it in policy.toml.\n"
    )


def test_policy_errors_name_database_table(database: Path) -> None:
    result, _ = anonymize(database, ["-p", "top={'age': 95}"], "Patients")
    assert result.output.startswith(
        "Error: mondrian: Patients.age is declared top = 90 in dbanon.policy, but the call asks for top = 95, which"
    )


BAD_FILES = (
    ("x.csv", "table_name,column_name,role\nvisits,age,quasi\n", "is about visits"),
    ("x.csv", "schema_name,table_name,column_name,role\nother,patients,age,quasi\n", "is about patients"),
    ("x.csv", "column_name,role,Top\nage,quasi,90\n", "column Top, which no policy has"),
    ("x.csv", "column_name,role\nage,identifier\nAge,quasi\n", "two rows for"),
    ("x.csv", "column_name,role\nage,quasi\n,quasi\n", "a row without column_name"),
    ("x.csv", "column_name,role,weight\nage,quasi,abc\n", "weight of age must be a number, got 'abc'"),
    ("x.csv", "column_name,role,min_level\nage,quasi,1.5\n", "min_level of age must be an integer, got '1.5'"),
    ("x.csv", "column_name,role\nghost,quasi\n", "has no column 'ghost'"),
    ("x.csv", "column_name,role\nname,person\nage,person\n", "two columns with the role person"),
    ("x.csv", "column_name,role\nage,quasy\n", "'quasy'"),
    ("x.toml", "[columns]\nage = 'quasi'\n[name]\nrole = 'sensitive'\n", "outside of it"),
    ("x.toml", "age = 3\n", "neither a role nor"),
    ("x.toml", "age = {role = 'quasi', topp = 90}\n", "topp"),
    ("x.toml", "[columns]\n", "names no column"),
)


@pytest.mark.parametrize(("name", "text", "says"), BAD_FILES)
def test_policy_file_of_other_table_refused(database: Path, name: str, text: str, says: str) -> None:
    file = database.with_name(name)
    file.write_text(text, encoding="utf-8")
    assert_refused(anonymize(database, ["--policy", str(file)]), says)


def test_policy_file_of_several_tables_uses_own_rows(database: Path, people: Path) -> None:
    file = database.with_name("policy.csv")
    head, extra_text = (
        "schema_name,table_name,column_name,role,top,bottom,rounding\n",
        "main,visits,name,sensitive,,,\n",
    )
    file.write_text(f"{head}{extra_text}main,PATIENTS,age,quasi,,,20\n", encoding="utf-8")
    assert_released(anonymize(database, ["--policy", str(file)]))
    file.write_text(f"{head}{extra_text},people,age,quasi,90,18,10\n", encoding="utf-8")
    assert_released(anonymize(people, ["--policy", str(file)], None))


@pytest.mark.parametrize(
    "settings", [{}, {"prefix": "A, B"}, {"prefix": "O'Brien=", "length": "9"}, {"prefix": 'a"b{}\\', "key": "env:K"}]
)
def test_policy_file_of_duckdb_has_stored_settings(tmp_path: Path, settings: dict[str, str]) -> None:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE t AS SELECT 'x' AS pid")
        dbanon.declare(con, "t", pid={"role": "pseudonym", "settings": settings})
        con.execute(f"COPY dbanon.policy TO '{tmp_path / 'policy.csv'}'")
    columns = policy_files.read_policy_file(tmp_path / "policy.csv", str)
    assert columns == {"pid": {"role": "pseudonym", "weight": 1.0, "settings": settings}}


@pytest.mark.parametrize("cell", ["length=12", "{length}", "{length=12,}", "{,length=12}", "{length=12, 'a, b'}"])
def test_cell_of_other_form_is_no_settings(cell: str) -> None:
    with pytest.raises(ValueError, match="is no list of settings"):
        policy_files.parse_transform_cell(cell)


# --- duplicate settings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--qi", "age", "-p", "qi=zip"], "--qi"),
        (["--sensitive", "ward", "-p", "sensitive=disease"], "--sensitive"),
        (["--person", "pid", "-p", "person=name"], "--person"),
        (["--qi", "zip=zip5", "-p", "hierarchies={'zip': 'other'}"], "--qi"),
        (["--qi", "zip=zip5", "--qi", "zip=other"], "--qi"),
        (["-p", "k=6"], "-k"),
    ],
)
def test_options_contradicting_parameters_refused(database: Path, words: list[str], option: str) -> None:
    ran = anonymize(database, words)
    assert_refused(ran, "is given twice, with different values|has two hierarchies")
    assert f"Invalid value for {option}" in ran[0].output


def test_policy_file_contradicting_options_refused(database: Path) -> None:
    file = toml(database.with_name("more.toml"), {"age": {"role": "quasi", "top": 80}})
    assert_refused(anonymize(database, ["--policy", str(file), "--qi", "zip"]), "qi is given twice")
    assert_refused(anonymize(database, ["--policy", str(file), "-p", "top={'age': 70}"]), "top is given twice")
    assert_released(anonymize(database, ["--policy", str(file), "--qi", "age"]))


# --- streams ---------------------------------------------------------------------------------------------------------


def test_stream_options_cannot_loosen_policy_file(people: Path, policy: Path) -> None:
    for attempt in sample_cases([a for a in ROLES if "allow_rare" not in a.parameters], 16):
        assert_refused(stream(people, ["--policy", str(policy), *as_options(attempt, people.parent)]))


def test_stream_publishes_columns_allowed_by_policy_file(people: Path, policy: Path) -> None:
    for words in sample_cases([(), ("--qi", "AGE"), ("--qi", "zip", "--qi", "born"), ("--identifier", "zip")], 4):
        assert_released(stream(people, ["--policy", str(policy), *words]))


def test_stream_with_refused_policy_keeps_target_file(people: Path) -> None:
    target = people.with_name("left.ndjson")
    target.write_text("mine", encoding="utf-8")
    policy = people.with_name("policy.csv")
    policy.write_text("table_name,column_name,role\nvisits,age,quasi\n", encoding="utf-8")
    call = [
        "stream",
        "--from",
        str(people),
        "--output",
        str(target),
        "-k",
        "5",
        "-p",
        "delta=60",
        "--policy",
        str(policy),
        "--replace",
    ]
    result = CliRunner().invoke(main, call)
    assert result.exit_code == 2 and "is about visits" in result.output
    assert target.read_text(encoding="utf-8") == "mine"


def test_anonymize_stream_refuses_looser_parameters() -> None:
    batch = duckdb.sql(rows_sql()).to_arrow_table()

    def prepare(con: Any) -> None:
        dbanon.load_hierarchy(con, "given for zip", HIERARCHY)
        dbanon.declare(con, "input", **POLICY | {"zip": {**POLICY["zip"], "hierarchy": "given for zip"}})

    def stream_problems(**parameters: Any) -> list[str]:
        call = {"k": K, "delta": 60, "allow_rare": ["ward"], **parameters}
        tables = list(anonymize_stream([batch], "fads", prepare=prepare, **call))
        rows = [tuple(row.values()) for table in tables for row in table.to_pylist()]
        return problems(tables[0].column_names, rows, is_split=True)

    assert stream_problems(qi=["age", "zip"]) == []
    with pytest.raises(errors.LoosensPolicyError):
        stream_problems(hierarchies={"zip": [[path[0], "*"] for path in HIERARCHY]})
    for attempt in sample_cases([a for a in ATTEMPTS if not {"allow_rare", "max_level"} & set(a.parameters)], 24):
        with pytest.raises((errors.DbanonError, duckdb.Error), match=REFUSAL):
            stream_problems(**attempt.parameters)
