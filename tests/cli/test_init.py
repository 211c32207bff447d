"""dbanon init: what is accepted is written, as a whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import dbanon
from dbanon.cli import main

PROPOSED = [
    ("patient_nbr", "person", None),
    ("name", "identifier", None),
    ("age", "quasi", None),
    ("sex", "quasi", "sex"),
    ("disease", "sensitive", None),
    ("ward", "other", None),
]


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A database with a table of a column of every role, and no policy."""
    path = tmp_path / "clinic.duckdb"
    with dbanon.connect(path) as con:
        con.execute(
            "CREATE TABLE patients AS SELECT i // 2 AS patient_nbr, 'n' || i AS name, i % 40 + 20 AS age, "
            "['F', 'M'][i % 2 + 1] AS sex, ['flu', 'cold'][i % 2 + 1] AS disease, ['A', 'B'][i % 2 + 1] AS ward "
            "FROM range(200) AS r (i)"
        )
    return path


def run(*arguments: object, answers: str = "") -> Result:
    return CliRunner().invoke(main, ["init", *map(str, arguments)], input=answers)


def written(path: Path) -> list[tuple[Any, ...]]:
    """The policy, in the order of the table's columns."""
    with dbanon.connect(path) as con:
        rows = con.execute("SELECT column_name, role, hierarchy FROM dbanon.policy").fetchall()
    order = [name for name, _, _ in PROPOSED]
    return sorted(rows, key=lambda row: order.index(row[0]))


@pytest.mark.exhaustive
def test_yes_takes_every_proposal_and_the_policy_releases(clinic: Path) -> None:
    result = run(clinic, "patients", "--yes")
    assert result.exit_code == 0, result.output
    assert "sex          quasi       hierarchy sex" in result.output
    assert written(clinic) == PROPOSED
    with dbanon.connect(clinic) as con:
        assert con.execute("SELECT min(size) >= 5 FROM kacpc_classes('patients', k=5)").fetchall() == [(True,)]


def test_enter_accepts_and_answers_change(clinic: Path) -> None:
    # person, name: skip, age: enter, sex: no hierarchy, disease: an unknown role, then other; ward: a second person
    answers = ["", "skip", "", "", "-", "what", "other", "person", "quasi", "", "y"]
    result = run(clinic, "patients", answers="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    assert "patient_nbr is the person already" in result.output
    assert "withheld, without a role: 1 column" in result.output
    assert written(clinic) == [
        ("patient_nbr", "person", None),
        ("age", "quasi", None),
        ("sex", "quasi", None),
        ("disease", "other", None),
        ("ward", "quasi", None),
    ]


@pytest.mark.exhaustive
def test_hierarchies_that_do_not_exist_are_asked_for_again(clinic: Path) -> None:
    result = run(clinic, "patients", answers="\n\n\n\nadult_sexx\nadult_sex\n\n\ny\n")
    assert result.exit_code == 0, result.output
    assert "there is no hierarchy 'adult_sexx'. Did you mean 'adult_sex'?" in result.output
    assert ("sex", "quasi", "adult_sex") in written(clinic)


@pytest.mark.exhaustive
@pytest.mark.parametrize("answers", ["", "\n\n", "\n\n\n\n\n\n\nn\n"])
def test_nothing_is_written_before_the_last_yes(clinic: Path, answers: str) -> None:
    assert run(clinic, "patients", answers=answers).exit_code == 1
    assert written(clinic) == []


@pytest.mark.exhaustive
def test_skipping_everything_writes_nothing(clinic: Path) -> None:
    result = run(clinic, "patients", answers="skip\n" * 6)
    assert (result.exit_code, written(clinic)) == (0, [])
    assert "Nothing to write" in result.output


@pytest.mark.exhaustive
def test_a_policy_that_is_there_is_replaced_with_force_only(clinic: Path) -> None:
    with dbanon.connect(clinic) as con:
        dbanon.declare(con, "patients", name="other", disease="quasi")
        con.execute("CREATE TABLE ward AS SELECT 1 AS age")
        dbanon.declare(con, "ward", age="quasi")
    result = run(clinic, "patients", "--yes")
    assert result.exit_code == 1
    assert "has a policy already (2 columns). Hint: --force" in result.output
    assert run(clinic, "patients", "--yes", "--force").exit_code == 0
    with dbanon.connect(clinic) as con:
        rows = con.execute("SELECT table_name, count(*) FROM dbanon.policy GROUP BY ALL ORDER BY ALL").fetchall()
        assert rows == [("patients", 6), ("ward", 1)]
        assert con.execute("SELECT role FROM dbanon.policy WHERE column_name = 'name'").fetchall() == [("identifier",)]


def test_a_database_that_cannot_be_written_is_a_clear_error(clinic: Path) -> None:
    with dbanon.connect(clinic, read_only=True):
        result = run(clinic, "patients", "--yes")
    assert result.exit_code == 1
    assert "cannot be opened for writing" in result.output
    assert written(clinic) == []


@pytest.mark.parametrize(
    ("table", "says"), [("patient", "Did you mean 'patients'?"), ("(SELECT 1)", "is not the name")]
)
def test_tables_that_do_not_exist(clinic: Path, table: str, says: str) -> None:
    result = run(clinic, table, "--yes")
    assert result.exit_code == 1
    assert says in result.output
    assert "Traceback" not in result.output


def test_a_database_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    assert run(tmp_path / "no.duckdb", "patients").exit_code == 2
    assert not (tmp_path / "no.duckdb").exists()
    (tmp_path / "text.duckdb").write_text("no database")
    result = run(tmp_path / "text.duckdb", "patients")
    assert "cannot be opened for writing" in result.output


@pytest.mark.exhaustive
def test_hostile_names(tmp_path: Path) -> None:
    path = tmp_path / "odd.duckdb"
    with dbanon.connect(path) as con:
        con.execute(
            """CREATE TABLE "x'); DROP TABLE t; --" AS """
            """SELECT i % 3 AS "🦆 zip '; --", i % 9 AS age FROM range(90) AS r (i)"""
        )
    result = run(path, '"x\'); DROP TABLE t; --"', "--yes")
    assert result.exit_code == 0, result.output
    with dbanon.connect(path) as con:
        rows = con.execute("SELECT table_name, column_name FROM dbanon.policy ORDER BY ALL").fetchall()
    assert rows == [("x'); DROP TABLE t; --", "age"), ("x'); DROP TABLE t; --", "🦆 zip '; --")]
