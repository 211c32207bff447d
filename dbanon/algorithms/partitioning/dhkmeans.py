"""DHkmeans: parts are cut in two by 2-means while both halves meet the constraint."""

from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.registry import ALL_MODELS, LARGE, MODE, SEED, Check, Options, register
from dbanon.algorithms.partitioning.part_distances import PartDistances, Point
from dbanon.algorithms.partitioning.partition_tree import TablePart, parts_to_labels, split_by_level
from dbanon.encoding.encoded_table import Bools, Codes, EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

TUPLE_COST = 30.0
"""Cost of a tuple of a part, in steps of dbanon.algorithms.base.progress: some rounds, two distances in each."""


def dhkmeans(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> RunLengthLabels:
    """Cluster with DHkmeans-l-diversity, hierarchical k-means (Ashkouti et al. 2021).

    Reconstructed from the review of clustering methods. A part of at least twice as many records as a class needs is
    cut by 2-means. The two first centers are a pair of its records, chosen from `pairs` random pairs (or all pairs, if
    there are no more): the pair with the greatest sum of distance in the quasi-identifiers and share of sensitive
    columns in which both are equal. Records go to the nearer center (ties: the first), and centers to the mean of
    numbers and the most frequent value of categories, until nothing moves or for `rounds` rounds. If both halves meet
    the constraint, they are cut in turn; otherwise the part is a class. O(rounds * n log n) time for balanced cuts,
    O(rounds * n^2 / k) at worst; O(n) memory.

    The paper has no k apart from l: k = l is what it means. Where cuts begin depends on sensitive values, which no
    model checks: an attacker who knows the method can learn from it more than from other algorithms.
    """
    distances = PartDistances(space, "edges")
    sampling = _PairSampling(space, distances, options)
    rounds = int(str(options["rounds"]))

    def cut_part(part: TablePart) -> list[TablePart]:
        """Return the two halves of a part by 2-means.

        The list is empty if the part is too small or a half violates the constraint.
        """
        if int(part.counts.sum()) < 2 * constraint.min_records:
            return []
        codes = distances.codes(part.tuples)
        of_second = _two_means(distances, codes, part.counts, sampling.seeds(part, codes), rounds)
        sides = [part.subset(~of_second), part.subset(of_second)]
        return sides if all(side.meets(space, constraint) for side in sides) else []

    classes = split_by_level(space, constraint.min_records, cut_part, check, TUPLE_COST)
    return parts_to_labels([part for part, _ in classes])


def _two_means(distances: PartDistances, codes: Codes, counts: Ints, centers: list[Point], rounds: int) -> Bools:
    """Run 2-means and return whether each tuple belongs to the second center; `centers` is changed in place.

    Args:
        distances: The distances of the table.
        codes: (attributes, tuples) codes of the part.
        counts: (tuples,) records of each tuple in the part.
        centers: The two first centers.
        rounds: Greatest number of rounds, at least 1; it ends earlier if nothing moves.
    """
    of_second = None
    for _ in range(rounds):
        previous, of_second = (
            of_second,
            distances.distances_to(centers[1], codes) < distances.distances_to(centers[0], codes),
        )
        if previous is not None and (previous == of_second).all():
            break
        for i, is_member in enumerate((~of_second, of_second)):
            if is_member.any():
                centers[i] = distances.average(codes[:, is_member], counts[is_member])
    return np.asarray(of_second)


@dataclass
class _PairSampling:
    """A choice of the first two centers of a part among pairs of its records.

    The pairs are random. In the deterministic mode they are spread evenly, each a record and the one half of the part
    behind it.
    """

    space: EncodedTable
    distances: PartDistances
    options: Options

    def __post_init__(self) -> None:
        """Set up the random bits and the greatest number of pairs from the options."""
        self.draws = np.random.PCG64(int(str(self.options["seed"])))  # its stream, unlike a Generator's, is promised
        self.max_pairs = int(str(self.options["pairs"]))

    def seeds(self, part: TablePart, codes: Codes) -> list[Point]:
        """Return the pair of records of a part with the greatest sum of distance and share of equal sensitive columns.

        `codes` are the (attributes, tuples) codes of the part.
        """
        pairs = self._pairs(int(part.counts.sum()))
        ends = np.cumsum(part.counts)
        places = np.searchsorted(ends, pairs, side="right")
        score = self.distances.pair_distances(codes[:, places[0]], codes[:, places[1]]) / self.distances.unit
        if self.space.sensitive:
            rows = part.first[places] + pairs - (ends - part.counts)[places]
            score += np.mean([s.codes[rows[0]] == s.codes[rows[1]] for s in self.space.sensitive], axis=0)
        return [self.distances.point(codes[:, place]) for place in places[:, score.argmax()]]

    def _pairs(self, n_records: int) -> Ints:
        """Return pairs of different record numbers from 0 to n_records - 1, as a (2, pairs) array.

        All pairs are returned if they are at most `max_pairs`; otherwise `max_pairs` random pairs, which may repeat. In
        the deterministic mode these are spread evenly.
        """
        if n_records * (n_records - 1) // 2 <= self.max_pairs:
            return np.stack(np.triu_indices(n_records, 1))
        if self.options["mode"] == "deterministic":
            first = np.arange(self.max_pairs) * n_records // self.max_pairs
            return np.stack((first, (first + n_records // 2) % n_records))
        one, other = (self.draws.random_raw(self.max_pairs) for _ in range(2))
        first = (one % np.uint64(n_records)).astype(np.int64)
        ahead = 1 + (other % np.uint64(n_records - 1)).astype(np.int64)
        return np.stack((first, (first + ahead) % n_records))


register(
    dhkmeans,
    title="Hierarchical k-means for l-diversity (DHkmeans)",
    summary=(
        "DHkmeans-l-diversity: cuts parts in two by 2-means while both halves meet the model. It starts from a pair of "
        "records that differ most in quasi-identifiers and least in sensitive columns; `l` is 2 by default."
    ),
    source="Ashkouti et al. 2021, as the review of clustering methods describes it",
    evidence="description",
    complexity="O(rounds * n log n) time for balanced cuts, O(rounds * n^2 / k) at worst, O(n) memory",
    own_parameters=(
        Parameter(
            "pairs", Integer(1), "Number of pairs of records that are examined for the first centers of a part.", 100
        ),
        Parameter(
            "rounds", Integer(1), "Greatest number of rounds; centers that still move then stay where they are.", 20
        ),
        SEED,
        Parameter(
            "mode",
            MODE.kind,
            "deterministic: the pairs are spread evenly; each is a record and the record half of the part after it.",
            "random",
        ),
        LARGE,
    ),
    defaults={"l": 2},
    meets=ALL_MODELS,
)
