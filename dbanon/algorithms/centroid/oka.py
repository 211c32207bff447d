"""OKA: one-pass k-means, whose centers move as records join."""

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.registry import LARGE, SEED, register
from dbanon.algorithms.centroid import moving_centers
from dbanon.algorithms.centroid.moving_centers import EVENLY, NONE, Work, centers_first
from dbanon.encoding.encoded_table import Ints
from dbanon.table_functions.parameter_types import Choice
from dbanon.table_functions.parameters import Parameter


def oka(work: Work) -> Ints:
    """OKA, the one-pass k-means of Lin and Wei (2008).

    floor(n/k) random records are the first centers. The others join, in canonical order, the cluster with the nearest
    center, which then moves: to the mean of a number, and to the lowest common ancestor of a category
    (`centroid_cat='mode'`: the most frequent value). Then ADJUST, with the centers as they are. O(n^2 / k) time at
    worst, O(n) memory.

    A center never moves away from the record that joined, and no other moves: so all records of one tuple join the
    same cluster, and one question answers for them.
    """
    labels = absorbed(work)
    work.adjust(labels)
    return labels


def absorbed(work: Work) -> Ints:
    """Return the clusters before the adjustment, of any number of records; the centers move."""
    from dbanon.kernels import assign_to_centers as kernels

    left = work.space.counts.copy()
    np.subtract.at(left, work.tuple_of[work.seeds], 1)
    clusters, d = work.centers.shape
    numbers = work.axes[0] == 0
    known = ((work.centers != NONE) & numbers).astype(np.int64)
    sums = np.where(known > 0, work.centers, 0)
    entries = int(np.minimum(clusters * np.diff(work.axes[2]), clusters + len(left)).sum()) if work.modes else 0
    keys = np.full(2 ** (2 * entries).bit_length(), -1, np.int64)
    state = (sums, known, np.ones((clusters, d), np.int64), keys, np.zeros(len(keys), np.int64), work.modes)
    if work.modes:
        kernels.count_center_values(work.centers, work.axes, keys, state[4])
    near = np.full(len(left), -1, np.int64)
    begin, rebuild = 0, 0
    while begin < len(left):
        if begin >= rebuild:  # boxes grow as centers move
            work.build(np.arange(clusters))
            rebuild = begin + max(clusters // 8, 256)
        work.check()
        clock, was, end = progress.clock(), begin, min(rebuild, len(left))
        begin = kernels.assign_and_move(begin, end, moving_centers.STEPS, left, work.points, work.tree, state, near)
        if begin < end:
            work.paused((begin - was) / len(left), progress.clock() - clock)
        progress.work(work.check).come(begin / len(left))
    labels = near[work.tuple_of]
    labels[work.seeds] = np.arange(clusters)
    return labels


CENTER = Parameter(
    "centroid_cat",
    Choice(("lca", "mode")),
    "Center of a category: the lowest common ancestor of the values, or the most frequent one.",
    "lca",
)

register(
    centers_first(oka),
    title="One-pass k-means (OKA)",
    summary=("one-pass k-means: records join the nearest center, which moves at once; then clusters are adjusted to k"),
    source="Lin and Wei 2008; baseline of Wang et al. 2022 and the three-variants paper",
    evidence="LIT",
    own=(SEED, EVENLY, CENTER, LARGE),
)
