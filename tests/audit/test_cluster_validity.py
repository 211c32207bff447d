"""Clusters of a release and of its source: k-means, its validity, and the agreement of two clusterings."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from dbanon.audit import cluster_validity
from dbanon.audit.ml_utility_scores import ReleasedRecords, Training, WeightedRecords, score_models


def weighted_points(draw: random.Random) -> tuple[Any, Any, Any, Any]:
    """Return up to nine points of two coordinates, their counts, and two clusterings of them."""
    n = draw.randrange(2, 10)
    points = np.array([[draw.randrange(5) / 4, draw.randrange(5) / 4] for _ in range(n)])
    counts = np.array([draw.randrange(1, 5) for _ in range(n)])
    first, second = (np.array([draw.choice([0, 1, 3]) for _ in range(n)]) for _ in range(2))
    return points, counts, first, second


def plain_davies_bouldin(records: list[tuple[Any, int]]) -> float | None:
    """Return the Davies-Bouldin index of records with the numbers of their clusters, by loops over all pairs."""
    members = {c: [p for p, cluster in records if cluster == c] for c in sorted({c for _, c in records})}
    means = {c: tuple(sum(p[j] for p in ps) / len(ps) for j in range(2)) for c, ps in members.items()}

    def distance(a: Any, b: Any) -> float:
        return float(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5)

    spread = {c: sum(distance(p, means[c]) for p in ps) / len(ps) for c, ps in members.items()}
    if len(members) < 2 or any(distance(means[a], means[b]) < 1e-12 for a in members for b in members if a < b):
        return None
    return sum(
        max((spread[a] + spread[b]) / distance(means[a], means[b]) for b in members if b != a) for a in members
    ) / len(members)


def plain_adjusted_rand(first: list[int], second: list[int]) -> float:
    """Return the adjusted Rand index from all pairs of records."""
    pairs = [(i, j) for i in range(len(first)) for j in range(i)]
    both = sum(first[i] == first[j] and second[i] == second[j] for i, j in pairs)
    in_first = sum(first[i] == first[j] for i, j in pairs)
    in_second = sum(second[i] == second[j] for i, j in pairs)
    expected = in_first * in_second / len(pairs)
    greatest = (in_first + in_second) / 2
    return 1.0 if greatest == expected else (both - expected) / (greatest - expected)


def test_cluster_indices_count_records_as_plain_loops() -> None:
    draw = random.Random(5)
    for _ in range(200):
        points, counts, first, second = weighted_points(draw)
        expanded = [i for i, n in enumerate(counts.tolist()) for _ in range(n)]
        expected = plain_davies_bouldin([(tuple(points[i]), int(first[i])) for i in expanded])
        actual = cluster_validity.davies_bouldin(points, counts, first)
        if expected is None:
            assert actual is None or actual > 1e6  # means that differ by rounding only
        else:
            assert actual == pytest.approx(expected)
        assert cluster_validity.adjusted_rand(first, second, counts) == pytest.approx(
            plain_adjusted_rand([int(first[i]) for i in expanded], [int(second[i]) for i in expanded])
        )
        assert cluster_validity.adjusted_rand(first, 7 - first, counts) == 1


def test_kmeans_reaches_error_of_reference() -> None:
    cluster = pytest.importorskip("sklearn.cluster", reason="the reference needs the extra learn")
    draw = np.random.default_rng(2)
    for n_clusters in (1, 2, 5):
        points, counts = draw.random((80, 2)), draw.integers(1, 4, 80)
        centers = cluster_validity.kmeans_centers(points, counts, n_clusters, np.random.default_rng(1), lambda: None)
        assert len(centers) == n_clusters
        nearest = cluster_validity.nearest_centers(points, centers)
        error = float((counts * ((points - centers[nearest]) ** 2).sum(axis=1)).sum())
        reference = cluster.KMeans(n_clusters, n_init=20, random_state=1).fit(points, sample_weight=counts)
        assert error <= reference.inertia_ * 1.02


def test_kmeans_makes_no_more_clusters_than_distinct_points() -> None:
    points, counts = np.array([[0.0], [1.0], [1.0]]), np.array([3, 1, 2])
    centers = cluster_validity.kmeans_centers(points, counts, 5, np.random.default_rng(1), lambda: None)
    assert sorted(centers.ravel().tolist()) == [0, 1]


def test_release_that_hides_groups_has_low_agreement() -> None:
    pytest.importorskip("sklearn", reason="forests need the extra learn")
    draw = np.random.default_rng(4)
    group = draw.integers(0, 3, 900)
    features = np.column_stack((group / 2 + draw.normal(0, 0.03, 900), draw.random(900) * 0.1))
    source = WeightedRecords(features, (group == 0).astype(np.int64), np.ones(900, np.int64))
    blind = WeightedRecords(np.column_stack((np.full(900, 0.5), features[:, 1])), source.labels, source.counts)
    settings = Training(0.67, 10**6, 1, n_clusters=3)

    def scores(release: WeightedRecords) -> list[Any]:
        bounds = np.tile(features, 2)
        return score_models("f", source, ReleasedRecords(release, bounds), settings, lambda: None, lambda: None)

    majority, original, same = scores(source)
    assert majority.davies_bouldin is majority.cluster_agreement is None
    assert original.cluster_agreement == same.cluster_agreement == 1
    assert original.davies_bouldin == pytest.approx(same.davies_bouldin, abs=0.02) and original.davies_bouldin < 0.3
    hidden = scores(blind)[2]
    assert hidden.cluster_agreement < 0.2 and hidden.davies_bouldin > 1
    without = score_models("f", source, ReleasedRecords(source, np.tile(features, 2)), Training(0.67, 10**6, 1),
                           lambda: None, lambda: None)  # fmt: skip
    assert all(score.davies_bouldin is None and score.cluster_agreement is None for score in without)
