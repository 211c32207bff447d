"""The benchmark of the similarity-and-diversity paper's tables: the paper's numbers, ours, and the best method."""

from __future__ import annotations

from typing import Any

import pytest

import dbanon
from tests.bench import s1


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
        {"k": k, "method": method} | dict.fromkeys(s1.METRICS, (proposed if method in s1.PROPOSED else others)[i])
        for i, k in enumerate((2, 5))
        for method in s1.METHODS
    ]


def test_s1_summary_counts_best_k_and_improvement() -> None:
    summaries = list(s1.summary("adult", rows((0.5, 0.6), (1.0, 0.5))))
    assert {t["metric"] for t in summaries} == set(s1.METRICS)
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


@pytest.mark.not_everyday
@pytest.mark.parametrize("name", s1.CASES)
def test_data_set_created_with_hierarchies_and_measured(data_folder: Any, name: str) -> None:
    pytest.importorskip("sklearn", reason="influence needs the extra learn")
    case = s1.CASES[name]
    with dbanon.connect(":memory:") as con:
        s1.load(con, case)
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
