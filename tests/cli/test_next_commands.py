"""What a command prints as the next one, and what it says to do where it refuses."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

import dbanon
from dbanon.cli import main


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def next_words(result: Result) -> list[str]:
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("Next: ")]
    words = shlex.split(line.removeprefix("Next: "))
    assert words[0] == "dbanon"
    return words[1:]


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """Return a database of 400 visits of 200 people, with a policy."""
    rows = "\n".join(
        f"N{i // 2},{20 + i % 50},0{2100 + i % 7},{'fm'[i % 2]},{['flu', 'cold', 'HIV'][i % 3]}" for i in range(400)
    )
    (tmp_path / "visits.csv").write_text(f"patient_id,age,zip,sex,disease\n{rows}\n")
    assert run("init", tmp_path / "visits.csv", "--yes").exit_code == 0
    return tmp_path / "visits.duckdb"


def ledger(path: Path) -> list[tuple[int, str]]:
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute("SELECT version, status FROM dbanon.release ORDER BY ALL").fetchall()


def test_refused_k_says_to_drop_and_forget(visits: Path) -> None:
    order = ("anonymize", visits, "--algorithm", "mondrian")
    assert run(*order, "-k", 10).exit_code == 0
    refused = run(*order, "-k", 20, "--replace")
    assert refused.exit_code == 3 and ledger(visits) == [(1, "published")]
    command = f"dbanon drop {visits} visits_release --forget"
    assert command in refused.stderr and "--allow-small-differences" in refused.stderr
    dropped = run(*shlex.split(command)[1:], "--json")
    assert json.loads(dropped.stdout) == {"dropped": "visits_release", "forgotten": 1}
    assert ledger(visits) == []
    assert run(*order, "-k", 20).exit_code == 0


def test_replace_and_drop_keep_ledger(visits: Path) -> None:
    order = ("anonymize", visits, "--algorithm", "mondrian", "--quiet")
    assert run(*order, "-k", 10).exit_code == 0
    allowed = run(*order, "-k", 20, "--replace", "--allow-small-differences")
    assert allowed.exit_code == 0 and ledger(visits) == [(1, "replaced"), (2, "published")]
    assert run("drop", visits, "visits_release").exit_code == 0
    compared = run(*order, "-k", 40)
    assert "with visits_release version 1" in compared.stderr
    assert [version for version, _ in ledger(visits)] == [1, 2, 3]


def test_dry_run_refuses_k_above_persons(visits: Path) -> None:
    refused = run("anonymize", visits, "-k", 201, "--dry-run")
    assert refused.exit_code == 3 and "k must be between 2 and 200 (visits has 200 persons)" in refused.stderr
    shown = run("anonymize", visits, "-k", 20, "--dry-run", "--algorithm", "mondrian")
    assert shown.exit_code == 0 and next_words(shown)[-2:] == ["--algorithm", "mondrian"]
    assert run(*next_words(shown)).exit_code == 0
    assert next_words(run("anonymize", visits, "-k", 20, "--dry-run"))[-1] == "--replace"


def test_refresh_policy_and_doctor_print_next_command(visits: Path) -> None:
    shown = run("policy", visits)
    assert next_words(shown) == ["anonymize", str(visits), "--table", "visits", "-k", "10"]
    assert next_words(run("doctor", visits)) == next_words(shown)
    assert run(*next_words(shown), "--algorithm", "mondrian").exit_code == 0
    publish = ["publish", str(visits), "visits_release", "-o", str(visits.with_name("visits_release_safe.csv"))]
    assert next_words(run("doctor", visits)) == publish
    refresh = next_words(run("policy", visits))
    assert refresh == ["refresh", str(visits), "visits_release", "--if-stale"]
    assert "Next: " not in run(*refresh).stderr
    columns = "'M' || i, 20 + i % 50, '02100', 'f', ['flu', 'HIV'][1 + i % 2]"
    with duckdb.connect(str(visits)) as con:
        con.execute(f"INSERT INTO visits SELECT {columns} FROM range(90) r(i)")
    stale = run("doctor", visits)
    assert stale.exit_code == 1 and next_words(stale) == ["refresh", str(visits), "visits_release"]
    refreshed = run(*next_words(stale))
    assert refreshed.exit_code == 0 and next_words(refreshed) == publish
    assert run(*publish).exit_code == 0
    assert next_words(run("doctor", visits)) == [*publish, "--replace"]


def test_policy_with_problem_leads_to_shell(visits: Path) -> None:
    with duckdb.connect(str(visits)) as con:
        con.execute("INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('visits', 'absent', 'quasi')")
    shown = run("policy", visits)
    assert shown.exit_code == 1 and next_words(shown) == ["shell", str(visits)]
    assert next_words(run("doctor", visits)) == ["policy", str(visits)]


def test_database_without_policy_leads_to_init(tmp_path: Path) -> None:
    path = tmp_path / "empty.duckdb"
    duckdb.connect(str(path)).close()
    assert next_words(run("doctor", path)) == ["init", str(path)]


def test_init_without_quasi_identifier_says_what_to_do(tmp_path: Path) -> None:
    file, path = tmp_path / "notes.csv", tmp_path / "notes.duckdb"
    file.write_text("patient_id,name\n" + "".join(f"N{i},Ada {i}\n" for i in range(60)))
    result = run("init", file, "--yes")
    assert result.exit_code == 0 and "Give the role quasi to the columns" in result.stderr
    assert next_words(result) == ["init", str(path), "--replace"]
    answered = CliRunner().invoke(main, next_words(result), input="quasi\n-\n" + "\n" * 9)
    assert answered.exit_code == 0, answered.output
    assert next_words(answered) == ["anonymize", str(path), "-k", "10"]
    assert json.loads(run("init", path, "--yes", "--replace", "--json").stdout)["next"].startswith("dbanon init ")


@pytest.mark.parametrize("name", ["patient_id", "visit_id"])
def test_init_and_profile_agree_about_keys(tmp_path: Path, name: str) -> None:
    path = tmp_path / "clinic.duckdb"
    with dbanon.connect(path) as con:
        values = "CASE WHEN i < 3 THEN i + 3 ELSE i END + 10000"
        con.execute(f"CREATE TABLE t AS SELECT {values} AS {name}, 20 + i % 50 AS age FROM range(400) r(i)")
        query = "SELECT proposed_role FROM profile('t') WHERE column_name = ?"
        assert con.execute(query, [name]).fetchall() == [("person",)]
    written = json.loads(run("init", path, "t", "--yes", "--json").stdout)["written"]
    assert {"column_name": name, "role": "person", "hierarchy": None} in written
