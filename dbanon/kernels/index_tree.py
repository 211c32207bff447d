"""The index as a tree: building its boxes, counting what is left below its nodes."""

import numpy as np

from dbanon.kernels.halving import extent, part_at
from dbanon.kernels.jit import kernel, part


@kernel
def gather_up(parent, first, left):
    """Least tuples and counts of inner nodes; a parent has a smaller number than its children."""
    for node in range(len(parent) - 1, 0, -1):
        above = parent[node]
        left[above] += left[node]
        if first[node] < first[above]:
            first[above] = first[node]


@kernel
def build_boxes(order, begins, ends, base, used, matrix, axis_places, nodes):
    """Return boxes below each path of the trie: halves of the tuples along the axis on which they lie farthest apart.

    `order` is permuted in place; axis_places: places on the axes, and where those of each begin; nodes: `BoxNodes`.
    Gives the number of nodes used.
    """
    kid, kids, parent, tuples, boxes = nodes
    places, starts = axis_places
    axes = matrix.shape[1]
    stack = np.empty((128, 3), np.int64)
    for group in range(len(begins)):
        stack[0, 0], stack[0, 1], stack[0, 2] = begins[group], ends[group], base + group
        top = 1
        while top > 0:
            top -= 1
            begin, end, node = stack[top, 0], stack[top, 1], stack[top, 2]
            widest, axis = np.int64(-1), np.int64(0)
            for a in range(axes):
                low, high = extent(order, begin, end, matrix, a)
                boxes[node, 2 * a], boxes[node, 2 * a + 1] = low, high
                width = places[starts[a] + high] - places[starts[a] + low]
                if low != high and width >= widest:
                    widest, axis = width, np.int64(a)
            if end - begin == 1:
                tuples[node] = order[begin]
                continue
            middle = (begin + end) // 2
            part_at(order, begin, end, middle, matrix, axis)
            kid[node], kids[node] = used, 2
            parent[used], parent[used + 1] = node, node
            stack[top, 0], stack[top, 1], stack[top, 2] = middle, end, used + 1
            stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = begin, middle, used
            top += 2
            used += 2
    return used


@part
def add_counts(tree, few, tuples, counts):
    """Add counts to tuples, to all nodes above them, and to the values they have."""
    leaf, parent, left, leaf_left = tree[0], tree[1], tree[2], tree[3]
    codes, offsets, present = few[0], few[1], few[2]
    for i in range(len(tuples)):
        leaf_left[tuples[i]] += counts[i]
        node = leaf[tuples[i]]
        while node >= 0:
            left[node] += counts[i]
            node = parent[node]
        for j in range(codes.shape[1]):
            present[offsets[j] + codes[tuples[i], j]] += counts[i]


@kernel
def add_records(tree, few, tuples, counts):
    """add_counts, for Python."""
    add_counts(tree, few, tuples, counts)
