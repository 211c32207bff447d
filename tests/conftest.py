"""Shared fixtures: attached connections, the six-row fixture of the algorithm reference, and the data of the papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

FIXTURE_ROWS = [
    (1, 25, "Local-gov", "Flu"),
    (2, 27, "State-gov", "Flu"),
    (3, 29, "Federal-gov", "Cancer"),
    (4, 40, "Private", "Flu"),
    (5, 46, "Private", "Cancer"),
    (6, 55, "Self-emp-inc", "HIV"),
]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every", type=int, default=1, help="of each parametrized test, only every so manyth case")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out cases, never a whole test; which ones follows from their order alone."""
    seen, kept, left = Counter[str](), [], []
    for item in items:
        test = item.nodeid.split("[")[0]
        (left if seen[test] % config.getoption("every") else kept).append(item)
        seen[test] += 1
    items[:] = kept
    if left:
        config.hook.pytest_deselected(items=left)


@pytest.fixture
def con() -> Iterator[Any]:
    """A plain DuckDB connection in memory, attached."""
    connection = duckdb.connect()
    dbanon.attach(connection)
    yield connection
    connection.close()


@pytest.fixture
def six(con: Any) -> Any:
    """The connection with the six-row table `six(rid, age, workclass, disease)` and its policy."""
    con.execute("CREATE TABLE six (rid INTEGER, age INTEGER, workclass VARCHAR, disease VARCHAR)")
    con.executemany("INSERT INTO six VALUES (?, ?, ?, ?)", FIXTURE_ROWS)
    dbanon.declare(
        con, "six", rid="identifier", age="quasi", workclass=("quasi", "adult_workclass"), disease="sensitive"
    )
    return con


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the papers' data sets; tests that need it are skipped where it is absent."""
    if not (DATA / "adult.csv").exists():
        pytest.skip("the papers' data sets (Adult and others) are not beside this checkout")
    return DATA


@pytest.fixture
def adult(con: Any, data: Path) -> Any:
    """The connection with Adult's 30,162 complete rows, the KACPC paper's roles and its hierarchies."""
    con.execute(f"CREATE TABLE adult AS FROM '{data / 'adult.csv'}'")
    roles: dict[str, Any] = {"age": "quasi", "occupation": "sensitive", "salary": "sensitive"}
    for column in ("workclass", "education", "marital_status", "race", "sex"):
        dbanon.load_hierarchy(con, column, data / "hierarchies" / "kacpc" / f"{column}.csv")
        roles[column] = ("quasi", column)
    dbanon.declare(con, "adult", **roles)
    return con
