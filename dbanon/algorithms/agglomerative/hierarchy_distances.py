"""The costs of generalization in KACA.

Raising a value to a higher level of its hierarchy costs the weights of the edges that are passed.
"""

import math
from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base.assignments import inverse_permutation
from dbanon.encoding.encoded_table import Attribute, EncodedTable, Floats, Ints, NumericAttribute


@dataclass(frozen=True)
class HierarchyCosts:
    """The hierarchy of one attribute as arrays; NULL is the last node, a child of the root.

    Attributes:
        parent: (nodes,) parent of each node, -1 for the root; nodes are in preorder.
        last: (nodes,) last node of the subtree of each node.
        cost_to_root: (nodes,) cost of raising a node to the root.
        node: (values + 1,) node of each code.
        unit: Cost of the whole path from a deepest leaf to the root.
        levels: Greatest number of levels on a path, plus one.
    """

    parent: Ints
    last: Ints
    cost_to_root: Ints
    node: Ints
    unit: int
    levels: int


def hierarchy_costs(space: EncodedTable, beta: float) -> list[HierarchyCosts]:
    """Return the hierarchy of every attribute with the costs of raising its nodes to the root, as exact integers.

    A number has blocks of 1, 2, 4, 8 ... distinct values as its hierarchy. The edge below level j (the root is level 1)
    weighs 1 / j^beta. Costs are rounded once to a multiple of 2^-s, with s the largest for which the costs of all
    records together stay below 2^62. O(values * levels) for a category, O(values) for a number.
    """
    scale = 2.0 ** (62 - math.frexp(space.total * sum(a.weight for a in space.attributes))[1])
    return [_attribute_costs(a, beta, a.weight * scale) for a in space.attributes]


def level_distances(n_levels: int, beta: float) -> Floats:
    """Return the weighted hierarchical distance from each level to the root, for the levels 1 (the root) to `n_levels`.

    The edge below level j weighs 1 / j^beta, and all edges of a path to the deepest level together weigh 1.

    >>> (1 - level_distances(6, 1)).round(4).tolist()
    [1.0, 0.562, 0.3431, 0.1971, 0.0876, 0.0]
    """
    to_root = np.cumsum([0.0, *(1 / float(j) ** beta for j in range(1, n_levels))])
    return to_root / (to_root[-1] or 1.0)


def _attribute_costs(attribute: Attribute, beta: float, unit: float) -> HierarchyCosts:
    """Return the hierarchy of one attribute with costs, in which the whole path to the root costs `unit`, rounded.

    A node costs as much as the node that it is published as. NULL is added as a child of the root and costs `unit`.
    """
    if isinstance(attribute, NumericAttribute):
        parent, last, depth, node = _number_hierarchy(attribute)
        published_depth = depth
    else:
        parent, last, depth = (a.astype(np.int64) for a in (attribute.parent, attribute.last, attribute.depth))
        node, published_depth = attribute.node.astype(np.int64), depth[attribute.published_node]
    levels = int(depth.max()) + 1
    cost_to_root = np.rint(level_distances(levels, beta)[published_depth] * unit).astype(np.int64)
    null, root_cost = len(parent), round(unit)
    last = np.append(last, null)
    last[0] = null
    return HierarchyCosts(
        np.append(parent, 0), last, np.append(cost_to_root, root_cost), np.append(node, null), root_cost, levels + 1
    )


def _number_hierarchy(number: NumericAttribute) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the hierarchy of a number: blocks of 1, 2, 4, 8 ... consecutive distinct values, numbered in preorder.

    Returns:
        Parent of each block (-1 for the root), last block of each block's subtree, depth of each block, and for each
        code the block of that value alone.
    """
    values = max(number.values, 1)
    starts = [np.arange(0, values, 1 << level) for level in range(number.height + 1)]
    level = np.repeat(np.arange(len(starts)), [len(s) for s in starts])
    first = np.concatenate(starts)
    place = inverse_permutation(np.lexsort((-level, first)))
    begins = np.cumsum([0, *(len(s) for s in starts)])
    above = np.where(level < number.height, begins[np.minimum(level + 1, number.height)] + (first >> (level + 1)), 0)
    parent, last = np.full(len(place), -1, np.int64), np.empty(len(place), np.int64)
    lower = level < number.height
    parent[place[lower]] = place[above[lower]]
    last[place] = place[np.minimum(first + (1 << level), values) - 1]  # the own block of the last value below
    depth = np.empty(len(place), np.int64)
    depth[place] = number.height - level
    return parent, last, depth, place[: number.values]
