"""Macros of a database with the names of dbanon's functions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dbanon

SAFE = [("[20, 23]",)] * 4

CREATE = """
    CREATE MACRO mdav(x, k := 0, qi := []) AS TABLE FROM ages;
    CREATE VIEW safe AS SELECT age FROM mdav('ages', k := 4, qi := ['age']);
    CREATE MACRO safe_ages() AS TABLE SELECT age FROM mdav('ages', k := 4, qi := ['age']);
"""


@pytest.fixture
def ages(tmp_path: Path) -> Iterator[Any]:
    """Create a table of four ages, and yield a new connection to its database."""
    path = tmp_path / "a.duckdb"
    with dbanon.connect(path) as con:
        con.execute("CREATE TABLE ages AS SELECT 20 + i AS age FROM range(4) AS r (i)")
    with dbanon.connect(path) as con:
        yield con


@pytest.mark.all_cases
@pytest.mark.parametrize(
    "query",
    ["FROM safe", "TABLE safe", "(TABLE safe)", "FROM safe_ages()", "UNPIVOT safe ON age", "COPY safe TO '{}'"],
)
def test_first_query_calls_functions_of_dbanon_whatever_macros_exist(ages: Any, tmp_path: Path, query: str) -> None:
    ages.cursor().raw.cursor().execute(CREATE)
    file = tmp_path / "ages.csv"
    rows = ages.execute(query.format(file)).fetchall()
    if query.startswith("COPY"):
        rows = [(line.strip('"'),) for line in file.read_text().splitlines()[1:]]
    assert [row[-1:] for row in rows] == SAFE


def test_view_created_by_another_connection_calls_functions_of_dbanon(ages: Any) -> None:
    assert ages.execute("SELECT count(*) FROM ages").fetchall() == [(4,)]
    ages.duckdb_connection.cursor().execute(CREATE)
    assert ages.execute("TABLE safe").fetchall() == SAFE
