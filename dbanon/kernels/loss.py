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

from dbanon.kernels.jit import part


@part
def lost(a, low, high, measure):
    """What a record loses on attribute `a` in a class of the codes low to high."""
    if measure.terms[a, 0] == 1:
        return measure.data[measure.terms[a, 4] + low * (measure.terms[a, 1] + 1) + high]
    if high == measure.terms[a, 1]:
        return measure.terms[a, 3] if low == high else measure.terms[a, 2]
    if measure.terms[a, 0] == 0:
        return measure.data[measure.terms[a, 5] + high] - measure.data[measure.terms[a, 4] + low]
    nodes, node = measure.terms[a, 5], measure.data[measure.terms[a, 4] + low]
    while high >= measure.data[nodes + 4 * node + 2]:
        node = measure.data[nodes + 4 * node]
    return measure.data[nodes + 4 * node + 3]


@part
def begin(item, measure, span):
    """Make a class of one item; return its loss."""
    total = np.int64(0)
    for a in range(len(span)):
        code = np.int64(measure.codes[item, a])
        own = lost(a, code, code, measure)
        span[a, 0], span[a, 1], span[a, 2], span[a, 3] = code, code, own, 0
        if measure.terms[a, 0] == 2 and code < measure.terms[a, 1]:
            node = measure.data[measure.terms[a, 4] + code]
            span[a, 1], span[a, 3] = measure.data[measure.terms[a, 5] + 4 * node + 2] - 1, node
        total += own
    return total


@part
def widen(loss, item, measure, span):
    """Let an item into a class; return the loss, which was `loss` before."""
    for a in range(len(span)):
        code = np.int64(measure.codes[item, a])
        if span[a, 0] <= code <= span[a, 1]:
            continue
        before = span[a, 2]
        if measure.terms[a, 0] > 0 and before == measure.terms[a, 2]:
            continue  # of a hierarchy all is lost
        if measure.terms[a, 0] == 2 and code < measure.terms[a, 1] and span[a, 1] < measure.terms[a, 1]:
            nodes, node = measure.terms[a, 5], span[a, 3]
            while code < measure.data[nodes + 4 * node + 1] or code >= measure.data[nodes + 4 * node + 2]:
                node = measure.data[nodes + 4 * node]
            span[a, 0], span[a, 1] = measure.data[nodes + 4 * node + 1], measure.data[nodes + 4 * node + 2] - 1
            span[a, 2], span[a, 3] = measure.data[nodes + 4 * node + 3], node
        else:
            span[a, 0], span[a, 1] = min(code, span[a, 0]), max(code, span[a, 1])
            span[a, 2] = lost(a, span[a, 0], span[a, 1], measure)
        loss += span[a, 2] - before
    return loss


@part
def join(kept, at, other, span, measure):
    """Make in `span` the class of the items of two classes, of which one is kept from row `at` on; return its loss."""
    total = np.int64(0)
    for a in range(len(span)):
        low, high = min(kept[at + a, 0], other[a, 0]), max(kept[at + a, 1], other[a, 1])
        node = kept[at + a, 3]
        if measure.terms[a, 0] == 2 and high < measure.terms[a, 1]:
            nodes = measure.terms[a, 5]
            while low < measure.data[nodes + 4 * node + 1] or high >= measure.data[nodes + 4 * node + 2]:
                node = measure.data[nodes + 4 * node]
            low, high = measure.data[nodes + 4 * node + 1], measure.data[nodes + 4 * node + 2] - 1
            loss = measure.data[nodes + 4 * node + 3]
        else:
            loss = lost(a, low, high, measure)
        span[a, 0], span[a, 1], span[a, 2], span[a, 3] = low, high, loss, node
        total += loss
    return total
