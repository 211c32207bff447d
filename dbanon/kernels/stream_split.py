"""How a cluster of a stream is split into classes: each of the oldest record that is left and its nearest.

rows (3, records): scratch, the records of the cluster in the order of arrival, the piece of each, -1 for none, and
whether a piece that is made may take it; away (records,): scratch. The rest as in `stream_open` and `stream_class`.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.stream_class import begin, distance, growth, widen


@part
def listed(c, heads, link, rows):
    """Lists the records of a cluster, which are in no piece; gives how many."""
    size, t = np.int64(0), heads[c]
    while t >= 0:
        size, t = size + 1, link[t]
    i, t = size, heads[c]
    while t >= 0:
        i -= 1
        rows[0, i], rows[1, i] = t, -1
        t = link[t]
    return size


@part
def split(
    size, base, k, need, values, people, sensitive, lows, highs, first, nodes, share, seen, weights, marks, values_of,
    clock, rows, away,
):  # fmt: skip
    """Splits the records that are listed into classes from `base` on; gives how many, of which none may come about."""
    pieces = np.int64(0)
    while True:
        x = _take(
            pieces, size, k, need, values, people, sensitive, first, nodes, share, seen, weights, marks, values_of,
            clock, rows, away,
        )  # fmt: skip
        if x < 0:
            break
        pieces += 1
    if pieces > 0:
        _spans(size, base, values, lows, highs, first, nodes, rows)
        _deal(size, pieces, base, values, people, need, lows, highs, first, nodes, share, seen, weights, rows)
    return pieces


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
