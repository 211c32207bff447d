"""Verification of published .duckdb files: complete, changed, of earlier versions, and in folders."""

from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import dbanon
from dbanon import errors
from dbanon.cli import main

TABLES = "CREATE TABLE people AS SELECT 20 + i % 30 AS age, ('c' || i % 3)::ENUM('c0', 'c1', 'c2', 'c9') AS ward, "


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a published .duckdb file, with types that databases write differently."""
    path = tmp_path_factory.mktemp("verify")
    with dbanon.connect(path / "clinic.duckdb") as con:
        con.execute(f"{TABLES} DATE '2020-01-01' + i::INT % 3 AS day, [i % 2] AS list FROM range(60) AS r (i)")
        dbanon.declare(con, "people", age="quasi", ward="sensitive", day="sensitive", list="sensitive")
        dbanon.create_release(con, "safe", "mondrian", "people", k=5)
        (path / "out").mkdir()
        dbanon.publish(con, "safe", path / "out" / "safe.duckdb", classes=True)
    return path / "out" / "safe.duckdb"


def changed_copy(published: Path, tmp_path: Path, statement: str) -> Path:
    """Return a copy of the published file in which the statement was executed."""
    path = tmp_path / "safe.duckdb"
    path.write_bytes(published.read_bytes())
    with duckdb.connect(str(path)) as con:
        con.execute(statement)
    return path


def test_verify_accepts_published_database_and_folder(published: Path) -> None:
    assert dbanon.verify(published) == [] and dbanon.verify(published.parent) == []
    done = CliRunner().invoke(main, ["verify", str(published)])
    assert (done.exit_code, done.output) == (0, "The files match their certificate.\n")


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE safe SET ward = 'c0'", "table safe has other columns or rows"),
        ("ALTER TABLE safe_metrics ADD COLUMN x INTEGER", "table safe_metrics has other columns or rows"),
        ("DROP TABLE safe_classes", "table safe_classes is missing"),
        ("CREATE TABLE extra AS SELECT 1 AS a", "no certificate names table extra"),
        ("DELETE FROM safe_certificate WHERE section = 'SHA-256'", "safe_certificate has no hashes"),
    ],
)
def test_verify_reports_changed_database(published: Path, tmp_path: Path, statement: str, problem: str) -> None:
    path = changed_copy(published, tmp_path, statement)
    (message,) = dbanon.verify(path)
    assert message.startswith(f"safe.duckdb: {problem}")
    assert CliRunner().invoke(main, ["verify", str(path)]).exit_code == 1


def test_verify_reports_unreadable_database(published: Path, tmp_path: Path) -> None:
    path = tmp_path / "safe.duckdb"
    path.write_bytes(published.read_bytes()[:5000])
    assert dbanon.verify(path)[0].startswith("safe.duckdb: it cannot be read")


def test_verify_refuses_database_that_was_not_published(published: Path, tmp_path: Path) -> None:
    for path in (published.parents[1] / "clinic.duckdb", tmp_path):
        with pytest.raises(
            errors.InvalidArgumentError, match=r"verify: path must be a \.duckdb file that publish wrote"
        ):
            dbanon.verify(path)


def test_verify_does_not_read_other_files(published: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\nsecret\n", encoding="utf-8")
    statement = f"DROP TABLE safe; CREATE VIEW safe AS FROM read_csv('{tmp_path / 'secret.csv'}')"
    (message,) = dbanon.verify(changed_copy(published, tmp_path, statement))
    assert "secret\n" not in message and "cannot be read" in message
