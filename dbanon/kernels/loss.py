"""The loss of a class on one attribute, from its least and greatest code.

`terms` (attributes, 6) says of each attribute: kind; number of values, which is the code of NULL; all that can be lost;
what NULL alone loses; and where in `data` its arrays begin. Kind 0 is a number: places of its published lower ends and
upper ends by code. Kind 1 has a loss for every pair of codes, NULL among them. Kind 2 is a hierarchy that is climbed:
node by code; and for each node its parent, the first code below it, the code after the last one, and its height.

`span` (attributes, 4) is a class that grows: its least and greatest code on each attribute, what it loses there, and
its node in a hierarchy that is climbed. There codes below the node stand for the least and greatest: what they span
loses nothing more.
"""

import numpy as np

from dbanon.kernels.jit import kernel_part


@kernel_part
def attribute_loss(a, low, high, measure):
    """Return the loss of a record on attribute `a` in a class with codes from `low` to `high` (NULL is the last code).

    Args:
        a: Number of the attribute.
        low, high: Least and greatest code; the code after the last value is NULL.
        measure: `LossArrays`.
    """
    if measure.terms[a, 0] == 1:
        return measure.packed[measure.terms[a, 4] + low * (measure.terms[a, 1] + 1) + high]
    if high == measure.terms[a, 1]:
        return measure.terms[a, 3] if low == high else measure.terms[a, 2]
    if measure.terms[a, 0] == 0:
        return measure.packed[measure.terms[a, 5] + high] - measure.packed[measure.terms[a, 4] + low]
    nodes, node = measure.terms[a, 5], measure.packed[measure.terms[a, 4] + low]
    while high >= measure.packed[nodes + 4 * node + 2]:
        node = measure.packed[nodes + 4 * node]
    return measure.packed[nodes + 4 * node + 3]


@kernel_part
def begin_class(tuple_id, measure, span):
    """Set `span` to the class of one tuple, in place; return its loss per record.

    `span` has for each attribute the least and the greatest code, the loss of a record on the attribute, and the node
    of a hierarchy with many values, whose codes are then all those below the node.

    Args:
        tuple_id: Number of the tuple.
        measure: `LossArrays`.
        span: Output: (attributes, 4).
    """
    total = np.int64(0)
    for a in range(len(span)):
        code = np.int64(measure.codes[tuple_id, a])
        code_loss = attribute_loss(a, code, code, measure)
        span[a, 0], span[a, 1], span[a, 2], span[a, 3] = code, code, code_loss, 0
        if measure.terms[a, 0] == 2 and code < measure.terms[a, 1]:
            node = measure.packed[measure.terms[a, 4] + code]
            span[a, 1], span[a, 3] = measure.packed[measure.terms[a, 5] + 4 * node + 2] - 1, node
        total += code_loss
    return total


@kernel_part
def widen_class(loss, tuple_id, measure, span):
    """Widen the class `span` by a tuple, in place; return its new loss per record, given the old one (`loss`).

    Args:
        loss: Loss per record of the class before.
        tuple_id: Number of the tuple.
        measure: `LossArrays`.
        span: (attributes, 4) the class: least and greatest code, loss per record, and node of a hierarchy; updated in
            place.
    """
    for a in range(len(span)):
        code = np.int64(measure.codes[tuple_id, a])
        if span[a, 0] <= code <= span[a, 1]:
            continue
        old_loss = span[a, 2]
        if measure.terms[a, 0] > 0 and old_loss == measure.terms[a, 2]:
            continue  # of a hierarchy all is lost
        if measure.terms[a, 0] == 2 and code < measure.terms[a, 1] and span[a, 1] < measure.terms[a, 1]:
            nodes, node = measure.terms[a, 5], span[a, 3]
            while code < measure.packed[nodes + 4 * node + 1] or code >= measure.packed[nodes + 4 * node + 2]:
                node = measure.packed[nodes + 4 * node]
            span[a, 0], span[a, 1] = measure.packed[nodes + 4 * node + 1], measure.packed[nodes + 4 * node + 2] - 1
            span[a, 2], span[a, 3] = measure.packed[nodes + 4 * node + 3], node
        else:
            span[a, 0], span[a, 1] = min(code, span[a, 0]), max(code, span[a, 1])
            span[a, 2] = attribute_loss(a, span[a, 0], span[a, 1], measure)
        loss += span[a, 2] - old_loss
    return loss


@kernel_part
def join_classes(stored, first_row, other, span, measure):
    """Set `span` to the union of two classes; return its loss per record.

    One class is in the rows of `stored` from `first_row` on, the other is `other`; both are not changed.

    Args:
        stored: Rows (least code, greatest code, loss, node) of several classes, one per attribute.
        first_row: Where the first class begins in `stored`.
        other: (attributes, 4) the other class.
        span: Output: (attributes, 4); may not be one of the inputs.
        measure: `LossArrays`.
    """
    total = np.int64(0)
    for a in range(len(span)):
        low, high = min(stored[first_row + a, 0], other[a, 0]), max(stored[first_row + a, 1], other[a, 1])
        node = stored[first_row + a, 3]
        if measure.terms[a, 0] == 2 and high < measure.terms[a, 1]:
            nodes = measure.terms[a, 5]
            while low < measure.packed[nodes + 4 * node + 1] or high >= measure.packed[nodes + 4 * node + 2]:
                node = measure.packed[nodes + 4 * node]
            low, high = measure.packed[nodes + 4 * node + 1], measure.packed[nodes + 4 * node + 2] - 1
            loss = measure.packed[nodes + 4 * node + 3]
        else:
            loss = attribute_loss(a, low, high, measure)
        span[a, 0], span[a, 1], span[a, 2], span[a, 3] = low, high, loss, node
        total += loss
    return total


@kernel_part
def pair_loss(one, other, measure, with_equal):
    """Return the distance of two tuples: their loss per record in one class.

    Args:
        one, other: Numbers of the tuples.
        measure: `LossArrays`.
        with_equal: Whether attributes on which the tuples are equal count; a record may lose something there, too.
    """
    total = np.int64(0)
    for a in range(measure.codes.shape[1]):
        x, y = np.int64(measure.codes[one, a]), np.int64(measure.codes[other, a])
        if with_equal or x != y:
            total += attribute_loss(a, min(x, y), max(x, y), measure)
    return total
