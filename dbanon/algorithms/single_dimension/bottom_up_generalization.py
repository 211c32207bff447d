"""Bottom-up generalization: the siblings whose union loses least for the privacy it gains are united, step by step."""

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.registry import ALL_MODELS, LARGE, Assignment, Check, Options, register
from dbanon.algorithms.full_domain.levels import group_records, group_rows
from dbanon.algorithms.single_dimension.recoding import Recoding
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

SAMPLE_STEPS = 8
"""Generalizations from which the time of all is estimated."""

FEW_TUPLES = 8
"""Number of tuples that are examined before all."""

NO_GENERALIZATION = np.iinfo(np.int64).max
"""The loss of a node that cannot replace its children yet."""


def bottom_up_generalization(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with bottom-up generalization (Wang et al. 2004), reconstructed from general knowledge of it.

    It begins with the values themselves. While some class violates the constraint, one generalization is applied to all
    records: all present children of a node are replaced by the node. Its cost is the loss that it adds, over the number
    of records by which it enlarges the smallest class; if it does not enlarge that, the loss alone. The one of least
    cost is taken, in a tie the one of the first column, then the first node. Classes are published as tightly as their
    records allow.

    Reconstructed: the loss is that of this project, not the entropy of a class label. A number without a hierarchy has
    blocks of 1, 2, 4, 8 ... distinct values, and NULL joins the other values at the top; the paper has categories only.
    O(values * n) time, O(n^2) if all values differ, O(n) memory.
    """
    progress_check, clock = progress.as_progress_check(check), progress.thread_seconds()
    siblings = SiblingUnions(space, constraint)
    n_steps, n_inner = 0, max(sum(tree.n_inner(space.counts, 1) for tree in siblings.trees), 1)
    while not siblings.meets_whole_constraint():
        progress_check()
        generalization = siblings.best_generalization()
        if generalization is None:
            return RunLengthLabels.single_cluster(space)
        siblings.generalize(*generalization)
        n_steps += 1
        progress_check.advance(min(n_steps / n_inner, 1))
        if n_steps == SAMPLE_STEPS:
            steps, seconds = SAMPLE_STEPS * space.codes.size / 8, progress.thread_seconds() - clock
            progress_check.extrapolate(min(n_steps / n_inner, 1), steps, seconds)
    return RunLengthLabels.from_tuple_clusters(space, siblings.classes_of(siblings.nodes)[0])


class SiblingUnions(Recoding):
    """A recoding that is generalized step by step.

    Attributes:
        class_sizes: (tuples,) number of records of the class of each tuple.
        losses: For each attribute, by node: what records lose in addition if the node replaces its children;
            NO_GENERALIZATION if it cannot, because some present child is not published yet.
    """

    def __init__(self, space: EncodedTable, constraint: Constraint) -> None:
        """Begin with the values themselves."""
        super().__init__(space, constraint)
        self.class_sizes = self.sizes(self.class_of, self.n_classes)[self.class_of]
        self.n_records: list[Ints] = []
        self.n_open_children: list[Ints] = []
        self.losses: list[Ints] = []
        self.children_of: list[dict[int, Ints]] = []
        for j, tree in enumerate(self.trees):
            n_nodes = len(tree.parent)
            present = np.unique(tree.ancestors)
            below = present[tree.parent[present] >= 0]
            n_open = np.bincount(tree.parent[below], minlength=n_nodes)
            self.n_records.append(np.bincount(self.nodes[:, j], weights=space.counts, minlength=n_nodes).astype(int))
            self.losses.append(np.full(n_nodes, NO_GENERALIZATION))
            complete = below[n_open[below] == 0]
            np.subtract.at(n_open, tree.parent[complete], 1)
            self.n_open_children.append(n_open)
            self.children_of.append(_children(tree.parent, below))
            for node in np.unique(tree.parent[complete][n_open[tree.parent[complete]] == 0]).tolist():
                self._set_loss(j, node)

    def meets_whole_constraint(self) -> bool:
        """Return whether all classes meet the constraint."""
        if self.class_sizes.min() < self.constraint.min_records:
            return False
        return self.constraint.counts_only_records(self.space) or self.meets_constraint(*self.classes_of(self.nodes))

    def best_generalization(self) -> tuple[int, int] | None:
        """Return the attribute and the node of the generalization of least cost; None if all nodes are roots."""
        smallest = np.flatnonzero(self.class_sizes == self.class_sizes.min())
        costs: list[tuple[float, int, int]] = []
        for j, tree in enumerate(self.trees):
            node = int(np.argmin(self.losses[j]))
            if self.losses[j][node] < NO_GENERALIZATION:
                costs.append((float(self.losses[j][node]), j, node))
            published_node = int(self.nodes[smallest[0], j])
            for node in (published_node, int(tree.parent[published_node])):
                if node >= 0 and self.losses[j][node] < NO_GENERALIZATION:
                    gain = self._gain(j, node, smallest)
                    if gain > 0:
                        costs.append((int(self.losses[j][node]) / gain, j, node))
        return min(costs)[1:] if costs else None

    def _gain(self, j: int, node: int, smallest: Ints) -> int:
        """Return by how many records the smallest class grows if `node` of attribute `j` replaces its children.

        `smallest` are the tuples of the smallest classes. The class grows only if all of them publish the node or one
        of its children. They can publish the node before its children do: the value of a column with one number is the
        root, and NULL is its child.
        """
        for tuples in (smallest[:FEW_TUPLES], smallest):  # mostly, some of the first few differ
            nodes = self.nodes[tuples, j]
            if not ((self.trees[j].parent[nodes] == node) | (nodes == node)).all():
                return 0
        rows, sizes = self._sizes_after(j, node)
        sizes_after = self.class_sizes.copy()
        sizes_after[rows] = sizes
        return int(sizes_after.min() - self.class_sizes.min())

    def generalize(self, j: int, node: int) -> None:
        """Replace the present children of a node of attribute `j` by the node, in all records."""
        rows, sizes = self._sizes_after(j, node)
        self.class_sizes[rows] = sizes
        self.nodes[rows, j] = node
        children, tree = self.children_of[j][node], self.trees[j]
        self.n_records[j][node] += self.n_records[j][children].sum()
        self.losses[j][node] = NO_GENERALIZATION
        parent = int(tree.parent[node])
        if parent >= 0:
            self.n_open_children[j][parent] -= 1
            if self.n_open_children[j][parent] == 0:
                self._set_loss(j, parent)

    def _set_loss(self, j: int, node: int) -> None:
        """Compute the loss of a node of attribute `j` whose present children are all published."""
        tree, children = self.trees[j], self.children_of[j][node]
        self.losses[j][node] = (
            self.n_records[j][children] * (tree.cost_to_root[children] - tree.cost_to_root[node])
        ).sum()

    def _sizes_after(self, j: int, node: int) -> tuple[Ints, Ints]:
        """Return the tuples that publish `node` of attribute `j` once it replaces its children, and their class sizes.

        They are in classes of their own.
        """
        column = self.nodes[:, j]
        rows = np.flatnonzero((column >= node) & (column <= self.trees[j].last[node]))
        others = [(self.nodes[rows, i], len(tree.parent)) for i, tree in enumerate(self.trees) if i != j]
        if not others:
            return rows, np.full(len(rows), self.space.counts[rows].sum())
        group, n_groups = group_rows([nodes for nodes, _ in others], [n_nodes for _, n_nodes in others])
        return rows, group_records(group, n_groups, self.space.counts[rows])[group]


def _children(parent: Ints, nodes: Ints) -> dict[int, Ints]:
    """Return the children among `nodes` of each of their parents."""
    order = nodes[np.argsort(parent[nodes], kind="stable")]
    parents, starts = np.unique(parent[order], return_index=True)
    return dict(zip(parents.tolist(), np.split(order, starts[1:]), strict=True)) if len(order) else {}


register(
    bottom_up_generalization,
    title="Bottom-up generalization",
    summary=(
        "Begins with the original values, and replaces all children of a node by the node, in all records, until all "
        "classes meet the model. Each step is the one that loses least per record by which the smallest class grows."
    ),
    source="Wang et al. 2004, as Wang et al. 2022 name it",
    evidence="textbook",
    own_parameters=(LARGE,),
    meets=ALL_MODELS,
    references=(
        {
            "cited": "Wang et al. 2004",
            "authors": "Wang, K., Yu, P. S. and Chakraborty, S.",
            "title": "Bottom-up generalization: a data mining solution to privacy protection",
            "venue": "Fourth IEEE International Conference on Data Mining (ICDM), 249-256",
            "note": "We did not have the paper itself.",
        },
    ),
)
