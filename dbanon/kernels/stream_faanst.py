"""FAANST: the records that wait are clustered in rounds, whenever there are enough of them."""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.stream_class import begin, distance, least_class, loss, widen
from dbanon.kernels.stream_means import means, members
from dbanon.kernels.stream_open import is_enough
from dbanon.kernels.stream_window import LAST, SUPPRESSED, WAITING, arrive, keep_class, waiting


@kernel
def faanst_steps(
    state, most, ends, k, delta, mode, mu, threshold, by_member, need, arrived, values, people, sensitive, out, step,
    kept, born, lows, highs, first, nodes, share, seen, weights, group, centers, order, heads, link, counts, found,
    rows, batch, picked, away, marks, values_of, clock, table, random,
):  # fmt: skip
    """Lets records arrive until all have, or about `most` records and clusters were looked at; gives how many were.
    `mode`: 0 base, 1 passive, 2 proactive; `by_member`: k-member instead of k-means.

    state: records that have arrived, oldest that may wait, classes, kept classes, arrival at which the last round was
    held, arrivals between it and the one before, records that wait. batch, picked and away (records,):
    scratch, where `picked` begins with zeros. The rest as in `stream_means` and `stream_open`.
    """
    steps = np.int64(0)
    while steps < most:
        x = waiting(state, out)
        over = state[0] == len(arrived)
        steps += 1
        if x == state[0]:
            if over:
                break
            _arrive(state, arrived, values, first, seen)
            continue
        now, last = state[LAST], False
        is_full = state[6] >= mu and now - state[4] >= max(k, mu // 4)
        if is_full or (over and ends and now > state[4] and now - arrived[x] + 1 < delta):
            state[4], state[5] = now, now - state[4]
            steps += _round(
                x, state, k, threshold, by_member, need, values, people, sensitive, out, step, kept, born, lows, highs,
                first, nodes, share, seen, weights, group, centers, order, heads, link, counts, found, rows, batch,
                away, marks, values_of, clock, table, random,
            )  # fmt: skip
            if mode < 2 or not is_full:
                continue
            limit = delta - state[5]
        elif now - arrived[x] + 1 >= delta:
            limit = delta
        elif not over:
            _arrive(state, arrived, values, first, seen)
            continue
        elif ends:
            limit, last = np.int64(0), True
        else:
            break
        hopeless = mode == 0
        if not hopeless:
            size = np.int64(0)
            for t in range(x, state[0]):
                if out[t] == WAITING:
                    rows[size] = t
                    size += 1
            hopeless = not _suffices(size, k, need, rows, people, sensitive, marks, values_of, clock)
        for t in range(x, state[0]):
            if now - arrived[t] + 1 < limit:
                break
            if out[t] != WAITING:
                continue
            due = last or now - arrived[t] + 1 >= delta
            steps += state[3] + state[0] - x
            hopeless = _force(
                t, x, due, hopeless, state, k, threshold, need, values, people, sensitive, out, step, kept, born, lows,
                highs, first, nodes, share, seen, weights, group, batch, picked, away, marks, values_of, clock,
            )  # fmt: skip
    return steps


@part
def _arrive(state, arrived, values, first, seen):
    """The next record."""
    arrive(state, arrived, values, first, seen)
    state[6] += 1


@part
def _round(
    x, state, k, threshold, by_member, need, values, people, sensitive, out, step, kept, born, lows, highs, first,
    nodes, share, seen, weights, group, centers, order, heads, link, counts, found, rows, batch, away, marks, values_of,
    clock, table, random,
):  # fmt: skip
    """Publishes what accepted classes cover, and clusters of the rest that are enough for a class; gives how many
    records and clusters were looked at."""
    now, size, looked = state[LAST], np.int64(0), np.int64(0)
    for t in range(x, state[0]):
        if out[t] != WAITING:
            continue
        looked += state[3]
        c, _ = least_class(values[t], kept, state[3], lows, highs, first, share, seen, weights)
        if c >= 0:
            out[t], step[t] = c, now
            state[6] -= 1
        else:
            rows[size], group[t] = t, -1
            size += 1
    number = size // k
    if number < 1 or not _suffices(size, k, need, rows, people, sensitive, marks, values_of, clock):
        return looked + size
    if by_member:
        members(
            size, number, k, need, rows, values, people, sensitive, group, first, nodes, share, seen, weights, heads,
            link, marks, values_of, clock, random,
        )  # fmt: skip
    else:
        means(
            size, number, rows, values, group, first, nodes, share, seen, weights, centers, order, heads, link, counts,
            found, away, table, random,
        )  # fmt: skip
    for c in range(number):
        if heads[c] >= 0 and is_enough(c, k, need, heads, link, people, sensitive, marks, values_of, clock):
            n, t = np.int64(0), heads[c]
            while t >= 0:
                batch[n] = t
                n, t = n + 1, link[t]
            _publish(
                n, state, threshold, values, out, step, kept, born, lows, highs, first, nodes, share, seen, weights,
                batch,
            )  # fmt: skip
    return looked + size * number


@part
def _suffices(size, k, need, rows, people, sensitive, marks, values_of, clock):
    """Whether so many records together are enough for a class."""
    clock[0] += 1
    persons = np.int64(0)
    for j in range(size):
        if people[rows[j]] >= 0 and marks[people[rows[j]]] != clock[0]:
            marks[people[rows[j]]] = clock[0]
            persons += 1
    if persons < k:
        return False
    for s in range(len(need)):
        number = np.int64(0)
        for j in range(size):
            code = sensitive[rows[j], s]
            if people[rows[j]] >= 0 and code >= 0 and values_of[s, code] != clock[0]:
                values_of[s, code] = clock[0]
                number += 1
        if number < need[s]:
            return False
    return True


@part
def _publish(
    n, state, threshold, values, out, step, kept, born, lows, highs, first, nodes, share, seen, weights, batch
):
    """The first records of `batch` leave as a class, which is accepted where it loses less than the threshold."""
    new, now = state[2], state[LAST]
    begin(values[batch[0]], lows[new], highs[new], first, nodes)
    for j in range(n):
        widen(values[batch[j]], lows[new], highs[new], first, nodes)
        out[batch[j]], step[batch[j]] = new, now
    state[6] -= n
    if loss(lows[new], highs[new], first, share, seen, weights) < threshold:
        keep_class(new, now, state, kept, born)
    else:
        born[new] = now
        state[2] += 1


@part
def _force(
    t, x, due, hopeless, state, k, threshold, need, values, people, sensitive, out, step, kept, born, lows, highs,
    first, nodes, share, seen, weights, group, batch, picked, away, marks, values_of, clock,
):  # fmt: skip
    """A record leaves: with an accepted class, or with the clusters that are nearest. One that is due and can do
    neither is suppressed. `hopeless`: all that wait are not enough for a class; gives whether that is so now."""
    c, _ = least_class(values[t], kept, state[3], lows, highs, first, share, seen, weights)
    if c < 0 and not hopeless and people[t] >= 0:
        n = _gather(
            t, x, state[0], k, need, values, people, sensitive, out, first, nodes, share, seen, weights, group, batch,
            picked, away, marks, values_of, clock,
        )  # fmt: skip
        if n > 0:
            _publish(
                n, state, threshold, values, out, step, kept, born, lows, highs, first, nodes, share, seen, weights,
                batch,
            )  # fmt: skip
            return False
        hopeless = True
    if c >= 0 or due:
        out[t], step[t] = (c if c >= 0 else SUPPRESSED), state[LAST]
        state[6] -= 1
    return hopeless


@part
def _gather(
    t, x, end, k, need, values, people, sensitive, out, first, nodes, share, seen, weights, group, batch, picked, away,
    marks, values_of, clock,
):  # fmt: skip
    """Puts into `batch` the cluster of a record and those of the records nearest to it of other persons, then of other
    sensitive values, until they are enough for a class; gives how many records these are, or -1. A record that came
    after the last round is a cluster of its own."""
    clock[0] += 1
    own = np.zeros(len(need), np.int64)
    persons, n, chosen = np.int64(0), np.int64(0), np.int64(t)
    for i in range(x, end):
        if out[i] == WAITING:
            away[i] = distance(values[t], values[i], first, nodes, share, seen, weights)
    while chosen >= 0:
        for i in range(x, end):
            if out[i] != WAITING or (i != chosen and (group[chosen] < 0 or group[i] != group[chosen])):
                continue
            picked[i], batch[n] = clock[0], i
            n += 1
            if people[i] >= 0:
                persons += marks[people[i]] != clock[0]
                marks[people[i]] = clock[0]
                for s in range(len(need)):
                    code = sensitive[i, s]
                    if code >= 0 and values_of[s, code] != clock[0]:
                        values_of[s, code] = clock[0]
                        own[s] += 1
        column = np.int64(-1)
        for s in range(len(need)):
            if own[s] < need[s]:
                column = np.int64(s)
                break
        if persons >= k and column < 0:
            return n
        chosen = np.int64(-1)
        for i in range(x, end):
            if out[i] != WAITING or people[i] < 0 or picked[i] == clock[0]:
                continue
            if persons < k:
                if marks[people[i]] == clock[0]:
                    continue
            elif sensitive[i, column] < 0 or values_of[column, sensitive[i, column]] == clock[0]:
                continue
            if chosen < 0 or away[i] < away[chosen]:
                chosen = np.int64(i)
    return np.int64(-1)
