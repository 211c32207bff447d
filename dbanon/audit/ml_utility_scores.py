"""Train models on a source and on its release, and score both on records that neither has seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dbanon.audit import cluster_validity
from dbanon.audit.prediction import N_TREES, Floats, Ints, forest_labels


@dataclass(frozen=True)
class WeightedRecords:
    """Distinct records with their number: features (rows, columns), labels (rows,) and counts (rows,).

    The label is the value that models predict from the features. `counts` are numbers of equal records.
    """

    features: Floats
    labels: Ints
    counts: Ints

    def in_canonical_order(self) -> WeightedRecords:
        """Return the records sorted by features and label, so that results do not depend on the order of rows."""
        order = np.lexsort((self.labels, *self.features.T[::-1]))
        return WeightedRecords(self.features[order], self.labels[order], self.counts[order])

    def sample(self, n_records: int, random: np.random.Generator) -> WeightedRecords:
        """Return `n_records` of the records, drawn at random without replacement, with their new counts."""
        counts = random.multivariate_hypergeometric(self.counts, n_records, method="marginals")
        return WeightedRecords(self.features, self.labels, counts).without_empty()

    def without_empty(self) -> WeightedRecords:
        """Return the records without the rows whose count is zero."""
        is_present = self.counts > 0
        return WeightedRecords(self.features[is_present], self.labels[is_present], self.counts[is_present])


@dataclass(frozen=True)
class ReleasedRecords:
    """Distinct records of a release and the intervals that they publish.

    Attributes:
        records: The records, with one number per feature.
        bounds: (rows, 2 * columns) lower ends, then upper ends of the features.
    """

    records: WeightedRecords
    bounds: Floats

    def in_canonical_order(self) -> ReleasedRecords:
        """Return the records sorted by features, intervals and label, so that the order of rows has no effect."""
        order = np.lexsort((self.records.labels, *self.bounds.T[::-1], *self.records.features.T[::-1]))
        records = WeightedRecords(self.records.features[order], self.records.labels[order], self.records.counts[order])
        return ReleasedRecords(records, self.bounds[order])

    def remove_people(
        self, people: WeightedRecords, random: np.random.Generator, check: Callable[[], None]
    ) -> WeightedRecords:
        """Return the released records without those of some people.

        For each person, a random record is removed among those with the person's label whose intervals contain the
        person's features; none if there is no such record. Each is equally likely, so that on average no class loses
        more than its share of people. Row counts that become 0 are omitted.

        O(m * n / labels) time for n distinct records and m removed people, O(n) memory.

        Args:
            people: The people to remove, as records of the source.
            random: The random numbers.
            check: Called for each distinct person; raises if the call is interrupted.
        """
        low, high = np.split(self.bounds, 2, axis=1)
        remaining = self.records.counts.copy()
        rows_by_label = {
            int(label): np.flatnonzero(self.records.labels == label) for label in np.unique(self.records.labels)
        }
        for point, label, count in zip(people.features, people.labels.tolist(), people.counts.tolist(), strict=True):
            check()
            same_label = rows_by_label.get(label, np.empty(0, np.int64))
            matching = same_label[
                ((low[same_label] <= point + BOUND_TOLERANCE) & (point - BOUND_TOLERANCE <= high[same_label])).all(
                    axis=1
                )
            ]
            n_matching = int(remaining[matching].sum())
            if n_matching:
                remaining[matching] -= random.multivariate_hypergeometric(
                    remaining[matching], min(count, n_matching), method="marginals"
                )
        return WeightedRecords(self.records.features, self.records.labels, remaining).without_empty()


@dataclass(frozen=True)
class Score:
    """The quality of a model's predictions of the labels of the test records.

    Attributes:
        trained_on: "majority", "source" or "release".
        accuracy: Share of test records whose label is predicted correctly.
        balanced_accuracy: Mean, over the labels that occur in the test, of the share of their records predicted
            correctly.
        f_measure: Mean, over the same labels, of the harmonic mean of precision (share of the predictions of a label
            that are right) and recall (share of its records predicted correctly).
        n_training: Number of records that the model was trained on.
        n_tested: Number of records that it was tested on.
        davies_bouldin: Davies-Bouldin index of the clusters in which k-means on the training records divides the test
            records; None without `Training.n_clusters`, for "majority", and if all are in one cluster.
        cluster_agreement: Adjusted Rand index of these clusters and those by the training records of the source.
    """

    trained_on: str
    accuracy: float
    balanced_accuracy: float
    f_measure: float
    n_training: int
    n_tested: int
    davies_bouldin: float | None = None
    cluster_agreement: float | None = None


@dataclass(frozen=True)
class Training:
    """Settings of the training.

    Attributes:
        share: Share of the source's records to train on.
        max_records: Maximum number of training records.
        seed: Seed of the random numbers.
        n_clusters: Number of clusters of k-means; None: none are made.
    """

    share: float
    max_records: int
    seed: int
    n_clusters: int | None = None


MIN_LEAF_RECORDS = 10
"""Minimum number of records in a leaf: trees that isolate every record learn noise, most of all from source records."""

N_STEPS = 2 * N_TREES
"""Number of calls of `on_tree` by `score_models`."""

MAX_TEST_RECORDS = 10_000
"""Maximum number of records that models are tested on."""

BOUND_TOLERANCE = 1e-9
"""Tolerance within which a value counts as inside an interval."""


def score_models(
    function: str,
    source: WeightedRecords,
    release: ReleasedRecords,
    training: Training,
    on_tree: Callable[[], None],
    check: Callable[[], None],
) -> list[Score]:
    """Score three models on the same test records: the majority label, a forest of the source, a forest of the release.

    The forests are random forests (Breiman 2001). Test records are drawn from the source and removed from the release,
    so that no model has seen them. At most MAX_TEST_RECORDS are tested. Both forests learn from at most
    `training.share` of the source's records. The order of rows does not matter.

    O(trees * d * n log n) time for n distinct rows.

    Args:
        function: The calling function, for messages.
        source: The records of the source, at least two.
        release: The records of the release.
        training: Share and maximum number of training records, the seed, and the number of clusters.
        on_tree: Called before each tree; raises if the call is interrupted.
        check: Called often; raises if the call is interrupted.

    Returns:
        Scores of "majority", "source" and "release", in this order. A forest without training records has accuracy 0.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    random = np.random.default_rng(training.seed)
    source, release = source.in_canonical_order(), release.in_canonical_order()
    n_records = int(source.counts.sum())
    n_training = min(max(round(training.share * n_records), 1), n_records - 1)
    training_counts = random.multivariate_hypergeometric(source.counts, n_training, method="marginals")
    training_records = WeightedRecords(source.features, source.labels, training_counts).without_empty()
    test_records = WeightedRecords(source.features, source.labels, source.counts - training_counts).without_empty()
    test_records = test_records.sample(min(n_records - n_training, MAX_TEST_RECORDS), random)
    remaining_release = release.remove_people(test_records, random, check)
    training_sets = [
        rows.sample(min(int(rows.counts.sum()), n_training, training.max_records), random)
        for rows in (training_records, remaining_release)
    ]
    majority_labels = np.full(
        len(test_records.labels), np.bincount(training_records.labels, weights=training_records.counts).argmax()
    )
    results = [_score("majority", training_records, test_records, majority_labels)]
    for name, rows in zip(("source", "release"), training_sets, strict=True):
        if len(rows.labels):
            model_input = (rows.features, rows.labels, rows.counts, test_records.features)
            predicted = forest_labels(function, *model_input, training.seed, on_tree, min_leaf=MIN_LEAF_RECORDS)
        else:
            predicted = np.full(len(test_records.labels), -1)
        results.append(_score(name, rows, test_records, predicted))
    if training.n_clusters is None:
        return results
    return [results[0], *_with_clusters(results[1:], training_sets, test_records, training, check)]


def _with_clusters(
    scores: Sequence[Score],
    training_sets: Sequence[WeightedRecords],
    test_records: WeightedRecords,
    training: Training,
    check: Callable[[], None],
) -> list[Score]:
    """Return the scores of source and release with those of the clusters that k-means finds in their training records.

    Each test record is in the cluster of the nearest center. Scores of a training set without records are unchanged.
    """
    results, first = list(scores), None
    for i, rows in enumerate(training_sets):
        if not len(rows.labels):
            continue
        centers = cluster_validity.kmeans_centers(
            rows.features, rows.counts, training.n_clusters or 1, np.random.default_rng(training.seed), check
        )
        clusters = cluster_validity.nearest_centers(test_records.features, centers)
        first = clusters if first is None else first
        results[i] = replace(
            scores[i],
            davies_bouldin=cluster_validity.davies_bouldin(test_records.features, test_records.counts, clusters),
            cluster_agreement=cluster_validity.adjusted_rand(first, clusters, test_records.counts),
        )
    return results


def _score(name: str, training_records: WeightedRecords, test_records: WeightedRecords, predicted: Ints) -> Score:
    """Return accuracy, balanced accuracy and F-measure of predicted labels, weighted by the counts of the test records.

    `predicted` has one label per row of `test_records`, -1 for none. `training_records` are only counted.
    """
    n_correct = np.where(predicted == test_records.labels, test_records.counts, 0)
    label_totals = np.bincount(test_records.labels, weights=test_records.counts)
    label_correct = np.bincount(test_records.labels, weights=n_correct)
    occurs = label_totals > 0
    total = int(test_records.counts.sum())
    balanced = float((label_correct[occurs] / label_totals[occurs]).mean())
    is_guess = (predicted >= 0) & (predicted < len(label_totals))
    n_predicted = np.bincount(
        predicted[is_guess], weights=test_records.counts[is_guess], minlength=len(label_totals)
    ).astype(np.float64)
    f_measure = float((2 * label_correct[occurs] / (label_totals[occurs] + n_predicted[occurs])).mean())
    accuracy = float(n_correct.sum() / total)
    return Score(name, accuracy, balanced, f_measure, int(training_records.counts.sum()), total)
