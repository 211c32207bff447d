"""The least squares: simulated annealing (Kirkpatrick et al. 1983) lowers the SSE of finished clusters, and the whole
privacy model keeps holding.

A move is some exchanges of single records between neighbouring groups, and one set of two to four of these that is
dissolved and cut again along a line or a path (see dbanon.kernels.annealing_moves and recut). At first changes that
lose are taken by chance, and ever less.
"""

import time
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.class_bounds import members
from dbanon.algorithms.base.kernel_inputs import Layout, layout
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.base.standardize import points, within
from dbanon.algorithms.microaggregation import annealing_schedule
from dbanon.algorithms.microaggregation.group_arrays import Groups, halved, neighbours
from dbanon.algorithms.postprocess.improve import Budget, Search
from dbanon.algorithms.postprocess.suppress_outliers import Repair, rest_of
from dbanon.encoding.encoded_table import EncodedTable, Floats, Ints
from dbanon.kernels.arrays import MoveOptions
from dbanon.privacy_models.constraint import Constraint

EXCHANGES = 16
"""Exchanges that a move tries beside one cut; in large groups as many as these have records."""

NEAR = 30
"""Most neighbours that a record has; three times the least number of records where that is less."""

Moves = Callable[[Groups, int, float], float]
"""Makes so many moves at a heat; gives what they gain."""

Start = Callable[[Ints], Groups]
"""Groups by labels."""


def lowered(
    space: EncodedTable, constraint: Constraint, runs: Runs, search: Search, repair: Repair, check: Check
) -> Runs:
    """Return the clusters after a search; who is left out stays so, and the SSE is never above that of the start.

    O(n log n + moves * size of a few classes) time, O(n * attributes) memory. `repair` unites classes until they meet
    the model.
    """
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
    """Return the SSE of all records but those that are left out."""
    kept = labels >= 0
    return within(at[kept], labels[kept], np.ones(int(kept.sum())))


def _searched(problem: Layout, at: Floats, labels: Ints, asked: Search, before: float, check: Check) -> Ints:
    """Return labels of all records after the search."""
    from dbanon.kernels.microaggregation_moves import reduce_squares

    limits = problem.least, problem.most
    if problem.mode == 0:
        labels = halved(at, labels, limits)
    small = np.bincount(labels[labels >= 0]) <= problem.most
    searched = np.where((labels >= 0) & np.append(small, False)[labels], labels, -1)
    if not (searched >= 0).any():
        return labels
    near = neighbours(at, min(3 * problem.least, NEAR), check)
    widest = 4 if problem.least <= 10 else 3 if problem.least <= 20 else 2
    item = problem.item_of if problem.by_row is not None else np.zeros(0, np.int64)
    judged = (item, *problem.model, *problem.scratch, np.zeros(problem.most, np.int32))
    room = _room(widest * problem.most, widest, at.shape[1])
    draws = np.random.Generator(np.random.PCG64(asked.seed))
    state = draws.integers(1, 2**63, 1, np.int64).astype(np.uint64)
    each = max(EXCHANGES, problem.least)

    def search(groups: Groups, number: int, heat: float) -> float:
        options, arrays = MoveOptions(number, each, widest, heat), (groups.records, groups.groups, groups.free)
        return float(reduce_squares(options, *arrays, limits, judged, room, state))

    if asked.budget.seconds is not None:  # what is compiled on the first call is not part of the time
        search(Groups.of(at, searched, limits, near), 0, 0.0)
    group = _annealed(search, lambda of: Groups.of(at, of, limits, near), searched, asked.budget, before, check)
    return np.where(group >= 0, group + len(small), labels)


def _annealed(search: Moves, start: Start, labels: Ints, budget: Budget, before: float, check: Check) -> Ints:
    """Return the groups of the best state that a batch of moves ended in. `before`: the SSE at first.

    Each round begins at the best state of those before (see dbanon.algorithms.microaggregation.annealing_schedule).
    """
    clock, best, most, records = time.perf_counter(), labels, 0.0, len(labels)
    for turn in count():
        batch, length = annealing_schedule.batch(records, turn), annealing_schedule.length(records, turn)
        groups, saved = start(best), most
        for made in range(0, length, batch):
            passed = (time.perf_counter() - clock) / budget.seconds if budget.seconds else budget.done / budget.moves
            budget.progress(min(passed, 1.0), most / before)
            if passed >= 1 or budget.is_interrupted(check):
                return best
            number = min(batch, length - made)
            if budget.seconds is None:
                number = min(number, budget.moves - budget.done)
            saved += search(groups, number, before / records * annealing_schedule.heat(records, turn, made))
            if saved > most:
                best, most = groups.records[1].astype(np.int64), saved
            budget.done += number
    return best


def _room(records: int, groups: int, axes: int) -> tuple[Any, ...]:
    """What a cut of so many records of so many groups writes to."""
    return (
        np.zeros(groups, np.int64), np.zeros(records, np.int32), np.zeros(records), np.zeros(records, np.int32),
        np.zeros(axes), np.zeros(records + 1), np.zeros(records + 1, np.int32),
    )  # fmt: skip
