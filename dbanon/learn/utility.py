"""How much of what can be learned from a table can be learned from a release of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dbanon.learn.prediction import TREES, Floats, Ints, votes


@dataclass(frozen=True)
class Rows:
    """Records that are alike: features (rows, columns), label and how many there are."""

    features: Floats
    labels: Ints
    records: Ints

    def ordered(self) -> Rows:
        """The same in an order that follows from them alone."""
        order = np.lexsort((self.labels, *self.features.T[::-1]))
        return Rows(self.features[order], self.labels[order], self.records[order])

    def drawn(self, number: int, random: np.random.Generator) -> Rows:
        """So many of the records, without replacement."""
        counts = random.multivariate_hypergeometric(self.records, number, method="marginals")
        return Rows(self.features, self.labels, counts).there()

    def there(self) -> Rows:
        """Those of which there are any."""
        some = self.records > 0
        return Rows(self.features[some], self.labels[some], self.records[some])


@dataclass(frozen=True)
class Score:
    """Of a model: what it learned from, the share of the tested records whose label it says, the mean of these shares
    over the labels, how many records it learned from, and how many it was tested on."""

    trained_on: str
    accuracy: float
    balanced: float
    learned: int
    tested: int


LEAF = 10
"""Least number of records in a leaf: trees that tell every record apart learn chance, from raw records most of all."""

STEPS = 2 * TREES
"""How often `scores` calls its check."""


def scores(
    function: str, source: Rows, release: Rows, share: float, most: int, seed: int, check: Callable[[], None]
) -> list[Score]:
    """The most frequent label, a random forest (Breiman 2001) that learns from the source, and one that learns from the
    release, all tested on records of the source that the first two have not seen.

    Models learn from `share` of the records, at most from `most`. `check` raises where the call is interrupted. The
    order of rows does not matter. O(trees * d * n log n) time for n different rows. Raises MissingExtra.
    """
    random = np.random.default_rng(seed)
    source, release = source.ordered(), release.ordered()
    all_ = int(source.records.sum())
    seen = random.multivariate_hypergeometric(
        source.records, min(max(round(share * all_), 1), all_ - 1), method="marginals"
    )
    tested = Rows(source.features, source.labels, source.records - seen).there()
    raw = Rows(source.features, source.labels, seen).there()
    raw = raw.drawn(min(int(raw.records.sum()), most), random)
    there = int(release.records.sum())
    told = release.drawn(min(max(round(share * there), 1), most), random)
    frequent = np.bincount(raw.labels, weights=raw.records).argmax()
    guesses = {"majority": (raw, np.full(len(tested.labels), frequent))}
    for name, rows in (("source", raw), ("release", told)):
        found = votes(function, rows.features, rows.labels, rows.records, tested.features, seed, check, LEAF)
        guesses[name] = (rows, found)
    return [_score(name, rows, tested, found) for name, (rows, found) in guesses.items()]


def _score(name: str, learned: Rows, tested: Rows, guessed: Ints) -> Score:
    right = np.where(guessed == tested.labels, tested.records, 0)
    of_label = np.bincount(tested.labels, weights=tested.records)
    hit = np.bincount(tested.labels, weights=right)
    there = of_label > 0
    total = int(tested.records.sum())
    balanced = float((hit[there] / of_label[there]).mean())
    return Score(name, float(right.sum() / total), balanced, int(learned.records.sum()), total)
