"""What a stream keeps from one record to the next, as arrays: it can be put aside and taken up again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dbanon.space.space import Ints
from dbanon.stream.arrivals import Arrivals, Floats, Model

WAITING, SUPPRESSED = -2, -1
"""What stands for the class of a record that has none: it has not left yet, or it is left out."""

Own = dict[str, npt.NDArray[Any]]
"""What a system keeps of its own, by name."""

LAST = 8
"""Which counter of a desk is the last arrival."""

A_WHILE = 10**6
"""Records or clusters that are looked at before a run asks whether it was interrupted: some milliseconds."""


@dataclass(frozen=True)
class State:
    """A stream between two records.

    out (records,): the class that each left with, WAITING or SUPPRESSED; step (records,): how many had arrived then.
    Classes, of which the first ones were there before: lows and highs (classes, attributes) are what they publish, born
    (classes,) when each was made, kept the numbers of those that may be published again, the first ones first. seen
    (attributes, 2): the least and greatest position so far; last: at which place the last record arrived. `own` are
    arrays that only this system has, those by record with a place for each record.
    """

    out: Ints
    step: Ints
    lows: Floats
    highs: Floats
    born: Ints
    kept: Ints
    seen: Floats
    last: int = 0
    own: Own = field(default_factory=dict)


@dataclass(frozen=True)
class Desk:
    """The arrays that all systems work on, made of a state and of what has come since.

    counters: records that have arrived, oldest that may wait, classes, kept classes, four of each system's own, and at
    LAST the place at which the last record arrived, which may have left in a call before.
    """

    arrivals: Arrivals
    model: Model
    counters: Ints
    out: Ints
    step: Ints
    kept: Ints
    born: Ints
    lows: Floats
    highs: Floats
    seen: Floats
    need: Ints

    @classmethod
    def of(cls, arrivals: Arrivals, model: Model, before: State | None) -> Desk:
        """The desk of a stream that goes on; `before` None: that begins. Every class has at least k records that came,
        so the arrays of classes are linear in these."""
        records, width = arrivals.values.shape
        old = 0 if before is None else len(before.born)
        classes = old + records // model.least + 1
        desk = cls(
            arrivals,
            model,
            np.zeros(LAST + 1, np.int64),
            np.full(records, WAITING, np.int64),
            np.zeros(records, np.int64),
            np.zeros(classes, np.int64),
            np.zeros(classes, np.int64),
            np.zeros((classes, width)),
            np.zeros((classes, width)),
            np.tile([np.inf, -np.inf], (width, 1)) if before is None else before.seen.copy(),
            np.array(model.need, np.int64),
        )
        desk.counters[0] = arrivals.waiting
        if before is not None:
            desk.lows[:old], desk.highs[:old], desk.born[:old] = before.lows, before.highs, before.born
            desk.kept[: len(before.kept)] = before.kept
            desk.counters[2], desk.counters[3], desk.counters[LAST] = old, len(before.kept), before.last
        return desk

    def state(self, **own: npt.NDArray[Any]) -> State:
        """What is to be kept of it."""
        classes, kept = self.counters[2:4]
        return State(
            self.out, self.step, self.lows[:classes], self.highs[:classes], self.born[:classes], self.kept[:kept],
            self.seen, int(self.counters[LAST]), dict(own),
        )  # fmt: skip


def drive(steps: Callable[[int], int], check: Callable[[], None]) -> None:
    """Calls a kernel, which does so much of its work, until none is left; `check` raises where it was interrupted."""
    while steps(A_WHILE) >= A_WHILE:
        check()
