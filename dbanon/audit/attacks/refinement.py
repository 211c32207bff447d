"""What a least loss tells of a class: how many of its records can have a value, if no move of records to another class
would have lost less.

Reconstructed in our own words from the published abstract and reviews of the combinatorial refinement attack
(Chhillar et al. 2025), which is about one greedy local recoding; this is for any algorithm that lowers the loss. What
is assumed: the reader has the release, and knows hierarchies, k, weights and the loss, that of precision; that k is all
that a class must meet; and that records were not left in a class where a cheaper one was open to them. So, for classes
C and D: if g records of C would let the total loss fall by going over to D, grown as far as it must, and C has so many
above k, or can be filled up again from a third class that lies in it, then fewer than g records of C lie in D so grown.
Concluded is, of one column at a time, the greatest number of records of C in an interval of its values (of leaves,
below a node) that all such bounds leave, together with what is known anyway: the size of C, and that its ends (two
children) are occupied. Not looked at are exchanges, longer chains, and classes that could be cut in two.

This is a linear program, solved in dbanon.audit.attacks.interval_bounds.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dbanon.audit.attacks.interval_bounds import IntervalProgram, Span
from dbanon.audit.attacks.refinement_columns import EPSILON, ColumnLoss, Floats, Ints, KnownColumn, column_loss

MAX_PAIRS = 20_000_000
"""Pairs of classes that are looked at: the classes that lose most, each with all others."""

MAX_MOVED = 32
"""Greatest number of records that are thought to go over together."""

MAX_BOUNDS = 24
"""Bounds of a program: the tightest, of these the widest."""


class ClassBound(NamedTuple):
    """Of the class at a place of the list, at most `most` records have a value from low to high in a column; -1 where
    no table is as it is assumed."""

    class_index: int
    column: int
    low: float
    high: float
    max_records: int


@dataclass(frozen=True)
class Refinement:
    """What the loss tells: `bounds`; of each class what a record loses in it, `own`, and what is saved where one goes
    out, `freed`, 0 where nothing is known of that; and how many classes were `examined`. Whoever fits a class and one
    with an `own` below its `freed` is not in it."""

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
) -> Refinement:
    """What the loss tells of classes from low to high (classes, columns).

    Missing values are -inf, and a class from -inf to inf is anything. `by_leaves`: a node loses its share of leaves,
    otherwise its levels above the leaves. Those classes are looked at that lose most, as many as `PAIRS` allows.
    O(pairs * columns) time, O(classes * TOGETHER) memory.
    """
    axes = [column_loss(column, low[:, j], high[:, j], by_leaves) for j, column in enumerate(columns)]
    classes = _Classes(axes, np.sum([axis.losses for axis in axes], axis=0), low, high, records, k)
    widest = np.argsort(-classes.losses, kind="stable")[: max(MAX_PAIRS // max(len(records), 1), 1)]
    result = Refinement([], classes.losses, np.zeros(len(records)), 0)
    for c in map(int, widest):
        check()
        savings = classes.savings(c)
        if len(savings):
            result.savings[c] = savings[0]
            result.bounds.extend(_bounds_of_class(classes, c, savings))
    return replace(result, n_examined=int(np.count_nonzero(result.savings)))


@dataclass(frozen=True)
class _Classes:
    """The classes of a release: what a record loses in each, their ends and how many records they have."""

    columns: Sequence[ColumnLoss]
    losses: Floats
    low: Floats
    high: Floats
    records: Ints
    k: int

    def savings(self, c: int) -> Floats:
        """What one record loses less of, besides what it loses then, if 1, 2, ..

        records go out of class c: its own loss as long as k are left; beyond, that of a class within it, which can fill
        it up again.
        """
        spare = np.minimum(self.records - self.k, MAX_MOVED)
        inside = np.all((self.low >= self.low[c]) & (self.high <= self.high[c]), axis=1) & (spare > spare[c])
        savings = np.zeros(max(int(spare[inside].max(initial=0)), int(spare[c])))
        np.maximum.at(savings, spare[inside] - 1, self.losses[inside])
        savings = np.maximum.accumulate(savings[::-1])[::-1]
        savings[: spare[c]] = self.losses[c]
        return savings


def _bounds_of_class(classes: _Classes, c: int, savings: Floats) -> list[ClassBound]:
    """What is told of one class; one bound of -1 where there is a contradiction."""
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
    """Return the loss below which each class, with 1, 2, .. records more, makes the total fall (classes, records)."""
    n_moved = np.arange(1, len(savings) + 1)
    return np.asarray((n_moved * savings + (records * losses)[:, None]) / (n_moved + records[:, None]))


def _tightest_spans(spans: Iterator[Span]) -> list[Span]:
    """Return the bounds of which none follows from another one, the tightest and of these the widest."""
    tightest: list[Span] = []
    for span in sorted(set(spans), key=lambda s: (s.max_records, s.low - s.high, s.low)):
        if not any(other.low <= span.low and span.high <= other.high for other in tightest):
            tightest.append(span)
            if len(tightest) == MAX_BOUNDS:
                break
    return tightest
