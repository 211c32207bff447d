"""Memory of hierarchies of many nodes."""

from __future__ import annotations

import numpy as np

from dbanon.encoding.preorder import preorder_tree
from dbanon.udf.hierarchies import HierarchyRows, HierarchyTree


def tree(labels: list[str]) -> HierarchyTree:
    """Return a root with two inner nodes, and a leaf below each of these."""
    parent = np.array([-1, 0, 0, 1, 2])
    return HierarchyTree(HierarchyRows(parent, [], labels), preorder_tree(parent), escape=True, is_flat=False)


def test_paths_computed_only_for_repeated_labels() -> None:
    different = tree(["*", "a", "b", "c", "d"])
    assert different.published_labels == ["*", "a", "c", "b", "d"]
    assert "paths" not in vars(different)
    repeated = tree(["*", "a", "a", "*", "d"])
    assert repeated.published_labels == ["*", "a", "\\*", "a", "d"]


def test_leaf_equal_to_path_is_escaped() -> None:
    rows = np.array([-1, 0, 1, 2])
    chain = HierarchyTree(HierarchyRows(rows, [], ["*", "a", "b", "a > b"]), preorder_tree(rows), True, False)
    assert chain.published_labels == ["*", "a", "b", "\\a > b"]
