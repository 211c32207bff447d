"""A killed run leaves the earlier files, or files that are not those of their certificate."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dbanon
from dbanon.cli import main
from dbanon.runtime import atomic_write


class ProcessKilled(BaseException):
    """A simulated kill, after which nothing is cleaned up."""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with dbanon.connect(tmp_path_factory.mktemp("clinic") / "clinic.duckdb") as con:
        con.execute("CREATE TABLE t AS SELECT 20 + i % 30 AS age, ['a', 'b'][1 + i % 2] AS d FROM range(60) AS r (i)")
        dbanon.declare(con, "t", age="quasi", d="sensitive")
        for k in (3, 5):
            dbanon.create_release(con, f"safe{k}", "mondrian", "t", k=k)
        yield con


@contextlib.contextmanager
def kill_at_rename(number: int) -> Iterator[list[str]]:
    """Stop before the file with this number is renamed; yield the names of the renamed files."""
    done: list[str] = []

    def rename_or_kill(draft: Path, final: Path) -> None:
        if len(done) == number:
            raise ProcessKilled
        draft.replace(final)
        done.append(final.name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atomic_write, "_replace", rename_or_kill)
        patch.setattr(atomic_write, "_delete", lambda paths: None)
        with contextlib.suppress(ProcessKilled):
            yield done


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*") if p.is_file())


@pytest.mark.not_everyday
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_kill_at_any_rename_leaves_consistent_files(
    clinic: Any, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / f"out.{form}"
    dbanon.publish(clinic, "safe3", target)
    old_contents_by_name = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert names(tmp_path) == sorted(
        [f"out.{form}", f"out_metrics.{form}", f"out_certificate.{form}", f"out_certificate.{form}.txt"]
    )
    monkeypatch.setattr(atomic_write, "_may_be_running", lambda *_: False)
    for number in range(4):
        with kill_at_rename(number) as done:
            dbanon.publish(clinic, "safe5", target, overwrite=True)
        assert len(done) == number and f"out.{form}" not in done, "the release is the last"
        assert len(names(tmp_path)) == 8 - number, "a kill leaves drafts"
        assert target.read_bytes() == old_contents_by_name[f"out.{form}"]
        assert bool(dbanon.verify(target)) == bool(number)
        dbanon.publish(clinic, "safe3", target, overwrite=True)
        assert {n: (tmp_path / n).read_bytes() for n in names(tmp_path)} == old_contents_by_name, (
            "the next run removes the drafts"
        )
        assert dbanon.verify(target) == []


def test_new_folder_appears_atomically(clinic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic_write, "_may_be_running", lambda *_: False)
    with kill_at_rename(0):
        dbanon.publish(clinic, "safe3", f"{tmp_path}/above/out/", classes=True)
    assert not (tmp_path / "above" / "out").exists()
    moves: list[str] = []
    monkeypatch.setattr(atomic_write, "_replace", lambda draft, final: (moves.append(final.name), draft.replace(final)))
    dbanon.publish(clinic, "safe3", f"{tmp_path}/above/out/", classes=True)
    assert moves == ["out"]
    assert names(tmp_path) == [
        "safe3.parquet", "safe3_certificate.parquet", "safe3_certificate.parquet.txt", "safe3_classes.parquet",
        "safe3_metrics.parquet",
    ]  # fmt: skip
    assert dbanon.verify(tmp_path / "above" / "out") == []


def test_database_and_certificate_appear_atomically(
    clinic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic_write, "_may_be_running", lambda *_: False)
    dbanon.publish(clinic, "safe3", tmp_path / "out.duckdb")
    old_content = (tmp_path / "out.duckdb").read_bytes()
    with kill_at_rename(0):
        dbanon.publish(clinic, "safe5", tmp_path / "out.duckdb", overwrite=True)
    assert (tmp_path / "out.duckdb").read_bytes() == old_content
    dbanon.publish(clinic, "safe5", tmp_path / "out.duckdb", overwrite=True)
    assert names(tmp_path) == ["out.duckdb"]


def test_only_stale_own_drafts_are_removed(clinic: Any, tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    old = f"{child.pid}-0123abcd.dbanon-draft"
    ours = [f".out.csv.{old}", f".out_metrics.csv.{old}", f".out.csv.{old}_metrics.part", f".out.csv.{old}.wal"]
    others = [
        f".other.csv.{old}", f".out.csv.{os.getpid()}-0123abcd.dbanon-draft", ".out.csv.backup", ".out.csv",
        f"out.csv.{old}", ".out.csv.12-xyz.dbanon-draft", ".out.csv.1234abcd", f".out.csv.{old}er",
    ]  # fmt: skip
    for name in (*ours, *others):
        (tmp_path / name).write_text(name)
    output = dbanon.publish(clinic, "safe3", tmp_path / "out.csv")
    assert names(tmp_path) == sorted([*others, *(p.name for p in output)])


def test_csv_and_parquet_of_one_name_share_no_file(clinic: Any, tmp_path: Path) -> None:
    both = [set(dbanon.publish(clinic, "safe3", tmp_path / f"out.{form}", classes=True)) for form in ("csv", "parquet")]
    assert not both[0] & both[1]
    assert dbanon.verify(tmp_path) == []


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_verify_detects_every_file_change(clinic: Any, form: str, tmp_path: Path) -> None:
    """Also for names that would be patterns."""
    target = tmp_path / f"out [1]*.{form}"
    output = dbanon.publish(clinic, "safe3", target, classes=True)
    for path in output:
        content = path.read_bytes()
        if "_certificate" not in path.name:
            path.write_bytes(content + b" ")
            assert [path.name in problem for problem in dbanon.verify(target)] == [True]
        path.unlink()
        problem = CliRunner().invoke(main, ["verify", str(tmp_path)])
        assert problem.exit_code != 0
        path.write_bytes(content)
    problem = CliRunner().invoke(main, ["verify", str(target)])
    assert (problem.exit_code, problem.output) == (0, "The files match their certificate.\n")
    text = target.with_name(f"{target.stem}_certificate.{form}.txt")
    text.write_text(text.read_text().replace("SHA-256", "").replace(f"{target.name}: ", f"{target.name}: 0"))
    assert ["belongs to other files" in problem for problem in dbanon.verify(target)] == [True]


def test_file_without_certificate_not_verified(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    for path in (tmp_path / "a.csv", tmp_path):
        with pytest.raises(dbanon.DbanonError, match="with its certificate in the same folder"):
            dbanon.verify(path)


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_killed_process_leaves_draft_removed_later(clinic: Any, tmp_path: Path) -> None:
    dbanon.publish(clinic, "safe3", tmp_path / "out.csv")
    script = (
        "import time\nfrom pathlib import Path\nfrom dbanon.runtime import atomic_write\n"
        f"with atomic_write.open_drafts({{'': Path({str(tmp_path / 'out.csv')!r})}}, []) as made:\n"
        "    made[''].write_text('half')\n    print('there', flush=True)\n    time.sleep(60)\n"
    )
    running = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert running.stdout is not None and running.stdout.readline() == b"there\n"
    dbanon.publish(clinic, "safe3", tmp_path / "out.csv", overwrite=True)
    assert len(names(tmp_path)) == 5, "a draft of a run that goes on stays"
    running.send_signal(signal.SIGKILL)
    running.wait()
    time.sleep(0.05)
    dbanon.publish(clinic, "safe3", tmp_path / "out.csv", overwrite=True)
    assert len(names(tmp_path)) == 4
    running.stdout.close()
