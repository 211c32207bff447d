"""Simulated annealing (Kirkpatrick et al. 1983) that lowers the squared error (SSE) of finished clusters.

The clusters meet the whole constraint after every move. A move is some exchanges of single records between
neighbouring groups, and one set of two to four of these groups that is dissolved and cut again along a line or a path
(see dbanon.kernels.annealing_moves and recut). At first changes that raise the SSE are accepted by chance, later ever
less.

The schedule cools from hot to cold in rounds, short ones first. The length of a round follows from the number of
records alone. So the same number of moves gives the same classes, however the number was determined: by a parameter, a
time limit, or an interrupt.
"""

import time
from collections.abc import Callable
from itertools import count

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.class_bounds import cluster_members
from dbanon.algorithms.base.kernel_inputs import KernelInputs, build_kernel_inputs
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.base.standardize import standardized_points, sum_of_squares_within
from dbanon.algorithms.microaggregation.group_arrays import GroupArrays, halve_large_groups, nearest_neighbours
from dbanon.algorithms.postprocess.improve import LocalSearch, SearchBudget
from dbanon.algorithms.postprocess.suppress_outliers import Repair, published_table
from dbanon.encoding.encoded_table import EncodedTable, Floats, Ints
from dbanon.kernels.annealing_arrays import CutScratch, GroupModels
from dbanon.kernels.arrays import MoveOptions
from dbanon.privacy_models.constraint import Constraint

MIN_EXCHANGES = 16
"""Least number of exchanges that a move tries in addition to one cut; it is k if that is more."""

MAX_NEIGHBOURS = 30
"""Greatest number of neighbours of a record; three times the least number of records if that is less."""

RECORDS_PER_FIRST_MOVE, MAX_DOUBLINGS = 64, 16
"""The first round has one move for this many records; each later round is twice as long, up to this many doublings."""

MIN_HEAT, MAX_HEAT, HEAT_PER_MOVE = 1e-4, 3.0, 0.1
"""The final and the greatest heat, in average squared errors of a record at the beginning, and the initial heat for
each move per record in a round. A round of few moves begins colder, so that it does not end worse than it began."""

HEATS_PER_ROUND, MIN_MOVES, MAX_MOVES = 100, 20, 2_000
"""Times that the heat is lowered in a round, and the least and greatest number of moves between two of them."""

EFFORT_MOVES = {"fast": (40_000, 2), "normal": (800_000, 10), "high": (3_000_000, 50)}
"""Moves of `best` by effort: in all, and in addition for each record."""

MODEL_COST_FACTOR = 8
"""Cost of a move, relative to k alone, if other models must be checked."""


def anneal_clusters(
    space: EncodedTable,
    constraint: Constraint,
    runs: RunLengthLabels,
    search: LocalSearch,
    repair: Repair,
    check: Check,
) -> RunLengthLabels:
    """Return the clusters after a search by simulated annealing that lowers their squared error (SSE) in z-scores.

    The result is the given runs if nothing was gained or the constraint would be violated; the SSE is never higher than
    before. Suppressed records stay suppressed. O(n log n + moves * size of a few classes) time, O(n * attributes)
    memory.

    Args:
        space: The encoded table.
        constraint: The constraint.
        runs: The clusters, which meet it.
        search: Budget and seed of the search.
        repair: Merges clusters until they meet the constraint.
        check: Called from time to time; raises if the run was interrupted.
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
        # The checks of the kernels are repeated by the code that all algorithms share, also for clusters that publish
        # the same values and are one class for a reader.
        annealed_runs = repair(rest, annealed_runs)
        if len(constraint.failing_clusters(rest, cluster_members(annealed_runs.labels()))):
            return runs
    return annealed_runs if _sum_of_squares(at, annealed_runs.labels()) < start_sse else runs


def _sum_of_squares(points: Floats, labels: Ints) -> float:
    """Return the squared error of the clusters; records with label -1 do not count."""
    is_published = labels >= 0
    return sum_of_squares_within(points[is_published], labels[is_published], np.ones(int(is_published.sum())))


def _annealed_labels(
    kernel_inputs: KernelInputs, points: Floats, labels: Ints, local_search: LocalSearch, start_sse: float, check: Check
) -> Ints:
    """Return the new label of every record after the search; -1 stays.

    Clusters that are too large for the search are halved first if k records suffice, otherwise they stay unchanged.
    Labels of searched records are new numbers above the old ones.

    Args:
        kernel_inputs: The arrays of the table and the constraint.
        points: (n, axes) z-scores of the records.
        labels: (n,) cluster of each record.
        local_search: Budget and seed of the search.
        start_sse: The squared error before.
        check: Called from time to time.
    """
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
    item_by_row = np.zeros(0, np.int64) if kernel_inputs.item_by_row is None else kernel_inputs.item_by_row
    model_inputs = GroupModels(
        item_by_row,
        *kernel_inputs.model,
        *kernel_inputs.scratch,
        np.zeros(kernel_inputs.max_class_size, np.int32),
    )
    cut_scratch = _cut_scratch(max_groups_per_cut * kernel_inputs.max_class_size, max_groups_per_cut, points.shape[1])
    state = np.random.Generator(np.random.PCG64(local_search.seed)).integers(1, 2**63, 1, np.int64).astype(np.uint64)
    n_exchanges = max(MIN_EXCHANGES, kernel_inputs.min_records)

    def search(groups: GroupArrays, number: int, heat: float) -> float:
        """Make `number` moves on the groups, in place, at a heat; return the decrease of the squared error."""
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
    search: Callable[[GroupArrays, int, float], float],
    start: Callable[[Ints], GroupArrays],
    labels: Ints,
    budget: SearchBudget,
    start_sse: float,
    check: Check,
) -> Ints:
    """Make batches of moves until the budget is used up; return the groups of the best state after a batch.

    The result is the group of every record, -1 for none. Each round begins at the best state so far.

    Args:
        search: Makes a number of moves on groups at a heat, and returns their gain.
        start: Makes group arrays of labels.
        labels: The labels at the beginning, -1 for records that stay in their clusters.
        budget: The limit of moves or seconds; its count of moves and its progress are updated.
        start_sse: The squared error at the beginning.
        check: Called from time to time.
    """
    clock, best, best_saved, records = time.perf_counter(), labels, 0.0, len(labels)
    for round_number in count():
        batch, length = (
            moves_per_heat(records, round_number),
            round_moves(records, round_number),
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
            saved += search(groups, number, start_sse / records * heat(records, round_number, moves_in_round))
            if saved > best_saved:
                best, best_saved = groups.records.group.astype(np.int64), saved
            budget.n_moves_done += number
    return best


def _cut_scratch(n_records: int, n_groups: int, n_axes: int) -> CutScratch:
    """Return scratch arrays for a cut of up to `n_records` records into up to `n_groups` groups.

    `n_axes` is the number of axes of the records' points.
    """
    return CutScratch(
        np.zeros(n_groups, np.int64), np.zeros(n_records, np.int32), np.zeros(n_records), np.zeros(n_records, np.int32),
        np.zeros(n_axes), np.zeros(n_records + 1), np.zeros(n_records + 1, np.int32),
    )  # fmt: skip


def round_moves(n_records: int, round_number: int) -> int:
    """Return the number of moves of a round of simulated annealing.

    It is one move for each RECORDS_PER_FIRST_MOVE records in round 0 and doubles from round to round, at most
    MAX_DOUBLINGS times; it is at least MIN_MOVES.
    """
    return max((n_records << min(round_number, MAX_DOUBLINGS)) // RECORDS_PER_FIRST_MOVE, MIN_MOVES)


def moves_per_heat(n_records: int, round_number: int) -> int:
    """Return the number of moves in a round between two changes of the heat (temperature) of simulated annealing.

    The round has HEATS_PER_ROUND heats, but not fewer than MIN_MOVES or more than MAX_MOVES moves for each.
    """
    return min(max(round_moves(n_records, round_number) // HEATS_PER_ROUND, MIN_MOVES), MAX_MOVES)


def heat(n_records: int, round_number: int, moves_in_round: int) -> float:
    """Return the heat (temperature) of simulated annealing after `moves_in_round` moves of a round.

    It falls exponentially to MIN_HEAT within the round. Its unit is the average squared error of a record at the
    beginning of the search. Rounds of few moves per record begin colder.

    Args:
        n_records: Number of records.
        round_number: Number of the round, from 0.
        moves_in_round: Moves made in this round.
    """
    n_moves = round_moves(n_records, round_number)
    start_heat = min(MAX_HEAT, MIN_HEAT + HEAT_PER_MOVE * n_moves / n_records)
    return float(start_heat * (MIN_HEAT / start_heat) ** (moves_in_round / n_moves))


def effort_moves(space: EncodedTable, constraint: Constraint, effort: str) -> int:
    """Return the number of moves of simulated annealing for an effort ('fast', 'normal' or 'high').

    These are whole rounds with together about as many moves as EFFORT_MOVES states. There are fewer moves if clusters
    have more than ten records, since cuts take longer then, and if persons or models other than k must be checked.
    """
    total_moves, moves_per_record = EFFORT_MOVES[effort]
    share = min(10 / constraint.min_records, 1.0) ** 1.5 / (
        1 if constraint.counts_only_records(space) else MODEL_COST_FACTOR
    )
    target_moves, n_moves = (total_moves + moves_per_record * space.rows) * share, 0
    for round_number in count():
        next_round = round_moves(space.rows, round_number)
        if n_moves and n_moves + next_round // 2 > target_moves:
            break
        n_moves += next_round
    return n_moves
