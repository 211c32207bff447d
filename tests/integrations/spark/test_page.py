"""The page about Spark is true: its code runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import documents

import dbanon


@pytest.mark.filterwarnings("default")
def test_spark_page_code_runs(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents.create_small_demo(tmp_path / "dbanon_demo.duckdb")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for step in documents.steps(documents.ROOT / "docs" / "spark.md"):
        if step.language == "sql":
            with dbanon.connect("dbanon_demo.duckdb") as con:
                con.execute(step.code)
        else:
            assert step.language == "python"
            # Spark's own process remains in the folder that it started in.
            code = step.code.replace('"patients.parquet"', repr(str(tmp_path / "patients.parquet")))
            exec(compile(code, "page", "exec"), names)
    assert names["safe"].columns[-1] == "class_id" and names["safe"].count() > 100
