"""The hybrid of one-pass k-means and k-member."""

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.grow_clusters import grow_groups
from dbanon.algorithms.base.random_seeds import spread_rows
from dbanon.algorithms.base.registry import LARGE, SEED, Assignment, Check, Options, register
from dbanon.algorithms.centroid.moving_centers import EVEN_MODE, MovingCenters
from dbanon.algorithms.centroid.oka import CATEGORY_CENTER, one_pass_clusters
from dbanon.algorithms.greedy.least_loss import FARTHEST_SEED, LeastLossGroups
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint


def oka_kmember(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with the hybrid of one-pass k-means and k-member, from the review of clustering methods.

    One-pass k-means forms clusters without its adjustment. In each cluster of at least k records, the k records nearest
    to its center stay together. All others are clustered by k-member; the remaining records join the cluster of either
    origin whose whole loss grows least. If no cluster has k records, this is k-member. O(n^2) time at worst, O(n)
    memory.
    """
    cores = _one_pass_cores(space, constraint, options, check)
    rules = LeastLossGroups(space, constraint, "edges", FARTHEST_SEED, options, cores)
    if rules.can_form_group():
        return grow_groups(space, rules, check)
    rules.assign_leftovers(0, check)
    return rules.assignment()


def _one_pass_cores(
    space: EncodedTable, constraint: Constraint, options: Options, check: Check
) -> RunLengthLabels | None:
    """Return the k records nearest to the center of each one-pass cluster that has at least k, as runs.

    Other records are in no run. Return None if there is no such cluster, or fewer than 2k records.
    """
    n_clusters = space.rows // constraint.min_records
    if n_clusters < 2:
        return None
    seeds, order = spread_rows(space, n_clusters, options)
    clusters = MovingCenters(space, constraint.min_records, seeds, order, options["centroid_cat"] == "mode", 1, check)
    labels = one_pass_clusters(clusters)
    n_free = np.empty(n_clusters, np.int64)
    clusters.kernels.trim_clusters(
        clusters.k, labels, clusters.tuple_of, clusters.points, clusters.centers, clusters.axes, n_free
    )
    is_full = n_free == 0
    if not is_full.any():
        return None
    numbers = np.append(np.where(is_full, np.cumsum(is_full) - 1, -1), -1)
    return RunLengthLabels.from_labels(space, numbers[labels]).without_suppressed()


register(
    oka_kmember,
    title="Hybrid of one-pass k-means and k-member",
    summary=(
        "Runs one-pass k-means and keeps the k records nearest to the center of each large cluster. k-member clusters "
        "the other records."
    ),
    source="the hybrid method, as the review of clustering methods describes it",
    evidence="description",
    own_parameters=(SEED, EVEN_MODE, CATEGORY_CENTER, LARGE),
)
