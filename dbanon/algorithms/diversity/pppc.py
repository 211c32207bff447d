"""PPPC: the table is cut into parts by k-means; clusters in a part have one record of each frequent sensitive value."""

import numpy as np

from dbanon.algorithms.base import leftovers, progress
from dbanon.algorithms.base.grow_clusters import KernelCountedRules, grow_groups
from dbanon.algorithms.base.random_seeds import spread_rows
from dbanon.algorithms.base.registry import LARGE, SEED, Assignment, Check, Options, register, single_cluster_below_2k
from dbanon.algorithms.base.sensitive_groups import SensitiveGroups, sensitive_codes
from dbanon.algorithms.centroid.kmeans import ROUNDS, unadjusted_kmeans
from dbanon.algorithms.centroid.moving_centers import EVEN_MODE, MovingCenters
from dbanon.algorithms.diversity.partitions import PARTS, merge_small_parts
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.arrays import BucketPools
from dbanon.privacy_models.constraint import Constraint

KMEANS_FRACTION = 0.2
"""Share of the reported progress that k-means has."""


@single_cluster_below_2k
def pppc(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with PPPC, privacy-preserving parallel clustering, the single-machine form.

    Reconstructed from the review of clustering methods. k-means cuts the table into `parts`; a part of fewer than k
    records joins the part with the nearest center. While a part has k records, a cluster is made of one record of each
    of the k sensitive values that are most frequent among its remaining records; if there are fewer values, they are
    used again. The first is the record nearest to the center of the part, the others those with which a record of the
    cluster loses least. So it has as many values as it can. The remaining records of a part join, in canonical order,
    the cluster of the part whose whole loss grows least. With several sensitive columns their combinations are the
    values. O(n^2 / parts) time at worst, O(n) memory.

    Which records are together depends on sensitive values; privacy models of these are met afterwards, by merging
    clusters that violate them.
    """
    progress_check = progress.as_progress_check(check)
    return grow_groups(
        space,
        _ValueBuckets(space, constraint.min_records, options, progress_check.subtask(0, KMEANS_FRACTION)),
        progress_check.subtask(KMEANS_FRACTION, 1),
    )


class _ValueBuckets(KernelCountedRules):
    """Growth rules of PPPC, in compiled code: clusters within the parts of a table."""

    step_cost = 0.5

    def __init__(self, space: EncodedTable, k: int, options: Options, check: Check) -> None:
        """Cut the table into parts by k-means, and group the records of each part by their sensitive values.

        A part of fewer than k records joins the part with the nearest center.

        Args:
            space: The encoded table.
            k: Least number of records of a cluster and of a part.
            options: The options of the algorithm.
            check: Called from time to time; raises if the run was interrupted.
        """
        from dbanon.kernels.centers import center_distances

        super().__init__(space, k, np.array([0, space.rows], np.int64))
        seeds, order = spread_rows(space, min(int(str(options["parts"])), space.rows), options)
        centers_search = MovingCenters(space, k, seeds, order, True, int(str(options["rounds"])), check)
        parts, n_parts = unadjusted_kmeans(centers_search), len(seeds)

        def distances_from(part: int) -> Ints:
            """Return the distance of the part's center to the centers of all parts."""
            center = np.repeat(centers_search.centers[[part]], n_parts, axis=0)
            return np.asarray(center_distances(center, np.arange(n_parts), centers_search.centers, centers_search.axes))

        self.parts, center_of_part = merge_small_parts(parts, n_parts, k, distances_from)
        groups = SensitiveGroups.from_codes(space, np.concatenate((self.parts[None], sensitive_codes(space))))
        part_of = groups.values[0]
        centers = center_of_part[part_of[groups.item_groups]]
        distances = center_distances(
            centers_search.points[groups.tuples], centers, centers_search.centers, centers_search.axes
        )
        self.pools = BucketPools(
            groups.pools,
            np.searchsorted(part_of, np.arange(len(center_of_part) + 1)),
            groups.group_starts,
            np.minimum.reduceat(groups.first_records, groups.group_starts[:-1]),
            np.bincount(groups.group_of),
            np.bincount(self.parts),
            distances,
        )

    def can_form_group(self) -> bool:
        """Return whether at least k records remain in some part."""
        return bool((self.pools.part_remaining >= self.k).any())

    def form_groups(self, first_number: int, max_groups: int) -> int:
        """Form up to `max_groups` clusters, numbered from `first_number`, and return how many were formed."""
        from dbanon.kernels.bucket_growth import grow_bucket_clusters

        inputs = (self.pools, self.kernel_inputs.loss_arrays, self.code_offsets, self.labels)
        return self.count_examined(*grow_bucket_clusters(self.state, max_groups, first_number, self.k, *inputs))

    def assign_leftovers(self, n_groups: int, check: Check) -> None:
        """Assign each remaining record to the cluster of its part whose whole loss grows least, in canonical order.

        A part has the records that k-means put together; it has at least one cluster. `n_groups` is not read.
        """
        tuple_of = self.space.tuple_of
        for rows in np.split(np.argsort(self.parts, kind="stable"), np.cumsum(np.bincount(self.parts))[:-1]):
            labels = self.labels[rows]
            first = int(labels[labels >= 0].min())
            labels = np.where(labels < 0, -1, labels - first)
            leftovers.assign_leftovers(self.kernel_inputs, tuple_of[rows], labels, check)
            self.labels[rows] = labels + first


register(
    pppc,
    title="PPPC: clusters with one record of each frequent sensitive value",
    summary=(
        "Divides the table into parts by k-means. In each part, it forms clusters with one record of each of the most "
        "frequent sensitive values."
    ),
    source="Lawrance and Jesudhasan 2021, as the review of clustering methods describes it",
    evidence="description",
    own_parameters=(PARTS, ROUNDS, SEED, EVEN_MODE, LARGE),
    reads=("sensitive",),
)
