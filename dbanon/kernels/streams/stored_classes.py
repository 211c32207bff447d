"""Classes that are stored for good, and the search for the one that covers a record with the least loss.

The loss of a class changes only when the seen range of a number does: losses are cached with the number of the range
for which each was computed (see `ClassLosses`).
"""

import numpy as np

from dbanon.kernels.jit import kernel_part
from dbanon.kernels.streams.arrays import N_STORED
from dbanon.kernels.streams.class_loss import class_loss, covers


@kernel_part
def widens_seen_range(value, attributes):
    """Return whether a new record is outside the seen range (least to greatest so far) of any number.

    Args:
        value: (attributes,) float64 values of the record; NaN for NULL.
        attributes: `AttributeArrays`.
    """
    for a in range(len(attributes.seen_ranges)):
        if attributes.node_starts[a] == attributes.node_starts[a + 1] and (
            value[a] < attributes.seen_ranges[a, 0] or value[a] > attributes.seen_ranges[a, 1]
        ):
            return True
    return False


@kernel_part
def cheapest_stored_class(value, state, classes, losses, attributes):
    """Return the stored class that covers a record with the least loss (ties: the first), or -1.

    Losses that were computed for an earlier seen range are updated in `losses`.

    Args:
        value: (attributes,) float64 values of the record; NaN for NULL.
        state: Counters, of which N_STORED is read.
        classes: `ClassArrays`.
        losses: `ClassLosses`, whose outdated losses are updated in place.
        attributes: `AttributeArrays`.
    """
    best, lowest, range_number = np.int64(-1), np.inf, losses.ranges[-1]
    for i in range(state[N_STORED]):
        c = classes.reusable[i]
        if losses.ranges[c] != range_number:
            losses.losses[c], losses.ranges[c] = class_loss(classes.lows[c], classes.highs[c], attributes), range_number
        if losses.losses[c] < lowest and covers(value, classes.lows[c], classes.highs[c]):
            best, lowest = c, losses.losses[c]
    return best
