"""PPPC: parts by k-means, and in these clusters of a record of each frequent sensitive value."""

import numpy as np

from dbanon.algorithms.base import leftovers, progress
from dbanon.algorithms.base.grow_clusters import CountedRules, grow
from dbanon.algorithms.base.random_seeds import spread_rows
from dbanon.algorithms.base.registry import LARGE, SEED, Assignment, Check, Options, one_cluster_below_2k, register
from dbanon.algorithms.base.sensitive_groups import Kinds, sensitive_codes
from dbanon.algorithms.centroid.kmeans import ROUNDS, plain
from dbanon.algorithms.centroid.moving_centers import EVENLY, Work
from dbanon.algorithms.diversity.partitions import PARTS, united
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.arrays import BucketPools
from dbanon.privacy_models.constraint import Constraint

BEFORE = 0.2
"""Share of the progress that k-means is said to be."""


@one_cluster_below_2k
def pppc(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """PPPC, privacy-preserving parallel clustering, the single-machine form, reconstructed from the review of
    clustering methods.

    k-means cuts the table into `parts`; one of fewer than k records joins the part of the nearest center. In a part,
    while it has k records, a cluster is made of a record of each of the k sensitive values that are most frequent among
    those that are left, and again of each where they are fewer: the first is the record nearest to the center of the
    part, the others those with which a record of the cluster loses least. So it has as many values as it can. What is
    left joins, in canonical order, the cluster of the part whose whole loss grows least. Of several sensitive columns
    their combinations are the values. O(n^2 / parts) time at worst, O(n) memory.

    Which records are together depends on sensitive values; what is asked of these by a model is met by the shared
    repair.
    """
    work = progress.work(check)
    return grow(space, _Buckets(space, constraint.least, options, work.part(0, BEFORE)), work.part(BEFORE, 1))


class _Buckets(CountedRules):
    """Clusters of the parts, in compiled code."""

    step_cost = 0.5

    def __init__(self, space: EncodedTable, k: int, options: Options, check: Check) -> None:
        from dbanon.kernels.centers import center_distances

        super().__init__(space, k, np.array([0, space.rows], np.int64))
        seeds, order = spread_rows(space, min(int(str(options["parts"])), space.rows), options)
        work = Work(space, k, seeds, order, True, int(str(options["rounds"])), check)
        parts, number = plain(work), len(seeds)

        def away(part: int) -> Ints:
            center = np.repeat(work.centers[[part]], number, axis=0)
            return np.asarray(center_distances(center, np.arange(number), work.centers, work.axes))

        self.parts, kept = united(parts, number, k, away)
        kinds = self.kinds = Kinds.by(space, np.concatenate((self.parts[None], sensitive_codes(space))))
        part_of = kinds.values[0]
        centers = kept[part_of[kinds.kinds]]
        self.away = center_distances(work.points[kinds.tuples], centers, work.centers, work.axes)
        self.left, self.left_of, self.left_in = kinds.sizes, np.bincount(kinds.of), np.bincount(self.parts)
        self.begins_of = np.searchsorted(part_of, np.arange(len(kept) + 1))
        self.first_of = np.minimum.reduceat(kinds.first, kinds.begins[:-1])

    def can_go_on(self) -> bool:
        return bool((self.left_in >= self.k).any())

    def form(self, first: int, most: int) -> int:
        from dbanon.kernels.bucket_growth import grow_bucket_clusters

        kinds = self.kinds
        items = BucketPools(
            self.begins_of, kinds.begins, self.first_of, kinds.tuples, kinds.at[1:], kinds.rows, self.left,
            self.left_of, self.left_in, self.away,
        )  # fmt: skip
        measure = self.problem.measure
        made, looked = grow_bucket_clusters(self.state, most, first, self.k, items, measure, self.codes_of, self.labels)
        self.looked += int(looked)
        return int(made)

    def place(self, groups: int, check: Check) -> None:
        tuple_of = self.space.tuple_of
        order = np.argsort(self.parts, kind="stable")
        for rows in np.split(order, np.cumsum(np.bincount(self.parts))[:-1]):
            labels = self.labels[rows]
            first = int(labels[labels >= 0].min())
            labels = np.where(labels < 0, -1, labels - first)
            leftovers.join(self.problem, tuple_of[rows], labels, check)
            self.labels[rows] = labels + first


register(
    pppc,
    title="PPPC: a record of each frequent sensitive value, in parts by k-means",
    summary="parts by k-means, and in these clusters of a record of each of the most frequent sensitive values",
    source="Lawrance and Jesudhasan 2021, as the review of clustering methods describes it",
    evidence="RECON",
    own=(PARTS, ROUNDS, SEED, EVENLY, LARGE),
    reads=("sensitive",),
)
