"""Split: begin with the whole table and cut it while every side still meets the model. The family of Mondrian."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

import numpy as np

from dbanon.cluster.registry import Algorithm, Check, register
from dbanon.constraint import Constraint
from dbanon.space import Attribute, Ints, Number, Space, Tree


def mondrian(space: Space, constraint: Constraint, options: Mapping[str, object], check: Check) -> Ints:
    """Strict multidimensional Mondrian (LeFevre, DeWitt and Ramakrishnan 2006).

    The part is cut at the attribute of greatest normalized width (times its weight) that has an allowable cut:
    numbers at the lower median, categories by the children of the lowest common ancestor, NULLs from values first.
    Ties go to the earlier attribute. Records of one tuple stay together. O(n log n) time for balanced cuts, O(n)
    memory.
    """
    labels = np.full(space.rows, -1, np.int64)
    work = [np.arange(len(space.counts))]
    clusters = 0
    while work:
        check()
        part = work.pop()
        for attribute in _by_width(space, part):
            sides = _cut(space, part, attribute)
            if len(sides) > 1 and all(constraint.enough(space, side) for side in sides):
                work.extend(reversed(sides))
                break
        else:
            labels[space.rows_of(part)] = clusters
            clusters += 1
    return labels


def _by_width(space: Space, part: Ints) -> Iterator[int]:
    """Attributes that can be cut, widest first."""
    widths = [a.weight * _width(a, space.codes[part, j]) for j, a in enumerate(space.attributes)]
    for j in np.argsort([-w for w in widths], kind="stable").tolist():
        if widths[j] > 0:
            yield j


def _width(attribute: Attribute, codes: Ints) -> float:
    """Share of the attribute that a part spans: 0 for one value, 1 for NULL beside values."""
    last = int(codes.max())
    first = int(codes.min())
    if first == last:
        return 0.0
    if last == attribute.values:
        return 1.0
    if isinstance(attribute, Number):  # different numbers may be too close to each other for a DOUBLE of the distance
        width = (attribute.positions[last] - attribute.positions[first]) / max(
            attribute.positions[-1], sys.float_info.min
        )
        return float(max(width, sys.float_info.min))
    ancestor = attribute.lowest_common_ancestor(int(attribute.node[first]), int(attribute.node[last]))
    return float(attribute.leaves[ancestor] / attribute.leaves[0])


def _cut(space: Space, part: Ints, j: int) -> list[Ints]:
    """The sides of a cut, first codes first."""
    attribute, codes = space.attributes[j], space.codes[part, j]
    if codes.max() == attribute.values:
        return [part[codes < attribute.values], part[codes == attribute.values]]
    if isinstance(attribute, Number):
        middle = _lower_median(codes, space.counts[part])
        sides = [part[codes <= middle], part[codes > middle]]
        return [side for side in sides if len(side)]
    group = _children(attribute, codes)
    return [part[group == g] for g in np.unique(group)]


def _lower_median(codes: Ints, counts: Ints) -> int:
    """The code of the record at index (n - 1) // 2 in ascending order."""
    records = np.bincount(codes, weights=counts)
    return int(np.searchsorted(np.cumsum(records), (int(records.sum()) - 1) // 2, side="right"))


def _children(tree: Tree, codes: Ints) -> Ints:
    """The child of the lowest common ancestor above each value; the ancestor itself for a value stored there."""
    values = np.unique(codes)
    ancestor = tree.lowest_common_ancestor(int(tree.node[values[0]]), int(tree.node[values[-1]]))
    child = np.empty(len(values), np.int64)
    for i, value in enumerate(values):
        node = int(tree.node[value])
        while node != ancestor and tree.parent[node] != ancestor:
            node = int(tree.parent[node])
        child[i] = node
    return child[np.searchsorted(values, codes)]


register(
    Algorithm(
        name="mondrian",
        title="Strict Mondrian",
        family="split",
        run=mondrian,
        source="LeFevre, DeWitt and Ramakrishnan 2006; baseline of the papers S1 and S3",
        evidence="LIT-m",
        deterministic=True,
        complexity="O(n log n) time, O(n) memory",
    )
)
