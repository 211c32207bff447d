"""Classes that are kept for good, of which one is looked for that covers a record and loses least.

What a class loses changes only when the range of a number does: the losses are kept with the number of the range at
which each was found (see `ClassLosses`).
"""

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.streams.class_loss import covers, loss


@part
def is_beyond(value, attributes):
    """Return whether a record that arrives makes the range of a number wider."""
    for a in range(len(attributes.seen_ranges)):
        if attributes.node_starts[a] == attributes.node_starts[a + 1] and (
            value[a] < attributes.seen_ranges[a, 0] or value[a] > attributes.seen_ranges[a, 1]
        ):
            return True
    return False


@part
def least_kept(value, classes, number, losses, attributes):
    """Of the first `number` classes in `kept` the one that covers a record and loses least (ties: the first), or -1."""
    best, least, now = np.int64(-1), np.inf, losses.ranges[-1]
    for i in range(number):
        c = classes.reusable[i]
        if losses.ranges[c] != now:
            losses.losses[c], losses.ranges[c] = loss(classes.lows[c], classes.highs[c], attributes), now
        if losses.losses[c] < least and covers(value, classes.lows[c], classes.highs[c]):
            best, least = c, losses.losses[c]
    return best
