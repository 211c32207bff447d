"""F-MDAV: MDAV with cheap operations on vectors of numbers, in which categories are indicators."""

import math

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import AssignmentLog
from dbanon.algorithms.base.registry import LARGE, Assignment, Check, Options, register
from dbanon.algorithms.nearest_neighbour.mdav import SCALE, scaled_positions
from dbanon.encoding.encoded_table import Bools, EncodedTable, Ints, NumericAttribute
from dbanon.privacy_models.constraint import Constraint

SAMPLE_GROUPS = 8
"""Groups from which the time of all is estimated."""

MAX_BITS = 20
"""Greatest number of binary places of a coordinate."""


def fmdav(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with F-MDAV (Rodriguez-Hoyos et al. 2020), reconstructed from Wang et al. 2022, section 2.

    The steps are those of MDAV: the record farthest from the average of the remaining records takes the k - 1 nearest,
    then the record farthest from it does the same; the last k to 2k - 1 are a cluster. The operations are cheaper:
    squared lengths are computed once, distances from the average follow from inner products with a running sum, and
    the nearest records are selected, not sorted. For that, records are vectors of numbers: a number over its range (or
    standard deviation), and an indicator for each category, so that two different categories are at distance 1.

    The average of categories is then their shares, not the most frequent one as in `mdav`, with which `fmdav` coincides
    on numbers alone, except for rounding. NULL in a number counts as the average, and as a category of its own. With
    persons or other models a cluster has at least as many records as any of them needs; clusters that still violate the
    constraint are merged afterwards. O(n^2 / k) time, O(n) memory.
    """
    vectors, k, log = RecordVectors(space, str(options["scale"])), constraint.min_records, AssignmentLog()
    progress_check, n_groups, clock = progress.as_progress_check(check), 0, progress.thread_seconds()

    def form_group(center: int) -> None:
        """Log the group of the k records nearest to the tuple `center`."""
        nonlocal n_groups
        tuples, counts = vectors.take_nearest(center, k)
        log.add(tuples, counts, np.full(len(tuples), n_groups))
        n_groups += 1

    while vectors.n_remaining >= 2 * k:
        progress_check()
        farthest = vectors.farthest_from_average()
        opposite = vectors.code_vector(farthest)
        form_group(farthest)
        if vectors.n_remaining >= 2 * k:
            form_group(vectors.farthest_from(opposite))
        fraction = 1 - vectors.n_remaining / space.rows
        progress_check.advance(fraction)
        if n_groups == SAMPLE_GROUPS:
            steps = 2 * SAMPLE_GROUPS * space.codes.size
            progress_check.extrapolate(fraction, steps, progress.thread_seconds() - clock, 0.5)
    tuples = np.flatnonzero(vectors.remaining)
    log.add(tuples, vectors.remaining[tuples], np.full(len(tuples), n_groups))
    return log.to_labels()


class RecordVectors:
    """The remaining records as vectors of exact integers, with the sum of all.

    Attributes:
        remaining: (tuples,) number of remaining records of each tuple.
        n_remaining: Number of remaining records.
    """

    def __init__(self, space: EncodedTable, scale: str) -> None:
        """Compute the coordinates and their squared lengths; `scale` is 'range' or 'std'."""
        self.remaining, self.n_remaining = space.counts.astype(np.int64), space.rows
        self.alive = np.arange(len(self.remaining))
        positions = scaled_positions(space, scale)
        largest = sum(
            a.weight * (float(np.abs(p).max(initial=0)) ** 2 if isinstance(a, NumericAttribute) else 1.0) + a.weight
            for a, p in zip(space.attributes, positions, strict=True)
        )
        bits = min(MAX_BITS, max((58 - math.frexp(largest * space.rows)[1]) // 2, 1))
        self.numbers: list[Ints] = []
        self.categories: list[tuple[Ints, int]] = []  # codes, and twice the square of an indicator
        for j, (attribute, axis) in enumerate(zip(space.attributes, positions, strict=True)):
            unit = 2 * round(attribute.weight * 2.0 ** (2 * bits - 1))
            codes = space.codes[:, j].astype(np.int64)
            if not isinstance(attribute, NumericAttribute):
                self.categories.append((codes, unit))
                continue
            is_null = codes == attribute.values
            coordinates = np.zeros(len(codes), np.int64)
            coordinates[~is_null] = np.rint(axis[codes[~is_null]] * (math.sqrt(attribute.weight) * 2.0**bits))
            if is_null.any():
                n_values = max(int(space.counts[~is_null].sum()), 1)
                coordinates[is_null] = int((coordinates * space.counts).sum()) // n_values
                self.categories.append((is_null.astype(np.int64), unit))
            self.numbers.append(coordinates)
        self.square = sum((x * x for x in self.numbers), np.zeros(len(self.remaining), np.int64))
        self.number_sums = [int((x * space.counts).sum()) for x in self.numbers]
        self.category_counts = [
            np.bincount(codes, weights=space.counts, minlength=int(codes.max(initial=0)) + 1).astype(np.int64)
            for codes, _ in self.categories
        ]

    def code_vector(self, t: int) -> tuple[list[int], list[int]]:
        """Return the coordinates of the numbers, and the codes of the categories, of tuple `t`."""
        return [int(x[t]) for x in self.numbers], [int(codes[t]) for codes, _ in self.categories]

    def farthest_from_average(self) -> int:
        """Return the first remaining tuple that is farthest from the average of the remaining records.

        The squared distance times the number of records is, but for a constant, the squared length times that number
        less twice the inner product with the sum.
        """
        rank = self.square[self.alive] * self.n_remaining
        for x, total in zip(self.numbers, self.number_sums, strict=True):
            rank -= 2 * total * x[self.alive]
        for (codes, unit), counts in zip(self.categories, self.category_counts, strict=True):
            rank -= unit * counts[codes[self.alive]]
        return int(self.alive[np.argmax(rank)])

    def distances(self, vector: tuple[list[int], list[int]]) -> Ints:
        """Return the squared distance of each remaining tuple from a vector."""
        distances = np.zeros(len(self.alive), np.int64)
        for x, origin in zip(self.numbers, vector[0], strict=True):
            distances += (x[self.alive] - origin) ** 2
        for (codes, unit), code in zip(self.categories, vector[1], strict=True):
            distances += np.where(codes[self.alive] == code, 0, unit)
        return distances

    def farthest_from(self, vector: tuple[list[int], list[int]]) -> int:
        """Return the first remaining tuple that is farthest from a vector."""
        return int(self.alive[np.argmax(self.distances(vector))])

    def take_nearest(self, t: int, n_records: int) -> tuple[Ints, Ints]:
        """Take the `n_records` remaining records nearest to tuple `t`; return their tuples, and how many of each."""
        distances = self.distances(self.code_vector(t))
        n_candidates = min(n_records, len(distances)) - 1
        is_candidate: Bools = distances <= np.partition(distances, n_candidates)[n_candidates]
        candidates = np.flatnonzero(is_candidate)
        order = self.alive[candidates[np.argsort(distances[candidates], kind="stable")]]
        ends = np.cumsum(self.remaining[order])
        last = int(np.searchsorted(ends, n_records))
        tuples = order[: last + 1]
        counts = self.remaining[tuples].copy()
        counts[-1] -= int(ends[last]) - n_records
        self.remaining[tuples] -= counts
        self.n_remaining -= n_records
        for j, x in enumerate(self.numbers):
            self.number_sums[j] -= int((x[tuples] * counts).sum())
        for (codes, _), category_counts in zip(self.categories, self.category_counts, strict=True):
            np.subtract.at(category_counts, codes[tuples], counts)
        self.alive = self.alive[self.remaining[self.alive] > 0]
        return tuples, counts


register(
    fmdav,
    title="F-MDAV: MDAV with cheap operations",
    summary=(
        "MDAV on vectors of numbers, in which each category is an indicator: sums are kept, and the nearest records "
        "selected without sorting."
    ),
    source="Rodriguez-Hoyos et al. 2020, as Wang et al. 2022 name it",
    evidence="description",
    own_parameters=(SCALE, LARGE),
    references=(
        {
            "cited": "Rodriguez-Hoyos et al. 2020",
            "authors": "Rodríguez-Hoyos, A., Estrada-Jiménez, J., Rebollo-Monedero, D., Mezher, A. M., "
            "Parra-Arnau, J. and Forné, J.",
            "title": "The fast maximum distance to average vector (F-MDAV): an algorithm for k-anonymous "
            "microaggregation in big data",
            "venue": "Engineering Applications of Artificial Intelligence 90",
            "note": "We did not have the paper itself.",
        },
    ),
)
