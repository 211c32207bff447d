"""KACA: classes that are too small merge with the class that is nearest in the hierarchies."""

import numpy as np

from dbanon.algorithms.agglomerative.hierarchy_distances import hierarchy_costs
from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import RunLengthLabels, chain_numbers
from dbanon.algorithms.base.registry import LARGE, Assignment, Check, Options, register
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.kernels.arrays import N_MERGES, ClassChains
from dbanon.kernels.center_arrays import CenterAxes, CenterBoxes, CenterTree
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Boolean, Float
from dbanon.table_functions.parameters import Parameter

STEPS_PER_CALL = 2**19
"""Boxes examined, in some 50 ms, after which the kernel returns for a check for interrupts."""

BOX_COST = 2.5
"""Cost of examining a box, in steps of dbanon.algorithms.base.progress."""


def kaca(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with KACA, k-anonymity by clustering in attribute hierarchies (Li et al. 2006).

    All records that are equal form a class. While some class has fewer than k records, the smallest (the first in a
    tie) is united with the class at the least distance (the first in a tie), and all its records are raised to the
    lowest common ancestors of both. The distance is the distortion that this adds: each record of both classes pays for
    its way up. In each hierarchy it pays the weights of the edges over those of all edges from a leaf to the root; the
    edge below level j, of which the root is 1, weighs 1/j^beta_edge.

    A number without a hierarchy has blocks of 1, 2, 4, 8 ... distinct values; NULL joins the other values at the top.
    With the option `split_donor`, a class that has enough records gives a small class only as many as that needs, its
    last ones. With persons or other privacy models, a class has at least as many records as any of them needs; classes
    that violate them are merged afterwards. O(tuples^2) time without the tree of boxes, O(n) memory.
    """
    merging = ClassMerger(space, constraint.min_records, float(str(options["beta_edge"])), bool(options["split_donor"]))
    merging.merge_small_classes(check)
    return merging.assignment()


class ClassMerger:
    """Classes that are merged until none is too small, each identified by its first tuple.

    Attributes:
        tree: The classes in a tree of boxes, as `dbanon.kernels.merge_small` reads and writes it.
        sizes: (tuples,) number of records of each class; 0 for one that was united with another.
        chains: The records of each class.
        k: Least number of records of a class.
        with_split_donor: Whether a class with enough records gives only as many records as a small class needs.
    """

    def __init__(self, space: EncodedTable, k: int, beta: float, with_split_donor: bool) -> None:
        """Make a class of every tuple, and prepare the kernel's arrays.

        Args:
            space: The encoded table.
            k: Least number of records of a class.
            beta: The edge below level j of a hierarchy weighs 1 / j^beta.
            with_split_donor: Whether a class with enough records gives only as many records as a small class needs.
        """
        self.k, self.with_split_donor, tuples = k, with_split_donor, len(space.counts)
        hierarchies = hierarchy_costs(space, beta)
        starts = np.cumsum([0, *(len(hierarchy.parent) + 1 for hierarchy in hierarchies)])
        parent, last, cost_to_root, height = (np.zeros(int(starts[-1]), np.int64) for _ in range(4))
        points = np.empty((tuples, len(hierarchies) + 1), np.int64)
        for j, hierarchy in enumerate(hierarchies):
            part = slice(int(starts[j]), int(starts[j + 1]) - 1)
            parent[part], last[part], cost_to_root[part], height[part] = (
                hierarchy.parent,
                hierarchy.last,
                hierarchy.cost_to_root,
                hierarchy.unit - hierarchy.cost_to_root,
            )
            points[:, j] = hierarchy.node[space.codes[:, j]]
        points[:, -1] = sum(
            (hierarchy.cost_to_root[hierarchy.node[space.codes[:, j]]] for j, hierarchy in enumerate(hierarchies)),
            np.zeros(1, np.int64),
        )
        trees = np.append(np.ones(len(hierarchies), np.int64), 0)
        axes = CenterAxes(trees, np.zeros(len(trees), np.int64), np.append(starts, starts[-1]), parent, last, height)
        self.cost_to_root, self.sizes = cost_to_root, space.counts.copy()
        max_entries, tuple_numbers = 2 * tuples if with_split_donor else tuples, np.arange(tuples)
        entry_tuple, counts = np.empty(max_entries, np.int64), np.empty(max_entries, np.int64)
        entry_tuple[:tuples], counts[:tuples] = tuple_numbers, space.counts
        self.chains = ClassChains(
            tuple_numbers.copy(),
            tuple_numbers.copy(),
            np.full(max_entries, -1, np.int64),
            entry_tuple,
            counts,
            np.array([tuples]),
        )
        stack_size = 128 * (points.shape[1] + 1) + 4 * sum(hierarchy.levels for hierarchy in hierarchies)
        self.tree = CenterTree(points, axes, CenterBoxes.allocate(*points.shape), stack_size)

    def merge_small_classes(self, check: Check) -> None:
        """Merge the smallest class with the nearest one, in place, until no class has fewer than k records.

        `check` is called between kernel calls, for interrupts, progress and a time estimate. The tree is rebuilt from
        time to time, since boxes grow as classes are raised.
        """
        from dbanon.kernels.centers import build_center_tree
        from dbanon.kernels.merge_small import merge_small_classes

        progress_check = progress.as_progress_check(check)
        n_small, state = int((self.sizes < self.k).sum()), np.array([0, len(self.sizes), 1, 0])
        estimate, rebuild, is_done = progress.KernelEstimate(progress_check), 0, n_small == 0
        while not is_done:
            progress_check()
            if state[N_MERGES] >= rebuild:  # boxes grow as classes are raised
                alive = np.flatnonzero(self.sizes)
                build_center_tree(alive, self.tree)
                rebuild = int(state[N_MERGES]) + max(len(alive) // 8, 64)
            clock, n_merged = progress.thread_seconds(), int(state[N_MERGES])
            is_done = merge_small_classes(
                state,
                STEPS_PER_CALL,
                rebuild - n_merged,
                self.k,
                self.with_split_donor,
                self.tree,
                self.sizes,
                self.cost_to_root,
                self.chains,
            )
            progress_check.advance(state[N_MERGES] / n_small)
            if not is_done and state[N_MERGES] < rebuild:
                estimate.report_return(
                    (state[N_MERGES] - n_merged) / n_small, STEPS_PER_CALL * BOX_COST, progress.thread_seconds() - clock
                )

    def assignment(self) -> RunLengthLabels:
        """Return the class of every record as runs; classes are numbered from 0 in the order of their first tuples."""
        head, _, following, tuples, counts, n_entries = self.chains
        entries = int(n_entries[0])
        classes = chain_numbers(head[self.sizes > 0], following[:entries])
        order = np.lexsort((classes, tuples[:entries]))
        return RunLengthLabels.from_runs(tuples[order], classes[order], counts[order])


register(
    kaca,
    title="KACA: clustering in attribute hierarchies",
    summary=(
        "Merges the smallest class of fewer than k records with the class nearest in the hierarchies, until every "
        "class has k records."
    ),
    source="Li et al. 2006, as Wang et al. 2022 and the review of clustering methods describe it",
    evidence="abstract",
    complexity="O(distinct tuples^2) time without the index, O(n) memory",
    own_parameters=(
        Parameter(
            "beta_edge",
            Float(0, 100),
            "The edge below level j of a hierarchy, where the root is level 1, has the weight 1 / j^beta_edge; 0: "
            "all edges have the same weight.",
            1.0,
        ),
        Parameter(
            "split_donor",
            Boolean(),
            "Take only as many records as a small class needs from a class that has enough others.",
            False,
        ),
        LARGE,
    ),
)
