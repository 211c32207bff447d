"""Needs-based generalization (Majeed et al. 2024, section 3.5, Algorithm 4).

Clusters of little diversity publish influential attributes at a higher level than their records need.
"""

from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base.class_bounds import ClassBounds, cluster_members
from dbanon.algorithms.base.loss import lowest_common_ancestors
from dbanon.encoding.distance import subtree_end_codes
from dbanon.encoding.encoded_table import (
    CategoricalAttribute,
    EncodedTable,
    Floats,
    Ints,
    NumericAttribute,
    SensitiveColumn,
)


@dataclass(frozen=True)
class RaisingRule:
    """The rule that decides which clusters are raised, and by how much.

    Attributes:
        max_diversity: A cluster of at most this diversity (the lowest of several sensitive columns) is raised.
        is_normalized: Whether the diversity is normalized (see `diversities`).
        is_always: Whether clusters of k records are raised, too; otherwise only larger ones are.
        influential: 'first' raises the attribute of greatest influence; otherwise all of at least average influence.
        levels: Number of levels by which attributes are raised.
    """

    max_diversity: float
    is_normalized: bool
    is_always: bool
    influential: str
    levels: int


def raised_bounds(space: EncodedTable, labels: Ints, k: int, influence: Floats, rule: RaisingRule) -> tuple[Ints, Ints]:
    """Return the least and the greatest code that each cluster is published with, two (clusters, attributes) arrays.

    They are those of its records, except for influential attributes of clusters of little diversity, which are raised
    by `rule.levels` levels, but never above max_level. Without sensitive columns nothing is raised. O(n) time and
    memory.

    Args:
        space: The encoded table.
        labels: (n,) cluster of each record; -1 for none.
        k: Least number of records of a cluster.
        influence: (attributes,) influence of each attribute on sensitive values.
        rule: The rule.
    """
    rows = cluster_members(labels)
    bounds = ClassBounds.from_members(space, rows)
    low, high = bounds.low.copy(), bounds.high.copy()
    if not space.sensitive:
        return low, high
    diversity = np.min([diversities(s, rows, rule.is_normalized) for s in space.sensitive], axis=0)
    is_poor = (diversity <= rule.max_diversity + 2.0**-40) & (rule.is_always | (bounds.sizes > k))
    for j, attribute in enumerate(space.attributes):
        if influence[j] < influence.mean() if rule.influential == "mean" else j != int(np.argmax(influence)):
            continue
        raised_clusters = np.flatnonzero(is_poor & (high[:, j] < attribute.values))
        for _ in range(rule.levels):
            raise_ = _next_larger_interval if isinstance(attribute, NumericAttribute) else _next_larger_node
            old_codes = low[raised_clusters, j], high[raised_clusters, j]
            low[raised_clusters, j], high[raised_clusters, j] = new_codes = raise_(attribute, *old_codes)  # type: ignore[arg-type]
            if np.array_equal(old_codes, new_codes):  # there is no higher level
                break
    return low, high


def diversities(sensitive: SensitiveColumn, groups: list[Ints], normalized: bool) -> Floats:
    """Return the Shannon index of each group's sensitive values (Majeed et al. 2024, Equation 12); NULL is a value.

    With `normalized` it is divided by the greatest possible one, ln(min(values that occur, group size)), or 0 if that
    is 0. `groups` has the row numbers of each group.
    """
    group = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    values = sensitive.values + 1
    cells, counts = np.unique(group * values + sensitive.codes[np.concatenate(groups)], return_counts=True)
    sizes = np.bincount(group)
    log_sums = np.bincount(cells // values, weights=counts * np.log(counts), minlength=len(groups))
    index = np.log(sizes) - log_sums / sizes
    if not normalized:
        return np.asarray(index)
    max_values = np.minimum(sizes, int((sensitive.value_counts > 0).sum()))
    return np.where(max_values > 1, index / np.log(np.maximum(max_values, 2)), 0.0)


def _next_larger_node(tree: CategoricalAttribute, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return the range of codes below the next ancestor that covers more values of the table, for each cluster.

    The range given is returned unchanged if there is no such ancestor up to the greatest allowed level.

    Args:
        tree: The attribute with its hierarchy.
        low: (clusters,) least codes, which are no NULL.
        high: (clusters,) greatest codes.
    """
    values_end, first_of = (
        subtree_end_codes(tree).astype(np.int64),
        np.searchsorted(tree.node, np.arange(len(tree.parent))),
    )
    node = lowest_common_ancestors(tree, tree.node[low], tree.node[high]).astype(np.int64)
    limit = np.zeros(len(low), np.int64) if tree.max_level is None else tree.block(tree.max_level)[low]
    first, last = low.copy(), high.copy()
    for _ in range(int(tree.depth.max()) + 1):
        is_raised = (first == low) & (last == high) & (node != limit) & (node != 0)
        if not is_raised.any():
            break
        node = np.where(is_raised, tree.parent[node], node)
        first, last = np.where(is_raised, first_of[node], first), np.where(is_raised, values_end[node] - 1, last)
    return first, last


def _next_larger_interval(number: NumericAttribute, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return the next larger interval of codes of a number without a hierarchy, for each cluster.

    It is the smallest block of 1, 2, 4, 8 ... distinct values that contains the interval from `low` to `high` and is
    larger. The interval is returned unchanged if there is none. `low` and `high` are (clusters,) codes, which are no
    NULL.
    """
    first, last = low.copy(), high.copy()
    for level in range(number.height + 1):
        is_unchanged = (first == low) & (last == high)
        begin, end = number.block(low, level)
        fits = is_unchanged & (high <= end)
        first, last = np.where(fits, begin, first), np.where(fits, end, last)
    return first, last
