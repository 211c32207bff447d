"""Searches within a distance of a tuple: the radius that clusters need, centers that lie apart, and a flow to centers.

Tuples are points in a tree of boxes (dbanon.kernels.centers). `tree` is a `RecordTree`.
"""

import numpy as np

from dbanon.kernels.center_arrays import LIMIT_BELOW, LIMIT_FROM, N_VISITED
from dbanon.kernels.centers import allocate_search, box_bound, fill_node_distances
from dbanon.kernels.heap import push_and_trim
from dbanon.kernels.jit import kernel, kernel_part


@kernel_part
def find_within(point, limit, multiple, tree, search, n_open, near_tuples):
    """Write the tuples at a distance of at most `multiple` * `limit` from a point to `near_tuples`; return how many.

    Boxes without open tuples (those that no center has taken yet) are skipped.

    Args:
        point: (axes,) coordinates.
        limit: The distance.
        multiple: Factor of the limit.
        tree: `RecordTree`; its counters are updated.
        search: `CenterSearch`, scratch.
        n_open: By box, the number of open tuples below it.
        near_tuples: Output: numbers of tuples.
    """
    axes, counters, stack = tree.tuples.axes, tree.counters, search.stack
    box, kid, first = tree.tuples.boxes.bounds, tree.tuples.boxes.kids, tree.tuples.boxes.first
    hierarchies = axes.is_hierarchy.sum()
    fill_node_distances(point, axes, search.node_distances, search.row_values)
    stack[0, 0] = 0
    top, n_found = 1, 0
    while top > 0:
        top -= 1
        node = stack[top, 0]
        counters[N_VISITED] += 1
        if n_open[node] == 0:
            continue
        distance = box_bound(box, node, point, axes, search.node_distances, hierarchies)
        min_limit = (distance + multiple - 1) // multiple
        if min_limit > limit:
            counters[LIMIT_BELOW] = min(counters[LIMIT_BELOW], min_limit)
        elif kid[node] == 0:
            counters[LIMIT_FROM] = max(counters[LIMIT_FROM], min_limit)
            near_tuples[n_found] = first[node]
            n_found += 1
        else:
            stack[top, 0], stack[top + 1, 0] = kid[node] + 1, kid[node]
            top += 2
    return n_found


@kernel_part
def push_children(node, top, point, tree, search, hierarchies):
    """Push both children of a box with their least distances to a point on a stack, the nearer one last.

    Returns the new size of the stack.

    Args:
        node: Number of the box.
        top: Number of entries of the stack.
        point: (axes,) coordinates.
        tree: `CenterTree`.
        search: `CenterSearch`, whose distances of the point to the nodes of hierarchies were filled before; its stack
            is updated in place.
        hierarchies: Number of axes that are hierarchies; they come first.
    """
    nearer, farther = tree.boxes.kids[node], tree.boxes.kids[node] + 1
    nearer_bound = box_bound(tree.boxes.bounds, nearer, point, tree.axes, search.node_distances, hierarchies)
    farther_bound = box_bound(tree.boxes.bounds, farther, point, tree.axes, search.node_distances, hierarchies)
    if farther_bound < nearer_bound:
        nearer, farther, nearer_bound, farther_bound = farther, nearer, farther_bound, nearer_bound
    search.stack[top, 0], search.stack[top, 1] = farther, farther_bound
    search.stack[top + 1, 0], search.stack[top + 1, 1] = nearer, nearer_bound
    return top + 2


@kernel_part
def has_records_within(point, limit, min_records, tree, search):
    """Return whether `min_records` or more records are at a distance of at most `limit` from a point.

    Args:
        point: (axes,) coordinates.
        limit: The distance.
        min_records: Number of records that is needed.
        tree: `RecordTree`; its counters are updated.
        search: `CenterSearch`, scratch.
    """
    axes, boxes, counters, stack = tree.tuples.axes, tree.tuples.boxes, tree.counters, search.stack
    hierarchies = axes.is_hierarchy.sum()
    fill_node_distances(point, axes, search.node_distances, search.row_values)
    stack[0, 0], stack[0, 1] = 0, box_bound(boxes.bounds, 0, point, axes, search.node_distances, hierarchies)
    top, n_held, farthest = 1, np.int64(0), np.int64(0)
    while top > 0:
        top -= 1
        node, distance = stack[top, 0], stack[top, 1]
        counters[N_VISITED] += 1
        if distance > limit:
            counters[LIMIT_BELOW] = min(counters[LIMIT_BELOW], distance)
            continue
        if boxes.kids[node] == 0:
            n_held += tree.counts[boxes.first[node]]
            farthest = max(farthest, distance)
            if n_held >= min_records:
                counters[LIMIT_FROM] = max(counters[LIMIT_FROM], farthest)
                return True
            continue
        top = push_children(node, top, point, tree.tuples, search, hierarchies)
    return False


@kernel_part
def radius_around(point, min_records, tree, search, sums, heap_tuples):
    """Return the least distance from a point within which `min_records` records lie.

    Args:
        point: (axes,) coordinates.
        min_records: Number of records that is needed.
        tree: `RecordTree`; its counters are updated.
        search: `CenterSearch`, whose distances of the point to the nodes of hierarchies were filled before.
        sums, heap_tuples: Scratch.
    """
    stack, hierarchies = search.stack, tree.tuples.axes.is_hierarchy.sum()
    stack[0, 0], stack[0, 1] = 0, 0
    top, size, n_held = 1, 0, np.int64(0)
    while top > 0:
        top -= 1
        node, distance = stack[top, 0], stack[top, 1]
        tree.counters[N_VISITED] += 1
        if n_held >= min_records and distance >= sums[0]:
            continue
        if tree.tuples.boxes.kids[node] == 0:
            t = tree.tuples.boxes.first[node]
            size, n_held = push_and_trim(sums, heap_tuples, size, n_held, distance, t, tree.counts, min_records)
            continue
        top = push_children(node, top, point, tree.tuples, search, hierarchies)
    return sums[0]


@kernel
def update_max_radius(begin, max_steps, min_records, tree, max_radius):
    """Raise max_radius[0], in place, to the greatest radius within which a tuple has `min_records` records.

    The radius of a tuple is the distance to the nearest `min_records` records, its own included; all tuples from
    `begin` on count. Returns the tuple to continue with, after `max_steps` visited boxes or at the end.

    Args:
        begin: The first tuple.
        max_steps: Number of visited boxes after which to return.
        min_records: Number of records that is needed.
        tree: `RecordTree`; its counters are updated.
        max_radius: (1,) distance; updated in place.
    """
    points, counts, counters = tree.tuples.points, tree.counts, tree.counters
    search = allocate_search(tree.tuples)
    sums, heap_tuples = np.empty(min_records + 2, np.int64), np.empty(min_records + 2, np.int64)
    until = counters[N_VISITED] + max_steps
    for t in range(begin, len(points)):
        if counts[t] >= min_records:
            continue
        if counters[N_VISITED] >= until:
            return t
        if not has_records_within(points[t], max_radius[0], min_records, tree, search):
            max_radius[0] = radius_around(points[t], min_records, tree, search, sums, heap_tuples)
    return len(points)


@kernel_part
def close_tuple(t, boxes, n_open):
    """Subtract tuple `t` from the numbers of open tuples (`n_open`) of all boxes above it, in place.

    Args:
        t: Number of the tuple.
        boxes: `CenterBoxes`.
        n_open: By box, the number of open tuples below it; updated in place.
    """
    node = boxes.leaves[t]
    while node >= 0:
        n_open[node] -= 1
        node = boxes.parents[node]


@kernel
def select_centers(begin, max_steps, limit, multiple, min_records, tree, n_open, center_of, centers, n_centers):
    """Make each tuple without a center, from `begin` on, a center of all open tuples within `multiple` * `limit`.

    With `min_records` above 0, a tuple becomes a center only if it has that many records within `limit`. Returns the
    tuple to continue with, after `max_steps` steps or at the end, and the number of centers. `center_of` and `centers`
    are filled in place; tuples with a center are closed.

    Args:
        begin: The first tuple.
        max_steps: Number of steps after which to return.
        limit: The distance.
        multiple: Factor of the limit.
        min_records: Number of records that a center needs within the limit; 0 for none.
        tree: `RecordTree`; its counters are updated.
        n_open: By box, the number of open tuples below it; updated in place.
        center_of: (tuples,) number of the center of each tuple, -1 for none; updated in place.
        centers: Output: tuple of each center.
        n_centers: Number of centers so far.
    """
    points, counters = tree.tuples.points, tree.counters
    search = allocate_search(tree.tuples)
    near_tuples = np.empty(len(points), np.int64)
    until = counters[N_VISITED] + max_steps
    for t in range(begin, len(points)):
        if center_of[t] >= 0:
            continue
        if counters[N_VISITED] >= until:
            return t, n_centers
        if min_records > 0 and not has_records_within(points[t], limit, min_records, tree, search):
            continue
        n_found = find_within(points[t], limit, multiple, tree, search, n_open, near_tuples)
        for i in range(n_found):
            center_of[near_tuples[i]] = n_centers
            close_tuple(near_tuples[i], tree.tuples.boxes, n_open)
        centers[n_centers] = t
        n_centers += 1
    return len(points), n_centers


@kernel_part
def move_to_center(t, center, amount, entries):
    """Assign `amount` records of tuple `t` to a center, in place, in the tuple's list of entries (center, count).

    They are added to the entry of the center, else to an empty or a new entry. Empty entries are used again, so a tuple
    has no more entries than records.

    Args:
        t: Number of the tuple.
        center: Number of the center.
        amount: Number of records.
        entries: `FlowEntries`; updated in place.
    """
    center_of, counts, following, used = entries
    entry, empty, last = t, np.int64(-1), t
    while entry >= 0:
        if center_of[entry] == center:
            counts[entry] += amount
            return
        if counts[entry] == 0:
            empty = entry
        last, entry = entry, following[entry]
    if empty < 0:
        empty = used[0]
        used[0] += 1
        following[last], following[empty] = empty, -1
    center_of[empty], counts[empty] = center, amount


@kernel
def balance_loads(begin, max_steps, limit, min_records, tree, n_open, centers, load, entries):
    """Move records along shortest paths from centers with more than `min_records` to centers with fewer, in place.

    Each record stays within `limit` of its center. Returns the center to continue with after `max_steps` visited boxes,
    the number of centers if all have enough, and -1 if one cannot get enough.

    Args:
        begin: The first center.
        max_steps: Number of visited boxes after which to return.
        limit: The distance.
        min_records: Number of records that is needed.
        tree: `RecordTree`; its counters are updated.
        n_open: By box, the number of tuples that are searched for.
        centers: Tuple of each center.
        load: (centers,) number of records; updated in place.
        entries: `FlowEntries`; updated in place.
    """
    points, counters, n_centers = tree.tuples.points, tree.counters, len(load)
    search = allocate_search(tree.tuples)
    center_of, counts, following, _ = entries
    near_tuples = np.empty(len(points), np.int64)
    queue, stamps, predecessor = (
        np.empty(n_centers, np.int64),
        np.zeros(n_centers, np.int64),
        np.empty(n_centers, np.int64),
    )
    via_entry, via_tuple = np.empty(n_centers, np.int64), np.empty(n_centers, np.int64)
    stamp, until = np.int64(0), counters[N_VISITED] + max_steps
    for c in range(begin, n_centers):
        if counters[N_VISITED] >= until:
            return c
        while load[c] < min_records:
            stamp += 1
            stamps[c], queue[0] = stamp, c
            head, tail, has_moved = 0, 1, False
            while head < tail and not has_moved:
                x = queue[head]
                head += 1
                size = find_within(points[centers[x]], limit, 1, tree, search, n_open, near_tuples)
                i = 0
                while i < size and not has_moved:
                    entry = near_tuples[i]
                    while entry >= 0 and not has_moved:
                        y, next_entry = center_of[entry], following[entry]
                        if counts[entry] > 0 and stamps[y] != stamp:
                            stamps[y], predecessor[y], via_entry[y], via_tuple[y] = stamp, x, entry, near_tuples[i]
                            if load[y] > min_records:
                                amount, z = min(min_records - load[c], load[y] - min_records), y
                                while z != c:
                                    amount = min(amount, counts[via_entry[z]])
                                    z = predecessor[z]
                                z = y
                                while z != c:
                                    counts[via_entry[z]] -= amount
                                    move_to_center(via_tuple[z], predecessor[z], amount, entries)
                                    z = predecessor[z]
                                load[y] -= amount
                                load[c] += amount
                                has_moved = x != c or load[c] == min_records
                                if center_of[entry] != y or counts[entry] == 0:
                                    stamps[y] = 0  # another of its records may be near, too
                            if stamps[y] == stamp:
                                queue[tail] = y
                                tail += 1
                        entry = next_entry
                    i += 1
            if not has_moved and load[c] < min_records:
                return -1
    return n_centers
