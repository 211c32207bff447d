"""The k nearest pools by loss, in a bounded heap with the farthest on top; ties go to the first."""

import numpy as np

from dbanon.kernels.heap import pop, push
from dbanon.kernels.jit import kernel_part
from dbanon.kernels.loss import attribute_loss, begin_class
from dbanon.kernels.min_loss_assignment import INFINITE_LOSS, MAX_TABLE_VALUES, fill_code_losses


@kernel_part
def fill_distance_query(tuple_id, measure, query):
    """Prepare a query for distances to a tuple, in place: the loss of a class of two tuples, 0 if they are equal.

    The query's span becomes the tuple. The tables of attributes with at most MAX_TABLE_VALUES values are filled.

    Args:
        tuple_id: Number of the tuple.
        measure: `LossArrays`.
        query: `LossTables`; span and table are set.
    """
    begin_class(tuple_id, measure, query.span)
    for a in range(len(measure.terms)):
        if measure.terms[a, 1] <= MAX_TABLE_VALUES:
            fill_code_losses(a, query.codes_of, query.span, measure, query.table)
            query.table[query.codes_of[a] + measure.codes[tuple_id, a]] = 0


@kernel_part
def keep_nearest(pool, distance, size, pools, heap_distances):
    """Push a pool at a distance into a bounded heap, if it is among the nearest len(pools); return the heap's size.

    In a full heap, the farthest is replaced if the new one is nearer. Pools must ascend from call to call, so that ties
    go to the first.

    Args:
        pool: Number of the pool.
        distance: Its distance.
        size: Number of pools in the heap.
        pools: The pools in the heap, the farthest on top; its length is the capacity of the heap; updated in place.
        heap_distances: Distances of these pools; updated in place.
    """
    if size == len(pools):
        if distance >= heap_distances[0]:
            return size
        pop(heap_distances, pools, size)
        size -= 1
    push(heap_distances, pools, size, distance, pool)
    return size + 1


@kernel_part
def search_nearest(query_tuple, alive, n_alive, n_remaining, tuples, measure, query, pools, heap_distances):
    """Push the pools in `alive` with remaining records that are nearest to a tuple into an empty heap of len(pools).

    Pools without remaining records are removed from `alive` in place.

    Args:
        query_tuple: The tuple for which `query` was filled.
        alive: Pools that may have remaining records, ascending.
        n_alive: Their number.
        n_remaining: Remaining records of each pool.
        tuples: Tuple of each pool.
        measure: `LossArrays`.
        query: `LossTables` (see `fill_distance_query`).
        pools, heap_distances: Output: the heap, with the farthest on top.

    Returns:
        Number of pools still alive, which are then the first ones, and the heap's size.
    """
    size, n_kept, limit = np.int64(0), np.int64(0), np.int64(INFINITE_LOSS)
    for i in range(n_alive):
        pool = alive[i]
        if n_remaining[pool] == 0:
            continue
        alive[n_kept] = pool
        n_kept += 1
        t, total = tuples[pool], np.int64(0)
        for a in range(len(measure.terms)):
            code, query_code = np.int64(measure.codes[t, a]), np.int64(measure.codes[query_tuple, a])
            if measure.terms[a, 1] <= MAX_TABLE_VALUES:
                total += query.table[query.codes_of[a] + code]
            elif (
                code != query_code
                and measure.terms[a, 0] == 0
                and code < measure.terms[a, 1]
                and query_code < measure.terms[a, 1]
            ):
                total += (
                    measure.packed[measure.terms[a, 5] + max(code, query_code)]
                    - measure.packed[measure.terms[a, 4] + min(code, query_code)]
                )
            elif code != query_code:
                total += attribute_loss(a, min(code, query.span[a, 0]), max(code, query.span[a, 1]), measure)
            if total >= limit:
                break
        if total < limit:
            size = keep_nearest(pool, total, size, pools, heap_distances)
            if size == len(pools):
                limit = heap_distances[0]
    return n_kept, size


@kernel_part
def sort_heap(size, pools, heap_distances):
    """Sort a heap of `size` pools in place, the nearest first; it is no heap afterwards.

    Args:
        size: Number of pools in the heap.
        pools: The pools in the heap, the farthest on top; its length is the capacity of the heap; updated in place.
        heap_distances: Distances of these pools; updated in place.
    """
    for last in range(size - 1, 0, -1):
        pool, distance = pools[0], heap_distances[0]
        pop(heap_distances, pools, last + 1)
        pools[last], heap_distances[last] = pool, distance


@kernel_part
def swap_to(row, target, rows, place):
    """Swap record `row` with the one at place `target` of `rows`, in place; `place` has each record's place.

    Args:
        row: Number of the record.
        target: A place in `rows`.
        rows: Numbers of records; updated in place.
        place: (records,) place of each record in `rows`; updated in place.
    """
    place[rows[target]], rows[place[row]] = place[row], rows[target]
    place[row], rows[target] = target, row
