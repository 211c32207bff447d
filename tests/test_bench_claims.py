"""The review's claims about loss: the documented table has all of them, and their benchmark runs."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from support.scale import sample_cases

from tests.bench import claims, review
from tests.bench.review import CLAIMS, UNMEASURED, Claim

HEAD = "loses less | than | place | measure | k = 10 | k = 50 | holds | reason"

PAPERS = Path(__file__).resolve().parents[1] / "docs" / "papers.md"


def documented_rows(head: str) -> list[list[str]]:
    """Return the cells of the table of the section that begins with `head`."""
    section = PAPERS.read_text(encoding="utf-8").partition("\n## The review's claims about loss\n")[2]
    table = section.partition(f"\n| {head} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines()[2:]]


def test_page_lists_claims_and_reasons_of_benchmark() -> None:
    rows = documented_rows(HEAD)
    assert [(*row[:4], row[7]) for row in rows] == [(*claims.claim_cells(c), c.reason) for c in CLAIMS]


def test_documented_figures_agree_with_documented_results() -> None:
    for row in documented_rows(HEAD):
        figures = [[float(f) for f in cell.split(", ")] for cell in row[4:6]]
        smaller = [f"k = {k}" for k, (a, b) in zip((10, 50), figures, strict=True) if a < b]
        assert row[6] == ("yes" if len(smaller) == 2 else smaller[0] if smaller else "no"), row
        assert bool(row[7]) == (row[6] != "yes"), row


def test_documented_counts_agree_with_documented_results() -> None:
    text = re.sub(r"\s+", " ", PAPERS.read_text(encoding="utf-8"))
    holds = [row[6] for row in documented_rows(HEAD)]
    counts = [holds.count("yes"), holds.count("no"), len([h for h in holds if h.startswith("k = ")])]
    expected = (
        f"Of the {len(CLAIMS)} claims, {counts[0]} hold at both k, {counts[1]} at neither, and {counts[2]} at one"
    )
    assert expected in text


def test_page_lists_unmeasured_claims() -> None:
    assert [tuple(row) for row in documented_rows("loses less | than | place | why it is not measured")] == [
        tuple(claim) for claim in UNMEASURED
    ]


def test_claims_are_distinct_and_reasons_name_cause() -> None:
    assert len({(c.algorithm, c.baseline) for c in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert not claim.reason or claim.reason.partition(":")[0] in review.CAUSES, claim
        assert claim.reason.endswith(".") or not claim.reason
        assert claim.measure in claims.MEASURES and claim.data in claims.TABLES


@pytest.mark.parametrize(
    ("results", "reason", "is_problem"),
    [
        ({10: (0.1, 0.2), 50: (0.3, 0.4)}, "", False),
        ({10: (0.1, 0.2), 50: (0.3, 0.4)}, "The claim: no.", True),
        ({10: (0.1, 0.2), 50: (0.4, 0.4)}, "", True),
        ({10: (0.2, 0.1), 50: (0.3, 0.4)}, "The claim: no.", False),
    ],
)
def test_outcome_reports_missing_or_unneeded_reason(
    results: dict[int, tuple[float, float]], reason: str, is_problem: bool
) -> None:
    outcome = claims.Outcome(Claim("kmember", "mondrian", "IV", reason=reason), results)
    assert bool(outcome.problem) == is_problem
    assert outcome.holds == [k for k in results if results[k][0] < results[k][1]]


def test_traditional_counts_require_every_k() -> None:
    losses = {"oka": (0.2, 0.4), "ikac": (0.1, 0.1), "mondrian": (0.3, 0.3), "datafly": (0.9, 0.9)}
    means = {
        (name, "adult", k): {"loss": x} for name, pair in losses.items() for k, x in zip((5, 9), pair, strict=True)
    }
    means |= {("fads", "adult", k): {"average_loss": 0.0} for k in (5, 9)}
    means |= {("gccg(parts := 4)", "adult", k): {"loss": 0.0} for k in (5, 9)}
    assert claims.traditional_counts(means) == (2, {"mondrian": 1, "datafly": 2})


def merged_loss(numbers: np.ndarray, linkage: str, k: int) -> float:
    """Return the loss of hierarchical clustering, by loops over all pairs of clusters."""
    points = (numbers - numbers.min(axis=0)) / (numbers.max(axis=0) - numbers.min(axis=0))
    clusters = [[i] for i in range(len(points))]
    summary = {"single": min, "complete": max, "average": lambda values: sum(values) / len(values)}[linkage]

    def join(pair: tuple[int, int]) -> None:
        first, second = sorted(pair)
        clusters[first] += clusters.pop(second)

    while len(clusters) > len(points) // k:
        join(
            min(
                combinations(range(len(clusters)), 2),
                key=lambda p: summary(
                    [float(np.linalg.norm(points[i] - points[j])) for i in clusters[p[0]] for j in clusters[p[1]]]
                ),
            )
        )
    while min(map(len, clusters)) < k:
        small = min(range(len(clusters)), key=lambda c: len(clusters[c]))
        means = [points[c].mean(axis=0) for c in clusters]
        others = [c for c in range(len(clusters)) if c != small]
        join((small, min(others, key=lambda c: float(np.linalg.norm(means[c] - means[small])))))
    return sum(len(c) * float(np.ptp(points[c], axis=0).sum()) for c in clusters) / points.size


@pytest.mark.not_everyday
@pytest.mark.parametrize("linkage", claims.LINKAGES.values())
def test_linkage_loss_equals_loops(linkage: str) -> None:
    pytest.importorskip("sklearn", reason="hierarchical clustering needs the extra learn")
    numbers = np.random.default_rng(5).normal(size=(24, 2)).round(3)
    losses = [claims.linkage_loss(numbers, linkage, k) for k in (2, 3, 5)]
    assert losses == pytest.approx([merged_loss(numbers, linkage, k) for k in (2, 3, 5)])


@pytest.mark.not_everyday
def test_measured_loss_counts_suppressed_records(data_folder: Path) -> None:
    """The oracle reads the published intervals; suppressed records are not published."""
    con, columns = claims.prepare(0, 300), claims.TABLES["numbers"]
    result = claims.measure(con, "kmeanspp_cloud", "numbers", 5, 0, ["loss"])
    bounds = ", ".join(f"{c}_max - {c}_min AS {c}" for c in columns)
    lowest = ", ".join(f"max({c}_max) - min({c}_min)" for c in columns)
    published = "kmeanspp_cloud('numbers', k := 5, seed := 0, intervals := 'bounds')"
    ranges = con.execute(f"SELECT {lowest} FROM {published}").fetchall()[0]
    rows = con.execute(f"SELECT {bounds} FROM {published}").fetchall()
    assert 200 < len(rows) < 300
    lost = sum(cell / r if r else 0.0 for row in rows for cell, r in zip(row, ranges, strict=True))
    assert result["loss"] == pytest.approx((lost + (300 - len(rows)) * len(columns)) / (300 * len(columns)))
    assert result["loss"] == pytest.approx(result["ncp"])


@pytest.mark.not_everyday
def test_benchmark_measures_all_claims_on_few_records(data_folder: Path) -> None:
    pytest.importorskip("sklearn", reason="hierarchical clustering needs the extra learn")
    means = claims.measurements(ks=(5,), seeds=(0,), rows=300)
    results = claims.outcomes(means, ks=(5,))
    assert [o.claim for o in results] == list(CLAIMS)
    for outcome in results:
        for values in outcome.results.values():
            assert all(0 <= value <= (50 if outcome.claim.measure == "divergence" else 1) for value in values)
    assert len(list(claims.table_rows(results))) == len(CLAIMS) + 1
    n_clusterings, counts = claims.traditional_counts(means)
    assert counts.keys() == {"mondrian", "incognito", "datafly"}
    assert all(0 <= count <= n_clusterings for count in counts.values())


@pytest.mark.not_everyday
def test_documented_figures_equal_measured(data_folder: Path) -> None:
    pytest.importorskip("sklearn", reason="hierarchical clustering needs the extra learn")
    rows = {tuple(row[:4]): row[4:6] for row in documented_rows(HEAD)}
    for claim in sample_cases(CLAIMS, share=25):
        (outcome,) = claims.outcomes(claims.measurements([claim]), [claim])
        documented = [float(f) for cell in rows[claims.claim_cells(claim)] for f in cell.split(", ")]
        assert [f for pair in outcome.results.values() for f in pair] == pytest.approx(documented, abs=5.1e-5), claim
