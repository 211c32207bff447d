"""Needs-based generalization (Majeed et al. 2024, section 3.5, Algorithm 4): clusters of little diversity publish
influential attributes at a higher level than their records need."""

from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base.class_bounds import Extents, members
from dbanon.algorithms.base.loss import common
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
class Needs:
    """When a cluster is raised, and by how much.

    A cluster of diversity at most `least` (of several sensitive columns, the lowest; `normalized`: see `diversities`)
    is raised; without `always` only one of more than k records. Raised are the attributes of at least average influence
    (`influential = 'first'`: the one of greatest), by `levels` levels.
    """

    least: float
    normalized: bool
    always: bool
    influential: str
    levels: int


def raised(space: EncodedTable, labels: Ints, k: int, influence: Floats, needs: Needs) -> tuple[Ints, Ints]:
    """Least and greatest codes that clusters are published with (clusters, attributes), never above max_level. O(n)
    time and memory."""
    rows = members(labels)
    extents = Extents.of(space, rows)
    low, high = extents.low.copy(), extents.high.copy()
    if not space.sensitive:
        return low, high
    diversity = np.min([diversities(s, rows, needs.normalized) for s in space.sensitive], axis=0)
    poor = (diversity <= needs.least + 2.0**-40) & (needs.always | (extents.sizes > k))
    for j, attribute in enumerate(space.attributes):
        if influence[j] < influence.mean() if needs.influential == "mean" else j != int(np.argmax(influence)):
            continue
        some = np.flatnonzero(poor & (high[:, j] < attribute.values))
        for _ in range(needs.levels):
            raise_ = _interval if isinstance(attribute, NumericAttribute) else _node
            before = low[some, j], high[some, j]
            low[some, j], high[some, j] = after = raise_(attribute, *before)  # type: ignore[arg-type]
            if np.array_equal(before, after):  # nothing is above: of the levels that are left, none is
                break
    return low, high


def diversities(sensitive: SensitiveColumn, groups: list[Ints], normalized: bool) -> Floats:
    """Shannon index of each group's sensitive values (Majeed et al. 2024, Equation 12); normalized: over ln(min(values
    that occur, group size)), the greatest there can be. A NULL is a value."""
    group = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    values = sensitive.values + 1
    cells, counts = np.unique(group * values + sensitive.codes[np.concatenate(groups)], return_counts=True)
    sizes = np.bincount(group)
    held = np.bincount(cells // values, weights=counts * np.log(counts), minlength=len(groups))
    index = np.log(sizes) - held / sizes
    if not normalized:
        return np.asarray(index)
    most = np.minimum(sizes, int((sensitive.value_counts > 0).sum()))
    return np.where(most > 1, index / np.log(np.maximum(most, 2)), 0.0)


def _node(tree: CategoricalAttribute, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return the codes below the next ancestor that has other values of the table too.

    Those given where there is none.
    """
    values_end, first_of = (
        subtree_end_codes(tree).astype(np.int64),
        np.searchsorted(tree.node, np.arange(len(tree.parent))),
    )
    node = common(tree, tree.node[low], tree.node[high]).astype(np.int64)
    limit = np.zeros(len(low), np.int64) if tree.max_level is None else tree.block(tree.max_level)[low]
    first, last = low.copy(), high.copy()
    for _ in range(int(tree.depth.max()) + 1):
        up = (first == low) & (last == high) & (node != limit) & (node != 0)
        if not up.any():
            break
        node = np.where(up, tree.parent[node], node)
        first, last = np.where(up, first_of[node], first), np.where(up, values_end[node] - 1, last)
    return first, last


def _interval(number: NumericAttribute, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """The next larger interval of a number without a hierarchy: the smallest of its blocks of 1, 2, 4, 8 ... distinct
    values that has the interval within it and is larger."""
    first, last = low.copy(), high.copy()
    for level in range(number.height + 1):
        apart = (first == low) & (last == high)
        begin, end = number.block(low, level)
        fits = apart & (high <= end)
        first, last = np.where(fits, begin, first), np.where(fits, end, last)
    return first, last
