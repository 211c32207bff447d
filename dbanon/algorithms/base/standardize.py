"""Records as points whose squared distances count: z-scores of numbers.

A NULL lies at the mean of its column and, on an axis of its own, one standard deviation off: so it is as far from a
value, on average, as two values are from each other.
"""

import math

import numpy as np

from dbanon.encoding.encoded_table import AnyInts, EncodedTable, Floats, NumericAttribute


def has_several_values(attribute: NumericAttribute, codes: AnyInts) -> bool:
    """Return whether there are several values that differ as doubles; a column of one value has no z-scores."""
    places = attribute.positions[codes[codes < attribute.values]]
    return bool(len(places) and (places != places[0]).any())


def z_scores(attribute: NumericAttribute, codes: AnyInts, counts: Floats) -> tuple[Floats, Floats]:
    """Return the positions of a number's codes on two axes: its z-score (0 for NULL), and 1 for NULL, else 0."""
    has_value = codes < attribute.values
    places = np.append(attribute.positions, 0.0)[codes]
    # Squares of great distances would be infinite. A power of two changes no digit.
    places = np.ldexp(places, -math.frexp(float(places[has_value].max()))[1])
    mean = np.average(places[has_value], weights=counts[has_value])
    deviation = math.sqrt(np.average((places[has_value] - mean) ** 2, weights=counts[has_value]))
    return np.where(has_value, (places - mean) / deviation, 0.0), (~has_value).astype(np.float64)


def standardized_points(space: EncodedTable, counts: Floats) -> Floats:
    """The tuples as points (tuples, axes), around the mean of all, of which so many records of each count; squares are
    multiplied by the weights. Attributes that are no numbers, or do not vary, have no axes."""
    axes = []
    for j, attribute in enumerate(space.attributes):
        codes = space.codes[:, j]
        if isinstance(attribute, NumericAttribute) and has_several_values(attribute, codes[counts > 0]):
            column_axes = z_scores(attribute, codes, counts)
            axes += [math.sqrt(attribute.weight) * axis for axis in column_axes if axis.any()]
    if not axes:
        return np.zeros((len(counts), 0))
    coordinates = np.stack(axes, axis=1)
    return np.ascontiguousarray(coordinates - np.average(coordinates, axis=0, weights=counts))


def sum_of_squares_within(points: Floats, groups: AnyInts, counts: Floats) -> float:
    """Return summed squared distances of points to the mean of their group, of which so many records of each count."""
    sizes = np.maximum(np.bincount(groups, counts), 1e-300)
    total = 0.0
    for axis in points.T:
        mean = np.bincount(groups, axis * counts) / sizes
        total += float((counts * (axis - mean[groups]) ** 2).sum())
    return total
