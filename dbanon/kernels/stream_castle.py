"""CASTLE: open clusters that grow by the record that widens them least, and leave when one of their records is due."""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.stream_class import (
    begin,
    distance,
    growth,
    least_class,
    loss,
    loss_with,
    widen,
)
from dbanon.kernels.stream_open import (
    close_cluster,
    count,
    count_values,
    is_enough,
    loss_of_both,
    measure,
    merge,
    open_cluster,
    put,
    take_out,
)
from dbanon.kernels.stream_window import LAST, SUPPRESSED, arrive, keep_class, waiting


@kernel
def castle_steps(
    state, most, ends, k, delta, beta, need, arrived, values, people, sensitive, out, step, kept, born, lows, highs,
    recent, first, nodes, share, seen, weights, used, ids, heads, sizes, c_lows, c_highs, link, slot, grown, marks,
    values_of, clock, rows, away,
):  # fmt: skip
    """Lets records arrive until all have, or about `most` clusters and records were looked at; gives how many were.

    state: records that have arrived, oldest that may wait, classes, kept classes, clusters opened so far, open ones,
    losses in `recent`, next place in it. `recent` (mu,): what the last classes lose, whose mean a good cluster does not
    exceed. `beta`: most open clusters, beyond which none is opened. The rest as in fads_steps and `stream_open`.
    """
    steps = np.int64(0)
    while steps < most:
        x = waiting(state, out)
        late = (ends and state[0] == len(arrived)) or (x < state[0] and state[LAST] - arrived[x] >= delta)
        if x == state[0] or not late:
            if state[0] == len(arrived):
                break
            t = arrive(state, arrived, values, first, seen)
            steps += 1 + state[5]
            _select(
                t, state, beta, values, recent, first, nodes, share, seen, weights, used, ids, heads, sizes, c_lows,
                c_highs, link, slot, grown,
            )  # fmt: skip
            continue
        now = state[LAST]
        c = slot[x]
        steps += state[5] + sizes[c]
        if not is_enough(c, k, need, heads, link, people, sensitive, marks, values_of, clock):
            known, _ = least_class(values[x], kept, state[3], lows, highs, first, share, seen, weights)
            steps += state[3]
            if (
                known >= 0
                or _is_outlier(c, state, used, sizes)
                or not _can_be_enough(k, need, used, heads, link, people, sensitive, marks, values_of, clock)
            ):
                out[x], step[x] = (known if known >= 0 else SUPPRESSED), now
                take_out(x, c, heads, link, slot, sizes)
                if sizes[c] == 0:
                    close_cluster(c, state, used)
                else:
                    measure(c, heads, link, values, c_lows, c_highs, first, nodes)
                continue
            while not is_enough(c, k, need, heads, link, people, sensitive, marks, values_of, clock):
                other = _nearest_cluster(c, used, ids, c_lows, c_highs, first, nodes, share, seen, weights)
                steps += state[5]
                merge(other, c, state, used, heads, link, slot, sizes, c_lows, c_highs, first, nodes)
        steps += _output(
            c, now, state, k, need, values, people, sensitive, out, step, kept, born, lows, highs, recent, first,
            nodes, share, seen, weights, c_lows, c_highs, heads, link, marks, values_of, clock, rows, away,
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
    t, state, beta, values, recent, first, nodes, share, seen, weights, used, ids, heads, sizes, lows, highs, link,
    slot, grown,
):  # fmt: skip
    """The cluster of a new record: of those that it widens least, the smallest that stays good (ties: the one that was
    opened first); else a new one; else, where there are `beta`, the smallest. grown (slots,): scratch."""
    least, limit = np.inf, mean_of(state, recent)
    for c in range(len(used)):
        if used[c]:
            grown[c] = growth(values[t], lows[c], highs[c], least, first, nodes, share, seen, weights)
            least = min(least, grown[c])
    chosen, good = np.int64(-1), False
    for c in range(len(used)):
        if used[c] and grown[c] == least:
            own = loss_with(values[t], lows[c], highs[c], first, nodes, share, seen, weights) <= limit
            if chosen < 0 or (own and not good):
                chosen, good = np.int64(c), own
            elif own == good and (sizes[c] < sizes[chosen] or (sizes[c] == sizes[chosen] and ids[c] < ids[chosen])):
                chosen = np.int64(c)
    if chosen < 0 or (not good and state[5] < beta):
        c = open_cluster(t, state, used, ids, heads, values, lows, highs, sizes, first, nodes)
        put(t, c, heads, link, slot, sizes)
    else:
        widen(values[t], lows[chosen], highs[chosen], first, nodes)
        put(t, chosen, heads, link, slot, sizes)


@part
def _is_outlier(c, state, used, sizes):
    """Whether more than half of the open clusters are larger."""
    larger = np.int64(0)
    for other in range(len(used)):
        larger += used[other] and sizes[other] > sizes[c]
    return 2 * larger > state[5]


@part
def _can_be_enough(k, need, used, heads, link, people, sensitive, marks, values_of, clock):
    """Whether all open clusters together are enough for a class."""
    clock[0] += 1
    persons = np.int64(0)
    for c in range(len(used)):
        if used[c] and persons < k:
            persons += count(c, k, heads, link, people, marks, clock[0])
    if persons < k:
        return False
    for s in range(len(need)):
        number = np.int64(0)
        for c in range(len(used)):
            if used[c] and number < need[s]:
                number += count_values(c, s, need[s] - number, heads, link, people, sensitive, values_of, clock[0])
        if number < need[s]:
            return False
    return True


@part
def _nearest_cluster(c, used, ids, lows, highs, first, nodes, share, seen, weights):
    """The open cluster that widens a cluster least (ties: the one that was opened first)."""
    own = loss(lows[c], highs[c], first, share, seen, weights)
    best, least = np.int64(-1), np.inf
    for other in range(len(used)):
        if used[other] and other != c:
            more = loss_of_both(c, other, lows, highs, first, nodes, share, seen, weights) - own
            if more < least or (more == least and ids[other] < ids[best]):
                best, least = np.int64(other), more
    return best


@part
def _output(
    c, now, state, k, need, values, people, sensitive, out, step, kept, born, lows, highs, recent, first, nodes, share,
    seen, weights, c_lows, c_highs, heads, link, marks, values_of, clock, rows, away,
):  # fmt: skip
    """A cluster leaves, as several classes where it has twice as many persons as a class needs; gives how many records
    were looked at. A class is kept to be published again where it loses less than the last ones on average.

    rows (3, records): scratch, the records of the cluster in the order of arrival, the piece of each, and whether a
    piece that is made may take it; away (records,): scratch.
    """
    size, t = np.int64(0), heads[c]
    while t >= 0:
        size, t = size + 1, link[t]
    i, t = size, heads[c]
    while t >= 0:
        i -= 1
        rows[0, i], rows[1, i] = t, -1
        t = link[t]
    clock[0] += 1
    pieces, looked = np.int64(0), size
    if count(c, 2 * k, heads, link, people, marks, clock[0]) >= 2 * k:
        while True:
            x = _take(
                pieces, size, k, need, values, people, sensitive, first, nodes, share, seen, weights, marks, values_of,
                clock, rows, away,
            )  # fmt: skip
            looked += size
            if x < 0:
                break
            pieces += 1
    base = state[2]
    if pieces == 0:
        for a in range(len(weights)):
            lows[base, a], highs[base, a] = c_lows[c, a], c_highs[c, a]
        pieces += 1
        for j in range(size):
            rows[1, j] = 0
    else:
        _spans(size, base, values, lows, highs, first, nodes, rows)
        _deal(size, pieces, base, values, people, need, lows, highs, first, nodes, share, seen, weights, rows)
    for j in range(size):
        out[rows[0, j]], step[rows[0, j]] = base + rows[1, j], now
    for _ in range(pieces):
        new, begun = state[2], state[6] > 0
        own = loss(lows[new], highs[new], first, share, seen, weights)
        remember(own, state, recent)
        if not begun or own < mean_of(state, recent):
            keep_class(new, now, state, kept, born)
        else:
            state[2] += 1
    return looked


@part
def _take(
    piece, size, k, need, values, people, sensitive, first, nodes, share, seen, weights, marks, values_of, clock, rows,
    away,
):  # fmt: skip
    """Puts the oldest record that is in no piece into a new one, with nearest others, of each person the oldest; gives
    it, or -1 where those that are left are too few, or have too few sensitive values."""
    clock[0] += 1
    x, total = np.int64(-1), np.int64(0)
    for j in range(size):
        person = people[rows[0, j]]
        rows[2, j] = 0
        total += rows[1, j] < 0
        if rows[1, j] < 0 and person >= 0 and marks[person] != clock[0]:
            marks[person] = clock[0]
            rows[2, j] = 1
            if x < 0:
                x = np.int64(j)
            away[j] = distance(values[rows[0, x]], values[rows[0, j]], first, nodes, share, seen, weights)
    if x < 0:
        return x
    _add(x, piece, rows)
    persons = np.int64(1)
    if len(need) > 0:
        persons += _take_shares(piece, x, size, k, total, sensitive, rows, away)
    while persons < k:
        best = _nearest_of(size, rows, away)
        if best < 0:
            break
        _add(best, piece, rows)
        persons += 1
    if persons < k or not _has(piece, size, need, sensitive, values_of, clock, rows):
        for j in range(size):
            if rows[1, j] == piece:
                rows[1, j] = -1
        return np.int64(-1)
    return x


@part
def _add(j, piece, rows):
    """A piece takes a record."""
    rows[1, j], rows[2, j] = piece, 0


@part
def _nearest_of(size, rows, away):
    """The nearest record that may be taken (ties: the oldest), or -1."""
    best = np.int64(-1)
    for j in range(size):
        if rows[2, j] > 0 and (best < 0 or away[j] < away[best]):
            best = np.int64(j)
    return best


@part
def _take_shares(piece, x, size, k, total, sensitive, rows, away):
    """Of each value of the first sensitive column its share of a piece of k, but at least one, the nearest records to
    record x; gives how many were taken. `total`: records in no piece, x among them."""
    taken = np.int64(0)
    for j in range(size):
        value = sensitive[rows[0, j], 0]
        if value < 0 or (rows[1, j] >= 0 and rows[1, j] != piece):
            continue
        bucket, is_first = np.int64(0), True
        for i in range(size):
            if (rows[1, i] < 0 or rows[1, i] == piece) and sensitive[rows[0, i], 0] == value:
                bucket += 1
                is_first = is_first and i >= j
        if not is_first:
            continue
        due = max(np.int64(1), k * bucket // total) - (sensitive[rows[0, x], 0] == value)
        while due > 0:
            best = np.int64(-1)
            for i in range(size):
                if rows[2, i] > 0 and sensitive[rows[0, i], 0] == value and (best < 0 or away[i] < away[best]):
                    best = np.int64(i)
            if best < 0:
                break
            _add(best, piece, rows)
            taken += 1
            due -= 1
    return taken


@part
def _has(piece, size, need, sensitive, values_of, clock, rows):
    """Whether a piece has as many values of each sensitive column as it needs."""
    clock[0] += 1
    for s in range(len(need)):
        number = np.int64(0)
        for j in range(size):
            code = sensitive[rows[0, j], s]
            if rows[1, j] == piece and code >= 0 and values_of[s, code] != clock[0]:
                values_of[s, code] = clock[0]
                number += 1
        if number < need[s]:
            return False
    return True


@part
def _spans(size, base, values, lows, highs, first, nodes, rows):
    """What the pieces of a cluster publish."""
    last = np.int64(-1)
    for j in range(size):
        if rows[1, j] < 0:
            continue
        new = base + rows[1, j]
        if rows[1, j] > last:  # the oldest record of a piece is older than that of the next one
            last = rows[1, j]
            begin(values[rows[0, j]], lows[new], highs[new], first, nodes)
        else:
            widen(values[rows[0, j]], lows[new], highs[new], first, nodes)


@part
def _deal(size, pieces, base, values, people, need, lows, highs, first, nodes, share, seen, weights, rows):
    """The records that are left join the pieces that they widen least (ties: the first), of a person all the same one,
    the oldest's; where sensitive values count, each its own."""
    for j in range(size):
        if rows[1, j] >= 0:
            continue
        value, person = values[rows[0, j]], people[rows[0, j]]
        best, least = np.int64(0), np.inf
        for piece in range(pieces):
            low, high = lows[base + piece], highs[base + piece]
            more = growth(value, low, high, least, first, nodes, share, seen, weights)
            if more < least:
                best, least = np.int64(piece), more
        for i in range(j, size):
            if i == j or (len(need) == 0 and rows[1, i] < 0 and person >= 0 and people[rows[0, i]] == person):
                rows[1, i] = best
                widen(values[rows[0, i]], lows[base + best], highs[base + best], first, nodes)
