"""What a class of a stream publishes on each attribute, and what it loses there.

A value is a number's position or the preorder number of a category's node; NaN is a NULL. A class publishes from `low`
to `high`: of a number its least and greatest position, of a category a node and the last node below it. A class of
NULLs is from inf to -inf and covers nothing else; one of NULLs and values is from -inf to inf, which is published as
`*`, and covers all.

Where positions as DOUBLE do not distinguish all numbers of an attribute, their values are ranks: `node_starts` (after
its attributes + 1 items) says for each attribute from where on `leaf_shares` has the positions by rank, -1 where values
are positions. It is an array of int32 then, and kernels are compiled a second time (see `has_ranks`). Ranks are
compared, positions are subtracted. The arrays of attributes are those of `AttributeArrays`.
"""

import numpy as np
from numba import types
from numba.extending import overload

from dbanon.kernels.jit import part


def has_ranks(node_starts):
    """Whether values of some attribute are ranks, which the type of `node_starts` says: then it has items of 32 bits.

    This is known when a kernel is compiled, so that others compute with positions without a branch.
    """
    return node_starts.dtype == np.int32


@overload(has_ranks, inline="always")
def _has_ranks(node_starts):
    if node_starts.dtype == types.int32:
        return lambda node_starts: True
    return lambda node_starts: False


@part
def position(a, value, attributes):
    """Return the position of a number."""
    if has_ranks(attributes.node_starts):
        start = attributes.node_starts[len(attributes.seen_ranges) + 1 + a]
        if start >= 0:
            return attributes.leaf_shares[start + np.int64(value)]
    return value


@part
def seen_width(a, attributes):
    """How far the least and the greatest number of all that has arrived are apart."""
    if has_ranks(attributes.node_starts) and attributes.seen_ranges[a, 0] > attributes.seen_ranges[a, 1]:
        return 0.0
    return position(a, attributes.seen_ranges[a, 1], attributes) - position(a, attributes.seen_ranges[a, 0], attributes)


@part
def see(value, attributes):
    """A record has arrived."""
    for a in range(len(attributes.seen_ranges)):
        if attributes.node_starts[a] == attributes.node_starts[a + 1] and value[a] == value[a]:
            attributes.seen_ranges[a, 0] = min(attributes.seen_ranges[a, 0], value[a])
            attributes.seen_ranges[a, 1] = max(attributes.seen_ranges[a, 1], value[a])


@part
def reach(a, low, high, value, attributes):
    """What a class from low to high publishes of attribute `a` once a value has joined."""
    if value != value:
        return (low, high) if low > high else (-np.inf, np.inf)
    if low > high:
        return -np.inf, np.inf
    if low <= value <= high:
        return low, high
    if attributes.node_starts[a] == attributes.node_starts[a + 1]:
        return min(low, value), max(high, value)
    begin = attributes.node_starts[a]
    node = np.int64(low)
    while value < node or value > attributes.nodes[begin + node, 1]:
        node = attributes.nodes[begin + node, 0]
    node = attributes.nodes[begin + node, 2]
    return float(node), float(attributes.nodes[begin + node, 1])


@part
def alone(a, value, attributes):
    """What a class of one value publishes."""
    if value != value:
        return np.inf, -np.inf
    if attributes.node_starts[a] == attributes.node_starts[a + 1]:
        return value, value
    node = attributes.nodes[attributes.node_starts[a] + np.int64(value), 2]
    return float(node), float(attributes.nodes[attributes.node_starts[a] + node, 1])


@part
def joined(a, low, high, other_low, other_high, attributes):
    """What two classes publish together."""
    if low > high and other_low > other_high:
        return low, high
    if low > high or other_low > other_high or other_low == -np.inf:
        return -np.inf, np.inf
    low, high = reach(a, low, high, other_low, attributes)
    return reach(a, low, high, other_high, attributes)


@part
def _lost_by_position(a, low, high, attributes):
    """What a record loses on a number whose values may be ranks."""
    width = seen_width(a, attributes)
    if width > 0:
        return (position(a, high, attributes) - position(a, low, attributes)) / width
    return 0.0


@part
def lost(a, low, high, attributes):
    """What a record loses on attribute `a` (CASTLE's loss): the width of an interval over that of all that has been
    seen, and the share of leaves below a node."""
    if low > high:
        return 0.0
    if low == -np.inf:
        return 1.0
    if attributes.node_starts[a] < attributes.node_starts[a + 1]:
        return attributes.leaf_shares[attributes.node_starts[a] + np.int64(low)]
    if has_ranks(attributes.node_starts):
        return _lost_by_position(a, low, high, attributes)
    width = attributes.seen_ranges[a, 1] - attributes.seen_ranges[a, 0]
    return (high - low) / width if width > 0 else 0.0


@part
def begin(value, low, high, attributes):
    """Make a class of one record."""
    for a in range(len(value)):
        low[a], high[a] = alone(a, value[a], attributes)


@part
def widen(value, low, high, attributes):
    """Let a record into a class."""
    for a in range(len(value)):
        low[a], high[a] = reach(a, low[a], high[a], value[a], attributes)


@part
def loss(low, high, attributes):
    """What a record of a class loses, from 0 to 1."""
    total = 0.0
    for a in range(len(low)):
        total += attributes.weights[a] * lost(a, low[a], high[a], attributes)
    return total


@part
def loss_with(value, low, high, attributes):
    """What a record of a class would lose once another had joined."""
    total = 0.0
    for a in range(len(low)):
        from_, to = reach(a, low[a], high[a], value[a], attributes)
        total += attributes.weights[a] * lost(a, from_, to, attributes)
    return total


@part
def growth(value, c, lows, highs, most, attributes):
    """By how much the loss of class `c` grows once a record has joined; inf where that is more than `most`."""
    total = 0.0
    for a in range(len(value)):
        low, high = lows[c, a], highs[c, a]
        if low <= value[a] <= high:
            continue
        from_, to = reach(a, low, high, value[a], attributes)
        total += attributes.weights[a] * (lost(a, from_, to, attributes) - lost(a, low, high, attributes))
        if total > most:
            return np.inf
    return total


@part
def covers(value, low, high):
    """Return whether what a class publishes stands for a record."""
    for a in range(len(low)):
        if value[a] != value[a]:
            if low[a] <= high[a] and low[a] != -np.inf:
                return False
        elif value[a] < low[a] or value[a] > high[a]:
            return False
    return True


@part
def least_class(value, classes, number, attributes):
    """Of the first `number` classes in `kept` the one that covers a record and loses least (ties: the first), and what
    it loses; -1 and inf where there is none."""
    best, least = np.int64(-1), np.inf
    for i in range(number):
        c = classes.reusable[i]
        if covers(value, classes.lows[c], classes.highs[c]):
            own = loss(classes.lows[c], classes.highs[c], attributes)
            if own < least:
                best, least = c, own
    return best, least


@part
def _apart_by_position(a, x, y, attributes):
    """How far apart two numbers are whose values may be ranks."""
    width = seen_width(a, attributes)
    if width > 0:
        return abs(position(a, x, attributes) - position(a, y, attributes)) / width
    return 0.0


@part
def apart(a, x, y, attributes):
    """How far apart two values are, from 0 to 1: the share of all that has been seen that lies between them, or of the
    leaves below their lowest common ancestor."""
    if x != x or y != y:
        return 0.0 if x != x and y != y else 1.0
    if attributes.node_starts[a] == attributes.node_starts[a + 1]:
        if has_ranks(attributes.node_starts):
            return _apart_by_position(a, x, y, attributes)
        width = attributes.seen_ranges[a, 1] - attributes.seen_ranges[a, 0]
        return abs(x - y) / width if width > 0 else 0.0
    if x == y:
        return 0.0
    begin_, node = attributes.node_starts[a], np.int64(x)
    while y < node or y > attributes.nodes[begin_ + node, 1]:
        node = attributes.nodes[begin_ + node, 0]
    return attributes.leaf_shares[begin_ + node]


@part
def distance(x, y, attributes):
    """How far apart two records are, from 0 to 1."""
    total = 0.0
    for a in range(len(x)):
        total += attributes.weights[a] * apart(a, x[a], y[a], attributes)
    return total


@part
def apart_from_center(a, x, y, attributes):
    """How far a center and a value are apart, from 0 to 1: of numbers a center has a position."""
    if attributes.node_starts[a] < attributes.node_starts[a + 1] or x != x or y != y:
        return apart(a, x, y, attributes)
    width = seen_width(a, attributes)
    return abs(x - position(a, y, attributes)) / width if width > 0 else 0.0


@part
def distance_from_center(x, y, attributes):
    """How far a center and a record are apart, from 0 to 1."""
    total = 0.0
    for a in range(len(x)):
        total += attributes.weights[a] * apart_from_center(a, x[a], y[a], attributes)
    return total
