"""Split: begin with the whole table and cut it while every side still meets the model. The family of Mondrian."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.registry import Check
from dbanon.encoding.encoded_table import (
    Attribute,
    Bools,
    CategoricalAttribute,
    EncodedTable,
    Ints,
    NumericAttribute,
    concatenated_ranges,
)
from dbanon.privacy_models.constraint import Constraint

SAMPLE = 16
"""Parts by which it is judged how long all of them take."""

PART = 1e4
"""Steps that a part costs beside its tuples."""


@dataclass(frozen=True)
class Part:
    """Records of some tuples, ascending: the rows from `first` on, `counts` of them."""

    tuples: Ints
    first: Ints
    counts: Ints

    def some(self, which: Bools) -> Part:
        """Return the records of some of the tuples."""
        return Part(self.tuples[which], self.first[which], self.counts[which])

    def rows(self) -> Ints:
        """Return all canonical rows."""
        return concatenated_ranges(self.first, self.counts)

    def enough(self, space: EncodedTable, constraint: Constraint) -> bool:
        """Return whether the records meet the model."""
        records = int(self.counts.sum())
        if records < constraint.least or constraint.counts_records(space):
            return records >= constraint.least
        return constraint.holds(space, self.rows())


def united(parts: Sequence[Part]) -> Runs:
    """Return parts of all records as clusters, in their order."""
    sizes = [len(part.tuples) for part in parts]
    tuples, first, counts = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("tuples", "first", "counts")
    )
    order = np.argsort(first, kind="stable")  # canonical rows, so also by tuple
    return Runs.of(tuples[order], np.repeat(np.arange(len(parts)), sizes)[order], counts[order])


Cut = Callable[[Part], Sequence[Part]]
"""From a part to its sides; to none where it is a class."""


def level_by_level(
    space: EncodedTable, least: int, cut: Cut, check: Check, each: float = 1.0
) -> list[tuple[Part, int]]:
    """Cuts all parts of a level before any of the next; gives the classes, with the number of the part that each was
    cut from. A class has at least so many records; a tuple of a part that is cut costs so many steps (see
    dbanon.algorithms.base.progress).

    How far it has come is told by the entropy of the parts: cuts into halves bring it near its end in few levels, and
    cuts that take little off a part in many.
    """

    def ahead(part: Part) -> float:
        records = int(part.counts.sum())
        return records * math.log(max(records / least, 1.0))

    whole, clock = progress.work(check), progress.clock()
    level, found = [(Part(np.arange(len(space.counts)), space.starts, space.counts), -1)], []
    all_, left, looked, cuts = ahead(level[0][0]), ahead(level[0][0]), 0, 0
    while level:
        below: list[tuple[Part, int]] = []
        for part, parent in level:
            check()
            sides = cut(part)
            below += [(side, cuts) for side in sides]
            if not sides:
                found.append((part, parent))
            left += sum(map(ahead, sides)) - ahead(part)
            looked, cuts = looked + len(part.tuples), cuts + 1
            share = 1 - left / all_ if all_ > 0 else 1.0
            if cuts == SAMPLE and share > 0:
                sample = progress.Sample(share, looked * each, progress.clock() - clock).whole()
                parts = space.rows / least
                whole.expect(sample[0] + PART * parts, sample[1] + PART * parts * progress.SECONDS)
            whole.come(share)
        level = below
    return found


def first_cut(space: EncodedTable, constraint: Constraint, part: Part, strict: bool) -> list[Part]:
    """Return the sides of the first allowable cut, first codes first; none if there is none."""
    for j in _by_width(space, part.tuples):
        attribute, codes = space.attributes[j], space.codes[part.tuples, j]
        if strict or not isinstance(attribute, NumericAttribute) or codes.max() == attribute.values:
            cuts: Iterator[list[Part]] = iter([_cut(attribute, codes, part)])
        else:
            cuts = _balanced(codes, part, constraint.counts_records(space))
        for sides in cuts:
            if len(sides) > 1 and all(side.enough(space, constraint) for side in sides):
                return sides
    return []


def _by_width(space: EncodedTable, part: Ints) -> Iterator[int]:
    """Yield attributes that can be cut, widest first."""
    yield from by_width(space.attributes, [space.codes[part, j] for j in range(len(space.attributes))])


def by_width(attributes: Sequence[Attribute], codes: Sequence[Ints]) -> Iterator[int]:
    """Yield attributes that can be cut, widest first; codes of each that a part has, in whatever order."""
    widths = [a.weight * _width(a, of) for a, of in zip(attributes, codes, strict=True)]
    for j in np.argsort([-w for w in widths], kind="stable").tolist():
        if widths[j] > 0:
            yield j


def _width(attribute: Attribute, codes: Ints) -> float:
    """Return the share of the attribute that a part spans: 0 for one value, 1 for NULL beside values."""
    last = int(codes.max())
    first = int(codes.min())
    if first == last:
        return 0.0
    if last == attribute.values:
        return 1.0
    if isinstance(
        attribute, NumericAttribute
    ):  # different numbers may be too close to each other for a DOUBLE of the distance
        width = (attribute.positions[last] - attribute.positions[first]) / max(
            attribute.positions[-1], sys.float_info.min
        )
        return float(max(width, sys.float_info.min))
    ancestor = attribute.lowest_common_ancestor(int(attribute.node[first]), int(attribute.node[last]))
    return float(attribute.leaves[ancestor] / attribute.leaves[0])


def _cut(attribute: Attribute, codes: Ints, part: Part) -> list[Part]:
    """Return the sides of a cut that keeps values together, first codes first."""
    side = np.searchsorted(begins(attribute, codes, part.counts), codes, side="right")
    return [part.some(side == s) for s in range(int(side.max()) + 1)]


def begins(attribute: Attribute, codes: Ints, counts: Ints) -> list[int]:
    """The codes that begin the second and further sides of a cut that keeps values together: a number after its lower
    median, a category before each child of the lowest common ancestor but the first, NULL beside values before NULL.
    None where a number has no value above its median. `counts`: the records of each code, which may come repeatedly."""
    if codes.max() == attribute.values:
        return [attribute.values]
    if isinstance(attribute, NumericAttribute):
        above = codes[codes > _lower_median(codes, counts)]
        return [int(above.min())] if len(above) else []
    values = np.unique(codes)
    group = _children(attribute, values)
    return [int(v) for v in values[1:][group[1:] != group[:-1]]]


def _balanced(codes: Ints, part: Part, once: bool) -> Iterator[list[Part]]:
    """Cuts within the records that equal the lower median: half of the records first; no other where `once`."""
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(part.counts[order])
    records = int(ends[-1])
    equal = codes[order] == _lower_median(codes, part.counts)
    first, last = int((ends - part.counts[order])[equal].min()), int(ends[equal].max())
    half, step = (records + 1) // 2, 1
    tried = [half]
    while not once and (half - step > first or half + step < last):
        tried += [half - step, half + step]
        step *= 2
    for left in dict.fromkeys(tried if once else [*tried, first, last]):
        if max(first, 1) <= left <= min(last, records - 1):
            yield after(part, order, left)


def after(part: Part, order: Ints, records: int) -> list[Part]:
    """Return the part cut after so many records in an order of its tuples, some at least on either side."""
    ends = np.cumsum(part.counts[order])
    middle = int(np.searchsorted(ends, records))
    before, after = np.zeros_like(part.counts), part.counts.copy()
    before[order[:middle]] = part.counts[order[:middle]]
    before[order[middle]] = records - (int(ends[middle - 1]) if middle else 0)
    after -= before
    left, right = Part(part.tuples, part.first, before), Part(part.tuples, part.first + before, after)
    return [left.some(before > 0), right.some(after > 0)]


def _lower_median(codes: Ints, counts: Ints) -> int:
    """Return the code of the record at index (n - 1) // 2 in ascending order.

    O(m log m) for m tuples of whatever codes.
    """
    order = np.argsort(codes, kind="stable")
    records = np.cumsum(counts[order])
    return int(codes[order[np.searchsorted(records, (int(records[-1]) - 1) // 2, side="right")]])


def _children(tree: CategoricalAttribute, values: Ints) -> Ints:
    """The child of the lowest common ancestor above each of some values, ascending; the ancestor itself for a value
    stored there."""
    ancestor = tree.lowest_common_ancestor(int(tree.node[values[0]]), int(tree.node[values[-1]]))
    child = np.empty(len(values), np.int64)
    for i, value in enumerate(values):
        node = int(tree.node[value])
        while node != ancestor and tree.parent[node] != ancestor:
            node = int(tree.parent[node])
        child[i] = node
    return child
