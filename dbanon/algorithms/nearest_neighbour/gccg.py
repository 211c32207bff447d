"""GCCG: grading, centering, clustering, generalization."""

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.grow_clusters import grow_groups
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.registry import ALL_MODELS, LARGE, Assignment, Check, Options, register
from dbanon.algorithms.nearest_neighbour.nearest_groups import GrowUntilMet, SeedsInOrder
from dbanon.encoding.encoded_table import EncodedTable, Floats, Ints, NumericAttribute
from dbanon.encoding.tuple_index import TupleIndex
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter


def gccg(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with GCCG (grading, centering, clustering, generalization), reconstructed.

    The source is the review of clustering methods. Grading: the score of a record is the sum of its numbers, from 0 to
    1 over their ranges, and of the relative frequencies of its categories, times the weights; a NULL counts as its
    frequency. Centering: of the records sorted by score, each k consecutive ones have the middle one as their center.
    Clustering: center after center takes the k - 1 nearest records that are no centers; the remaining records join the
    nearest center. Distance: that of the k-member papers. With persons or another model, a cluster takes nearest
    records until the model is met; centers for which that is impossible dissolve.

    The records by score are cut into `parts` parts of about equal size, between different tuples, which are clustered
    separately, as parallel workers do it: faster, with more loss. There are at most n/k parts; one of fewer than k
    records is joined with the next by score. O(tuples * n/k) time without the index, O(n) memory.
    """
    score = scores(space)
    by_score = np.argsort(score, kind="stable")
    part_of = parts_by_score(space.counts[by_score], int(str(options["parts"])), constraint.min_records)
    parts = [np.sort(by_score[part_of == number]) for number in range(int(part_of[-1]) + 1)]
    if len(parts) == 1:
        return _cluster_part(space, score, constraint, check)
    return RunLengthLabels.concatenate(
        (tuples, _cluster_part(space.subset(tuples), score[tuples], constraint, check)) for tuples in parts
    )


def parts_by_score(counts: Ints, n_parts: int, min_records: int) -> Ints:
    """Cut the tuples, in the order of the score, into at most `n_parts` parts; return the part of each, from 0.

    Args:
        counts: (tuples,) records of each tuple, in the order of the score.
        n_parts: The number of parts to cut the records into.
        min_records: Fewest records of a part; all records together may be fewer.

    O(tuples).
    """
    ends = np.cumsum(counts)
    n_records = int(ends[-1])
    part_of = (ends - 1) * min(n_parts, max(n_records // min_records, 1)) // n_records
    last_tuples = np.flatnonzero(np.append(part_of[1:] != part_of[:-1], True))
    cuts: list[int] = []
    for last in ends[last_tuples].tolist():
        if last - (cuts[-1] if cuts else 0) >= min_records:
            cuts.append(last)
    return np.searchsorted(cuts[:-1], ends, side="left").astype(np.int64)


def scores(space: EncodedTable) -> Floats:
    """Return the (tuples,) scores by which GCCG (grading, centering, clustering, generalization) sorts the tuples.

    A score is a weighted sum over the attributes: of a number, its place in the range (0 to 1); of a category or NULL,
    its relative frequency. Scores are rounded to 12 decimals.
    """
    total = np.zeros(len(space.counts))
    for j, attribute in enumerate(space.attributes):
        codes = space.codes[:, j]
        share = np.bincount(codes, weights=space.counts, minlength=attribute.values + 1) / space.rows
        if isinstance(attribute, NumericAttribute) and attribute.values:
            width = float(attribute.positions[-1])
            share[:-1] = attribute.positions / width if width > 0 else 0.0
        total += attribute.weight * share[codes]
    return np.round(total, 12)


def _cluster_part(space: EncodedTable, score: Floats, constraint: Constraint, check: Check) -> RunLengthLabels:
    """Return the cluster of every record of a part of the table, from 0; a single cluster for fewer than 2k records.

    `space` is the table of the part; `score` is the GCCG score of each of its tuples, by which centers are chosen.
    """
    k = constraint.min_records
    if space.rows < 2 * k:
        return RunLengthLabels.single_cluster(space)
    rows = space.rows_of(np.argsort(score, kind="stable"))
    centers = rows[np.arange(space.rows // k) * k + (k - 1) // 2]
    index = TupleIndex(space, Loss(space, k, "edges").pair_tables(space))
    rules = ReservedCenters(constraint, index, centers)
    return RunLengthLabels.from_assignment(space, grow_groups(space, rules, check))


class ReservedCenters(GrowUntilMet):
    """Growth rules of GCCG: groups around given centers, each of which is reserved for its own group."""

    def __init__(self, constraint: Constraint, index: TupleIndex, centers: Ints) -> None:
        """Remove the centers (row numbers) from the index, so that no other group takes them."""
        super().__init__(constraint, index, SeedsInOrder(centers, index.space.tuple_of))
        self.tuples, counts = np.unique(index.space.tuple_of[centers], return_counts=True)
        self.next_reserved_row = dict(zip(self.tuples.tolist(), index.space.starts[self.tuples].tolist(), strict=True))
        index.remove_records(self.tuples, counts)
        self.centers = index.space.tuple_of[centers].tolist()

    def can_form_group(self) -> bool:
        """Return whether a center is left and the remaining records can form a group."""
        return len(self.seeds) < len(self.centers) and super().can_form_group()

    def next_seed(self) -> int:
        """Return the tuple of the next given center."""
        return int(self.centers[len(self.seeds)])

    def take_seed(self, seed: int) -> Ints:
        """Return the row number of the next center of tuple number `seed`, in an array of one.

        The centers were removed from the index before, so the index is not changed.
        """
        row = self.next_reserved_row[seed]
        self.next_reserved_row[seed] = row + 1
        return np.array([row])

    def return_seed(self, seed: int) -> None:
        """Do nothing: a center that found no group stays out of the index and is assigned at the end."""


register(
    gccg,
    title="GCCG: grading, centering, clustering, generalization",
    summary=(
        "Sorts the records by a score. The middle one of every k consecutive records is a center and takes the records "
        "nearest to it."
    ),
    source="GCCG, as the review of clustering methods describes it",
    evidence="description",
    complexity="O(distinct tuples * n / k) time without the index, O(n) memory",
    meets=ALL_MODELS,
    own_parameters=(
        Parameter(
            "parts",
            Integer(1, 100_000),
            "Number of parts into which the records are divided by score; each is clustered separately.",
            1,
        ),
        LARGE,
    ),
)
