"""SWAF: the record that leaves the window is published as the deepest region that enough others stand in."""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.stream_class import covers
from dbanon.kernels.stream_regions import ABOVE, CAME, KIND, LEAF, SIZE, depart, enter, specialize
from dbanon.kernels.stream_window import LAST, SUPPRESSED, WAITING, arrive, waiting


@kernel
def swaf_steps(
    state, most, ends, k, delta, need, arrived, values, people, sensitive, out, step, born, lows, highs, first, nodes,
    share, seen, weights, shape, cut, low, high, published, at, heads, tails, link, rows, wide, sorted_, batch, marks,
    values_of, clock,
):  # fmt: skip
    """Lets records arrive until all have, or about `most` records were looked at; gives how many were. A record that is
    due leaves with the class of the deepest region that it stands in and whose class covers it, or that has enough
    records for a new one.

    state: records that have arrived, oldest that may wait, classes, -, regions. published (regions,):
    the class of a region, -1 for none. batch (k + values that are needed,): scratch.
    """
    steps = np.int64(0)
    while steps < most:
        x = waiting(state, out)
        over = state[0] == len(arrived)
        steps += 1
        if x == state[0] or not ((over and ends) or state[LAST] - arrived[x] + 1 >= delta):
            if over:
                break
            t = arrive(state, arrived, values, first, seen)
            v = enter(t, values, first, nodes, shape, cut, at, heads, tails, link)
            if shape[v, KIND] == LEAF and shape[v, CAME] >= k and shape[v, SIZE] >= 2 * k:
                steps += specialize(
                    v, state, k, need, values, people, sensitive, out, first, nodes, share, seen, weights, shape, cut,
                    low, high, at, heads, tails, link, rows, wide, sorted_, marks, values_of, clock,
                )  # fmt: skip
            continue
        now, v = state[LAST], at[x]
        while v >= 0 and out[x] == WAITING:
            c = published[v]
            if c >= 0 and covers(values[x], lows[c], highs[c]):
                out[x], step[x] = c, now
                depart(x, shape, at)
            elif people[x] >= 0 and shape[v, SIZE] >= k:
                steps += state[0] - x
                n = _oldest(
                    v, x, state[0], k, need, people, sensitive, out, shape, at, batch, marks, values_of, clock
                )  # fmt: skip
                if n > 0:
                    c = state[2]
                    state[2] += 1
                    published[v], born[c] = c, now
                    _publish(
                        v, n, x, state[0], values, out, shape, at, batch, lows[c], highs[c], first, nodes, low, high
                    )  # fmt: skip
                    for j in range(n):
                        out[batch[j]], step[batch[j]] = c, now
                        depart(batch[j], shape, at)
            v = shape[v, ABOVE]
        if out[x] == WAITING:
            out[x], step[x] = SUPPRESSED, now
            depart(x, shape, at)
    return steps


@kernel
def take_up(state, shape, at, heads, tails, link):
    """Puts the records that wait already where they stood."""
    for t in range(state[0]):
        v = at[t]
        if shape[v, KIND] == LEAF:
            link[t] = -1
            if heads[v] < 0:
                heads[v] = t
            else:
                link[tails[v]] = t
            tails[v] = t
        while v >= 0:
            shape[v, SIZE] += 1
            v = shape[v, ABOVE]


@part
def _oldest(v, x, end, k, need, people, sensitive, out, shape, at, batch, marks, values_of, clock):
    """Puts into `batch` the oldest record of each of k persons that wait in a region, and the oldest of others with
    sensitive values that are needed; gives how many, or -1 where there are too few."""
    clock[0] += 1
    own, lack = np.zeros(len(need), np.int64), np.int64(0)
    for s in range(len(need)):
        lack += need[s]
    n = np.int64(0)
    for t in range(x, end):
        if out[t] != WAITING or people[t] < 0 or marks[people[t]] == clock[0] or not _is_in(at[t], v, shape):
            continue
        wanted = n < k
        for s in range(len(need)):
            code = sensitive[t, s]
            if own[s] < need[s] and code >= 0 and values_of[s, code] != clock[0]:
                wanted = True
        if not wanted:
            continue
        marks[people[t]] = clock[0]
        for s in range(len(need)):
            code = sensitive[t, s]
            if code >= 0 and values_of[s, code] != clock[0]:
                values_of[s, code] = clock[0]
                lack -= own[s] < need[s]
                own[s] += 1
        batch[n] = t
        n += 1
        if n >= k and lack == 0:
            return n
    return np.int64(-1)


@part
def _is_in(u, v, shape):
    """Whether a region is another one or below it."""
    while u > v:  # each has a greater number than that above it
        u = shape[u, ABOVE]
    return u == v


@part
def _publish(v, n, x, end, values, out, shape, at, batch, to_low, to_high, first, nodes, low, high):
    """What a class publishes: its region, which ends where its records do on a side that is open, those that go on
    waiting in it among them; NULL is published as NULL, and among values as all."""
    for a in range(len(to_low)):
        nulls, least, most = np.int64(0), np.inf, -np.inf
        for j in range(n):
            value = values[batch[j], a]
            if value != value:
                nulls += 1
            else:
                least, most = min(least, value), max(most, value)
        if nulls == n:
            to_low[a], to_high[a] = np.inf, -np.inf
        elif nulls > 0:
            to_low[a], to_high[a] = -np.inf, np.inf
        elif first[a] < first[a + 1]:
            node = nodes[first[a] + np.int64(low[v, a]), 2]
            to_low[a], to_high[a] = float(node), float(nodes[first[a] + node, 1])
        else:
            to_low[a] = min(least, np.inf if low[v, a] == -np.inf else low[v, a])
            to_high[a] = max(most, -np.inf if high[v, a] == np.inf else high[v, a])
    for t in range(x, end):
        if out[t] != WAITING or not _is_in(at[t], v, shape):
            continue
        for a in range(len(to_low)):
            value = values[t, a]
            if first[a] == first[a + 1] and to_low[a] <= to_high[a]:
                if value < to_low[a] and low[v, a] == -np.inf:
                    to_low[a] = value
                elif value > to_high[a] and high[v, a] == np.inf:
                    to_high[a] = value
