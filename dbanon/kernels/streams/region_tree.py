"""A tree of regions, the more special the deeper: each record stands in the deepest one that has room for it.

The records of a leaf are a list in the order of arrival; records that have left stay there until the leaf is looked at.
See `RegionArrays`.
"""

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.sorting import sort_values
from dbanon.kernels.streams.class_loss import begin, lost, widen
from dbanon.kernels.streams.open_clusters import is_enough
from dbanon.kernels.streams.sliding_window import WAITING

ABOVE, AXIS, KIND, CHILD, NEXT, BRANCH, CAME, SIZE = range(8)
LEAF, NUMBER, NULLS, CATEGORY = range(4)


@part
def enter(t, records, attributes, regions):
    """Return a record comes to the deepest region that has room for it; gives the region."""
    v, value = np.int64(0), records.values[t]
    while True:
        regions.shape[v, SIZE] += 1
        below = _child(v, value, attributes.node_starts, attributes.nodes, regions.shape, regions.cuts)
        if below < 0:
            break
        v = below
    regions.region_ids[t] = v
    regions.shape[v, CAME] += 1
    if regions.shape[v, KIND] == LEAF:
        append(t, v, regions)
    return v


@part
def _child(v, value, node_starts, nodes, shape, cuts):
    """Return the child of a region that a record stands in, or -1: a leaf has none, and others not for all."""
    kind, a = shape[v, KIND], shape[v, AXIS]
    if kind == LEAF:
        return np.int64(-1)
    x, child = value[a], shape[v, CHILD]
    if kind == NULLS:
        return child if x != x else shape[child, NEXT]
    if x != x:
        return np.int64(-1)
    if kind == NUMBER:
        return child if x <= cuts[v] else shape[child, NEXT]
    while child >= 0 and not shape[child, BRANCH] <= x <= nodes[node_starts[a] + shape[child, BRANCH], 1]:
        child = shape[child, NEXT]
    return child


@part
def append(t, v, regions):
    """A record becomes the last one of a list."""
    regions.next_record[t] = -1
    if regions.heads[v] < 0:
        regions.heads[v] = t
    else:
        regions.next_record[regions.tails[v]] = t
    regions.tails[v] = t


@part
def depart(t, shape, region_ids):
    """A record waits no more."""
    v = region_ids[t]
    while v >= 0:
        shape[v, SIZE] -= 1
        v = shape[v, ABOVE]


@part
def specialize(v, state, requirement, records, attributes, regions, scratch):
    """Cuts a leaf and what comes of it, while each part has enough records that wait for a class of its own; gives how
    many were looked at."""
    looked, next_ = np.int64(0), state[4]
    while True:
        if regions.shape[v, SIZE] >= 2 * requirement.k:
            looked += regions.shape[v, SIZE]
            _specialize(v, state, requirement, records, attributes, regions, scratch)
        if next_ == state[4]:
            return looked
        v = next_
        next_ += 1


@part
def _specialize(v, state, requirement, records, attributes, regions, scratch):
    """Cut a leaf at its widest attribute (ties: the first) that can be cut."""
    regions.shape[v, CAME] = 0
    size, t = np.int64(0), regions.heads[v]
    while t >= 0:
        if records.class_ids[t] == WAITING:
            scratch.rows[size] = t
            size += 1
        t = regions.next_record[t]
    ends = np.empty((2, len(attributes.weights)))
    begin(records.values[scratch.rows[0]], ends[0], ends[1], attributes)
    for j in range(1, size):
        widen(records.values[scratch.rows[j]], ends[0], ends[1], attributes)
    for i in range(len(attributes.weights)):
        scratch.widths[i] = attributes.weights[i] * lost(i, ends[0, i], ends[1, i], attributes)
    while True:
        a = np.int64(0)
        for other in range(len(attributes.weights)):
            if scratch.widths[other] > scratch.widths[a]:
                a = np.int64(other)
        if scratch.widths[a] <= 0:
            break
        scratch.widths[a] = -1.0
        parts = _cut(v, a, size, state[4], requirement, records, attributes, regions, scratch)
        good = parts > 1
        for c in range(state[4], state[4] + parts):
            good = good and is_enough(c, requirement, regions.heads, regions.next_record, records)
        if good:
            regions.shape[v, CHILD] = state[4]
            for c in range(state[4], state[4] + parts):
                t = regions.heads[c]
                while t >= 0:
                    regions.region_ids[t] = c
                    regions.shape[c, SIZE] += 1
                    t = regions.next_record[t]
            state[4] += parts
            regions.heads[v] = -1
            return
    regions.shape[v, KIND] = LEAF
    regions.heads[v] = -1
    for j in range(size):
        append(scratch.rows[j], v, regions)


@part
def _cut(v, a, size, new, requirement, records, attributes, regions, scratch):
    """Puts the records of a leaf into regions from `new` on: of NULL and of values, of numbers up to the median and
    above, or of child nodes. Gives how many regions these are."""
    known = np.int64(0)
    for j in range(size):
        x = records.values[scratch.rows[j], a]
        if x == x:
            scratch.sorted_values[known] = x
            known += 1
    regions.shape[v, AXIS] = a
    if known < size:
        regions.shape[v, KIND] = NULLS
    elif attributes.node_starts[a] < attributes.node_starts[a + 1]:
        regions.shape[v, KIND] = CATEGORY
        return _cut_tree(v, a, size, new, requirement, records, attributes, regions, scratch)
    else:
        regions.shape[v, KIND] = NUMBER
        sort_values(scratch.sorted_values, known)
        middle, following = (known - 1) // 2, np.int64(0)
        while scratch.sorted_values[middle] == scratch.sorted_values[known - 1]:
            middle -= 1
        regions.cuts[v] = scratch.sorted_values[middle]
        while scratch.sorted_values[following] <= regions.cuts[v]:
            following += 1
    for branch in range(2):
        _open(new + branch, v, np.int64(branch), regions)
    regions.shape[new, NEXT] = new + 1
    if regions.shape[v, KIND] == NUMBER:
        regions.highs[new, a], regions.lows[new + 1, a] = regions.cuts[v], scratch.sorted_values[following]
    for j in range(size):
        x = records.values[scratch.rows[j], a]
        is_second = x == x if known < size else x > regions.cuts[v]
        append(scratch.rows[j], new + is_second, regions)
    return np.int64(2)


@part
def _cut_tree(v, a, size, new, requirement, records, attributes, regions, scratch):
    """Puts the records of a leaf, none of which is NULL, into regions of the nodes below their lowest common ancestor;
    gives how many these are, or 0 where one is at that node itself."""
    least, most = records.values[scratch.rows[0], a], records.values[scratch.rows[0], a]
    for j in range(size):
        least, most = min(least, records.values[scratch.rows[j], a]), max(most, records.values[scratch.rows[j], a])
    above = np.int64(least)
    while most > attributes.nodes[attributes.node_starts[a] + above, 1]:
        above = attributes.nodes[attributes.node_starts[a] + above, 0]
    if least == above:
        return np.int64(0)
    parts = np.int64(0)
    for j in range(size):
        branch = np.int64(records.values[scratch.rows[j], a])
        while attributes.nodes[attributes.node_starts[a] + branch, 0] != above:
            branch = attributes.nodes[attributes.node_starts[a] + branch, 0]
        c = new
        while c < new + parts and regions.shape[c, BRANCH] != branch:
            c += 1
        if c == new + parts:
            parts += 1
            if parts * requirement.k > size:
                return np.int64(0)
            _open(c, v, branch, regions)
            regions.lows[c, a] = float(branch)
            regions.highs[c, a] = float(attributes.nodes[attributes.node_starts[a] + branch, 1])
            if parts > 1:
                regions.shape[c - 1, NEXT] = c
        append(scratch.rows[j], c, regions)
    return parts


@part
def _open(c, v, branch, regions):
    """A region as wide as that above it, without records."""
    shape = regions.shape
    shape[c] = 0
    shape[c, ABOVE], shape[c, CHILD], shape[c, NEXT], shape[c, BRANCH] = v, -1, -1, branch
    regions.lows[c], regions.highs[c] = regions.lows[v], regions.highs[v]
    regions.heads[c] = -1
