"""The list of slow tests contains existing tests only, and is made from pytest's durations."""

from __future__ import annotations

import ast
from pathlib import Path

from support import slow

ROOT = Path(__file__).resolve().parents[1]


def test_listed_tests_exist() -> None:
    files = {name.split("::")[0] for name in slow.listed_tests()}
    present_texts = {
        f"{file}::{node.name}"
        for file in files
        if (ROOT / file).exists()
        for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert slow.listed_tests() - present_texts == set(), "renamed or gone: tests/slow.txt has to follow"
    assert 100 < len(slow.listed_tests()) < 1_250
    assert not [name for name in slow.listed_tests() if name.startswith(slow.DAILY)]


def test_slowness_is_slowest_case_without_fixtures() -> None:
    values = [
        "12.00s setup    tests/a/test_b.py::test_fixture",
        "0.01s call     tests/a/test_b.py::test_fixture",
        "0.29s call     tests/a/test_b.py::test_quick[1]",
        "0.10s call     tests/a/test_b.py::test_cases[1]",
        "0.51s call     tests/a/test_b.py::test_cases[a b]",
        "9.00s call     tests/gate/test_gate.py::test_daily",
        "0.90s call     tests/gate/test_noise.py::test_absent",
        "= 3 passed in 30.00s =",
    ]
    assert slow.slow_tests(values) == ["tests/a/test_b.py::test_cases"]
