"""Records and the open clusters that they widen, of which one may be moved: B-CASTLE's balance.

The rest as in `stream_open` and `stream_class`.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.stream_class import distance_from_center, growth, widen
from dbanon.kernels.stream_means import middle
from dbanon.kernels.stream_open import measure, put_back, take_out


@part
def grow(value, without, alpha, state, used, sizes, lows, highs, grown, first, nodes, share, seen, weights):
    """By how much each open cluster of less than `alpha` records but one would lose more with a record, in `grown`
    (slots,), inf where that is more than another one would; gives the least, inf where there is no cluster."""
    least, left = np.inf, state[5]
    for c in range(len(used)):
        if left == 0:
            break
        left -= used[c]
        grown[c] = np.inf
        if used[c] and c != without and sizes[c] < alpha:
            grown[c] = growth(value, c, lows, highs, least, first, nodes, share, seen, weights)
            least = min(least, grown[c])
    return least


@part
def balance(
    c, state, alpha, values, first, nodes, share, seen, weights, used, ids, heads, sizes, lows, highs, link, slot,
    grown, center, counts, rows,
):  # fmt: skip
    """Moves the record of a cluster that is farthest from its center (ties: the oldest) to the other one of less than
    `alpha` records that it widens least (ties: the smallest, then the one that was opened first), where it widens that
    less than its own without it."""
    if sizes[c] < 2 or state[5] < 2:
        return
    middle(heads[c], values, first, nodes, share, seen, center, link, counts, rows[0])
    x, most, t = np.int64(-1), -1.0, heads[c]
    while t >= 0:
        away = distance_from_center(center, values[t], first, nodes, share, seen, weights)
        if away >= most:
            x, most = t, away
        t = link[t]
    least = grow(values[x], c, alpha, state, used, sizes, lows, highs, grown, first, nodes, share, seen, weights)
    if least == np.inf:
        return
    take_out(x, c, heads, link, slot, sizes)
    measure(c, heads, link, values, lows, highs, first, nodes)
    to = c
    if least < growth(values[x], c, lows, highs, np.inf, first, nodes, share, seen, weights):
        to = _smallest(least, state, used, ids, sizes, grown)
    put_back(x, to, heads, link, slot, sizes)
    widen(values[x], lows[to], highs[to], first, nodes)


@part
def _smallest(least, state, used, ids, sizes, grown):
    """Of the open clusters that grow least the smallest, then the one that was opened first."""
    best, left = np.int64(-1), state[5]
    for c in range(len(used)):
        if left == 0:
            break
        left -= used[c]
        if used[c] and grown[c] == least:
            if best < 0 or sizes[c] < sizes[best] or (sizes[c] == sizes[best] and ids[c] < ids[best]):
                best = np.int64(c)
    return best
