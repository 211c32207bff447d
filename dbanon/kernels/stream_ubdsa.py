"""UBDSA: open clusters that leave as soon as they are enough for a class and lose no more than a target."""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.stream_class import least_class, loss, loss_with, widen
from dbanon.kernels.stream_open import (
    can_be_enough,
    is_enough,
    let_go,
    loss_of_both,
    merge,
    open_cluster,
    put,
    send,
)
from dbanon.kernels.stream_window import LAST, SUPPRESSED, arrive, is_due, keep_latest, waiting


@kernel
def ubdsa_steps(
    state, most, ends, k, delta, beta, theta, store, need, arrived, values, people, sensitive, out, step, kept, born,
    lows, highs, first, nodes, share, seen, weights, used, ids, heads, sizes, c_lows, c_highs, link, slot, marks,
    values_of, clock,
):  # fmt: skip
    """Lets records arrive until all have, or about `most` clusters and records were looked at; gives how many were. A
    record leaves at once with a class of the store that loses no more than `theta`, or joins an open cluster, of which
    at most `beta` are open unless it can join none; the store are the last `store` classes.

    state: records that have arrived, oldest that may wait, classes, kept classes, clusters opened so far, open ones.
    The rest as in fads_steps and `stream_open`.
    """
    steps = np.int64(0)
    while steps < most:
        x = waiting(state, out)
        if x == state[0] or not is_due(x, delta, state, ends, arrived):
            if state[0] == len(arrived):
                break
            t = arrive(state, arrived, values, first, seen)
            steps += 1 + state[3] + state[5]
            known, lost = least_class(values[t], kept, state[3], lows, highs, first, share, seen, weights)
            if known >= 0 and lost <= theta:
                out[t], step[t] = known, state[LAST]
                continue
            c = _join(
                t, state, beta, theta, values, first, nodes, share, seen, weights, used, ids, heads, sizes, c_lows,
                c_highs, link, slot,
            )  # fmt: skip
            if sizes[c] < k or loss(c_lows[c], c_highs[c], first, share, seen, weights) > theta:
                continue
            steps += sizes[c]
            if not is_enough(c, k, need, heads, link, people, sensitive, marks, values_of, clock):
                continue
        else:
            c = slot[x]
            steps += sizes[c]
            if not is_enough(c, k, need, heads, link, people, sensitive, marks, values_of, clock):
                steps += state[3] + state[0] - x
                known, lost = least_class(values[x], kept, state[3], lows, highs, first, share, seen, weights)
                if known >= 0 or not can_be_enough(
                    k, need, used, heads, link, people, sensitive, marks, values_of, clock
                ):
                    out[x], step[x] = (known if known >= 0 else SUPPRESSED), state[LAST]
                    let_go(x, c, state, used, heads, link, slot, sizes, values, c_lows, c_highs, first, nodes)
                    continue
            while not is_enough(c, k, need, heads, link, people, sensitive, marks, values_of, clock):
                steps += state[5] + sizes[c]
                other = _cheapest(c, used, ids, sizes, c_lows, c_highs, first, nodes, share, seen, weights)
                merge(other, c, state, used, heads, link, slot, sizes, c_lows, c_highs, first, nodes)
        new = state[2]
        send(c, new, state[LAST], state, out, step, lows, highs, used, heads, link, slot, c_lows, c_highs)
        keep_latest(new, state[LAST], store, state, kept, born)
    return steps


@part
def _join(
    t, state, beta, theta, values, first, nodes, share, seen, weights, used, ids, heads, sizes, lows, highs, link, slot
):
    """The cluster of a new record: the one whose records lose least more in all (ties: the smallest, then the one that
    was opened first), unless they would lose more than theta and another may be opened."""
    chosen, least, lost = np.int64(-1), np.inf, np.inf
    for c in range(len(used)):
        if used[c]:
            with_ = loss_with(values[t], lows[c], highs[c], first, nodes, share, seen, weights)
            more = (sizes[c] + 1) * with_ - sizes[c] * loss(lows[c], highs[c], first, share, seen, weights)
            if more < least or (more == least and _is_before(c, chosen, sizes, ids)):
                chosen, least, lost = np.int64(c), more, with_
    if chosen < 0 or (lost > theta and state[5] < beta):
        chosen = open_cluster(t, state, used, ids, heads, values, lows, highs, sizes, first, nodes)
    else:
        widen(values[t], lows[chosen], highs[chosen], first, nodes)
    put(t, chosen, heads, link, slot, sizes)
    return chosen


@part
def _cheapest(c, used, ids, sizes, lows, highs, first, nodes, share, seen, weights):
    """The open cluster with which the records of both lose least more in all than alone (ties: the smallest, then the
    one that was opened first)."""
    own = sizes[c] * loss(lows[c], highs[c], first, share, seen, weights)
    best, least = np.int64(-1), np.inf
    for other in range(len(used)):
        if used[other] and other != c:
            both = loss_of_both(c, other, lows, highs, first, nodes, share, seen, weights)
            alone = sizes[other] * loss(lows[other], highs[other], first, share, seen, weights)
            more = (sizes[c] + sizes[other]) * both - own - alone
            if more < least or (more == least and _is_before(other, best, sizes, ids)):
                best, least = np.int64(other), more
    return best


@part
def _is_before(c, other, sizes, ids):
    """Whether a cluster is smaller than another one, or was opened before it and is as small."""
    return sizes[c] < sizes[other] or (sizes[c] == sizes[other] and ids[c] < ids[other])
