"""`harlequin -a dbanon` has the functions: the adapter, as Harlequin loads and calls it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbanon.table_functions.registry import table_functions

pytest.importorskip("harlequin.plugins", reason="the extra dbanon[harlequin] is not installed")

from harlequin.exception import HarlequinConnectionError, HarlequinQueryError
from harlequin.plugins import load_adapter


def connected(path: Path | str, **options: Any) -> Any:
    """Return a connection of the adapter that is registered as `dbanon`."""
    return load_adapter("dbanon")((str(path),), no_init=True, **options).connect()


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Any]:
    """Create a database with twelve patients."""
    con = connected(tmp_path / "clinic.duckdb")
    con.execute("CREATE TABLE patients AS SELECT range % 3 AS ward, range % 2 AS disease FROM range(12)")
    yield con
    con.conn.close()


def fetched(con: Any, query: str, limit: int | None = None) -> list[Any]:
    """Return the rows that Harlequin would show."""
    cursor = con.execute(query)
    if limit is not None:
        cursor = cursor.set_limit(limit)
    return list(cursor.fetchall().to_pylist())


def test_the_functions_are_there_with_equals_signs_and_limits(clinic: Any) -> None:
    query = "SELECT * FROM kacpc('patients', k=4, qi=['ward'], sensitive=['disease'], nulls='drop')"
    assert len(fetched(clinic, query)) == 12
    assert len(fetched(clinic, query, limit=5)) == 5
    assert [name for name, _ in clinic.execute(query).columns()] == ["ward", "disease", "class_id"]


def test_materialized_views_and_temporary_tables_work(clinic: Any) -> None:
    clinic.execute("CREATE TEMP TABLE mine AS FROM patients")
    assert len(fetched(clinic, "FROM kacpc('mine', k=4, qi=['ward'])")) == 12
    result = fetched(clinic, "CREATE MATERIALIZED ANONYMIZED VIEW safe AS FROM kacpc('patients', k=4, qi=['ward'])")
    assert result[0]["records"] == 12
    assert len(fetched(clinic, "FROM safe")) == 12


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("FROM kacpc('patients', kk=4)", "Did you mean 'k'"),
        ("FROM kacpc('patients', k=1, qi=['ward'])", "k must be an integer of at least 2"),
        ("FROM nope", "nope"),
    ],
)
def test_errors_are_what_harlequin_shows(clinic: Any, query: str, told: str) -> None:
    with pytest.raises(HarlequinQueryError) as error_info:
        clinic.execute(query).fetchall()
    assert told in error_info.value.msg
    assert fetched(clinic, "SELECT 1 AS a") == [{"a": 1}]


def test_functions_are_completed_and_the_catalog_is_read(clinic: Any) -> None:
    labels = {c.label for c in clinic.get_completions()}
    assert set(table_functions()) <= labels
    assert [element.label for element in clinic.get_catalog().items] == ["clinic"]


def test_cancel_stops_a_clustering(clinic: Any) -> None:
    clinic.execute("CREATE TABLE big AS SELECT random() AS a, random() AS b, random() AS c FROM range(400_000)")
    done = threading.Event()

    def stop() -> None:
        while not done.wait(2):
            clinic.cancel()

    thread = threading.Thread(target=stop)
    thread.start()
    try:
        cursor = clinic.execute("FROM kacpc('big', k=2, qi=['a', 'b', 'c'])")
        assert cursor is None or cursor.fetchall() is None
    finally:
        done.set()
        thread.join()
    assert fetched(clinic, "SELECT 1 AS a") == [{"a": 1}]


def test_read_only_is_passed_on(clinic: Any, tmp_path: Path) -> None:
    clinic.conn.close()
    con = connected(tmp_path / "clinic.duckdb", read_only=True)
    assert len(fetched(con, "FROM kacpc('patients', k=4, qi=['ward'])")) == 12
    with pytest.raises(HarlequinQueryError):
        con.execute("DROP TABLE patients")
    con.conn.close()


def test_a_file_that_is_no_database_is_an_error_of_harlequin(tmp_path: Path) -> None:
    path = tmp_path / "patients.txt"
    path.write_text("no database" * 1000)
    with pytest.raises(HarlequinConnectionError):
        connected(path)
