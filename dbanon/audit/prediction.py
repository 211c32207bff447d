"""What a random forest that has learned from a release guesses of people, and how often such guesses are right."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dbanon import errors

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TREES = 100


@dataclass(frozen=True)
class Guesses:
    """Label and confidence for each asked row."""

    labels: Ints
    confidence: Floats

    @property
    def nbytes(self) -> int:
        return self.labels.nbytes + self.confidence.nbytes


def guesses(
    function: str, features: Floats, labels: Ints, counts: Ints, asked: Floats, seed: int, check: Callable[[], None]
) -> Guesses:
    """The forest's guesses for the rows `asked`; it learns `counts` records of each row of `features` and `labels`.

    Confidence is not the share of votes, which flatters itself, but the chance of the label by `shares`. `check` raises
    where the call is interrupted. The order of rows does not matter. Raises MissingExtraError.
    """
    order = np.lexsort((labels, *features.T[::-1]))
    features, labels, counts = features[order], labels[order], counts[order]
    if not len(labels) or not len(asked):
        return Guesses(np.full(len(asked), -1, np.int64), np.zeros(len(asked)))
    guessed = votes(f"{function}: kind = 'prediction'", features, labels, counts, asked, seed, check)
    return Guesses(guessed, shares(features, labels, counts, asked, guessed))


def shares(features: Floats, labels: Ints, counts: Ints, asked: Floats, guessed: Ints) -> Floats:
    """The chance that a row of `asked` has the label that was guessed: its share among the records of equal features,
    drawn towards its share in all of them, the more so the fewer they are and the less features tell about labels.

    The mean of a Dirichlet posterior whose strength is the most likely one for all rows (Minka 2000); so it is right on
    average, whichever rows one looks at afterwards.
    """
    codes = np.unique(labels)
    rows = np.searchsorted(codes, labels)
    whole = np.bincount(rows, weights=counts) / counts.sum()
    cells, cell = np.unique(features, axis=0, return_inverse=True)
    pairs, pair = np.unique(cell.reshape(-1) * len(codes) + rows, return_inverse=True)
    cell, rows, counts = pairs // len(codes), pairs % len(codes), np.bincount(pair, weights=counts)
    sizes = np.bincount(cell, weights=counts)
    best, strength = -math.inf, 0.0
    for tried in np.geomspace(0.01, 1e6, 41).tolist():
        within = _rise(tried * whole[rows], counts).sum() - _rise(np.full(len(sizes), tried), sizes).sum()
        if within > best + 1e-9:
            best, strength = float(within), tried
    at = {tuple(one): i for i, one in enumerate(cells.tolist())}
    held = dict(zip(zip(cell.tolist(), rows.tolist(), strict=True), counts.tolist(), strict=True))
    found = np.empty(len(asked))
    for i, (row, label) in enumerate(zip(asked.tolist(), np.searchsorted(codes, guessed).tolist(), strict=True)):
        place = at.get(tuple(row))
        size = 0.0 if place is None else sizes[place]
        found[i] = (held.get((place, label), 0) + strength * whole[label]) / (size + strength)
    return found


def _rise(start: Floats, steps: Ints | Floats) -> Floats:
    """Return the logarithm of the rising factorial: start * (start + 1) * .. of so many steps."""
    return np.array([math.lgamma(a + n) - math.lgamma(a) for a, n in zip(start.tolist(), steps.tolist(), strict=True)])


def votes(
    asked_by: str,
    features: Floats,
    labels: Ints,
    counts: Ints,
    asked: Floats,
    seed: int,
    check: Callable[[], None],
    *,
    leaf: int = 1,
) -> Ints:
    """Labels that a forest, whose leaves have `leaf` records or more, guesses for the rows `asked`; see `guesses`.
    `asked_by`: what of a call asks for it."""
    if (labels == labels[0]).all():
        return np.full(len(asked), labels[0], np.int64)
    try:
        from sklearn.tree import DecisionTreeRegressor
    except ImportError:
        raise errors.MissingExtraError(asked_by, "scikit-learn", "learn") from None
    random = np.random.default_rng(seed)
    codes, code = np.unique(labels, return_inverse=True)
    # Least squares on indicators of the labels is Gini's impurity.
    indicators = np.eye(len(codes))[code.reshape(-1)]
    different, back = np.unique(asked, axis=0, return_inverse=True)
    votes = np.zeros((len(different), len(codes)))
    share = min(leaf / int(counts.sum()), 0.5) if leaf > 1 else 0.0
    for _ in range(TREES):
        check()
        # A sample with replacement, of records that are alike by their number.
        drawn = random.multinomial(counts.sum(), counts / counts.sum())
        tree = DecisionTreeRegressor(
            max_features="sqrt", random_state=int(random.integers(2**31)), min_weight_fraction_leaf=share
        )
        tree.fit(features[drawn > 0], indicators[drawn > 0], sample_weight=drawn[drawn > 0])
        votes += tree.predict(different)
    return np.asarray(codes[votes.argmax(axis=1)][back.reshape(-1)], np.int64)
