"""What a class of a stream publishes on each attribute, and what it loses there.

A value is a number's position or the preorder number of a category's node; NaN is a NULL. A class publishes from `low`
to `high`: of a number its least and greatest position, of a category a node and the last node below it. A class of
NULLs is from inf to -inf and covers nothing else; one of NULLs and values is from -inf to inf, which is published as
`*`, and covers all.

`first` (attributes + 1,): where the nodes of an attribute begin, of which a number has none; `nodes` (nodes, 3):
parent, last node below, and the node that it is published as; `share` (nodes,): leaves below but one, over all leaves
but one.
`seen` (attributes, 2): the least and the greatest value of all that has arrived. `weights` (attributes,) sum to 1.

Where positions as DOUBLE do not distinguish all numbers of an attribute, their values are ranks: `first` (after its
attributes + 1 items) says for each attribute from where on `share` has the positions by rank, -1 where values are
positions. It is an array of int32 then, and kernels are compiled a second time (see `has_ranks`). Ranks are compared,
positions are subtracted.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from dbanon.kernels.jit import part


def has_ranks(first):
    """Whether values of some attribute are ranks, which the type of `first` says: then it has items of 32 bits.

    This is known when a kernel is compiled, so that others compute with positions without a branch.
    """
    return first.dtype == np.int32


@overload(has_ranks, inline="always")
def _has_ranks(first):
    if first.dtype == types.int32:
        return lambda first: True
    return lambda first: False


@part
def position(a, value, first, share, seen):
    """The position of a number."""
    if has_ranks(first):
        start = first[len(seen) + 1 + a]
        if start >= 0:
            return share[start + np.int64(value)]
    return value


@part
def seen_width(a, first, share, seen):
    """How far the least and the greatest number of all that has arrived are apart."""
    if has_ranks(first) and seen[a, 0] > seen[a, 1]:
        return 0.0
    return position(a, seen[a, 1], first, share, seen) - position(a, seen[a, 0], first, share, seen)


@part
def see(value, seen, first):
    """A record has arrived."""
    for a in range(len(seen)):
        if first[a] == first[a + 1] and value[a] == value[a]:
            seen[a, 0] = min(seen[a, 0], value[a])
            seen[a, 1] = max(seen[a, 1], value[a])


@part
def reach(a, low, high, value, first, nodes):
    """What a class from low to high publishes of attribute `a` once a value has joined."""
    if value != value:
        return (low, high) if low > high else (-np.inf, np.inf)
    if low > high:
        return -np.inf, np.inf
    if low <= value <= high:
        return low, high
    if first[a] == first[a + 1]:
        return min(low, value), max(high, value)
    begin = first[a]
    node = np.int64(low)
    while value < node or value > nodes[begin + node, 1]:
        node = nodes[begin + node, 0]
    node = nodes[begin + node, 2]
    return float(node), float(nodes[begin + node, 1])


@part
def alone(a, value, first, nodes):
    """What a class of one value publishes."""
    if value != value:
        return np.inf, -np.inf
    if first[a] == first[a + 1]:
        return value, value
    node = nodes[first[a] + np.int64(value), 2]
    return float(node), float(nodes[first[a] + node, 1])


@part
def joined(a, low, high, other_low, other_high, first, nodes):
    """What two classes publish together."""
    if low > high and other_low > other_high:
        return low, high
    if low > high or other_low > other_high or other_low == -np.inf:
        return -np.inf, np.inf
    low, high = reach(a, low, high, other_low, first, nodes)
    return reach(a, low, high, other_high, first, nodes)


@part
def _lost_by_position(a, low, high, first, share, seen):
    """What a record loses on a number whose values may be ranks."""
    width = seen_width(a, first, share, seen)
    if width > 0:
        return (position(a, high, first, share, seen) - position(a, low, first, share, seen)) / width
    return 0.0


@part
def lost(a, low, high, first, share, seen):
    """What a record loses on attribute `a` (CASTLE's loss): the width of an interval over that of all that has been
    seen, and the share of leaves below a node."""
    if low > high:
        return 0.0
    if low == -np.inf:
        return 1.0
    if first[a] < first[a + 1]:
        return share[first[a] + np.int64(low)]
    if has_ranks(first):
        return _lost_by_position(a, low, high, first, share, seen)
    width = seen[a, 1] - seen[a, 0]
    return (high - low) / width if width > 0 else 0.0


@part
def begin(value, low, high, first, nodes):
    """Makes a class of one record."""
    for a in range(len(value)):
        low[a], high[a] = alone(a, value[a], first, nodes)


@part
def widen(value, low, high, first, nodes):
    """Lets a record into a class."""
    for a in range(len(value)):
        low[a], high[a] = reach(a, low[a], high[a], value[a], first, nodes)


@part
def loss(low, high, first, share, seen, weights):
    """What a record of a class loses, from 0 to 1."""
    total = 0.0
    for a in range(len(low)):
        total += weights[a] * lost(a, low[a], high[a], first, share, seen)
    return total


@part
def loss_with(value, low, high, first, nodes, share, seen, weights):
    """What a record of a class would lose once another had joined."""
    total = 0.0
    for a in range(len(low)):
        from_, to = reach(a, low[a], high[a], value[a], first, nodes)
        total += weights[a] * lost(a, from_, to, first, share, seen)
    return total


@part
def growth(value, c, lows, highs, most, first, nodes, share, seen, weights):
    """By how much the loss of class `c` grows once a record has joined; inf where that is more than `most`."""
    total = 0.0
    for a in range(len(value)):
        low, high = lows[c, a], highs[c, a]
        if low <= value[a] <= high:
            continue
        from_, to = reach(a, low, high, value[a], first, nodes)
        total += weights[a] * (lost(a, from_, to, first, share, seen) - lost(a, low, high, first, share, seen))
        if total > most:
            return np.inf
    return total


@part
def covers(value, low, high):
    """Whether what a class publishes stands for a record."""
    for a in range(len(low)):
        if value[a] != value[a]:
            if low[a] <= high[a] and low[a] != -np.inf:
                return False
        elif value[a] < low[a] or value[a] > high[a]:
            return False
    return True


@part
def least_class(value, kept, number, lows, highs, first, share, seen, weights):
    """Of the first `number` classes in `kept` the one that covers a record and loses least (ties: the first), and what
    it loses; -1 and inf where there is none."""
    best, least = np.int64(-1), np.inf
    for i in range(number):
        c = kept[i]
        if covers(value, lows[c], highs[c]):
            own = loss(lows[c], highs[c], first, share, seen, weights)
            if own < least:
                best, least = c, own
    return best, least


@part
def _apart_by_position(a, x, y, first, share, seen):
    """How far apart two numbers are whose values may be ranks."""
    width = seen_width(a, first, share, seen)
    if width > 0:
        return abs(position(a, x, first, share, seen) - position(a, y, first, share, seen)) / width
    return 0.0


@part
def apart(a, x, y, first, nodes, share, seen):
    """How far apart two values are, from 0 to 1: the share of all that has been seen that lies between them, or of the
    leaves below their lowest common ancestor."""
    if x != x or y != y:
        return 0.0 if x != x and y != y else 1.0
    if first[a] == first[a + 1]:
        if has_ranks(first):
            return _apart_by_position(a, x, y, first, share, seen)
        width = seen[a, 1] - seen[a, 0]
        return abs(x - y) / width if width > 0 else 0.0
    if x == y:
        return 0.0
    begin_, node = first[a], np.int64(x)
    while y < node or y > nodes[begin_ + node, 1]:
        node = nodes[begin_ + node, 0]
    return share[begin_ + node]


@part
def distance(x, y, first, nodes, share, seen, weights):
    """How far apart two records are, from 0 to 1."""
    total = 0.0
    for a in range(len(x)):
        total += weights[a] * apart(a, x[a], y[a], first, nodes, share, seen)
    return total


@part
def apart_from_center(a, x, y, first, nodes, share, seen):
    """How far a center and a value are apart, from 0 to 1: of numbers a center has a position."""
    if first[a] < first[a + 1] or x != x or y != y:
        return apart(a, x, y, first, nodes, share, seen)
    width = seen_width(a, first, share, seen)
    return abs(x - position(a, y, first, share, seen)) / width if width > 0 else 0.0


@part
def distance_from_center(x, y, first, nodes, share, seen, weights):
    """How far a center and a record are apart, from 0 to 1."""
    total = 0.0
    for a in range(len(x)):
        total += weights[a] * apart_from_center(a, x[a], y[a], first, nodes, share, seen)
    return total
