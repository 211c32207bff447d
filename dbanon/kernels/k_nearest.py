"""The k nearest pools by loss; ties go to the first."""

import numpy as np

from dbanon.kernels.arrays import FIRST_ARRAY, HIGH, KIND, LOW, N_VALUES, NUMBER, SECOND_ARRAY
from dbanon.kernels.heap import push_bounded, sort_heap
from dbanon.kernels.jit import kernel_part
from dbanon.kernels.loss import attribute_loss, begin_class
from dbanon.kernels.min_loss_assignment import INFINITE_LOSS, MAX_TABLE_VALUES, fill_code_losses

SEARCH_FACTOR = 4
"""The search is for this many times the records that a cluster needs, and for more if these do not suffice."""


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
        if measure.terms[a, N_VALUES] <= MAX_TABLE_VALUES:
            fill_code_losses(a, query.codes_of, query.span, measure, query.table)
            query.table[query.codes_of[a] + measure.codes[tuple_id, a]] = 0


@kernel_part
def search_nearest(query_tuple, alive, n_alive, n_remaining, tuples, measure, query, pools, heap_distances):
    """Search for the len(pools) pools in `alive` with remaining records that are nearest to a tuple.

    Pools without remaining records are removed from `alive` in place.

    Args:
        query_tuple: The tuple for which `query` was filled.
        alive: Pools that may have remaining records, ascending.
        n_alive: Their number.
        n_remaining: Remaining records of each pool.
        tuples: Tuple of each pool.
        measure: `LossArrays`.
        query: `LossTables` (see `fill_distance_query`).
        pools, heap_distances: Output: the nearest pools and their distances, the nearest first.

    Returns:
        Number of pools still alive, which are then the first ones, and the number of nearest pools.
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
            if measure.terms[a, N_VALUES] <= MAX_TABLE_VALUES:
                total += query.table[query.codes_of[a] + code]
            elif (
                code != query_code
                and measure.terms[a, KIND] == NUMBER
                and code < measure.terms[a, N_VALUES]
                and query_code < measure.terms[a, N_VALUES]
            ):
                total += (
                    measure.packed[measure.terms[a, SECOND_ARRAY] + max(code, query_code)]
                    - measure.packed[measure.terms[a, FIRST_ARRAY] + min(code, query_code)]
                )
            elif code != query_code:
                total += attribute_loss(a, min(code, query.span[a, LOW]), max(code, query.span[a, HIGH]), measure)
            if total >= limit:
                break
        if total < limit:
            size = push_bounded(heap_distances, pools, size, len(pools), total, pool)
            if size == len(pools):
                limit = heap_distances[0]
    sort_heap(heap_distances, pools, size)
    return n_kept, size


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
