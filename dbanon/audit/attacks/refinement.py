"""Infer from a minimal loss (of information) how many records of a class can have a value.

If moving records to another class would have lowered the loss, the algorithm would have moved them.

Reconstructed from the published abstract and reviews of the combinatorial refinement attack (Chhillar et al. 2025),
which is about one greedy local recoding; this version is for any algorithm that lowers the loss. Assumptions: the
reader has the release and knows hierarchies, k, weights and the loss, which is that of precision; k is the only
constraint; and no record was left in a class although a cheaper one was open to it. Consider classes C and D. Suppose
that g records of C would lower the total loss by moving to D, with D extended as needed, and that C has g records more
than k, or can be refilled from a third class inside it. Then fewer than g records of C are inside D so extended. The
result is, for one column at a time, the greatest number of records of C in an interval of its values (of leaves below a
node) that all such bounds allow, together with what is known in any case: the size of C, and that its ends (two
children) are occupied. Exchanges, longer chains and classes that could be split are not considered.

The bounds form a linear program, solved in dbanon.audit.attacks.interval_bounds.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dbanon.audit.attacks.interval_bounds import IntervalProgram, Span
from dbanon.audit.attacks.refinement_columns import EPSILON, ColumnLoss, Floats, Ints, KnownColumn, column_loss

MAX_PAIRS = 20_000_000
"""Maximum number of examined pairs of classes: the classes with the greatest loss, each with all others."""

MAX_MOVED = 32
"""Maximum number of records that move together."""

MAX_BOUNDS = 24
"""Maximum number of bounds of a program: the tightest, and of these the widest."""


class ClassBound(NamedTuple):
    """At most `max_records` records of a class have a value from low to high (both inclusive) in a column.

    `class_index` and `column` are indexes. A `max_records` of -1 means that no table satisfies the assumptions; low and
    high are then NaN.
    """

    class_index: int
    column: int
    low: float
    high: float
    max_records: int


@dataclass(frozen=True)
class LossInferences:
    """The inferences from the loss (of information) about the classes of a release.

    A record that fits two classes is not in the first one if the loss in the second is below the saving of the first.

    Attributes:
        bounds: Limits of the number of records of a class in an interval.
        losses: (classes,) loss of one record in each class.
        savings: (classes,) minimal loss saved if one record is moved out of the class; 0 if unknown or not examined.
        n_examined: Number of classes with a positive saving.
    """

    bounds: list[ClassBound]
    losses: Floats
    savings: Floats
    n_examined: int


def refine_classes(
    columns: Sequence[KnownColumn],
    low: Floats,
    high: Floats,
    records: Ints,
    k: int,
    by_leaves: bool,
    check: Callable[[], None],
) -> LossInferences:
    """Return what a minimal loss (of information) reveals about the values of the records in the classes of a release.

    The classes with the greatest loss are examined, as many as `MAX_PAIRS` allows. O(pairs * columns) time, O(classes *
    MAX_MOVED) memory.

    Args:
        columns: The columns as the reader knows them.
        low: (classes, columns) lower ends; -inf for missing values, -inf to inf for any value.
        high: (classes, columns) upper ends.
        records: (classes,) number of records.
        k: Minimum number of records in a class.
        by_leaves: Whether a hierarchy's node loses its share of leaves; otherwise its levels above the leaves.
        check: Called for each class; raises if the call is interrupted.
    """
    axes = [column_loss(column, low[:, j], high[:, j], by_leaves) for j, column in enumerate(columns)]
    classes = _Classes(axes, np.sum([axis.losses for axis in axes], axis=0), low, high, records, k)
    widest = np.argsort(-classes.losses, kind="stable")[: max(MAX_PAIRS // max(len(records), 1), 1)]
    result = LossInferences([], classes.losses, np.zeros(len(records)), 0)
    for c in map(int, widest):
        check()
        savings = classes.savings(c)
        if len(savings):
            result.savings[c] = savings[0]
            result.bounds.extend(_bounds_of_class(classes, c, savings))
    return replace(result, n_examined=int(np.count_nonzero(result.savings)))


@dataclass(frozen=True)
class _Classes:
    """The classes of a release: losses in each column, loss of a record, ends and number of records of each class.

    Arrays are (classes,) or (classes, columns); `k` is the minimum number of records in a class.
    """

    columns: Sequence[ColumnLoss]
    losses: Floats
    low: Floats
    high: Floats
    records: Ints
    k: int

    def savings(self, c: int) -> Floats:
        """Return the least loss that each record saves if 1, 2, ... records are moved out of class c.

        The loss in the class that receives them is not considered. The saving is the loss of c itself as long as k
        records remain; beyond that, the loss in a class inside c, from which c can be refilled. Element g - 1 is for g
        records. Empty if no record can be moved.
        """
        spare = np.minimum(self.records - self.k, MAX_MOVED)
        inside = np.all((self.low >= self.low[c]) & (self.high <= self.high[c]), axis=1) & (spare > spare[c])
        savings = np.zeros(max(int(spare[inside].max(initial=0)), int(spare[c])))
        np.maximum.at(savings, spare[inside] - 1, self.losses[inside])
        savings = np.maximum.accumulate(savings[::-1])[::-1]
        savings[: spare[c]] = self.losses[c]
        return savings


def _bounds_of_class(classes: _Classes, c: int, savings: Floats) -> list[ClassBound]:
    """Return the inferred bounds of class c in all columns; one bound of -1 if the assumptions contradict each other.

    Args:
        classes: All classes of the release.
        c: The index of the class.
        savings: (n,) least loss that each record saves if 1, 2, ..., n of them are moved out of class c; not empty.
    """
    merged_losses = [axis.merged_losses(c) for axis in classes.columns]
    total_loss = np.sum(merged_losses, axis=0)
    size, bounds = int(classes.records[c]), []
    for j, axis in enumerate(classes.columns):
        if not axis.is_open(c):
            continue
        other_columns_loss = total_loss - merged_losses[j]
        others = np.flatnonzero(other_columns_loss + axis.losses + EPSILON < savings[0])
        others = others[others != c]
        max_losses = (
            _break_even_losses(savings, classes.losses[others], classes.records[others])
            - other_columns_loss[others, None]
        )
        program = IntervalProgram.solve(
            axis.extent(c), size, axis.known_spans(c, size), _tightest_spans(axis.implied_spans(c, others, max_losses))
        )
        if program is None:
            return [ClassBound(c, j, np.nan, np.nan, -1)]
        bounds += [ClassBound(c, j, *bound) for bound in axis.informative_bounds(c, program)]
    return bounds


def _break_even_losses(savings: Floats, losses: Floats, records: Ints) -> Floats:
    """Return the (classes, n) losses below which a class with 1, 2, ..., n more records lowers the total loss.

    Args:
        savings: (n,) least loss that each record saves in its present class if 1, 2, ..., n records are moved.
        losses: (classes,) loss of one record in each class.
        records: (classes,) number of records of each class.
    """
    n_moved = np.arange(1, len(savings) + 1)
    return np.asarray((n_moved * savings + (records * losses)[:, None]) / (n_moved + records[:, None]))


def _tightest_spans(spans: Iterator[Span]) -> list[Span]:
    """Return the intervals that are not inside another one with an equal or lower limit of records.

    At most MAX_BOUNDS, those with the lowest limits. They are ordered by limit, and by width (widest first) for equal
    limits.
    """
    tightest: list[Span] = []
    for span in sorted(set(spans), key=lambda s: (s.max_records, s.low - s.high, s.low)):
        if not any(other.low <= span.low and span.high <= other.high for other in tightest):
            tightest.append(span)
            if len(tightest) == MAX_BOUNDS:
                break
    return tightest
