"""What lies within a distance of a tuple: how far apart records must be taken together, centers that lie apart, and a
flow of records to centers. Tuples are points in a tree of boxes (dbanon.kernels.centers).

`tree` is a `RecordTree`.
"""

import numpy as np

from dbanon.kernels.centers import aim, bound
from dbanon.kernels.heap import hold
from dbanon.kernels.jit import kernel, part


@part
def within(point, limit, times, tree, rows, aimed, open_, stack, found):
    """Return the tuples at most `times` limits from a point, where something is open below; how many there are."""
    axes, boxes, seen = tree.axes, tree.boxes, tree.seen
    box, kid, first = boxes[0], boxes[1], boxes[3]
    hierarchies = axes[0].sum()
    aim(point, axes, rows, aimed)
    stack[0, 0] = 0
    top, used = 1, 0
    while top > 0:
        top -= 1
        node = stack[top, 0]
        seen[0] += 1
        if open_[node] == 0:
            continue
        away = bound(box, node, point, axes, rows, hierarchies)
        least = (away + times - 1) // times
        if least > limit:
            seen[2] = min(seen[2], least)
        elif kid[node] == 0:
            seen[1] = max(seen[1], least)
            found[used] = first[node]
            used += 1
        else:
            stack[top, 0], stack[top + 1, 0] = kid[node] + 1, kid[node]
            top += 2
    return used


@part
def has_within(point, limit, need, tree, rows, aimed, stack):
    """Return whether so many records lie within a limit of a point."""
    axes, counts, seen = tree.axes, tree.counts, tree.seen
    box, kid, first = tree.boxes[0], tree.boxes[1], tree.boxes[3]
    hierarchies = axes[0].sum()
    aim(point, axes, rows, aimed)
    stack[0, 0], stack[0, 1] = 0, bound(box, 0, point, axes, rows, hierarchies)
    top, held, farthest = 1, np.int64(0), np.int64(0)
    while top > 0:
        top -= 1
        node, away = stack[top, 0], stack[top, 1]
        seen[0] += 1
        if away > limit:
            seen[2] = min(seen[2], away)
            continue
        if kid[node] == 0:
            held += counts[first[node]]
            farthest = max(farthest, away)
            if held >= need:
                seen[1] = max(seen[1], farthest)
                return True
            continue
        one, other = kid[node], kid[node] + 1
        to_one = bound(box, one, point, axes, rows, hierarchies)
        to_other = bound(box, other, point, axes, rows, hierarchies)
        if to_other < to_one:
            one, other, to_one, to_other = other, one, to_other, to_one
        stack[top, 0], stack[top, 1] = other, to_other
        stack[top + 1, 0], stack[top + 1, 1] = one, to_one
        top += 2
    return False


@part
def reach_of(point, need, tree, rows, stack, sums, whose):
    """Return the distance from a point within which so many records lie."""
    axes, counts, seen = tree.axes, tree.counts, tree.seen
    box, kid, first = tree.boxes[0], tree.boxes[1], tree.boxes[3]
    hierarchies = axes[0].sum()
    stack[0, 0], stack[0, 1] = 0, 0
    top, size, held = 1, 0, np.int64(0)
    while top > 0:
        top -= 1
        node, away = stack[top, 0], stack[top, 1]
        seen[0] += 1
        if held >= need and away >= sums[0]:
            continue
        if kid[node] == 0:
            size, held = hold(sums, whose, size, held, away, first[node], counts, need)
            continue
        one, other = kid[node], kid[node] + 1
        to_one = bound(box, one, point, axes, rows, hierarchies)
        to_other = bound(box, other, point, axes, rows, hierarchies)
        if to_other < to_one:
            one, other, to_one, to_other = other, one, to_other, to_one
        stack[top, 0], stack[top, 1] = other, to_other
        stack[top + 1, 0], stack[top + 1, 1] = one, to_one
        top += 2
    return sums[0]


@kernel
def reach(begin, steps, need, tree, most):
    """`most` becomes the greatest distance within which any tuple has so many records, itself among them.

    Comes back after so many steps; gives the tuple to go on with.
    """
    points, counts, seen = tree.points, tree.counts, tree.seen
    rows, aimed = np.empty(tree.axes[2][-1], np.int64), np.full(points.shape[1], -1, np.int64)
    stack, sums, whose = np.empty((tree.room, 2), np.int64), np.empty(need + 2, np.int64), np.empty(need + 2, np.int64)
    until = seen[0] + steps
    for t in range(begin, len(points)):
        if counts[t] >= need:
            continue
        if seen[0] >= until:
            return t
        if not has_within(points[t], most[0], need, tree, rows, aimed, stack):
            most[0] = reach_of(points[t], need, tree, rows, stack, sums, whose)
    return len(points)


@part
def close(t, boxes, open_):
    """Nothing is open at a tuple any more."""
    node = boxes[4][t]
    while node >= 0:
        open_[node] -= 1
        node = boxes[2][node]


@kernel
def spread(begin, steps, limit, times, need, tree, open_, center_of, centers, number):
    """The first tuple that no center has marked is the next center, and marks those within `times` limits; with `need`
    only one that has so many records within the limit. Comes back after so many steps; gives the tuple to go on with,
    and how many centers there are."""
    points, seen = tree.points, tree.seen
    rows, aimed = np.empty(tree.axes[2][-1], np.int64), np.full(points.shape[1], -1, np.int64)
    stack, found = np.empty((tree.room, 2), np.int64), np.empty(len(points), np.int64)
    until = seen[0] + steps
    for t in range(begin, len(points)):
        if center_of[t] >= 0:
            continue
        if seen[0] >= until:
            return t, number
        if need > 0 and not has_within(points[t], limit, need, tree, rows, aimed, stack):
            continue
        used = within(points[t], limit, times, tree, rows, aimed, open_, stack, found)
        for i in range(used):
            center_of[found[i]] = number
            close(found[i], tree.boxes, open_)
        centers[number] = t
        number += 1
    return len(points), number


@part
def give(t, center, amount, entries):
    """Return records of a tuple to a center. A tuple has no more entries than records: empty ones are used again."""
    of, counts, following, used = entries
    entry, empty, last = t, np.int64(-1), t
    while entry >= 0:
        if of[entry] == center:
            counts[entry] += amount
            return
        if counts[entry] == 0:
            empty = entry
        last, entry = entry, following[entry]
    if empty < 0:
        empty = used[0]
        used[0] += 1
        following[last], following[empty] = empty, -1
    of[empty], counts[empty] = center, amount


@kernel
def flow(begin, steps, limit, need, tree, open_, centers, load, entries):
    """Centers with fewer than `need` records get some, along shortest paths, from those with more: each record stays
    within the limit of its center. Comes back after so many steps; gives the center to go on with, -1 where one cannot
    get enough.

    `load`: records by center; `entries`: records of a tuple at a center (center, count, next of the tuple, number).
    """
    points, seen, number = tree.points, tree.seen, len(load)
    rows, aimed = np.empty(tree.axes[2][-1], np.int64), np.full(points.shape[1], -1, np.int64)
    of, counts, following = entries[0], entries[1], entries[2]
    stack, found = np.empty((tree.room, 2), np.int64), np.empty(len(points), np.int64)
    queue, met, came = np.empty(number, np.int64), np.zeros(number, np.int64), np.empty(number, np.int64)
    via, what = np.empty(number, np.int64), np.empty(number, np.int64)
    stamp, until = np.int64(0), seen[0] + steps
    for c in range(begin, number):
        if seen[0] >= until:
            return c
        while load[c] < need:
            stamp += 1
            met[c], queue[0] = stamp, c
            head, tail, again = 0, 1, False
            while head < tail and not again:
                x = queue[head]
                head += 1
                size = within(points[centers[x]], limit, 1, tree, rows, aimed, open_, stack, found)
                i = 0
                while i < size and not again:
                    entry = found[i]
                    while entry >= 0 and not again:
                        y, next_ = of[entry], following[entry]
                        if counts[entry] > 0 and met[y] != stamp:
                            met[y], came[y], via[y], what[y] = stamp, x, entry, found[i]
                            if load[y] > need:
                                amount, z = min(need - load[c], load[y] - need), y
                                while z != c:
                                    amount = min(amount, counts[via[z]])
                                    z = came[z]
                                z = y
                                while z != c:
                                    counts[via[z]] -= amount
                                    give(what[z], came[z], amount, entries)
                                    z = came[z]
                                load[y] -= amount
                                load[c] += amount
                                again = x != c or load[c] == need
                                if of[entry] != y or counts[entry] == 0:
                                    met[y] = 0  # another of its records may be near, too
                            if met[y] == stamp:
                                queue[tail] = y
                                tail += 1
                        entry = next_
                    i += 1
            if not again and load[c] < need:
                return -1
    return number
