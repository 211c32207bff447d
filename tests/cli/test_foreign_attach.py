"""--attach: commands read another database in addition to the opened one, and print no password."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.postgres import needs_scanner

import dbanon
from dbanon import errors
from dbanon.cli import main


def run(*arguments: object, **given: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)), **given)  # type: ignore[arg-type]


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.duckdb"
    dbanon.connect(path).close()
    return path


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    """Create a SQLite database with patients."""
    needs_scanner("sqlite")
    path = tmp_path / "the ward's.sqlite"
    with sqlite3.connect(path) as con:
        con.execute("CREATE TABLE patients (id INTEGER PRIMARY KEY, name TEXT, age INTEGER, sex TEXT)")
        con.executemany(
            "INSERT INTO patients VALUES (?, ?, ?, ?)",
            [(i, f"somebody {i}", 20 + i % 40, "fm"[i % 2]) for i in range(120)],
        )
    con.close()
    return path


def test_commands_read_attached_database(clinic: Path, ward: Path) -> None:
    attach = ("--attach", f"lite=sqlite:{ward}")
    result = run("init", clinic, "lite.patients", "--yes", "--json", *attach)
    assert result.exit_code == 0, result.output
    policy = "SELECT column_name, role FROM dbanon.policy WHERE table_name = 'lite.main.patients' ORDER BY ALL"
    output = run("shell", clinic, "-c", policy, "--mode", "json").output
    roles = {row["column_name"]: row["role"] for row in json.loads(output)}
    assert roles["name"] == "identifier" and roles["sex"] == "quasi", roles
    assert run("policy", clinic, "lite.patients", *attach).exit_code == 0
    query = "SELECT count(*) AS n FROM kacpc('lite.patients', k=10, qi=['age'])"
    assert run("shell", clinic, *attach, "-c", query).output == "n\n120\n"
    result = run(
        "create-release",
        clinic,
        "safe",
        "lite.patients",
        "--algorithm",
        "kacpc",
        "-k",
        10,
        "-p",
        "qi=age",
        "--json",
        *attach,
    )
    assert result.exit_code == 0, result.output
    assert run("refresh", clinic, "safe", "--json", *attach).exit_code == 0
    assert run("doctor", clinic, *attach).exit_code in (0, 1)
    assert "is not attached" in run("refresh", clinic, "safe").output
    with dbanon.connect(clinic) as con, pytest.raises(errors.DatabaseNotAttachedError, match="lite"):
        dbanon.refresh_release(con, "safe")


def test_attached_database_read_only_by_default(clinic: Path, ward: Path) -> None:
    write = "CREATE TABLE lite.more AS SELECT 1 AS a"
    refusal = run("shell", clinic, "--attach", f"lite=sqlite:{ward}", "-c", write)
    assert refusal.exit_code == 1 and "read-only" in refusal.output
    assert run("shell", clinic, "--attach-rw", f"lite=sqlite:{ward}", "-c", write).exit_code == 0
    assert run("shell", clinic, "--attach", f"lite=SQLite:{ward}", "-c", "FROM lite.more").output == "a\n1\n"


def test_attach_accepts_hostile_database_name(clinic: Path, ward: Path) -> None:
    hostile = 'x"; DROP TABLE t; --'
    message = run("shell", clinic, "--attach", f"{hostile}=sqlite:{ward}", "-c", "SELECT database_name FROM "
               "duckdb_databases() WHERE type = 'sqlite'", "--mode", "json")  # fmt: skip
    assert json.loads(message.output) == [{"database_name": hostile}]


@pytest.mark.all_cases
@pytest.mark.parametrize(
    "attachment",
    [
        "pg=postgres:host=db.example password=swordfish",
        "pg=postgres:postgresql://reader:swordfish@db.example/clinic",
        "my=mysql:host=db.example passwd = swordfish",
        "lite=sqlite3:swordfish",
        "swordfish",
        "=postgres:swordfish",
    ],
)
def test_invalid_attach_is_usage_error_without_password(clinic: Path, attachment: str) -> None:
    for command in (
        ["shell", clinic, "-c", "SELECT 1"],
        ["doctor", clinic],
        ["create-release", clinic, "s", "p", "--algorithm", "kacpc"],
    ):
        for option in ("--attach", "--attach-rw"):
            message = run(*command, option, attachment)
            assert message.exit_code == 2 and "swordfish" not in message.output, message.output
            assert "NAME=SYSTEM:WHERE" in message.output or "MYSQL_PWD" in message.output


@pytest.mark.all_cases
@pytest.mark.parametrize("command", ["shell", "doctor"])
def test_attach_of_missing_database_is_one_error(clinic: Path, tmp_path: Path, command: str) -> None:
    needs_scanner("sqlite")
    message = run(command, clinic, "--attach", f"lite=sqlite:{tmp_path / 'none' / 'there.sqlite'}", input="")
    assert message.exit_code == 1 and "lite could not be attached as a database of sqlite" in message.output
    assert str(errors.NotAttachedError("a", "sqlite", "no.")).startswith(
        "a could not be attached as a database of sqlite: no."
    )
    with dbanon.connect(clinic) as con:  # it is closed again
        assert con.execute("SELECT 1").fetchall() == [(1,)]


def test_attach_error_contains_no_environment_password(
    clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for system, variable in (("postgres", "PGPASSWORD"), ("mysql", "MYSQL_PWD")):
        needs_scanner(system)
        monkeypatch.setenv(variable, "swordfish")
        text = f"host={tmp_path}" if system == "postgres" else f"socket={tmp_path / 'none'} user=reader"
        message = run("doctor", clinic, "--attach", f"other={system}:{text}", "--json")
        assert message.exit_code == 1 and "swordfish" not in message.output
        assert "other could not be attached" in json.loads(message.stdout)["error"]["message"]
