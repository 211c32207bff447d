"""OKA: one-pass k-means, whose centers move as records join."""

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.registry import LARGE, SEED, register
from dbanon.algorithms.centroid import moving_centers
from dbanon.algorithms.centroid.moving_centers import EVEN_MODE, NULL_POSITION, MovingCenters, as_algorithm
from dbanon.encoding.encoded_table import Ints
from dbanon.kernels.center_arrays import CenterTotals
from dbanon.table_functions.parameter_types import Choice
from dbanon.table_functions.parameters import Parameter


def oka(clusters: MovingCenters) -> Ints:
    """Cluster with OKA, the one-pass k-means of Lin and Wei (2008).

    floor(n/k) random records are the first centers. The others join, in canonical order, the cluster with the nearest
    center, which then moves: to the mean of a number, and to the lowest common ancestor of a category
    (`centroid_cat='mode'`: the most frequent value). Then ADJUST makes every cluster have k records, without moving
    centers. O(n^2 / k) time at worst, O(n) memory.

    A center never moves away from the record that joined, and no other moves: so all records of one tuple join the
    same cluster, and one search per tuple is enough.
    """
    labels = one_pass_clusters(clusters)
    clusters.adjust_sizes(labels)
    return labels


def one_pass_clusters(work: MovingCenters) -> Ints:
    """Assign all records in one pass, moving centers as records join; return the cluster of every record.

    Clusters may have any number of records. The seeds stay in their own clusters. `work.centers` is changed in place.
    """
    n_remaining = work.space.counts.copy()
    np.subtract.at(n_remaining, work.tuple_of[work.seeds], 1)
    n_clusters, d = work.centers.shape
    n_values = ((work.centers != NULL_POSITION) & (work.axes.is_hierarchy == 0)).astype(np.int64)
    sums = np.where(n_values > 0, work.centers, 0)
    entries = (
        int(np.minimum(n_clusters * np.diff(work.axes.node_starts), n_clusters + len(n_remaining)).sum())
        if work.with_modes
        else 0
    )
    keys = np.full(2 ** (2 * entries).bit_length(), -1, np.int64)
    mode_counts, counts = np.ones((n_clusters, d), np.int64), np.zeros(len(keys), np.int64)
    totals = CenterTotals(sums, n_values, mode_counts, keys, counts, work.with_modes)
    if work.with_modes:
        work.kernels.count_center_values(work.centers, work.axes, keys, counts)
    nearest = np.full(len(n_remaining), -1, np.int64)
    begin, rebuild = 0, 0
    while begin < len(n_remaining):
        if begin >= rebuild:  # boxes grow as centers move
            work.build_tree(np.arange(n_clusters))
            rebuild = begin + max(n_clusters // 8, 256)
        work.check()
        clock, previous, end = progress.thread_seconds(), begin, min(rebuild, len(n_remaining))
        begin = work.kernels.assign_and_move(
            begin, end, moving_centers.STEPS_PER_CALL, n_remaining, work.points, work.tree, totals, nearest
        )
        if begin < end:
            work.report_search((begin - previous) / len(n_remaining), progress.thread_seconds() - clock)
        progress.as_progress_check(work.check).advance(begin / len(n_remaining))
    labels = nearest[work.tuple_of]
    labels[work.seeds] = np.arange(n_clusters)
    return labels


CATEGORY_CENTER = Parameter(
    "centroid_cat",
    Choice(("lca", "mode")),
    "Center of a category: the lowest common ancestor of the values (lca), or the most frequent value (mode).",
    "lca",
)

register(
    as_algorithm(oka),
    title="One-pass k-means (OKA)",
    summary=(
        "One-pass k-means: assigns each record to the nearest center, which moves at once, and adjusts the clusters to "
        "k records at the end."
    ),
    source="Lin and Wei 2008; baseline of Wang et al. 2022 and the three-variants paper",
    evidence="code",
    own_parameters=(SEED, EVEN_MODE, CATEGORY_CENTER, LARGE),
)
