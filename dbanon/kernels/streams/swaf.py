"""SWAF: a due record is published with others of its leaf, in a tree that specializes the records of the window."""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.sorting import sort_values
from dbanon.kernels.streams.arrays import LAST_ARRIVAL, LAST_BELOW, N_ADDED, N_CLASSES, N_STORED, PARENT, PENDING
from dbanon.kernels.streams.class_loss import attribute_loss, value_bounds, widened_bounds
from dbanon.kernels.streams.counting import count_record, has_new_person, has_new_value, missing_column
from dbanon.kernels.streams.sliding_window import (
    NO_LIMIT,
    add_latest_class,
    next_due,
    publish_cheapest,
)


class SwafOptions(NamedTuple):
    """Options of SWAF (see `swaf_steps`).

    Attributes:
        ends: The stream ends after the records of this call, so all are published.
        delta: A record is published once this many records have arrived since, itself included.
        store: Maximum number of stored classes.
    """

    ends: bool
    delta: int
    store: int


@kernel
def swaf_steps(state, max_steps, options, requirement, records, classes, attributes, scratch):
    """Add records until all are added, or about `max_steps` records were examined; return how many were.

    The pending records are specialized from the root of a tree on, along the path to the leaf of a due record (see
    `_find_leaf`). The record is published with the oldest records of the leaf that suffice for a class; or with the
    stored class of least loss that covers it, if that loses less or the pending records do not suffice. With neither,
    it is suppressed. The last `store` classes are stored. All arrays are updated in place.

    Args:
        state: int64 counters of the stream (see `arrays`).
        max_steps: Number of examined records after which to return.
        options: `SwafOptions`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        classes: `ClassArrays`.
        attributes: `AttributeArrays`.
        scratch: `TreeScratch`; its contents are overwritten.
    """
    steps = np.int64(0)
    while True:
        x, steps = next_due(steps, max_steps, options, NO_LIMIT, state, records, attributes)
        if x < 0:
            return steps
        number = np.int64(-1)
        if records.people[x] >= 0:
            size, n_examined = _find_leaf(x, state[N_ADDED], requirement, records, attributes, scratch)
            number = _oldest_persons(size, requirement, records, scratch)
            steps += n_examined
        steps += state[N_STORED]
        if publish_cheapest(x, number, scratch.batch, state, records, classes, attributes) >= 0:
            add_latest_class(state[N_CLASSES], state[LAST_ARRIVAL], True, options.store, state, classes)


@kernel_part
def _find_leaf(x, end, requirement, records, attributes, scratch):
    """Write the records of the leaf of record `x` to `scratch.rows`; return their number and that of examined records.

    The root has all pending records of known persons. A node is split, on its widest attribute (ties: the first) that
    can be split, while it has 2k records and each part suffices for a class. The records stay in order of arrival, so
    that `x`, the oldest, is the first.

    Args:
        x: The oldest pending record; its person is known.
        end: End of the records that are considered (exclusive).
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        scratch: `TreeScratch`; its contents are overwritten.
    """
    size, n_examined = np.int64(0), end - x
    for t in range(x, end):
        if records.class_ids[t] == PENDING and records.people[t] >= 0:
            scratch.rows[size] = t
            size += 1
    widths = np.empty(len(attributes.weights))
    is_split = True
    while is_split and size >= 2 * requirement.k:
        n_examined += size
        for a in range(len(widths)):
            widths[a] = attributes.weights[a] * _width(a, size, records, attributes, scratch.rows)
        is_split = False
        while not is_split:
            widest = np.argmax(widths)
            if widths[widest] <= 0:
                break
            widths[widest] = -1.0
            parts = _assign_parts(widest, size, requirement, records, attributes, scratch)
            is_split = parts > 1 and _all_suffice(parts, size, requirement, records, scratch)
        if is_split:
            n, part = np.int64(0), scratch.parts[0]
            for j in range(size):
                if scratch.parts[j] == part:
                    scratch.rows[n] = scratch.rows[j]
                    n += 1
            size = n
    return size, n_examined


@kernel_part
def _width(a, size, records, attributes, rows):
    """Return the loss on attribute `a` of a class of the first `size` records of `rows`.

    Args:
        a: Number of the attribute.
        size: Number of records.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        rows: int64 record numbers.
    """
    low, high = value_bounds(a, records.values[rows[0], a], attributes)
    for j in range(1, size):
        low, high = widened_bounds(a, low, high, records.values[rows[j], a], attributes)
    return attribute_loss(a, low, high, attributes)


@kernel_part
def _assign_parts(a, size, requirement, records, attributes, scratch):
    """Write to `scratch.parts` the part of each record of a node, split on attribute `a`; return the number of parts.

    If there are NULLs, the two parts are NULL and values. Else they are numbers up to the median and above it, or the
    nodes below the lowest common ancestor of categories. The number is 0 if a category is at that ancestor itself, or
    if there would be too many parts for k records each.

    Args:
        a: Number of the attribute.
        size: Number of records in `scratch.rows`.
        requirement: `RequirementArrays`.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        scratch: `TreeScratch`; updated in place.
    """
    n_known, lowest, highest = np.int64(0), np.inf, -np.inf
    for j in range(size):
        value = records.values[scratch.rows[j], a]
        scratch.parts[j] = value == value
        if value == value:
            scratch.sorted_values[n_known] = value
            n_known += 1
            lowest, highest = min(lowest, value), max(highest, value)
    if n_known < size:
        return np.int64(2 if n_known > 0 else 1)
    if attributes.node_starts[a] == attributes.node_starts[a + 1]:
        sort_values(scratch.sorted_values, size)
        middle = (size - 1) // 2
        while middle > 0 and scratch.sorted_values[middle] == highest:
            middle -= 1
        cut = scratch.sorted_values[middle]
        for j in range(size):
            scratch.parts[j] = records.values[scratch.rows[j], a] > cut
        return np.int64(2 if cut < highest else 1)
    begin = attributes.node_starts[a]
    ancestor = np.int64(lowest)
    while highest > attributes.nodes[begin + ancestor, LAST_BELOW]:
        ancestor = attributes.nodes[begin + ancestor, PARENT]
    if lowest == ancestor:
        return np.int64(0)
    parts = np.int64(0)
    for j in range(size):
        node = np.int64(records.values[scratch.rows[j], a])
        while attributes.nodes[begin + node, PARENT] != ancestor:
            node = attributes.nodes[begin + node, PARENT]
        part = np.int64(0)
        while part < parts and scratch.branches[part] != node:
            part += 1
        if part == parts:
            parts += 1
            if parts * requirement.k > size:
                return np.int64(0)
            scratch.branches[part] = node
        scratch.parts[j] = part
    return parts


@kernel_part
def _all_suffice(parts, size, requirement, records, scratch):
    """Return whether each part of the records of a node suffices for a class.

    Args:
        parts: Number of parts.
        size: Number of records in `scratch.rows`, whose parts are in `scratch.parts`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        scratch: `TreeScratch`.
    """
    n_values = np.zeros(len(requirement.min_values), np.int64)
    for part in range(parts):
        requirement.clock[0] += 1
        persons, is_enough = np.int64(0), False
        n_values[:] = 0
        for j in range(size):
            if scratch.parts[j] == part:
                persons += count_record(scratch.rows[j], requirement, records, n_values)
                is_enough = missing_column(persons, requirement, n_values) == -1
                if is_enough:
                    break
        if not is_enough:
            return False
    return True


@kernel_part
def _oldest_persons(size, requirement, records, scratch):
    """Collect in `scratch.batch` the oldest records of a leaf that suffice for a class with its first one.

    They are one record of each of k persons, and of further persons with values that are still needed. Returns their
    number without the first one; -1 if the leaf does not suffice.

    Args:
        size: Number of records in `scratch.rows`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        scratch: `TreeScratch`; its batch is overwritten.
    """
    requirement.clock[0] += 1
    n_values, n = np.zeros(len(requirement.min_values), np.int64), np.int64(0)
    for j in range(size):
        t = scratch.rows[j]
        if not has_new_person(t, requirement, records):
            continue
        wanted = n < requirement.k
        for s in range(len(requirement.min_values)):
            wanted = wanted or (n_values[s] < requirement.min_values[s] and has_new_value(t, s, requirement, records))
        if not wanted:
            continue
        if n > 0:
            scratch.batch[n - 1] = t
        n += count_record(t, requirement, records, n_values)
        if missing_column(n, requirement, n_values) == -1:
            return n - 1
    return np.int64(-1)
