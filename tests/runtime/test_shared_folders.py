"""Folders that another user can change, directly or through a parent folder, are detected."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any

import pytest

import dbanon
from dbanon.kernels import jit
from dbanon.runtime import shared_folders
from dbanon.runtime.shared_folders import shared_write_reason
from dbanon.views import doctor

pytestmark = [pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes"), pytest.mark.all_cases]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a folder of compiled kernels that only this user can write, as far as it is in the test's folder."""
    folder = tmp_path / "own" / "cache"
    folder.mkdir(parents=True, mode=0o755)
    for path in (tmp_path, tmp_path / "own", folder):
        path.chmod(0o755)
    (folder / "kernel.nbi").touch(mode=0o644)
    real = shared_folders._path_steps
    above = {tmp_path.resolve().parents[i] for i in range(len(tmp_path.resolve().parents))}
    monkeypatch.setattr(
        shared_folders, "_path_steps", lambda path: [step for step in real(path) if step[0] not in above]
    )
    return folder


def test_own_folder_has_no_shared_write_reason(cache: Path) -> None:
    assert shared_write_reason(cache) is None


@pytest.mark.parametrize(
    ("path", "mode", "is_found"),
    [
        ("own/cache", 0o777, True), ("own/cache", 0o1777, True), ("own/cache", 0o757, True), ("own", 0o777, True),
        ("own", 0o1777, False), ("own/cache/kernel.nbi", 0o666, True), ("own/cache", 0o700, False), (".", 0o777, True),
    ],
)  # fmt: skip
def test_folder_writable_by_others_is_found(cache: Path, tmp_path: Path, path: str, mode: int, is_found: bool) -> None:
    (tmp_path / path).chmod(mode)
    assert (shared_write_reason(cache) is not None) == is_found


def test_links_followed_to_writable_targets(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("own/../own/cache")
    assert shared_write_reason(tmp_path / "link") is None
    (tmp_path / "own").chmod(0o777)
    assert shared_write_reason(tmp_path / "link") == f"other users can write to {tmp_path / 'own'}"
    (tmp_path / "own").chmod(0o755)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "open" / "hop").symlink_to(cache)
    (tmp_path / "far").symlink_to(tmp_path / "open" / "hop")
    assert shared_write_reason(tmp_path / "far") == f"other users can write to {tmp_path / 'open'}"


def test_other_owners_are_found(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = os.geteuid()
    account = next(user for user in pwd.getpwall() if user.pw_uid not in (0, me))
    state = os.stat_result((0o100644, 0, 0, 1, account.pw_uid, account.pw_gid, 0, 0, 0, 0))
    assert shared_folders._other_owner(state) == f"user {account.pw_name}"
    monkeypatch.setattr(os, "geteuid", lambda: account.pw_uid)
    assert shared_folders._other_owner(state) is None
    nobody = os.stat_result((0o100644, 0, 0, 1, 987_654, 987_654, 0, 0, 0, 0))
    assert shared_folders._other_owner(nobody) == "user 987654"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert shared_folders._other_owner(nobody) is None, "the host of a container"


def test_group_writable_folder_found_unless_group_is_own(cache: Path) -> None:
    cache.chmod(0o775)
    own_part = shared_folders._is_own_group(cache, cache.stat())
    assert (shared_write_reason(cache) is None) == own_part
    if os.geteuid() == 0:
        others = next(user for user in pwd.getpwall() if user.pw_uid != 0)
        os.chown(cache, 0, others.pw_gid)
        assert shared_write_reason(cache) == f"other users can write to {cache}"


def test_missing_folder_or_mode_reports_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shared_write_reason(cache / "none") is None
    cache.chmod(0o777)
    monkeypatch.setattr(shared_folders.os, "name", "nt")
    assert shared_write_reason(cache) is None


def test_doctor_reports_writable_cache(con: Any, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "cache_folder", lambda: str(cache))
    assert [p for p in doctor.problems(con) if p.kind == "cache"] == []
    cache.chmod(0o777)
    [problem] = [p for p in doctor.problems(con) if p.kind == "cache"]
    assert problem.about == str(cache)
    assert problem.problem.startswith(f"other users can write to {cache}: compiled kernels are stored there")
    monkeypatch.setattr(jit, "cache_folder", lambda: None)
    assert [p for p in doctor.problems(con) if p.kind == "cache"] == []
    assert dbanon.__version__
