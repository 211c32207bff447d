"""A tree of regions, the more special the deeper: each record stands in the deepest one that has room for it.

`shape` (regions, 8) is of each region: the one above, attribute and kind of its cut (0: a leaf), its first child, its
next sibling, what of the cut above it is (of a category a node, else 0 or 1), records that came to it since it was last
looked at, and records that wait in it or below. `cut` (regions,) is where numbers are cut, `low` and `high` (regions,
attributes) the ends of a region: of numbers values that had come, or infinite, of categories a node and the last one
below. `at` (records,) is the region of a record; the records of a leaf are a list in the order of arrival: `heads` and
`tails` (regions,), `link` (records,). Records that have left stay there until the leaf is looked at.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.sorting import sort_values
from dbanon.kernels.stream_class import begin, lost, widen
from dbanon.kernels.stream_open import is_enough
from dbanon.kernels.stream_window import WAITING

ABOVE, AXIS, KIND, CHILD, NEXT, BRANCH, CAME, SIZE = range(8)
LEAF, NUMBER, NULLS, CATEGORY = range(4)


@part
def enter(t, values, first, nodes, shape, cut, at, heads, tails, link):
    """A record comes to the deepest region that has room for it; gives the region."""
    v = np.int64(0)
    while True:
        shape[v, SIZE] += 1
        below = _child(v, values[t], first, nodes, shape, cut)
        if below < 0:
            break
        v = below
    at[t] = v
    shape[v, CAME] += 1
    if shape[v, KIND] == LEAF:
        _append(t, v, heads, tails, link)
    return v


@part
def _child(v, value, first, nodes, shape, cut):
    """The child of a region that a record stands in, or -1: a leaf has none, and others not for all."""
    kind, a = shape[v, KIND], shape[v, AXIS]
    if kind == LEAF:
        return np.int64(-1)
    x, child = value[a], shape[v, CHILD]
    if kind == NULLS:
        return child if x != x else shape[child, NEXT]
    if x != x:
        return np.int64(-1)
    if kind == NUMBER:
        return child if x <= cut[v] else shape[child, NEXT]
    while child >= 0 and not shape[child, BRANCH] <= x <= nodes[first[a] + shape[child, BRANCH], 1]:
        child = shape[child, NEXT]
    return child


@part
def _append(t, v, heads, tails, link):
    """A record becomes the last one of a list."""
    link[t] = -1
    if heads[v] < 0:
        heads[v] = t
    else:
        link[tails[v]] = t
    tails[v] = t


@part
def depart(t, shape, at):
    """A record waits no more."""
    v = at[t]
    while v >= 0:
        shape[v, SIZE] -= 1
        v = shape[v, ABOVE]


@part
def specialize(
    v, state, k, need, values, people, sensitive, out, first, nodes, share, seen, weights, shape, cut, low, high, at,
    heads, tails, link, rows, wide, sorted_, marks, values_of, clock,
):  # fmt: skip
    """Cuts a leaf and what comes of it, while each part has enough records that wait for a class of its own; gives how
    many were looked at. rows and sorted_ (records,), wide (attributes,): scratch."""
    looked, next_ = np.int64(0), state[4]
    while True:
        if shape[v, SIZE] >= 2 * k:
            looked += shape[v, SIZE]
            _specialize(
                v, state, k, need, values, people, sensitive, out, first, nodes, share, seen, weights, shape, cut, low,
                high, at, heads, tails, link, rows, wide, sorted_, marks, values_of, clock,
            )  # fmt: skip
        if next_ == state[4]:
            return looked
        v = next_
        next_ += 1


@part
def _specialize(
    v, state, k, need, values, people, sensitive, out, first, nodes, share, seen, weights, shape, cut, low, high, at,
    heads, tails, link, rows, wide, sorted_, marks, values_of, clock,
):  # fmt: skip
    """Cuts a leaf at its widest attribute (ties: the first) that can be cut."""
    shape[v, CAME] = 0
    size, t = np.int64(0), heads[v]
    while t >= 0:
        if out[t] == WAITING:
            rows[size] = t
            size += 1
        t = link[t]
    ends = np.empty((2, len(weights)))
    begin(values[rows[0]], ends[0], ends[1], first, nodes)
    for j in range(1, size):
        widen(values[rows[j]], ends[0], ends[1], first, nodes)
    for i in range(len(weights)):
        wide[i] = weights[i] * lost(i, ends[0, i], ends[1, i], first, share, seen)
    while True:
        a = np.int64(0)
        for other in range(len(weights)):
            if wide[other] > wide[a]:
                a = np.int64(other)
        if wide[a] <= 0:
            break
        wide[a] = -1.0
        parts = _cut(v, a, size, state[4], k, values, first, nodes, shape, cut, low, high, heads, tails, link, rows,
            sorted_)  # fmt: skip
        good = parts > 1
        for c in range(state[4], state[4] + parts):
            good = good and is_enough(c, k, need, heads, link, people, sensitive, marks, values_of, clock)
        if good:
            shape[v, CHILD] = state[4]
            for c in range(state[4], state[4] + parts):
                t = heads[c]
                while t >= 0:
                    at[t] = c
                    shape[c, SIZE] += 1
                    t = link[t]
            state[4] += parts
            heads[v] = -1
            return
    shape[v, KIND] = LEAF
    heads[v] = -1
    for j in range(size):
        _append(rows[j], v, heads, tails, link)


@part
def _cut(v, a, size, new, k, values, first, nodes, shape, cut, low, high, heads, tails, link, rows, sorted_):
    """Puts the records of a leaf into regions from `new` on: of NULL and of values, of numbers up to the median and
    above, or of child nodes. Gives how many regions these are."""
    known = np.int64(0)
    for j in range(size):
        x = values[rows[j], a]
        if x == x:
            sorted_[known] = x
            known += 1
    shape[v, AXIS] = a
    if known < size:
        shape[v, KIND] = NULLS
    elif first[a] < first[a + 1]:
        shape[v, KIND] = CATEGORY
        return _cut_tree(v, a, size, new, k, values, first, nodes, shape, low, high, heads, tails, link, rows)
    else:
        shape[v, KIND] = NUMBER
        sort_values(sorted_, known)
        middle, following = (known - 1) // 2, np.int64(0)
        while sorted_[middle] == sorted_[known - 1]:
            middle -= 1
        cut[v] = sorted_[middle]
        while sorted_[following] <= cut[v]:
            following += 1
    for branch in range(2):
        _open(new + branch, v, np.int64(branch), shape, low, high, heads)
    shape[new, NEXT] = new + 1
    if shape[v, KIND] == NUMBER:
        high[new, a], low[new + 1, a] = cut[v], sorted_[following]
    for j in range(size):
        x = values[rows[j], a]
        is_second = x == x if known < size else x > cut[v]
        _append(rows[j], new + is_second, heads, tails, link)
    return np.int64(2)


@part
def _cut_tree(v, a, size, new, k, values, first, nodes, shape, low, high, heads, tails, link, rows):
    """Puts the records of a leaf, none of which is NULL, into regions of the nodes below their lowest common ancestor;
    gives how many these are, or 0 where one is at that node itself."""
    least, most = values[rows[0], a], values[rows[0], a]
    for j in range(size):
        least, most = min(least, values[rows[j], a]), max(most, values[rows[j], a])
    above = np.int64(least)
    while most > nodes[first[a] + above, 1]:
        above = nodes[first[a] + above, 0]
    if least == above:
        return np.int64(0)
    parts = np.int64(0)
    for j in range(size):
        branch = np.int64(values[rows[j], a])
        while nodes[first[a] + branch, 0] != above:
            branch = nodes[first[a] + branch, 0]
        c = new
        while c < new + parts and shape[c, BRANCH] != branch:
            c += 1
        if c == new + parts:
            parts += 1
            if parts * k > size:
                return np.int64(0)
            _open(c, v, branch, shape, low, high, heads)
            low[c, a], high[c, a] = float(branch), float(nodes[first[a] + branch, 1])
            if parts > 1:
                shape[c - 1, NEXT] = c
        _append(rows[j], c, heads, tails, link)
    return parts


@part
def _open(c, v, branch, shape, low, high, heads):
    """A region as wide as that above it, without records."""
    shape[c] = 0
    shape[c, ABOVE], shape[c, CHILD], shape[c, NEXT], shape[c, BRANCH] = v, -1, -1, branch
    low[c], high[c] = low[v], high[v]
    heads[c] = -1
