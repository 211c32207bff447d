"""Optimal cuts of a sequence: records in a fixed order are cut into classes with the least total loss.

For one number in ascending order this is the exact univariate microaggregation of Hansen and Mukherjee (2003); for
tuples in an order it is its multivariate form (Domingo-Ferrer et al. 2006), here with the loss of generalization.
"""

import numpy as np

from dbanon.kernels.allocate import empty_int32, empty_int64, empty_table
from dbanon.kernels.arrays import PathArrays
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.loss import begin_class, join_classes, widen_class
from dbanon.kernels.model_check import add_to_group, begin_group, check_group_from, is_counted_group_valid

INFINITE_LOSS = 2**63 - 1
"""No cut is possible. All losses together are below 2^62, and as much again if each record costs the penalty."""


MIN_CUT_PLACES = 64
"""Least number of places among which the end of a run is chosen."""

MIN_JOINED_RUN = 8
"""From this many records on, a run is joined of two cached classes; shorter ones are computed record by record."""


@kernel_part
def allocate_path(min_size, d, max_records):
    """Return uninitialized `PathArrays` for a sequence of up to `max_records` records.

    Args:
        min_size: Fewest records of a class.
        d: Number of attributes.
        max_records: Greatest number of records.
    """
    return PathArrays(
        empty_table(d, np.int64(4)),
        empty_table(d, np.int64(4)),
        empty_table(min(min_size, 2 * MIN_CUT_PLACES) * d, np.int64(4)),
        empty_int64(max_records + 1),
        empty_int32(max_records + 1),
    )


@kernel_part
def cache_runs(tuple_ids, i, min_size, step, edge, ahead_end, measure, cut_arrays):
    """Cache classes that end or begin at a place (the edge), from which classes of `min_size` records are joined.

    `cut_arrays.ahead` is extended to the class of tuple_ids[edge:i]. If `i` is `min_size` or more beyond the edge, a
    new edge is set just before `i`, and `cut_arrays.cached` is filled: one row per attribute for each class that ends
    at the edge and begins at edge + 1 - min_size or at every step-th record after it. Returns the edge, and `i` as the
    end of `ahead`.

    Args:
        tuple_ids: Number of the tuple of each record, in the order of the sequence.
        i: Where the run ends (exclusive).
        min_size: Fewest records of a class.
        step: Distance between the places where runs may end.
        edge: The edge so far.
        ahead_end: Where the class `ahead` ends so far (exclusive).
        measure: `LossArrays`.
        cut_arrays: `PathArrays`; updated in place.
    """
    span, ahead, cached = cut_arrays.span, cut_arrays.ahead, cut_arrays.cached
    if i - edge >= min_size:
        edge, first_kept = i - 1, i - min_size
        for j in range(edge - 1, first_kept - 1, -1):
            if j == edge - 1:
                begin_class(tuple_ids[j], measure, span)
            elif tuple_ids[j] != tuple_ids[j + 1]:
                widen_class(np.int64(0), tuple_ids[j], measure, span)
            if (j - first_kept) % step == 0:
                row = (j - first_kept) // step * len(span)
                for a in range(len(span)):
                    for c in range(4):
                        cached[row + a, c] = span[a, c]
        begin_class(tuple_ids[edge], measure, ahead)
        ahead_end = i
    while ahead_end < i:
        if tuple_ids[ahead_end] != tuple_ids[ahead_end - 1]:
            widen_class(np.int64(0), tuple_ids[ahead_end], measure, ahead)
        ahead_end += 1
    return edge, ahead_end


@kernel_part
def cut_sequence(tuple_ids, m, min_size, max_size, penalty, measure, record_model, person_model, scratch, cut_arrays):
    """Cut tuple_ids[:m] (one per record) in order into classes of `min_size` to `max_size`; return the least loss.

    In `cut_arrays`, total[i] becomes the least total loss of the first i records, back[i] where the last of their
    classes begins. Up to 2 * min_size - 1 records are one class. A class that misses k or the privacy models costs
    `penalty` per record in addition; if `penalty` is negative it is not allowed, and the result may be INFINITE_LOSS.
    From a min_size of 2 * MIN_CUT_PLACES on, classes end only at every (min_size // MIN_CUT_PLACES)-th record.

    Without models, a class that ends 4 * min_size - 2 or more records after the first of a run of equal records is
    min_size of them: no class of records before the run can lose less, because cut in two it would lose as little, and
    every number of records from min_size on can be cut into classes of the allowed sizes.

    O(m * min(max_size, MIN_CUT_PLACES * max_size / min_size) * attributes) time.

    Args:
        tuple_ids: Number of the tuple of each record, in the order of the sequence.
        m: Number of records.
        min_size: Fewest records of a class.
        max_size: Most records of a class.
        penalty: Loss per record of a class that misses the models; negative: such a class is not allowed.
        measure: `LossArrays`.
        record_model: (k, values, rules) if every record counts in the models, else None.
        person_model: (k, rules, pairs, people, seen) if distinct persons count in the models, else None.
        scratch: `ModelScratch`.
        cut_arrays: `PathArrays`; updated in place.
    """
    span, ahead, cached, total, back = cut_arrays
    step = max(min_size // MIN_CUT_PLACES, 1)
    for i in range(min(min_size, m + 1)):
        total[i] = INFINITE_LOSS
    total[0] = 0
    loss, edge, done = np.int64(0), np.int64(-min_size), np.int64(0)
    run_start = 0
    skips_long_runs = record_model is None and person_model is None and step == 1
    # Up to 2 * least - 1 records make one run.
    begin_group(record_model, person_model, scratch.counts)
    for i in range(min(2 * min_size, m + 1) - 1):
        if i == 0:
            loss = begin_class(tuple_ids[0], measure, span)
        elif tuple_ids[i] != tuple_ids[i - 1]:
            loss = widen_class(loss, tuple_ids[i], measure, span)
            run_start = i
        add_to_group(tuple_ids, i, i + 1, record_model, person_model, scratch.counts)
        if i + 1 >= min_size:
            value = loss * (i + 1)
            if not is_counted_group_valid(
                tuple_ids, np.int64(0), i + 1, record_model, person_model, scratch.counts, scratch.extra
            ):
                value = np.int64(INFINITE_LOSS) if penalty < 0 else value + penalty * (i + 1)
            total[i + 1], back[i + 1] = value, 0
    for i in range(2 * min_size, m + 1):
        total[i] = INFINITE_LOSS
        if tuple_ids[i - 1] != tuple_ids[i - 2]:
            run_start = i - 1
        if i < m and (i > m - min_size or i % step > 0):
            continue  # too few would be left, or no place to cut
        if skips_long_runs and i - run_start >= 4 * min_size - 2:
            total[i] = total[i - min_size] + begin_class(tuple_ids[i - 1], measure, span) * min_size
            back[i] = i - min_size
            continue
        lowest, best_start, promising, first_start = np.int64(INFINITE_LOSS), -1, i - min_size, max(i - max_size, 0)
        if min_size >= MIN_JOINED_RUN and i % step == 0 and (i + step <= m - min_size or i - edge < min_size):
            edge, done = cache_runs(tuple_ids, i, min_size, step, edge, done, measure, cut_arrays)
            loss = join_classes(cached, (promising - edge + min_size - 1) // step * len(span), ahead, span, measure)
        else:  # or no other is made of what it would keep
            loss = begin_class(tuple_ids[i - 1], measure, span)
            for j in range(i - 2, promising - 1, -1):
                if tuple_ids[j] != tuple_ids[j + 1]:
                    loss = widen_class(loss, tuple_ids[j], measure, span)
        begin_group(record_model, person_model, scratch.counts)
        counted_from, reach = i, i  # the group has items[counted:i]; none that begins after `reach` has enough persons
        for j in range(promising, first_start - 1, -1):
            if j < i - min_size and tuple_ids[j] != tuple_ids[j + 1]:
                loss = widen_class(loss, tuple_ids[j], measure, span)
            # The loss only grows: where no run that is not looked at yet would lose less than the best, none will.
            promising = min(promising, j)
            while promising >= first_start and (
                total[promising] >= INFINITE_LOSS or total[promising] + loss * (i - promising) >= lowest
            ):
                promising -= 1
            if promising < first_start:
                break
            if total[j] >= INFINITE_LOSS:
                continue
            value = total[j] + loss * (i - j)
            if value < lowest:
                is_valid = False
                if j <= reach:
                    is_valid, reach = check_group_from(
                        tuple_ids, j, counted_from, i, record_model, person_model, scratch.counts, scratch.extra
                    )
                    counted_from = j
                if not is_valid:
                    value = np.int64(INFINITE_LOSS) if penalty < 0 else value + penalty * (i - j)
            if value < lowest:
                lowest, best_start = value, j
        total[i], back[i] = lowest, best_start
    return total[m]


@kernel
def cut_all_records(tuple_ids, min_size, max_size, penalty, measure, record_model, person_model, scratch, labels):
    """Cut all records, in order, into classes with the least loss; return the number of classes and the loss.

    Classes are numbered from the end of the sequence. If no cut is allowed, the loss is INFINITE_LOSS.

    Args:
        tuple_ids: Number of the tuple of each record, in the order of the sequence.
        min_size: Fewest records of a class.
        max_size: Most records of a class.
        penalty: Loss per record of a class that misses the models; negative: such a class is not allowed.
        measure: `LossArrays`.
        record_model: (k, values, rules) if every record counts in the models, else None.
        person_model: (k, rules, pairs, people, seen) if distinct persons count in the models, else None.
        scratch: `ModelScratch`.
        labels: Output: (records,) class of each record.
    """
    m = len(tuple_ids)
    cut_arrays = allocate_path(min_size, measure.codes.shape[1], m)
    loss = cut_sequence(
        tuple_ids, m, min_size, max_size, penalty, measure, record_model, person_model, scratch, cut_arrays
    )
    end, n_classes = m, 0
    while end > 0:
        labels[cut_arrays.back[end] : end] = n_classes
        end = cut_arrays.back[end]
        n_classes += 1
    return n_classes, loss
