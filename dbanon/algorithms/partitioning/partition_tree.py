"""Split: begin with the whole table and cut it while every side still meets the model. The family of Mondrian."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import RunLengthLabels
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

SAMPLE_PARTS = 16
"""Parts by which it is judged how long all of them take."""

STEPS_PER_PART = 1e4
"""Steps that a part costs beside its tuples."""


@dataclass(frozen=True)
class TablePart:
    """Records of some tuples, ascending: the rows from `first` on, `counts` of them."""

    tuples: Ints
    first: Ints
    counts: Ints

    def subset(self, is_selected: Bools) -> TablePart:
        """Return the records of some of the tuples."""
        return TablePart(self.tuples[is_selected], self.first[is_selected], self.counts[is_selected])

    def rows(self) -> Ints:
        """Return all canonical rows."""
        return concatenated_ranges(self.first, self.counts)

    def meets(self, space: EncodedTable, constraint: Constraint) -> bool:
        """Return whether the records meet the model."""
        records = int(self.counts.sum())
        if records < constraint.min_records or constraint.counts_only_records(space):
            return records >= constraint.min_records
        return constraint.is_met_by_records(space, self.rows())


def parts_to_labels(parts: Sequence[TablePart]) -> RunLengthLabels:
    """Return parts of all records as clusters, in their order."""
    sizes = [len(part.tuples) for part in parts]
    tuples, first, counts = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("tuples", "first", "counts")
    )
    order = np.argsort(first, kind="stable")  # canonical rows, so also by tuple
    return RunLengthLabels.from_runs(tuples[order], np.repeat(np.arange(len(parts)), sizes)[order], counts[order])


CutFunction = Callable[[TablePart], Sequence[TablePart]]
"""From a part to its sides; to none where it is a class."""


def split_by_level(
    space: EncodedTable, min_records: int, cut_part: CutFunction, check: Check, step_cost: float = 1.0
) -> list[tuple[TablePart, int]]:
    """Cuts all parts of a level before any of the next; gives the classes, with the number of the part that each was
    cut from. A class has at least so many records; a tuple of a part that is cut costs so many steps (see
    dbanon.algorithms.base.progress).

    How far it has come is told by the entropy of the parts: cuts into halves bring it near its end in few levels, and
    cuts that take little off a part in many.
    """

    def remaining_entropy(part: TablePart) -> float:
        records = int(part.counts.sum())
        return records * math.log(max(records / min_records, 1.0))

    progress_check, clock = progress.as_progress_check(check), progress.thread_seconds()
    level, classes = [(TablePart(np.arange(len(space.counts)), space.starts, space.counts), -1)], []
    initial_entropy, entropy, n_examined, n_cuts = remaining_entropy(level[0][0]), remaining_entropy(level[0][0]), 0, 0
    while level:
        next_level: list[tuple[TablePart, int]] = []
        for part, parent in level:
            check()
            sides = cut_part(part)
            next_level += [(side, n_cuts) for side in sides]
            if not sides:
                classes.append((part, parent))
            entropy += sum(map(remaining_entropy, sides)) - remaining_entropy(part)
            n_examined, n_cuts = n_examined + len(part.tuples), n_cuts + 1
            fraction = 1 - entropy / initial_entropy if initial_entropy > 0 else 1.0
            if n_cuts == SAMPLE_PARTS and fraction > 0:
                sample = progress.WorkSample(
                    fraction, n_examined * step_cost, progress.thread_seconds() - clock
                ).extrapolate()
                parts = space.rows / min_records
                progress_check.on_estimate(
                    sample[0] + STEPS_PER_PART * parts, sample[1] + STEPS_PER_PART * parts * progress.SECONDS_PER_STEP
                )
            progress_check.advance(fraction)
        level = next_level
    return classes


def first_allowable_cut(space: EncodedTable, constraint: Constraint, part: TablePart, strict: bool) -> list[TablePart]:
    """Return the sides of the first allowable cut, first codes first; none if there is none."""
    for j in _part_attributes_by_width(space, part.tuples):
        attribute, codes = space.attributes[j], space.codes[part.tuples, j]
        if strict or not isinstance(attribute, NumericAttribute) or codes.max() == attribute.values:
            cuts: Iterator[list[TablePart]] = iter([_strict_cut(attribute, codes, part)])
        else:
            cuts = _relaxed_cuts(codes, part, constraint.counts_only_records(space))
        for sides in cuts:
            if len(sides) > 1 and all(side.meets(space, constraint) for side in sides):
                return sides
    return []


def _part_attributes_by_width(space: EncodedTable, part: Ints) -> Iterator[int]:
    """Yield attributes that can be cut, widest first."""
    yield from attributes_by_width(space.attributes, [space.codes[part, j] for j in range(len(space.attributes))])


def attributes_by_width(attributes: Sequence[Attribute], codes: Sequence[Ints]) -> Iterator[int]:
    """Yield attributes that can be cut, widest first; codes of each that a part has, in whatever order."""
    widths = [a.weight * _relative_width(a, part_codes) for a, part_codes in zip(attributes, codes, strict=True)]
    for j in np.argsort([-w for w in widths], kind="stable").tolist():
        if widths[j] > 0:
            yield j


def _relative_width(attribute: Attribute, codes: Ints) -> float:
    """Return the share of the attribute that a part spans: 0 for one value, 1 for NULL next to values."""
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


def _strict_cut(attribute: Attribute, codes: Ints, part: TablePart) -> list[TablePart]:
    """Return the sides of a cut that keeps values together, first codes first."""
    side = np.searchsorted(side_starts(attribute, codes, part.counts), codes, side="right")
    return [part.subset(side == s) for s in range(int(side.max()) + 1)]


def side_starts(attribute: Attribute, codes: Ints, counts: Ints) -> list[int]:
    """The codes that begin the second and further sides of a cut that keeps values together: a number after its lower
    median, a category before each child of the lowest common ancestor but the first, NULL next to values before NULL.
    None where a number has no value above its median. `counts`: the records of each code, which may come repeatedly."""
    if codes.max() == attribute.values:
        return [attribute.values]
    if isinstance(attribute, NumericAttribute):
        above = codes[codes > _lower_median(codes, counts)]
        return [int(above.min())] if len(above) else []
    values = np.unique(codes)
    group = _child_of_ancestor(attribute, values)
    return [int(v) for v in values[1:][group[1:] != group[:-1]]]


def _relaxed_cuts(codes: Ints, part: TablePart, with_one_cut: bool) -> Iterator[list[TablePart]]:
    """Cuts within the records that equal the lower median: half of the records first; no other where `with_one_cut`."""
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(part.counts[order])
    records = int(ends[-1])
    equal = codes[order] == _lower_median(codes, part.counts)
    first, last = int((ends - part.counts[order])[equal].min()), int(ends[equal].max())
    half, step = (records + 1) // 2, 1
    sizes = [half]
    while not with_one_cut and (half - step > first or half + step < last):
        sizes += [half - step, half + step]
        step *= 2
    for size in dict.fromkeys(sizes if with_one_cut else [*sizes, first, last]):
        if max(first, 1) <= size <= min(last, records - 1):
            yield cut_after(part, order, size)


def cut_after(part: TablePart, order: Ints, n_records: int) -> list[TablePart]:
    """Return the part cut after so many records in an order of its tuples, some at least on either side."""
    ends = np.cumsum(part.counts[order])
    middle = int(np.searchsorted(ends, n_records))
    left_counts, right_counts = np.zeros_like(part.counts), part.counts.copy()
    left_counts[order[:middle]] = part.counts[order[:middle]]
    left_counts[order[middle]] = n_records - (int(ends[middle - 1]) if middle else 0)
    right_counts -= left_counts
    left_part, right_part = (
        TablePart(part.tuples, part.first, left_counts),
        TablePart(part.tuples, part.first + left_counts, right_counts),
    )
    return [left_part.subset(left_counts > 0), right_part.subset(right_counts > 0)]


def _lower_median(codes: Ints, counts: Ints) -> int:
    """Return the code of the record at index (n - 1) // 2 in ascending order.

    O(m log m) for m tuples of whatever codes.
    """
    order = np.argsort(codes, kind="stable")
    records = np.cumsum(counts[order])
    return int(codes[order[np.searchsorted(records, (int(records[-1]) - 1) // 2, side="right")]])


def _child_of_ancestor(tree: CategoricalAttribute, values: Ints) -> Ints:
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
