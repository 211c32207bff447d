"""Growth: the one loop of the families gather and greedy.

A group begins with a seed, records join it until it is enough, and the next group begins, while what is left can make
one; what is left in the end is placed. What differs are four rules:

gather.nearest     seed: least or greatest sum of distances to all seeds; joins: nearest to the seed; enough: k records,
                   or any model; leftovers: nearest seed
gather.diverse     the same; joins: nearest with which the models can still be met; leftovers: nearest group that meets
                   them then
gather.mdav        seed: farthest from the average, then from that seed; joins: nearest to the seed; enough: k records;
                   leftovers: a group of their own
greedy.least_loss  seed: farthest from the seed before, a random record, or the first; joins: least loss; enough: k
                   records; leftovers: least loss
greedy.eld         seed: farthest from the seed before; enough: k records and l values; else as above

Seed, joining and enough are mostly one compiled kernel: a call for each record would cost more than its answer.
"""

import time
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignment_log import Dealt
from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.kernel_inputs import layout
from dbanon.algorithms.base.registry import Assignment, Check
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint

FEWEST, MOST = 4, 2**22
"""Groups that are made between two looks for interrupts, at least and at most."""

PAUSE = 0.1
"""Seconds between two looks for interrupts, where groups are made one after another in compiled code."""

SAMPLE, ENOUGH = 64, 10**8
"""Groups by which it is judged how long all of them take, or the steps after which fewer will do. The first FEWEST are
not among them: kernels may have been compiled for them."""

ROOM = 2**22
"""Members of groups that are held at a time."""


class Rules(ABC):
    """The rules of one clustering, and what is left of its records.

    Attributes:
        index: Counts the records that are left, and what was looked at so far.
        dealt: The groups.
        questions: Questions that a group asks, each of which might have to look at all tuples.
        harder: How many times as hard the questions of all groups are as those of the first, while these look at few
            tuples: measured. Groups that begin far from the others find first what lies apart, and what is left lies
            close.
        fewer: The same where the first ones look at most tuples.
    """

    index: Any
    dealt: Dealt
    questions, harder, fewer = 1, 1.0, progress.FEWER

    @property
    def records(self) -> int:
        """Records that are left."""
        return int(self.index.records)

    @property
    def steps(self) -> int:
        """What was looked at so far."""
        return int(self.index.steps)

    @abstractmethod
    def can_go_on(self) -> bool:
        """Return whether what is left might make a group."""

    @abstractmethod
    def form(self, first: int, most: int) -> int:
        """Makes up to `most` groups, each a seed and records that join until it is enough, numbered from `first` on;
        gives how many, and 0 where what is left makes none."""

    @abstractmethod
    def place(self, groups: int, check: Check) -> None:
        """Put records that are in none of so many groups, in canonical order, into one."""

    def found(self) -> Assignment:
        """Return the group of every record."""
        return self.dealt.runs()


class CountedRules(Rules):
    """What rules have in common whose kernel counts: the records that are left, and the tuples that were looked at.

    Attributes:
        state: What the kernel goes on from; the second number is that of the records that are left.
        looked: Tuples that were looked at so far.
        step_cost: What a look at one costs, in steps of dbanon.algorithms.base.progress.
        labels: The group of every record; -1 where there is none yet.
        codes_of: The place of each attribute among the codes of all.
    """

    step_cost = 1.0

    def __init__(self, space: EncodedTable, k: int, state: NDArray[Any], least: int = 1) -> None:
        self.space, self.k, self.state, self.looked = space, k, state, 0
        self.problem = layout(space, Constraint(least), "edges")
        self.codes_of = np.cumsum([0, *(a.values + 1 for a in space.attributes)])
        self.labels = np.full(space.rows, -1, np.int64)

    @property
    def records(self) -> int:
        return int(self.state[1])

    @property
    def steps(self) -> int:
        return round(self.looked * self.step_cost)

    def found(self) -> Assignment:
        return self.labels


def grow(space: EncodedTable, rules: Rules, check: Check) -> Assignment:
    """Return the group of every record; one group where none could be made."""
    groups, most, work = 0, FEWEST, progress.work(check)
    sample = _Sampling(space, rules, work)
    while rules.can_go_on():
        check()
        most = sample.most(groups, most)
        clock = time.perf_counter()
        formed = rules.form(groups, most)
        if formed == 0:
            break
        groups += formed
        took = max(time.perf_counter() - clock, 1e-6)
        work.come(1 - rules.records / space.rows)
        most = int(min(max(most * PAUSE / took, FEWEST), 8 * most, MOST))
    if groups == 0:
        return Runs.one(space)
    rules.place(groups, check)
    return rules.found()


class _Sampling:
    """The first groups, by which it is judged how long all of them take."""

    def __init__(self, space: EncodedTable, rules: Rules, work: progress.Work) -> None:
        self._space, self._rules, self._work = space, rules, work
        self._before: tuple[int, int, int, float] | None = None
        self._is_judged = False

    def most(self, groups: int, most: int) -> int:
        """How many groups are to be made after so many; the same on every machine until all is judged."""
        if self._is_judged:
            return most
        if groups < FEWEST:
            return FEWEST - groups
        rules = self._rules
        if self._before is None:
            self._before = groups, rules.records, rules.steps, progress.clock()
        first, records, steps, clock = self._before
        steps = rules.steps - steps
        if groups < FEWEST + SAMPLE and steps < ENOUGH:
            return min(FEWEST + SAMPLE - groups, FEWEST)
        self._is_judged = True
        share = max(records - rules.records, 1) / self._space.rows
        sample = progress.Sample(share, steps, progress.clock() - clock)
        each = steps / (max(groups - first, 1) * rules.questions)
        self._work.expect(*sample.whole(progress.later(each, len(self._space.counts), rules.harder, rules.fewer)))
        return most


def within_room(groups: int, least: int) -> int:
    """As many groups of so many records, or fewer, as there is room for."""
    return min(groups, max(ROOM // (least + 2), FEWEST))
