"""best: the least loss that there is time for.

All records in one order ("line") are cut into classes where the whole loss is least, along several lines and covers;
the search of dbanon.algorithms.postprocess.improve continues from the best result.
"""

from collections.abc import Iterator
from typing import cast

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.kernel_inputs import build_kernel_inputs
from dbanon.algorithms.base.loss import Heights
from dbanon.algorithms.base.packed_classes import PackedClasses
from dbanon.algorithms.base.registry import SEED, Check, Options, OwnSearch, register
from dbanon.algorithms.microaggregation.annealing import effort_moves
from dbanon.algorithms.nearest_neighbour.mdav import initial_mdav_clusters
from dbanon.algorithms.optimizing.generalization_covers import try_covers
from dbanon.algorithms.optimizing.orderings import BestOrder, Line, items_along
from dbanon.algorithms.optimizing.seeded_starts import MAX_FAST_TUPLES, MIN_TUPLES, try_grown_clusters
from dbanon.algorithms.optimizing.set_aside import set_records_aside
from dbanon.algorithms.partitioning.mondrian import mondrian
from dbanon.encoding.encoded_table import EncodedTable, NumericAttribute
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Choice
from dbanon.table_functions.parameters import Parameter

EFFORT_MOVES = {"fast": 40_000, "normal": 400_000, "high": 3_000_000}
"""Moves of the search after the start, by effort."""

MOVES_PER_TUPLE = {"fast": 2, "normal": 15, "high": 100}
"""Moves for each tuple, used if that is more."""

FULL_MOVES_MAX_K = 50
"""For greater k the number of moves falls in proportion."""

LINE_WORK = {"fast": 6_000_000, "normal": 30_000_000, "high": 100_000_000}
"""Lines are tried until their number times records times greatest class size reaches this; one is always tried."""

MODEL_COST_FACTOR = 8
"""Cost of a line, relative to k alone, if other models must be checked."""

MANY_VALUES = 64
"""Numbers of more values are coarsened in some lines, if there are several of them."""


LINES_FRACTION = 0.2
"""Share of the time that lines take, if Mondrian is tried too."""


def best(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> RunLengthLabels:
    """Return the best of several starting clusterings; the registered local search (`improve`) continues from it.

    A line orders the tuples by one attribute after the other. The records in a line are cut into classes with the least
    loss of all cuts, as multivariate microaggregation by Hansen and Mukherjee's method does (Domingo-Ferrer et al.
    2006), here with the loss of generalization (KACPC paper, Eq. 1). The first line has the attributes of few values in
    front; neighbouring attributes in it are exchanged while that loses less. Further starts are tried in these cases:

    - Lines of coarsened numbers, and Mondrian: if several numbers have many values.
    - Covers, the groups of a few full-domain generalizations (generalization_covers.py): in tables of 5,000 tuples and
      more, and with high effort.
    - Classes that grow (seeded_starts.py): if most tuples have one record, and with high effort.

    Of a tuple with many times k records, most are set aside as a class of their own, which loses nothing, if they meet
    the constraint (set_aside.py).

    Mondrian and classes that grow are skipped if a cover loses less than all lines and few attributes are numbers of
    many values. With fast effort, covers of such numbers and classes that grow are skipped in tables of more than
    200,000 tuples. With the objective 'sse' the start is MDAV instead.

    The search that follows takes 40,000 moves (`effort = 'fast'`), 400,000 or 3,000,000, or 2, 15 or 100 for each tuple
    if that is more; from k = 50 on, fewer in proportion.
    O(lines * n * k) time up to k = 128, O(lines * n) above, O(n) memory.
    """
    if options.get("objective") == "sse":
        return initial_mdav_clusters(space, constraint, check)
    set_aside = set_records_aside(space, constraint)
    if set_aside is None:
        return _least_loss_clusters(space, constraint, options, check)
    return set_aside.cluster_rest(space, lambda rest: _least_loss_clusters(rest, constraint, options, check))


def _least_loss_clusters(
    space: EncodedTable, constraint: Constraint, options: Options, check: Check
) -> RunLengthLabels:
    """Return the clusters with the least loss among all starts; the arguments are those of `best`."""
    effort, heights = str(options["effort"]), cast(Heights, options.get("heights", "top"))
    kernel_inputs = build_kernel_inputs(space, constraint, heights)
    progress_check = progress.as_progress_check(check)
    fine_numbers = [
        j for j, a in enumerate(space.attributes) if isinstance(a, NumericAttribute) and a.values > MANY_VALUES
    ]
    if len(fine_numbers) < 2:
        fine_numbers = []
    best_line = BestOrder(kernel_inputs, space, RunLengthLabels.single_cluster(space))
    _try_lines(best_line, fine_numbers, effort, progress_check.subtask(0, LINES_FRACTION if fine_numbers else 1))
    along_lines, has_high_effort = best_line.loss, effort == "high"
    is_mostly_numbers = 2 * len(fine_numbers) >= len(space.attributes)
    skips_covers = effort == "fast" and is_mostly_numbers and len(space.counts) > MAX_FAST_TUPLES
    if has_high_effort or (len(space.counts) >= MIN_TUPLES and not skips_covers):
        try_covers(best_line.try_order, space, kernel_inputs, effort, heights, along_lines, progress_check)
    clusters = best_line.runs
    if not has_high_effort and best_line.loss < along_lines and not is_mostly_numbers:
        return clusters
    if fine_numbers:
        split = mondrian(space, constraint, {}, progress_check.subtask(LINES_FRACTION, 1))
        if PackedClasses.from_labels(kernel_inputs, split).total_loss(kernel_inputs) < best_line.loss:
            clusters = split
    return try_grown_clusters(space, constraint, kernel_inputs, clusters, options, progress_check.subtask(1, 1))


def _try_lines(
    best_line: BestOrder, fine_numbers: list[int], effort: str, progress_check: progress.ProgressCheck
) -> None:
    """Try lines on `best_line`: the first one, then neighbours of the best one while they lose less and there is time.

    A line is a sequence of attributes by which tuples are sorted. The number of lines depends on `effort` and the size
    of the table.

    Args:
        best_line: The best classes so far; changed in place.
        fine_numbers: The numeric attributes with many values, which some lines coarsen.
        effort: 'fast', 'normal' or 'high'.
        progress_check: Called for each line.
    """
    kernel_inputs, space = best_line.kernel_inputs, best_line.space
    line_work = space.rows * kernel_inputs.max_class_size * (1 if kernel_inputs.mode == 0 else MODEL_COST_FACTOR)
    max_lines = max(LINE_WORK[effort] // max(line_work, 1), 1)
    losses: dict[Line, int] = {}

    def loss_of(line: Line) -> int:
        """Return the loss of the best cut of a line (order of the records) into classes; each line is tried once."""
        progress_check()
        if line not in losses:
            losses[line] = best_line.try_order(items_along(kernel_inputs, line))
            progress_check.advance(len(losses) / max_lines)
        return losses[line]

    line = _first_line(space, fine_numbers, max(space.rows // kernel_inputs.min_records, 1))
    min_loss = loss_of(line)
    has_improved = True
    while has_improved:
        has_improved = False
        for other in _neighbour_lines(line, fine_numbers):
            if len(losses) < max_lines and loss_of(other) < min_loss:
                line, min_loss, has_improved = other, losses[other], True


def _first_line(space: EncodedTable, fine_numbers: list[int], n_classes: int) -> Line:
    """Return the first line to try: the attributes by which tuples are sorted, those of fewest values first.

    Each entry is an attribute and the number of bits by which its codes are coarsened. All `fine_numbers` are coarsened
    so that their grid has about `n_classes` cells, except the last attribute of the line; others have 0.
    """
    order = sorted(range(len(space.attributes)), key=lambda j: (space.attributes[j].values, j))
    cells = max(n_classes ** (1 / max(len(fine_numbers), 1)), 2.0)
    return tuple(
        (j, max(int(np.log2(space.attributes[j].values / cells)), 0) if j in fine_numbers and j != order[-1] else 0)
        for j in order
    )


def _neighbour_lines(line: Line, fine_numbers: list[int]) -> Iterator[Line]:
    """Yield the lines with two neighbouring attributes exchanged, then those with a number half or twice as coarse.

    A line is a sequence of attributes by which tuples are sorted, each with the number of bits by which its codes are
    coarsened. Only `fine_numbers`, the numeric attributes with many values, are coarsened.
    """
    for i in range(len(line) - 1):
        yield (*line[:i], line[i + 1], line[i], *line[i + 2 :])
    for i, (j, bits) in enumerate(line):
        for other in (bits - 1, bits + 1):
            if j in fine_numbers and other >= 0:
                yield (*line[:i], (j, other), *line[i + 1 :])


def _search_moves(space: EncodedTable, constraint: Constraint, options: Options) -> int:
    """Return the number of moves of the local search after the start, by the options `effort` and `objective`.

    There are fewer for large k.
    """
    if options.get("objective") == "sse":
        return effort_moves(space, constraint, str(options["effort"]))
    effort = str(options["effort"])
    moves = max(EFFORT_MOVES[effort], MOVES_PER_TUPLE[effort] * len(space.counts))
    return moves * FULL_MOVES_MAX_K // max(constraint.min_records, FULL_MOVES_MAX_K)


register(
    best,
    title="Least loss: the best cut of several lines, then local search",
    summary=(
        "Minimizes the loss: cuts the records along several lines (orders of the records) where the total loss is "
        "least, then runs a local search (`improve`). O(lines * n * k + moves)."
    ),
    source="Hansen and Mukherjee 2003, Domingo-Ferrer et al. 2006, and this project",
    evidence="own",
    deterministic=True,
    complexity="O(lines * n * min(k, 128) + moves * k) time, O(n) memory",
    own_parameters=(
        SEED,
        Parameter(
            "effort",
            Choice(("fast", "normal", "high")),
            "Number of moves of the search: 40,000 (default), 400,000 or 3,000,000, or 2, 15 or 100 per distinct "
            "tuple; set the exact number with improve.",
            "fast",
        ),
    ),
    abilities=(OwnSearch(_search_moves),),
)
