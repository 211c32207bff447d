"""Predict labels of people with a random forest, and the probability that each prediction is right."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dbanon import errors

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

N_TREES = 100


@dataclass(frozen=True)
class Guesses:
    """Predicted label of each target row (-1: no prediction) and the probability that it is right (`confidence`)."""

    labels: Ints
    confidence: Floats

    @property
    def nbytes(self) -> int:
        """The memory of the labels and confidences in bytes."""
        return self.labels.nbytes + self.confidence.nbytes


def guess_labels(
    function: str, features: Floats, labels: Ints, counts: Ints, targets: Floats, seed: int, check: Callable[[], None]
) -> Guesses:
    """Predict the label of each target row, with the probability that it is right.

    The confidence is not the share of votes, which is too optimistic, but the probability by `label_probabilities`. The
    order of training rows does not matter.

    Args:
        function: The calling function, for messages.
        features: (n, d) training rows.
        labels: (n,) their labels.
        counts: (n,) number of records that each row represents.
        targets: (m, d) rows to predict.
        seed: Seed of the forest.
        check: Called often; raises if the call is interrupted.

    Returns:
        (m,) labels and (m,) confidences; without training rows, all labels are -1 with confidence 0.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    order = np.lexsort((labels, *features.T[::-1]))
    features, labels, counts = features[order], labels[order], counts[order]
    if not len(labels) or not len(targets):
        return Guesses(np.full(len(targets), -1, np.int64), np.zeros(len(targets)))
    guessed_labels = forest_labels(f"{function}: kind = 'prediction'", features, labels, counts, targets, seed, check)
    return Guesses(guessed_labels, label_probabilities(features, labels, counts, targets, guessed_labels))


def label_probabilities(features: Floats, labels: Ints, counts: Ints, targets: Floats, guessed_labels: Ints) -> Floats:
    """Return the probability (m,) that each target row has its guessed label.

    It is the label's share among the training records with equal features, shrunk towards its share in all records: the
    more so the fewer these records are and the less the features reveal about labels. Without records of equal features
    it is the share in all records. This is the mean of a Dirichlet posterior whose strength has the greatest likelihood
    for all rows (Minka 2000), so that it is calibrated for any subset of rows.

    Args:
        features: (n, d) training rows.
        labels: (n,) their labels.
        counts: (n,) number of records that each row represents.
        targets: (m, d) target rows.
        guessed_labels: (m,) their guessed labels, which must occur in `labels`.
    """
    codes = np.unique(labels)
    label_codes = np.searchsorted(codes, labels)
    prior = np.bincount(label_codes, weights=counts) / counts.sum()
    cells, cell = np.unique(features, axis=0, return_inverse=True)
    pairs, pair = np.unique(cell.reshape(-1) * len(codes) + label_codes, return_inverse=True)
    cell, label_codes, counts = pairs // len(codes), pairs % len(codes), np.bincount(pair, weights=counts)
    sizes = np.bincount(cell, weights=counts)
    best_likelihood, strength = -math.inf, 0.0
    for candidate in np.geomspace(0.01, 1e6, 41).tolist():
        likelihood = (
            _log_rising_factorial(candidate * prior[label_codes], counts).sum()
            - _log_rising_factorial(np.full(len(sizes), candidate), sizes).sum()
        )
        if likelihood > best_likelihood + 1e-9:
            best_likelihood, strength = float(likelihood), candidate
    cell_indexes = {tuple(features_of_cell): i for i, features_of_cell in enumerate(cells.tolist())}
    pair_counts = dict(zip(zip(cell.tolist(), label_codes.tolist(), strict=True), counts.tolist(), strict=True))
    probabilities = np.empty(len(targets))
    for i, (row, label) in enumerate(
        zip(targets.tolist(), np.searchsorted(codes, guessed_labels).tolist(), strict=True)
    ):
        cell_index = cell_indexes.get(tuple(row))
        size = 0.0 if cell_index is None else sizes[cell_index]
        probabilities[i] = (pair_counts.get((cell_index, label), 0) + strength * prior[label]) / (size + strength)
    return probabilities


def _log_rising_factorial(start: Floats, steps: Ints | Floats) -> Floats:
    """Return the logarithms of start * (start + 1) * ... * (start + steps - 1), elementwise; 0 if `steps` is 0."""
    return np.array([math.lgamma(a + n) - math.lgamma(a) for a, n in zip(start.tolist(), steps.tolist(), strict=True)])


def forest_labels(
    caller: str,
    features: Floats,
    labels: Ints,
    counts: Ints,
    targets: Floats,
    seed: int,
    check: Callable[[], None],
    *,
    min_leaf: int = 1,
) -> Ints:
    """Return the labels (m,) that a random forest of N_TREES trees predicts for the target rows.

    If all training rows have one label, it is returned without a forest.

    Args:
        caller: The function or option that needs the forest, for messages.
        features: (n, d) training rows, at least one.
        labels: (n,) their labels.
        counts: (n,) number of records that each row represents.
        targets: (m, d) rows to predict.
        seed: Seed of the forest.
        check: Called before each tree; raises if the call is interrupted.
        min_leaf: Minimum number of records in a leaf.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    if (labels == labels[0]).all():
        return np.full(len(targets), labels[0], np.int64)
    try:
        from sklearn.tree import DecisionTreeRegressor
    except ImportError:
        raise errors.MissingExtraError(caller, "scikit-learn", "learn") from None
    random = np.random.default_rng(seed)
    codes, code = np.unique(labels, return_inverse=True)
    # Least squares on indicators of the labels equal Gini's impurity.
    indicators = np.eye(len(codes))[code.reshape(-1)]
    distinct_targets, target_indexes = np.unique(targets, axis=0, return_inverse=True)
    votes = np.zeros((len(distinct_targets), len(codes)))
    min_leaf_share = min(min_leaf / int(counts.sum()), 0.5) if min_leaf > 1 else 0.0
    for _ in range(N_TREES):
        check()
        # Sample records with replacement: equal records are drawn by their number.
        sample_counts = random.multinomial(counts.sum(), counts / counts.sum())
        tree = DecisionTreeRegressor(
            max_features="sqrt", random_state=int(random.integers(2**31)), min_weight_fraction_leaf=min_leaf_share
        )
        tree.fit(
            features[sample_counts > 0], indicators[sample_counts > 0], sample_weight=sample_counts[sample_counts > 0]
        )
        votes += tree.predict(distinct_targets)
    return np.asarray(codes[votes.argmax(axis=1)][target_indexes.reshape(-1)], np.int64)
