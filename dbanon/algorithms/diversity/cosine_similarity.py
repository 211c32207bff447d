"""Similarity of records as the cosine of their vectors (Majeed et al. 2024, Equation 9), and the order that it gives.

A number is its value (with a hierarchy too), a date or time its distance from the first, a category its code in leaf
order (`cs_scale = 'minmax'`: all from 0 to 1). A NULL is 0 among numbers and the code after the last among categories.
The cosine of two zero vectors is 1, of a zero vector and another vector 0.

Equation 9 is implemented with the sum of squares under each root: as printed, equal records would not have cosine 1, as
the text says. Cosines and diversities are rounded to multiples of 2^-40; ties go to the first record in canonical
order.
"""

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import inverse_permutation
from dbanon.algorithms.base.registry import Check
from dbanon.encoding.encoded_table import Attribute, EncodedTable, Floats, Ints, NumericAttribute

SAMPLE_RECORDS, COSINE_COST = 32, 0.25
"""Records of a chain from which the time of all is estimated, and the cost of a cosine in steps of
dbanon.algorithms.base.progress."""

STEPS_PER_UNIT = 2.0**40
"""Similarities and diversities are counted in steps of 1 / STEPS_PER_UNIT."""


def unit_vectors(space: EncodedTable, scale: str) -> Floats:
    """Return the (tuples, attributes + 1) vectors of the tuples, scaled to length 1.

    A zero vector has no direction; it is 1 in the last coordinate, which is 0 for all others. `scale` is 'raw' or
    'minmax'.
    """
    columns = [_coordinates(a, scale)[space.codes[:, j]] for j, a in enumerate(space.attributes)]
    greatest = np.max([np.abs(column) for column in columns], axis=0)
    columns = [column / np.where(greatest == 0, 1.0, greatest) for column in columns]  # squares shall not overflow
    vectors = np.stack([*columns, np.zeros(len(space.codes))], axis=1)
    length = np.sqrt(sum((column * column for column in columns), np.zeros(len(vectors))))
    vectors[length == 0, -1] = 1.0
    return np.asarray(vectors / np.where(length == 0, 1.0, length)[:, None])


def _coordinates(attribute: Attribute, scale: str) -> Floats:
    """Return the coordinate of each code and, last, of NULL.

    A category without numbers has its code. Other values have their number, and NULL has 0. With `scale` 'minmax'
    values are scaled to the range from 0 to 1.
    """
    if not isinstance(attribute, NumericAttribute) and attribute.magnitudes is None:
        codes = np.arange(attribute.values + 1.0)
        return codes / max(attribute.values - 1, 1) if scale == "minmax" else codes
    values = attribute.positions if isinstance(attribute, NumericAttribute) else np.empty(0)
    values = values if attribute.magnitudes is None else attribute.magnitudes
    if scale == "minmax":
        values = values / 2  # differences shall not overflow
        low, width = (values.min(), values.max() - values.min()) if len(values) else (0.0, 0.0)
        values = (values - low) / width if width > 0 else np.zeros(len(values))
    return np.append(values, 0.0)


def rows_by_similarity(space: EncodedTable, unit: Floats, rank: str, check: Check) -> Ints:
    """Return all rows by summed cosine similarity to all other records, greatest first (Algorithm 1).

    The sum of the cosines to all records is the cosine to their sum, so no pair is examined. With `rank` 'chain' only
    the first row is chosen by the sum; each further row is the one most similar to the row before it.

    Args:
        space: The encoded table.
        unit: (tuples, axes) unit vectors of the tuples.
        rank: 'sum' or 'chain'.
        check: Raises if the run was interrupted; also receives a time estimate.
    """
    from dbanon.kernels import simdiv as kernels

    sum_of_vectors = (unit * space.counts[:, None]).sum(axis=0)
    total = sum(
        (axis * axis_total for axis, axis_total in zip(unit.T, sum_of_vectors, strict=True)), np.zeros(len(unit))
    )
    order = np.argsort(-np.rint((total - 1) / space.rows * STEPS_PER_UNIT), kind="stable")
    if rank == "sum":
        return space.rows_of(order)
    check()
    tuples = np.empty(space.rows, np.int64)
    steps = space.rows * len(unit) * COSINE_COST
    if steps > progress.MAX_STEPS:
        kernels.fill_similarity_order(unit, space.counts, int(order[0]), tuples[:1])  # compiles
        clock = progress.thread_seconds()
        kernels.fill_similarity_order(unit, space.counts, int(order[0]), tuples[:SAMPLE_RECORDS])
        seconds = (progress.thread_seconds() - clock) / (SAMPLE_RECORDS / space.rows)
        progress.as_progress_check(check).on_estimate(steps, seconds)
    kernels.fill_similarity_order(unit, space.counts, int(order[0]), tuples)
    return inverse_permutation(np.argsort(tuples, kind="stable"))  # the records of a tuple in canonical order
