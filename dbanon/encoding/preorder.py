"""A forest as arrays in preorder: depth, height, parent and leaves of each node."""

from dataclasses import dataclass

import numpy as np

from dbanon.encoding.encoded_table import AnyInts


@dataclass(frozen=True)
class Preorder:
    """The nodes of a forest in preorder; all arrays have one entry per node.

    Attributes:
        source_row: Row of the input that the node was made from.
        parent: Number of the node's parent, -1 for a root.
        depth: Edges up to the root.
        height: Edges down to the deepest leaf below.
        leaves: Number of leaves below (1 for a leaf).
    """

    source_row: AnyInts
    parent: AnyInts
    depth: AnyInts
    height: AnyInts
    leaves: AnyInts

    def root_paths(self) -> tuple[AnyInts, AnyInts]:
        """Return the paths from the root to each node (both included), concatenated, and the end offset of each path.

        O(nodes * depth) time and memory.
        """
        ends = np.cumsum(self.depth + 1)
        paths, places = np.empty(ends[-1] if len(ends) else 0, np.int64), ends - 1
        nodes: AnyInts = np.arange(len(self.source_row))
        while len(nodes):
            paths[places] = nodes
            deeper = self.parent[nodes] >= 0
            nodes, places = self.parent[nodes[deeper]], places[deeper] - 1
        return paths, ends

    def ancestors(self, nodes: AnyInts, steps: int) -> AnyInts:
        """Return, for each of `nodes`, the ancestor `steps` levels above it, or its root if there are fewer levels."""
        for _ in range(min(steps, int(self.depth.max(initial=0)))):
            nodes = np.where(self.parent[nodes] < 0, nodes, self.parent[nodes])
        return nodes


def preorder_tree(parent: AnyInts) -> Preorder:
    """Number the nodes of a forest in preorder; siblings are in the order of their rows.

    Rows that cannot be reached from a root are dropped: those whose parent does not exist, those below them, and
    cycles.

    Args:
        parent: (rows,) row of each row's parent, -1 for a root, -2 if the parent does not exist.

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
        if steps:  # siblings are adjacent, and the first one follows the parent
            eldest = np.flatnonzero(np.diff(parent[level], prepend=-1))
            offsets -= np.repeat(offsets[eldest], np.diff(np.append(eldest, len(level))))
            offsets += number[parent[level]] + 1
        number[level], depth[level] = offsets, steps

    reached = np.concatenate(levels)
    row = np.empty(len(reached), np.int64)
    row[number[reached]] = reached
    parent_row = parent[row]
    return Preorder(row, np.where(parent_row < 0, -1, number[parent_row]), depth[row], height[row], leaves[row])
