"""A tree as arrays in preorder: how deep each node stands, and what lies above and below it."""

from dataclasses import dataclass

import numpy as np

from dbanon.encoding.encoded_table import AnyInts


@dataclass(frozen=True)
class Preorder:
    """The nodes that a root reaches, in preorder, all (nodes,): `row`, which of the given ones a node is; `parent`, -1
    of a root; `depth`, edges up to the root; `height`, edges down to the deepest leaf below it; `leaves`, how many of
    these there are (of a leaf 1).
    """

    row: AnyInts
    parent: AnyInts
    depth: AnyInts
    height: AnyInts
    leaves: AnyInts

    def lines(self) -> tuple[AnyInts, AnyInts]:
        """Return the nodes from the root to each one, itself the last, joined, and where each line ends.

        O(nodes * depth) time and memory.
        """
        ends = np.cumsum(self.depth + 1)
        paths, places = np.empty(ends[-1] if len(ends) else 0, np.int64), ends - 1
        nodes: AnyInts = np.arange(len(self.row))
        while len(nodes):
            paths[places] = nodes
            deeper = self.parent[nodes] >= 0
            nodes, places = self.parent[nodes[deeper]], places[deeper] - 1
        return paths, ends

    def raised(self, nodes: AnyInts, steps: int) -> AnyInts:
        """Return the nodes so many steps above others, the root where there are not so many."""
        for _ in range(min(steps, int(self.depth.max(initial=0)))):
            nodes = np.where(self.parent[nodes] < 0, nodes, self.parent[nodes])
        return nodes


def preorder_tree(parent: AnyInts) -> Preorder:
    """The nodes that roots reach; parent (rows,) is the row of a row's parent, -1 of a root, -2 where there is none.
    Siblings go by their rows.

    O(rows * log(rows)) time, O(rows) memory.
    """
    order = np.argsort(parent, kind="stable")
    children = order[parent[order] >= 0]
    parents, firsts, n_children = np.unique(parent[children], return_index=True, return_counts=True)
    child_starts, child_counts = np.zeros(len(parent), np.int64), np.zeros(len(parent), np.int64)
    child_starts[parents], child_counts[parents] = firsts, n_children

    levels = [np.flatnonzero(parent == -1)]
    while len(levels[-1]):
        inner = levels[-1][child_counts[levels[-1]] > 0]
        counts = child_counts[inner]
        offsets = np.repeat(np.cumsum(counts) - counts, counts)
        levels.append(children[np.repeat(child_starts[inner], counts) + np.arange(len(offsets)) - offsets])

    size, height, leaves = (
        np.ones(len(parent), np.int64),
        np.zeros(len(parent), np.int64),
        (child_counts == 0).astype(np.int64),
    )
    for level in reversed(levels[1:]):
        np.add.at(size, parent[level], size[level])
        np.add.at(leaves, parent[level], leaves[level])
        np.maximum.at(height, parent[level], height[level] + 1)

    number, depth = np.zeros(len(parent), np.int64), np.zeros(len(parent), np.int64)
    for steps, level in enumerate(levels):
        offsets = np.cumsum(size[level]) - size[level]
        if steps:  # siblings stand together: the eldest follows its parent
            eldest = np.flatnonzero(np.diff(parent[level], prepend=-1))
            offsets -= np.repeat(offsets[eldest], np.diff(np.append(eldest, len(level))))
            offsets += number[parent[level]] + 1
        number[level], depth[level] = offsets, steps

    reached = np.concatenate(levels)
    row = np.empty(len(reached), np.int64)
    row[number[reached]] = reached
    parent_row = parent[row]
    return Preorder(row, np.where(parent_row < 0, -1, number[parent_row]), depth[row], height[row], leaves[row])
