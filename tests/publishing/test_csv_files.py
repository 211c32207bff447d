"""A published CSV contains nothing that a spreadsheet executes, and reads back as the release."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.runtime.csv_formulas import unescape_cell

FORMULAS = (
    "=1+1",
    '=HYPERLINK("http://x?"&A1,"see")',
    "+1",
    "-5",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " -x",
    "\uff1d1",
    "'=1",
    "a=b",
)
SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a release whose texts, column names and blobs begin like formulas, next to negative numbers."""
    path = tmp_path_factory.mktemp("hostile") / "hostile.duckdb"
    with dbanon.connect(path) as con:
        con.execute(
            """CREATE TABLE visits AS SELECT i % 4 - 9 AS "-temperature", [-5, 7, NULL][1 + i % 3]::INTEGER AS balance,
            CASE WHEN i % 5 > 0 THEN $cells[1 + i % len($cells)] WHEN i % 2 = 0 THEN '' END AS "=cell",
            CASE WHEN i % 2 = 0 THEN '=1'::BLOB ELSE '+2'::BLOB END AS bytes, -1.5::DOUBLE AS change,
            CASE WHEN i % 2 = 0 THEN '-5' ELSE '-7' END AS region FROM range(160) AS r (i)""",
            {"cells": list(FORMULAS)},
        )
        con.execute("INSERT INTO dbanon.hierarchy FROM hierarchy_flat('regions', 'visits', 'region')")
        dbanon.declare(
            con, "visits", **{"-temperature": "quasi", "=cell": "sensitive", "region": ("quasi", "regions")},
            balance="sensitive", bytes="sensitive", change="sensitive",
        )  # fmt: skip
        dbanon.create_release(con, "safe", "mondrian", "visits", k=5, t=0.9)
    return path


def lines(file: Path) -> list[list[str]]:
    with file.open(newline="", encoding="utf-8") as text:
        return list(csv.reader(text))


def is_executed(cell: str) -> bool:
    return cell.lstrip(" \t\r\n\u3000\u200b\ufeff\u00a0")[:1] in tuple(SIGNS)


def test_published_csv_executes_nothing_and_reads_back(hostile: Path, tmp_path: Path) -> None:
    output = dbanon.publish(hostile, "safe", tmp_path / "out.csv", classes=True)
    with duckdb.connect(hostile, read_only=True) as con:
        result = con.execute("SELECT * FROM safe")
        names = [column[0] for column in result.description]
        texts = [column[0] for column in result.description if str(column[1]) in ("VARCHAR", "BLOB")]
        rows = con.execute("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM safe").fetchall()
    header, *cells = lines(tmp_path / "out.csv")
    assert list(map(unescape_cell, header)) == names and not any(map(is_executed, header))
    assert [tuple(map(unescape_cell, row)) for row in cells] == [tuple(v or "" for v in row) for row in rows]
    assert {"=cell", "region", "-temperature"} <= set(texts)
    for place, name in enumerate(names):
        column = {row[place] for row in cells}
        if name in ("-temperature", "region"):
            assert any(c.startswith("-") for c in column), "negative numbers of quasi-identifiers stay numbers"
        elif name in texts:
            assert not any(map(is_executed, column)) and any(c.startswith("'") for c in column), name
        elif name in ("balance", "change"):
            assert any(c.startswith("-") for c in column), "numbers are never changed"
    for file in output[1:]:
        if file.suffix == ".csv":
            cells_of_file = {cell for row in lines(file) for cell in row if not re.fullmatch(r"-\d+", cell)}
            assert not any(map(is_executed, cells_of_file)), file.name
    assert dbanon.verify(tmp_path / "out.csv") == []
    (tmp_path / "out.csv").write_text((tmp_path / "out.csv").read_text("utf-8").replace("'=1", "=1"), "utf-8")
    assert dbanon.verify(tmp_path / "out.csv") == [
        "out_certificate.csv: out.csv is not the file that it was written for"
    ]


def test_escaped_csv_certificate_can_be_recomputed(hostile: Path, tmp_path: Path) -> None:
    dbanon.publish(hostile, "safe", tmp_path / "out.csv", classes=True)
    header, *rows = lines(tmp_path / "out_certificate.csv")
    assert header == ["section", "item", "value", "sql"]
    assert ["roles", "'=cell", "sensitive", ""] in rows
    with duckdb.connect() as plain_con:
        plain_con.execute(f"SET file_search_path = '{tmp_path}'")
        numbers = [(unescape_cell(value), sql) for _, _, value, sql in rows if sql and len(value) != 64]
        assert len(numbers) > 10
        for value, sql in numbers:
            assert float(plain_con.execute(sql).fetchall()[0][0]) == pytest.approx(float(value), abs=1e-9), sql


def test_publish_keeps_formulas_only_on_request(hostile: Path, tmp_path: Path) -> None:
    dbanon.publish(hostile, "safe", tmp_path / "kept.csv", csv_formulas="keep")
    header, *rows = lines(tmp_path / "kept.csv")
    assert "=cell" in header and {"=1+1", "'=1", "-5"} <= {row[header.index("=cell")] for row in rows}
    assert dbanon.verify(tmp_path / "kept.csv") == []
    with pytest.raises(dbanon.DbanonError, match="csv_formulas must be 'escape' or 'keep', got 'none'"):
        dbanon.publish(hostile, "safe", tmp_path / "none.csv", csv_formulas="none")
    assert not (tmp_path / "none.csv").exists()


@pytest.mark.parametrize("target", ["out.parquet", "out.duckdb"])
def test_formulas_unescaped_in_parquet_and_duckdb(hostile: Path, target: str, tmp_path: Path) -> None:
    dbanon.publish(hostile, "safe", tmp_path / target)
    with duckdb.connect(hostile, read_only=True) as con:
        expected = con.execute('SELECT DISTINCT "=cell" FROM safe ORDER BY ALL').fetchall()
    with duckdb.connect(tmp_path / target if target.endswith("duckdb") else ":memory:") as plain_con:
        table: Any = "safe" if target.endswith("duckdb") else f"'{tmp_path / target}'"
        assert plain_con.execute(f'SELECT DISTINCT "=cell" FROM {table} ORDER BY ALL').fetchall() == expected
