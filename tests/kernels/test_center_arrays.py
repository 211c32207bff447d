"""Arrays of trees of centers have room for every tree of their number of centers."""

import pytest

from dbanon.kernels.center_arrays import CenterBoxes


def n_nodes_of_binary_tree(n_leaves: int) -> int:
    """Return the number of nodes of a tree in which every node that is no leaf has two children."""
    return 1 if n_leaves <= 1 else 1 + n_nodes_of_binary_tree(n_leaves // 2) + n_nodes_of_binary_tree(-(-n_leaves // 2))


@pytest.mark.parametrize("n_centers", [0, 1, 2, 7])
def test_center_boxes_have_room_for_all_nodes(n_centers: int) -> None:
    boxes = CenterBoxes.allocate(n_centers, 3)
    nodes = n_nodes_of_binary_tree(n_centers)
    assert [array.shape for array in boxes] == [(nodes, 6), (nodes,), (nodes,), (nodes,), (n_centers,)]
    assert all(array.dtype == "int64" and array.flags.c_contiguous for array in boxes)
