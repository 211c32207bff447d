"""The tree of a tuple index: building its boxes, and updating counts of remaining records."""

import numpy as np

from dbanon.kernels.halving import extent, partition_at
from dbanon.kernels.jit import kernel, kernel_part


@kernel
def aggregate_up(parent, first, n_remaining):
    """Compute all inner nodes' first tuple and number of remaining records, in place, from their children.

    A parent has a smaller number than its children.

    Args:
        parent: (nodes,) number of the node above.
        first: (nodes,) least tuple below each node; at first set for leaves only, a number above all tuples elsewhere;
            updated in place.
        n_remaining: (nodes,) remaining records below each node; at first set for leaves only, 0 elsewhere; updated in
            place.
    """
    for node in range(len(parent) - 1, 0, -1):
        above = parent[node]
        n_remaining[above] += n_remaining[node]
        if first[node] < first[above]:
            first[above] = first[node]


@kernel
def build_boxes(order, begins, ends, base, n_nodes, matrix, axes, nodes):
    """Build the boxes below each path of the trie, by halving along the axis on which tuples lie farthest apart.

    Args:
        order: The tuples, permuted in place.
        begins: Where the tuples of each path begin.
        ends: Where the tuples of each path end.
        base: Node of the first path.
        n_nodes: Number of nodes so far.
        matrix: (tuples, axes) codes.
        axes: `Axes`.
        nodes: first_child, n_children, parent, tuples and boxes of a `TupleTree`, filled in place.

    Returns:
        Number of nodes, including those before.
    """
    first_child, n_children, parent, tuples, boxes = nodes
    stack = np.empty((128, 3), np.int64)
    for group in range(len(begins)):
        stack[0, 0], stack[0, 1], stack[0, 2] = begins[group], ends[group], base + group
        top = 1
        while top > 0:
            top -= 1
            begin, end, node = stack[top, 0], stack[top, 1], stack[top, 2]
            widest, axis = np.int64(-1), np.int64(0)
            for a in range(matrix.shape[1]):
                low, high = extent(order, begin, end, matrix, a)
                boxes[node, 2 * a], boxes[node, 2 * a + 1] = low, high
                width = axes.places[axes.starts[a] + high] - axes.places[axes.starts[a] + low]
                if low != high and width >= widest:
                    widest, axis = width, np.int64(a)
            if end - begin == 1:
                tuples[node] = order[begin]
                continue
            middle = (begin + end) // 2
            partition_at(order, begin, end, middle, matrix, axis)
            first_child[node], n_children[node] = n_nodes, 2
            parent[n_nodes], parent[n_nodes + 1] = node, node
            stack[top, 0], stack[top, 1], stack[top, 2] = middle, end, n_nodes + 1
            stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = begin, middle, n_nodes
            top += 2
            n_nodes += 2
    return n_nodes


@kernel_part
def add_counts(tree, tabular, tuples, counts):
    """Add counts to the remaining records of tuples, of all nodes above them, and of the values they have, in place.

    counts[i] belongs to tuples[i]; negative counts remove records.

    Args:
        tree: `TupleTree`; updated in place.
        tabular: `TabularAttributes`; updated in place.
        tuples: Numbers of the tuples.
        counts: Number of records to add to each, negative to remove.
    """
    for i in range(len(tuples)):
        tree.tuple_remaining[tuples[i]] += counts[i]
        node = tree.leaf[tuples[i]]
        while node >= 0:
            tree.n_remaining[node] += counts[i]
            node = tree.parent[node]
        for j in range(tabular.codes.shape[1]):
            tabular.value_remaining[tabular.starts[j] + tabular.codes[tuples[i], j]] += counts[i]


@kernel
def add_records(tree, tabular, tuples, counts):
    """Call `add_counts` from Python: add remaining records of tuples to the index, in place.

    Args:
        tree: `TupleTree`; updated in place.
        tabular: `TabularAttributes`; updated in place.
        tuples: Numbers of the tuples.
        counts: Number of records to add to each, negative to remove.
    """
    add_counts(tree, tabular, tuples, counts)
