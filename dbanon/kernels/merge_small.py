"""Merging of classes that are too small with the nearest class, by a tree of boxes (dbanon.kernels.centers).

A point is a class: the preorder number of its node in each hierarchy of distances
(dbanon.algorithms.agglomerative.hierarchy_distances), and on a last axis the summed cost of raising it to the root. Two
classes that merge are raised to their lowest common ancestors, and each record pays for the way. Sizes are at least
that of the class that is merged, so what this class pays, and as much for the way of the nearest class in a box, is a
lower bound of the cost with any class in it.
"""

import numpy as np

from dbanon.kernels.arrays import CURRENT_SIZE, N_MERGES, NEXT_CLASS, NEXT_SIZE
from dbanon.kernels.centers import NO_CENTER, update_boxes
from dbanon.kernels.jit import kernel, kernel_part


@kernel_part
def fill_ancestor_path(c, points, axes, height_of, path, ends):
    """Fill `path` with class `c`'s ancestors in each hierarchy, from its node to the root.

    A row of `path` is a node, the last node below it, and the cost of raising a record from it to the root. ends[a] is
    where the rows of hierarchy a end.

    Args:
        c: Number of the class.
        points: (classes, hierarchies + 1): node of each class in each hierarchy, and last the summed cost of raising
            these to the roots.
        axes: `CenterAxes`.
        height_of: By node of all hierarchies, the cost of raising it to the root.
        path: Output: (rows, 3).
        ends: Output: where the rows of each hierarchy end.
    """
    node_starts, parent, last = axes.node_starts, axes.parent, axes.last
    used = 0
    for a in range(points.shape[1] - 1):
        node = points[c, a]
        while node >= 0:
            path[used, 0], path[used, 1], path[used, 2] = (
                node,
                last[node_starts[a] + node],
                height_of[node_starts[a] + node],
            )
            used += 1
            node = parent[node_starts[a] + node]
        ends[a] = used


@kernel_part
def shared_height(low, high, node_of_class, path, begin):
    """Return the cost to the root from a class's lowest common ancestor with the nearest node from `low` to `high`.

    Args:
        low, high: A range of nodes, by preorder.
        node_of_class: The node of the class.
        path: The ancestors of the class (see `fill_ancestor_path`).
        begin: Where those in this hierarchy begin.
    """
    node = min(max(node_of_class, low), high)
    while node < path[begin, 0] or node > path[begin, 1]:
        begin += 1
    return path[begin, 2]


@kernel_part
def cheapest_partner(c, points, sizes, boxes, path, ends, stack, n_steps):
    """Return the class with which merging class `c` costs least (ties: the first); NO_CENTER if there is no other.

    Args:
        c: Number of the class.
        points: (classes, hierarchies + 1): node of each class in each hierarchy, and last the summed cost of raising
            these to the roots.
        sizes: Records of each class.
        boxes: `CenterBoxes`.
        path, ends: The ancestors of class `c`, as `fill_ancestor_path` writes them.
        stack: Scratch.
        n_steps: (1,) number of visited boxes; increased.
    """
    box, kid, first = boxes.bounds, boxes.kids, boxes.first
    axes = points.shape[1] - 1
    own_height, size = points[c, axes], sizes[c]
    best, lowest = np.int64(NO_CENTER), np.int64(NO_CENTER)
    stack[0, 0], stack[0, 1] = 0, 0
    top = 1
    while top > 0:
        top -= 1
        node, cost = stack[top, 0], stack[top, 1]
        n_steps[0] += 1
        if cost > lowest or (cost == lowest and first[node] >= best):
            continue
        if kid[node] == 0:
            if first[node] != c:
                best, lowest = first[node], cost
            continue
        stack_end = top
        for child in range(kid[node], kid[node] + 2):
            if first[child] == NO_CENTER:
                continue
            shared_heights, begin = np.int64(0), np.int64(0)
            for a in range(axes):
                shared_heights += shared_height(box[child, 2 * a], box[child, 2 * a + 1], points[c, a], path, begin)
                begin = ends[a]
            other = sizes[first[child]] if kid[child] == 0 else size
            cost = size * (own_height - shared_heights) + other * max(box[child, 2 * axes] - shared_heights, 0)
            if cost < lowest or (cost == lowest and first[child] < best):
                stack[stack_end, 0], stack[stack_end, 1] = child, cost
                stack_end += 1
        if stack_end == top + 2 and (
            stack[top, 1] < stack[top + 1, 1]
            or (stack[top, 1] == stack[top + 1, 1] and first[stack[top, 0]] < first[stack[top + 1, 0]])
        ):
            for i in range(2):
                stack[top, i], stack[top + 1, i] = stack[top + 1, i], stack[top, i]
        top = stack_end
    return best


@kernel_part
def raise_to_common_ancestors(c, other, points, axes, height_of):
    """Replace the coordinates of class `c`, in place, by its lowest common ancestors with class `other`.

    Args:
        c: Number of the class.
        other: Number of the other class.
        points: (classes, hierarchies + 1): node of each class in each hierarchy, and last the summed cost of raising
            these to the roots; updated in place.
        axes: `CenterAxes`.
        height_of: By node of all hierarchies, the cost of raising it to the root.
    """
    node_starts, parent, last = axes.node_starts, axes.parent, axes.last
    total = np.int64(0)
    for a in range(points.shape[1] - 1):
        node, g = points[c, a], points[other, a]
        while g < node or g > last[node_starts[a] + node]:
            node = parent[node_starts[a] + node]
        points[c, a] = node
        total += height_of[node_starts[a] + node]
    points[c, points.shape[1] - 1] = total


@kernel_part
def move_records(c, other, n_needed, chains):
    """Move the `n_needed` records of the last tuples of class `other` to the end of class `c`'s list, in place.

    An entry of the list is divided if needed.

    Args:
        c: Number of the class.
        other: Number of the other class.
        n_needed: Number of records to move.
        chains: `ClassChains`; updated in place.
    """
    head, tail, following, tuples, counts, used = chains
    while n_needed > 0:
        previous, entry = np.int64(-1), head[other]
        last_entry, previous_of_last = entry, np.int64(-1)
        while entry >= 0:
            if tuples[entry] > tuples[last_entry]:
                last_entry, previous_of_last = entry, previous
            previous, entry = entry, following[entry]
        n_taken = min(counts[last_entry], n_needed)
        n_needed -= n_taken
        if n_taken < counts[last_entry]:
            counts[last_entry] -= n_taken
            new = used[0]
            used[0] += 1
            tuples[new], counts[new], following[new] = tuples[last_entry], n_taken, -1
            last_entry = new
        else:
            if previous_of_last < 0:
                head[other] = following[last_entry]
            else:
                following[previous_of_last] = following[last_entry]
            if following[last_entry] < 0:
                tail[other] = previous_of_last
            following[last_entry] = -1
        following[tail[c]] = last_entry
        tail[c] = last_entry


@kernel
def merge_small_classes(state, max_steps, max_merges, k, allow_partial, tree, sizes, height_of, chains):
    """Merge classes of fewer than k records, in place, the smallest first (ties: the first), with the cheapest class.

    The cheapest is the one with which merging costs least. With `allow_partial`, only as many records as are needed are
    moved from a class that has enough of them. Returns whether all is done, or False after `max_steps` steps or
    `max_merges` merges.

    Args:
        state: See `CURRENT_SIZE`; updated in place.
        max_steps: Number of visited boxes after which to return.
        max_merges: Number of merges after which to return.
        k: Fewest records of a class.
        allow_partial: Whether a class may give some of its records.
        tree: `CenterTree` of the classes.
        sizes: Records of each class, 0 once it is merged.
        height_of: Cost of raising each node to the root.
        chains: `ClassChains`.
    """
    head, tail, following = chains.head, chains.tail, chains.following
    points, axes, boxes, room = tree
    size, c, next_size, n_merges = state[CURRENT_SIZE], state[NEXT_CLASS], state[NEXT_SIZE], state[N_MERGES]
    path, ends = np.empty((room, 3), np.int64), np.empty(points.shape[1], np.int64)
    stack, n_steps = np.empty((room, 2), np.int64), np.zeros(1, np.int64)
    is_done = False
    while n_steps[0] < max_steps and n_merges - state[N_MERGES] < max_merges:
        if c == len(sizes):
            if next_size >= k:
                is_done = True
                break
            size, c, next_size = next_size, 0, k
        if sizes[c] != size:
            if sizes[c] > size:
                next_size = min(next_size, sizes[c])
            c += 1
            continue
        fill_ancestor_path(c, points, axes, height_of, path, ends)
        other = cheapest_partner(c, points, sizes, boxes, path, ends, stack, n_steps)
        if other == NO_CENTER:
            is_done = True
            break
        n_merges += 1
        keep, removed = min(c, other), max(c, other)
        raise_to_common_ancestors(c, other, points, axes, height_of)
        if allow_partial and sizes[other] >= 2 * k - size:
            move_records(c, other, k - size, chains)
            sizes[other] -= k - size
            sizes[c] = k
            update_boxes(c, points, boxes, False)
        else:
            points[keep] = points[c]
            sizes[keep] += sizes[removed]
            sizes[removed] = 0
            following[tail[keep]] = head[removed]
            tail[keep] = tail[removed]
            update_boxes(removed, points, boxes, True)
            update_boxes(keep, points, boxes, False)
            next_size = min(next_size, sizes[keep])
        c += 1
    state[CURRENT_SIZE], state[NEXT_CLASS], state[NEXT_SIZE], state[N_MERGES] = size, c, next_size, n_merges
    return is_done
