"""Classes that are kept for good, of which one is looked for that covers a record and loses least.

What a class loses changes only when the range of a number does: `losses` (classes,) are kept beside them, with the
number of the range at which each was found in `ranges` (classes + 1,), whose last one is that of now. The rest as in
`stream_class`.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.stream_class import covers, loss


@part
def is_beyond(value, seen, first):
    """Whether a record that arrives makes the range of a number wider."""
    for a in range(len(seen)):
        if first[a] == first[a + 1] and (value[a] < seen[a, 0] or value[a] > seen[a, 1]):
            return True
    return False


@part
def least_kept(value, kept, number, lows, highs, losses, ranges, first, share, seen, weights):
    """Of the first `number` classes in `kept` the one that covers a record and loses least (ties: the first), or -1."""
    best, least, now = np.int64(-1), np.inf, ranges[-1]
    for i in range(number):
        c = kept[i]
        if ranges[c] != now:
            losses[c], ranges[c] = loss(lows[c], highs[c], first, share, seen, weights), now
        if losses[c] < least and covers(value, lows[c], highs[c]):
            best, least = c, losses[c]
    return best
