"""The least squares: simulated annealing (Kirkpatrick et al. 1983) lowers the SSE of finished clusters, and the whole
privacy model keeps holding.

A move is some exchanges of single records between neighbouring groups, and one set of two to four of these that is
dissolved and cut again along a line or a path (see dbanon.kernels.exchange and recut). At first changes that lose are
taken by chance, and ever less.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dbanon import errors
from dbanon.cluster.after.improve import Budget, Search
from dbanon.cluster.after.outliers import Repair, rest_of
from dbanon.cluster.extent import members
from dbanon.cluster.layout import Layout, layout
from dbanon.cluster.registry import Check
from dbanon.cluster.runs import Runs
from dbanon.cluster.squares.axes import Floats, points, within
from dbanon.cluster.squares.groups import Groups, halved, neighbours
from dbanon.models.constraint import Constraint
from dbanon.space.space import Ints, Space

EXCHANGES = 16
"""Exchanges that a move tries beside one cut; in large groups as many as these have records."""

NEAR = 30
"""Most neighbours that a record has; three times the least number of records where that is less."""

BATCHES = 400
"""Times that the heat is lowered; between two there are at least LEAST_MOVES and at most MOST_MOVES moves."""

LEAST_MOVES, MOST_MOVES = 20, 2_000

COLD, HOT = 1e-4, 3.0
"""The last and the greatest heat, in average squares of a record."""

WARMER = 0.1
"""A search of few moves begins colder, so that it does not leave its start for worse: so much heat for each move that a
record has."""

A_SECOND = 100_000
"""Moves that take about a second."""

ROUND, ROUNDS = 1_000, 4
"""A search that has so many moves for each record is made in several rounds, each from the heat to the cold."""

Move = Callable[[int, float], float]
"""Makes so many moves at a heat; gives what they gain."""


def lowered(space: Space, constraint: Constraint, runs: Runs, search: Search, repair: Repair, check: Check) -> Runs:
    """The clusters after a search; who is left out stays so, and the SSE is never above that of the start.
    O(n log n + moves * size of a few classes) time, O(n * attributes) memory. `repair` unites classes until they meet
    the model."""
    rest = rest_of(space, constraint, runs)
    problem = layout(rest, constraint, "top")
    labels = runs.labels()
    kept = labels >= 0
    counts = np.bincount(space.tuple_of[kept], minlength=len(space.counts)).astype(np.float64)
    at = points(space, counts)[space.tuple_of]
    if at.shape[1] == 0:
        return runs
    before = _squares(at, labels)
    if before == 0:
        return runs
    found = _searched(problem, at, labels, search, before, check)
    if problem.mode == 0:  # records of a tuple are alike: they go to their classes in order
        found = found[np.lexsort((found, space.tuple_of))]
    _, found[kept] = np.unique(found[kept], return_inverse=True)
    better = Runs.from_labels(space, found)
    if not constraint.counts_records(space):
        # What the kernels judged is judged again by the code that all algorithms share, and so are classes that publish
        # the same values and are one class for a reader.
        better = repair(rest, better)
        if len(constraint.missed(rest, members(better.labels()))):
            return runs
    return better if _squares(at, better.labels()) < before else runs


def _squares(at: Floats, labels: Ints) -> float:
    """The SSE of all records but those that are left out."""
    kept = labels >= 0
    return within(at[kept], labels[kept], np.ones(int(kept.sum())))


def _searched(problem: Layout, at: Floats, labels: Ints, asked: Search, before: float, check: Check) -> Ints:
    """Labels of all records after the search."""
    from dbanon.kernels.recut import lower_squares

    limits = problem.least, problem.most
    if problem.mode == 0:
        labels = halved(at, labels, limits)
    small = np.bincount(labels[labels >= 0]) <= problem.most
    searched = np.where((labels >= 0) & np.append(small, False)[labels], labels, -1)
    if not (searched >= 0).any():
        return labels
    near = neighbours(at, min(3 * problem.least, NEAR), check)
    groups = Groups.of(at, searched, limits, near)
    widest = 4 if problem.least <= 10 else 3 if problem.least <= 20 else 2
    item = problem.item_of if problem.by_row is not None else np.zeros(0, np.int64)
    judged = (item, *problem.model, *problem.scratch, np.zeros(problem.most, np.int32))
    room = _room(widest * problem.most, widest, at.shape[1])
    draws = np.random.Generator(np.random.PCG64(asked.seed))
    state = draws.integers(1, 2**63, 1, np.int64).astype(np.uint64)
    each = max(EXCHANGES, problem.least)
    spend = (each, widest)

    def search(number: int, heat: float, drawn: Any) -> float:
        return float(
            lower_squares(number, *spend, heat, groups.records, groups.groups, groups.free, limits, judged, room, drawn)
        )

    if asked.budget.seconds is not None:  # what is compiled on the first call is not part of the time
        search(0, 0.0, state.copy())
    group = groups.records[1]
    group = _anneal(lambda number, heat: search(number, heat, state), group, asked.budget, before / len(at), check)
    return np.where(group >= 0, group + len(small), labels)


def _anneal(search: Move, group: Any, budget: Budget, square: float, check: Check) -> Any:
    """Makes the moves of a budget, ever colder, in several rounds where they are many; gives the groups of the best
    state that a batch ended in. `square`: what a record loses on average at first."""
    clock, saved, share = time.perf_counter(), 0.0, 0.0
    best, most = group.copy(), 0.0
    records = len(group)
    expected = budget.moves if budget.seconds is None else int(budget.seconds * A_SECOND)
    hot = min(HOT, COLD + expected / records * WARMER)
    rounds = min(max(expected // records // ROUND, 1), ROUNDS)
    batch = min(max(expected // BATCHES, LEAST_MOVES), MOST_MOVES)
    while share < 1:
        try:
            check()
        except errors.Interrupted:
            if not budget.keep:
                raise
            break
        number = batch if budget.seconds is not None else min(batch, budget.moves - budget.done)
        saved += search(number, square * hot * (COLD / hot) ** (share * rounds % 1))
        if saved > most:
            best, most = group.copy(), saved
        budget.done += number
        passed = (time.perf_counter() - clock) / budget.seconds if budget.seconds else budget.done / budget.moves
        share = min(passed, 1.0)
        budget.progress(share, most / max(square * records, 1e-300))
    return best


def _room(records: int, groups: int, axes: int) -> tuple[Any, ...]:
    """What a cut of so many records of so many groups writes to."""
    return (
        np.zeros(groups, np.int64), np.zeros(records, np.int32), np.zeros(records), np.zeros(records, np.int32),
        np.zeros(axes), np.zeros(records + 1), np.zeros(records + 1, np.int32),
    )  # fmt: skip
