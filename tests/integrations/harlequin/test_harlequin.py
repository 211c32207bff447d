"""`harlequin -a dbanon` has the functions: the adapter, as Harlequin loads and calls it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbanon.table_functions.registry import table_functions

pytest.importorskip("harlequin.plugins", reason="the extra harlequin is not installed")

from harlequin.exception import HarlequinConnectionError, HarlequinQueryError
from harlequin.plugins import load_adapter


def connect_adapter(path: Path | str, **options: Any) -> Any:
    """Return a connection of the adapter that is registered as `dbanon`."""
    return load_adapter("dbanon")((str(path),), no_init=True, **options).connect()


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Any]:
    """Create a database with twelve patients."""
    con = connect_adapter(tmp_path / "clinic.duckdb")
    con.execute("CREATE TABLE patients AS SELECT range % 3 AS ward, range % 2 AS disease FROM range(12)")
    yield con
    con.conn.close()


def fetch_rows(con: Any, query: str, limit: int | None = None) -> list[Any]:
    """Return the rows that Harlequin would show."""
    cursor = con.execute(query)
    if limit is not None:
        cursor = cursor.set_limit(limit)
    return list(cursor.fetchall().to_pylist())


def test_harlequin_query_accepts_equals_signs_and_limit(clinic: Any) -> None:
    query = "SELECT * FROM kacpc('patients', k=4, qi=['ward'], sensitive=['disease'], nulls='drop')"
    assert len(fetch_rows(clinic, query)) == 12
    assert len(fetch_rows(clinic, query, limit=5)) == 5
    assert [name for name, _ in clinic.execute(query).columns()] == ["ward", "disease", "class_id"]


def test_harlequin_supports_temporary_sources_and_releases(clinic: Any) -> None:
    clinic.execute("CREATE TEMP TABLE mine AS FROM patients")
    assert len(fetch_rows(clinic, "FROM kacpc('mine', k=4, qi=['ward'])")) == 12
    result = fetch_rows(clinic, "CREATE MATERIALIZED ANONYMIZED VIEW safe AS FROM kacpc('patients', k=4, qi=['ward'])")
    assert result[0]["records"] == 12
    assert len(fetch_rows(clinic, "FROM safe")) == 12


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("FROM kacpc('patients', kk=4)", "Did you mean 'k'"),
        ("FROM kacpc('patients', k=1, qi=['ward'])", "k must be an integer of at least 2"),
        ("FROM nope", "nope"),
    ],
)
def test_harlequin_errors_contain_dbanon_message(clinic: Any, query: str, message: str) -> None:
    with pytest.raises(HarlequinQueryError) as error_info:
        clinic.execute(query).fetchall()
    assert message in error_info.value.msg
    assert fetch_rows(clinic, "SELECT 1 AS a") == [{"a": 1}]


def test_harlequin_completes_functions_and_lists_catalog(clinic: Any) -> None:
    labels = {c.label for c in clinic.get_completions()}
    assert set(table_functions()) <= labels
    assert [element.label for element in clinic.get_catalog().items] == ["clinic"]


def test_harlequin_cancel_stops_clustering(clinic: Any) -> None:
    clinic.execute("CREATE TABLE big AS SELECT random() AS a, random() AS b, random() AS c FROM range(400_000)")
    done = threading.Event()

    def cancel_repeatedly() -> None:
        while not done.wait(2):
            clinic.cancel()

    thread = threading.Thread(target=cancel_repeatedly)
    thread.start()
    try:
        cursor = clinic.execute("FROM kacpc('big', k=2, qi=['a', 'b', 'c'])")
        assert cursor is None or cursor.fetchall() is None
    finally:
        done.set()
        thread.join()
    assert fetch_rows(clinic, "SELECT 1 AS a") == [{"a": 1}]


def test_harlequin_read_only_connection_refuses_writes(clinic: Any, tmp_path: Path) -> None:
    clinic.conn.close()
    con = connect_adapter(tmp_path / "clinic.duckdb", read_only=True)
    assert len(fetch_rows(con, "FROM kacpc('patients', k=4, qi=['ward'])")) == 12
    with pytest.raises(HarlequinQueryError):
        con.execute("DROP TABLE patients")
    con.conn.close()


def test_harlequin_reports_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "patients.txt"
    path.write_text("no database" * 1000)
    with pytest.raises(HarlequinConnectionError):
        connect_adapter(path)
