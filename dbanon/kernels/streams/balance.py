"""Records and the open clusters that they widen, of which one may be moved: B-CASTLE's balance."""

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.streams.class_loss import distance_from_center, growth, widen
from dbanon.kernels.streams.kmeans import middle
from dbanon.kernels.streams.open_clusters import is_before, measure, put_back, take_out


@part
def grow(value, without, alpha, state, clusters, grown, attributes):
    """By how much each open cluster of less than `alpha` records but one would lose more with a record, in `grown`
    (slots,), inf where that is more than another one would; gives the least, inf where there is no cluster."""
    least, left = np.inf, state[5]
    for c in range(len(clusters.is_open)):
        if left == 0:
            break
        left -= clusters.is_open[c]
        grown[c] = np.inf
        if clusters.is_open[c] and c != without and clusters.sizes[c] < alpha:
            grown[c] = growth(value, c, clusters.lows, clusters.highs, least, attributes)
            least = min(least, grown[c])
    return least


@part
def balance(c, state, alpha, records, attributes, clusters, scratch):
    """Moves the record of a cluster that is farthest from its center (ties: the oldest) to the other one of less than
    `alpha` records that it widens least (ties: the smallest, then the one that was opened first), where it widens that
    less than its own without it."""
    if clusters.sizes[c] < 2 or state[5] < 2:
        return
    middle(
        clusters.heads[c],
        records,
        attributes,
        scratch.center,
        clusters.next_record,
        scratch.node_counts,
        scratch.rows[0],
    )
    x, most, t = np.int64(-1), -1.0, clusters.heads[c]
    while t >= 0:
        away = distance_from_center(scratch.center, records.values[t], attributes)
        if away >= most:
            x, most = t, away
        t = clusters.next_record[t]
    least = grow(records.values[x], c, alpha, state, clusters, scratch.growths, attributes)
    if least == np.inf:
        return
    take_out(x, c, clusters)
    measure(c, clusters, records, attributes)
    to = c
    if least < growth(records.values[x], c, clusters.lows, clusters.highs, np.inf, attributes):
        to = _smallest(least, state, clusters, scratch.growths)
    put_back(x, to, clusters)
    widen(records.values[x], clusters.lows[to], clusters.highs[to], attributes)


@part
def _smallest(least, state, clusters, grown):
    """Of the open clusters that grow least the smallest, then the one that was opened first."""
    best, left = np.int64(-1), state[5]
    for c in range(len(clusters.is_open)):
        if left == 0:
            break
        left -= clusters.is_open[c]
        if clusters.is_open[c] and grown[c] == least and (best < 0 or is_before(c, best, clusters)):
            best = np.int64(c)
    return best
