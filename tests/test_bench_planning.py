"""The benchmark of planning: every phase has a figure, and the growth with columns has an exponent."""

from pathlib import Path

from tests.bench import planning


def test_planning_benchmark_measures_every_phase(data_folder: Path) -> None:
    result = planning.measure(1)
    assert list(result) == ["Adult", "60 rows"]
    for figures in result.values():
        assert figures["steps"] < 40 and figures["nodes"] < 4_700 and figures["lines"] < 720
        assert figures["whole call"] > figures["GROUP BY, whole"]
        assert figures["optimize"] > 0 and figures["parse and bind"] > 0


def test_growth_with_columns_has_exponent() -> None:
    assert planning.measure_width(4, 50)["cpu"] > 0
