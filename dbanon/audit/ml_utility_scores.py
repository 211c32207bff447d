"""How much of what can be learned from a table can be learned from a release of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dbanon.audit.prediction import N_TREES, Floats, Ints, forest_labels


@dataclass(frozen=True)
class WeightedRecords:
    """Records that are alike: features (rows, columns), label and how many there are."""

    features: Floats
    labels: Ints
    counts: Ints

    def in_canonical_order(self) -> WeightedRecords:
        """Return the same in an order that follows from them alone."""
        order = np.lexsort((self.labels, *self.features.T[::-1]))
        return WeightedRecords(self.features[order], self.labels[order], self.counts[order])

    def sample(self, n_records: int, random: np.random.Generator) -> WeightedRecords:
        """So many of the records, without replacement."""
        counts = random.multivariate_hypergeometric(self.counts, n_records, method="marginals")
        return WeightedRecords(self.features, self.labels, counts).without_empty()

    def without_empty(self) -> WeightedRecords:
        """Return those of which there are any."""
        is_present = self.counts > 0
        return WeightedRecords(self.features[is_present], self.labels[is_present], self.counts[is_present])


@dataclass(frozen=True)
class ReleasedRecords:
    """Records of a release that are alike, and what their features stand for: `box` (rows, 2 * columns), the lower ends
    and then the upper ones."""

    records: WeightedRecords
    bounds: Floats

    def in_canonical_order(self) -> ReleasedRecords:
        """Return the same in an order that follows from them alone."""
        order = np.lexsort((self.records.labels, *self.bounds.T[::-1], *self.records.features.T[::-1]))
        records = WeightedRecords(self.records.features[order], self.records.labels[order], self.records.counts[order])
        return ReleasedRecords(records, self.bounds[order])

    def remove_people(
        self, people: WeightedRecords, random: np.random.Generator, check: Callable[[], None]
    ) -> WeightedRecords:
        """Return the records without those of some people: of each a random one of the same label whose box holds them.

        Which it is nobody can tell; each is as likely, so that no class loses more than people of it on average.

        O(m * n / labels) time for n different rows and m that are taken out, O(n) memory.
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
    """Of a model: what it learned from, the share of the tested records whose label it says, the mean of these shares
    over the labels, how many records it learned from, and how many it was tested on."""

    trained_on: str
    accuracy: float
    balanced_accuracy: float
    n_training: int
    n_tested: int


@dataclass(frozen=True)
class Training:
    """The share of the records that a model learns from, how many that are at most, and the seed."""

    share: float
    max_records: int
    seed: int


MIN_LEAF_RECORDS = 10
"""Least number of records in a leaf: trees that tell every record apart learn chance, from raw records most of all."""

N_STEPS = 2 * N_TREES
"""How often `scores` calls its step."""

MAX_TEST_RECORDS = 10_000
"""Records that models are tested on, at most."""

BOUND_TOLERANCE = 1e-9
"""Values so near to an end of a box are in it."""


def score_models(
    function: str,
    source: WeightedRecords,
    release: ReleasedRecords,
    training: Training,
    on_tree: Callable[[], None],
    check: Callable[[], None],
) -> list[Score]:
    """The most frequent label, a random forest (Breiman 2001) that learns from the source, and one that learns from the
    release, all tested on records of the source that none of them has seen: they are taken out of the release, too.

    `on_tree` is called before each tree, `check` often; both raise where the call is interrupted. The order of rows
    does not matter. O(trees * d * n log n) time for n different rows. Raises MissingExtraError.
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
    return results


def _score(name: str, training_records: WeightedRecords, test_records: WeightedRecords, predicted: Ints) -> Score:
    n_correct = np.where(predicted == test_records.labels, test_records.counts, 0)
    label_totals = np.bincount(test_records.labels, weights=test_records.counts)
    label_correct = np.bincount(test_records.labels, weights=n_correct)
    occurs = label_totals > 0
    total = int(test_records.counts.sum())
    balanced = float((label_correct[occurs] / label_totals[occurs]).mean())
    return Score(name, float(n_correct.sum() / total), balanced, int(training_records.counts.sum()), total)
