"""Records as points whose squared distances count: z-scores of numbers.

A NULL lies at the mean of its column and, on an axis of its own, one standard deviation off: so it is as far from a
value, on average, as two values are from each other.
"""

import math

import numpy as np

from dbanon.encoding.encoded_table import AnyInts, EncodedTable, Floats, NumericAttribute


def has_several_values(attribute: NumericAttribute, codes: AnyInts) -> bool:
    """Return whether the codes have at least two values that differ as doubles; NULL does not count.

    A column of one value has no z-scores.
    """
    places = attribute.positions[codes[codes < attribute.values]]
    return bool(len(places) and (places != places[0]).any())


def z_scores(attribute: NumericAttribute, codes: AnyInts, counts: Floats) -> tuple[Floats, Floats]:
    """Return the z-score of each code of a numeric attribute (0 for NULL), and an indicator that is 1 for NULL, else 0.

    `codes` and `counts` have one entry per tuple; `counts` are the records that mean and standard deviation count.
    There must be at least two different values.
    """
    has_value = codes < attribute.values
    places = np.append(attribute.positions, 0.0)[codes]
    # Squares of great distances would be infinite. Scaling by a power of two changes no digit.
    places = np.ldexp(places, -math.frexp(float(places[has_value].max()))[1])
    mean = np.average(places[has_value], weights=counts[has_value])
    deviation = math.sqrt(np.average((places[has_value] - mean) ** 2, weights=counts[has_value]))
    return np.where(has_value, (places - mean) / deviation, 0.0), (~has_value).astype(np.float64)


def standardized_points(space: EncodedTable, counts: Floats) -> Floats:
    """Return the tuples as (tuples, axes) points of z-scores, centered at the mean of all records.

    A numeric attribute has one axis, and a second one for NULL if it occurs; both are multiplied by the root of its
    weight. Categorical attributes, and numbers that do not vary, have no axes.

    `counts` is the number of records of each tuple that mean and deviation count.
    """
    axes = []
    for j, attribute in enumerate(space.attributes):
        codes = space.codes[:, j]
        if isinstance(attribute, NumericAttribute) and has_several_values(attribute, codes[counts > 0]):
            axes += [math.sqrt(attribute.weight) * axis for axis in z_scores(attribute, codes, counts) if axis.any()]
    if not axes:
        return np.zeros((len(counts), 0))
    coordinates = np.stack(axes, axis=1)
    return np.ascontiguousarray(coordinates - np.average(coordinates, axis=0, weights=counts))


def sum_of_squares_within(points: Floats, groups: AnyInts, counts: Floats) -> float:
    """Return the sum over records of the squared distance to the mean of their group.

    Args:
        points: (n, axes) points.
        groups: (n,) group of each point.
        counts: (n,) number of records that each point represents.
    """
    sizes = np.maximum(np.bincount(groups, counts), 1e-300)
    total = 0.0
    for axis in points.T:
        mean = np.bincount(groups, axis * counts) / sizes
        total += float((counts * (axis - mean[groups]) ** 2).sum())
    return total
