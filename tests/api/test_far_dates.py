"""Releases with dates outside Python's range."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.integrations.notebook.result import NotebookResult

DATES = {
    "after 9999": "DATE '12345-06-07'",
    "before 1": "DATE '0044-03-15 (BC)'",
    "infinite": "DATE 'infinity'",
    "time": "TIMESTAMP '12345-06-07 01:02:03'",
    "zoned time": "TIMESTAMPTZ '12345-06-07 01:02:03+00'",
    "list": "[DATE '12345-06-07']",
    "struct": "{'a': DATE '12345-06-07'}",
}


@pytest.mark.parametrize("name", DATES)
def test_dates_beyond_python_are_released_and_displayed(name: str) -> None:
    raw = duckdb.connect()
    raw.execute(f"CREATE TABLE t AS SELECT {DATES[name]} AS seen, range::INTEGER AS age FROM range(6)")
    table: Any = raw.sql("FROM t").to_arrow_table()
    anonymized = dbanon.anonymize(table, "kacpc", k=3, qi=["age"], sensitive=["seen"])
    assert len(anonymized.release) == 6
    assert "[0, 2]" in repr(anonymized) and str(anonymized.release)
    assert ("infinity" if name == "infinite" else "44" if name == "before 1" else "12345-06-07") in repr(anonymized)
    answer = NotebookResult(anonymized.release)
    assert len(repr(answer)) and len(answer._repr_html_())


def test_infinite_date_of_file_becomes_text_in_frame(tmp_path: Any) -> None:
    path = tmp_path / "t.parquet"
    duckdb.execute(f"COPY (SELECT DATE 'infinity' AS seen, range::INTEGER AS age FROM range(6)) TO '{path}'")
    anonymized = dbanon.anonymize(str(path), "kacpc", k=3, qi=["age"], sensitive=["seen"])
    assert set(anonymized.release["seen"]) == {"infinity"}
