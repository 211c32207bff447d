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
    """List the records of cluster `c` in `rows`, in order of arrival; return how many.

    No record is in a piece (the records of one future class) yet: rows[1] is -1 for each.

    Args:
        c: Slot of the cluster.
        heads: int64: the first record in the linked list of each cluster, -1 for none.
        link: (records,) int64: the next record in the list, -1 at the end.
        rows: Output (4, records) int64: [0] the records in order of arrival, [1] by record the piece, -1, [3] as [0].
    """
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

    Pieces (the records of one class) of k persons are formed as long as possible; the remaining records join the piece
    that they widen least. scratch.rows[1] gets the piece of each record, from 0; bounds of the classes are written.

    Args:
        size: Number of records in scratch.rows[0].
        base: Number of the first class.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        classes: `ClassArrays`; updated in place.
        attributes: `AttributeArrays`.
        scratch: `ClusterScratch`; rows and distances are updated in place.
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

    Args:
        piece: Number of the piece.
        n_remaining: Number of records that were in no piece, the first of rows[3].
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        scratch: `ClusterScratch`; rows and distances are updated in place.
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
    """Return the nearest of the `size` records in rows[FREE] that are in no piece (ties: the oldest), or -1.

    Args:
        size: Number of records in rows[2].
        rows: (4, records) int64: the cluster's records in order of arrival; the piece of each record, -1 for none;
            records that a piece may take; records in no piece.
        distances_: float64 distances of these records.
    """
    best, lowest = np.int64(-1), np.inf
    for i in range(size):
        if distances_[i] < lowest and rows[PIECE, rows[FREE, i]] < 0:
            best, lowest = rows[FREE, i], distances_[i]
    return best


@kernel_part
def _take_value_shares(piece, x, size, n_remaining, requirement, records, scratch):
    """Add to a piece, of each value of the first sensitive column, its share of a piece of k records; return how many.

    A share is k times the value's share of the remaining records, rounded down, but at least one record. The record `x`
    counts for its own value. The nearest records to `x` are added; fewer if no record in rows[2] has the value.

    Args:
        piece: Number of the piece.
        x: The record with which the piece begins.
        size: Number of records in rows[2].
        n_remaining: Number of records that were in no piece, the first of rows[3].
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        scratch: `ClusterScratch`; rows and distances are updated in place.
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

    Args:
        piece: Number of the piece.
        n_remaining: Number of records that were in no piece, the first of rows[3].
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        rows: (4, records) int64: the cluster's records in order of arrival; the piece of each record, -1 for none;
            records that a piece may take; records in no piece.
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
    """Set the bounds of the classes of all pieces (class `base` + piece) to those of their records, in place.

    Args:
        size: Number of records of the cluster.
        base: Number of the first class.
        records: `RecordArrays`.
        classes: `ClassArrays`; updated in place.
        attributes: `AttributeArrays`.
        rows: (4, records) int64: the cluster's records in order of arrival; the piece of each record, -1 for none;
            records that a piece may take; records in no piece.
    """
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

    All records of a person join the piece of the person's oldest record; if distinct sensitive values are required, the
    piece is chosen for each record.

    Args:
        n_remaining: Number of records that were in no piece, the first of rows[3].
        pieces: Number of pieces.
        base: Number of the first class.
        records: `RecordArrays`.
        requirement: `RequirementArrays`.
        classes: `ClassArrays`; updated in place.
        attributes: `AttributeArrays`.
        rows: (4, records) int64: the cluster's records in order of arrival; the piece of each record, -1 for none;
            records that a piece may take; records in no piece.
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
