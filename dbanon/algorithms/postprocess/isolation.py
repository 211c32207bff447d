"""How isolated records are: the loss of the least class around a record, from which outliers are chosen."""

import numpy as np

from dbanon.algorithms.base.assignments import inverse_permutation
from dbanon.algorithms.partitioning.part_distances import PartDistances
from dbanon.encoding.encoded_table import EncodedTable, Floats, Ints, combined_key

MAX_ORDERS = 8
"""Greatest number of orders of the tuples along which neighbours are searched for."""

MIN_WINDOW = 4
"""Least number of neighbours on each side along an order."""

CANDIDATES_PER_BATCH = 2_000
"""Number of tuples whose neighbours are compared at once, which limits memory."""


def isolation_losses(space: EncodedTable, tuples: Ints, min_records: int) -> Floats:
    """Return, for each of some tuples, the loss with its nearest neighbour that completes `min_records` records.

    The neighbours are those next to the tuple in several orders of all tuples, one for each attribute, which is the
    last sort key there. A loss is from 0 to the sum of the attributes' weights. A class of `min_records` records around
    the tuple loses about as much; a tuple of as many records has 0. O(tuples log tuples + len(tuples) * min_records)
    for each attribute.

    Args:
        space: The encoded table.
        tuples: Numbers of the tuples.
        min_records: Least number of records of a class.
    """
    n_tuples = len(space.counts)
    # A tuple has one record or more, so `min_records` neighbours on either side suffice.
    width = min(max(min_records, MIN_WINDOW), n_tuples)
    steps = np.arange(-width, width + 1)
    orders = _tuple_orders(space)
    places = [inverse_permutation(order) for order in orders]
    distances = PartDistances(space, "top")
    losses = np.empty(len(tuples))
    for first in range(0, len(tuples), CANDIDATES_PER_BATCH):
        batch = tuples[first : first + CANDIDATES_PER_BATCH]
        neighbours = np.concatenate(
            [
                order[np.clip(place[batch][:, None] + steps, 0, n_tuples - 1)]
                for order, place in zip(orders, places, strict=True)
            ],
            axis=1,
        )
        neighbours.sort(axis=1)
        is_repeated = np.zeros(neighbours.shape, bool)
        is_repeated[:, 1:] = neighbours[:, 1:] == neighbours[:, :-1]
        pair_loss = _pair_losses(space, distances, batch, neighbours)
        counts = np.where(is_repeated, 0, space.counts[neighbours])
        nearest = np.argsort(pair_loss, axis=1, kind="stable")
        reached = np.cumsum(np.take_along_axis(counts, nearest, axis=1), axis=1) >= min_records
        place = np.where(reached.any(axis=1), np.argmax(reached, axis=1), neighbours.shape[1] - 1)
        losses[first : first + len(batch)] = np.take_along_axis(
            pair_loss, np.take_along_axis(nearest, place[:, None], axis=1), axis=1
        )[:, 0]
    return losses


def _tuple_orders(space: EncodedTable) -> list[Ints]:
    """Return orders of all tuples, one for each attribute, which is the last sort key; those of most values first.

    The other attributes are sorted by the number of their values, so that the one of fewest values comes first.
    """
    by_values = sorted(range(len(space.attributes)), key=lambda j: (space.attributes[j].values, j))
    orders = []
    for last in by_values[::-1][:MAX_ORDERS]:
        line = [j for j in by_values if j != last] + [last]
        key, _ = combined_key(
            [space.codes[:, j].astype(np.int64) for j in line], [space.attributes[j].values + 1 for j in line]
        )
        orders.append(np.argsort(key, kind="stable"))
    return orders


def _pair_losses(space: EncodedTable, distances: PartDistances, tuples: Ints, neighbours: Ints) -> Floats:
    """Return the weighted loss of a record in a class of two tuples: a tuple and one of its neighbours.

    Args:
        space: The encoded table.
        distances: The losses of two records on each attribute.
        tuples: (n,) numbers of tuples.
        neighbours: (n, m) numbers of the neighbours of each; the result has the same shape.
    """
    total = np.zeros(neighbours.shape, np.int64)
    for j, column in enumerate(distances.columns):
        codes, others = space.codes[tuples, j][:, None], space.codes[neighbours, j]
        total += column.cluster_losses(np.minimum(codes, others), np.maximum(codes, others))
    return total / distances.unit
