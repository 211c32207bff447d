"""Releases are reproducible: the recorded hashes of the small tables are unchanged, and changes are reported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unchanged.__main__ import GROUPS, compare

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("group", GROUPS)
def test_answers_equal_recorded_hashes(group: str) -> None:
    """In a process of its own, like the command; record the hashes again after an intended change."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "tests.unchanged", "--group", group]
    ran = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_differing_answers_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare({"a": "1", "b": "2"}, {"a": "1", "b": "2"}) == 0
    assert compare({"a": "1", "b": "3", "d": "5"}, {"a": "1", "b": "2", "c": "4"}) == 1
    out = capsys.readouterr().out
    assert all(line in out for line in ("CHANGED: b", "gone: c", "new: d", "3 of them not as recorded"))
    assert ": a\n" not in out
