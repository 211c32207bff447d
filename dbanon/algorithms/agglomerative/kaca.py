"""KACA: classes that are too small merge with the one that is nearest in the hierarchies."""

import numpy as np

from dbanon.algorithms.agglomerative.hierarchy_distances import ladders
from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import Runs, heads
from dbanon.algorithms.base.registry import LARGE, Assignment, Check, Options, register
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.kernels.arrays import CenterTree
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Boolean, Float
from dbanon.table_functions.parameters import Parameter

STEPS = 2**19
"""Boxes that are looked at, some 50 ms, after which the kernel comes back to look for interrupts."""

EACH = 2.5
"""What a box costs in steps of dbanon.algorithms.base.progress."""


def kaca(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """KACA, k-anonymity by clustering in attribute hierarchies (Li et al. 2006).

    All records that are equal are a class. While some class has fewer than k records, the smallest (the first one) is
    united with the class at the least distance (the first one), and raised with it to the lowest common ancestors. The
    distance is the distortion that this adds: each record of both pays for its way up, in each hierarchy the weights of
    the edges over those of all edges from a leaf to the root; the edge below level j, of which the root is 1, weighs
    1/j^beta_edge. A number without a hierarchy has blocks of 1, 2, 4, 8 ... distinct values; NULL joins the other
    values at the top. With `stub`, of a class that has enough others only as many records join as are needed, the last
    ones. Under persons or models a class has at least as many records as any of them needs, and the shared repair
    follows. O(tuples^2) time without the tree of boxes, O(n) memory.
    """
    merging = Merging(space, constraint.least, float(str(options["beta_edge"])), bool(options["stub"]))
    merging.finish(check)
    return merging.found()


class Merging:
    """Classes by their first tuple: `tree` as dbanon.kernels.merge_small has it, `sizes` (0: united with
    another), and their records as chains of entries, a tuple and a count each."""

    def __init__(self, space: EncodedTable, k: int, beta: float, stub: bool) -> None:
        self.k, self.stub, tuples = k, stub, len(space.counts)
        rungs = ladders(space, beta)
        at = np.cumsum([0, *(len(r.parent) + 1 for r in rungs)])
        parent, last, way, height = (np.zeros(int(at[-1]), np.int64) for _ in range(4))
        points = np.empty((tuples, len(rungs) + 1), np.int64)
        for j, rung in enumerate(rungs):
            part = slice(int(at[j]), int(at[j + 1]) - 1)
            parent[part], last[part], way[part], height[part] = rung.parent, rung.last, rung.way, rung.unit - rung.way
            points[:, j] = rung.node[space.codes[:, j]]
        points[:, -1] = sum((r.way[r.node[space.codes[:, j]]] for j, r in enumerate(rungs)), np.zeros(1, np.int64))
        trees = np.append(np.ones(len(rungs), np.int64), 0)
        axes = trees, np.zeros(len(trees), np.int64), np.append(at, at[-1]), parent, last, height
        self.way, self.sizes = way, space.counts.copy()
        room, each = 2 * tuples if stub else tuples, np.arange(tuples)
        of, counts = np.empty(room, np.int64), np.empty(room, np.int64)
        of[:tuples], counts[:tuples] = each, space.counts
        self.chains = each.copy(), each.copy(), np.full(room, -1, np.int64), of, counts, np.array([tuples])
        nodes, d = max(2 * tuples - 1, 1), points.shape[1]
        boxes = (
            np.empty((nodes, 2 * d), np.int64),
            *(np.empty(nodes, np.int64) for _ in range(3)),
            np.empty(tuples, np.int64),
        )
        self.tree = CenterTree(points, axes, boxes, 128 * (d + 1) + 4 * sum(r.levels for r in rungs))

    def finish(self, check: Check) -> None:
        """Merge until no class is too small."""
        from dbanon.kernels.centers import build_center_tree
        from dbanon.kernels.merge_small import merge_small_classes

        work = progress.work(check)
        small, state = int((self.sizes < self.k).sum()), np.array([0, len(self.sizes), 1, 0])
        pauses, rebuild, done = progress.Pauses(work), 0, small == 0
        while not done:
            work()
            if state[3] >= rebuild:  # boxes grow as classes are raised
                alive = np.flatnonzero(self.sizes)
                build_center_tree(alive, self.tree)
                rebuild = int(state[3]) + max(len(alive) // 8, 64)
            clock, before = progress.clock(), int(state[3])
            done = merge_small_classes(
                state, STEPS, rebuild - before, self.k, self.stub, self.tree, self.sizes, self.way, self.chains
            )
            work.come(state[3] / small)
            if not done and state[3] < rebuild:
                pauses.paused(progress.Sample((state[3] - before) / small, STEPS * EACH, progress.clock() - clock))

    def found(self) -> Runs:
        """Return the classes, in the order of their first tuples."""
        head, _, following, tuples, counts, used = self.chains
        entries = int(used[0])
        alive = self.sizes > 0
        number = np.full(entries, -1, np.int64)
        number[head[alive]] = np.arange(int(alive.sum()))
        classes = number[heads(following[:entries])]
        there = np.lexsort((classes, tuples[:entries]))
        return Runs.of(tuples[there], classes[there], counts[there])


register(
    kaca,
    title="KACA: clustering in attribute hierarchies",
    summary=(
        "the smallest class of fewer than k records is united with the class that is nearest in the "
        "hierarchies, until none is"
    ),
    source="Li et al. 2006, as Wang et al. 2022 and the review of clustering methods describe it",
    evidence="LIT-m",
    complexity="O(distinct tuples^2) time without the index, O(n) memory",
    own=(
        Parameter(
            "beta_edge",
            Float(0, 100),
            "Weight of the edge below level j of a hierarchy, of which the root is 1: 1 / j^beta_edge; 0: all "
            "edges weigh the same.",
            1.0,
        ),
        Parameter(
            "stub",
            Boolean(),
            "Of a class that has enough others take only as many records as a small class needs.",
            False,
        ),
        LARGE,
    ),
)
