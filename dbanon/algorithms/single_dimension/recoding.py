"""Recodings: a node of its hierarchy for every value of every attribute, the same in all records."""

from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.agglomerative.hierarchy_distances import hierarchy_costs
from dbanon.algorithms.base.class_bounds import cluster_members
from dbanon.algorithms.full_domain.levels import group_records, group_rows
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint


@dataclass(frozen=True)
class RecodingTree:
    """The hierarchy of one attribute and its present values.

    Attributes:
        parent: (nodes,) parent of each node, -1 for the root; nodes are in preorder.
        last: (nodes,) last node of the subtree of each node.
        cost_to_root: (nodes,) loss that is saved if a node is published in place of the root.
        ancestors: (present values, levels) node on the path to each value by depth; its own node below that.
        value_of: (tuples,) index of each tuple's value among the present ones.
    """

    parent: Ints
    last: Ints
    cost_to_root: Ints
    ancestors: Ints
    value_of: Ints

    def n_inner(self, counts: Ints, min_records: int) -> int:
        """Return the number of nodes above present values that have at least `min_records` records.

        `counts` is the (tuples,) number of records of each tuple.
        """
        records = np.bincount(self.value_of, weights=counts)
        above = [np.bincount(column, weights=records) for column in self.ancestors.T[:-1]]
        inner = np.unique(self.ancestors[:, :-1])
        n_nodes = int(inner.max(initial=0)) + 1
        padded = [np.pad(column, (0, max(n_nodes - len(column), 0)))[:n_nodes] for column in above]
        return int((np.max([*padded, np.zeros(n_nodes)], axis=0)[inner] >= min_records).sum())


def recoding_trees(space: EncodedTable) -> list[RecodingTree]:
    """Return the tree of every attribute; a number has blocks of 1, 2, 4, 8 ... distinct values, and NULL is a leaf."""
    trees = []
    for j, costs in enumerate(hierarchy_costs(space, 0.0)):
        present, value_of = np.unique(space.codes[:, j], return_inverse=True)
        depth, above = np.zeros(len(costs.parent), np.int64), costs.parent
        while (above >= 0).any():
            depth += above >= 0
            above = np.where(above >= 0, costs.parent[above], -1)
        node = costs.node[present].astype(np.int64)
        ancestors = np.empty((len(present), int(depth[node].max(initial=0)) + 1), np.int64)
        for level in range(ancestors.shape[1] - 1, -1, -1):
            ancestors[:, level] = node
            node = np.where(depth[node] == level, np.maximum(costs.parent[node], 0), node)
        trees.append(RecodingTree(costs.parent, costs.last, costs.cost_to_root, ancestors, value_of.reshape(-1)))
    return trees


class Recoding:
    """A recoding of a table, and the classes of tuples with equal nodes.

    Attributes:
        trees: The tree of each attribute.
        nodes: (tuples, attributes) node of each tuple.
        class_of: (tuples,) class of each tuple.
        n_classes: Number of classes.
    """

    def __init__(self, space: EncodedTable, constraint: Constraint, nodes: Ints | None = None) -> None:
        """Begin with the given nodes; by default with the values themselves."""
        self.space, self.constraint, self.trees = space, constraint, recoding_trees(space)
        values = [tree.ancestors[tree.value_of, -1] for tree in self.trees]
        self.replace(np.asfortranarray(np.stack(values, axis=1) if nodes is None else nodes))

    def classes_of(self, nodes: Ints) -> tuple[Ints, int]:
        """Return the class of each tuple with these nodes, and the number of classes."""
        return group_rows([nodes[:, j] for j in range(len(self.trees))], [len(tree.parent) for tree in self.trees])

    def sizes(self, class_of: Ints, n_classes: int) -> Ints:
        """Return the number of records of each class."""
        return group_records(class_of, n_classes, self.space.counts)

    def replace(self, nodes: Ints) -> None:
        """Set the nodes, in place of the recoding before."""
        self.nodes = nodes
        self.class_of, self.n_classes = self.classes_of(nodes)

    def meets_constraint(self, class_of: Ints, n_classes: int) -> bool:
        """Return whether all of these classes meet the whole constraint."""
        if self.sizes(class_of, n_classes).min() < self.constraint.min_records:
            return False
        if self.constraint.counts_only_records(self.space):
            return True
        rows = cluster_members(np.repeat(class_of, self.space.counts))
        return len(self.constraint.failing_clusters(self.space, rows)) == 0
