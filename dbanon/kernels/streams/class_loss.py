"""Bounds that a class of a stream publishes on each attribute, and its loss.

A value is a number's position or the preorder number of a category's node; NaN is a NULL. A class publishes from `low`
to `high`: of a number its least and greatest position, of a category a node and the last node below it. A class of
NULLs is from inf to -inf and covers nothing else; one of NULLs and values is from -inf to inf, which is published as
`*`, and covers everything.

If positions as DOUBLE do not distinguish all numbers of an attribute, its values are ranks: `node_starts` (after its
attributes + 1 entries) has, for each attribute, the offset in `leaf_shares` of the positions by rank, -1 if values are
positions. It is an array of int32 then, and kernels are compiled a second time (see `has_ranks`). Ranks are compared,
positions are subtracted. The arrays of attributes are those of `AttributeArrays`.
"""

import numpy as np
from numba import types
from numba.extending import overload

from dbanon.kernels.jit import kernel_part
from dbanon.kernels.streams.arrays import LAST_BELOW, N_STORED, PARENT, PUBLISHED_AS


def has_ranks(node_starts):
    """Return whether values of some attribute are ranks, which is so if `node_starts` is 32 bits wide.

    The rank of a number is its place in the order of all numbers of the attribute. Whether there are ranks is known
    when a kernel is compiled, so that other kernels compute with positions without a branch.
    """
    return node_starts.dtype == np.int32


@overload(has_ranks, inline="always")
def _has_ranks(node_starts):
    """Give numba the compiled form of `has_ranks`: a function that returns a constant, by the type of `node_starts`."""
    if node_starts.dtype == types.int32:
        return lambda node_starts: True
    return lambda node_starts: False


@kernel_part
def position(a, value, attributes):
    """Return the position (a DOUBLE by which distances are measured) of a number on attribute `a`.

    That is the value itself, unless values of the attribute are ranks.

    Args:
        a: Number of the attribute.
        value: The number: a position, or a rank of values.
        attributes: `AttributeArrays`.
    """
    if has_ranks(attributes.node_starts):
        start = attributes.node_starts[len(attributes.seen_ranges) + 1 + a]
        if start >= 0:
            return attributes.leaf_shares[start + np.int64(value)]
    return value


@kernel_part
def seen_width(a, attributes):
    """Return the greatest minus the least position, on the number attribute `a`, of all records that have arrived.

    If no number has arrived, it is 0 with ranks, and -inf with positions.

    Args:
        a: Number of the attribute, which must be a number.
        attributes: `AttributeArrays`.
    """
    if has_ranks(attributes.node_starts) and attributes.seen_ranges[a, 0] > attributes.seen_ranges[a, 1]:
        return 0.0
    return position(a, attributes.seen_ranges[a, 1], attributes) - position(a, attributes.seen_ranges[a, 0], attributes)


@kernel_part
def update_seen_ranges(value, attributes):
    """Widen the seen ranges (least and greatest value so far) of number attributes by a new record's values, in place.

    NULLs (NaN) and categories are ignored.

    Args:
        value: (attributes,) float64 values of the record; NaN for NULL.
        attributes: `AttributeArrays`; seen_ranges are updated in place.
    """
    for a in range(len(attributes.seen_ranges)):
        if attributes.node_starts[a] == attributes.node_starts[a + 1] and value[a] == value[a]:
            attributes.seen_ranges[a, 0] = min(attributes.seen_ranges[a, 0], value[a])
            attributes.seen_ranges[a, 1] = max(attributes.seen_ranges[a, 1], value[a])


@kernel_part
def widened_bounds(a, low, high, value, attributes):
    """Return the bounds (low, high) on attribute `a` of a class from `low` to `high` once a value joins.

    A number has its least and greatest value as bounds, a category a node and the last node below it. NULLs alone have
    (inf, -inf). NULL and values together give (-inf, inf), which is published as `*`.

    Args:
        a: Number of the attribute.
        low, high: Bounds of the class on the attribute.
        value: The value that joins; NaN for NULL.
        attributes: `AttributeArrays`.
    """
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
    while value < node or value > attributes.nodes[begin + node, LAST_BELOW]:
        node = attributes.nodes[begin + node, PARENT]
    node = attributes.nodes[begin + node, PUBLISHED_AS]
    return float(node), float(attributes.nodes[begin + node, LAST_BELOW])


@kernel_part
def value_bounds(a, value, attributes):
    """Return the bounds (low, high) on attribute `a` of a class of one value; (inf, -inf) for a NULL (NaN).

    A category's bounds are those of the node that it is published as.

    Args:
        a: Number of the attribute.
        value: The value; NaN for NULL.
        attributes: `AttributeArrays`.
    """
    if value != value:
        return np.inf, -np.inf
    if attributes.node_starts[a] == attributes.node_starts[a + 1]:
        return value, value
    node = attributes.nodes[attributes.node_starts[a] + np.int64(value), PUBLISHED_AS]
    return float(node), float(attributes.nodes[attributes.node_starts[a] + node, LAST_BELOW])


@kernel_part
def joined_bounds(a, low, high, other_low, other_high, attributes):
    """Return the bounds (low, high) on attribute `a` of the union of two classes, given the bounds of both.

    Args:
        a: Number of the attribute.
        low, high: Bounds of a class on the attribute.
        other_low, other_high: Bounds of the other class.
        attributes: `AttributeArrays`.
    """
    if low > high and other_low > other_high:
        return low, high
    if low > high or other_low > other_high or other_low == -np.inf:
        return -np.inf, np.inf
    low, high = widened_bounds(a, low, high, other_low, attributes)
    return widened_bounds(a, low, high, other_high, attributes)


@kernel_part
def _position_distance(a, x, y, attributes):
    """Return the distance of two numbers on attribute `a`, which may be ranks, relative to the seen range.

    Args:
        a: Number of the attribute.
        x, y: The numbers, which are not NULL.
        attributes: `AttributeArrays`.
    """
    width = seen_width(a, attributes)
    return abs(position(a, x, attributes) - position(a, y, attributes)) / width if width > 0 else 0.0


@kernel_part
def attribute_loss(a, low, high, attributes):
    """Return the loss of a record on attribute `a` of a class from `low` to `high`, from 0 to 1 (CASTLE's loss).

    For a number, the width of the interval relative to the seen range; for a category, the share of leaves below the
    node. It is 0 if all values are NULL, and 1 if NULL and values are mixed.

    Args:
        a: Number of the attribute.
        low, high: Bounds of the class on the attribute.
        attributes: `AttributeArrays`.
    """
    if low > high:
        return 0.0
    if low == -np.inf:
        return 1.0
    if attributes.node_starts[a] < attributes.node_starts[a + 1]:
        return attributes.leaf_shares[attributes.node_starts[a] + np.int64(low)]
    return _position_distance(a, high, low, attributes)


@kernel_part
def begin_class(value, low, high, attributes):
    """Set the bounds `low` and `high`, in place, to those of a class of one record with these values.

    Args:
        value: (attributes,) float64 values of the record; NaN for NULL.
        low, high: (attributes,) float64 bounds of the class; updated in place.
        attributes: `AttributeArrays`.
    """
    for a in range(len(value)):
        low[a], high[a] = value_bounds(a, value[a], attributes)


@kernel_part
def widen_class(value, low, high, attributes):
    """Widen the bounds `low` and `high` of a class, in place, by a record's values.

    Args:
        value: (attributes,) float64 values of the record; NaN for NULL.
        low, high: (attributes,) float64 bounds of the class; updated in place.
        attributes: `AttributeArrays`.
    """
    for a in range(len(value)):
        low[a], high[a] = widened_bounds(a, low[a], high[a], value[a], attributes)


@kernel_part
def class_loss(low, high, attributes):
    """Return the loss of a record of a class with these bounds, weighted over attributes, from 0 to 1.

    Args:
        low, high: (attributes,) float64 bounds of the class.
        attributes: `AttributeArrays`.
    """
    total = 0.0
    for a in range(len(low)):
        total += attributes.weights[a] * attribute_loss(a, low[a], high[a], attributes)
    return total


@kernel_part
def loss_with_record(value, low, high, attributes):
    """Return the loss per record that a class would have once a record with these values joins; nothing is changed.

    Args:
        value: (attributes,) float64 values of the record; NaN for NULL.
        low, high: (attributes,) float64 bounds of the class.
        attributes: `AttributeArrays`.
    """
    total = 0.0
    for a in range(len(low)):
        new_low, new_high = widened_bounds(a, low[a], high[a], value[a], attributes)
        total += attributes.weights[a] * attribute_loss(a, new_low, new_high, attributes)
    return total


@kernel_part
def loss_growth(value, c, lows, highs, limit, attributes):
    """Return by how much the loss per record of class `c` grows if a record joins; inf if that is more than `limit`.

    Args:
        value: (attributes,) float64 values of the record; NaN for NULL.
        c: Number of the class in `lows` and `highs`.
        lows, highs: (classes, attributes) float64 bounds.
        limit: The bound above which the exact result does not matter.
        attributes: `AttributeArrays`.
    """
    total = 0.0
    for a in range(len(value)):
        low, high = lows[c, a], highs[c, a]
        if low <= value[a] <= high:
            continue
        new_low, new_high = widened_bounds(a, low, high, value[a], attributes)
        total += attributes.weights[a] * (
            attribute_loss(a, new_low, new_high, attributes) - attribute_loss(a, low, high, attributes)
        )
        if total > limit:
            return np.inf
    return total


@kernel_part
def covers(value, low, high, ignores_nulls=False):
    """Return whether the bounds of a class contain all values of a record.

    A NULL is contained by a class of NULLs and by one published as `*`.

    Args:
        value: (attributes,) float64 values of the record; NaN for NULL.
        low, high: (attributes,) float64 bounds of the class.
        ignores_nulls: Whether a NULL of the record fits every class.
    """
    for a in range(len(low)):
        if value[a] != value[a]:
            if not ignores_nulls and low[a] <= high[a] and low[a] != -np.inf:
                return False
        elif value[a] < low[a] or value[a] > high[a]:
            return False
    return True


@kernel_part
def cheapest_covering_class(value, state, classes, attributes, ignores_nulls=False):
    """Return the stored class that covers a record with the least loss (ties: the first), and that loss.

    Returns -1 and inf if none covers it.

    Args:
        value: (attributes,) float64 values of the record; NaN for NULL.
        state: Counters, of which N_STORED is read.
        classes: `ClassArrays`.
        attributes: `AttributeArrays`.
        ignores_nulls: Whether a NULL of the record fits every class.
    """
    best, lowest = np.int64(-1), np.inf
    for i in range(state[N_STORED]):
        c = classes.reusable[i]
        if covers(value, classes.lows[c], classes.highs[c], ignores_nulls):
            loss_of_class = class_loss(classes.lows[c], classes.highs[c], attributes)
            if loss_of_class < lowest:
                best, lowest = c, loss_of_class
    return best, lowest


@kernel_part
def value_distance(a, x, y, attributes):
    """Return the distance of two values on attribute `a`, from 0 to 1.

    For numbers, the difference relative to the seen range; for categories, the share of leaves below their lowest
    common ancestor. Two NULLs have the distance 0, NULL and a value 1.

    Args:
        a: Number of the attribute.
        x, y: The values; NaN for NULL.
        attributes: `AttributeArrays`.
    """
    if x != x or y != y:
        return 0.0 if x != x and y != y else 1.0
    if attributes.node_starts[a] == attributes.node_starts[a + 1]:
        return _position_distance(a, x, y, attributes)
    if x == y:
        return 0.0
    begin_, node = attributes.node_starts[a], np.int64(x)
    while y < node or y > attributes.nodes[begin_ + node, LAST_BELOW]:
        node = attributes.nodes[begin_ + node, PARENT]
    return attributes.leaf_shares[begin_ + node]


@kernel_part
def record_distance(x, y, attributes):
    """Return the weighted distance of the values of two records, from 0 to 1.

    Args:
        x, y: (attributes,) float64 values of a record; NaN for NULL.
        attributes: `AttributeArrays`.
    """
    total = 0.0
    for a in range(len(x)):
        total += attributes.weights[a] * value_distance(a, x[a], y[a], attributes)
    return total


@kernel_part
def center_value_distance(a, x, y, attributes):
    """Return the distance of a center's value `x` and a record's value `y` on attribute `a`, from 0 to 1.

    A number of the center is a position; that of the record may be a rank.

    Args:
        a: Number of the attribute.
        x: Value of the center: a position or a node; NaN for NULL.
        y: Value of the record: a position, a rank or a node; NaN for NULL.
        attributes: `AttributeArrays`.
    """
    if attributes.node_starts[a] < attributes.node_starts[a + 1] or x != x or y != y:
        return value_distance(a, x, y, attributes)
    width = seen_width(a, attributes)
    return abs(x - position(a, y, attributes)) / width if width > 0 else 0.0


@kernel_part
def center_distance(x, y, attributes):
    """Return the weighted distance of a center `x` and a record's values `y`, from 0 to 1.

    Args:
        x: (attributes,) float64 values of the center: positions and nodes; NaN for NULL.
        y: (attributes,) float64 values of the record.
        attributes: `AttributeArrays`.
    """
    total = 0.0
    for a in range(len(x)):
        total += attributes.weights[a] * center_value_distance(a, x[a], y[a], attributes)
    return total
