"""Progress of clustering: a fraction that only grows and does not change the release."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support import by_row

import dbanon
from dbanon import algorithms, errors
from dbanon.algorithms.agglomerative import kaca
from dbanon.algorithms.base import grow_clusters, progress
from dbanon.algorithms.base.progress import MIN_REPORTED_FRACTION, ProgressCheck, as_progress_check
from dbanon.algorithms.centroid import moving_centers
from dbanon.algorithms.diversity import simdiv
from dbanon.algorithms.hybrid import ga_clustering, r_gather
from dbanon.encoding.encoded_table import EncodedTable, NumericAttribute, encode_table
from dbanon.privacy_models.constraint import Constraint


def test_nested_progress_reports_share_of_total() -> None:
    message: list[float] = []
    full_progress_check = ProgressCheck(lambda: None, message.append)
    full_progress_check.advance(0.5)
    full_progress_check.advance(0.5 + MIN_REPORTED_FRACTION / 2)
    full_progress_check.subtask(0.5, 0.9).advance(0.5)
    full_progress_check.subtask(0.9, 1).advance(3)
    assert message == pytest.approx([0.5, 0.7, 1.0])
    assert as_progress_check(full_progress_check) is full_progress_check
    as_progress_check(lambda: None).advance(1)  # a check without progress


def test_subtask_check_raises_like_whole_check() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ProgressCheck(stop, lambda share: None).subtask(0, 0.5)()


@pytest.mark.parametrize(
    "call", ["best('people', k=5", "mondrian('people', k=5", "mondrian('people', k=5, improve=500"]
)
def test_progress_is_monotonic_and_release_unchanged(call: str) -> None:
    rows = np.random.default_rng(7).integers(0, (400, 300, 4), (3000, 3))
    result: list[tuple[float, float]] = []
    releases = []
    for listens in (None, lambda done, saved: result.append((done, saved))):
        with dbanon.connect(progress=listens) as con:
            con.execute("CREATE TABLE people (a INTEGER, b INTEGER, c INTEGER)")
            con.executemany("INSERT INTO people VALUES (?, ?, ?)", rows[:300].tolist())
            con.execute("INSERT INTO people SELECT (a * 7 + i) % 400, (b * 5 + i) % 300, c FROM people, range(5) r(i)")
            releases.append(con.execute(f"FROM {call}, qi=['a', 'b', 'c'])").fetchall())
    shares = [done for done, _ in result]
    assert releases[0] == releases[1]
    assert shares == sorted(shares) and len(shares) > 20
    assert shares[0] < 0.3 and shares[-1] == pytest.approx(1.0, abs=MIN_REPORTED_FRACTION)


# --- estimated time ---------------------------------------------------------------------------------------------------

LARGE = [a.name for a in algorithms.algorithms() if "allow_slow" in {p.name for p in a.own_parameters}]
COUNTED = (
    "oka", "kmeans_no1", "kmeans_no2", "kmeans_no3", "kmeanspp_cloud", "simdiv", "systematic", "bhaladhare",
    "dissimilarity_tree", "dhkmeans", "wfcmeans", "kaca", "r_gather", "multilevel_mdav", "kapp", "ga_clustering",
    "loukides_shao", "s_cpm", "bottom_up_generalization", "tds", "k_optimize", "fmdav", "kl_member", "k_similar",
    "r_cellular",
)  # fmt: skip
"""Algorithms that do not grow clusters one after another, and compute the number of steps in another way."""
GROWN = [name for name in LARGE if name not in COUNTED]


def points(rows: int) -> EncodedTable:
    """Return records of three numbers, all different, and a sensitive column."""
    draws = np.random.default_rng(3)
    numbers = [NumericAttribute(np.arange(float(rows)), True, magnitudes=np.arange(float(rows))) for _ in range(3)]
    columns = [draws.permutation(rows).astype(np.int32) for _ in numbers]
    disease = (draws.integers(0, 5, rows).astype(np.int32), 5, None)
    return encode_table(numbers, columns, np.arange(rows, dtype=np.uint64), None, None, [disease])[0]


def options(name: str, **given: object) -> dict[str, object]:
    defaults_by_name = {p.name: p.default for p in algorithms.find(name).own_parameters} | {"heights": "top"} | given
    return defaults_by_name | ({"influence": "weights"} if name == "simdiv" else {})


def patch_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make searches report after few steps, so that small tables are tested, too."""
    monkeypatch.setattr(moving_centers, "STEPS_PER_CALL", 100)
    monkeypatch.setattr(kaca, "STEPS_PER_CALL", 100)
    monkeypatch.setattr(r_gather, "STEPS_PER_CALL", 100)
    monkeypatch.setattr(ga_clustering, "STEPS_PER_CALL", 100)
    monkeypatch.setattr(simdiv, "SAMPLE_GROUPS", 100)
    monkeypatch.setattr(progress, "STEPS_PER_CALL", 100)


def test_large_lists_all_superlinear_algorithms() -> None:
    grows = re.compile(r"\^2|2\^|/ k|/ \(k")
    assert {a.name for a in algorithms.algorithms() if grows.search(a.complexity)} == set(LARGE)


@pytest.mark.parametrize("name", LARGE)
def test_slow_call_refused_with_estimate_unless_allowed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_small_steps(monkeypatch)
    actual_points, constraint = points(600), Constraint(3)
    usual = by_row.run_labels(algorithms.find(name), actual_points, constraint, options(name))
    monkeypatch.setattr(progress, "MAX_STEPS", 1)
    with pytest.raises(errors.TableTooLargeError) as error_info:
        by_row.run_labels(algorithms.find(name), actual_points, constraint, options(name))
    assert str(error_info.value).startswith(f"{name}: 600 distinct tuples in 200 clusters take some ")
    assert "max_partition = 20000" in str(error_info.value)
    assert (
        by_row.run_labels(algorithms.find(name), actual_points, constraint, options(name, allow_slow=True)).tolist()
        == usual.tolist()
    )


@pytest.mark.parametrize("name", LARGE)
def test_small_tables_are_never_too_large(name: str) -> None:
    for rows in (12, 40, 120):
        by_row.run_labels(algorithms.find(name), points(rows), Constraint(2), options(name))


def test_slow_call_with_small_cells_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    actual_points, constraint, kmember = points(1500), Constraint(3), algorithms.find("kmember")
    message: list[float] = []
    kmember.run(
        actual_points,
        constraint,
        options("kmember"),
        ProgressCheck(lambda: None, lambda _: None, on_estimate=lambda n, _: message.append(n)),
    )
    monkeypatch.setattr(progress, "MAX_STEPS", message[0] / 2)
    with pytest.raises(errors.TableTooLargeError):
        by_row.run_labels(kmember, actual_points, constraint, options("kmember"))
    labels = by_row.run_labels(kmember, actual_points, constraint, options("kmember"), max_cell_tuples=200)
    assert np.bincount(labels).min() >= 3


@pytest.mark.parametrize("name", GROWN)
def test_first_groups_estimate_steps_consistently(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    remaining: list[grow_clusters.GrowthRules] = []

    class Sampling(grow_clusters._GrowthEstimate):
        def __init__(
            self, space: EncodedTable, rules: grow_clusters.GrowthRules, progress_check: ProgressCheck
        ) -> None:
            super().__init__(space, rules, progress_check)
            remaining.append(rules)

    monkeypatch.setattr(grow_clusters, "_GrowthEstimate", Sampling)
    message: list[float] = []
    progress_check = ProgressCheck(lambda: None, lambda _: None, on_estimate=lambda steps, _: message.append(steps))
    for _ in range(2):
        algorithms.find(name).run(points(3000), Constraint(5), options(name), progress_check)
    assert len(message) == 2 and message[0] == message[1]
    assert remaining[0].steps / 5 < message[0] < remaining[0].steps * 5


def test_progress_check_extrapolates_part_to_whole() -> None:
    estimates: list[tuple[float, float]] = []
    progress_check = ProgressCheck(
        lambda: None, lambda _: None, on_estimate=lambda steps, seconds: estimates.append((steps, seconds))
    )
    progress_check.extrapolate(0.01, 500, 0.2)
    progress_check.extrapolate(0.01, 500, 0.2, 2)
    assert estimates == [pytest.approx((50_000, 20)), pytest.approx((100_000, 40))]
    assert progress.cost_factor(10, 1000, 5) == 5 > 1 > progress.cost_factor(900, 1000, 5)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "some 1 seconds"), (41, "some 40 seconds"), (119, "some 100 seconds"), (185, "some 3 minutes"),
        (2400, "some 40 minutes"), (9000, "some 2 hours"), (3 * 86400, "some 3 days"), (1e9, "some 30 years"),
    ],
)  # fmt: skip
def test_duration_text_is_rounded(seconds: float, text: str) -> None:
    assert progress.humanize_duration(seconds) == text


def test_remaining_time_reported_once_known() -> None:
    assert progress.remaining_text(60, 0.2) == ", some 4 minutes left"
    assert progress.remaining_text(2, 0.01) == "", "too early"
    assert progress.remaining_text(60, 0.0) == "", "nothing is done yet"
    assert progress.remaining_text(60, 0.99) == "", "all but done"


def test_slow_call_error_contains_hint(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    con.execute("CREATE TABLE people AS SELECT (i * 7919) % 10007 AS a, (i * 104729) % 9973 AS b FROM range(900) t(i)")
    call = "SELECT count(*) FROM kmember('people', k = 3, qi = ['a', 'b']{})"
    monkeypatch.setattr(progress, "MAX_STEPS", 1000)
    with pytest.raises(Exception, match=r"kmember: 900 distinct tuples in 300 clusters take some .* on this machine"):
        con.execute(call.format(""))
    assert con.execute(call.format(", allow_slow := true")).fetchone() == (900,)
