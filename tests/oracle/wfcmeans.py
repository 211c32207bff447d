"""WF-C-means, implemented plainly, record by record."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

Spot = tuple["int | None", ...]

UNIT = 2**30


class Clusters:
    """Weighted fuzzy clusters.

    `spots`: records as positions of numbers, 0 to UNIT, None for NULL; `declared`: weights of columns.
    """

    def __init__(self, spots: Sequence[Spot], declared: Sequence[float], seeds: Sequence[int]) -> None:
        self.spots, self.declared = spots, declared
        self.centers = [spots[seed] for seed in seeds]
        self.weights = [1 / len(declared) for _ in declared]
        self.labels = [0 for _ in spots]

    def distance(self, one: Spot, other: Spot) -> int:
        """Return the weighted squared distance of two records."""
        products = [d * w for d, w in zip(self.declared, self.weights, strict=True)]
        total = 0
        for a, b, product in zip(one, other, products, strict=True):
            stretch = math.sqrt(product / math.fsum(products))
            if a is None or b is None:
                total += 0 if a is b else round(UNIT * stretch) ** 2
            else:
                total += (round(a * stretch) - round(b * stretch)) ** 2
        return total

    def nearest(self, spot: Spot, candidates: Sequence[int]) -> int:
        return min(candidates, key=lambda c: (self.distance(spot, self.centers[c]), c))

    def members(self, cluster: int) -> list[int]:
        return [r for r, label in enumerate(self.labels) if label == cluster]

    def recenter(self, cluster: int) -> None:
        members = self.members(cluster)
        if members:
            self.centers[cluster] = mean([self.spots[r] for r in members])

    def weigh(self) -> None:
        """Move the weights halfway to the normalized ratios of variance between and within clusters."""
        average, shares = mean(self.spots), []
        counts = Counter(zip(self.spots, self.labels, strict=True))
        for j in range(len(self.declared)):
            inner_result, between = [], []
            for (spot, label), n in counts.items():
                place, own_part, middle = spot[j], self.centers[label][j], average[j]
                if place is not None:
                    assert own_part is not None and middle is not None
                    inner_result.append(((place - own_part) / UNIT) ** 2 * n)
                    between.append(((own_part - middle) / UNIT) ** 2 * n)
            shares.append(math.fsum(between) / max(math.fsum(inner_result), 1e-12))
        if sum(shares) > 0:
            self.weights = [(w + s / math.fsum(shares)) / 2 for w, s in zip(self.weights, shares, strict=True)]


def mean(spots: Sequence[Spot]) -> Spot:
    """Return the mean, rounded to whole positions."""
    columns = [[x for x in column if x is not None] for column in zip(*spots, strict=True)]
    return tuple((2 * sum(c) + len(c)) // (2 * len(c)) if c else None for c in columns)


def wfcmeans(spots: Sequence[Spot], declared: Sequence[float], k: int, seeds: Sequence[int], rounds: int) -> list[int]:
    """Return the cluster of every record."""
    clusters = Clusters(spots, declared, seeds)
    all_numbers = range(len(seeds))
    for done in range(rounds):
        old_labels = clusters.labels
        clusters.labels = [clusters.nearest(spot, all_numbers) for spot in spots]
        for c in all_numbers:
            clusters.recenter(c)
        if done and clusters.labels == old_labels:
            break
        clusters.weigh()
    sizes = {c: len(clusters.members(c)) for c in all_numbers}
    great = [c for c in all_numbers if sizes[c] >= k]
    for c in sorted((c for c in all_numbers if 0 < sizes[c] < k), key=lambda c: (sizes[c], c)):
        into = clusters.nearest(clusters.centers[c], great)
        clusters.labels = [into if label == c else label for label in clusters.labels]
        clusters.recenter(into)
    return clusters.labels
