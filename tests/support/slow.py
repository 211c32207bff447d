"""The tests that take 0.3 seconds or more, which run in turn, not every day.

    python -m pytest --exhaustive --durations=0 -vv > durations.txt   # or the everyday ones: --slow-part 1/1
    python -m tests.support.slow durations.txt

rewrites the list, tests/slow.txt. It has one line per test, without its cases.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

LIST = Path(__file__).resolve().parents[1] / "slow.txt"

SECONDS = 0.3
"""A test with a case of this duration or more is slow."""

DAILY = (
    "tests/cli/manual/",
    "tests/gate/test_gate.py",
    "tests/gate/test_gate_independence.py",
    "tests/integrations/quack/",
    "tests/sqltext/test_shadowed_functions.py",
    "tests/test_imports.py::test_files_import",
    "tests/test_names.py::test_names",
    "tests/test_names.py::test_docstrings",
    "tests/test_references.py",
    "tests/test_slow.py",
)
"""Slow tests that run every day: documentation, the basis of privacy, conventions, and tests for one DuckDB only."""

DAILY_BELOW_3_S = re.compile(r"^tests/(gate|privacy_models)/|^tests/errors/test_errors\.py|::.*gate")
"""Tests of the gate, of privacy models and of each error, which run every day unless they take three seconds."""

_CALL = re.compile(r"^\s*([\d.]+)s call\s+(\S+?::\w+)")


@cache
def listed_tests() -> frozenset[str]:
    """Return the tests of the list, as `path::name`."""
    return frozenset(LIST.read_text("utf-8").split())


def slow_tests(durations: Iterable[str]) -> list[str]:
    """Return the slow tests of pytest's durations.

    >>> slow_tests(["0.71s call     tests/a/test_b.py::test_c[1]", "0.20s call     tests/a/test_b.py::test_d"])
    ['tests/a/test_b.py::test_c']
    """
    calls = [match for line in durations if (match := _CALL.match(line))]
    slow_calls = {m[2] for m in calls if float(m[1]) >= (3 if _is_important(m[2]) else SECONDS)}
    return sorted(name for name in slow_calls if not name.startswith(DAILY))


def _is_important(name: str) -> bool:
    """Return whether a test runs every day unless it takes three seconds or is on the list already."""
    return DAILY_BELOW_3_S.search(name) is not None and name not in listed_tests()


if __name__ == "__main__":
    LIST.write_text(
        "".join(f"{name}\n" for name in slow_tests(Path(sys.argv[1]).read_text("utf-8").splitlines())), "utf-8"
    )
