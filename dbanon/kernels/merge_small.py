"""Classes that are too small merge with the nearest one: classes as points in a tree of boxes (dbanon.kernels.centers).

A point is a class: the preorder number of its node on each ladder
(dbanon.algorithms.agglomerative.hierarchy_distances), and on a last axis the summed cost of raising it to the root. Two
classes that unite are raised to their lowest common ancestors, and each record pays for the way: sizes are at least
that of the class that looks for a partner, so what this one pays, and as much for the way that the nearest class in a
box has, is the least that any class in it can cost.
"""

import numpy as np

from dbanon.kernels.centers import NOBODY, refit
from dbanon.kernels.jit import kernel, part


@part
def climb(c, points, axes, way, path, ends):
    """The ancestors of a class on each ladder, from itself up: number, last node below, and way to the root."""
    at, parent, last = axes[2], axes[3], axes[4]
    used = 0
    for a in range(points.shape[1] - 1):
        node = points[c, a]
        while node >= 0:
            path[used, 0], path[used, 1], path[used, 2] = node, last[at[a] + node], way[at[a] + node]
            used += 1
            node = parent[at[a] + node]
        ends[a] = used


@part
def shared(low, high, here, path, begin):
    """Return the way to the root from the lowest ancestor that a class has in common with some node from low to
    high."""
    node = min(max(here, low), high)
    while node < path[begin, 0] or node > path[begin, 1]:
        begin += 1
    return path[begin, 2]


@part
def partner(c, points, sizes, boxes, path, ends, stack, spent):
    """Return the class with which a class costs least; ties: the first; NOBODY where there is no other."""
    box, kid, first = boxes[0], boxes[1], boxes[3]
    axes = points.shape[1] - 1
    own, size = points[c, axes], sizes[c]
    best, least = np.int64(NOBODY), np.int64(NOBODY)
    stack[0, 0], stack[0, 1] = 0, 0
    top = 1
    while top > 0:
        top -= 1
        node, cost = stack[top, 0], stack[top, 1]
        spent[0] += 1
        if cost > least or (cost == least and first[node] >= best):
            continue
        if kid[node] == 0:
            if first[node] != c:
                best, least = first[node], cost
            continue
        used = top
        for child in range(kid[node], kid[node] + 2):
            if first[child] == NOBODY:
                continue
            together, begin = np.int64(0), np.int64(0)
            for a in range(axes):
                together += shared(box[child, 2 * a], box[child, 2 * a + 1], points[c, a], path, begin)
                begin = ends[a]
            other = sizes[first[child]] if kid[child] == 0 else size
            cost = size * (own - together) + other * max(box[child, 2 * axes] - together, 0)
            if cost < least or (cost == least and first[child] < best):
                stack[used, 0], stack[used, 1] = child, cost
                used += 1
        if used == top + 2 and (
            stack[top, 1] < stack[top + 1, 1]
            or (stack[top, 1] == stack[top + 1, 1] and first[stack[top, 0]] < first[stack[top + 1, 0]])
        ):
            for i in range(2):
                stack[top, i], stack[top + 1, i] = stack[top + 1, i], stack[top, i]
        top = used
    return best


@part
def raise_to(c, other, points, axes, way):
    """Raise a class to what it has in common with another."""
    at, parent, last = axes[2], axes[3], axes[4]
    total = np.int64(0)
    for a in range(points.shape[1] - 1):
        node, g = points[c, a], points[other, a]
        while g < node or g > last[at[a] + node]:
            node = parent[at[a] + node]
        points[c, a] = node
        total += way[at[a] + node]
    points[c, points.shape[1] - 1] = total


@part
def cut_off(c, other, needed, chains):
    """Return a class the last records of another, so many."""
    head, tail, following, tuples, counts, used = chains
    while needed > 0:
        before, entry = np.int64(-1), head[other]
        far, above = entry, np.int64(-1)
        while entry >= 0:
            if tuples[entry] > tuples[far]:
                far, above = entry, before
            before, entry = entry, following[entry]
        taken = min(counts[far], needed)
        needed -= taken
        if taken < counts[far]:
            counts[far] -= taken
            new = used[0]
            used[0] += 1
            tuples[new], counts[new], following[new] = tuples[far], taken, -1
            far = new
        else:
            if above < 0:
                head[other] = following[far]
            else:
                following[above] = following[far]
            if following[far] < 0:
                tail[other] = above
            following[far] = -1
        following[tail[c]] = far
        tail[c] = far


@kernel
def merge_small(state, steps, merges, k, stub, tree, sizes, way, chains):
    """Classes of fewer than k records, the smallest first (ties: the first), are united with the class that costs least
    together. With `stub`, of a class that can spare them only as many records are taken as are needed.

    `state`: the size of the classes that are looked at now, the next of them, the next size, and merges so far. Comes
    back after so many steps or merges; gives whether all is done.
    """
    head, tail, following = chains[0], chains[1], chains[2]
    points, axes, boxes, room = tree
    size, c, next_size, made = state[0], state[1], state[2], state[3]
    path, ends = np.empty((room, 3), np.int64), np.empty(points.shape[1], np.int64)
    stack, spent = np.empty((room, 2), np.int64), np.zeros(1, np.int64)
    done = False
    while spent[0] < steps and made - state[3] < merges:
        if c == len(sizes):
            if next_size >= k:
                done = True
                break
            size, c, next_size = next_size, 0, k
        here = sizes[c]
        if here != size:
            if here > size:
                next_size = min(next_size, here)
            c += 1
            continue
        climb(c, points, axes, way, path, ends)
        other = partner(c, points, sizes, boxes, path, ends, stack, spent)
        if other == NOBODY:
            done = True
            break
        made += 1
        keep, gone = min(c, other), max(c, other)
        raise_to(c, other, points, axes, way)
        if stub and sizes[other] >= 2 * k - size:
            cut_off(c, other, k - size, chains)
            sizes[other] -= k - size
            sizes[c] = k
            refit(c, points, boxes, False)
        else:
            points[keep] = points[c]
            sizes[keep] += sizes[gone]
            sizes[gone] = 0
            following[tail[keep]] = head[gone]
            tail[keep] = tail[gone]
            refit(gone, points, boxes, True)
            refit(keep, points, boxes, False)
            next_size = min(next_size, sizes[keep])
        c += 1
    state[0], state[1], state[2], state[3] = size, c, next_size, made
    return done
