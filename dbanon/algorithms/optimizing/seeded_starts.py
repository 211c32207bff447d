"""Starts that grow: classes of kacpc and kmember, in cells of tuples that lie together.

Where most tuples are alone a line through them passes few neighbours, and taking the nearest loses less.
"""

from collections.abc import Sequence

import numpy as np

from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.kernel_inputs import Layout
from dbanon.algorithms.base.packed_classes import Classes
from dbanon.algorithms.base.registry import Check, Options, Run
from dbanon.algorithms.greedy.kmember import kmember
from dbanon.algorithms.nearest_neighbour.kacpc import kacpc
from dbanon.algorithms.postprocess.merge_small_clusters import merged
from dbanon.encoding.coarse_partitions import coarse_partitions
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

GROWING: tuple[Run, ...] = (kacpc, kmember)

CELL = {"fast": 2048, "normal": 16_384, "high": 65_536}
"""Most tuples of a cell, by effort: what grows looks at all tuples of its cell again and again."""

SAMPLE = (4, 2048)
"""With less effort than high, what grows is tried first on so many cells of so many tuples."""

ALONE = 2
"""Tuples are alone where there are fewer records than so many times as many."""

FEW = 5_000
"""With less effort than high, nothing grows in tables of fewer tuples: lines are cut there along many orders, and
a first call would wait for the compilation of more kernels."""


LARGE = 200_000
"""With the least effort, nothing grows in tables of more tuples either: it takes longer than all else."""


def less_lost(
    space: EncodedTable, constraint: Constraint, problem: Layout, found: Runs, options: Options, check: Check
) -> Runs:
    """The clusters with the least loss of `found` and those that grow; `found` where growing does not pay on a sample.

    O(tuples * cell) evaluations without the index, O(n) memory.
    """
    effort = str(options["effort"])
    thorough = effort == "high"
    if not thorough and (len(space.counts) < FEW or space.rows >= ALONE * len(space.counts)):
        return found
    if effort == "fast" and len(space.counts) > LARGE:
        return found
    own = {"seed": options.get("seed", 0), "mode": "deterministic", "large": True, "prune_unused": True}
    tried = () if thorough else _sample(_cells(space, constraint, SAMPLE[1]))
    pieces = _cells(space, constraint, CELL[effort])
    least = _lost(problem, found)
    best = least.sum()
    for run in GROWING:
        if tried:
            sampled = _lost(problem, _in_cells(space, constraint, tried, run, own, check))
            if sampled.sum() >= least[np.concatenate(tried)].sum():
                continue
        grown = _in_cells(space, constraint, pieces, run, own, check)
        lost = _lost(problem, grown).sum()
        if lost < best:
            best, found = lost, grown
    return found


def _cells(space: EncodedTable, constraint: Constraint, most: int) -> list[Ints]:
    """Return tuples of cells of at most so many, as far as each has records for two groups and meets the model."""

    def enough(tuples: Ints) -> bool:
        return int(space.counts[tuples].sum()) >= 2 * constraint.least and constraint.enough(space, tuples)

    return coarse_partitions(space, most, enough)


def _sample(pieces: Sequence[Ints]) -> tuple[Ints, ...]:
    """Return some cells, evenly over all."""
    which = np.unique(np.linspace(0, len(pieces) - 1, SAMPLE[0]).round().astype(np.int64))
    return tuple(pieces[i] for i in which)


def _in_cells(
    space: EncodedTable, constraint: Constraint, pieces: Sequence[Ints], run: Run, options: Options, check: Check
) -> Runs:
    """Return clusters made cell by cell; records of no cell are left out."""
    parts = []
    for piece in pieces:
        check()
        part = space if len(piece) == len(space.counts) else space.subset(piece)
        if run is kmember:  # which asks all values for what they cost, again and again
            part = part.without_absent_values()
        runs = Runs.assigned(part, run(part, constraint, options, check))
        if not constraint.counts_records(part):
            runs = Runs.from_labels(part, merged(part, constraint, runs.labels(), check))
        parts.append((piece, runs))
    rest = np.setdiff1d(np.arange(len(space.counts)), np.concatenate(pieces), assume_unique=True)
    left_out = Runs.of(np.arange(len(rest)), np.full(len(rest), -1), space.counts[rest])
    return Runs.joined([*parts, (rest, left_out)])


def _lost(problem: Layout, runs: Runs) -> Ints:
    """Return the loss by tuple: each record has its part of what its cluster loses."""
    from dbanon.kernels.local_search import class_losses

    classes = Classes.of(problem, runs)
    losses = class_losses(classes.items, classes.starts, classes.sizes, classes.number, problem.measure)
    kept = runs.kept()
    sizes = np.bincount(kept.clusters, weights=kept.counts)
    each = losses[: len(sizes)] / np.maximum(sizes, 1)
    return np.bincount(runs.tuples, np.where(runs.clusters >= 0, each[runs.clusters], 0.0) * runs.counts)
