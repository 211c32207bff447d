"""Relations of `con.sql`: their errors quote no value, and they otherwise are relations of DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import dbanon
from dbanon import errors

SECRET = "hiv-positive"

needs_duckdb_2 = pytest.mark.skipif(
    int(duckdb.__version__.split(".")[0]) < 2, reason="relations of DuckDB 1 cannot be given another class"
)

FETCHES: dict[str, Callable[[Any], Any]] = {
    "fetchall": lambda relation: relation.fetchall(),
    "df": lambda relation: relation.df(),
    "to_arrow_table": lambda relation: relation.to_arrow_table(),
    "repr": repr,
    "len": len,
    "shape": lambda relation: relation.shape,
    "create": lambda relation: relation.create("stored"),
    "derived": lambda relation: relation.filter("true").limit(3).order("class_id").fetchall(),
    "query": lambda relation: relation.query("q", "SELECT count(*) FROM q WHERE class_id > 0").fetchall(),
    "column": lambda relation: relation.age.fetchall(),
}


@pytest.fixture
def con() -> Any:
    with dbanon.connect() as connection:
        yield connection


@pytest.fixture
def call(tmp_path: Path) -> str:
    """Return a call of a file whose error DuckDB notices only while it runs."""
    file = tmp_path / "visits.csv"
    file.write_text("age,code\n" + "".join(f"{i % 9},{i}\n" for i in range(25_000)) + f"{SECRET},1\n")
    return f"FROM kacpc('{file}', k = 2, qi = ['age'])"


@needs_duckdb_2
@pytest.mark.parametrize("fetch", FETCHES.values(), ids=FETCHES)
def test_relation_errors_quote_no_value(con: Any, call: str, fetch: Callable[[Any], Any]) -> None:
    relation = con.sql(call)
    with pytest.raises(errors.UnreadableValueError, match="CSV Error on Line: 25002") as caught:
        fetch(relation)
    assert SECRET not in str(caught.value)


@needs_duckdb_2
@pytest.mark.parametrize("method", ["sql", "query", "from_query"])
def test_methods_that_return_relations_quote_no_value(con: Any, call: str, method: str) -> None:
    with pytest.raises(errors.UnreadableValueError):
        getattr(con, method)(call).fetchall()


def test_redacted_relation_is_relation_of_duckdb(con: Any) -> None:
    con.execute("CREATE TABLE p AS SELECT i % 10 AS age FROM range(100) AS r (i)")
    relation = con.sql("FROM kacpc('p', k = 10, qi = ['age'])")
    wanted = pd.DataFrame({"value": ["0", "1"]})
    assert isinstance(relation, duckdb.DuckDBPyRelation)
    assert relation.columns == ["age", "class_id"]
    assert relation.filter("age IN (SELECT value FROM wanted)").aggregate("count(*)").fetchall() == [(20,)]
    assert len(wanted) == 2


def test_relation_without_call_keeps_message_of_duckdb(con: Any, tmp_path: Path) -> None:
    con.execute(f"CREATE VIEW typed AS SELECT '{SECRET}'::INTEGER AS age")
    with pytest.raises(duckdb.ConversionException, match=SECRET):
        con.sql("FROM typed").fetchall()
