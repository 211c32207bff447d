"""From a file to a published file: init, anonymize and publish, each of which prints the next command."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
import stat
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result
from support.postgres import needs_scanner

import dbanon
from dbanon.cli import main
from dbanon.cli.commands import role_questions

PATH = """  dbanon init visits.csv
  dbanon anonymize visits.duckdb -k 10
  dbanon publish visits.duckdb visits_release -o visits_safe.csv
"""


def run(*arguments: object, answers: str = "") -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)), input=answers)


def successful(*arguments: object) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def next_words(result: Result) -> list[str]:
    """Return the words of the command that a command printed as the next one, without `dbanon`."""
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("Next: ")]
    words = shlex.split(line.removeprefix("Next: "))
    assert words[0] == "dbanon"
    return words[1:]


def write_rows(path: Path, n_rows: int = 400) -> Path:
    """Write people of every age with a name, a zip code, a wage class, a disease and a number that repeats."""
    rows = "\n".join(
        f"N{i // 2},Ada {i // 2},{20 + i % 50},0{2100 + i % 7},{'fm'[i % 2]},{['flu', 'cold', 'HIV'][i % 3]}"
        for i in range(n_rows)
    )
    path.write_text(f"patient_id,name,age,zip,sex,disease\n{rows}\n")
    return path


def tables(path: Path) -> list[str]:
    with duckdb.connect(str(path), read_only=True) as con:
        rows = con.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY ALL").fetchall()
    return [name for (name,) in rows]


def roles(path: Path) -> dict[str, str]:
    with duckdb.connect(str(path), read_only=True) as con:
        return dict(con.execute("SELECT column_name, role FROM dbanon.policy").fetchall())


@pytest.mark.parametrize("name", ["visits", "my visits; rm -rf", "-odd 'name'"])
def test_file_is_published_in_three_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / f"{name}.csv")
    loaded = successful("init", "--yes", "--", f"{name}.csv")
    database = tmp_path / f"{name}.duckdb"
    assert f"of {name}.duckdb: 400 records. Only you can read the file." in loaded.output
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    assert roles(database)["patient_id"] == "person"
    assert successful("doctor", database).exit_code == 0
    words = next_words(loaded)
    assert words[-2:] == ["-k", "10"]
    stored = successful(*words)
    assert [t for t in tables(database) if t.endswith("_release")] == [f"{name}_release"]
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".csv", ".duckdb"]
    assert "in 1" not in stored.stderr
    published = successful(*next_words(stored))
    assert (tmp_path / f"{name}_safe.csv").exists()
    successful(*next_words(published))


@pytest.mark.parametrize("command", [(), ("init",), ("anonymize",), ("publish",)])
def test_help_shows_the_three_commands(command: tuple[str, ...]) -> None:
    assert PATH.replace("  dbanon", "dbanon") in "\n".join(
        line.strip() for line in run(*command, "--help").output.splitlines()
    )


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_pages_show_the_three_commands(page: str) -> None:
    text = (Path(dbanon.__file__).parents[1] / page).read_text("utf-8")
    assert PATH.replace("  dbanon", "dbanon") in text


def test_init_keeps_existing_table_without_replace(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "visits.csv")
    database = tmp_path / "visits.duckdb"
    with duckdb.connect(str(database)) as con:
        con.execute("CREATE TABLE Visits AS SELECT 7 AS old")
        con.execute("CREATE TABLE others AS SELECT 7 AS old")
    database.chmod(0o640)
    result = run("init", file, "--yes")
    assert result.exit_code == 1
    assert "has a table Visits already. Hint: --replace" in result.output
    assert tables(database) == ["Visits", "others"]
    other = successful("init", file, "--yes", "--table", "new visits")
    assert next_words(other) == ["anonymize", str(database), "--table", '"new visits"', "-k", "10"]
    assert "Only you" not in other.output
    assert stat.S_IMODE(database.stat().st_mode) == 0o640
    successful("init", file, "--yes", "--replace")
    assert tables(database) == ["new visits", "others", "visits"]


def test_init_answer_no_leaves_nothing(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "visits.csv")
    assert run("init", file, answers="\n\n\n-\n-\n").exit_code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["visits.csv"]
    successful("init", file, "--yes")
    file.write_text("age\n1\n")
    assert run("init", file, "--replace", answers="skip\nn\nn\n").exit_code == 0
    write_rows(file)
    successful("init", file, "--yes", "--replace")
    file.write_text("age\n1\n2\n")
    assert run("init", file, "--replace", answers="quasi\n-\n-\nn\n").exit_code == 1
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as con:
        assert con.execute("SELECT count(*) FROM visits").fetchall() == [(400,)]
    assert roles(tmp_path / "visits.duckdb")["age"] == "quasi"


def test_unreadable_file_leaves_no_database_and_no_value(tmp_path: Path) -> None:
    file = tmp_path / "visits.parquet"
    file.write_text("secret cell")
    result = run("init", file, "--yes")
    assert result.exit_code == 1
    assert "secret" not in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["visits.parquet"]


def test_database_of_several_tables_requires_table(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with dbanon.connect(path) as con:
        for name in ("visits", "my people"):
            con.execute(f'CREATE TABLE "{name}" AS SELECT i % 40 AS age FROM range(200) AS r (i)')
    for command in (("init", path, "--yes"), ("anonymize", path, "-k", 5)):
        result = run(*command)
        assert result.exit_code == 2
        assert '2 tables. Hint: --table names one of "my people", visits.' in result.output
    assert run("init", path, "visits", "--table", "people", "--yes").exit_code == 2
    successful("init", path, "--table", '"my people"', "--yes")
    stored = successful("anonymize", path, "--table", '"my people"', "-k", 5)
    assert next_words(stored)[:3] == ["publish", str(path), '"my people_release"']
    with duckdb.connect(str(path)) as con:
        con.execute("DROP TABLE visits")
    again = run("anonymize", path, "-k", 5)
    assert "already" in again.output, "tables of the release are no source"


def test_dry_run_makes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "visits.duckdb"
    file = write_rows(tmp_path / "visits.csv")
    successful("init", file, "--yes")
    before = tables(path)
    result = successful("anonymize", path, "-k", 10, "--dry-run")
    assert "withheld    patient_id (person)" in result.output
    assert "Nothing was made." in result.output
    assert next_words(result) == ["anonymize", str(path), "-k", "10"]
    assert tables(path) == before
    document = json.loads(successful("anonymize", path, "-k", 10, "--dry-run", "--json").stdout)
    findings = {(row["topic"], row["column_name"], row["finding"]) for row in document["review"]}
    assert ("withheld", "name", "identifier") in findings
    of_file = successful("anonymize", file, "-k", 10, "--dry-run", "--qi", "age", "--sensitive", "disease")
    assert "unchanged   disease (sensitive, 3 values)" in of_file.output
    assert sorted(p.name for p in tmp_path.iterdir()) == ["visits.csv", "visits.duckdb"]
    refused = run("anonymize", path, "-k", 10, "-p", "qi=nothing", "--dry-run")
    assert refused.exit_code != 0
    assert "nothing" in refused.output


def test_anonymize_stores_next_version_and_respects_options(tmp_path: Path) -> None:
    path = tmp_path / "visits.duckdb"
    successful("init", write_rows(tmp_path / "visits.csv"), "--yes")
    document = json.loads(successful("anonymize", path, "-k", 10, "--qi", "age", "--json").stdout)
    assert (document["release"], document["version"]) == ("visits_release", 1)
    assert document["next"] == f"dbanon publish {path} visits_release -o {tmp_path / 'visits_safe.csv'}"
    again = run("anonymize", path, "-k", 10)
    assert "--replace" in again.output
    document = json.loads(successful("anonymize", path, "-k", 10, "--qi", "age", "--json", "--replace").stdout)
    assert document["version"] == 2
    file_only = run("anonymize", tmp_path / "visits.csv", "-k", 5)
    assert file_only.exit_code == 2
    assert "Missing option '-o'" in file_only.output
    undeclared = run("anonymize", tmp_path / "visits.csv", "-k", 5, "-o", "x.csv", "--replace")
    assert undeclared.exit_code == 1 and "no quasi-identifier is declared" in undeclared.output
    policy = tmp_path / "policy.csv"
    policy.write_text("table_name,column_name,role\nvisits,age,quasi\n")
    assert "follows the policy of the database" in run("anonymize", path, "-k", 5, "--policy", policy).output


@pytest.fixture
def problems_of_every_kind(tmp_path: Path) -> Path:
    """Create a file whose proposals have problems: names that repeat, a key, unique amounts, and a year next to an age.

    Columns: code (a key with a few values twice), age (few are older than 90), birth_year (reveals it), and three
    sensitive columns that together single out most records.
    """
    path = tmp_path / "people.csv"
    with duckdb.connect() as con:
        con.execute(
            f"""COPY (
                SELECT
                    'C' || (1000 + CASE WHEN i < 990 THEN i ELSE i - 10 END) AS member_code,
                    'Ann ' || i % 200 AS fullname,
                    20 + i * 7 % 79 AS age, 2004 - i * 7 % 79 AS birth_year,
                    i * 17 % 97 AS hiv_load, i * 31 % 89 AS income_class, i * 5 % 83 AS glucose
                FROM range(1000) AS r (i)
            ) TO '{path}'"""
        )
    return path


def test_policy_of_yes_has_no_problem(problems_of_every_kind: Path) -> None:
    result = successful("init", problems_of_every_kind, "--yes")
    database = problems_of_every_kind.with_suffix(".duckdb")
    with dbanon.connect(database, read_only=True) as con:
        assert con.execute("SELECT problem FROM policy_problems()").fetchall() == []
    assert successful("doctor", database).exit_code == 0
    written = roles(database)
    assert "fullname" not in written or written["fullname"] == "identifier"
    assert len({"hiv_load", "income_class", "glucose"} & set(written)) < 3
    assert "because of" in " ".join(result.output.split())


@pytest.mark.not_everyday
def test_printed_statement_makes_withheld_name_the_person(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    lines = [f"Ann Smith {i % 100},{20 + i % 9},Flu" for i in range(200)]
    path.write_text("name,age,disease\n" + "\n".join(lines))
    result = successful("init", path, "--yes")
    assert "name" not in roles(path.with_suffix(".duckdb"))
    assert "next to this message" not in " ".join(result.output.split())
    (statement,) = re.findall(r"^  (INSERT .*?'person'\));$", result.output, re.DOTALL | re.MULTILINE)
    with dbanon.connect(path.with_suffix(".duckdb")) as con:
        con.execute(statement)
        rows = con.execute("SELECT column_name, role FROM dbanon.policy ORDER BY ALL").fetchall()
        assert rows == [("age", "quasi"), ("disease", "sensitive"), ("name", "person")]


def test_problem_statements_withhold_columns(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS wide, i % 3 AS narrow, i % 5 AS age FROM range(100) AS r (i)")
    dbanon.declare(con, "t", wide="sensitive", narrow="sensitive", age="quasi")
    ((statement,),) = con.execute("SELECT statement FROM policy_problems()").fetchall()
    con.execute(statement)
    assert con.execute("SELECT column_name FROM dbanon.policy ORDER BY ALL").fetchall() == [("age",), ("narrow",)]
    con.execute("CREATE TABLE old AS SELECT 20 + i % 80 AS age, 2004 - i % 80 AS birth_year FROM range(800) AS r (i)")
    dbanon.declare(con, "old", age={"role": "quasi", "top": "90"}, birth_year="quasi")
    ((statement,),) = con.execute("SELECT statement FROM policy_problems()").fetchall()
    con.execute(statement)
    rows = con.execute("SELECT column_name FROM dbanon.policy WHERE table_name = 'old'").fetchall()
    assert rows == [("age",)], "the column that reveals is withheld, not the one with the limit"


def test_reason_of_several_columns_printed_once(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age,blip,blop\n" + "\n".join(f"{20 + i % 9},x{i % 3},y{i % 4}" for i in range(90)))
    result = successful("init", path, "--yes")
    assert result.output.count("neither its name nor its values say") == 1
    assert "blip, blop: neither" in result.output


def test_statements_name_the_database_of_the_policy(tmp_path: Path) -> None:
    needs_scanner("sqlite")
    lite, path = tmp_path / "lite.db", tmp_path / "clinic.duckdb"
    with sqlite3.connect(lite) as con:
        con.execute("CREATE TABLE people (age INTEGER, zip TEXT, blip TEXT)")
        con.executemany("INSERT INTO people VALUES (?, ?, ?)", [(i % 40, f"0{2100 + i % 30}", "x") for i in range(200)])
    duckdb.connect(str(path)).close()
    result = run("init", path, "lite.main.people", "--yes", "--attach", f"lite=sqlite:{lite}")
    assert result.exit_code == 0, result.output
    assert 'INSERT INTO "clinic"."dbanon"."hierarchy"' in result.output
    statements = re.findall(r"^  ((?:INSERT|UPDATE) .*?);$", result.output, re.DOTALL | re.MULTILINE)
    assert [statement.split()[0] for statement in statements] == ["INSERT", "INSERT", "UPDATE"]
    with dbanon.connect(path) as con:
        dbanon.load_extension(con, "sqlite")
        con.execute(f"ATTACH '{lite}' AS lite (TYPE sqlite, READ_ONLY)")
        for statement in statements:
            con.execute(statement)
        assert con.execute("SELECT count(*) FROM dbanon.policy WHERE column_name = 'blip'").fetchall() == [(1,)]


# --- questions ------------------------------------------------------------------------------------------------------


def test_question_mark_explains_roles_within_80_columns(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "visits.csv")
    result = run("init", file, answers="?\n" + "\n" * 30)
    assert result.exit_code == 0, result.output
    for role in ("identifier", "person", "quasi", "sensitive", "insensitive", "skip"):
        assert any(line.strip().startswith(role) for line in result.stdout.splitlines())
    lines = [line for line in result.stdout.splitlines() if not line.startswith(str(file))]
    assert [line for line in lines if len(line) > 80] == []


def test_sample_values_shown_only_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "visits.csv"
    rows = "\n".join(f"{20 + i % 9},{'long ' * 30}{i % 3}" for i in range(90))
    file.write_text(f"age,city\n{rows}\n")
    result = run("init", file, answers="\n" * 30)
    assert "values: " not in result.output.replace("distinct values: ", "")
    monkeypatch.setattr(role_questions, "_is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("init", file, "--replace", answers="\n" * 30)
    lines = [line for line in shown.output.splitlines() if line.startswith("  values: ")]
    assert lines[0] == "  values: 20, 21, 22, 23, 24"
    assert lines[1].endswith("…")
    assert len(lines[1]) == 80


def test_unknown_role_asked_again(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("age\n" + "\n".join(str(i % 9) for i in range(90)))
    result = run("init", file, answers="qausi\nQUASI\n\n\n\ny\n")
    assert "'qausi' is not a role." in result.output
    assert roles(tmp_path / "t.duckdb") == {"age": "quasi"}
