"""Splitting a set of records in two classes that both meet the privacy model."""

import numpy as np

from dbanon.kernels.allocate import zeros
from dbanon.kernels.jit import kernel_part
from dbanon.kernels.loss import begin_class, widen_class
from dbanon.kernels.model_check import is_valid_group
from dbanon.kernels.model_gathering import can_join, count_values
from dbanon.kernels.optimal_cut import INFINITE_LOSS


@kernel_part
def carve_class(records, m, size, rest, measure, record_model, person_model, scratch, span):
    """Reorder records[:m] in place: first a class of `size` records, then the rest in order; return the loss of both.

    The class takes records in order, skipping those with which it could no longer meet `record_model`. Equal tuples
    should be adjacent. Whether class and rest meet the models is checked afterwards.

    Args:
        records: Tuple of each record.
        m: Number of records.
        size: Records of the class.
        rest: Scratch.
        measure: `LossArrays`.
        record_model, person_model: k and the privacy models (see `model_check.is_valid_group`).
        scratch: `ModelScratch`.
        span: Scratch.

    Returns:
        The total loss of the class and the rest, or INFINITE_LOSS if either misses the models or the class has fewer
        than `size` records.
    """
    columns = 0
    if record_model is not None:
        columns = len(record_model.values)
    distinct = zeros(columns)
    scratch.counts[:] = 0
    n_taken, n_rest = np.int64(0), np.int64(0)
    for i in range(m):
        tuple_id = records[i]
        joins = n_taken < size
        if record_model is not None:
            values, rules = record_model.values, record_model.rules
            joins = joins and can_join(tuple_id, values, scratch.counts, n_taken, size, rules, distinct, scratch.extra)
            if joins:
                count_values(tuple_id, values, scratch.counts, rules, distinct)
        if joins:
            records[n_taken] = tuple_id
            n_taken += 1
        else:
            rest[n_rest] = tuple_id
            n_rest += 1
    for i in range(n_rest):
        records[n_taken + i] = rest[i]
    if n_taken < size:
        return INFINITE_LOSS
    front = np.int64(0)
    for first, end in ((front, n_taken), (n_taken, m)):
        if not is_valid_group(records, first, end, record_model, person_model, scratch.counts, scratch.extra):
            return INFINITE_LOSS
    return class_loss(records, front, n_taken, measure, span) * n_taken + (
        class_loss(records, n_taken, m, measure, span) * (m - n_taken)
    )


@kernel_part
def class_loss(tuple_ids, first, end, measure, span):
    """Return the loss per record of a class of the tuples tuple_ids[first:end], in which equal ones are adjacent.

    Args:
        tuple_ids: Numbers of tuples.
        first, end: The class has the tuples tuple_ids[first:end], at least one.
        measure: `LossArrays`.
        span: (attributes, 4) scratch, which becomes the class.
    """
    loss = begin_class(tuple_ids[first], measure, span)
    for i in range(first + 1, end):
        if tuple_ids[i] != tuple_ids[i - 1]:
            loss = widen_class(loss, tuple_ids[i], measure, span)
    return loss
