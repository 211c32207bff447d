"""Split: begin with the whole table and cut it while every side still meets the constraint. The family of Mondrian."""

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
    EncodedTable,
    Ints,
    NumericAttribute,
    concatenated_ranges,
)
from dbanon.privacy_models.constraint import Constraint

SAMPLE_PARTS = 16
"""Parts from which the time of all parts is estimated."""

STEPS_PER_PART = 1e4
"""Steps that a part costs in addition to its tuples."""


@dataclass(frozen=True)
class TablePart:
    """A part of a table: some records of some tuples.

    Attributes:
        tuples: The tuples, ascending.
        first: First canonical row of each tuple's records in the part.
        counts: Number of consecutive rows from there.
    """

    tuples: Ints
    first: Ints
    counts: Ints

    def subset(self, is_selected: Bools) -> TablePart:
        """Return the records of those tuples of the part for which `is_selected` is true."""
        return TablePart(self.tuples[is_selected], self.first[is_selected], self.counts[is_selected])

    def rows(self) -> Ints:
        """Return the canonical row numbers of all records of the part."""
        return concatenated_ranges(self.first, self.counts)

    def meets(self, space: EncodedTable, constraint: Constraint) -> bool:
        """Return whether the records of the part, as one cluster, meet the constraint."""
        records = int(self.counts.sum())
        if records < constraint.min_records or constraint.counts_only_records(space):
            return records >= constraint.min_records
        return constraint.is_met_by_records(space, self.rows())


def parts_to_labels(parts: Sequence[TablePart]) -> RunLengthLabels:
    """Return the labels if each part is a cluster, numbered in the given order.

    Together the parts must have all records of the table, each once.
    """
    sizes = [len(part.tuples) for part in parts]
    tuples, first, counts = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("tuples", "first", "counts")
    )
    order = np.argsort(first, kind="stable")  # canonical rows, so also by tuple
    return RunLengthLabels.from_runs(tuples[order], np.repeat(np.arange(len(parts)), sizes)[order], counts[order])


def split_by_level(
    space: EncodedTable,
    min_records: int,
    cut_part: Callable[[TablePart], Sequence[TablePart]],
    check: Check,
    step_cost: float = 1.0,
) -> list[tuple[TablePart, int]]:
    """Cut the table level by level with `cut_part` until no part can be cut; return the classes.

    All parts of a level are cut before any part of the next. Progress is computed from the entropy of the parts, so
    that both balanced and unbalanced cuts are estimated reasonably.

    Args:
        space: The encoded table.
        min_records: Least number of records of a class, for the progress.
        cut_part: Returns the sides of a part; none if it is a class.
        check: Called for every part; raises if the run was interrupted.
        step_cost: Steps (see dbanon.algorithms.base.progress) that cutting a part takes for each of its tuples.

    Returns:
        Each class, with the number of the part that it was cut from (-1 for the whole table).
    """

    def remaining_entropy(part: TablePart) -> float:
        """Return the records of a part times the log of how many classes it can have: the work that remains in it."""
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
                part_steps = STEPS_PER_PART * (space.rows / min_records)
                progress_check.on_estimate(
                    n_examined * step_cost / fraction + part_steps,
                    (progress.thread_seconds() - clock) / fraction + part_steps * progress.SECONDS_PER_STEP,
                )
            progress_check.advance(fraction)
        level = next_level
    return classes


def first_allowable_cut(space: EncodedTable, constraint: Constraint, part: TablePart, strict: bool) -> list[TablePart]:
    """Return the sides of the first cut, widest attribute first, whose sides all meet the constraint.

    The sides are in the order of their codes; an empty list if there is no such cut.

    Args:
        space: The encoded table.
        constraint: The constraint.
        part: The part to cut.
        strict: Whether records of one value are always on one side. If not, records that equal the median of a number
            (in parts without NULL in it) may be on both sides.
    """
    codes_by_attribute = [space.codes[part.tuples, j] for j in range(len(space.attributes))]
    for j in attributes_by_width(space.attributes, codes_by_attribute):
        attribute, codes = space.attributes[j], codes_by_attribute[j]
        if strict or not isinstance(attribute, NumericAttribute) or codes.max() == attribute.values:
            cuts: Iterator[list[TablePart]] = iter([_strict_cut(attribute, codes, part)])
        else:
            cuts = _relaxed_cuts(codes, part, constraint.counts_only_records(space))
        for sides in cuts:
            if len(sides) > 1 and all(side.meets(space, constraint) for side in sides):
                return sides
    return []


def attributes_by_width(attributes: Sequence[Attribute], codes: Sequence[Ints]) -> Iterator[int]:
    """Yield the indices of the attributes that vary in a part, by weight times relative width, widest first.

    Ties go to the earlier attribute. An attribute of weight 0 is omitted. `codes` has, for each attribute, the codes
    that occur in the part, in any order.
    """
    widths = [a.weight * _relative_width(a, part_codes) for a, part_codes in zip(attributes, codes, strict=True)]
    for j in np.argsort([-w for w in widths], kind="stable").tolist():
        if widths[j] > 0:
            yield j


def _relative_width(attribute: Attribute, codes: Ints) -> float:
    """Return the share of the attribute's range that the codes of a part span, from 0 to 1.

    For a category it is the share of leaves below the lowest common ancestor. One value gives 0, NULL and values give
    1. Two different numbers never give 0.
    """
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
    """Return the sides of a cut with all records of one value on one side, in the order of their codes.

    There is one side, the part itself, if the attribute cannot be cut.

    Args:
        attribute: The attribute.
        codes: Its codes of the part's tuples.
        part: The part.
    """
    side = np.searchsorted(side_starts(attribute, codes, part.counts), codes, side="right")
    return [part.subset(side == s) for s in range(int(side.max()) + 1)]


def side_starts(attribute: Attribute, codes: Ints, counts: Ints) -> list[int]:
    """Return the codes that begin the second and further sides of a cut; records of equal values are on one side.

    NULL is cut off from other values. Without NULL, a number is cut after its lower median, and a category between the
    children of the lowest common ancestor. Empty if no cut is possible.

    Args:
        attribute: The attribute.
        codes: Codes in the part, which must not all be NULL; they may repeat.
        counts: Number of records of each entry of `codes`.
    """
    if codes.max() == attribute.values:
        return [attribute.values]
    if isinstance(attribute, NumericAttribute):
        above = codes[codes > _lower_median(codes, counts)]
        return [int(above.min())] if len(above) else []
    values = np.unique(codes)
    branch = attribute.branches(values)
    return [int(v) for v in values[1:][branch[1:] != branch[:-1]]]


def _relaxed_cuts(codes: Ints, part: TablePart, with_one_cut: bool) -> Iterator[list[TablePart]]:
    """Yield cuts of a number within the records that equal the lower median, the one into equal halves first.

    Each cut is the list of its two sides. Further cuts have 1, 2, 4, ... records fewer and more on the left, then none
    and all of the records that equal the median.

    Args:
        codes: Codes of the part's tuples, without NULL.
        part: The part.
        with_one_cut: Whether only the cut into halves is yielded.
    """
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
    """Cut the part after the first `n_records` records in an order of its tuples, and return the two sides.

    The records of one tuple may be on both sides. Each side must have at least one record.
    """
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
    """Return the code of the record at index (n - 1) // 2 in ascending order of codes.

    `counts` is the number of records of each entry of `codes`. O(m log m) for m entries.
    """
    order = np.argsort(codes, kind="stable")
    records = np.cumsum(counts[order])
    return int(codes[order[np.searchsorted(records, (int(records[-1]) - 1) // 2, side="right")]])
