"""A tree as arrays in preorder: how deep each node stands, and what lies above and below it."""

from dataclasses import dataclass

import numpy as np

from dbanon.encoding.encoded_table import Whole


@dataclass(frozen=True)
class Preorder:
    """The nodes that a root reaches, in preorder, all (nodes,): `row`, which of the given ones a node is; `parent`, -1
    of a root; `depth`, edges up to the root; `height`, edges down to the deepest leaf below it; `leaves`, how many of
    these there are (of a leaf 1).
    """

    row: Whole
    parent: Whole
    depth: Whole
    height: Whole
    leaves: Whole

    def lines(self) -> tuple[Whole, Whole]:
        """Return the nodes from the root to each one, itself the last, joined, and where each line ends.

        O(nodes * depth) time and memory.
        """
        ends = np.cumsum(self.depth + 1)
        joined, at = np.empty(ends[-1] if len(ends) else 0, np.int64), ends - 1
        above: Whole = np.arange(len(self.row))
        while len(above):
            joined[at] = above
            deeper = self.parent[above] >= 0
            above, at = self.parent[above[deeper]], at[deeper] - 1
        return joined, ends

    def raised(self, nodes: Whole, steps: int) -> Whole:
        """Return the nodes so many steps above others, the root where there are not so many."""
        for _ in range(min(steps, int(self.depth.max(initial=0)))):
            nodes = np.where(self.parent[nodes] < 0, nodes, self.parent[nodes])
        return nodes


def preorder(parent: Whole) -> Preorder:
    """The nodes that roots reach; parent (rows,) is the row of a row's parent, -1 of a root, -2 where there is none.
    Siblings go by their rows.

    O(rows * log(rows)) time, O(rows) memory.
    """
    order = np.argsort(parent, kind="stable")
    below = order[parent[order] >= 0]
    of, first, number = np.unique(parent[below], return_index=True, return_counts=True)
    begins, kids = np.zeros(len(parent), np.int64), np.zeros(len(parent), np.int64)
    begins[of], kids[of] = first, number

    levels = [np.flatnonzero(parent == -1)]
    while len(levels[-1]):
        above = levels[-1][kids[levels[-1]] > 0]
        each = kids[above]
        before = np.repeat(np.cumsum(each) - each, each)
        levels.append(below[np.repeat(begins[above], each) + np.arange(len(before)) - before])

    size, height, leaves = np.ones(len(parent), np.int64), np.zeros(len(parent), np.int64), (kids == 0).astype(np.int64)
    for level in reversed(levels[1:]):
        np.add.at(size, parent[level], size[level])
        np.add.at(leaves, parent[level], leaves[level])
        np.maximum.at(height, parent[level], height[level] + 1)

    at, depth = np.zeros(len(parent), np.int64), np.zeros(len(parent), np.int64)
    for steps, level in enumerate(levels):
        before = np.cumsum(size[level]) - size[level]
        if steps:  # siblings stand together: the eldest follows its parent
            eldest = np.flatnonzero(np.diff(parent[level], prepend=-1))
            before -= np.repeat(before[eldest], np.diff(np.append(eldest, len(level))))
            before += at[parent[level]] + 1
        at[level], depth[level] = before, steps

    reached = np.concatenate(levels)
    row = np.empty(len(reached), np.int64)
    row[at[reached]] = reached
    up = parent[row]
    return Preorder(row, np.where(up < 0, -1, at[up]), depth[row], height[row], leaves[row])
