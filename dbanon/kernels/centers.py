"""Cluster centers as points in a tree of boxes: find the center nearest to a record while centers move or close.

Coordinates of a point or center (one per axis): a place on the axis of a number, NULL_COORDINATE for a NULL; a preorder
node of a hierarchy, the number of its nodes for a NULL. A tree of centers is a `CenterTree`.

On a hierarchy the distance of a value to nodes grows with their preorder numbers in both directions, as on a line; the
least distance to a box is therefore that of the nearest coordinate in it, on every axis.
"""

import numpy as np

from dbanon.kernels.center_arrays import CenterSearch
from dbanon.kernels.halving import extent
from dbanon.kernels.jit import kernel, kernel_part

NULL_COORDINATE = 2**62
NO_CENTER = 2**62


@kernel_part
def center_distance(point, center, axes):
    """Return the distance of a record to a center, summed over the axes; both are arrays of coordinates.

    Args:
        point: (axes,) coordinates of a record; NULL_COORDINATE for a NULL number, the number of nodes for a NULL
            category.
        center: (axes,) coordinates of the center.
        axes: `CenterAxes`.
    """
    tree, null, node_starts, parent, last, height = axes
    total = np.int64(0)
    for a in range(len(tree)):
        p, x = point[a], center[a]
        if p == x:
            continue
        if not tree[a]:
            total += null[a] if p == NULL_COORDINATE or x == NULL_COORDINATE else abs(p - x)
            continue
        node, end = node_starts[a] + p, node_starts[a + 1] - node_starts[a] - 1
        if p == end or x == end:
            total += null[a]
            continue
        while x < node - node_starts[a] or x > last[node]:
            node = node_starts[a] + parent[node]
        total += height[node]
    return total


@kernel
def center_distances(points, center_of, centers, axes):
    """Return an array with the distance of each point to its own center.

    Args:
        points: (points, axes) coordinates.
        center_of: (points,) number of each point's center.
        centers: (centers, axes) coordinates.
        axes: `CenterAxes`.
    """
    distances_ = np.empty(len(points), np.int64)
    for i in range(len(points)):
        distances_[i] = center_distance(points[i], centers[center_of[i]], axes)
    return distances_


@kernel_part
def fill_node_distances(point, axes, node_distances, row_values):
    """Fill `node_distances` with the distances of a record to all nodes of the hierarchies, NULL included.

    A hierarchy whose distances are already those of the record's value (see `row_values`) is skipped.

    Args:
        point: (axes,) coordinates of a record; NULL_COORDINATE for a NULL number, the number of nodes for a NULL
            category.
        axes: `CenterAxes`.
        node_distances: Output: distance of the record to each node of all hierarchies.
        row_values: (axes,) coordinates for which `node_distances` is filled already, -1 for none; updated in place.
    """
    tree, null, node_starts, parent, last, height = axes
    for a in range(len(tree)):
        p = point[a]
        if not tree[a] or row_values[a] == p:
            continue
        row_values[a] = p
        begin, end = node_starts[a], node_starts[a + 1] - node_starts[a] - 1
        if p == end:
            node_distances[begin : begin + end] = null[a]
            node_distances[begin + end] = 0
            continue
        low, high = p, last[begin + p]
        node_distances[begin + low : begin + high + 1] = height[begin + p]
        node_distances[begin + p] = 0
        node_distances[begin + end] = null[a]
        node = parent[begin + p]
        while node >= 0:
            node_distances[begin + node : begin + low] = height[begin + node]
            node_distances[begin + high + 1 : begin + last[begin + node] + 1] = height[begin + node]
            low, high = np.int64(node), np.int64(last[begin + node])
            node = parent[begin + node]


@kernel_part
def box_bound(box, node, point, axes, node_distances, hierarchies):
    """Return the least possible distance of a record to a center in the box of a node; exact for a box of one point.

    Args:
        box: (nodes, 2 * axes) least and greatest coordinate of each box.
        node: The node.
        point: Coordinates of the record.
        axes: `CenterAxes`.
        node_distances: Distances of the record to all nodes of hierarchies.
        hierarchies: Number of axes that are hierarchies; they come first.
    """
    null, node_starts = axes.null_distances, axes.node_starts
    total = np.int64(0)
    for a in range(hierarchies):
        total += node_distances[node_starts[a] + min(max(point[a], box[node, 2 * a]), box[node, 2 * a + 1])]
    for a in range(hierarchies, len(null)):
        low, high, p = box[node, 2 * a], box[node, 2 * a + 1], point[a]
        if low <= p <= high:
            continue
        if p == NULL_COORDINATE or low == NULL_COORDINATE:
            total += null[a]
        elif p > high:
            total += p - high
        elif high == NULL_COORDINATE:
            total += min(low - p, null[a])
        else:
            total += low - p
    return total


@kernel_part
def squared_box_distance(point, box, node, units):
    """Return the square of the least distance of a point to the box of a node; exact for a box of one point.

    Args:
        point: (axes,) coordinates; NULL_COORDINATE for a NULL.
        box: (nodes, 2 * axes) least and greatest coordinate of each box.
        node: Number of the node.
        units: (axes,) distance of NULL to a value.
    """
    total = np.int64(0)
    for a in range(len(units)):
        low, high, p = box[node, 2 * a], box[node, 2 * a + 1], point[a]
        if low <= p <= high:
            continue
        if p == NULL_COORDINATE or low == NULL_COORDINATE:
            gap = units[a]
        else:
            gap = p - high if p > high else low - p
        total += gap * gap
    return total


@kernel_part
def is_point(box, node):
    """Return whether the box of a node is one point: least and greatest coordinate are equal on every axis.

    Args:
        box: (nodes, 2 * axes) least and greatest coordinates in turn.
        node: Number of the node.
    """
    for a in range(0, box.shape[1], 2):
        if box[node, a] != box[node, a + 1]:
            return False
    return True


@kernel_part
def box_cut(box, axes):
    """Return the axis on which a box is widest (-1: it is a point), and the coordinate where its second half begins.

    Args:
        box: (2 * axes,) least and greatest coordinates in turn.
        axes: `CenterAxes`.
    """
    tree, null, node_starts, parent, last, height = axes
    widest, axis, cut_coordinate = np.int64(-1), -1, np.int64(0)
    for a in range(len(tree)):
        low, high = box[2 * a], box[2 * a + 1]
        end = node_starts[a + 1] - node_starts[a] - 1 if tree[a] else NULL_COORDINATE
        if low == high:
            continue
        if high == end:
            width, axis_cut = null[a], np.int64(end)
        elif not tree[a]:
            width, axis_cut = high - low, low + (high - low) // 2 + 1
        else:
            begin, middle = node_starts[a], (low + high + 1) // 2
            node, child = np.int64(middle), np.int64(middle)
            while low < node or high > last[begin + node]:
                child, node = node, np.int64(parent[begin + node])
            width = height[begin + node]
            axis_cut = child if child > low else np.int64(last[begin + child] + 1)
        if width > widest:
            widest, axis, cut_coordinate = width, a, axis_cut
    return axis, cut_coordinate


@kernel
def build_center_tree(order, tree):
    """Build the tree of boxes over the centers in `order` (permuted in place); the arrays of `tree` are filled.

    Centers that are not in `order` have no leaf. O(centers * depth).

    Args:
        order: Numbers of the centers that are in the tree; permuted in place.
        tree: `CenterTree`; its boxes are filled.
    """
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
        first_center = order[begin]
        for i in range(begin + 1, end):
            first_center = min(first_center, order[i])
        first[node] = first_center
        kid[node] = 0
        if end - begin == 1:
            leaf[order[begin]] = node
            continue
        axis, cut_coordinate = box_cut(box[node], axes)
        i, j = begin, end - 1
        if axis < 0:
            i = (begin + end) // 2
        else:
            while i <= j:
                if centers[order[i], axis] < cut_coordinate:
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


@kernel_part
def update_boxes(center, centers, boxes, is_closed):
    """Update, in place, the boxes above a center that has moved (its new coordinates are in `centers`) or closed.

    A closed center is no longer found by searches.

    Args:
        center: Number of the center.
        centers: (centers, axes) coordinates.
        boxes: `CenterBoxes`; updated in place.
        is_closed: Whether the center closes; else it has moved.
    """
    box, kid, parent, first, leaf = boxes
    node = leaf[center]
    for a in range(centers.shape[1]):
        box[node, 2 * a] = NULL_COORDINATE if is_closed else centers[center, a]
        box[node, 2 * a + 1] = -1 if is_closed else centers[center, a]
    if is_closed:
        first[node] = NO_CENTER
    node = parent[node]
    while node >= 0:
        left_child, right_child, is_unchanged = kid[node], kid[node] + 1, True
        for a in range(0, box.shape[1], 2):
            low, high = (
                min(box[left_child, a], box[right_child, a]),
                max(box[left_child, a + 1], box[right_child, a + 1]),
            )
            is_unchanged = is_unchanged and low == box[node, a] and high == box[node, a + 1]
            box[node, a], box[node, a + 1] = low, high
        first_center = min(first[left_child], first[right_child])
        if is_unchanged and first_center == first[node]:
            return
        first[node] = first_center
        node = parent[node]


@kernel_part
def allocate_search(tree):
    """Return a `CenterSearch` for searches in a `CenterTree`."""
    return CenterSearch(
        np.empty(tree.axes.node_starts[-1], np.int64),
        np.full(tree.points.shape[1], -1, np.int64),
        np.empty((tree.room, 2), np.int64),
        np.zeros(1, np.int64),
    )


@kernel_part
def node_bound(node, point, tree, node_distances, hierarchies, is_squared):
    """Return the least possible distance of a record to an open center in a box; NULL_COORDINATE without such a center.

    Args:
        node: The node.
        point: Coordinates of the record.
        tree: `CenterTree`.
        node_distances: Distances of the record to all nodes of hierarchies.
        hierarchies: Number of axes that are hierarchies; they come first.
        is_squared: Whether distances are squared (see `squared_box_distance`).
    """
    if tree.boxes.first[node] == NO_CENTER:
        return np.int64(NULL_COORDINATE)
    if is_squared:
        return squared_box_distance(point, tree.boxes.bounds, node, tree.axes.null_distances)
    return box_bound(tree.boxes.bounds, node, point, tree.axes, node_distances, hierarchies)


@kernel_part
def nearest_center(point, tree, scratch, best, lowest, is_squared=False):
    """Return the open center nearest to a point (ties: the first), starting from center `best` at distance `lowest`.

    `best` is returned if no center is nearer, or comes first at the same distance; also if all centers are closed.

    Args:
        point: (axes,) coordinates of a record; NULL_COORDINATE for a NULL number, the number of nodes for a NULL
            category.
        tree: `CenterTree`.
        scratch: `CenterSearch`; its number of steps is increased.
        best: The center to start from, or NO_CENTER.
        lowest: Its distance; NULL_COORDINATE, which is more than any distance, if there is none.
        is_squared: Whether distances are squared; then all axes are numbers.
    """
    node_distances, row_values, stack, n_steps = scratch
    fill_node_distances(point, tree.axes, node_distances, row_values)
    kid, first = tree.boxes.kids, tree.boxes.first
    if first[0] == NO_CENTER:
        return best
    hierarchies = tree.axes.is_hierarchy.sum()
    stack[0, 0], stack[0, 1] = 0, node_bound(np.int64(0), point, tree, node_distances, hierarchies, is_squared)
    top = 1
    while top > 0:
        top -= 1
        n_steps[0] += 1
        node, distance = stack[top, 0], stack[top, 1]
        if distance > lowest or (distance == lowest and first[node] >= best):
            continue
        if kid[node] == 0 or is_point(tree.boxes.bounds, node):
            best, lowest = first[node], distance
            continue
        nearer, farther = kid[node], kid[node] + 1
        nearer_bound = node_bound(nearer, point, tree, node_distances, hierarchies, is_squared)
        farther_bound = node_bound(farther, point, tree, node_distances, hierarchies, is_squared)
        if farther_bound < nearer_bound or (farther_bound == nearer_bound and first[farther] < first[nearer]):
            nearer, farther, nearer_bound, farther_bound = farther, nearer, farther_bound, nearer_bound
        if farther_bound < lowest or (farther_bound == lowest and first[farther] < best):
            stack[top, 0], stack[top, 1] = farther, farther_bound
            top += 1
        if nearer_bound < lowest or (nearer_bound == lowest and first[nearer] < best):
            stack[top, 0], stack[top, 1] = nearer, nearer_bound
            top += 1
    return best
