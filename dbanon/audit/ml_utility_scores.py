"""How much of what can be learned from a table can be learned from a release of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dbanon.audit.prediction import TREES, Floats, Ints, votes


@dataclass(frozen=True)
class Rows:
    """Records that are alike: features (rows, columns), label and how many there are."""

    features: Floats
    labels: Ints
    records: Ints

    def ordered(self) -> Rows:
        """Return the same in an order that follows from them alone."""
        order = np.lexsort((self.labels, *self.features.T[::-1]))
        return Rows(self.features[order], self.labels[order], self.records[order])

    def drawn(self, number: int, random: np.random.Generator) -> Rows:
        """So many of the records, without replacement."""
        counts = random.multivariate_hypergeometric(self.records, number, method="marginals")
        return Rows(self.features, self.labels, counts).there()

    def there(self) -> Rows:
        """Return those of which there are any."""
        some = self.records > 0
        return Rows(self.features[some], self.labels[some], self.records[some])


@dataclass(frozen=True)
class Released:
    """Records of a release that are alike, and what their features stand for: `box` (rows, 2 * columns), the lower ends
    and then the upper ones."""

    rows: Rows
    box: Floats

    def ordered(self) -> Released:
        """Return the same in an order that follows from them alone."""
        order = np.lexsort((self.rows.labels, *self.box.T[::-1], *self.rows.features.T[::-1]))
        rows = Rows(self.rows.features[order], self.rows.labels[order], self.rows.records[order])
        return Released(rows, self.box[order])

    def without(self, tested: Rows, random: np.random.Generator, check: Callable[[], None]) -> Rows:
        """Return the records without those of some people: of each a random one of the same label whose box holds them.

        Which it is nobody can tell; each is as likely, so that no class loses more than people of it on average.

        O(m * n / labels) time for n different rows and m that are taken out, O(n) memory.
        """
        low, high = np.split(self.box, 2, axis=1)
        left = self.rows.records.copy()
        of_label = {int(label): np.flatnonzero(self.rows.labels == label) for label in np.unique(self.rows.labels)}
        for place, label, records in zip(tested.features, tested.labels.tolist(), tested.records.tolist(), strict=True):
            check()
            own = of_label.get(label, np.empty(0, np.int64))
            held = own[((low[own] <= place + NEAR) & (place - NEAR <= high[own])).all(axis=1)]
            there = int(left[held].sum())
            if there:
                left[held] -= random.multivariate_hypergeometric(left[held], min(records, there), method="marginals")
        return Rows(self.rows.features, self.rows.labels, left).there()


@dataclass(frozen=True)
class Score:
    """Of a model: what it learned from, the share of the tested records whose label it says, the mean of these shares
    over the labels, how many records it learned from, and how many it was tested on."""

    trained_on: str
    accuracy: float
    balanced: float
    learned: int
    tested: int


@dataclass(frozen=True)
class Training:
    """The share of the records that a model learns from, how many that are at most, and the seed."""

    share: float
    most: int
    seed: int


LEAF = 10
"""Least number of records in a leaf: trees that tell every record apart learn chance, from raw records most of all."""

STEPS = 2 * TREES
"""How often `scores` calls its step."""

TESTED = 10_000
"""Records that models are tested on, at most."""

NEAR = 1e-9
"""Values so near to an end of a box are in it."""


def scores(
    function: str, source: Rows, release: Released, train: Training, step: Callable[[], None], check: Callable[[], None]
) -> list[Score]:
    """The most frequent label, a random forest (Breiman 2001) that learns from the source, and one that learns from the
    release, all tested on records of the source that none of them has seen: they are taken out of the release, too.

    `step` is called before each tree, `check` often; both raise where the call is interrupted. The order of rows does
    not matter. O(trees * d * n log n) time for n different rows. Raises MissingExtraError.
    """
    random = np.random.default_rng(train.seed)
    source, release = source.ordered(), release.ordered()
    all_ = int(source.records.sum())
    number = min(max(round(train.share * all_), 1), all_ - 1)
    seen = random.multivariate_hypergeometric(source.records, number, method="marginals")
    raw = Rows(source.features, source.labels, seen).there()
    tested = Rows(source.features, source.labels, source.records - seen).there()
    tested = tested.drawn(min(all_ - number, TESTED), random)
    told = release.without(tested, random, check)
    learned = [rows.drawn(min(int(rows.records.sum()), number, train.most), random) for rows in (raw, told)]
    frequent = np.full(len(tested.labels), np.bincount(raw.labels, weights=raw.records).argmax())
    found = [_score("majority", raw, tested, frequent)]
    for name, rows in zip(("source", "release"), learned, strict=True):
        if len(rows.labels):
            given = (rows.features, rows.labels, rows.records, tested.features)
            guessed = votes(function, *given, train.seed, step, leaf=LEAF)
        else:
            guessed = np.full(len(tested.labels), -1)
        found.append(_score(name, rows, tested, guessed))
    return found


def _score(name: str, learned: Rows, tested: Rows, guessed: Ints) -> Score:
    right = np.where(guessed == tested.labels, tested.records, 0)
    of_label = np.bincount(tested.labels, weights=tested.records)
    hit = np.bincount(tested.labels, weights=right)
    there = of_label > 0
    total = int(tested.records.sum())
    balanced = float((hit[there] / of_label[there]).mean())
    return Score(name, float(right.sum() / total), balanced, int(learned.records.sum()), total)
