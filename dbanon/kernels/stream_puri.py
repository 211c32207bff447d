"""Groups of sensitive values of different kinds, whose sets of values are not those of the last groups.

`kinds` (records, columns) are codes of what sensitive values are of, -1 for NULL, which is of none; `sets` (groups,)
are hashes of the sets of sensitive values of the last groups that left.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.stream_class import least_class, loss, loss_with, widen
from dbanon.kernels.stream_open import is_enough, let_go, open_cluster, put, send
from dbanon.kernels.stream_window import LAST, SUPPRESSED, arrive, forget, group, is_due, keep_class, span, waiting


@kernel
def puri_steps(
    state, most, ends, k, delta, beta, life, need, arrived, values, people, sensitive, kinds, out, step, kept, born,
    lows, highs, first, nodes, share, seen, weights, used, ids, heads, sizes, c_lows, c_highs, link, slot, marks,
    kinds_of, values_of, clock, sets, table, found, far,
):  # fmt: skip
    """Lets records arrive until all have, or about `most` records were looked at; gives how many were. A record joins
    the open group that loses least with it, of those that have fewer than two of its kinds, or a new one, if it widens
    that and fewer than `beta` are open. A group leaves once it is enough for a class and has another set of values than
    the last ones; what is due leaves as in fads_steps.

    state: records that have arrived, oldest that may wait, classes, kept classes, groups opened so far, open ones, and
    of `sets` how many are known and the next place. kinds_of and values_of (columns, codes): scratch, as in
    `stream_open`.
    """
    steps = np.int64(0)
    while steps < most:
        x = waiting(state, out)
        if x == state[0] or not is_due(x, delta, state, ends, arrived):
            if state[0] == len(arrived):
                break
            t = arrive(state, arrived, values, first, seen)
            steps += 1 + t - x
            c = _join(
                t, state, beta, values, kinds, first, nodes, share, seen, weights, used, ids, heads, sizes, c_lows,
                c_highs, link, slot,
            )  # fmt: skip
            if sizes[c] < k or not is_enough(c, k, need, heads, link, people, kinds, marks, kinds_of, clock):
                continue
            own = _set_of(c, heads, link, sensitive, values_of, clock)
            if _is_recent(own, state, sets):
                continue
        else:
            steps += state[0] - x
            c, now = slot[x], state[LAST]
            forget(state, now - life, kept, born)
            if not is_enough(c, k, need, heads, link, people, kinds, marks, kinds_of, clock):
                known, lost = least_class(values[x], kept, state[3], lows, highs, first, share, seen, weights)
                number = group(
                    x, x, state[0], k, need, values, people, kinds, out, first, nodes, share, seen, weights, table,
                    found, far,
                )  # fmt: skip
                if number >= 0:
                    new = state[2]
                    span(x, number, found, values, lows[new], highs[new], first, nodes)
                    if known >= 0 and lost < loss(lows[new], highs[new], first, share, seen, weights):
                        number = np.int64(-1)
                let_go(x, c, state, used, heads, link, slot, sizes, values, c_lows, c_highs, first, nodes)
                if number < 0:
                    out[x], step[x] = (known if known >= 0 else SUPPRESSED), now
                    continue
                for j in range(number):
                    t = found[j]
                    let_go(t, slot[t], state, used, heads, link, slot, sizes, values, c_lows, c_highs, first, nodes)
                c = open_cluster(x, state, used, ids, heads, values, c_lows, c_highs, sizes, first, nodes)
                put(x, c, heads, link, slot, sizes)
                for j in range(number):
                    widen(values[found[j]], c_lows[c], c_highs[c], first, nodes)
                    put(found[j], c, heads, link, slot, sizes)
            own = _set_of(c, heads, link, sensitive, values_of, clock)
        new = state[2]
        forget(state, state[LAST] - life, kept, born)
        send(c, new, state[LAST], state, out, step, lows, highs, used, heads, link, slot, c_lows, c_highs)
        keep_class(new, state[LAST], state, kept, born)
        if len(sets) > 0:
            sets[state[7]] = own
            state[6], state[7] = min(state[6] + 1, len(sets)), (state[7] + 1) % len(sets)
    return steps


@part
def _join(
    t, state, beta, values, kinds, first, nodes, share, seen, weights, used, ids, heads, sizes, lows, highs, link, slot
):  # fmt: skip
    """The open group of a new record: of those that have fewer than two of its kinds the one that loses least with it
    (ties: the smallest, then the one that was opened first); a new one where it widens that and fewer than `beta` are
    open, or where there is none."""
    chosen, least = np.int64(-1), np.inf
    for c in range(len(used)):
        if not used[c]:
            continue
        more = loss_with(values[t], lows[c], highs[c], first, nodes, share, seen, weights)
        if more < least or (
            more == least
            and chosen >= 0
            and (sizes[c] < sizes[chosen] or (sizes[c] == sizes[chosen] and ids[c] < ids[chosen]))
        ):
            if _takes(c, t, kinds, heads, link):
                chosen, least = np.int64(c), more
    if chosen < 0 or (state[5] < beta and least > loss(lows[chosen], highs[chosen], first, share, seen, weights)):
        chosen = open_cluster(t, state, used, ids, heads, values, lows, highs, sizes, first, nodes)
    else:
        widen(values[t], lows[chosen], highs[chosen], first, nodes)
    put(t, chosen, heads, link, slot, sizes)
    return chosen


@part
def _takes(c, t, kinds, heads, link):
    """Whether a group has fewer than two records of each kind of a record."""
    for s in range(kinds.shape[1]):
        number, i = np.int64(0), heads[c]
        while i >= 0 and kinds[t, s] >= 0:
            number += kinds[i, s] == kinds[t, s]
            i = link[i]
        if number > 1:
            return False
    return True


@part
def _set_of(c, heads, link, sensitive, values_of, clock):
    """A hash of the sets of values that a group has, in whatever order."""
    clock[0] += 1
    total, i = np.uint64(0), heads[c]
    while i >= 0:
        for s in range(sensitive.shape[1]):
            code = sensitive[i, s]
            if code >= 0 and values_of[s, code] != clock[0]:
                values_of[s, code] = clock[0]
                total += _mixed(np.uint64(code) + np.uint64(s + 1) * np.uint64(0x9E3779B97F4A7C15))
        i = link[i]
    return total


@part
def _mixed(z):
    """The finalizer of SplitMix64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@part
def _is_recent(own, state, sets):
    """Whether one of the last groups had the same values; groups without values have none."""
    if own == np.uint64(0):
        return False
    for i in range(state[6]):
        if sets[i] == own:
            return True
    return False
