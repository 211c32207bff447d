"""Splitting of a cluster of a stream into classes: each of the oldest remaining record and its nearest.

The records of one future class are a piece. Pieces are formed in `ClusterScratch`.
"""

import numpy as np

from dbanon.kernels.jit import kernel_part
from dbanon.kernels.streams.class_loss import begin_class, loss_growth, widen_class
from dbanon.kernels.streams.counting import count_person, count_value
from dbanon.kernels.streams.nearest import fill_node_distances, record_distances


@kernel_part
def list_records(c, clusters, scratch):
    """List the records of cluster `c` in `scratch.members`, in order of arrival; return how many.

    No record is in a piece yet.

    Args:
        c: Slot of the cluster.
        clusters: `OpenClusterArrays`.
        scratch: `ClusterScratch`, of which members, pieces and remaining are set.
    """
    i, t = clusters.sizes[c], clusters.heads[c]
    while t >= 0:
        i -= 1
        scratch.members[i], scratch.pieces[t], scratch.remaining[i] = t, -1, t
        t = clusters.next_record[t]
    return clusters.sizes[c]


@kernel_part
def split_into_classes(size, base, requirement, records, classes, attributes, scratch):
    """Split the `size` listed records into classes from `base` on; return their number, 0 if no split is possible.

    Pieces (the records of one class) of k persons are formed as long as possible; the remaining records join the piece
    that they widen least. `scratch.pieces` gets the piece of each record, from 0; bounds of the classes are written.

    Args:
        size: Number of records in `scratch.members`.
        base: Number of the first class.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        classes: `ClassArrays`; updated in place.
        attributes: `AttributeArrays`.
        scratch: `ClusterScratch`; updated in place.
    """
    pieces, n_remaining = np.int64(0), size
    while _form_piece(pieces, n_remaining, requirement, records, attributes, scratch):
        pieces += 1
        n_kept = np.int64(0)
        for i in range(n_remaining):
            t = scratch.remaining[i]
            scratch.remaining[n_kept] = t
            n_kept += scratch.pieces[t] < 0
        n_remaining = n_kept
    if pieces > 0:
        _set_piece_bounds(size, base, records, classes, attributes, scratch)
        _assign_remaining(n_remaining, pieces, base, records, requirement, classes, attributes, scratch)
    return pieces


@kernel_part
def _form_piece(piece, n_remaining, requirement, records, attributes, scratch):
    """Form piece number `piece`: the oldest remaining record and the nearest others, the oldest of each person.

    Returns whether there are enough persons and sensitive values; if not, no record is in it.

    Args:
        piece: Number of the piece.
        n_remaining: Number of records that were in no piece, the first of `scratch.remaining`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        scratch: `ClusterScratch`; updated in place.
    """
    requirement.clock[0] += 1
    x, size = np.int64(-1), np.int64(0)
    for i in range(n_remaining):
        t = scratch.remaining[i]
        if not count_person(t, requirement, records):
            continue
        if x < 0:
            x = t
        else:
            scratch.candidates[size] = t
            size += 1
    if size < requirement.k - 1:
        return False
    ahead = size // 2
    fill_node_distances(records.values[x], ahead, attributes, scratch.node_distances)
    record_distances(x, size, scratch.candidates, ahead, records, attributes, scratch.node_distances, scratch.distances)
    scratch.pieces[x] = piece
    persons = np.int64(1)
    if len(requirement.min_values) > 0:
        persons += _take_value_shares(piece, x, size, n_remaining, requirement, records, scratch)
    while persons < requirement.k:
        scratch.pieces[_nearest_candidate(size, None, records, scratch)] = piece
        persons += 1
    if not _has_enough_values(piece, n_remaining, requirement, records, scratch):
        for i in range(n_remaining):
            scratch.pieces[scratch.remaining[i]] = -1
        return False
    return True


@kernel_part
def _nearest_candidate(size, value, records, scratch):
    """Return the nearest of the `size` candidates that are in no piece (ties: the oldest), or -1.

    Args:
        size: Number of records in `scratch.candidates`.
        value: The value that it must have in the first sensitive column, or None.
        records: `RecordArrays`.
        scratch: `ClusterScratch`.
    """
    best, lowest = np.int64(-1), np.inf
    for i in range(size):
        t = scratch.candidates[i]
        has_value = True if value is None else records.sensitive[t, 0] == value
        if scratch.distances[i] < lowest and scratch.pieces[t] < 0 and has_value:
            best, lowest = t, scratch.distances[i]
    return best


@kernel_part
def _take_value_shares(piece, x, size, n_remaining, requirement, records, scratch):
    """Add to a piece, of each value of the first sensitive column, its share of a piece of k records; return how many.

    A share is k times the value's share of the remaining records, rounded down, but at least one record. The record `x`
    counts for its own value. The nearest records to `x` are added; fewer if no candidate has the value.

    Args:
        piece: Number of the piece.
        x: The record with which the piece begins.
        size: Number of records in `scratch.candidates`.
        n_remaining: Number of records that were in no piece, the first of `scratch.remaining`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        scratch: `ClusterScratch`; updated in place.
    """
    n_taken = np.int64(0)
    requirement.clock[0] += 1
    for i in range(n_remaining):
        value, bucket = records.sensitive[scratch.remaining[i], 0], np.int64(0)
        if not count_value(scratch.remaining[i], np.int64(0), requirement, records):
            continue
        for j in range(n_remaining):
            bucket += records.sensitive[scratch.remaining[j], 0] == value
        n_due = max(np.int64(1), requirement.k * bucket // n_remaining) - (records.sensitive[x, 0] == value)
        while n_due > 0:
            best = _nearest_candidate(size, value, records, scratch)
            if best < 0:
                break
            scratch.pieces[best] = piece
            n_taken += 1
            n_due -= 1
    return n_taken


@kernel_part
def _has_enough_values(piece, n_remaining, requirement, records, scratch):
    """Return whether piece number `piece` has enough distinct values of each sensitive column.

    Its records are among the first `n_remaining` of `scratch.remaining`. `requirement.clock` is increased, so an
    earlier count is lost.

    Args:
        piece: Number of the piece.
        n_remaining: Number of records that were in no piece, the first of `scratch.remaining`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        scratch: `ClusterScratch`.
    """
    requirement.clock[0] += 1
    for s in range(len(requirement.min_values)):
        number = np.int64(0)
        for i in range(n_remaining):
            t = scratch.remaining[i]
            number += scratch.pieces[t] == piece and count_value(t, s, requirement, records)
        if number < requirement.min_values[s]:
            return False
    return True


@kernel_part
def _set_piece_bounds(size, base, records, classes, attributes, scratch):
    """Set the bounds of the classes of all pieces (class `base` + piece) to those of their records, in place.

    Args:
        size: Number of records of the cluster.
        base: Number of the first class.
        records: `RecordArrays`.
        classes: `ClassArrays`; updated in place.
        attributes: `AttributeArrays`.
        scratch: `ClusterScratch`.
    """
    last = np.int64(-1)
    for j in range(size):
        t = scratch.members[j]
        if scratch.pieces[t] < 0:
            continue
        new = base + scratch.pieces[t]
        if scratch.pieces[t] > last:  # the oldest record of a piece is older than that of the next one
            last = scratch.pieces[t]
            begin_class(records.values[t], classes.lows[new], classes.highs[new], attributes)
        else:
            widen_class(records.values[t], classes.lows[new], classes.highs[new], attributes)


@kernel_part
def _assign_remaining(n_remaining, pieces, base, records, requirement, classes, attributes, scratch):
    """Add each remaining record to the piece whose loss it increases least (ties: the first), and widen its class.

    All records of a person join the piece of the person's oldest record; if distinct sensitive values are required, the
    piece is chosen for each record.

    Args:
        n_remaining: Number of records that were in no piece, the first of `scratch.remaining`.
        pieces: Number of pieces.
        base: Number of the first class.
        records: `RecordArrays`.
        requirement: `RequirementArrays`.
        classes: `ClassArrays`; updated in place.
        attributes: `AttributeArrays`.
        scratch: `ClusterScratch`, whose pieces are updated in place.
    """
    for i in range(n_remaining):
        t = scratch.remaining[i]
        if scratch.pieces[t] >= 0:
            continue
        best, lowest = np.int64(0), np.inf
        for piece in range(pieces):
            increase = loss_growth(records.values[t], base + piece, classes.lows, classes.highs, lowest, attributes)
            if increase < lowest:
                best, lowest = np.int64(piece), increase
        for j in range(i, n_remaining):
            other = scratch.remaining[j]
            is_same_person = (
                len(requirement.min_values) == 0
                and scratch.pieces[other] < 0
                and records.people[t] >= 0
                and records.people[other] == records.people[t]
            )
            if j == i or is_same_person:
                scratch.pieces[other] = best
                widen_class(records.values[other], classes.lows[base + best], classes.highs[base + best], attributes)
