"""Sums of distances along an axis (a number with many values), and bounds on them for boxes."""

import numpy as np

from dbanon.kernels.allocate import empty_table
from dbanon.kernels.jit import kernel, kernel_part

CHUNK = 9
"""Prefix sums are kept within chunks of 2^9 values, and over chunks: adding changes few entries, reading takes two."""


@kernel_part
def add_to_prefix_sums(value_sums, chunk_sums, value_start, chunk_start, length, code, amount):
    """Add an amount at one value (`code`) of an axis to prefix sums, in place.

    Args:
        value_sums: Sums of amounts up to each value, within chunks of 2^CHUNK values, for all axes.
        chunk_sums: Sums of amounts in all chunks before each chunk.
        value_start: Where the axis begins in `value_sums`.
        chunk_start: Where it begins in `chunk_sums`.
        length: Number of its values.
        code: The value.
        amount: The amount.
    """
    end = min(((code >> CHUNK) + 1) << CHUNK, length)
    for i in range(value_start + code, value_start + end):
        value_sums[i] += amount
    for i in range(chunk_start + (code >> CHUNK) + 1, chunk_start + (length >> CHUNK) + 1):
        chunk_sums[i] += amount


@kernel_part
def add_to_axis(axis, query, a, code, times):
    """Add the value `code` of axis `a`, `times` times, to a query, which sums distances to all values added so far.

    Only the prefix sums of counts and of places are changed; the caller counts values and NULLs.

    Args:
        axis: The axes, that is, numbers with many values (see `IndexArrays`): places, where those of each axis begin,
            their number, distance of NULL, where chunks begin; None if there are no axes.
        query: Axis part of a query: least and greatest place by axis, numbers of NULLs and of values by axis, and
            prefix sums of counts and places; updated in place.
        a: Number of the axis.
        code: The value.
        times: How often the value is added.
    """
    place = axis[0][axis[1][a] + code]
    add_to_prefix_sums(query[3], query[5], axis[1][a], axis[4][a], axis[2][a], code, times)
    add_to_prefix_sums(query[4], query[6], axis[1][a], axis[4][a], axis[2][a], code, place * times)


@kernel
def add_axis_value(axis, query, a, code, times):
    """Call `add_to_axis` from Python: add a value to the prefix sums of a query, in place.

    Args:
        axis: The axes, that is, numbers with many values (see `IndexArrays`): places, where those of each axis begin,
            their number, distance of NULL, where chunks begin; None if there are no axes.
        query: Axis part of a query: least and greatest place by axis, numbers of NULLs and of values by axis, and
            prefix sums of counts and places; updated in place.
        a: Number of the axis.
        code: The value.
        times: How often the value is added.
    """
    add_to_axis(axis, query, a, code, times)


@kernel_part
def axis_sum(a, code, axis, query, state):
    """Return the summed distance of a value (not NULL) of axis `a` to the values of a query.

    An axis is a number with many values; a query is a multiset of values added so far. If the query has no counts, it
    is one interval instead, and the result is the distance of the value to that interval, or that of NULL if the
    interval is NULL.

    Args:
        a: The axis.
        code: The value.
        axis: Places of the values of all axes, where those of each begin, their number, distance of NULL, where chunks
            begin.
        query: Seven arrays: least and greatest place by axis, numbers of NULLs and of values by axis, prefix sums of
            counts and of places, and both by chunk.
        state: The constants that `axis_minima` returns.
    """
    places, starts = axis[0], axis[1]
    place = places[starts[a] + code]
    low, high, missing, counts, totals, count_chunks, total_chunks = query
    if len(counts) == 0:
        if missing[2 * a] > 0:
            return axis[3][a]
        return max(low[a] - place, place - high[a], np.int64(0))
    chunk = axis[4][a] + (code >> CHUNK)
    count = counts[starts[a] + code] + count_chunks[chunk]
    total = totals[starts[a] + code] + total_chunks[chunk]
    return place * (2 * count - missing[2 * a + 1]) - 2 * total + state[a, 4]


@kernel_part
def axis_minima(axis, query):
    """Return an (axes, 5) table of the values at which a query's summed distance is least on each axis.

    Its columns are: the places from which and to which the sum is least, that least sum, the sum at NULL, and a
    constant for `axis_sum`.

    Args:
        axis: The axes, that is, numbers with many values (see `IndexArrays`).
        query: Seven arrays: least and greatest place by axis, numbers of NULLs and of values by axis, prefix sums of
            counts and of places, and both by chunk.
    """
    places, starts, lengths, nulls, chunks = axis
    low, high, missing, counts, totals, count_chunks, total_chunks = query
    state = empty_table(len(lengths), np.int64(5))
    for a in range(len(lengths)):
        for i in range(5):
            state[a, i] = 0
        if len(counts) == 0:
            is_null = missing[2 * a] > 0
            state[a, 0], state[a, 1] = low[a], high[a]
            state[a, 2] = nulls[a] if is_null else 0
            state[a, 3] = 0 if is_null else nulls[a]
            continue
        number, last = missing[2 * a + 1], lengths[a] - 1
        state[a, 3] = number * nulls[a]
        total = totals[starts[a] + last] + total_chunks[chunks[a] + (last >> CHUNK)]
        state[a, 4] = total + missing[2 * a] * nulls[a]
        # The median: the first value with half of the counts at or before it.
        below, above = np.int64(0), last
        while below < above:
            middle = (below + above) >> 1
            if 2 * (counts[starts[a] + middle] + count_chunks[chunks[a] + (middle >> CHUNK)]) < number:
                below = middle + 1
            else:
                above = middle
        state[a, 0] = state[a, 1] = places[starts[a] + below]
        state[a, 2] = axis_sum(a, below, axis, query, state)
    return state


@kernel_part
def axes_bound(node, boxes, axis, query, state, sign):
    """Return a lower bound, over all records in a box, of `sign` times the summed distance on all axes.

    Args:
        node: The box.
        boxes: (nodes, 2 * axes) least and greatest code of each box on each axis.
        axis, query, state: See `axis_sum`.
        sign: 1, or -1 to search for the greatest sum.
    """
    places, starts, lengths = axis[0], axis[1], axis[2]
    bound = np.int64(0)
    for a in range(len(lengths)):
        first, last_code = np.int64(boxes[node, 2 * a]), np.int64(boxes[node, 2 * a + 1])
        null = state[a, 3]
        if first == lengths[a]:
            bound += sign * null
            continue
        last = min(last_code, lengths[a] - 1)
        if sign > 0:
            if places[starts[a] + last] < state[a, 0]:
                value_bound = axis_sum(a, last, axis, query, state)
            elif first == last or places[starts[a] + first] > state[a, 1]:
                value_bound = axis_sum(a, first, axis, query, state)
            else:
                value_bound = state[a, 2]
            bound += min(value_bound, null) if last_code == lengths[a] else value_bound
        else:
            value_bound = max(axis_sum(a, first, axis, query, state), axis_sum(a, last, axis, query, state))
            bound -= max(value_bound, null) if last_code == lengths[a] else value_bound
    return bound
