"""Top-down specialization: the node whose children save most loss for the privacy they cost is specialized."""

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.registry import ALL_MODELS, LARGE, Assignment, Check, Options, register
from dbanon.algorithms.full_domain.levels import group_records, group_rows
from dbanon.algorithms.single_dimension.recoding import Recoding, RecodingTree
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

SAMPLE_STEPS = 4
"""Specializations from which the time of all is estimated."""


def tds(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with top-down specialization (Fung et al. 2005), in one phase or two, reconstructed from descriptions.

    It begins with the roots of all hierarchies. A specialization replaces a node by its children in all records; it is
    allowed if all classes then meet the constraint. Its score is the loss that it saves, over 1 plus the number of
    records by which it shrinks the smallest class. The one of the highest score is applied, in a tie that of the first
    column, then of the first node, until none is allowed. A specialization that was not allowed once is not tried
    again. Classes are published as tightly as their records allow.

    With `parts` of 2 or more it runs in two phases, as on MapReduce (TDS-PP): every part of the records, dealt out in
    turn, is specialized for itself, and the second phase continues, on all records, from the nodes that are at least as
    general as those of every part.

    Reconstructed: the score has the loss of this project in place of the information gain for a class label, and the
    parts have the whole constraint. A number without a hierarchy has blocks of 1, 2, 4, 8 ... distinct values, and NULL
    is a child of the root. O(values * n) time, O(n^2) if all values differ, O(n) memory.
    """
    progress_check, n_parts, n_tuples = progress.as_progress_check(check), int(str(options["parts"])), len(space.counts)
    if n_parts > 1 and n_tuples > 1:
        parts = [np.arange(i, n_tuples, n_parts) for i in range(min(n_parts, n_tuples))]
        whole = Specialization(space, constraint)
        depths = [np.full(len(tree.ancestors), np.iinfo(np.int64).max) for tree in whole.trees]
        for i, tuples in enumerate(parts):
            part = Specialization(space.subset(tuples), constraint)
            part.specialize(progress_check.subtask(0.5 * i / len(parts), 0.5 * (i + 1) / len(parts)))
            for j, tree in enumerate(whole.trees):
                np.minimum.at(depths[j], tree.value_of[tuples], part.levels[:, j])
        levels = [common_levels(tree, d)[tree.value_of] for tree, d in zip(whole.trees, depths, strict=True)]
        whole.set_levels(np.stack(levels, axis=1))
        if not whole.meets_constraint(whole.class_of, whole.n_classes):
            whole.set_levels(np.zeros(space.codes.shape, np.int64))
        progress_check = progress_check.subtask(0.5, 1)
    else:
        whole = Specialization(space, constraint)
    whole.specialize(progress_check)
    return RunLengthLabels.from_tuple_clusters(space, whole.class_of)


def common_levels(tree: RecodingTree, depths: Ints) -> Ints:
    """Return, for each present value, the depth of the lowest node that no value's limit is above.

    A value with a limit of `depths` makes all values below its ancestor at that depth stop there, too.
    """
    levels = np.minimum(depths, tree.ancestors.shape[1] - 1)
    for level in range(tree.ancestors.shape[1]):
        stops = np.unique(tree.ancestors[levels == level, level])
        levels = np.where((levels > level) & np.isin(tree.ancestors[:, level], stops), level, levels)
    return np.asarray(levels, np.int64)


class Specialization(Recoding):
    """A recoding that is specialized from the roots downwards.

    Attributes:
        levels: (tuples, attributes) depth of the node of each tuple.
    """

    def __init__(self, space: EncodedTable, constraint: Constraint) -> None:
        """Begin with the root of every hierarchy."""
        super().__init__(space, constraint, np.zeros(space.codes.shape, np.int64))
        self.levels = np.zeros(space.codes.shape, np.int64)

    def set_levels(self, levels: Ints) -> None:
        """Set the depth of the node of every tuple on every attribute."""
        self.levels = levels
        self.replace(
            np.stack([tree.ancestors[tree.value_of, levels[:, j]] for j, tree in enumerate(self.trees)], axis=1)
        )

    def specialize(self, progress_check: progress.ProgressCheck) -> None:
        """Apply the allowed specialization of the highest score, again and again, until none is allowed."""
        is_refused = [np.zeros(len(tree.parent), bool) for tree in self.trees]
        n_steps, clock, k = 0, progress.thread_seconds(), self.constraint.min_records
        n_inner = max(sum(tree.n_inner(self.space.counts, k) for tree in self.trees), 1)
        while True:
            progress_check()
            specialization = self._best_specialization(is_refused)
            if specialization is None:
                return
            j, node = specialization
            levels = self.levels + 0
            levels[self.nodes[:, j] == node, j] += 1
            before, class_before, n_before = (self.levels, self.nodes), self.class_of, self.n_classes
            self.set_levels(levels)
            if not self.constraint.counts_only_records(self.space) and not self._meets_after(node, j, before[1]):
                self.levels, self.nodes = before
                self.class_of, self.n_classes = class_before, n_before
                is_refused[j][node] = True
            n_steps += 1
            progress_check.advance(min(n_steps / n_inner, 1))
            if n_steps == SAMPLE_STEPS:
                steps = SAMPLE_STEPS * len(self.space.counts) * len(self.trees) ** 2
                progress_check.extrapolate(min(n_steps / n_inner, 1), steps, progress.thread_seconds() - clock)

    def _meets_after(self, node: int, j: int, nodes_before: Ints) -> bool:
        """Return whether the classes of the tuples that had `node` on attribute `j` before meet the constraint."""
        changed_classes = np.unique(self.class_of[nodes_before[:, j] == node])
        order = np.argsort(self.class_of, kind="stable")
        starts = np.searchsorted(self.class_of[order], np.arange(self.n_classes + 1))
        rows = [self.space.rows_of(np.sort(order[starts[c] : starts[c + 1]])) for c in changed_classes.tolist()]
        return len(self.constraint.failing_clusters(self.space, rows)) == 0

    def _best_specialization(self, is_refused: list[Ints]) -> tuple[int, int] | None:
        """Return the attribute and the node of the specialization of the highest score that leaves k records.

        Nodes in `is_refused` of their attribute are omitted; those that leave too few records are added to it. None if
        no node is left.
        """
        smallest, best = int(self.sizes(self.class_of, self.n_classes).min()), None
        for j, tree in enumerate(self.trees):
            node, next_level = self.nodes[:, j], np.minimum(self.levels[:, j] + 1, tree.ancestors.shape[1] - 1)
            child = tree.ancestors[tree.value_of, next_level]
            is_open = (child != node) & ~is_refused[j][node]
            if not is_open.any():
                continue
            group, n_groups = group_rows([self.class_of, child], [self.n_classes, len(tree.parent)])
            sizes, least_sizes = group_records(group, n_groups, self.space.counts), np.full(len(tree.parent), smallest)
            np.minimum.at(least_sizes, node, sizes[group])
            saved = np.zeros(len(tree.parent), np.int64)
            saving = self.space.counts * (tree.cost_to_root[child] - tree.cost_to_root[node])
            np.add.at(saved, node[is_open], saving[is_open])
            candidates = np.unique(node[is_open])
            is_allowed = least_sizes[candidates] >= self.constraint.min_records
            is_refused[j][candidates[~is_allowed]] = True
            candidates = candidates[is_allowed]
            if len(candidates):
                scores = saved[candidates] / (1 + smallest - least_sizes[candidates])
                place = int(np.argmax(scores))
                if best is None or scores[place] > best[0]:
                    best = float(scores[place]), j, int(candidates[place])
        return None if best is None else best[1:]


register(
    tds,
    title="Top-down specialization",
    summary=(
        "Begins with the roots of the hierarchies, and replaces a node by its children, in all records, as long as "
        "all classes meet the model. Each step is the one that saves most loss per record by which the smallest class "
        "shrinks. With `parts`, it runs in the two phases of TDS-PP."
    ),
    source="Fung et al. 2005; in two phases Zhang et al. 2014, as the review of clustering methods names it",
    evidence="textbook",
    own_parameters=(
        Parameter(
            "parts",
            Integer(1),
            "Number of parts of the records that are specialized separately in a first phase; 1: a single phase.",
            1,
        ),
        LARGE,
    ),
    meets=ALL_MODELS,
    references=(
        {
            "cited": "Fung et al. 2005",
            "authors": "Fung, B. C. M., Wang, K. and Yu, P. S.",
            "title": "Top-down specialization for information and privacy preservation",
            "venue": "21st International Conference on Data Engineering (ICDE), 205-216",
            "note": "We did not have the paper itself.",
        },
        {
            "cited": "Zhang et al. 2014",
            "authors": "Zhang, X., Yang, L. T., Liu, C. and Chen, J.",
            "title": "A scalable two-phase top-down specialization approach for data anonymization using MapReduce on "
            "cloud",
            "venue": "IEEE Transactions on Parallel and Distributed Systems 25(2)",
            "note": "We did not have the paper itself.",
        },
    ),
)
