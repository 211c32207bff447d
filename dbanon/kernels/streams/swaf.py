"""SWAF: a due record is published as the deepest region that contains enough other records."""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.streams.class_loss import covers
from dbanon.kernels.streams.counting import count_record, has_new_person, has_new_value, missing_column
from dbanon.kernels.streams.region_tree import (
    KIND,
    LEAF,
    N_NEW,
    N_PENDING,
    PARENT,
    add_record,
    append_record,
    remove_record,
    split_leaf,
)
from dbanon.kernels.streams.sliding_window import LAST_ARRIVAL, PENDING, SUPPRESSED, add_next_record, oldest_pending


class SwafOptions(NamedTuple):
    """Options of SWAF (see `swaf_steps`).

    Attributes:
        ends: The stream ends after the records of this call, so all are published.
        delta: A record is published once this many records have arrived since.
    """

    ends: bool
    delta: int


@kernel
def swaf_steps(state, max_steps, options, requirement, records, classes, attributes, regions, scratch):
    """Add records until all are added, or about `max_steps` records were examined; return how many were.

    For a due record, the regions that contain it are examined, the deepest first. If the class of a region covers it,
    it is published with that class. Else, if its person is known and the region has enough pending records, the oldest
    ones are published as a new class of the region; if the due record is not among them, the search continues above. If
    no region is left, it is suppressed. Leaves with at least k new and 2k pending records are split. All arrays are
    updated in place.

    Args:
        state: int64 counters: records added, oldest pending record, classes, unused, regions; [8] last arrival.
        max_steps: Number of examined records after which to return.
        options: `SwafOptions`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        classes: `ClassArrays`.
        attributes: `AttributeArrays`.
        regions: `RegionArrays`.
        scratch: `RegionScratch`.
    """
    steps = np.int64(0)
    while steps < max_steps:
        x = oldest_pending(state, records.class_ids)
        over = state[0] == len(records.arrived_at)
        steps += 1
        if x == state[0] or not (
            (over and options.ends) or state[LAST_ARRIVAL] - records.arrived_at[x] + 1 >= options.delta
        ):
            if over:
                break
            t = add_next_record(state, records, attributes)
            v = add_record(t, records, attributes, regions)
            if (
                regions.shape[v, KIND] == LEAF
                and regions.shape[v, N_NEW] >= requirement.k
                and regions.shape[v, N_PENDING] >= 2 * requirement.k
            ):
                steps += split_leaf(v, state, requirement, records, attributes, regions, scratch)
            continue
        arrival, v = state[LAST_ARRIVAL], regions.region_ids[x]
        while v >= 0 and records.class_ids[x] == PENDING:
            c = regions.class_ids[v]
            if c >= 0 and covers(records.values[x], classes.lows[c], classes.highs[c]):
                records.class_ids[x], records.published_at[x] = c, arrival
                remove_record(x, regions.shape, regions.region_ids)
            elif records.people[x] >= 0 and regions.shape[v, N_PENDING] >= requirement.k:
                steps += state[0] - x
                n = _oldest_persons(v, x, state[0], requirement, records, regions, scratch.batch)
                if n > 0:
                    c = state[2]
                    state[2] += 1
                    regions.class_ids[v], classes.made_at[c] = c, arrival
                    _set_published_bounds(
                        v,
                        n,
                        x,
                        state[0],
                        records,
                        regions,
                        scratch.batch,
                        classes.lows[c],
                        classes.highs[c],
                        attributes,
                    )
                    for j in range(n):
                        records.class_ids[scratch.batch[j]], records.published_at[scratch.batch[j]] = c, arrival
                        remove_record(scratch.batch[j], regions.shape, regions.region_ids)
            v = regions.shape[v, PARENT]
        if records.class_ids[x] == PENDING:
            records.class_ids[x], records.published_at[x] = SUPPRESSED, arrival
            remove_record(x, regions.shape, regions.region_ids)
    return steps


@kernel
def restore_pending(state, regions):
    """Put the records that are pending from earlier calls (the first state[0]) back into their regions, in place.

    Args:
        state: int64 counters: [0] number of records.
        regions: `RegionArrays`; pending counts and lists are updated in place.
    """
    for t in range(state[0]):
        v = regions.region_ids[t]
        if regions.shape[v, KIND] == LEAF:
            append_record(t, v, regions)
        while v >= 0:
            regions.shape[v, N_PENDING] += 1
            v = regions.shape[v, PARENT]


@kernel_part
def _oldest_persons(v, x, end, requirement, records, regions, batch):
    """Collect in `batch` the oldest pending records in region `v` that suffice for a class; return how many, or -1.

    They are one record of each of k persons, and of further persons with values that are still needed. Only records
    from `x` to `end` are considered. The result is -1 if they do not suffice.

    Args:
        v: Number of the region.
        x: The first record that is considered.
        end: End of the records that are considered (exclusive).
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        regions: `RegionArrays`.
        batch: Output: int64 record numbers.
    """
    requirement.clock[0] += 1
    n_values, n = np.zeros(len(requirement.min_values), np.int64), np.int64(0)
    for t in range(x, end):
        if (
            records.class_ids[t] != PENDING
            or not has_new_person(t, requirement, records)
            or not _is_within(regions.region_ids[t], v, regions.shape)
        ):
            continue
        wanted = n < requirement.k
        for s in range(len(requirement.min_values)):
            wanted = wanted or (n_values[s] < requirement.min_values[s] and has_new_value(t, s, requirement, records))
        if not wanted:
            continue
        batch[n] = t
        n += count_record(t, requirement, records, n_values)
        if missing_column(n, requirement, n_values) == -1:
            return n
    return np.int64(-1)


@kernel_part
def _is_within(u, v, shape):
    """Return whether region `u` is region `v` or a descendant of it.

    Args:
        u: Number of a region.
        v: Number of the region.
        shape: `RegionArrays.shape`.
    """
    while u > v:  # each has a greater number than that above it
        u = shape[u, PARENT]
    return u == v


@kernel_part
def _set_published_bounds(v, n, x, end, records, regions, batch, to_low, to_high, attributes):
    """Set the bounds `to_low` and `to_high` that a class of region `v` publishes, in place.

    They are those of the region. A side on which a region of numbers is open ends at the last record on this side,
    including records that stay pending in the region. If all n records of the class are NULL, the bounds are (inf,
    -inf); if some are, (-inf, inf), which is published as `*`.

    Args:
        v: Number of the region.
        n: Number of records of the class.
        x: The first record that is considered as pending.
        end: End of the records that are considered (exclusive).
        records: `RecordArrays`.
        regions: `RegionArrays`.
        batch: int64 record numbers; the first n are the class.
        to_low, to_high: Output: (attributes,) float64 bounds.
        attributes: `AttributeArrays`.
    """
    for a in range(len(to_low)):
        nulls, lowest, highest = np.int64(0), np.inf, -np.inf
        for j in range(n):
            value = records.values[batch[j], a]
            if value != value:
                nulls += 1
            else:
                lowest, highest = min(lowest, value), max(highest, value)
        if nulls == n:
            to_low[a], to_high[a] = np.inf, -np.inf
        elif nulls > 0:
            to_low[a], to_high[a] = -np.inf, np.inf
        elif attributes.node_starts[a] < attributes.node_starts[a + 1]:
            node = attributes.nodes[attributes.node_starts[a] + np.int64(regions.lows[v, a]), 2]
            to_low[a], to_high[a] = float(node), float(attributes.nodes[attributes.node_starts[a] + node, 1])
        else:
            to_low[a] = min(lowest, np.inf if regions.lows[v, a] == -np.inf else regions.lows[v, a])
            to_high[a] = max(highest, -np.inf if regions.highs[v, a] == np.inf else regions.highs[v, a])
    for t in range(x, end):
        if records.class_ids[t] != PENDING or not _is_within(regions.region_ids[t], v, regions.shape):
            continue
        for a in range(len(to_low)):
            value = records.values[t, a]
            if attributes.node_starts[a] == attributes.node_starts[a + 1] and to_low[a] <= to_high[a]:
                if value < to_low[a] and regions.lows[v, a] == -np.inf:
                    to_low[a] = value
                elif value > to_high[a] and regions.highs[v, a] == np.inf:
                    to_high[a] = value
