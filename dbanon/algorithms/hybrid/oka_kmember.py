"""The hybrid of one-pass k-means and k-member."""

import numpy as np

from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.grow_clusters import grow
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.random_seeds import spread_rows
from dbanon.algorithms.base.registry import LARGE, SEED, Assignment, Check, Options, register
from dbanon.algorithms.centroid.moving_centers import EVENLY, Work
from dbanon.algorithms.centroid.oka import CENTER, absorbed
from dbanon.algorithms.greedy.least_loss import FAR, LeastLoss, Seeding
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint


def oka_kmember(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """The hybrid of one-pass k-means and k-member, from the review of clustering methods.

    One-pass k-means without its adjustment; of each cluster of at least k records the k nearest to its center stay
    together. All others are clustered by k-member; what is left at the end joins the cluster of either kind whose
    whole loss grows least. Where no cluster has k records, this is k-member. O(n^2) time at worst, O(n) memory.
    """
    kept = _kept(space, constraint, options, check)
    rules = LeastLoss(space, constraint, Loss(space, constraint.least, "edges"), Seeding.of(space, FAR, options), kept)
    if rules.can_go_on():
        return grow(space, rules, check)
    rules.place(0, check)
    return rules.found()


def _kept(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Runs | None:
    """Return the clusters that stay as they are, if there are any."""
    from dbanon.kernels import assign_to_centers as kernels

    number = space.rows // constraint.least
    if number < 2:
        return None
    seeds, order = spread_rows(space, number, options)
    work = Work(space, constraint.least, seeds, order, options["centroid_cat"] == "mode", 1, check)
    labels = absorbed(work)
    free = np.empty(number, np.int64)
    kernels.trim_clusters(work.k, labels, work.tuple_of, work.points, work.centers, work.axes, free)
    stays = free == 0
    if not stays.any():
        return None
    numbers = np.append(np.where(stays, np.cumsum(stays) - 1, -1), -1)
    return Runs.from_labels(space, numbers[labels]).kept()


register(
    oka_kmember,
    title="Hybrid of one-pass k-means and k-member",
    summary="one-pass k-means; the k nearest of its large clusters stay, the others are clustered by k-member",
    source="the hybrid method, as the review of clustering methods describes it",
    evidence="LIT-m",
    own=(SEED, EVENLY, CENTER, LARGE),
)
