"""What a command prints as the next one, and what it says to do where it refuses."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

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
