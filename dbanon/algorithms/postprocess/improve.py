"""Improvement: a local search lowers the loss of a finished clustering, and the whole privacy model keeps holding.

A move dissolves a few classes that are neighbours in a random order and cuts their records again along another line of
theirs, with the least loss of all cuts (see dbanon.kernels.optimal_cut); where no more is lost, the new classes stay.
Moves that lose as much are taken too: they let the search leave a plateau.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dbanon import errors
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.class_bounds import cluster_members
from dbanon.algorithms.base.kernel_inputs import KernelInputs, build_kernel_inputs
from dbanon.algorithms.base.packed_classes import PackedClasses
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.postprocess.search_focus import focus_classes, reunite_classes
from dbanon.algorithms.postprocess.suppress_outliers import Repair, published_table
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.arrays import SweepOptions
from dbanon.privacy_models.constraint import Constraint

MOVES_PER_BATCH = (20_000, 1_000, 250)
"""Moves between two looks for interrupts and at the clock, by how hard the model is to judge; fewer from k = 16 on."""

CLASSES_PER_MOVE = ((2, 2, 3), (1, 2, 2, 3), (1, 2, 2, 3))
"""Classes that are dissolved together, in turn; one alone may be cut where a model asks for more than a number."""

PERCENT_BY_DISTANCE = 30
"""Of 100 sets, so many are cut along the distance from one of their records, the others along a random line."""

MAX_SET_RECORDS = 4096
"""Sets of more records (or 16 times the least) are not rebuilt."""

MAX_IDLE_SWEEPS = 16
"""The search ends after so many rounds in which no set could be rebuilt."""

MIN_MOVES_PER_FOCUS = 1_000
"""Moves at least before it is chosen again which classes are searched."""

OnSearchProgress = Callable[[float, float], None]
"""Called with the share of the moves or of the time that is done, and the share of the loss that is gone."""


@dataclass
class SearchBudget:
    """The limit of a search: a number of moves or, if given, of seconds.

    Attributes:
        moves: Number of moves.
        seconds: Time limit; None for a limit by moves.
        keep_on_interrupt: Whether an interrupt ends the search and keeps its result, instead of ending the statement.
        n_moves_done: Moves made so far.
        on_progress: Called with the fraction done and the loss removed.
    """

    moves: int
    seconds: float | None = None
    keep_on_interrupt: bool = False
    n_moves_done: int = 0
    on_progress: OnSearchProgress = lambda fraction_done, loss_removed: None

    def is_interrupted(self, check: Check) -> bool:
        """Whether the search was interrupted, and what it found so far is kept; raises Interrupted where it is not."""
        try:
            check()
        except errors.StatementInterruptedError:
            if not self.keep_on_interrupt:
                raise
            return True
        return False


@dataclass(frozen=True)
class LocalSearch:
    """The problem of a local search. The same moves and seed give the same clusters.

    `heights`, of inner nodes in the loss, is top or edges; `blocks` are, by tuple, the sets that must not be mixed
    (None: all records may be).
    """

    heights: str
    budget: SearchBudget
    seed: int
    blocks: Ints | None = None


def improve_clusters(
    space: EncodedTable,
    constraint: Constraint,
    runs: RunLengthLabels,
    search: LocalSearch,
    repair: Repair,
    check: Check,
) -> RunLengthLabels:
    """Return the clusters after a search; suppressed records stay suppressed.

    `repair` unites classes until they meet the model. O(moves * size of a few classes) time, O(n) memory for n runs, or
    records where a model looks at each.

    The loss is that of the published values (KACPC paper, Eq. 1) times the weights, and never above that of the start.
    """
    rest = published_table(space, constraint, runs)
    problem = build_kernel_inputs(rest, constraint, search.heights)
    classes = PackedClasses.from_labels(problem, runs)
    start_loss = classes.total_loss(problem)
    classes = _search_classes(problem, classes, search, _item_blocks(problem, space, search.blocks), check)
    if classes.total_loss(problem) >= start_loss:
        return runs
    improved_runs = classes.to_labels(problem, space, runs)
    if constraint.counts_only_records(space):
        return improved_runs
    # What the kernels judged is judged again by the code that all algorithms share, and so are classes that publish the
    # same values and are one class for a reader.
    improved_runs = repair(rest, improved_runs)
    if (
        len(constraint.failing_clusters(rest, cluster_members(improved_runs.labels())))
        or PackedClasses.from_labels(problem, improved_runs).total_loss(problem) >= start_loss
    ):
        return runs
    return improved_runs


def _search_classes(
    problem: KernelInputs, classes: PackedClasses, search: LocalSearch, blocks: Ints, check: Check
) -> PackedClasses:
    from dbanon.kernels.local_search import sweep_classes

    budget, start_loss = search.budget, classes.total_loss(problem)
    draws = np.random.Generator(np.random.PCG64(search.seed))
    state = draws.integers(1, 2**63, 1, np.int64).astype(np.uint64)
    classes, set_aside, spare, next_focus = _focus_search(problem, classes, blocks, search.seed, budget.n_moves_done)
    max_records = max(16 * problem.min_records, MAX_SET_RECORDS)
    batch = max(MOVES_PER_BATCH[problem.mode] // max(problem.min_records // 16, 1), 1)
    widths = CLASSES_PER_MOVE[problem.mode]
    loss_and_model = (problem.loss_arrays, *problem.model)
    if budget.seconds is not None:  # what is compiled on the first call is not part of the time
        sweep_options = SweepOptions(0, 1, 0, 0, 0, problem.min_records, problem.max_class_size, 1)
        sweep_classes(
            classes.arrays,
            sweep_options,
            blocks,
            *loss_and_model,
            problem.scratch,
            problem.rank_orders,
            state.copy(),
            spare.arrays,
        )
    clock, idle_sweeps, n_sweeps, saved = time.perf_counter(), 0, 0, 0
    while budget.seconds is not None or budget.n_moves_done < budget.moves:
        if budget.is_interrupted(check):
            break
        if budget.seconds is not None and time.perf_counter() - clock >= budget.seconds:
            break
        moves = batch if budget.seconds is not None else min(batch, budget.moves - budget.n_moves_done)
        if budget.n_moves_done >= next_focus:
            all_classes = reunite_classes(problem, classes, set_aside)
            classes, set_aside, spare, next_focus = _focus_search(
                problem, all_classes, blocks, search.seed + n_sweeps, budget.n_moves_done
            )
        first = int(draws.integers(classes.n_classes)) if classes.n_classes > 2 * batch else 0
        width = widths[n_sweeps % len(widths)]
        sweep_options = SweepOptions(
            classes.n_classes,
            width,
            PERCENT_BY_DISTANCE,
            first,
            moves,
            problem.min_records,
            problem.max_class_size,
            max_records,
        )
        number, loss_saved, n_rebuilt = sweep_classes(
            classes.arrays,
            sweep_options,
            blocks,
            *loss_and_model,
            problem.scratch,
            problem.rank_orders,
            state,
            spare.arrays,
        )
        if (
            n_rebuilt
        ):  # else the classes keep their order, by which equal records are dealt: as many moves give the same
            spare.n_classes = number
            classes, spare = spare, classes
        budget.n_moves_done += n_rebuilt
        saved += loss_saved
        n_sweeps += 1
        idle_sweeps = 0 if n_rebuilt else idle_sweeps + 1
        fraction = (
            (time.perf_counter() - clock) / budget.seconds if budget.seconds else budget.n_moves_done / budget.moves
        )
        budget.on_progress(min(fraction, 1.0), saved / max(start_loss, 1))
        if idle_sweeps == MAX_IDLE_SWEEPS:
            break
    return reunite_classes(problem, classes, set_aside)


def _focus_search(
    problem: KernelInputs, classes: PackedClasses, blocks: Ints, seed: int, n_moves_done: int
) -> tuple[PackedClasses, PackedClasses | None, PackedClasses, int]:
    """The classes to search and those set aside, room for as many as the first, and after how many moves in all to
    choose again: choosing takes as long as a few of the moves in between."""
    searched, set_aside = focus_classes(problem, classes, blocks, np.random.Generator(np.random.PCG64([seed, 1])))
    spare = PackedClasses.allocate(len(searched.items), problem.min_records, searched.n_classes)
    return searched, set_aside, spare, n_moves_done + max(classes.n_classes, MIN_MOVES_PER_FOCUS)


def _item_blocks(problem: KernelInputs, space: EncodedTable, blocks: Ints | None) -> Ints:
    """Return blocks by item."""
    if blocks is None:
        return np.zeros(0, np.int64)
    if problem.item_by_row is None:
        return blocks
    item_block = np.zeros(len(problem.codes), np.int64)
    item_block[problem.item_by_row] = np.repeat(blocks, space.counts)
    return item_block
