"""Splitting of a cluster of a stream into classes: each of the oldest remaining record and its nearest.

rows (4, records), scratch: the records of the cluster in the order of arrival; the piece of each record, -1 for none;
those that a piece may take; those in no piece, in the order of arrival.
"""

import numpy as np

from dbanon.kernels.jit import kernel_part
from dbanon.kernels.streams.class_loss import begin_class, loss_growth, widen_class
from dbanon.kernels.streams.counting import count_person, count_value
from dbanon.kernels.streams.nearest import fill_node_distances, record_distances

PIECE, FREE, REMAINING = 1, 2, 3


@kernel_part
def list_records(c, heads, link, rows):
    """List the records of cluster `c` in `rows`, in order of arrival and with no piece yet; return how many."""
    size, t = np.int64(0), heads[c]
    while t >= 0:
        size, t = size + 1, link[t]
    i, t = size, heads[c]
    while t >= 0:
        i -= 1
        rows[0, i], rows[PIECE, t], rows[REMAINING, i] = t, -1, t
        t = link[t]
    return size


@kernel_part
def split_into_classes(size, base, requirement, records, classes, attributes, scratch):
    """Split the `size` listed records into classes from `base` on; return their number, 0 if no split is possible.

    Pieces of k persons are formed as long as possible; the remaining records join the piece that they widen least. The
    pieces of records and the bounds of classes are written in place.
    """
    pieces, n_remaining = np.int64(0), size
    while _form_piece(pieces, n_remaining, requirement, records, attributes, scratch):
        pieces += 1
        n_kept = np.int64(0)
        for i in range(n_remaining):
            t = scratch.rows[REMAINING, i]
            scratch.rows[REMAINING, n_kept] = t
            n_kept += scratch.rows[PIECE, t] < 0
        n_remaining = n_kept
    if pieces > 0:
        _set_piece_bounds(size, base, records, classes, attributes, scratch.rows)
        _assign_remaining(n_remaining, pieces, base, records, requirement, classes, attributes, scratch.rows)
    return pieces


@kernel_part
def _form_piece(piece, n_remaining, requirement, records, attributes, scratch):
    """Form piece number `piece`: the oldest remaining record and the nearest others, the oldest of each person.

    Returns whether there are enough persons and sensitive values; if not, no record is in it.
    """
    requirement.clock[0] += 1
    x, size = np.int64(-1), np.int64(0)
    for i in range(n_remaining):
        t = scratch.rows[REMAINING, i]
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
    fill_node_distances(records.values[x], ahead, attributes, scratch.node_distances)
    record_distances(x, size, scratch.rows[FREE], ahead, records, attributes, scratch.node_distances, scratch.distances)
    scratch.rows[PIECE, x] = piece
    persons = np.int64(1)
    if len(requirement.min_values) > 0:
        persons += _take_value_shares(piece, x, size, n_remaining, requirement, records, scratch)
    while persons < requirement.k:
        scratch.rows[PIECE, _nearest_free_record(size, scratch.rows, scratch.distances)] = piece
        persons += 1
    if not _has_enough_values(piece, n_remaining, requirement, records, scratch.rows):
        for i in range(n_remaining):
            scratch.rows[PIECE, scratch.rows[REMAINING, i]] = -1
        return False
    return True


@kernel_part
def _nearest_free_record(size, rows, distances_):
    """Return the nearest of the `size` records in rows[FREE] that are in no piece (ties: the oldest), or -1."""
    best, lowest = np.int64(-1), np.inf
    for i in range(size):
        if distances_[i] < lowest and rows[PIECE, rows[FREE, i]] < 0:
            best, lowest = rows[FREE, i], distances_[i]
    return best


@kernel_part
def _take_value_shares(piece, x, size, n_remaining, requirement, records, scratch):
    """Add to a piece, of each value of the first sensitive column, its share of a piece of k records; return how many.

    It is at least one record of each value, the nearest to record `x`, whose own value counts. If no free record has
    the value, fewer are added.
    """
    n_taken = np.int64(0)
    requirement.clock[0] += 1
    for i in range(n_remaining):
        value, bucket = records.sensitive[scratch.rows[REMAINING, i], 0], np.int64(0)
        if not count_value(scratch.rows[REMAINING, i], np.int64(0), requirement, records):
            continue
        for j in range(n_remaining):
            bucket += records.sensitive[scratch.rows[REMAINING, j], 0] == value
        n_due = max(np.int64(1), requirement.k * bucket // n_remaining) - (records.sensitive[x, 0] == value)
        while n_due > 0:
            best, lowest = np.int64(-1), np.inf
            for j in range(size):
                t = scratch.rows[FREE, j]
                if scratch.distances[j] < lowest and scratch.rows[PIECE, t] < 0 and records.sensitive[t, 0] == value:
                    best, lowest = t, scratch.distances[j]
            if best < 0:
                break
            scratch.rows[PIECE, best] = piece
            n_taken += 1
            n_due -= 1
    return n_taken


@kernel_part
def _has_enough_values(piece, n_remaining, requirement, records, rows):
    """Return whether piece number `piece` has enough distinct values of each sensitive column.

    Its records are among the first `n_remaining` of rows[REMAINING]. `requirement.clock` is increased, so an earlier
    count is lost.
    """
    requirement.clock[0] += 1
    for s in range(len(requirement.min_values)):
        number = np.int64(0)
        for i in range(n_remaining):
            t = rows[REMAINING, i]
            number += rows[PIECE, t] == piece and count_value(t, s, requirement, records)
        if number < requirement.min_values[s]:
            return False
    return True


@kernel_part
def _set_piece_bounds(size, base, records, classes, attributes, rows):
    """Set the bounds of the classes of all pieces (class `base` + piece) to those of their records, in place."""
    last = np.int64(-1)
    for j in range(size):
        t = rows[0, j]
        if rows[PIECE, t] < 0:
            continue
        new = base + rows[PIECE, t]
        if rows[PIECE, t] > last:  # the oldest record of a piece is older than that of the next one
            last = rows[PIECE, t]
            begin_class(records.values[t], classes.lows[new], classes.highs[new], attributes)
        else:
            widen_class(records.values[t], classes.lows[new], classes.highs[new], attributes)


@kernel_part
def _assign_remaining(n_remaining, pieces, base, records, requirement, classes, attributes, rows):
    """Add each remaining record to the piece whose loss it increases least (ties: the first), and widen its class.

    All records of a person join the piece of the oldest; if sensitive values count, each record joins its own.
    """
    for i in range(n_remaining):
        t = rows[REMAINING, i]
        if rows[PIECE, t] >= 0:
            continue
        best, lowest = np.int64(0), np.inf
        for piece in range(pieces):
            increase = loss_growth(records.values[t], base + piece, classes.lows, classes.highs, lowest, attributes)
            if increase < lowest:
                best, lowest = np.int64(piece), increase
        for j in range(i, n_remaining):
            other = rows[REMAINING, j]
            is_same_person = (
                len(requirement.min_values) == 0
                and rows[PIECE, other] < 0
                and records.people[t] >= 0
                and records.people[other] == records.people[t]
            )
            if j == i or is_same_person:
                rows[PIECE, other] = best
                widen_class(records.values[other], classes.lows[base + best], classes.highs[base + best], attributes)
