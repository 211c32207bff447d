"""Shared fixtures: attached connections, the six-row fixture of the algorithm reference, and the papers' data."""

from __future__ import annotations

import re
import signal
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

import duckdb
import pytest
from hypothesis import HealthCheck, settings
from support import pool, scale, slow

import dbanon

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

settings.register_profile("any_machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any_machine")
"""A busy machine makes no test fail: how long an example takes is not checked."""

FIXTURE_ROWS = [
    (1, 25, "Local-gov", "Flu"),
    (2, 27, "State-gov", "Flu"),
    (3, 29, "Federal-gov", "Cancer"),
    (4, 40, "Private", "Flu"),
    (5, 46, "Private", "Cancer"),
    (6, 55, "Self-emp-inc", "HIV"),
]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--exhaustive", action="store_true", help="run every case of every test, and all random tables")
    parser.addoption(
        "--case-part", default="", metavar="I/N", help="run the everyday cases and the I-th of N parts of all others"
    )
    parser.addoption(
        "--slow-part",
        default="",
        metavar="I/N",
        help="run the everyday tests and the I-th of N parts of tests/slow.txt",
    )


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts jobs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    scale.set_scale(config.getoption("exhaustive"), int((config.getoption("case_part") or "0").split("/")[0]))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that do not run every day.

    These are tests marked not_everyday, slow ones, and all cases of a sweep but one, which depends only on the test's
    name. Cases of a test marked in_turn run in parts of their own.
    """
    if config.getoption("exhaustive") or all("::" in argument for argument in config.args):
        return
    part, parts = map(int, (config.getoption("case_part") or "0/1").split("/"))
    turn, turns = map(int, (config.getoption("slow_part") or "0/1").split("/"))
    cases = Counter(_test_of(element) for element in items)
    visited, remaining, remaining_result = Counter[str](), [], []
    for element in items:
        test = _test_of(element)
        full_result, deep = (element.get_closest_marker(name) is not None for name in ("all_cases", "not_everyday"))
        in_turn = element.get_closest_marker("in_turn")
        everyday = not deep and ((full_result and not in_turn) or visited[test] == crc32(test.encode()) % cases[test])
        if test in slow.listed_tests():
            everyday = everyday and turn > 0 and crc32(test.encode()) % turns == turn - 1
        if in_turn and turn > 0:
            n_parts = min(in_turn.args[0], turns)
            everyday = everyday or crc32(element.nodeid.encode()) % n_parts == (turn - 1) % n_parts
        selected_everyday = everyday or (part > 0 and crc32(element.nodeid.encode()) % parts == part - 1)
        (remaining if selected_everyday else remaining_result).append(element)
        visited[test] += 1
    items[:] = remaining
    if remaining_result:
        config.hook.pytest_deselected(items=remaining_result)


def _test_of(test: pytest.Item) -> str:
    return test.nodeid.split("[")[0]


@pytest.fixture
def con(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Provide an attached in-memory connection; tests of files that create macros or functions get one of their own."""
    if _OWN.search(_text(request.path)):
        connection = duckdb.connect()
        dbanon.attach(connection)
        yield connection
        connection.close()
    else:
        connection = pool.take()
        yield connection
        pool.give(connection)


_OWN = re.compile(r"MACRO|create_function")


@lru_cache
def _text(path: Path) -> str:
    return path.read_text("utf-8")


@pytest.fixture
def six(con: Any) -> Any:
    """Provide the connection with the six-row table `six(rid, age, workclass, disease)` and its policy."""
    con.execute("CREATE TABLE six (rid INTEGER, age INTEGER, workclass VARCHAR, disease VARCHAR)")
    con.executemany("INSERT INTO six VALUES (?, ?, ?, ?)", FIXTURE_ROWS)
    dbanon.declare(
        con, "six", rid="identifier", age="quasi", workclass=("quasi", "adult_workclass"), disease="sensitive"
    )
    return con


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of the papers' data sets; tests that need it are skipped where it is absent."""
    if not (DATA / "adult.csv").exists():
        pytest.skip("the papers' data sets (Adult and others) are not beside this checkout")
    return DATA


@pytest.fixture
def adult(con: Any, data_folder: Path) -> Any:
    """Provide the connection with Adult's 30,162 complete rows, the KACPC paper's roles and its hierarchies."""
    con.execute(f"CREATE TABLE adult AS FROM '{data_folder / 'adult.csv'}'")
    roles: dict[str, Any] = {"age": "quasi", "occupation": "sensitive", "salary": "sensitive"}
    for column in ("workclass", "education", "marital_status", "race", "sex"):
        dbanon.load_hierarchy(con, column, data_folder / "hierarchies" / "kacpc" / f"{column}.csv")
        roles[column] = ("quasi", column)
    dbanon.declare(con, "adult", **roles)
    return con
