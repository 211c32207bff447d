"""The papers' figures: the documented statements are those of the benchmark, and they run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dbanon
from tests.bench import figures

PAPERS = Path(__file__).resolve().parents[1] / "docs" / "papers.md"


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("name", figures.FIGURES)
def test_documented_figures_match_commands(name: str) -> None:
    assert words(figures.FIGURES[name][1]) in words(PAPERS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", figures.FIGURES)
def test_figure_statements_run_on_few_records(data_folder: Path, name: str) -> None:
    statement = figures.FIGURES[name][1]
    small = re.sub(r"sample_sizes=\[.*?\]", "sample_sizes=[150, 300]", statement)
    small = re.sub(r"\bk=\[.*?\]", "k=[5, 10]", re.sub(r"repeat=\d+", "repeat=2", small))
    with dbanon.connect() as con:
        figures.prepare(con)
        for table in ("adult", "adult_nine"):
            con.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {table} LIMIT 400")
        frame = con.execute(small).df()
    assert frame["problem"].isna().all()
    assert frame["mean"].notna().all()
    assert set(frame["k"]) == {5, 10}
