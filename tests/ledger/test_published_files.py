"""The ledger of published files: what was given to whom, by files, by a server, in databases of every age."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import dbanon
from dbanon import errors
from dbanon.cli import main
from dbanon.integrations.quack import copy_process, custodian_work, published_copy, tokens
from dbanon.ledger import published_files, releases
from dbanon.runtime import session
from dbanon.source import schema

ROWS = "SELECT version, content, file, sha256, recipient, purpose, legal_basis FROM published_files()"


def release_database(path: Path) -> Path:
    """Create a database with the release `safe`."""
    with dbanon.connect(path) as con:
        con.execute("CREATE TABLE people AS SELECT 20 + i % 30 AS age, i % 3 AS visits FROM range(60) AS r (i)")
        dbanon.declare(con, "people", age="quasi", visits="sensitive")
        dbanon.create_release(con, "safe", "mondrian", "people", k=5)
    return path


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release_database(tmp_path_factory.mktemp("released") / "clinic.duckdb")


@pytest.fixture
def database(released: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(released, tmp_path))


def test_publish_records_every_file_with_its_hash(database: Path, tmp_path: Path) -> None:
    texts = {"recipient": "Uni Rome", "purpose": "a study of visits", "legal_basis": "contract 7"}
    paths = dbanon.publish(database, "safe", tmp_path / "out" / "safe.csv", classes=True, **texts)  # type: ignore[arg-type]
    with dbanon.connect(database) as con:
        rows = con.execute(ROWS).fetchall()
        assert {row[2] for row in rows} == set(map(str, paths)) and len(rows) == 5
        contents = sorted(row[1] for row in rows)
        assert contents == ["certificate", "certificate", "classes", "metrics", "release"]
        for version, _, file, digest, *stated in rows:
            assert version == 1 and stated == list(texts.values())
            assert hashlib.sha256(Path(file).read_bytes()).hexdigest() == digest
        dbanon.publish(con, "safe", tmp_path / "safe.duckdb")
        assert con.execute(f"{ROWS} WHERE recipient IS NULL").fetchall()[0][2] == str(tmp_path / "safe.duckdb")


def test_publish_command_records_recipient_and_doctor_lists_it(database: Path, tmp_path: Path) -> None:
    command = ["publish", str(database), "safe", "-o", str(tmp_path / "safe.parquet"), "--recipient", "Uni Rome"]
    done = CliRunner().invoke(main, [*command, "--purpose", "a study"])
    assert done.exit_code == 0, done.output
    repeated = CliRunner().invoke(main, [*command, "--purpose", "a study", "--replace"])
    assert repeated.exit_code == 0, repeated.output
    shown = CliRunner().invoke(main, ["doctor", str(database)])
    assert shown.exit_code == 0 and "Published files" in shown.output
    assert shown.output.count("safe.parquet") == 1
    assert "safe.parquet" in shown.output and "Uni Rome" in shown.output and "_metrics" not in shown.output
    assert '"purpose": "a study"' in CliRunner().invoke(main, ["doctor", str(database), "--json"]).output


def test_failed_publish_leaves_no_rows(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="recipient must be a text that is not empty"):
        dbanon.publish(database, "safe", tmp_path / "a.csv", recipient=" ")
    monkeypatch.setattr("dbanon.runtime.atomic_write._replace", lambda *_: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises(OSError, match="disk"):
        dbanon.publish(database, "safe", tmp_path / "a.csv")
    with dbanon.connect(database) as con:
        assert con.execute(ROWS).fetchall() == [] and not list(tmp_path.glob("a*"))


def test_read_only_ledger_refuses_recipient_and_warns_otherwise(database: Path, tmp_path: Path) -> None:
    with dbanon.connect(database, read_only=True) as con:
        with pytest.raises(errors.WriteFailedError, match="read-only, so recipient, purpose and legal basis"):
            dbanon.publish(con, "safe", tmp_path / "a.csv", recipient="Uni Rome")
        assert not list(tmp_path.glob("a*"))
        with pytest.warns(dbanon.UnrecordedFileWarning, match="clinic is read-only: its ledger does not list"):
            dbanon.publish(con, "safe", tmp_path / "a.csv")
        assert con.execute(ROWS).fetchall() == []


def test_older_database_opens_and_records(database: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(database)) as old:
        old.execute("DROP TABLE dbanon.published_file; UPDATE dbanon.schema_version SET version = 5")
    with dbanon.connect(database, read_only=True) as con:
        assert con.execute(ROWS).fetchall() == []
        assert con.execute("FROM releases()").fetchall()
    dbanon.publish(database, "safe", tmp_path / "safe.duckdb", recipient="Uni Rome")
    with dbanon.connect(database) as con:
        assert con.execute("SELECT version FROM dbanon.schema_version").fetchall() == [(schema.current_version(),)]
        assert [row[4] for row in con.execute(ROWS).fetchall()] == ["Uni Rome"]


def test_rows_stay_when_release_is_replaced_or_dropped(database: Path, tmp_path: Path) -> None:
    dbanon.publish(database, "safe", tmp_path / "safe.duckdb", recipient="Uni Rome")
    with dbanon.connect(database) as con:
        dbanon.drop_release(con, "safe")
        assert [row[:2] for row in con.execute(ROWS).fetchall()] == [(1, "release")]


@pytest.fixture
def served(database: Path) -> Iterator[Path]:
    folder = published_copy.copy_folder(database)
    published_copy.prepare_folder(folder)
    for name, role in (("alice", "reader"), ("bob", "reader"), ("carol", "custodian")):
        tokens.add_token(tokens.token_file(database), name, role)
    yield folder


def test_served_readers_are_recorded_once(database: Path, served: Path) -> None:
    with dbanon.connect(database) as con:
        for _ in range(2):
            assert custodian_work.record_readers(con, database, [])
        rows: list[Any] = con.execute("SELECT channel, content, file, recipient FROM published_files()").fetchall()
        assert rows == [("server", "release", str(served), name) for name in ("alice", "bob")]
        stored = con.execute("SELECT DISTINCT f.sha256 = hashes[''] FROM published_files() AS f, releases()").fetchall()
        assert stored == [(True,)]


def test_server_of_readers_does_not_write(database: Path, served: Path) -> None:
    content = database.read_bytes()
    assert copy_process.run_copy_process(database, served) == {"left_out": [], "made": []}
    assert database.read_bytes() == content
    with dbanon.connect(database, read_only=True) as con:
        assert not custodian_work.record_readers(con, database, [])


def test_files_of_version_are_in_order_of_time(database: Path, tmp_path: Path) -> None:
    for name in ("b", "a"):
        dbanon.publish(database, "safe", tmp_path / f"{name}.duckdb", recipient=name)
    with dbanon.connect(database) as con, session.find_session(con.raw).cursor() as cursor:
        (entry,) = releases.entries(cursor, "clinic")
        listed = published_files.files_of_version(cursor, entry)
        assert [file.handover.recipient for file in listed] == ["b", "a"]
