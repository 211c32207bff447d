"""The influence of quasi-identifiers on a sensitive attribute, by a random forest.

It is how much worse the trees of the forest predict the sensitive attribute when the values of one column are shuffled
(Majeed et al. 2024, section 3.3, Equations 2-8). The forest (Breiman 2001) depends on codes, counts and a seed alone:
each tree has its own random stream, and the order of equal records does not matter. Codes are ranks (leaf order for
categories, NULL last), and trees use nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from dbanon import errors
from dbanon.encoding.encoded_table import EncodedTable, Floats, Ints, SensitiveColumn
from dbanon.table_functions.parameter_types import Choice, Float, Integer
from dbanon.table_functions.parameters import Parameter

SCORES = ("zeta_over_sigma", "paper", "mean")
"""Ways to combine the trees' drops in accuracy to one score."""

SCORE = Parameter(
    "influence",
    Choice(SCORES),
    "Score of an attribute from the trees' drops in accuracy: mean over standard deviation (zeta_over_sigma), standard "
    "deviation over mean, as the paper prints it (paper), or mean.",
    "zeta_over_sigma",
)
TREES = Parameter("trees", Integer(1, 100_000), "Number of trees of the random forest; the paper uses 221 to 491.", 291)
MTRY = Parameter("mtry", Integer(1), "Number of attributes from which a split may choose; default: all.")
NODE_SIZE = Parameter("node_size", Integer(1), "Least number of records in a leaf of a tree.", 1)
FRACTION = Parameter(
    "sample_fraction", Float(0, 1, above=True), "Share of the records that each tree draws, with replacement.", 0.8
)
TRAIN = Parameter("train", Float(0, 1, above=True), "Share of the records that the forest is trained on.", 0.67)
FOREST = Parameter(
    "forest",
    Choice(("auto", "classification", "regression")),
    "What the trees predict: regression for a sensitive column of numbers, classification for others (auto).",
    "auto",
)
PARAMETERS = (TREES, MTRY, NODE_SIZE, FRACTION, TRAIN, FOREST)
"""Parameters of the forest itself."""


@dataclass(frozen=True)
class ForestSettings:
    """The settings of a random forest; fields and defaults are those of the parameters."""

    trees: int = 291
    mtry: int | None = None
    node_size: int = 1
    sample_fraction: float = 0.8
    train: float = 0.67
    forest: str = "auto"
    seed: int = 0

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> ForestSettings:
        """Return the settings from the options of a call; options that are missing or None get the defaults."""
        return cls(**{f.name: options[f.name] for f in fields(cls) if options.get(f.name) is not None})


@dataclass(frozen=True)
class AttributeInfluence:
    """The influence of each attribute on a sensitive column, as a forest measures it.

    Attributes:
        zeta: Mean over the trees of the drop in accuracy when the attribute's values are shuffled.
        sigma: Standard deviation of this drop over the trees.
        accuracy: Mean over the trees of the accuracy on the records outside their samples.
        test_accuracy: Mean over the trees of the accuracy on the records kept for the test.

    For a regression, accuracy is 1 - (mean squared error / variance of the sensitive attribute).
    """

    zeta: Floats
    sigma: Floats
    accuracy: float
    test_accuracy: float

    def scores(self, score: str) -> Floats:
        """Return one score for each attribute, never below 0.

        `score` is 'mean' (zeta), 'paper' (sigma / zeta) or anything else: zeta / sigma. A division by 0 gives 0. The
        paper prints sigma / zeta (Eq. 5), which is greatest for an attribute of least influence; its text, and the
        usual importance of a forest, is zeta / sigma.
        """
        if score == "mean":
            ratios = self.zeta
        else:
            over, under = (self.sigma, self.zeta) if score == "paper" else (self.zeta, self.sigma)
            ratios = np.divide(over, under, out=np.zeros(len(over)), where=under != 0)
        return np.maximum(ratios, 0.0)

    def to_array(self) -> Floats:
        """Return all fields as one array: zeta, sigma, accuracy, test accuracy."""
        return np.concatenate((self.zeta, self.sigma, [self.accuracy, self.test_accuracy]))

    @classmethod
    def from_array(cls, values: Floats) -> AttributeInfluence:
        """Return the object from which `to_array` made this array."""
        d = (len(values) - 2) // 2
        return cls(values[:d], values[d : 2 * d], float(values[-2]), float(values[-1]))


@dataclass(frozen=True)
class ForestRequest:
    """A request for the influence of attributes.

    Attributes:
        settings: The settings of the forest.
        score: The score to compute, see `AttributeInfluence.scores`.
        weigh: Whether the columns are weighted by it.
    """

    settings: ForestSettings
    score: str
    weigh: bool = False

    @classmethod
    def from_options(cls, options: Mapping[str, Any], weigh: bool = False) -> ForestRequest:
        """Return the request from the options of a call; missing options get the defaults.

        The default score is 'paper' if the option `reproduce` is 'paper', otherwise 'zeta_over_sigma'.
        """
        default_score = "paper" if options.get("reproduce") == "paper" else "zeta_over_sigma"
        return cls(ForestSettings.from_options(options), options.get("influence") or default_score, weigh)


def score_ranks(scores: Sequence[float]) -> list[int]:
    """Return the rank of each attribute, 1 for the greatest score; equal scores keep their order."""
    order = sorted(range(len(scores)), key=lambda j: (-scores[j], j))
    return [order.index(j) + 1 for j in range(len(scores))]


def combine_scores(scores: Sequence[Floats]) -> Floats:
    """Combine the attributes' scores for several sensitive columns: the mean of each column's scores scaled to sum 1.

    Scores of a single sensitive column are returned unchanged.
    """
    if len(scores) == 1:
        return scores[0]
    return np.asarray(np.mean([s / s.sum() if s.sum() > 0 else s for s in scores], axis=0))


def weight_factors(scores: Floats) -> list[float]:
    """Return a factor for each attribute's weight: its score over the average score, at least 0.001.

    All factors are 1 if the average is 0.
    """
    mean = float(scores.mean()) if len(scores) else 0.0
    return [max(float(s) / mean, 1e-3) if mean > 0 else 1.0 for s in scores]


def influence_key(space: EncodedTable, sensitive: SensitiveColumn, settings: ForestSettings) -> bytes:
    """Return a 128-bit hash of everything that an influence depends on.

    That is the distinct records with their counts, the settings, and the numbers of the sensitive column.
    """
    rows, y, counts = _distinct_records(space, sensitive)
    header = json.dumps(["influence", asdict(settings), [a.values for a in space.attributes]], sort_keys=True)
    content = hashlib.blake2b(header.encode(), digest_size=16)
    arrays = [rows, y, counts, *([sensitive.positions] if sensitive.positions is not None else [])]
    for array in arrays:
        content.update(f"{array.dtype}{array.shape}".encode())
        content.update(np.ascontiguousarray(array).data)
    return content.digest()


def attribute_influence(
    space: EncodedTable, sensitive: SensitiveColumn, settings: ForestSettings, check: Any = lambda: None
) -> AttributeInfluence:
    """Return the influence of every attribute on a sensitive column, measured by a random forest.

    A share `train` of the records trains the trees, each on a sample with replacement; the drops in accuracy are
    measured on the training records outside that sample. Trees are CART (gini impurity; variance for regressions). A
    sensitive NULL is a class of its own; in a regression these records are dropped. Without records all influences are
    0.

    Args:
        space: The encoded table.
        sensitive: The sensitive column; if it has numbers, it is predicted by regression unless the settings forbid it.
        settings: The settings of the forest.
        check: Called before each tree; raises if the run was interrupted.

    Raises:
        MissingExtraError: If scikit-learn is not installed.

    O(trees * n log n) time, O(n) memory.
    """
    trees = _sklearn_tree()
    codes, y, counts = _distinct_records(space, sensitive)
    target: Any = y
    numeric = sensitive.positions is not None and settings.forest != "classification"
    if numeric and sensitive.positions is not None:
        has_value = (y < sensitive.values) & np.isfinite(np.append(sensitive.positions, np.nan)[y])
        codes, y, counts = codes[has_value], y[has_value], counts[has_value]
        target = sensitive.positions[y]
    features = codes.astype(np.float32)
    d = features.shape[1]
    distinct_of = np.repeat(np.arange(len(counts)), counts)
    if len(distinct_of) == 0:
        return AttributeInfluence(np.zeros(d), np.zeros(d), 1.0, 1.0)
    shuffled = _random_order(_random_stream(settings.seed, 0), len(distinct_of))
    n_train = max(int(settings.train * len(distinct_of)), 1)
    train, test = distinct_of[np.sort(shuffled[:n_train])], distinct_of[np.sort(shuffled[n_train:])]
    error = _error_function(target, train, numeric)
    tree_class = trees.DecisionTreeRegressor if numeric else trees.DecisionTreeClassifier
    drops, accuracies, tests = np.zeros((settings.trees, d)), [], []
    for number in range(settings.trees):
        check()
        stream = _random_stream(settings.seed, number + 1)
        sample = stream.random_raw(max(round(settings.sample_fraction * n_train), 1)) % n_train
        bag = np.bincount(sample.astype(np.int64), minlength=n_train)
        weight = np.bincount(train, weights=bag, minlength=len(counts))
        inside = weight > 0
        tree = tree_class(
            max_features=min(settings.mtry or d, d),
            min_weight_fraction_leaf=min(settings.node_size / bag.sum(), 0.5) if settings.node_size > 1 else 0.0,
            random_state=int(stream.random_raw() % 2**31),
        ).fit(features[inside], target[inside], sample_weight=weight[inside])
        predict = _predictor(tree, numeric)
        if len(test):
            tests.append(1 - error(predict(features[test]), test))
        outside = train[bag == 0]
        if len(outside) == 0:
            continue
        outside_features = features[outside]
        accuracy = 1 - error(predict(outside_features), outside)
        accuracies.append(accuracy)
        for j in sorted(set(tree.tree_.feature[tree.tree_.feature >= 0].tolist())):
            shuffled_features = outside_features.copy()
            shuffled_features[:, j] = outside_features[_random_order(stream, len(outside)), j]
            drops[number, j] = accuracy - (1 - error(predict(shuffled_features), outside))
    sigma = drops.std(axis=0, ddof=1) if settings.trees > 1 else np.zeros(d)
    return AttributeInfluence(drops.mean(axis=0), sigma, _mean(accuracies), _mean(tests))


def _sklearn_tree() -> Any:
    """Return the module `sklearn.tree`; raise MissingExtraError if scikit-learn is not installed."""
    try:
        from sklearn import tree
    except ModuleNotFoundError as missing:
        raise errors.MissingExtraError("influence", "scikit-learn", "learn") from missing
    return tree


def _distinct_records(space: EncodedTable, sensitive: SensitiveColumn) -> tuple[Any, Ints, Ints]:
    """Return the distinct records: (records, attributes) codes, sensitive code of each, and count of each.

    They are sorted by tuple and sensitive code, so other columns do not affect their order.
    """
    tuple_of = np.repeat(np.arange(len(space.counts)), space.counts)
    values = sensitive.values + 1
    pairs, counts = np.unique(tuple_of * values + sensitive.codes, return_counts=True)
    return space.codes[pairs // values], (pairs % values).astype(np.int64), counts.astype(np.int64)


def _random_stream(seed: int, number: int) -> np.random.PCG64:
    """Return the random bit stream number `number` of a seed.

    A PCG64's stream, unlike a Generator's, is promised not to change.
    """
    return np.random.PCG64(np.random.SeedSequence([seed, number]))


def _random_order(stream: np.random.PCG64, n: int) -> Ints:
    """Return a random permutation of the numbers from 0 to n - 1."""
    return np.argsort(stream.random_raw(n), kind="stable")


def _predictor(tree: Any, numeric: bool) -> Any:
    """Return a function from rows of features to the predictions of a fitted scikit-learn tree.

    If `numeric`, the prediction is the mean of the leaf, otherwise its most frequent class (ties: the first class).
    """
    value = tree.tree_.value[:, 0, :]
    node_predictions = value[:, 0] if numeric else tree.classes_[np.argmax(value, axis=1)]
    return lambda rows: node_predictions[tree.tree_.apply(rows)]


def _error_function(target: Any, train: Ints, numeric: bool) -> Any:
    """Return a function of predictions and row numbers that returns the error of the predictions.

    The error is the share of wrong predictions. If `numeric`, it is the mean squared error, divided by the variance of
    the target in the records `train` (0 if that is 0).
    """
    if not numeric:
        return lambda found, rows: float(np.mean(found != target[rows]))
    variance = float(np.var(target[train]))
    return lambda found, rows: float(np.mean((found - target[rows]) ** 2)) / variance if variance > 0 else 0.0


def _mean(numbers: list[float]) -> float:
    """Return the mean of the numbers; NaN if there are none."""
    return float(np.mean(numbers)) if numbers else float("nan")
