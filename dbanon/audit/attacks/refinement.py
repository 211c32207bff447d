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

from dbanon.audit.attacks.interval_bounds import Program, Span
from dbanon.audit.attacks.refinement_columns import EPSILON, Axis, Column, Floats, Ints, axis_of

PAIRS = 20_000_000
"""Pairs of classes that are looked at: the classes that lose most, each with all others."""

TOGETHER = 32
"""Greatest number of records that are thought to go over together."""

BOUNDS = 24
"""Bounds of a program: the tightest, of these the widest."""


class Bound(NamedTuple):
    """Of the class at a place of the list, at most `most` records have a value from low to high in a column; -1 where
    no table is as it is assumed."""

    place: int
    column: int
    low: float
    high: float
    most: int


@dataclass(frozen=True)
class Refined:
    """What the loss tells: `bounds`; of each class what a record loses in it, `own`, and what is saved where one goes
    out, `freed`, 0 where nothing is known of that; and how many classes were `examined`. Whoever fits a class and one
    with an `own` below its `freed` is not in it."""

    bounds: list[Bound]
    own: Floats
    freed: Floats
    examined: int


def refined(
    columns: Sequence[Column],
    low: Floats,
    high: Floats,
    records: Ints,
    k: int,
    leaves: bool,
    check: Callable[[], None],
) -> Refined:
    """What the loss tells of classes from low to high (classes, columns).

    Missing values are -inf, and a class from -inf to inf is anything. `leaves`: a node loses its share of leaves,
    otherwise its levels above the leaves. Those classes are looked at that lose most, as many as `PAIRS` allows.
    O(pairs * columns) time, O(classes * TOGETHER) memory.
    """
    axes = [axis_of(column, low[:, j], high[:, j], leaves) for j, column in enumerate(columns)]
    classes = _Classes(axes, np.sum([axis.own for axis in axes], axis=0), low, high, records, k)
    wide = np.argsort(-classes.own, kind="stable")[: max(PAIRS // max(len(records), 1), 1)]
    found = Refined([], classes.own, np.zeros(len(records)), 0)
    for c in map(int, wide):
        check()
        freed = classes.freed(c)
        if len(freed):
            found.freed[c] = freed[0]
            found.bounds.extend(_of_class(classes, c, freed))
    return replace(found, examined=int(np.count_nonzero(found.freed)))


@dataclass(frozen=True)
class _Classes:
    """The classes of a release: what a record loses in each, their ends and how many records they have."""

    axes: Sequence[Axis]
    own: Floats
    low: Floats
    high: Floats
    records: Ints
    k: int

    def freed(self, c: int) -> Floats:
        """What one record loses less of, besides what it loses then, if 1, 2, ..

        records go out of class c: its own loss as long as k are left; beyond, that of a class within it, which can fill
        it up again.
        """
        spare = np.minimum(self.records - self.k, TOGETHER)
        inside = np.all((self.low >= self.low[c]) & (self.high <= self.high[c]), axis=1) & (spare > spare[c])
        freed = np.zeros(max(int(spare[inside].max(initial=0)), int(spare[c])))
        np.maximum.at(freed, spare[inside] - 1, self.own[inside])
        freed = np.maximum.accumulate(freed[::-1])[::-1]
        freed[: spare[c]] = self.own[c]
        return freed


def _of_class(classes: _Classes, c: int, freed: Floats) -> list[Bound]:
    """What is told of one class; one bound of -1 where there is a contradiction."""
    joined = [axis.joined(c) for axis in classes.axes]
    together = np.sum(joined, axis=0)
    size, found = int(classes.records[c]), []
    for j, axis in enumerate(classes.axes):
        if not axis.is_open(c):
            continue
        elsewhere = together - joined[j]
        others = np.flatnonzero(elsewhere + axis.own + EPSILON < freed[0])
        others = others[others != c]
        room = _afforded(freed, classes.own[others], classes.records[others]) - elsewhere[others, None]
        program = Program.of(axis.whole(c), size, axis.known(c, size), _tightest(axis.spans(c, others, room)))
        if program is None:
            return [Bound(c, j, np.nan, np.nan, -1)]
        found += [Bound(c, j, *told) for told in axis.told(c, program)]
    return found


def _afforded(freed: Floats, own: Floats, records: Ints) -> Floats:
    """Return the loss below which each class, with 1, 2, .. records more, makes the total fall (classes, records)."""
    moved = np.arange(1, len(freed) + 1)
    return np.asarray((moved * freed + (records * own)[:, None]) / (moved + records[:, None]))


def _tightest(spans: Iterator[Span]) -> list[Span]:
    """Return the bounds of which none follows from another one, the tightest and of these the widest."""
    kept: list[Span] = []
    for span in sorted(set(spans), key=lambda s: (s.most, s.low - s.high, s.low)):
        if not any(k.low <= span.low and span.high <= k.high for k in kept):
            kept.append(span)
            if len(kept) == BOUNDS:
                break
    return kept
