"""Summed distances of tuples to all records, attribute by attribute: nothing that grows with the square of a table."""

import numpy as np

from dbanon.algorithms.base.loss import Loss, Term
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, Ints


def sums_to_all(space: EncodedTable) -> Ints:
    """The distance (of the k-member paper, weighted) of each tuple to all records together, exactly, in units of the
    loss of `Loss(space, 1, "edges")`. O(tuples * attributes + nodes * levels) time."""
    total = np.zeros(len(space.counts), np.int64)
    for j, term in enumerate(Loss(space, 1, "edges").terms):
        codes = space.codes[:, j]
        records = np.bincount(codes, weights=space.counts, minlength=term.attribute.values + 1).astype(np.int64)
        attribute, null = term.attribute, int(records[-1])
        known = (
            _in_tree(term, attribute, records[:-1])
            if isinstance(attribute, CategoricalAttribute)
            else _on_axis(term, records[:-1])
        )
        total += np.append(known + null * term.unit, (space.rows - null) * term.unit)[codes]
    return total


def _on_axis(term: Term, records: Ints) -> Ints:
    """Return summed |a - b| of each value to those of all records, which are not NULL."""
    before, below = np.cumsum(records) - records, np.cumsum(records * term.places) - records * term.places
    after = int(records.sum()) - before
    above = int((records * term.places).sum()) - below
    return np.asarray(term.places * (before - after) + above - below, np.int64)


def _in_tree(term: Term, tree: CategoricalAttribute, records: Ints) -> Ints:
    """Return summed heights of the lowest common ancestors of each value with those of all records.

    A value shares with the records below an ancestor, but not below the next node on the way, that ancestor.
    """
    own = np.zeros(len(tree.parent), np.int64)
    own[tree.node] = records
    until = np.cumsum(own)
    below = until[tree.last] - until + own
    outside = np.zeros(len(tree.parent), np.int64)
    for nodes in tree.levels[1:]:
        above = tree.parent[nodes]
        outside[nodes] = outside[above] + term.height[above] * (below[above] - below[nodes])
    node = tree.node
    return np.asarray(outside[node] + term.height[node] * (below[node] - own[node]), np.int64)
