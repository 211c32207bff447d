"""How a cluster of a stream is split into classes: each of the oldest record that is left and its nearest.

rows (4, records): scratch: the records of the cluster in the order of arrival; of each record its piece, -1 for none;
those that a piece may take; those that are in no piece, in the order of arrival. away (records,) and table (nodes,):
scratch. The rest as in `stream_open` and `stream_class`.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.stream_class import begin, growth, widen
from dbanon.kernels.stream_nearest import ask, distances

PIECE, FREE, LEFT = 1, 2, 3


@part
def listed(c, heads, link, rows):
    """Lists the records of a cluster, which are in no piece; gives how many."""
    size, t = np.int64(0), heads[c]
    while t >= 0:
        size, t = size + 1, link[t]
    i, t = size, heads[c]
    while t >= 0:
        i -= 1
        rows[0, i], rows[PIECE, t], rows[LEFT, i] = t, -1, t
        t = link[t]
    return size


@part
def split(
    size, base, k, need, values, people, sensitive, lows, highs, first, nodes, share, seen, weights, marks, values_of,
    clock, rows, away, table,
):  # fmt: skip
    """Splits the records that are listed into classes from `base` on; gives how many, of which none may come about."""
    pieces, left = np.int64(0), size
    while _take(
        pieces, left, k, need, values, people, sensitive, first, nodes, share, seen, weights, marks, values_of, clock,
        rows, away, table,
    ):  # fmt: skip
        pieces += 1
        after = np.int64(0)
        for i in range(left):
            t = rows[LEFT, i]
            rows[LEFT, after] = t
            after += rows[PIECE, t] < 0
        left = after
    if pieces > 0:
        _spans(size, base, values, lows, highs, first, nodes, rows)
        _deal(left, pieces, base, values, people, need, lows, highs, first, nodes, share, seen, weights, rows)
    return pieces


@part
def _take(
    piece, left, k, need, values, people, sensitive, first, nodes, share, seen, weights, marks, values_of, clock, rows,
    away, table,
):  # fmt: skip
    """Puts the oldest record that is in no piece into a new one, with nearest others, of each person the oldest; gives
    whether there are enough, also of their sensitive values."""
    clock[0] += 1
    x, size = np.int64(-1), np.int64(0)
    for i in range(left):
        t = rows[LEFT, i]
        if people[t] >= 0 and marks[people[t]] != clock[0]:
            marks[people[t]] = clock[0]
            if x < 0:
                x = t
            else:
                rows[FREE, size] = t
                size += 1
    if size < k - 1:
        return False
    ahead = size // 2
    ask(values[x], ahead, first, nodes, share, seen, weights, table)
    distances(x, size, rows[FREE], ahead, values, first, nodes, share, seen, weights, table, away)
    rows[PIECE, x] = piece
    persons = np.int64(1)
    if len(need) > 0:
        persons += _take_shares(piece, x, size, left, k, sensitive, values_of, clock, rows, away)
    while persons < k:
        rows[PIECE, _nearest_of(size, rows, away)] = piece
        persons += 1
    if not _has(piece, left, need, sensitive, values_of, clock, rows):
        for i in range(left):
            rows[PIECE, rows[LEFT, i]] = -1
        return False
    return True


@part
def _nearest_of(size, rows, away):
    """The nearest record that may be taken (ties: the oldest)."""
    best, least = np.int64(-1), np.inf
    for i in range(size):
        if away[i] < least and rows[PIECE, rows[FREE, i]] < 0:
            best, least = rows[FREE, i], away[i]
    return best


@part
def _take_shares(piece, x, size, left, k, sensitive, values_of, clock, rows, away):
    """Of each value of the first sensitive column its share of a piece of k, but at least one, the nearest records to
    record x; gives how many were taken."""
    taken = np.int64(0)
    clock[0] += 1
    for i in range(left):
        value = sensitive[rows[LEFT, i], 0]
        if value < 0 or values_of[0, value] == clock[0]:
            continue
        values_of[0, value] = clock[0]
        bucket = np.int64(0)
        for j in range(left):
            bucket += sensitive[rows[LEFT, j], 0] == value
        due = max(np.int64(1), k * bucket // left) - (sensitive[x, 0] == value)
        while due > 0:
            best, least = np.int64(-1), np.inf
            for j in range(size):
                t = rows[FREE, j]
                if away[j] < least and rows[PIECE, t] < 0 and sensitive[t, 0] == value:
                    best, least = t, away[j]
            if best < 0:
                break
            rows[PIECE, best] = piece
            taken += 1
            due -= 1
    return taken


@part
def _has(piece, left, need, sensitive, values_of, clock, rows):
    """Whether a piece has as many values of each sensitive column as it needs."""
    clock[0] += 1
    for s in range(len(need)):
        number = np.int64(0)
        for i in range(left):
            t = rows[LEFT, i]
            code = sensitive[t, s]
            if rows[PIECE, t] == piece and code >= 0 and values_of[s, code] != clock[0]:
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
        t = rows[0, j]
        if rows[PIECE, t] < 0:
            continue
        new = base + rows[PIECE, t]
        if rows[PIECE, t] > last:  # the oldest record of a piece is older than that of the next one
            last = rows[PIECE, t]
            begin(values[t], lows[new], highs[new], first, nodes)
        else:
            widen(values[t], lows[new], highs[new], first, nodes)


@part
def _deal(left, pieces, base, values, people, need, lows, highs, first, nodes, share, seen, weights, rows):
    """The records that are left join the pieces that they widen least (ties: the first), of a person all the same one,
    the oldest's; where sensitive values count, each its own."""
    for i in range(left):
        t = rows[LEFT, i]
        if rows[PIECE, t] >= 0:
            continue
        best, least = np.int64(0), np.inf
        for piece in range(pieces):
            more = growth(values[t], base + piece, lows, highs, least, first, nodes, share, seen, weights)
            if more < least:
                best, least = np.int64(piece), more
        for j in range(i, left):
            other = rows[LEFT, j]
            alike = len(need) == 0 and rows[PIECE, other] < 0 and people[t] >= 0 and people[other] == people[t]
            if j == i or alike:
                rows[PIECE, other] = best
                widen(values[other], lows[base + best], highs[base + best], first, nodes)
