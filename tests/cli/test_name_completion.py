"""The shell completes algorithms, and tables, columns and releases of the database that a command names."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

import dbanon
from dbanon.cli import main


def completed(*words: object) -> list[str]:
    """Return what the last word, which is incomplete, is completed to."""
    *before, incomplete = map(str, words)
    completion = ShellComplete(main, {}, "dbanon", "_DBANON_COMPLETE")
    return [item.value for item in completion.get_completions(before, incomplete)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "clinic.duckdb"
    with dbanon.connect(path) as con:
        con.execute("CREATE TABLE people AS SELECT i % 40 AS age, i % 7 AS zip FROM range(80) r(i)")
        con.execute("CREATE TABLE visits AS SELECT i AS visit_number, DATE '2020-01-01' AS visited FROM range(80) r(i)")
        dbanon.create_release(con, "safe", "mondrian", "people", k=5, qi=["age", "zip"])
    return path


def test_algorithms_are_completed(path: Path) -> None:
    assert completed("anonymize", path, "--algorithm", "mo") == ["mondrian"]
    assert "best" in completed("create-release", path, "safe", "people", "--algorithm", "")
    assert completed("compare", path, "people", "--algorithms", "best,mon") == ["best,mondrian"]
    assert completed("warmup", "best", "incog") == ["incognito"]
    assert "fads" in completed("stream", "--system", "fa")


def test_tables_and_releases_are_completed(path: Path) -> None:
    assert completed("anonymize", path, "--table", "") == ["people", "visits"]
    assert completed("policy", path, "PEO") == completed("init", path, "peo") == ["people"]
    assert completed("compare", path, "vi") == completed("create-release", path, "x", "vi") == ["visits"]
    for command in ("refresh", "drop", "certificate", "report", "publish"):
        assert completed(command, path, "") == ["safe"], command


def test_columns_are_completed(path: Path, tmp_path: Path) -> None:
    assert completed("anonymize", path, "--qi", "") == ["age", "zip", "visit_number", "visited"]
    assert completed("anonymize", path, "--table", "people", "--sensitive", "") == ["age", "zip"]
    assert completed("create-release", path, "x", "visits", "--key", "visit_") == ["visit_number"]
    file = tmp_path / "people.csv"
    duckdb.sql("SELECT 1 AS age, 2 AS sex").write_csv(str(file))
    assert completed("anonymize", file, "--qi", "") == ["age", "sex"]


def test_unreadable_database_completes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "broken.duckdb"
    file.write_text("no database")
    assert completed("anonymize", file, "--table", "") == completed("refresh", file, "") == []
    assert completed("anonymize", tmp_path / "absent.duckdb", "--qi", "") == []


@pytest.mark.parametrize("shell", [BashComplete, ZshComplete, FishComplete])
def test_documented_line_of_shell_prints_script(shell: type[ShellComplete]) -> None:
    page = (Path(dbanon.__file__).parents[1] / "docs" / "shell-and-command-line.md").read_text("utf-8")
    assert f"_DBANON_COMPLETE={shell.name}_source dbanon" in page
    assert f"_DBANON_COMPLETE={shell.name}_complete" in shell.source_template % {
        "complete_func": "f", "complete_var": "_DBANON_COMPLETE", "prog_name": "dbanon",
    }  # fmt: skip
