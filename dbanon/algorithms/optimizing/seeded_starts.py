"""Starts that grow from seeds: classes of kacpc and kmember, formed in cells of neighbouring tuples.

If most tuples have one record, a line through them passes few neighbours, and taking the nearest loses less.
"""

from collections.abc import Sequence

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.kernel_inputs import KernelInputs
from dbanon.algorithms.base.packed_classes import PackedClasses
from dbanon.algorithms.base.registry import AlgorithmFunction, Check, Options
from dbanon.algorithms.greedy.kmember import kmember
from dbanon.algorithms.nearest_neighbour.kacpc import kacpc
from dbanon.algorithms.postprocess.merge_small_clusters import merge_failing_clusters
from dbanon.encoding.coarse_partitions import coarse_partitions
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

GROWING_ALGORITHMS: tuple[AlgorithmFunction, ...] = (kacpc, kmember)

MAX_CELL_TUPLES = {"fast": 2048, "normal": 16_384, "high": 65_536}
"""Greatest number of tuples of a cell, by effort: growing clusters examine all tuples of a cell repeatedly."""

SAMPLE_CELLS = (4, 2048)
"""Unless effort is high, growing is tried first on this many cells of at most this many tuples."""

ALONE_RATIO = 2
"""Most tuples count as having one record if there are fewer records than this many times the tuples."""

MIN_TUPLES = 5_000
"""Unless effort is high, nothing grows in smaller tables: lines are cut there along many orders, and a first call would
take time to compile more kernels."""


MAX_FAST_TUPLES = 200_000
"""With the least effort, nothing grows in larger tables either: it takes longer than all else."""


def try_grown_clusters(
    space: EncodedTable,
    constraint: Constraint,
    kernel_inputs: KernelInputs,
    start: RunLengthLabels,
    options: Options,
    check: Check,
) -> RunLengthLabels:
    """Return the clusters with the least loss among `start` and those of kacpc and kmember in cells.

    Only `start` is returned if the table is too small or too large for the effort, or if tuples repeat. Unless effort
    is high, an algorithm is skipped if it does not lose less than `start` on a sample of cells. O(tuples * cell)
    evaluations without the index, O(n) memory.

    Args:
        space: The encoded table.
        constraint: The constraint.
        kernel_inputs: Their arrays.
        start: The best clusters so far.
        options: The options `effort` and `seed`.
        check: Called from time to time; raises if the run was interrupted.
    """
    effort = str(options["effort"])
    has_high_effort, n_tuples = effort == "high", len(space.counts)
    is_too_large = effort == "fast" and n_tuples > MAX_FAST_TUPLES
    if is_too_large or (not has_high_effort and (n_tuples < MIN_TUPLES or space.rows >= ALONE_RATIO * n_tuples)):
        return start
    run_options = {"seed": options.get("seed", 0), "mode": "deterministic", "allow_slow": True, "prune_unused": True}
    sample = () if has_high_effort else _sample_cells(_cells(space, constraint, SAMPLE_CELLS[1]))
    pieces = _cells(space, constraint, MAX_CELL_TUPLES[effort])
    start_losses = _tuple_losses(kernel_inputs, start)
    best_loss = start_losses.sum()
    for run in GROWING_ALGORITHMS:
        if sample:
            sample_losses = _tuple_losses(
                kernel_inputs, _run_in_cells(space, constraint, sample, run, run_options, check)
            )
            if sample_losses.sum() >= start_losses[np.concatenate(sample)].sum():
                continue
        candidate = _run_in_cells(space, constraint, pieces, run, run_options, check)
        candidate_loss = _tuple_losses(kernel_inputs, candidate).sum()
        if candidate_loss < best_loss:
            best_loss, start = candidate_loss, candidate
    return start


def _cells(space: EncodedTable, constraint: Constraint, max_tuples: int) -> list[Ints]:
    """Divide the tuples into cells of at most `max_tuples` where possible, and return the tuples of each cell.

    Each cell has records for two clusters and meets the constraint; if a cut would break that, a cell stays larger.
    """

    def enough(tuples: Ints) -> bool:
        """Return whether the tuples have records for two clusters and together meet the constraint."""
        return int(space.counts[tuples].sum()) >= 2 * constraint.min_records and constraint.is_met_by_tuples(
            space, tuples
        )

    return coarse_partitions(space, max_tuples, enough)


def _sample_cells(pieces: Sequence[Ints]) -> tuple[Ints, ...]:
    """Return at most SAMPLE_CELLS[0] of the cells (arrays of tuples), spread evenly over the list `pieces`."""
    numbers = np.unique(np.linspace(0, len(pieces) - 1, SAMPLE_CELLS[0]).round().astype(np.int64))
    return tuple(pieces[i] for i in numbers)


def _run_in_cells(
    space: EncodedTable,
    constraint: Constraint,
    pieces: Sequence[Ints],
    run: AlgorithmFunction,
    options: Options,
    check: Check,
) -> RunLengthLabels:
    """Run an algorithm on each cell separately, repair its clusters, and return the labels of all records.

    Records of tuples that are in no cell have -1.

    Args:
        space: The encoded table.
        constraint: The constraint; clusters that violate it are merged with others of the cell.
        pieces: The tuples of each cell.
        run: The algorithm.
        options: Its options.
        check: Called before each cell; raises if the run was interrupted.
    """
    parts = []
    for piece in pieces:
        check()
        part = space if len(piece) == len(space.counts) else space.subset(piece)
        if run is kmember:  # which computes the cost of all values repeatedly
            part = part.without_absent_values()
        runs = RunLengthLabels.from_assignment(part, run(part, constraint, options, check))
        if not constraint.counts_only_records(part):
            runs = RunLengthLabels.from_labels(part, merge_failing_clusters(part, constraint, runs.labels(), check))
        parts.append((piece, runs))
    rest = np.setdiff1d(np.arange(len(space.counts)), np.concatenate(pieces), assume_unique=True)
    return RunLengthLabels.concatenate([*parts, (rest, RunLengthLabels.suppressed(space.counts[rest]))])


def _tuple_losses(kernel_inputs: KernelInputs, runs: RunLengthLabels) -> Ints:
    """Return the loss of each tuple: for each record an equal part of its cluster's loss; suppressed records lose 0."""
    losses = PackedClasses.from_labels(kernel_inputs, runs).losses(kernel_inputs)
    published = runs.without_suppressed()
    sizes = np.bincount(published.clusters, weights=published.counts)
    record_losses = losses[: len(sizes)] / np.maximum(sizes, 1)
    return np.bincount(runs.tuples, np.where(runs.clusters >= 0, record_losses[runs.clusters], 0.0) * runs.counts)
