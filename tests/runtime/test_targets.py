"""Files are written atomically, only to their target, and never over a file that is read."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import dbanon
from dbanon import errors
from dbanon.api import demo
from dbanon.cli import main
from dbanon.runtime import output_files

RAW = "age,d\n" + "".join(f"{20 + i % 2},{'ab'[i % 2]}\n" for i in range(8))


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, list(arguments))
    return result.exit_code, result.output.strip().splitlines()[-1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def database_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a database with a release."""
    path = tmp_path_factory.mktemp("made") / "clinic.duckdb"
    path.with_name("raw.csv").write_text(RAW)
    with contextlib.chdir(path.parent), dbanon.connect(path) as con:
        con.execute("CREATE TABLE patients AS FROM 'raw.csv'")
        con.execute("CREATE VIEW several AS SELECT * FROM read_csv('r?w.csv')")
        dbanon.declare(con, "patients", age="quasi", d="sensitive")
        dbanon.load_hierarchy(con, "sex")
        dbanon.create_release(con, "safe", "kacpc", "patients", k=2)
    return path


@pytest.fixture
def clinic(database_path: Path, folder: Path) -> Any:
    """Return a copy of that database, next to a file that a view reads."""
    (folder / "raw.csv").write_text(RAW)
    shutil.copy(database_path, "clinic.duckdb")
    with dbanon.connect("clinic.duckdb") as con:
        yield con


SPELLINGS: dict[str, Callable[[Path, Path], object]] = {
    "the same name": lambda link, raw: None,
    "a symbolic link": lambda link, raw: link.symlink_to(raw),
    "a hard link": lambda link, raw: link.hardlink_to(raw),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_anonymize_never_overwrites_input_file(folder: Path, spelling: str) -> None:
    (folder / "below").mkdir()
    for ending in ("", "_metrics", "_certificate"):
        raw = folder / f"out{ending}.csv"
        if spelling != "the same name":
            link, raw = raw, folder / "raw.csv"
        raw.write_text(RAW)
        if spelling != "the same name":
            SPELLINGS[spelling](link, raw)
        for output in ("out.csv", "below/../out.csv"):
            order = ("anonymize", raw.name, "-k", "2", "--qi", "age", "--sensitive", "d", "-o", output, "--replace")
            code, message = run(*order)
            assert (code, "is a file that this call reads" in message) == (1, True)
            assert raw.read_text() == RAW
        (folder / f"out{ending}.csv").unlink()


def test_anonymize_never_overwrites_policy_or_hierarchy_file(folder: Path) -> None:
    (folder / "raw.csv").write_text(RAW)
    (folder / "tree.csv").write_text("20;*\n21;*\n")
    (folder / "out_metrics.csv").write_text("column_name,role\nage,quasi\n")
    kept_values_by_name = {path.name: path.read_text() for path in folder.iterdir()}
    for extra_values in (("--qi", "age=tree.csv", "-o", "tree.csv"), ("--policy", "out_metrics.csv", "-o", "out.csv")):
        code, message = run("anonymize", "raw.csv", "-k", "2", "--sensitive", "d", "--replace", *extra_values)
        assert (code, "is a file that this call reads" in message) == (1, True)
    with duckdb.connect("raw.duckdb") as con:
        con.execute("CREATE TABLE t AS FROM 'raw.csv'")
    code, message = run(
        "anonymize", "raw.duckdb", "--table", "t", "-k", "2", "--qi", "age", "-o", "raw.duckdb", "--replace"
    )
    assert (code, "is a file that this call reads" in message) == (1, True)
    assert kept_values_by_name == {path.name: path.read_text() for path in folder.iterdir() if path.suffix != ".duckdb"}
    with duckdb.connect("raw.duckdb") as con:
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(8,)]


@pytest.mark.not_everyday
def test_outputs_never_overwrite_input_or_database(clinic: Any, folder: Path) -> None:
    (folder / "link.duckdb").symlink_to(folder / "clinic.duckdb")
    (folder / "hard.duckdb").hardlink_to(folder / "clinic.duckdb")
    old_content = (folder / "clinic.duckdb").read_bytes()
    for text in ("clinic.duckdb", "link.duckdb", "hard.duckdb", "./clinic.duckdb", "raw.csv"):
        with pytest.raises(errors.TargetInUseError):
            dbanon.publish(clinic, "safe", text, overwrite=True)
        with pytest.raises(errors.TargetInUseError):
            dbanon.save_hierarchy(clinic, "sex", text)
    assert (folder / "clinic.duckdb").read_bytes()[:4096] == old_content[:4096]
    assert (folder / "raw.csv").read_text() == RAW
    clinic.execute("DROP VIEW several")
    clinic.close()
    code, message = run("hierarchy", "save", "clinic.duckdb", "sex", "hard.duckdb", "--replace")
    assert (code, "is a file that this call reads" in message) == (1, True)


def test_source_file_of_release_never_overwritten(clinic: Any, folder: Path) -> None:
    clinic.execute("DROP VIEW several")
    clinic.execute("INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('raw.csv', 'age', 'quasi')")
    dbanon.create_release(clinic, "of_file", "kacpc", "raw.csv", k=2)
    with pytest.raises(errors.TargetInUseError):
        dbanon.publish(clinic, "of_file", folder / "raw.csv", overwrite=True)
    assert (folder / "raw.csv").read_text() == RAW


def test_remote_target_refused_without_creating_folder(clinic: Any, folder: Path) -> None:
    old_paths = sorted(folder.rglob("*"))
    for text in ("s3://bucket/safe.csv", "s3:/bucket/safe.csv", "https://x.org/safe.duckdb", "file:///tmp/x.csv"):
        with pytest.raises(errors.TargetNotLocalError):
            dbanon.publish(clinic, "safe", text)
        with pytest.raises(errors.TargetNotLocalError):
            dbanon.save_hierarchy(clinic, "sex", text)
        for order in (("docs", "--output", text), ("anonymize", "raw.csv", "-k", "2", "--qi", "age", "-o", text)):
            code, message = run(*order)
            assert (code, "is not a path on this machine" in message) == (1, True)
    assert sorted(folder.rglob("*")) == old_paths


def test_manual_pages_replaced_only_on_request(folder: Path) -> None:
    (folder / "manual").mkdir()
    (folder / "manual" / "index.md").write_text("mine")
    code, message = run("docs", "--output", "manual")
    assert (code, "already" in message) == (1, True)
    assert [path.name for path in (folder / "manual").iterdir()] == ["index.md"]
    assert (folder / "manual" / "index.md").read_text() == "mine"
    assert run("docs", "--output", "manual", "--replace")[0] == 0
    assert (folder / "manual" / "index.md").read_text().startswith("# dbanon")


@pytest.mark.not_everyday
def test_demo_never_replaces_changed_or_other_database(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "make_patients", lambda real=demo.make_patients: real(100))
    path = folder / "dbanon_demo.duckdb"
    with demo.create_demo(path) as con:
        con.execute("CREATE TABLE mine AS SELECT 1 AS one")
    code, message = run("demo")
    assert code == 1 and "exists already. Hint: --replace creates it again" in message
    monkeypatch.setattr(demo, "declare", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        demo.create_demo(path, overwrite=True)
    monkeypatch.undo()
    assert [p.name for p in folder.iterdir()] == [path.name]
    with duckdb.connect(str(path)) as con:
        assert con.execute("FROM mine").fetchall() == [(1,)]
    monkeypatch.chdir(folder)
    (folder / "text.duckdb").write_text("notes")
    with duckdb.connect("other.duckdb") as other:
        other.execute("CREATE TABLE patients AS SELECT 1 AS one")
    for name in ("other.duckdb", "text.duckdb"):
        code, message = run("demo", "--database", name, "--replace")
        assert code == 1 and "never replaced" in message
    assert (folder / "text.duckdb").read_text() == "notes"


REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "there is no permission to write there",
    errno.ENAMETOOLONG: "the name is too long for the file system",
}


@pytest.mark.parametrize("number", REASONS)
def test_write_failure_states_reason(clinic: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    transaction_exception = duckdb.TransactionException(
        f"Failed to commit: Could not write file: {os.strerror(number)}"
    )
    assert output_files.os_reason(transaction_exception) == REASONS[number]
    old_paths = sorted(folder.rglob("*"))
    monkeypatch.setattr(Path, "write_text", fails)
    with pytest.raises(errors.WriteFailedError, match=REASONS[number]):
        dbanon.publish(clinic, "safe", "out.csv")
    monkeypatch.undo()
    assert {p.name for p in folder.rglob("*")} == {p.name for p in old_paths}


def test_full_disk_is_reported_as_write_failure(clinic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dbanon.views import materialize

    def full(*_: object, **__: object) -> None:
        raise duckdb.TransactionException('Failed to commit: Could not write file "x": No space left on device')

    monkeypatch.setattr(materialize, "create_version", full)
    with pytest.raises(errors.WriteFailedError, match="the disk is full"):
        dbanon.create_release(clinic, "again", "kacpc", "patients", k=2)


def test_too_long_name_is_reported(clinic: Any, folder: Path) -> None:
    for text in ("x" * 251 + ".csv", "x" * 300 + "/safe.csv", "x" * 300 + ".duckdb"):
        with pytest.raises(errors.WriteFailedError, match="too long"):
            dbanon.publish(clinic, "safe", text)
    assert {p.name for p in folder.iterdir()} <= {"clinic.duckdb", "clinic.duckdb.wal", "raw.csv"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_full_device_is_reported(clinic: Any) -> None:
    with pytest.raises(Exception, match="No space left") as caught:
        clinic.execute("COPY patients TO '/dev/full' (FORMAT csv)")
    assert output_files.os_reason(caught.value) == "the disk is full"


def test_write_texts_creates_folders_and_files(folder: Path) -> None:
    texts = {Path("pages") / "index.md": "# One\n", Path("pages") / "deep" / "two.md": "ü\n"}
    output_files.write_texts("docs", "pages", texts, overwrite=False)
    assert {p: p.read_bytes() for p in Path("pages").rglob("*.md")} == {p: t.encode() for p, t in texts.items()}


def test_write_texts_replaces_nothing_without_overwrite(folder: Path) -> None:
    old, new = Path("old.md"), Path("new.md")
    old.write_text("before", encoding="utf-8")
    with pytest.raises(errors.TargetExistsError, match=r"old\.md"):
        output_files.write_texts("docs", ".", {new: "a", old: "b"}, overwrite=False)
    assert old.read_text(encoding="utf-8") == "before" and not new.exists()
    output_files.write_texts("docs", ".", {new: "a", old: "b"}, overwrite=True)
    assert [p.read_text(encoding="utf-8") for p in (new, old)] == ["a", "b"]
