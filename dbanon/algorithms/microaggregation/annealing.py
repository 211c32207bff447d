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

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.class_bounds import cluster_members
from dbanon.algorithms.base.kernel_inputs import KernelInputs, build_kernel_inputs
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.base.standardize import standardized_points, sum_of_squares_within
from dbanon.algorithms.microaggregation import annealing_schedule
from dbanon.algorithms.microaggregation.group_arrays import GroupArrays, halve_large_groups, nearest_neighbours
from dbanon.algorithms.postprocess.improve import LocalSearch, SearchBudget
from dbanon.algorithms.postprocess.suppress_outliers import Repair, published_table
from dbanon.encoding.encoded_table import EncodedTable, Floats, Ints
from dbanon.kernels.arrays import MoveOptions
from dbanon.privacy_models.constraint import Constraint

MIN_EXCHANGES = 16
"""Exchanges that a move tries beside one cut; in large groups as many as these have records."""

MAX_NEIGHBOURS = 30
"""Most neighbours that a record has; three times the least number of records where that is less."""

AnnealingMoves = Callable[[GroupArrays, int, float], float]
"""Makes so many moves at a heat; gives what they gain."""

GroupsFromLabels = Callable[[Ints], GroupArrays]
"""Groups by labels."""


def anneal_clusters(
    space: EncodedTable,
    constraint: Constraint,
    runs: RunLengthLabels,
    search: LocalSearch,
    repair: Repair,
    check: Check,
) -> RunLengthLabels:
    """Return the clusters after a search; suppressed records stay suppressed, and the SSE is never above that of the
    start.

    O(n log n + moves * size of a few classes) time, O(n * attributes) memory. `repair` unites classes until they meet
    the model.
    """
    rest = published_table(space, constraint, runs)
    kernel_inputs = build_kernel_inputs(rest, constraint, "top")
    labels = runs.labels()
    is_published = labels >= 0
    counts = np.bincount(space.tuple_of[is_published], minlength=len(space.counts)).astype(np.float64)
    at = standardized_points(space, counts)[space.tuple_of]
    if at.shape[1] == 0:
        return runs
    start_sse = _sum_of_squares(at, labels)
    if start_sse == 0:
        return runs
    new_labels = _annealed_labels(kernel_inputs, at, labels, search, start_sse, check)
    if kernel_inputs.mode == 0:  # records of a tuple are equal: they are assigned to its classes in order
        new_labels = new_labels[np.lexsort((new_labels, space.tuple_of))]
    _, new_labels[is_published] = np.unique(new_labels[is_published], return_inverse=True)
    annealed_runs = RunLengthLabels.from_labels(space, new_labels)
    if not constraint.counts_only_records(space):
        # What the kernels judged is judged again by the code that all algorithms share, and so are classes that publish
        # the same values and are one class for a reader.
        annealed_runs = repair(rest, annealed_runs)
        if len(constraint.failing_clusters(rest, cluster_members(annealed_runs.labels()))):
            return runs
    return annealed_runs if _sum_of_squares(at, annealed_runs.labels()) < start_sse else runs


def _sum_of_squares(points: Floats, labels: Ints) -> float:
    """Return the SSE of all records but those that are suppressed."""
    is_published = labels >= 0
    return sum_of_squares_within(points[is_published], labels[is_published], np.ones(int(is_published.sum())))


def _annealed_labels(
    kernel_inputs: KernelInputs, points: Floats, labels: Ints, local_search: LocalSearch, start_sse: float, check: Check
) -> Ints:
    """Return labels of all records after the search."""
    from dbanon.kernels.microaggregation_moves import reduce_squares

    limits = kernel_inputs.min_records, kernel_inputs.max_class_size
    if kernel_inputs.mode == 0:
        labels = halve_large_groups(points, labels, limits)
    has_few_records = np.bincount(labels[labels >= 0]) <= kernel_inputs.max_class_size
    searched = np.where((labels >= 0) & np.append(has_few_records, False)[labels], labels, -1)
    if not (searched >= 0).any():
        return labels
    neighbour_lists = nearest_neighbours(points, min(3 * kernel_inputs.min_records, MAX_NEIGHBOURS), check)
    max_groups_per_cut = 4 if kernel_inputs.min_records <= 10 else 3 if kernel_inputs.min_records <= 20 else 2
    item = kernel_inputs.item_of if kernel_inputs.item_by_row is not None else np.zeros(0, np.int64)
    model_inputs = (
        item,
        *kernel_inputs.model,
        *kernel_inputs.scratch,
        np.zeros(kernel_inputs.max_class_size, np.int32),
    )
    cut_scratch = _cut_scratch(max_groups_per_cut * kernel_inputs.max_class_size, max_groups_per_cut, points.shape[1])
    draws = np.random.Generator(np.random.PCG64(local_search.seed))
    state = draws.integers(1, 2**63, 1, np.int64).astype(np.uint64)
    n_exchanges = max(MIN_EXCHANGES, kernel_inputs.min_records)

    def search(groups: GroupArrays, number: int, heat: float) -> float:
        options, arrays = (
            MoveOptions(number, n_exchanges, max_groups_per_cut, heat),
            (groups.records, groups.groups, groups.free),
        )
        return float(reduce_squares(options, *arrays, limits, model_inputs, cut_scratch, state))

    if local_search.budget.seconds is not None:  # what is compiled on the first call is not part of the time
        search(GroupArrays.from_labels(points, searched, limits, neighbour_lists), 0, 0.0)
    group = _anneal(
        search,
        lambda of: GroupArrays.from_labels(points, of, limits, neighbour_lists),
        searched,
        local_search.budget,
        start_sse,
        check,
    )
    return np.where(group >= 0, group + len(has_few_records), labels)


def _anneal(
    search: AnnealingMoves, start: GroupsFromLabels, labels: Ints, budget: SearchBudget, start_sse: float, check: Check
) -> Ints:
    """Return the groups of the best state that a batch of moves ended in. `start_sse`: the SSE at first.

    Each round begins at the best state of those before (see dbanon.algorithms.microaggregation.annealing_schedule).
    """
    clock, best, best_saved, records = time.perf_counter(), labels, 0.0, len(labels)
    for round_number in count():
        batch, length = (
            annealing_schedule.moves_per_heat(records, round_number),
            annealing_schedule.round_moves(records, round_number),
        )
        groups, saved = start(best), best_saved
        for moves_in_round in range(0, length, batch):
            fraction = (
                (time.perf_counter() - clock) / budget.seconds if budget.seconds else budget.n_moves_done / budget.moves
            )
            budget.on_progress(min(fraction, 1.0), best_saved / start_sse)
            if fraction >= 1 or budget.is_interrupted(check):
                return best
            number = min(batch, length - moves_in_round)
            if budget.seconds is None:
                number = min(number, budget.moves - budget.n_moves_done)
            saved += search(
                groups, number, start_sse / records * annealing_schedule.heat(records, round_number, moves_in_round)
            )
            if saved > best_saved:
                best, best_saved = groups.records[1].astype(np.int64), saved
            budget.n_moves_done += number
    return best


def _cut_scratch(n_records: int, n_groups: int, n_axes: int) -> tuple[Any, ...]:
    """Return scratch for a cut of `n_records` records into `n_groups` groups."""
    return (
        np.zeros(n_groups, np.int64), np.zeros(n_records, np.int32), np.zeros(n_records), np.zeros(n_records, np.int32),
        np.zeros(n_axes), np.zeros(n_records + 1), np.zeros(n_records + 1, np.int32),
    )  # fmt: skip
