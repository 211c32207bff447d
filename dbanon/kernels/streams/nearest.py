"""Searches for the nearest pending records of a stream.

Distances are added up attribute by attribute over many records at a time, which is fastest for a processor.
"""

import numpy as np

from dbanon.kernels.jit import inlined_part, kernel_part
from dbanon.kernels.streams.arrays import PENDING
from dbanon.kernels.streams.class_loss import center_value_distance, has_ranks, seen_width, value_distance

BATCH_RECORDS = 512
"""Number of records whose distances are added up at a time."""


@kernel_part
def fill_node_distances(value, ahead, attributes, table):
    """Fill `table` with the weighted distances of a record's values to the nodes of hierarchies of up to `ahead` nodes.

    For larger hierarchies, computing each distance on use costs less, and the table is not filled.

    Args:
        value: (attributes,) float64 values of the record; NaN for NULL.
        ahead: Greatest number of nodes of a hierarchy for which distances are computed ahead.
        attributes: `AttributeArrays`.
        table: Output: (nodes,) float64.
    """
    for a in range(len(value)):
        begin_, size = attributes.node_starts[a], attributes.node_starts[a + 1] - attributes.node_starts[a]
        if size == 0 or size > ahead:
            continue
        for node in range(size):
            table[begin_ + node] = attributes.weights[a] * value_distance(a, value[a], float(node), attributes)


@kernel_part
def tabulated_distance(x, y, limit, ahead, attributes, table):
    """Return the distance of center `x`, for which `table` is filled, and the record values `y`; inf above `limit`.

    Args:
        x: (attributes,) float64 values of the center: positions and nodes.
        y: (attributes,) float64 values of the record.
        limit: The distance above which inf is returned.
        ahead: Greatest number of nodes of a hierarchy whose distances are in `table`.
        attributes: `AttributeArrays`.
        table: (nodes,) float64: weighted distances of the nodes of hierarchies, see `fill_node_distances`.
    """
    total = 0.0
    for a in range(len(x)):
        size = attributes.node_starts[a + 1] - attributes.node_starts[a]
        if 0 < size <= ahead and y[a] == y[a] and x[a] == x[a]:
            total += table[attributes.node_starts[a] + np.int64(y[a])]
        else:
            total += attributes.weights[a] * center_value_distance(a, x[a], y[a], attributes)
        if total > limit:
            return np.inf
    return total


@kernel_part
def record_distances(x, size, rows, ahead, records, attributes, table, distances_):
    """Fill `distances_` with the distances of the records rows[:size] to record `x`.

    `table` and `ahead` are those of `fill_node_distances`, which must have been called for record x.

    Args:
        x: Number of the record.
        size: Number of records in `rows`.
        rows: int64 record numbers.
        ahead: Greatest number of nodes of a hierarchy whose distances are in `table`.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        table: (nodes,) float64: weighted distances of the nodes of hierarchies, see `fill_node_distances`.
        distances_: Output: float64.
    """
    for j in range(size):
        distances_[j] = 0.0
    for a in range(len(attributes.weights)):
        weight, value, begin_ = attributes.weights[a], records.values[x, a], attributes.node_starts[a]
        number = attributes.node_starts[a + 1] - begin_
        width = seen_width(a, attributes)
        is_direct = number == 0 and not (
            has_ranks(attributes.node_starts) and attributes.node_starts[len(attributes.weights) + 1 + a] >= 0
        )
        if is_direct and value == value and width > 0:
            for j in range(size):
                other = records.values[rows[j], a]
                distances_[j] += weight * (abs(value - other) / width) if other == other else weight
        elif 0 < number <= ahead and value == value:
            for j in range(size):
                other = records.values[rows[j], a]
                distances_[j] += table[begin_ + np.int64(other)] if other == other else weight
        else:
            for j in range(size):
                distances_[j] += weight * value_distance(a, value, records.values[rows[j], a], attributes)


@kernel_part
def nearest_persons(x, begins, ends, size, records, attributes, table, group_records, group_distances):
    """Find the nearest pending records to record `x`, one of each of the nearest `size` - 1 other persons.

    Only records from `begins` to `ends` are considered, and of each known person the nearest one (ties: the older).
    They are written to `group_records`, the nearest first, and their distances to `group_distances`. Returns how many
    there are, which may be fewer than `size` - 1.

    Args:
        x: Number of the record.
        begins, ends: The first record that is considered, and the end (exclusive).
        size: One more than the number of other persons.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        table: (nodes,) float64 scratch.
        group_records: Output: int64 record numbers.
        group_distances: Output: float64.
    """
    number, ahead = np.int64(0), (ends - begins) // 2
    if size < 2:
        return number
    fill_node_distances(records.values[x], ahead, attributes, table)
    rows, distances_ = np.empty(BATCH_RECORDS, np.int64), np.empty(BATCH_RECORDS)
    i = begins
    while i < ends:
        n_listed = np.int64(0)
        while i < ends and n_listed < BATCH_RECORDS:
            rows[n_listed] = i
            n_listed += (
                records.class_ids[i] == PENDING
                and i != x
                and records.people[i] >= 0
                and records.people[i] != records.people[x]
            )
            i += 1
        record_distances(x, n_listed, rows, ahead, records, attributes, table, distances_)
        for j in range(n_listed):
            number = insert_nearest(rows[j], distances_[j], number, size - 1, records, group_records, group_distances)
    return number


@inlined_part
def insert_nearest(i, gap, number, size, records, group_records, group_distances):
    """Insert record `i` at distance `gap` into the nearest records of at most `size` persons; return their number.

    Of each person the nearest record is kept; ties go to the earlier insertion. In a full list, the record is ignored
    if it is not nearer than the last one.

    Args:
        i: Number of the new record.
        gap: Distance of the new record.
        number: How many records the two lists have.
        size: Greatest number of records.
        records: `RecordArrays`.
        group_records: int64 record numbers, the nearest first; updated in place.
        group_distances: float64 distances of these records; updated in place.
    """
    if number == size and not gap < group_distances[number - 1]:
        return number
    place = np.int64(-1)
    for other in range(number):
        if records.people[group_records[other]] == records.people[i]:
            place = np.int64(other)
            break
    if place >= 0:
        if not gap < group_distances[place]:
            return number
    elif number < size:
        place = number
        number += 1
    else:
        place = number - 1
    while place > 0 and group_distances[place - 1] > gap:
        group_records[place], group_distances[place] = group_records[place - 1], group_distances[place - 1]
        place -= 1
    group_records[place], group_distances[place] = i, gap
    return number
