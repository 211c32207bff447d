"""CASTLE and B-CASTLE: open clusters that grow by the record that widens them least, and leave when one of their
records is due."""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.stream_balance import balance, grow
from dbanon.kernels.stream_class import loss, loss_with, widen
from dbanon.kernels.stream_kept import is_beyond, least_kept
from dbanon.kernels.stream_open import (
    can_be_enough,
    close_cluster,
    count,
    is_enough,
    let_go,
    loss_of_both,
    merge,
    open_cluster,
    put,
)
from dbanon.kernels.stream_split import PIECE, listed, split
from dbanon.kernels.stream_window import LAST, SUPPRESSED, arrive, keep_class, waiting


@kernel
def castle_steps(
    state, most, ends, k, delta, beta, alpha, balances, need, arrived, values, people, sensitive, out, step, kept, born,
    lows, highs, recent, first, nodes, share, seen, weights, used, ids, heads, sizes, c_lows, c_highs, link, slot,
    grown, marks, values_of, clock, rows, away, table, center, counts,
    losses, ranges,
):  # fmt: skip
    """Lets records arrive until all have, or about `most` clusters and records were looked at; gives how many were.

    state: records that have arrived, oldest that may wait, classes, kept classes, clusters opened so far, open ones,
    losses in `recent`, next place in it. `recent` (mu,): what the last classes lose, whose mean a good cluster does not
    exceed. `beta`: most open clusters, beyond which none is opened; `alpha`: a cluster of so many records takes no
    other. Where it `balances`, it is B-CASTLE: records are moved to other clusters, and what leaves is not split.
    center (attributes,) and counts (nodes,), which are 0: scratch. The rest as in fads_steps, `stream_open`,
    `stream_split` and `stream_kept`.
    """
    steps = np.int64(0)
    while steps < most:
        x = waiting(state, out)
        late = (ends and state[0] == len(arrived)) or (x < state[0] and state[LAST] - arrived[x] >= delta)
        if x == state[0] or not late:
            if state[0] == len(arrived):
                break
            ranges[-1] += is_beyond(values[state[0]], seen, first)
            t = arrive(state, arrived, values, first, seen)
            steps += 1 + state[5]
            c = _select(
                t, state, beta, alpha, values, recent, first, nodes, share, seen, weights, used, ids, heads, sizes,
                c_lows, c_highs, link, slot, grown,
            )  # fmt: skip
            if balances:
                steps += state[5] + sizes[c]
                balance(
                    c, state, alpha, values, first, nodes, share, seen, weights, used, ids, heads, sizes, c_lows,
                    c_highs, link, slot, grown, center, counts, rows,
                )  # fmt: skip
            continue
        now = state[LAST]
        c = slot[x]
        steps += state[5] + sizes[c]
        if not is_enough(c, k, need, heads, link, people, sensitive, marks, values_of, clock):
            steps += state[3]
            known = least_kept(
                values[x], kept, state[3], lows, highs, losses, ranges, first, share, seen, weights
            )  # fmt: skip
            if (
                known >= 0
                or _is_outlier(c, state, used, sizes)
                or not can_be_enough(k, need, used, heads, link, people, sensitive, marks, values_of, clock)
            ):
                out[x], step[x] = (known if known >= 0 else SUPPRESSED), now
                let_go(x, c, state, used, heads, link, slot, sizes, values, c_lows, c_highs, first, nodes)
                continue
            while not is_enough(c, k, need, heads, link, people, sensitive, marks, values_of, clock):
                other = _nearest_cluster(
                    c, k, balances, used, ids, sizes, c_lows, c_highs, first, nodes, share, seen, weights
                )  # fmt: skip
                steps += state[5]
                merge(other, c, state, used, heads, link, slot, sizes, c_lows, c_highs, first, nodes)
        steps += _output(
            c, now, not balances, state, k, need, values, people, sensitive, out, step, kept, born, lows, highs, recent,
            first, nodes, share, seen, weights, c_lows, c_highs, heads, link, marks, values_of, clock, rows, away,
            table,
        )  # fmt: skip
        close_cluster(c, state, used)
    return steps


@part
def mean_of(state, recent):
    """The mean loss of the last classes; 0 before the first."""
    number = min(state[6], len(recent))
    total = 0.0
    for i in range(number):
        total += recent[i]
    return total / number if number > 0 else 0.0


@part
def remember(lost, state, recent):
    """A class has left that loses so much."""
    recent[state[7]] = lost
    state[7] = (state[7] + 1) % len(recent)
    state[6] = min(state[6] + 1, len(recent))


@part
def _select(
    t, state, beta, alpha, values, recent, first, nodes, share, seen, weights, used, ids, heads, sizes, lows, highs,
    link, slot, grown,
):  # fmt: skip
    """Puts a new record into a cluster and gives it: of those that it widens least, the smallest that stays good (ties:
    the one that was opened first); else a new one; else, where there are `beta`, the smallest. Clusters of `alpha`
    records are left out of all this."""
    limit = mean_of(state, recent)
    least = grow(
        values[t], np.int64(-1), alpha, state, used, sizes, lows, highs, grown, first, nodes, share, seen, weights
    )
    chosen, good, left, free = np.int64(-1), False, state[5], np.int64(0)
    for c in range(len(used)):
        if left == 0:
            break
        left -= used[c]
        free += used[c] and sizes[c] < alpha
        if used[c] and grown[c] == least and least < np.inf:
            own = loss_with(values[t], lows[c], highs[c], first, nodes, share, seen, weights) <= limit
            if chosen < 0 or (own and not good):
                chosen, good = np.int64(c), own
            elif own == good and (sizes[c] < sizes[chosen] or (sizes[c] == sizes[chosen] and ids[c] < ids[chosen])):
                chosen = np.int64(c)
    if chosen < 0 or (not good and free < beta):
        chosen = open_cluster(t, state, used, ids, heads, values, lows, highs, sizes, first, nodes)
    else:
        widen(values[t], lows[chosen], highs[chosen], first, nodes)
    put(t, chosen, heads, link, slot, sizes)
    return chosen


@part
def _is_outlier(c, state, used, sizes):
    """Whether more than half of the open clusters are larger."""
    larger = np.int64(0)
    for other in range(len(used)):
        larger += used[other] and sizes[other] > sizes[c]
    return 2 * larger > state[5]


@part
def _nearest_cluster(c, k, balances, used, ids, sizes, lows, highs, first, nodes, share, seen, weights):
    """The open cluster that widens a cluster least (ties: the one that was opened first); where it `balances`, also as
    near to k records together as can be."""
    own = loss(lows[c], highs[c], first, share, seen, weights)
    best, least = np.int64(-1), np.inf
    for other in range(len(used)):
        if used[other] and other != c:
            more = loss_of_both(c, other, lows, highs, first, nodes, share, seen, weights) - own
            if balances:
                more += abs(sizes[c] + sizes[other] - k) / k
            if more < least or (more == least and ids[other] < ids[best]):
                best, least = np.int64(other), more
    return best


@part
def _output(
    c, now, splits, state, k, need, values, people, sensitive, out, step, kept, born, lows, highs, recent, first, nodes,
    share, seen, weights, c_lows, c_highs, heads, link, marks, values_of, clock, rows, away, table,
):  # fmt: skip
    """A cluster leaves, where it `splits` as several classes if it has twice as many persons as a class needs; gives
    how many records were looked at. A class is kept to be published again where it loses less than the last ones on
    average."""
    size, base, pieces = listed(c, heads, link, rows), state[2], np.int64(0)
    clock[0] += 1
    if splits and count(c, 2 * k, heads, link, people, marks, clock[0]) >= 2 * k:
        pieces = split(
            size, base, k, need, values, people, sensitive, lows, highs, first, nodes, share, seen, weights, marks,
            values_of, clock, rows, away, table,
        )  # fmt: skip
    looked = size * (pieces + 1)
    if pieces == 0:
        pieces += 1
        for a in range(len(weights)):
            lows[base, a], highs[base, a] = c_lows[c, a], c_highs[c, a]
        for j in range(size):
            rows[PIECE, rows[0, j]] = 0
    for j in range(size):
        t = rows[0, j]
        out[t], step[t] = base + rows[PIECE, t], now
    for _ in range(pieces):
        new, begun = state[2], state[6] > 0
        own = loss(lows[new], highs[new], first, share, seen, weights)
        remember(own, state, recent)
        if not begun or own < mean_of(state, recent):
            keep_class(new, now, state, kept, born)
        else:
            state[2] += 1
    return looked
