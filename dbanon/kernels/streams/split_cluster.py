"""How a cluster of a stream is split into classes: each of the oldest record that is left and its nearest.

rows (4, records), scratch: the records of the cluster in the order of arrival; of each record its piece, -1 for none;
those that a piece may take; those that are in no piece, in the order of arrival.
"""

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.streams.class_loss import begin, growth, widen
from dbanon.kernels.streams.counting import count_person, count_value
from dbanon.kernels.streams.nearest import ask, distances

PIECE, FREE, LEFT = 1, 2, 3


@part
def listed(c, heads, link, rows):
    """List the records of a cluster, which are in no piece; return how many."""
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
def split(size, base, requirement, records, classes, attributes, scratch):
    """Split the records that are listed into classes from `base` on; return how many, of which none may come about."""
    pieces, left = np.int64(0), size
    while _take(pieces, left, requirement, records, attributes, scratch):
        pieces += 1
        after = np.int64(0)
        for i in range(left):
            t = scratch.rows[LEFT, i]
            scratch.rows[LEFT, after] = t
            after += scratch.rows[PIECE, t] < 0
        left = after
    if pieces > 0:
        _spans(size, base, records, classes, attributes, scratch.rows)
        _deal(left, pieces, base, records, requirement, classes, attributes, scratch.rows)
    return pieces


@part
def _take(piece, left, requirement, records, attributes, scratch):
    """Puts the oldest record that is in no piece into a new one, with nearest others, of each person the oldest; gives
    whether there are enough, also of their sensitive values."""
    requirement.clock[0] += 1
    x, size = np.int64(-1), np.int64(0)
    for i in range(left):
        t = scratch.rows[LEFT, i]
        if not count_person(t, requirement, records):
            continue
        if x < 0:
            x = t
        else:
            scratch.rows[FREE, size] = t
            size += 1
    if size < requirement.k - 1:
        return False
    ahead = size // 2
    ask(records.values[x], ahead, attributes, scratch.node_distances)
    distances(x, size, scratch.rows[FREE], ahead, records, attributes, scratch.node_distances, scratch.distances)
    scratch.rows[PIECE, x] = piece
    persons = np.int64(1)
    if len(requirement.min_values) > 0:
        persons += _take_shares(piece, x, size, left, requirement, records, scratch)
    while persons < requirement.k:
        scratch.rows[PIECE, _nearest_of(size, scratch.rows, scratch.distances)] = piece
        persons += 1
    if not _has(piece, left, requirement, records, scratch.rows):
        for i in range(left):
            scratch.rows[PIECE, scratch.rows[LEFT, i]] = -1
        return False
    return True


@part
def _nearest_of(size, rows, away):
    """Return the nearest record that may be taken (ties: the oldest)."""
    best, least = np.int64(-1), np.inf
    for i in range(size):
        if away[i] < least and rows[PIECE, rows[FREE, i]] < 0:
            best, least = rows[FREE, i], away[i]
    return best


@part
def _take_shares(piece, x, size, left, requirement, records, scratch):
    """Of each value of the first sensitive column its share of a piece of k, but at least one, the nearest records to
    record x; gives how many were taken."""
    taken = np.int64(0)
    requirement.clock[0] += 1
    for i in range(left):
        value, bucket = records.sensitive[scratch.rows[LEFT, i], 0], np.int64(0)
        if not count_value(scratch.rows[LEFT, i], np.int64(0), requirement, records):
            continue
        for j in range(left):
            bucket += records.sensitive[scratch.rows[LEFT, j], 0] == value
        due = max(np.int64(1), requirement.k * bucket // left) - (records.sensitive[x, 0] == value)
        while due > 0:
            best, least = np.int64(-1), np.inf
            for j in range(size):
                t = scratch.rows[FREE, j]
                if scratch.distances[j] < least and scratch.rows[PIECE, t] < 0 and records.sensitive[t, 0] == value:
                    best, least = t, scratch.distances[j]
            if best < 0:
                break
            scratch.rows[PIECE, best] = piece
            taken += 1
            due -= 1
    return taken


@part
def _has(piece, left, requirement, records, rows):
    """Return whether a piece has as many values of each sensitive column as it needs."""
    requirement.clock[0] += 1
    for s in range(len(requirement.min_values)):
        number = np.int64(0)
        for i in range(left):
            t = rows[LEFT, i]
            number += rows[PIECE, t] == piece and count_value(t, s, requirement, records)
        if number < requirement.min_values[s]:
            return False
    return True


@part
def _spans(size, base, records, classes, attributes, rows):
    """What the pieces of a cluster publish."""
    last = np.int64(-1)
    for j in range(size):
        t = rows[0, j]
        if rows[PIECE, t] < 0:
            continue
        new = base + rows[PIECE, t]
        if rows[PIECE, t] > last:  # the oldest record of a piece is older than that of the next one
            last = rows[PIECE, t]
            begin(records.values[t], classes.lows[new], classes.highs[new], attributes)
        else:
            widen(records.values[t], classes.lows[new], classes.highs[new], attributes)


@part
def _deal(left, pieces, base, records, requirement, classes, attributes, rows):
    """The records that are left join the pieces that they widen least (ties: the first), of a person all the same one,
    the oldest's; where sensitive values count, each its own."""
    for i in range(left):
        t = rows[LEFT, i]
        if rows[PIECE, t] >= 0:
            continue
        best, least = np.int64(0), np.inf
        for piece in range(pieces):
            more = growth(records.values[t], base + piece, classes.lows, classes.highs, least, attributes)
            if more < least:
                best, least = np.int64(piece), more
        for j in range(i, left):
            other = rows[LEFT, j]
            alike = (
                len(requirement.min_values) == 0
                and rows[PIECE, other] < 0
                and records.people[t] >= 0
                and records.people[other] == records.people[t]
            )
            if j == i or alike:
                rows[PIECE, other] = best
                widen(records.values[other], classes.lows[base + best], classes.highs[base + best], attributes)
