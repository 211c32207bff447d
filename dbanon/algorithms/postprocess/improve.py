"""Improvement: a local search lowers the loss of a finished clustering, and the whole privacy model keeps holding.

A move dissolves a few classes that are neighbours in a random order and cuts their records anew along another line of
theirs, with the least loss of all cuts (see dbanon.kernels.optimal_cut); where no more is lost, the new classes stay.
Moves that lose as much are taken too: they let the search leave a plateau.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dbanon import errors
from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.class_bounds import members
from dbanon.algorithms.base.kernel_inputs import Layout, layout
from dbanon.algorithms.base.packed_classes import Classes
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.postprocess.search_focus import focused, united
from dbanon.algorithms.postprocess.suppress_outliers import Repair, rest_of
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.arrays import SweepOptions
from dbanon.privacy_models.constraint import Constraint

BATCH = (20_000, 1_000, 250)
"""Moves between two looks for interrupts and at the clock, by how hard the model is to judge; fewer from k = 16 on."""

WIDTHS = ((2, 2, 3), (1, 2, 2, 3), (1, 2, 2, 3))
"""Classes that are dissolved together, in turn; one alone may be cut where a model asks for more than a number."""

NEAR = 30
"""Of 100 sets, so many are cut along the distance from one of their records, the others along a random line."""

LARGEST = 4096
"""Sets of more records (or 16 times the least) are not rebuilt."""

IDLE = 16
"""The search ends after so many rounds in which no set could be rebuilt."""

FOCUS = 1_000
"""Moves at least before it is chosen again which classes are searched."""

Progress = Callable[[float, float], None]
"""Called with the share of the moves or of the time that is done, and the share of the loss that is gone."""


@dataclass
class Budget:
    """How long a search goes on: `moves` or, if given, `seconds`.

    `done` counts the moves made; `keep` takes what was found when the search is interrupted, instead of stopping all.
    """

    moves: int
    seconds: float | None = None
    keep: bool = False
    done: int = 0
    progress: Progress = lambda done, saved: None

    def is_interrupted(self, check: Check) -> bool:
        """Whether the search was interrupted, and what it found so far is kept; raises Interrupted where it is not."""
        try:
            check()
        except errors.StatementInterruptedError:
            if not self.keep:
                raise
            return True
        return False


@dataclass(frozen=True)
class Search:
    """What is searched: `heights`, of inner nodes in the loss, top or edges; `blocks`: by tuple, what must not be mixed
    (None: everything may be). The same moves and seed give the same clusters."""

    heights: str
    budget: Budget
    seed: int
    blocks: Ints | None = None


def improved(
    space: EncodedTable, constraint: Constraint, runs: Runs, search: Search, repair: Repair, check: Check
) -> Runs:
    """Return the clusters after a search; who is left out stays so.

    `repair` unites classes until they meet the model. O(moves * size of a few classes) time, O(n) memory for n runs, or
    records where a model looks at each.

    The loss is that of the published values (KACPC paper, Eq. 1) times the weights, and never above that of the start.
    """
    rest = rest_of(space, constraint, runs)
    problem = layout(rest, constraint, search.heights)
    classes = Classes.of(problem, runs)
    before = classes.loss(problem)
    classes = _searched(problem, classes, search, _block_of(problem, space, search.blocks), check)
    if classes.loss(problem) >= before:
        return runs
    found = classes.runs(problem, space, runs)
    if constraint.counts_records(space):
        return found
    # What the kernels judged is judged again by the code that all algorithms share, and so are classes that publish the
    # same values and are one class for a reader.
    found = repair(rest, found)
    if len(constraint.missed(rest, members(found.labels()))) or Classes.of(problem, found).loss(problem) >= before:
        return runs
    return found


def _searched(problem: Layout, classes: Classes, search: Search, blocks: Ints, check: Check) -> Classes:
    from dbanon.kernels.local_search import sweep_classes

    budget, before = search.budget, classes.loss(problem)
    draws = np.random.Generator(np.random.PCG64(search.seed))
    state = draws.integers(1, 2**63, 1, np.int64).astype(np.uint64)
    classes, aside, spare, until = _focus(problem, classes, blocks, search.seed, budget.done)
    largest = max(16 * problem.least, LARGEST)
    batch = max(BATCH[problem.mode] // max(problem.least // 16, 1), 1)
    widths = WIDTHS[problem.mode]
    given = (problem.measure, *problem.model)
    if budget.seconds is not None:  # what is compiled on the first call is not part of the time
        chosen = SweepOptions(0, 1, 0, 0, 0, problem.least, problem.most, 1)
        sweep_classes(
            classes.arrays, chosen, blocks, *given, problem.scratch, problem.lines, state.copy(), spare.arrays
        )
    clock, idle, turn, saved = time.perf_counter(), 0, 0, 0
    while budget.seconds is not None or budget.done < budget.moves:
        if budget.is_interrupted(check):
            break
        if budget.seconds is not None and time.perf_counter() - clock >= budget.seconds:
            break
        moves = batch if budget.seconds is not None else min(batch, budget.moves - budget.done)
        if budget.done >= until:
            whole = united(problem, classes, aside)
            classes, aside, spare, until = _focus(problem, whole, blocks, search.seed + turn, budget.done)
        first = int(draws.integers(classes.number)) if classes.number > 2 * batch else 0
        width = widths[turn % len(widths)]
        chosen = SweepOptions(classes.number, width, NEAR, first, moves, problem.least, problem.most, largest)
        number, less, done = sweep_classes(
            classes.arrays, chosen, blocks, *given, problem.scratch, problem.lines, state, spare.arrays
        )
        if done:  # else the classes keep their order, by which equal records are dealt: as many moves give the same
            spare.number = number
            classes, spare = spare, classes
        budget.done += done
        saved += less
        turn += 1
        idle = 0 if done else idle + 1
        passed = (time.perf_counter() - clock) / budget.seconds if budget.seconds else budget.done / budget.moves
        budget.progress(min(passed, 1.0), saved / max(before, 1))
        if idle == IDLE:
            break
    return united(problem, classes, aside)


def _focus(
    problem: Layout, classes: Classes, blocks: Ints, seed: int, done: int
) -> tuple[Classes, Classes | None, Classes, int]:
    """The classes to search and those set aside, room for as many as the first, and after how many moves in all to
    choose again: choosing takes as long as a few of the moves in between."""
    searched, aside = focused(problem, classes, blocks, np.random.Generator(np.random.PCG64([seed, 1])))
    spare = Classes.room(len(searched.items), problem.least, searched.number)
    return searched, aside, spare, done + max(classes.number, FOCUS)


def _block_of(problem: Layout, space: EncodedTable, blocks: Ints | None) -> Ints:
    """Return blocks by item."""
    if blocks is None:
        return np.zeros(0, np.int64)
    if problem.by_row is None:
        return blocks
    of = np.zeros(len(problem.codes), np.int64)
    of[problem.by_row] = np.repeat(blocks, space.counts)
    return of
