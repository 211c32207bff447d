"""Sums of distances along an axis (a number with many values), and bounds on them for boxes."""

import numpy as np

from dbanon.kernels.allocate import empty_table
from dbanon.kernels.index_arrays import CHUNK
from dbanon.kernels.jit import kernel, kernel_part

LEAST_FROM, LEAST_TO, LEAST_SUM, NULL_SUM, SUM_CONSTANT = range(5)
"""Columns of `axis_minima`: the places from which and to which the sum is least, that least sum, the sum at NULL, and
the part of `axis_sum` that is the same for all values."""


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
def add_to_axis(axes, query, a, code, times):
    """Add the value `code` of axis `a`, `times` times, to a query, which sums distances to all values added so far.

    Only the prefix sums of counts and of places are changed; the caller counts places and NULLs.

    Args:
        axes: `Axes`.
        query: `SumQuery`; updated in place.
        a: Number of the axis.
        code: The value.
        times: How often the value is added.
    """
    start, chunk_start, length = axes.starts[a], axes.chunk_starts[a], axes.lengths[a]
    place = axes.places[start + code]
    add_to_prefix_sums(query.counts, query.count_chunks, start, chunk_start, length, code, times)
    add_to_prefix_sums(query.totals, query.total_chunks, start, chunk_start, length, code, place * times)


@kernel
def add_axis_value(axes, query, a, code, times):
    """Call `add_to_axis` from Python: add a value to the prefix sums of a query, in place.

    Args:
        axes: `Axes`.
        query: `SumQuery`; updated in place.
        a: Number of the axis.
        code: The value.
        times: How often the value is added.
    """
    add_to_axis(axes, query, a, code, times)


@kernel_part
def axis_sum(a, code, axes, query, minima):
    """Return the summed distance of a value (not NULL) of axis `a` to the values of a query.

    If the query has no counts, it is one interval, and the result is the distance of the value to that interval, or
    that of NULL if the interval is NULL.

    Args:
        a: Number of the axis.
        code: The value.
        axes: `Axes`.
        query: `SumQuery`.
        minima: What `axis_minima` returns.
    """
    value_index = axes.starts[a] + code
    place = axes.places[value_index]
    if len(query.counts) == 0:
        if query.n_nulls[a] > 0:
            return axes.null_distances[a]
        return max(query.low[a] - place, place - query.high[a], np.int64(0))
    chunk = axes.chunk_starts[a] + (code >> CHUNK)
    count = query.counts[value_index] + query.count_chunks[chunk]
    total = query.totals[value_index] + query.total_chunks[chunk]
    return place * (2 * count - query.n_places[a]) - 2 * total + minima[a, SUM_CONSTANT]


@kernel_part
def axis_minima(axes, query):
    """Return an (axes, 5) table of the values at which a query's summed distance is least on each axis.

    Its columns are LEAST_FROM, LEAST_TO, LEAST_SUM, NULL_SUM and SUM_CONSTANT.

    Args:
        axes: `Axes`.
        query: `SumQuery`.
    """
    starts, lengths, nulls, chunks = axes.starts, axes.lengths, axes.null_distances, axes.chunk_starts
    minima = empty_table(len(lengths), np.int64(5))
    for a in range(len(lengths)):
        for i in range(5):
            minima[a, i] = 0
        if len(query.counts) == 0:
            is_null = query.n_nulls[a] > 0
            minima[a, LEAST_FROM], minima[a, LEAST_TO] = query.low[a], query.high[a]
            minima[a, LEAST_SUM] = nulls[a] if is_null else 0
            minima[a, NULL_SUM] = 0 if is_null else nulls[a]
            continue
        number, last = query.n_places[a], lengths[a] - 1
        minima[a, NULL_SUM] = number * nulls[a]
        total = query.totals[starts[a] + last] + query.total_chunks[chunks[a] + (last >> CHUNK)]
        minima[a, SUM_CONSTANT] = total + query.n_nulls[a] * nulls[a]
        # The median: the first value with half of the counts at or before it.
        below, above = np.int64(0), last
        while below < above:
            middle = (below + above) >> 1
            if 2 * (query.counts[starts[a] + middle] + query.count_chunks[chunks[a] + (middle >> CHUNK)]) < number:
                below = middle + 1
            else:
                above = middle
        minima[a, LEAST_FROM] = minima[a, LEAST_TO] = axes.places[starts[a] + below]
        minima[a, LEAST_SUM] = axis_sum(a, below, axes, query, minima)
    return minima


@kernel_part
def axes_bound(node, boxes, axes, query, minima, sign):
    """Return a lower bound, over all records in a box, of `sign` times the summed distance on all axes.

    Args:
        node: The box.
        boxes: (nodes, 2 * axes) least and greatest code of each box on each axis.
        axes, query, minima: See `axis_sum`.
        sign: 1, or -1 to search for the greatest sum.
    """
    places, starts, lengths = axes.places, axes.starts, axes.lengths
    bound = np.int64(0)
    for a in range(len(lengths)):
        first, last_code = np.int64(boxes[node, 2 * a]), np.int64(boxes[node, 2 * a + 1])
        null = minima[a, NULL_SUM]
        if first == lengths[a]:
            bound += sign * null
            continue
        last = min(last_code, lengths[a] - 1)
        if sign > 0:
            if places[starts[a] + last] < minima[a, LEAST_FROM]:
                value_bound = axis_sum(a, last, axes, query, minima)
            elif first == last or places[starts[a] + first] > minima[a, LEAST_TO]:
                value_bound = axis_sum(a, first, axes, query, minima)
            else:
                value_bound = minima[a, LEAST_SUM]
            bound += min(value_bound, null) if last_code == lengths[a] else value_bound
        else:
            value_bound = max(axis_sum(a, first, axes, query, minima), axis_sum(a, last, axes, query, minima))
            bound -= max(value_bound, null) if last_code == lengths[a] else value_bound
    return bound
