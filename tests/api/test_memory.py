"""memory and temp_directory: DuckDB respects them in Python, in the shell and in commands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import dbanon
from dbanon.cli import main
from dbanon.errors import InvalidArgumentError

PEOPLE = "age,disease\n" + "".join(f"{20 + i % 9},{'flu' if i % 2 else 'gout'}\n" for i in range(40))


def memory_limit(con: Any) -> str:
    return str(con.execute("SELECT current_setting('memory_limit')").fetchall()[0][0])


def test_low_memory_spills_to_directory_and_cleans_up(tmp_path: Path) -> None:
    folder = tmp_path / "spilled"
    folder.mkdir()
    with dbanon.connect(tmp_path / "clinic.duckdb", memory="100MB", temp_directory=folder) as con:
        assert memory_limit(con) == "95.3 MiB"
        con.execute("CREATE TEMP TABLE big AS SELECT hash(range) AS a, hash(range + 1) AS b FROM range(8000000)")
        assert list(folder.iterdir()), "128 MB do not fit"
        con.execute("CREATE TABLE people AS SELECT range % 9 AS age FROM range(40)")
        assert con.execute("SELECT count(*) FROM kacpc('people', k=4, qi=['age'])").fetchall() == [(40,)]
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("memory", "setting"), [("2GB", "1.8 GiB"), ("500 mb", "476.8 MiB"), ("1.5GiB", "1.5 GiB"), (" 1tb ", "931.3 GiB")]
)
def test_memory_limit_is_set_in_duckdb_units(memory: str, setting: str) -> None:
    with dbanon.connect(memory=memory) as con:
        assert memory_limit(con) == setting


@pytest.mark.parametrize("memory", ["2", "lots", "", "GB", "-2GB", "99MB", "100KB", "50%", "2 GB or so", 2_000_000_000])
def test_invalid_memory_limit_is_named(memory: Any) -> None:
    with pytest.raises(InvalidArgumentError) as error_info:
        dbanon.connect(memory=memory)
    assert str(error_info.value) == (
        "connect: memory must be an amount of at least 100MB, in MB, GB or TB (or MiB, GiB, TiB) such as '2GB' or "
        f"'500MB', got {memory!r}."
    )


def test_spill_directory_relative_to_cwd_or_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spilled").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for text in ("spilled", "~/spilled", Path("spilled")):
        with dbanon.connect(temp_directory=text) as con:
            kept_value = con.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]
            assert Path(kept_value) == tmp_path / "spilled"


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        ("nowhere", "'nowhere' (No such file or directory)"),
        ("people.csv", "'people.csv' (Not a directory)"),
        ("", "'' which is no path"),
        ("locked", "'locked' (Permission denied)"),
    ],
)
def test_invalid_spill_directory_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "locked").mkdir(mode=0o500)
    if folder == "locked" and os.access("locked", os.W_OK):
        pytest.skip("this user may write anywhere")
    with pytest.raises(InvalidArgumentError) as error_info:
        dbanon.connect(temp_directory=folder)
    accepts = "temp_directory must be a directory that exists and can be written to"
    assert str(error_info.value) == f"connect: {accepts}, got {why}."


def test_memory_settings_kept_and_duplicates_refused(tmp_path: Path) -> None:
    with dbanon.connect(memory="300MB", config={"threads": 1}) as con:
        assert con.execute("SELECT current_setting('threads')").fetchall() == [(1,)]
        assert memory_limit(con) == "286.1 MiB"
    with dbanon.connect(config={"memory_limit": "400MB"}) as con:
        assert memory_limit(con) == "381.4 MiB"
    with pytest.raises(InvalidArgumentError, match="memory must be omitted if config has memory_limit, got both"):
        dbanon.connect(memory="300MB", config={"memory_limit": "400MB"})
    with pytest.raises(InvalidArgumentError, match="omitted if config has temp_directory, got both"):
        dbanon.connect(temp_directory=tmp_path, config={"temp_directory": "."})


def run_command(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def test_commands_accept_memory_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(PEOPLE)
    Path("spilled").mkdir()
    bounds = ("--memory", "300MB", "--temp-directory", "spilled")
    query = "SELECT current_setting('memory_limit'), current_setting('temp_directory')"
    outcome = run_command("shell", "clinic.duckdb", *bounds, "--mode", "json", "-c", query)
    assert "286.1 MiB" in outcome.output
    assert str(tmp_path / "spilled") in outcome.output
    second_outcome = run_command("shell", "clinic.duckdb", "-c", "CREATE TABLE people AS FROM 'people.csv'")
    assert second_outcome.exit_code == 0, second_outcome.output
    call = ("people", "--algorithm", "kacpc", "-k", "4", "-p", "qi=age", "--quiet")
    assert run_command("create-release", "clinic.duckdb", "safe", *call, *bounds).exit_code == 0
    assert run_command("refresh", "clinic.duckdb", "safe", "--mode", "recluster", *bounds).exit_code == 0
    assert run_command("anonymize", "people.csv", "-k", "4", "--qi", "age", "-o", "safe.csv", *bounds).exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("shell", "-c", "SELECT 1", "--memory", "2"),
        ("anonymize", "people.csv", "-k", "4", "--qi", "age", "-o", "safe.csv", "--memory", "2"),
        ("refresh", "people.csv", "safe", "--memory", "2"),
    ],
)
def test_commands_state_invalid_memory_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(PEOPLE)
    result = run_command(*words)
    assert result.exit_code == 2, result.output
    assert "memory must be an amount of at least 100MB" in result.output
    assert not Path("safe.csv").exists()
