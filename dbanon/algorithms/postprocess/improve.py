"""Improvement: a local search lowers the loss of a finished clustering, which meets the constraint after every move.

A move dissolves a few classes that are neighbours in a random order and cuts their records again along another line
(order of the records), with the least loss of all cuts (see dbanon.kernels.optimal_cut). The new classes are kept if
they lose no more. Moves that lose the same are accepted, too: they let the search escape a plateau.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dbanon import errors
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.class_bounds import cluster_members
from dbanon.algorithms.base.kernel_inputs import KernelInputs, build_kernel_inputs
from dbanon.algorithms.base.loss import Heights
from dbanon.algorithms.base.packed_classes import PackedClasses
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.postprocess.search_focus import focus_classes, reunite_classes
from dbanon.algorithms.postprocess.suppress_outliers import Repair, published_table
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.arrays import SweepOptions
from dbanon.privacy_models.constraint import Constraint

MOVES_PER_BATCH = (20_000, 1_000, 250)
"""Moves between two checks for interrupts and time, for k alone, models and persons; fewer from k = 16 on."""

CLASSES_PER_MOVE = ((2, 2, 3), (1, 2, 2, 3), (1, 2, 2, 3))
"""Numbers of classes that a move dissolves, used in turn; a single class is cut only if models other than k are
checked."""

PERCENT_BY_DISTANCE = 30
"""Of 100 sets, this many are cut along the distance from one of their records, the others along a random line."""

MAX_SET_RECORDS = 4096
"""Sets of more records (or 16 times the least number, if that is more) are not rebuilt."""

MAX_IDLE_SWEEPS = 16
"""The search ends after this many sweeps in which no set could be rebuilt."""

MIN_MOVES_PER_FOCUS = 1_000
"""Least number of moves between two choices of the classes to search."""

OnSearchProgress = Callable[[float, float], None]
"""Called with the fraction of the moves or of the time that is done, and the fraction of the loss that was removed."""


@dataclass
class SearchBudget:
    """The limit of a search: a number of moves or, if given, of seconds.

    Attributes:
        moves: Number of moves.
        seconds: Time limit; None for a limit by moves.
        keep_on_interrupt: Whether an interrupt ends the search and keeps its result, instead of ending the statement.
        n_moves_done: Moves made so far; updated by the search.
        on_progress: Called with the fraction done and the fraction of the loss that was removed.
    """

    moves: int
    seconds: float | None = None
    keep_on_interrupt: bool = False
    n_moves_done: int = 0
    on_progress: OnSearchProgress = lambda fraction_done, loss_removed: None

    def is_interrupted(self, check: Check) -> bool:
        """Return whether the search was interrupted and its result so far is to be kept.

        Raises:
            StatementInterruptedError: If it was interrupted and `keep_on_interrupt` is false.
        """
        try:
            check()
        except errors.StatementInterruptedError:
            if not self.keep_on_interrupt:
                raise
            return True
        return False


@dataclass(frozen=True)
class LocalSearch:
    """The settings of a local search; the same moves and seed give the same clusters.

    Attributes:
        heights: How the height of hierarchy nodes is measured in the loss.
        budget: The limit of the search.
        seed: Seed of the random choices.
        blocks: (tuples,) block of each tuple; records of different blocks are never in one class. None: no blocks.
    """

    heights: Heights
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
    """Return the clusters after a local search that lowers their loss; suppressed records stay suppressed.

    The loss is that of the published values (KACPC paper, Eq. 1) times the weights. The given runs are returned if
    nothing was gained, or if the repaired result would violate the constraint. O(moves * size of a few classes) time,
    O(n) memory for n runs, or records if a model examines each.

    Args:
        space: The encoded table.
        constraint: The constraint.
        runs: The clusters, which meet it.
        search: The settings of the search.
        repair: Merges clusters until they meet the constraint.
        check: Called from time to time; raises if the run was interrupted.
    """
    rest = published_table(space, constraint, runs)
    kernel_inputs = build_kernel_inputs(rest, constraint, search.heights)
    classes = PackedClasses.from_labels(kernel_inputs, runs)
    start_loss = classes.total_loss(kernel_inputs)
    classes = _search_classes(kernel_inputs, classes, search, _item_blocks(kernel_inputs, space, search.blocks), check)
    if classes.total_loss(kernel_inputs) >= start_loss:
        return runs
    improved_runs = classes.to_labels(kernel_inputs, space, runs)
    if constraint.counts_only_records(space):
        return improved_runs
    # The checks of the kernels are repeated by the code that all algorithms share, also for clusters that publish the
    # same values and are one class for a reader.
    improved_runs = repair(rest, improved_runs)
    if (
        len(constraint.failing_clusters(rest, cluster_members(improved_runs.labels())))
        or PackedClasses.from_labels(kernel_inputs, improved_runs).total_loss(kernel_inputs) >= start_loss
    ):
        return runs
    return improved_runs


def _search_classes(
    kernel_inputs: KernelInputs, classes: PackedClasses, search: LocalSearch, blocks: Ints, check: Check
) -> PackedClasses:
    """Search until the budget is used up, nothing can be rebuilt, or an interrupt; return the classes.

    Each sweep rebuilds sets of neighbouring classes, which never raises the loss.

    Args:
        kernel_inputs: The arrays of the table and the constraint.
        classes: The classes before the search; their arrays may be overwritten.
        search: The settings; the count of moves and the progress of its budget are updated.
        blocks: Block of each item (set of records that no model distinguishes); empty if there are no blocks.
        check: Called before each sweep; raises if the run was interrupted.
    """
    from dbanon.kernels.local_search import sweep_classes

    budget, start_loss = search.budget, classes.total_loss(kernel_inputs)
    draws = np.random.Generator(np.random.PCG64(search.seed))
    state = draws.integers(1, 2**63, 1, np.int64).astype(np.uint64)
    classes, set_aside, spare, next_focus = _focus_search(
        kernel_inputs, classes, blocks, search.seed, budget.n_moves_done
    )
    max_records = max(16 * kernel_inputs.min_records, MAX_SET_RECORDS)
    batch = max(MOVES_PER_BATCH[kernel_inputs.mode] // max(kernel_inputs.min_records // 16, 1), 1)
    widths = CLASSES_PER_MOVE[kernel_inputs.mode]
    loss_and_model = (kernel_inputs.loss_arrays, *kernel_inputs.model)
    if budget.seconds is not None:  # what is compiled on the first call is not part of the time
        no_moves = SweepOptions(0, 1, 0, 0, 0, kernel_inputs.min_records, kernel_inputs.max_class_size, 1)
        search_state = (kernel_inputs.scratch, kernel_inputs.rank_orders, state.copy(), spare.arrays)
        sweep_classes(classes.arrays, no_moves, blocks, *loss_and_model, *search_state)
    clock, idle_sweeps, n_sweeps, saved = time.perf_counter(), 0, 0, 0
    while budget.seconds is not None or budget.n_moves_done < budget.moves:
        if budget.is_interrupted(check) or (
            budget.seconds is not None and time.perf_counter() - clock >= budget.seconds
        ):
            break
        moves = batch if budget.seconds is not None else min(batch, budget.moves - budget.n_moves_done)
        if budget.n_moves_done >= next_focus:
            all_classes = reunite_classes(kernel_inputs, classes, set_aside)
            classes, set_aside, spare, next_focus = _focus_search(
                kernel_inputs, all_classes, blocks, search.seed + n_sweeps, budget.n_moves_done
            )
        first = int(draws.integers(classes.n_classes)) if classes.n_classes > 2 * batch else 0
        width = widths[n_sweeps % len(widths)]
        sizes = (kernel_inputs.min_records, kernel_inputs.max_class_size, max_records)
        sweep_options = SweepOptions(classes.n_classes, width, PERCENT_BY_DISTANCE, first, moves, *sizes)
        search_state = (kernel_inputs.scratch, kernel_inputs.rank_orders, state, spare.arrays)
        number, loss_saved, n_rebuilt = sweep_classes(
            classes.arrays, sweep_options, blocks, *loss_and_model, *search_state
        )
        if n_rebuilt:  # else the classes keep their order, by which equal records are assigned
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
    return reunite_classes(kernel_inputs, classes, set_aside)


def _focus_search(
    kernel_inputs: KernelInputs, classes: PackedClasses, blocks: Ints, seed: int, n_moves_done: int
) -> tuple[PackedClasses, PackedClasses | None, PackedClasses, int]:
    """Choose the classes to search next; the others cannot gain and are set aside.

    The choice is made again after as many moves as there are classes, at least MIN_MOVES_PER_FOCUS.

    Args:
        kernel_inputs: The arrays of the table and the constraint.
        classes: All classes.
        blocks: Block of each item (set of records that no model distinguishes); empty if there are no blocks.
        seed: Seed of the choice.
        n_moves_done: Moves made so far.

    Returns:
        The classes to search; those set aside, or None; spare arrays of the size of the first; and the total number of
        moves after which to choose again.
    """
    searched, set_aside = focus_classes(kernel_inputs, classes, blocks, np.random.Generator(np.random.PCG64([seed, 1])))
    spare = PackedClasses.allocate(len(searched.items), kernel_inputs.min_records, searched.n_classes)
    return searched, set_aside, spare, n_moves_done + max(classes.n_classes, MIN_MOVES_PER_FOCUS)


def _item_blocks(kernel_inputs: KernelInputs, space: EncodedTable, blocks: Ints | None) -> Ints:
    """Return the block of each item (set of records that no model distinguishes), given the block of each tuple.

    An empty array is returned for None.
    """
    if blocks is None:
        return np.zeros(0, np.int64)
    if kernel_inputs.item_by_row is None:
        return blocks
    item_block = np.zeros(len(kernel_inputs.codes), np.int64)
    item_block[kernel_inputs.item_by_row] = np.repeat(blocks, space.counts)
    return item_block
