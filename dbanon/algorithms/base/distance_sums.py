"""Summed distances of tuples to all records, attribute by attribute: nothing that grows with the square of a table."""

import numpy as np

from dbanon.algorithms.base.loss import Loss, LossTerm
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, Ints


def distance_sums_to_all(space: EncodedTable) -> Ints:
    """Return the distance of each tuple to all records of the table together, as exact integers.

    It is the weighted distance of the k-member paper, in units of the loss of `Loss(space, 1, "edges")`. O(tuples *
    attributes + nodes * levels) time.
    """
    total = np.zeros(len(space.counts), np.int64)
    for j, term in enumerate(Loss(space, 1, "edges").terms):
        codes = space.codes[:, j]
        records = np.bincount(codes, weights=space.counts, minlength=term.attribute.values + 1).astype(np.int64)
        attribute, null = term.attribute, int(records[-1])
        value_sums = (
            _tree_sums(term, attribute, records[:-1])
            if isinstance(attribute, CategoricalAttribute)
            else _axis_sums(term, records[:-1])
        )
        total += np.append(value_sums + null * term.unit, (space.rows - null) * term.unit)[codes]
    return total


def _axis_sums(term: LossTerm, records: Ints) -> Ints:
    """Return, for each value of a number, the sum of |a - b| to all records with a value.

    Args:
        term: The loss on the attribute, whose `places` are the positions a and b.
        records: (values,) number of records with each value, without NULL.
    """
    n_before, sum_below = np.cumsum(records) - records, np.cumsum(records * term.places) - records * term.places
    n_from_here = int(records.sum()) - n_before
    sum_from_here = int((records * term.places).sum()) - sum_below
    return np.asarray(term.places * (n_before - n_from_here) + sum_from_here - sum_below, np.int64)


def _tree_sums(term: LossTerm, tree: CategoricalAttribute, records: Ints) -> Ints:
    """Return, for each category, the summed heights of the lowest common ancestors with all records with a value.

    The height is the loss of a cluster that has the node as its lowest common ancestor.

    Args:
        term: The loss on the attribute, with the height of each node.
        tree: The hierarchy of the attribute.
        records: (values,) number of records with each value, without NULL.
    """
    node_records = np.zeros(len(tree.parent), np.int64)
    node_records[tree.node] = records
    cumulative = np.cumsum(node_records)
    subtree_records = cumulative[tree.last] - cumulative + node_records
    sum_outside = np.zeros(len(tree.parent), np.int64)
    for nodes in tree.levels[1:]:
        parents = tree.parent[nodes]
        sum_outside[nodes] = sum_outside[parents] + term.height[parents] * (
            subtree_records[parents] - subtree_records[nodes]
        )
    node = tree.node
    return np.asarray(sum_outside[node] + term.height[node] * (subtree_records[node] - node_records[node]), np.int64)
