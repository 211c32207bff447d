"""The guide to the algorithms agrees with the registry, and with the measurements of compare() on Adult."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.scale import sample_cases

from dbanon import algorithms
from tests.bench import guide

PAGE = Path(__file__).resolve().parents[1] / "docs" / "algorithm-guide.md"

QUICK = 0.5
"""Seconds on Adult of algorithms that are measured every day."""


@pytest.fixture(scope="module")
def guide_page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_guide_lists_every_algorithm_like_registry(guide_page: str) -> None:
    figures = guide.read(guide_page)
    assert set(figures) == {a.name for a in algorithms.algorithms()}
    assert guide.page(figures) == guide_page, "python -m tests.support.generated"


def check_figures(figures: dict[str, guide.Figures], names: list[str]) -> None:
    result = guide.measurements(str(names))
    for name in names:
        assert result[name].precision == pytest.approx(figures[name].precision, abs=5.1e-4), name
        assert result[name].ncp == pytest.approx(figures[name].ncp, abs=0.51), name


def test_guide_metrics_equal_measured_values(data_folder: Path, guide_page: str) -> None:
    figures = guide.read(guide_page)
    check_figures(
        figures, sample_cases([n for n, f in figures.items() if f.precision is not None and (f.seconds or 0) < QUICK])
    )


@pytest.mark.not_everyday
def test_guide_metrics_of_slow_algorithms_equal_measured(data_folder: Path, guide_page: str) -> None:
    figures = guide.read(guide_page)
    check_figures(figures, [n for n, f in figures.items() if f.precision is not None and (f.seconds or 0) >= QUICK])
