"""The benchmark of the similarity-and-diversity paper's tables: the paper's numbers, ours, and the best method."""

from __future__ import annotations

from typing import Any

import pytest

import dbanon
from tests.bench import s1, s1_data, s1_experiments


def test_paper_has_number_for_every_method_and_k() -> None:
    for metric in ("DM", "IQR"):
        for case in ("careplans", "diabetes"):
            for method in ("proposed", *s1.OTHERS):
                numbers = [s1.paper(case, metric, method, k) for k in s1.KS]
                assert None not in numbers
                assert len(numbers) == 16
    assert s1.paper("careplans", "DM", "proposed", 400) == 5.09
    assert s1.paper("diabetes", "IQR", "ELD", 2) == 318.9
    assert s1.paper("diabetes", "DM", "ELD", 350) == 3.34, "as printed"
    assert s1.paper("adult", "DM", "proposed", 2) is None
    assert s1.paper("careplans", "DM", "proposed", 3) is None


def rows(proposed: tuple[float, float], others: tuple[float, float]) -> list[dict[str, Any]]:
    """Return rows of two k, with values of the proposed forms and of the others."""
    return [
        {"k": k, "method": method} | dict.fromkeys(s1_data.METRICS, (proposed if method in s1.PROPOSED else others)[i])
        for i, k in enumerate((2, 5))
        for method in s1.METHODS
    ]


def test_s1_summary_counts_best_k_and_improvement() -> None:
    summaries = list(s1.summary("adult", rows((0.5, 0.6), (1.0, 0.5))))
    assert {t["metric"] for t in summaries} == set(s1_data.METRICS)
    for t in summaries:
        assert (t["best"], t["of"]) == (1, 2)
        assert t["improvement"] == pytest.approx((50 - 20) / 2)
    assert {t["metric"]: t["paper"] for t in summaries} == {
        "D": 16.3,
        "D literal": None,
        "E": 13.1,
        "DM": 15.6,
        "IQR": 17.5,
    }
    nothing = list(s1.summary("adult", rows((0.0, 0.0), (0.0, 0.0))))
    assert all(t["improvement"] is None and t["best"] == 2 for t in nothing)


def test_overall_averages_improvements_of_group() -> None:
    others = dict.fromkeys(s1.OTHERS, 2.0)
    results = {
        ("adult", 2, "D"): {"proposed": 1.0, **others},
        ("adult", 5, "D"): {"proposed": 1.0, **others, "RKA": 4.0},
        ("diabetes", 2, "E"): {"proposed": 3.0, **others, "ELD": 0.0},
    }
    improvements = {(row["metric"], row["others"]): row["improvement"] for row in s1.overall(results)}
    assert improvements["D", "all"] == pytest.approx((7 * 50 + 75) / 8, abs=0.05)
    assert improvements["E", "all"] == -50
    assert improvements["D and E", "l-diversity"] == pytest.approx((50 + 50 - 50) / 3, abs=0.05)
    assert improvements["D and E", "clustering (MWCK, ELD)"] == 30
    assert improvements["D and E", "noise (RKA)"] == pytest.approx((50 + 75 - 50) / 3, abs=0.05)
    assert improvements["DM", "all"] is None


def test_paper_results_are_those_of_its_tables() -> None:
    results = s1.paper_results()
    assert len(results) == 2 * 2 * 16 + 2 * 4
    assert results["careplans", 2, "DM"] == {
        "proposed": 1.42, "l-diversity": 1.56, "MWCK": 1.51, "RKA": 1.47, "ELD": 1.53,
    }  # fmt: skip
    assert results["adult", s1.ATTACK_K, "I"]["RKA"] == 33.01
    assert results["diabetes", s1.ATTACK_K, "II"]["proposed"] == 0.09


def test_distribution_distance_of_known_shares() -> None:
    original = {1: 2, 2: 1, 3: 1}
    covered = {"1 or 2": [1, 2], "3": [3], "-9": []}
    distance, outside = s1_experiments.distribution_distance(original, {"1 or 2": 2, "3": 1, "-9": 1}, covered.get)
    assert outside == 0.25
    # Shares: 1/4, 1/4, 1/4 and 1/4 outside, instead of 1/2, 1/4, 1/4.
    assert distance == pytest.approx((1 / 4 + 0 + 0 + 1 / 4) / 2)
    assert s1_experiments.distribution_distance(original, original, lambda value: [value]) == (0, 0)


def test_covered_values_of_intervals_nodes_and_outside() -> None:
    ages = {17: 1, 20: 1, 35: 1}
    assert s1_experiments.covered_values("[17, 20]", ages, {}) == [17, 20]
    assert s1_experiments.covered_values("[-5, 19]", ages, {}) == [17]
    assert s1_experiments.covered_values(-5, ages, {}) == []
    assert s1_experiments.covered_values("*", ages, {}) == [17, 20, 35]
    assert s1_experiments.covered_values("Europe", {"Norway": 1, "India": 1}, {"Europe": {"Norway", "Spain"}}) == [
        "Norway"
    ]


def test_nodes_cover_leaves_below_them(con: Any) -> None:
    dbanon.load_hierarchy(con, "land", [["Norway", "Europe", "*"], ["Spain", "Europe", "*"], ["India", "Asia", "*"]])
    assert s1_experiments._nodes(con, "land") == {
        "*": {"Norway", "Spain", "India"}, "Europe": {"Norway", "Spain"}, "Asia": {"India"},
        "Norway": {"Norway"}, "Spain": {"Spain"}, "India": {"India"},
    }  # fmt: skip


@pytest.mark.not_everyday
def test_experiments_have_rows_for_every_setting(data_folder: Any) -> None:
    pytest.importorskip("sklearn", reason="influence needs the extra learn")
    case = s1_data.CASES["adult"]
    with dbanon.connect(":memory:") as con:
        s1_data.load(con, case)
        con.execute("CREATE OR REPLACE TABLE t AS FROM t USING SAMPLE 400 ROWS (reservoir, 1)")
        grid = {"alpha_pr": (0.0, 1.0), "t_div": (0.7,)}
        result = list(s1_experiments.parameter_rows(con, grid))
        assert [(r["parameter"], r["cs_scale"], r["value"]) for r in result] == [
            (name, scale, value) for name in grid for scale in ("raw", "minmax") for value in grid[name]
        ]
        stable = {(r["method"], r["column"]): r for r in s1_experiments.stability_rows(con, case)}
        assert stable["MR Mondrian", "age"]["outside"] > 0.3, "there are negative ages, as in Figure 8"
        assert all(0 <= r["distance"] <= 1 for r in stable.values())
        assert all(r["outside"] == 0 for (method, _), r in stable.items() if method == "proposed")
        assert set(stable) == {(method, column) for method in ("proposed", "MR Mondrian") for column in case.qi}
    with dbanon.connect(":memory:") as con:
        s1_data.load(con, case)
        first, second = s1_experiments.accuracy_rows(con, "adult", 2000)
    assert first["source"] > second["source"] + 0.02
    assert (first["paper"], second["paper"]) == (88.14, 86.31)


@pytest.mark.not_everyday
@pytest.mark.parametrize("name", s1_data.CASES)
def test_data_set_created_with_hierarchies_and_measured(data_folder: Any, name: str) -> None:
    pytest.importorskip("sklearn", reason="influence needs the extra learn")
    case = s1_data.CASES[name]
    with dbanon.connect(":memory:") as con:
        s1_data.load(con, case)
        expected = {"adult": 32_561, "careplans": 12_125, "diabetes": 20_501}[name]
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(expected,)]
        assert (
            con.execute("FROM hierarchy_problems()").fetchall()
            == con.execute("FROM policy_problems()").fetchall()
            == []
        )
        con.execute("CREATE OR REPLACE TABLE t AS FROM t USING SAMPLE 400 ROWS (reservoir, 1)")
        first, *result = s1.measure(con, case, [10])
    assert sum(first["influence"].values()) == pytest.approx(len(case.qi), abs=0.01)
    assert [r["method"] for r in result] == list(s1.METHODS)
    assert all(0 < r["D literal"] <= r["D"] <= 1 and 0 <= r["E"] <= 1 and r["DM"] >= 0 for r in result)
