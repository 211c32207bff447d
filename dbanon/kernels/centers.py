"""Centers of clusters as points in a tree of boxes: which center is nearest to a record, while centers move or close.

Coordinates of a point or center (one an axis): a place on the axis of a number, NONE for a NULL; a preorder node of a
hierarchy, the number of its nodes for a NULL. `axes` are arrays over the axes, hierarchies first: tree (whether it is
one), null (distance of a NULL to a value), at (where the nodes begin) and, by node, parent, last (node of its subtree)
and height (distance of two different values whose lowest common ancestor it is). `boxes` are the tree: box (nodes, 2 *
axes; least and greatest coordinate of the open centers below), kid (the first of two children next to each other, 0 for
a leaf), parent, first (the least open center below, NOBODY if none), leaf (node of a center, -1 if it has none).
A tree of centers is a `CenterTree`.

On a hierarchy the distance of a value to nodes grows with their preorder numbers in both directions, as on a line;
the least distance to a box is therefore that of the nearest coordinate in it, on every axis.
"""

import numpy as np

from dbanon.kernels.halving import extent
from dbanon.kernels.jit import kernel, part

NONE = 2**62
NOBODY = 2**62


@part
def apart(point, center, axes):
    """Return the distance of a record to a center."""
    tree, null, at, parent, last, height = axes
    total = np.int64(0)
    for a in range(len(tree)):
        p, x = point[a], center[a]
        if p == x:
            continue
        if not tree[a]:
            total += null[a] if p == NONE or x == NONE else abs(p - x)
            continue
        node, end = at[a] + p, at[a + 1] - at[a] - 1
        if p == end or x == end:
            total += null[a]
            continue
        while x < node - at[a] or x > last[node]:
            node = at[a] + parent[node]
        total += height[node]
    return total


@kernel
def distances(points, which, centers, axes):
    """Return the distance of each point to one of the centers."""
    away = np.empty(len(points), np.int64)
    for i in range(len(points)):
        away[i] = apart(points[i], centers[which[i]], axes)
    return away


@part
def aim(point, axes, rows, aimed):
    """Fill `rows` with the distances of a record to all nodes of the hierarchies, where they are of another value."""
    tree, null, at, parent, last, height = axes
    for a in range(len(tree)):
        p = point[a]
        if not tree[a] or aimed[a] == p:
            continue
        aimed[a] = p
        begin, end = at[a], at[a + 1] - at[a] - 1
        if p == end:
            rows[begin : begin + end] = null[a]
            rows[begin + end] = 0
            continue
        low, high = p, last[begin + p]
        rows[begin + low : begin + high + 1] = height[begin + p]
        rows[begin + p] = 0
        rows[begin + end] = null[a]
        node = parent[begin + p]
        while node >= 0:
            rows[begin + node : begin + low] = height[begin + node]
            rows[begin + high + 1 : begin + last[begin + node] + 1] = height[begin + node]
            low, high = np.int64(node), np.int64(last[begin + node])
            node = parent[begin + node]


@part
def bound(box, node, point, axes, rows, hierarchies):
    """Return the least distance of a record to a center in the box of a node; exact for a box of one point."""
    null, at = axes[1], axes[2]
    total = np.int64(0)
    for a in range(hierarchies):
        total += rows[at[a] + min(max(point[a], box[node, 2 * a]), box[node, 2 * a + 1])]
    for a in range(hierarchies, len(null)):
        low, high, p = box[node, 2 * a], box[node, 2 * a + 1], point[a]
        if low <= p <= high:
            continue
        if p == NONE or low == NONE:
            total += null[a]
        elif p > high:
            total += p - high
        elif high == NONE:
            total += min(low - p, null[a])
        else:
            total += low - p
    return total


@part
def is_point(box, node):
    """Return whether the box of a node is one point."""
    for a in range(0, box.shape[1], 2):
        if box[node, a] != box[node, a + 1]:
            return False
    return True


@part
def cut_of(box, axes):
    """Return the axis on which a box is widest, and the coordinate from which on its second half begins."""
    tree, null, at, parent, last, height = axes
    widest, axis, cut = np.int64(-1), -1, np.int64(0)
    for a in range(len(tree)):
        low, high = box[2 * a], box[2 * a + 1]
        end = at[a + 1] - at[a] - 1 if tree[a] else NONE
        if low == high:
            continue
        if high == end:
            width, here = null[a], np.int64(end)
        elif not tree[a]:
            width, here = high - low, low + (high - low) // 2 + 1
        else:
            begin, middle = at[a], (low + high + 1) // 2
            node, child = np.int64(middle), np.int64(middle)
            while low < node or high > last[begin + node]:
                child, node = node, np.int64(parent[begin + node])
            width = height[begin + node]
            here = child if child > low else np.int64(last[begin + child] + 1)
        if width > widest:
            widest, axis, cut = width, a, here
    return axis, cut


@kernel
def build(order, tree):
    """Make the tree of some centers (`order`, permuted in place). O(centers * depth)."""
    centers, axes, boxes, room = tree
    box, kid, parent, first, leaf = boxes
    stack = np.empty((room, 3), np.int64)
    leaf[:] = -1
    parent[0] = -1
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, len(order), 0
    top, used = 1, 1
    while top > 0:
        top -= 1
        begin, end, node = stack[top, 0], stack[top, 1], stack[top, 2]
        for a in range(centers.shape[1]):
            box[node, 2 * a], box[node, 2 * a + 1] = extent(order, begin, end, centers, a)
        least = order[begin]
        for i in range(begin + 1, end):
            least = min(least, order[i])
        first[node] = least
        kid[node] = 0
        if end - begin == 1:
            leaf[order[begin]] = node
            continue
        axis, cut = cut_of(box[node], axes)
        i, j = begin, end - 1
        if axis < 0:
            i = (begin + end) // 2
        else:
            while i <= j:
                if centers[order[i], axis] < cut:
                    i += 1
                else:
                    order[i], order[j] = order[j], order[i]
                    j -= 1
        kid[node] = used
        parent[used], parent[used + 1] = node, node
        stack[top, 0], stack[top, 1], stack[top, 2] = begin, i, used
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = i, end, used + 1
        top += 2
        used += 2


@part
def refit(center, centers, boxes, gone):
    """Make the boxes above a center fit after it has moved or closed."""
    box, kid, parent, first, leaf = boxes
    node = leaf[center]
    for a in range(centers.shape[1]):
        box[node, 2 * a] = NONE if gone else centers[center, a]
        box[node, 2 * a + 1] = -1 if gone else centers[center, a]
    if gone:
        first[node] = NOBODY
    node = parent[node]
    while node >= 0:
        one, other, same = kid[node], kid[node] + 1, True
        for a in range(0, box.shape[1], 2):
            low, high = min(box[one, a], box[other, a]), max(box[one, a + 1], box[other, a + 1])
            same = same and low == box[node, a] and high == box[node, a + 1]
            box[node, a], box[node, a + 1] = low, high
        least = min(first[one], first[other])
        if same and least == first[node]:
            return
        first[node] = least
        node = parent[node]


@part
def nearest(point, tree, scratch, best, least):
    """Return the first of the nearest open centers, unless `best` at distance `least` comes before; steps are counted.

    scratch: distances to nodes, the value of each axis that these are of, a stack, and steps.
    """
    rows, aimed, stack, spent = scratch
    axes, boxes = tree.axes, tree.boxes
    aim(point, axes, rows, aimed)
    box, kid, first = boxes[0], boxes[1], boxes[3]
    if first[0] == NOBODY:
        return best
    hierarchies = axes[0].sum()
    stack[0, 0], stack[0, 1] = 0, bound(box, 0, point, axes, rows, hierarchies)
    top = 1
    while top > 0:
        top -= 1
        spent[0] += 1
        node, distance = stack[top, 0], stack[top, 1]
        if distance > least or (distance == least and first[node] >= best):
            continue
        if kid[node] == 0 or is_point(box, node):
            best, least = first[node], distance
            continue
        one, other = kid[node], kid[node] + 1
        to_one = NONE if first[one] == NOBODY else bound(box, one, point, axes, rows, hierarchies)
        to_other = NONE if first[other] == NOBODY else bound(box, other, point, axes, rows, hierarchies)
        if to_other < to_one or (to_other == to_one and first[other] < first[one]):
            one, other, to_one, to_other = other, one, to_other, to_one
        if to_other < least or (to_other == least and first[other] < best):
            stack[top, 0], stack[top, 1] = other, to_other
            top += 1
        if to_one < least or (to_one == least and first[one] < best):
            stack[top, 0], stack[top, 1] = one, to_one
            top += 1
    return best
