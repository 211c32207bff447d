"""The arguments of PUBLISH MATERIALIZED ANONYMIZED VIEW: unusual paths, and options as people write them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dbanon
from dbanon import errors

PUBLISH = "PUBLISH MATERIALIZED ANONYMIZED VIEW"


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Provide a database with the release `safe`; the current folder and the home folder are temporary."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    with dbanon.connect("clinic.duckdb") as con:
        con.execute("CREATE TABLE people AS SELECT 20 + i % 30 AS age, i % 3 AS ward FROM range(60) AS r (i)")
        dbanon.declare(con, "people", age="quasi", ward="sensitive")
        dbanon.create_release(con, "safe", "mondrian", "people", k=5)
        yield con


@pytest.mark.parametrize("value", ["Rome", "NULL", "5"])
@pytest.mark.parametrize("option", ["recipient", "purpose", "legal_basis"])
def test_texts_of_ledger_need_quotes(clinic: Any, option: str, value: str) -> None:
    with pytest.raises(errors.UnreadableStatementError, match=f"expected a text in single quotes, got {value}"):
        clinic.execute(f"{PUBLISH} safe TO 'safe.csv' WITH ({option} = {value})")
    assert not list(Path().glob("safe*"))
    assert clinic.execute("FROM published_files()").fetchall() == []


def test_option_names_may_be_quoted(clinic: Any) -> None:
    clinic.execute(f"""{PUBLISH} safe TO 'safe.csv' WITH ("Recipient" = 'Rome', "replace" = true)""")
    assert clinic.execute("SELECT DISTINCT recipient FROM published_files()").fetchall() == [("Rome",)]
    with pytest.raises(errors.RepeatedArgumentError):
        clinic.execute(f"""{PUBLISH} safe TO 'more.csv' WITH ("recipient" = 'a', RECIPIENT = 'b')""")


@pytest.mark.parametrize("path", ["", "a\0b.csv"])
def test_paths_of_no_file_are_refused(clinic: Any, path: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="the path must be the path of a file or folder, got '"):
        clinic.execute(f"{PUBLISH} safe TO '{path}'")
    with pytest.raises(errors.InvalidArgumentError):
        dbanon.publish(clinic, "safe", path)
    assert not list(Path().glob("*.parquet"))


def test_tilde_is_home_folder(clinic: Any) -> None:
    files = clinic.execute(f"{PUBLISH} safe TO '~/safe.csv'").fetchall()
    assert (str(Path("home/safe.csv").absolute()),) in files
    assert not Path("~").exists()


def test_hint_names_option_of_statement(clinic: Any) -> None:
    clinic.execute(f"{PUBLISH} safe TO 'safe.csv'")
    with pytest.raises(errors.TargetExistsError, match=r"Hint: WITH \(replace = true\) replaces it"):
        clinic.execute(f"{PUBLISH} safe TO 'safe.csv'")
    with pytest.raises(errors.TargetExistsError, match="Hint: overwrite = True replaces it"):
        dbanon.publish(clinic, "safe", "safe.csv")


@pytest.mark.parametrize("target", ["clinic.duckdb", "link.duckdb", "home/../clinic.duckdb"])
def test_database_is_never_replaced(clinic: Any, target: str) -> None:
    Path("link.duckdb").symlink_to("clinic.duckdb")
    with pytest.raises(errors.TargetInUseError):
        clinic.execute(f"{PUBLISH} safe TO '{target}' WITH (replace = true)")
    assert clinic.execute("SELECT count(*) FROM people").fetchall() == [(60,)]
