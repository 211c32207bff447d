"""ml_utility: how much a release preserves for learning, on planted data and compared with another forest."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import numpy as np
import pytest

import dbanon
from dbanon.audit import ml_utility_scores
from dbanon.audit.ml_utility_scores import ReleasedRecords, Training, WeightedRecords

COLUMNS = [
    "trained_on", "accuracy", "balanced_accuracy", "f_measure", "retained_gain", "n_train", "n_test", "davies_bouldin",
    "cluster_agreement",
]  # fmt: skip
TREE = [["a1", "A", "*"], ["a2", "A", "*"], ["b1", "B", "*"], ["b2", "B", "*"]]


@pytest.fixture(scope="module")
def con() -> Iterator[Any]:
    connection = dbanon.attach(duckdb.connect())
    draw = random.Random(3)
    people = [(draw.randrange(80), draw.choice(TREE)[0]) for _ in range(2000)]
    rows = [(age, ward, "old" if age > 40 else "young", ward[0], "x") for age, ward in people]
    connection.execute("CREATE TABLE people (age INTEGER, ward VARCHAR, old VARCHAR, side VARCHAR, one VARCHAR)")
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
    dbanon.load_hierarchy(connection, "wards", TREE)
    dbanon.declare(
        connection,
        "people",
        age="quasi",
        ward=("quasi", "wards"),
        old="sensitive",
        side="insensitive",
        one="insensitive",
    )
    connection.execute("CREATE TABLE safe AS FROM kacpc('people', k = 5)")
    connection.execute("CREATE TABLE blind AS SELECT '*' AS age, ward, old, side FROM people")
    connection.execute("CREATE TABLE sides AS SELECT age, upper(ward[1]) AS ward, old, side FROM people")
    yield connection
    connection.close()


def metric_values(con: Any, release: str, extra_arguments: str = "") -> dict[str, dict[str, Any]]:
    result = con.execute(f"FROM ml_utility('{release}', 'people'{extra_arguments})")
    names = [column[0] for column in result.description]
    assert names == COLUMNS
    rows = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
    assert [row["trained_on"] for row in rows] == ["majority", "source", "release"]
    return {row["trained_on"]: row for row in rows}


def test_decisive_attribute_kept_or_lost(con: Any) -> None:
    scores_by_training = metric_values(con, "safe")
    assert scores_by_training["source"]["accuracy"] > 0.98 and scores_by_training["release"]["accuracy"] > 0.95
    assert (
        scores_by_training["majority"]["retained_gain"] == 0
        and scores_by_training["source"]["retained_gain"] == 1
        and scores_by_training["release"]["retained_gain"] > 0.9
    )
    assert (
        scores_by_training["majority"]["accuracy"] < 0.6 and scores_by_training["majority"]["balanced_accuracy"] == 0.5
    )
    blind = metric_values(con, "blind")
    assert blind["source"] == scores_by_training["source"] and abs(blind["release"]["retained_gain"]) < 0.2
    # Only the side of a ward matters: a release of sides keeps it whole.
    assert metric_values(con, "sides", ", target = 'side'")["release"]["accuracy"] == 1
    assert metric_values(con, "sides")["source"]["n_test"] == 660


def test_single_valued_target_has_null_kept_share(con: Any) -> None:
    con.execute("CREATE OR REPLACE TABLE ones AS SELECT age, ward, one FROM people")
    for row in metric_values(con, "ones", ", target = 'one'").values():
        assert row["accuracy"] == 1 and row["retained_gain"] is None


def test_source_worse_than_majority_has_null_retained_gain(con: Any) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE noise AS SELECT hash(i) % 1000 AS age, hash(i + 7) % 1000 AS ward, "
        "IF(hash(i + 9) % 10 < 6, 'x', 'y') AS side FROM range(600) AS r (i)"
    )
    query = "FROM ml_utility('noise', 'noise', target = 'side', qi = ['age', 'ward'])"
    scores = {row[0]: row for row in con.execute(query).fetchall()}
    assert scores["source"][1] < scores["majority"][1]
    assert all(row[4] is None for row in scores.values())


def test_ml_utility_depends_only_on_rows_and_seed(con: Any) -> None:
    first_scores = metric_values(con, "safe", ", seed = 4")
    con.execute("CREATE OR REPLACE TABLE other AS SELECT * FROM safe ORDER BY hash(safe::VARCHAR)")
    dbanon.clear_cache(con)
    assert metric_values(con, "other", ", seed = 4") == first_scores
    assert metric_values(con, "safe", ", seed = 5") != first_scores
    subset = metric_values(con, "safe", ", records = 50, train = 0.5")
    assert subset["release"]["n_train"] == subset["source"]["n_train"] == 50 and subset["source"]["n_test"] == 1000


def test_clusters_compared_if_requested(con: Any) -> None:
    assert all(row["cluster_agreement"] is None for row in metric_values(con, "safe").values())
    scores = metric_values(con, "safe", ", clusters = 4")
    assert scores["majority"]["davies_bouldin"] is None
    assert scores["source"]["cluster_agreement"] == 1 and scores["release"]["cluster_agreement"] > 0.7
    blind = metric_values(con, "blind", ", clusters = 4")
    assert blind["source"] == scores["source"]
    assert blind["release"]["cluster_agreement"] < scores["release"]["cluster_agreement"]


def test_ml_utility_accepts_bounds_and_missing_values(con: Any) -> None:
    con.execute("CREATE OR REPLACE TABLE bounds AS FROM kacpc('people', k = 5, intervals = 'bounds')")
    assert metric_values(con, "bounds")["release"]["accuracy"] > 0.95
    con.execute(
        "CREATE OR REPLACE TABLE unknown AS SELECT IF(old = 'old', NULL, age::VARCHAR) AS age, ward, old FROM people"
    )
    con.execute("CREATE OR REPLACE TABLE gaps AS SELECT IF(old = 'old', NULL, age) AS age, ward, old FROM people")
    dbanon.declare(con, "gaps", age="quasi", ward=("quasi", "wards"), old="sensitive")
    result = con.execute(
        "SELECT accuracy FROM ml_utility('unknown', 'gaps', target = 'old') WHERE trained_on <> 'majority'"
    )
    assert all(accuracy > 0.99 for (accuracy,) in result.fetchall())


def rows_of(draw: random.Random, number: int) -> WeightedRecords:
    features = np.array([[draw.random(), draw.randrange(4) / 3] for _ in range(number)])
    labels = np.array([int(a + 0.3 * b + draw.gauss(0, 0.2) > 0.6) for a, b in features])
    return WeightedRecords(features, labels, np.array([draw.randrange(1, 4) for _ in range(number)]))


@pytest.mark.parametrize("seed", range(3))
def test_scores_close_to_reference_forest(seed: int) -> None:
    from sklearn.ensemble import RandomForestClassifier

    draw = random.Random(seed)
    source, release = rows_of(draw, 1500), rows_of(draw, 1500)
    boxes = ReleasedRecords(release, np.tile(release.features, 2))
    score_models = ml_utility_scores.score_models(
        "f", source, boxes, Training(0.67, 10**6, seed), lambda: None, lambda: None
    )
    scores = {s.trained_on: s for s in score_models}
    for name, rows in (("source", source), ("release", release)):
        random_forest_classifier = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
        random_forest_classifier.fit(rows.features[:1000], rows.labels[:1000], sample_weight=rows.counts[:1000])
        right = random_forest_classifier.predict(source.features[1000:]) == source.labels[1000:]
        weight = source.counts[1000:]
        assert abs(scores[name].accuracy - (right * weight).sum() / weight.sum()) < 0.05


def plain_f_measure(labels: Sequence[int], guesses: Sequence[int], records: Sequence[int]) -> float:
    """Return the mean F-measure of the labels that occur, from counts of right and wrong guesses of each."""
    pairs = [(label, guess) for label, guess, n in zip(labels, guesses, records, strict=True) for _ in range(n)]
    measures = []
    for one in {label for label, _ in pairs}:
        right = sum(label == guess == one for label, guess in pairs)
        precision = right / max(sum(guess == one for _, guess in pairs), 1)
        recall = right / sum(label == one for label, _ in pairs)
        measures.append(2 * precision * recall / (precision + recall) if right else 0.0)
    return sum(measures) / len(measures)


def plain_accuracy(labels: Sequence[int], guesses: Sequence[int], records: Sequence[int]) -> tuple[float, float]:
    """Return accuracy and balanced accuracy, computed record by record."""
    all_values = [(label, guess) for label, guess, n in zip(labels, guesses, records, strict=True) for _ in range(n)]
    shares = [
        sum(guess == one for label, guess in all_values if label == one) / sum(label == one for label, _ in all_values)
        for one in {label for label, _ in all_values}
    ]
    return sum(label == guess for label, guess in all_values) / len(all_values), math.fsum(shares) / len(shares)


def test_remove_people_removes_only_matching_records() -> None:
    """Each record takes a record of the same label whose box holds it, while there is one, and no other."""
    draw = random.Random(2)
    for turn in range(60):
        boxes = sorted(
            ([a, b], [a + draw.randrange(3), b + draw.randrange(3)], draw.randrange(2), draw.randrange(1, 4))
            for a, b in ((draw.randrange(4), draw.randrange(4)) for _ in range(draw.randrange(1, 9)))
        )
        place, label, records = (draw.randrange(5), draw.randrange(5)), draw.randrange(2), draw.randrange(1, 9)
        rows = WeightedRecords(
            np.array([low for low, *_ in boxes], float), *(np.array([b[i] for b in boxes]) for i in (2, 3))
        )
        release = ReleasedRecords(rows, np.array([[*low, *high] for low, high, *_ in boxes], float))
        weighted_records = WeightedRecords(np.array([place], float), np.array([label]), np.array([records]))
        people = release.remove_people(weighted_records, np.random.default_rng(turn), lambda: None)
        fits = [
            box_label == label and all(a <= x <= b for a, x, b in zip(low, place, high, strict=True))
            for low, high, box_label, _ in boxes
        ]
        stored_total = sum(n for fit, (*_, n) in zip(fits, boxes, strict=True) if fit)
        assert people.counts.sum() == rows.counts.sum() - min(records, stored_total)
        kept_values = [(low, n) for fit, (low, _, box_label, n) in zip(fits, boxes, strict=True) if not fit]
        pairs = list(zip(people.features.astype(int).tolist(), people.counts.tolist(), strict=True))
        assert all(one in pairs for one in kept_values)


def test_overlapping_boxes_lose_proportional_records() -> None:
    """The wide box has three times the records of the narrow one and loses three times as many."""
    rows = WeightedRecords(np.array([[1.0], [2.0]]), np.array([0, 0]), np.array([3000, 1000]))
    weighted_records = WeightedRecords(np.array([[1.5]]), np.array([0]), np.array([800]))
    people = ReleasedRecords(rows, np.array([[0.0, 5.0], [1.0, 2.0]])).remove_people(
        weighted_records, np.random.default_rng(1), lambda: None
    )
    assert abs(people.counts[1] - 800) < 40 and people.counts.sum() == 3200


def test_unchanged_release_keeps_full_utility(con: Any) -> None:
    draw = random.Random(11)
    rows = [(age := draw.randrange(50), "x" if draw.random() < age / 50 else "y") for _ in range(4000)]
    con.execute("CREATE OR REPLACE TABLE noisy (age INTEGER, of VARCHAR)")
    con.executemany("INSERT INTO noisy VALUES (?, ?)", rows)
    actual_rows = con.execute("FROM ml_utility('noisy', 'noisy', qi = ['age'], target = 'of')").fetchall()
    assert actual_rows[1][1:4] == actual_rows[2][1:4] and actual_rows[1][5:7] == actual_rows[2][5:7] == (2680, 1320)


def test_ml_utility_scores_are_weighted_by_records() -> None:
    draw = random.Random(9)
    for _ in range(50):
        number = draw.randrange(1, 8)
        labels, guesses = ([draw.choice([0, 1, 4]) for _ in range(number)] for _ in range(2))
        records = [draw.randrange(1, 5) for _ in range(number)]
        weighted_records = WeightedRecords(np.zeros((number, 1)), np.array(labels), np.array(records))
        score = ml_utility_scores._score("x", weighted_records, weighted_records, np.array(guesses))
        assert (score.accuracy, score.balanced_accuracy) == pytest.approx(plain_accuracy(labels, guesses, records))
        assert score.f_measure == pytest.approx(plain_f_measure(labels, guesses, records))
        assert score.n_tested == sum(records)


def test_unlearnable_target_reported(con: Any) -> None:
    def assert_refused(match: str, call: str) -> None:
        with pytest.raises(duckdb.Error, match=match):
            con.execute(f"FROM ml_utility({call})").fetchall()

    assert_refused("has no column 'nope'", "'safe', 'people', target = 'nope'")
    assert_refused("two roles: quasi and target", "'safe', 'people', target = 'age'")
    con.execute("CREATE OR REPLACE TABLE numbers AS SELECT ward, row_number() OVER () AS n FROM people")
    assert_refused(
        "n has 2000 values; a model learns to distinguish at most 100",
        "'numbers', 'numbers', qi = ['ward'], target = 'n'",
    )
    con.execute("CREATE OR REPLACE TABLE two AS SELECT age, ward, old, old AS older FROM people")
    dbanon.declare(con, "two", age="quasi", ward="quasi", old="sensitive", older="sensitive")
    assert_refused("target is missing", "'two', 'two'")
    con.execute("CREATE OR REPLACE TABLE none AS SELECT age, ward, NULL::VARCHAR AS old FROM people")
    assert_refused("fewer than two records", "'none', 'people', target = 'old'")
    con.execute("CREATE OR REPLACE TABLE empty AS FROM safe LIMIT 0")
    assert_refused("no rows", "'empty', 'people', target = 'old'")
