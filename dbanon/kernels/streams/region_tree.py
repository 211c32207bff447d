"""A tree of regions, smaller with each level: each record belongs to the deepest region that contains it.

The records of a leaf are a linked list in the order of arrival; published records stay there until the leaf is
examined. See `RegionArrays`.
"""

import numpy as np

from dbanon.kernels.jit import kernel_part
from dbanon.kernels.sorting import sort_values
from dbanon.kernels.streams.class_loss import attribute_loss, begin_class, widen_class
from dbanon.kernels.streams.open_clusters import is_enough
from dbanon.kernels.streams.sliding_window import PENDING

PARENT, AXIS, KIND, CHILD, SIBLING, BRANCH, N_NEW, N_PENDING = range(8)
LEAF, NUMBER, NULLS, CATEGORY = range(4)


@kernel_part
def add_record(t, records, attributes, regions):
    """Add record `t` to the deepest region that contains it, in place; return the region.

    The pending counts of all its regions are increased.

    Args:
        t: Number of the record.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        regions: `RegionArrays`; updated in place.
    """
    v, value = np.int64(0), records.values[t]
    while True:
        regions.shape[v, N_PENDING] += 1
        below = _child(v, value, attributes.node_starts, attributes.nodes, regions.shape, regions.cuts)
        if below < 0:
            break
        v = below
    regions.region_ids[t] = v
    regions.shape[v, N_NEW] += 1
    if regions.shape[v, KIND] == LEAF:
        append_record(t, v, regions)
    return v


@kernel_part
def _child(v, value, node_starts, nodes, shape, cuts):
    """Return the child of region `v` that contains a record with these values, or -1 if there is none.

    A leaf has no child, and the children of other regions may not cover all values.

    Args:
        v: Number of the region.
        value: (attributes,) float64 values of the record; NaN for NULL.
        node_starts, nodes: As in `AttributeArrays`.
        shape: `RegionArrays.shape`.
        cuts: `RegionArrays.cuts`.
    """
    kind, a = shape[v, KIND], shape[v, AXIS]
    if kind == LEAF:
        return np.int64(-1)
    x, child = value[a], shape[v, CHILD]
    if kind == NULLS:
        return child if x != x else shape[child, SIBLING]
    if x != x:
        return np.int64(-1)
    if kind == NUMBER:
        return child if x <= cuts[v] else shape[child, SIBLING]
    while child >= 0 and not shape[child, BRANCH] <= x <= nodes[node_starts[a] + shape[child, BRANCH], 1]:
        child = shape[child, SIBLING]
    return child


@kernel_part
def append_record(t, v, regions):
    """Append record `t` to the linked list of region `v`, in place; pending counts are not changed.

    Args:
        t: Number of the record.
        v: Number of the region.
        regions: `RegionArrays`; updated in place.
    """
    regions.next_record[t] = -1
    if regions.heads[v] < 0:
        regions.heads[v] = t
    else:
        regions.next_record[regions.tails[v]] = t
    regions.tails[v] = t


@kernel_part
def remove_record(t, shape, region_ids):
    """Subtract record `t` from the pending counts of all its regions, in place; lists are not changed.

    Args:
        t: Number of the record.
        shape: `RegionArrays.shape`; updated in place.
        region_ids: (records,) int64: the deepest region of each record.
    """
    v = region_ids[t]
    while v >= 0:
        shape[v, N_PENDING] -= 1
        v = shape[v, PARENT]


@kernel_part
def split_leaf(v, state, requirement, records, attributes, regions, scratch):
    """Split leaf `v`, in place, and the resulting leaves, as long as each part suffices for a class.

    Only pending records count. A leaf with fewer than 2k pending records is not split. Returns the number of examined
    records.

    Args:
        v: Number of the region.
        state: int64 counters: [4] regions; updated in place.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        regions: `RegionArrays`; updated in place.
        scratch: `RegionScratch`; its contents are overwritten.
    """
    n_examined, next_region = np.int64(0), state[4]
    while True:
        if regions.shape[v, N_PENDING] >= 2 * requirement.k:
            n_examined += regions.shape[v, N_PENDING]
            _split_once(v, state, requirement, records, attributes, regions, scratch)
        if next_region == state[4]:
            return n_examined
        v = next_region
        next_region += 1


@kernel_part
def _split_once(v, state, requirement, records, attributes, regions, scratch):
    """Split leaf `v`, in place, on its widest attribute (ties: the first) that can be split; else it stays a leaf.

    Its list is rebuilt from its pending records; published ones are dropped.

    Args:
        v: Number of the region.
        state: int64 counters: [4] regions; updated in place.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        regions: `RegionArrays`; updated in place.
        scratch: `RegionScratch`; its contents are overwritten.
    """
    regions.shape[v, N_NEW] = 0
    size, t = np.int64(0), regions.heads[v]
    while t >= 0:
        if records.class_ids[t] == PENDING:
            scratch.rows[size] = t
            size += 1
        t = regions.next_record[t]
    ends = np.empty((2, len(attributes.weights)))
    begin_class(records.values[scratch.rows[0]], ends[0], ends[1], attributes)
    for j in range(1, size):
        widen_class(records.values[scratch.rows[j]], ends[0], ends[1], attributes)
    for i in range(len(attributes.weights)):
        scratch.widths[i] = attributes.weights[i] * attribute_loss(i, ends[0, i], ends[1, i], attributes)
    while True:
        a = np.int64(0)
        for other in range(len(attributes.weights)):
            if scratch.widths[other] > scratch.widths[a]:
                a = np.int64(other)
        if scratch.widths[a] <= 0:
            break
        scratch.widths[a] = -1.0
        parts = _split_records(v, a, size, state[4], requirement, records, attributes, regions, scratch)
        good = parts > 1
        for c in range(state[4], state[4] + parts):
            good = good and is_enough(c, requirement, regions.heads, regions.next_record, records)
        if good:
            regions.shape[v, CHILD] = state[4]
            for c in range(state[4], state[4] + parts):
                t = regions.heads[c]
                while t >= 0:
                    regions.region_ids[t] = c
                    regions.shape[c, N_PENDING] += 1
                    t = regions.next_record[t]
            state[4] += parts
            regions.heads[v] = -1
            return
    regions.shape[v, KIND] = LEAF
    regions.heads[v] = -1
    for j in range(size):
        append_record(scratch.rows[j], v, regions)


@kernel_part
def _split_records(v, a, size, new, requirement, records, attributes, regions, scratch):
    """Distribute leaf `v`'s pending records by attribute `a` to regions from `new` on; return how many regions.

    If there are NULLs, the two regions are NULL and values. Else they are numbers up to the median and above it, or the
    nodes of a hierarchy, see `_split_by_nodes`; 0 if these do not allow a split. Attribute and kind of the cut are
    written to the leaf's row of `regions.shape`.

    Args:
        v: Number of the region.
        a: Number of the attribute.
        size: Number of the leaf's pending records, which are in `scratch.rows`.
        new: Number of the first new region.
        requirement: `RequirementArrays`.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        regions: `RegionArrays`; updated in place.
        scratch: `RegionScratch`; its contents are overwritten.
    """
    n_known = np.int64(0)
    for j in range(size):
        x = records.values[scratch.rows[j], a]
        if x == x:
            scratch.sorted_values[n_known] = x
            n_known += 1
    regions.shape[v, AXIS] = a
    if n_known < size:
        regions.shape[v, KIND] = NULLS
    elif attributes.node_starts[a] < attributes.node_starts[a + 1]:
        regions.shape[v, KIND] = CATEGORY
        return _split_by_nodes(v, a, size, new, requirement, records, attributes, regions, scratch)
    else:
        regions.shape[v, KIND] = NUMBER
        sort_values(scratch.sorted_values, n_known)
        middle, following = (n_known - 1) // 2, np.int64(0)
        while scratch.sorted_values[middle] == scratch.sorted_values[n_known - 1]:
            middle -= 1
        regions.cuts[v] = scratch.sorted_values[middle]
        while scratch.sorted_values[following] <= regions.cuts[v]:
            following += 1
    for branch in range(2):
        _create_region(new + branch, v, np.int64(branch), regions)
    regions.shape[new, SIBLING] = new + 1
    if regions.shape[v, KIND] == NUMBER:
        regions.highs[new, a], regions.lows[new + 1, a] = regions.cuts[v], scratch.sorted_values[following]
    for j in range(size):
        x = records.values[scratch.rows[j], a]
        is_second = x == x if n_known < size else x > regions.cuts[v]
        append_record(scratch.rows[j], new + is_second, regions)
    return np.int64(2)


@kernel_part
def _split_by_nodes(v, a, size, new, requirement, records, attributes, regions, scratch):
    """Distribute leaf records, none with NULL on `a`, to regions of the nodes below their lowest common ancestor.

    Returns the number of regions; 0 if a record is at that ancestor itself, or if there would be too many for k records
    each.

    Args:
        v: Number of the region.
        a: Number of the attribute.
        size: Number of the leaf's pending records, which are in `scratch.rows`.
        new: Number of the first new region.
        requirement: `RequirementArrays`.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        regions: `RegionArrays`; updated in place.
        scratch: `RegionScratch`; its contents are overwritten.
    """
    lowest, highest = records.values[scratch.rows[0], a], records.values[scratch.rows[0], a]
    for j in range(size):
        lowest, highest = (
            min(lowest, records.values[scratch.rows[j], a]),
            max(highest, records.values[scratch.rows[j], a]),
        )
    above = np.int64(lowest)
    while highest > attributes.nodes[attributes.node_starts[a] + above, 1]:
        above = attributes.nodes[attributes.node_starts[a] + above, 0]
    if lowest == above:
        return np.int64(0)
    parts = np.int64(0)
    for j in range(size):
        branch = np.int64(records.values[scratch.rows[j], a])
        while attributes.nodes[attributes.node_starts[a] + branch, 0] != above:
            branch = attributes.nodes[attributes.node_starts[a] + branch, 0]
        c = new
        while c < new + parts and regions.shape[c, BRANCH] != branch:
            c += 1
        if c == new + parts:
            parts += 1
            if parts * requirement.k > size:
                return np.int64(0)
            _create_region(c, v, branch, regions)
            regions.lows[c, a] = float(branch)
            regions.highs[c, a] = float(attributes.nodes[attributes.node_starts[a] + branch, 1])
            if parts > 1:
                regions.shape[c - 1, SIBLING] = c
        append_record(scratch.rows[j], c, regions)
    return parts


@kernel_part
def _create_region(c, v, branch, regions):
    """Create region `c` below region `v`, with v's bounds and without records; `branch` is its part of the cut.

    Args:
        c: Number of the new region.
        v: Number of the region above it.
        branch: A node of a hierarchy; else 0 or 1, for the first or the second child.
        regions: `RegionArrays`; updated in place.
    """
    shape = regions.shape
    shape[c] = 0
    shape[c, PARENT], shape[c, CHILD], shape[c, SIBLING], shape[c, BRANCH] = v, -1, -1, branch
    regions.lows[c], regions.highs[c] = regions.lows[v], regions.highs[v]
    regions.heads[c] = -1
