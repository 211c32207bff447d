"""The one way to run an algorithm: what must hold before, blocks that stay apart, the repair after, and outliers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dbanon import errors
from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.common_parameters import OBJECTIVES
from dbanon.algorithms.base.progress import Expected, Work
from dbanon.algorithms.base.registry import MOST_LEFT_OUT, Algorithm, Check, Options, OwnSearch, Suppression
from dbanon.algorithms.microaggregation.annealing import lowered
from dbanon.algorithms.postprocess.improve import Budget, Progress, Search, improved
from dbanon.algorithms.postprocess.merge_small_clusters import merged
from dbanon.algorithms.postprocess.suppress_outliers import Repair, left_out, taken_back
from dbanon.encoding.coarse_partitions import coarse_partitions
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint


@dataclass(frozen=True)
class Names:
    """What messages call things: the attributes, the sensitive columns, and the function (default: the algorithm)."""

    attributes: tuple[str, ...] = ()
    sensitive: Sequence[str] = ()
    function: str = ""


@dataclass(frozen=True)
class Refinement:
    """What is done to finished clusters.

    At most a share `suppress` of the records is left out, where that lowers the average loss of the others. Then a
    search of as many moves as `budget` says (default: the algorithm) lowers the loss (`heights`: of inner nodes, top or
    edges), or what else is the `objective`. `progress` is called by the search and by algorithms that know how far they
    have come.
    """

    suppress: float = 0.0
    heights: str = "top"
    budget: Budget | None = None
    progress: Progress | None = None
    objective: str = "precision"

    @property
    def searched(self) -> str:
        """The heights of inner nodes in what is searched for the least of."""
        return OBJECTIVES[self.objective] or self.heights


SEARCHES = {"sse": lowered}
"""Objectives that have a search of their own."""

A_SECOND = 100_000
"""Moves that take about a second, and records that take about as long to be clustered by algorithms that say how far
they have come."""

AS_THEY_ARE = Refinement()
NAMELESS = Names()


def run(
    algorithm: Algorithm,
    space: EncodedTable,
    constraint: Constraint,
    options: Options,
    names: Names = NAMELESS,
    refinement: Refinement = AS_THEY_ARE,
    check: Check = lambda: None,
    *,
    cell: int | None = None,
) -> Runs:
    """Return the clusters of all records, -1 where a record is left out.

    Where attributes have a max_level, records that it keeps apart are clustered apart; MaxLevelBlockTooSmallError if
    one of these blocks cannot meet the model. Blocks of more than `cell` tuples are cut into cells
    (dbanon.encoding.coarse_partitions), as far as each has two groups' records and meets the model, and these are
    clustered one by one. A group that misses a model of its sensitive values is merged with others of its cell, then of
    its block, until it meets it; ModelNotMetError if the whole table does not.
    """
    names = replace(names, function=names.function or algorithm.name)
    heights = refinement.searched
    _feasible(space, constraint, names)
    _agreed(space, names)
    blocks = _blocks(space, constraint, names)
    pieces = _cells(space, constraint, blocks, cell)

    own = algorithm.ability(OwnSearch)
    asked = {**options, "objective": refinement.objective}
    budget = refinement.budget or Budget(own.moves(space, constraint, asked) if own else 0)
    stretch = _Stretch(refinement.progress, budget, space.rows)
    most = _most_left_out(algorithm, space, constraint, options, refinement.suppress)
    clustered = 0

    def cluster(part: EncodedTable, _: Ints) -> Runs:
        nonlocal clustered
        work = stretch.work(check, clustered, clustered + part.rows, _asked_for(part, constraint, options, names))
        clustered += part.rows
        spare = (most or 0) * part.rows // space.rows
        given = {**asked, "heights": heights, MOST_LEFT_OUT: spare}
        return _runs(algorithm, part, algorithm.run(part, constraint, given, work), spare)

    clusters = _of_blocks(space, pieces, cluster)

    repair = _repair(constraint, blocks, check)
    repair_cells = _repair(constraint, pieces, check, then=repair) if len(pieces) > len(blocks) else repair

    share = refinement.suppress
    if most is not None:
        runs = taken_back(space, constraint, clusters, repair_cells)
    elif share:
        runs = left_out(space, constraint, clusters, repair_cells(space, clusters), share, repair_cells)
    else:
        runs = repair_cells(space, clusters)
    runs = _numbered(runs)
    if refinement.progress is not None:
        budget.progress = stretch.searched
    if budget.moves == 0 and budget.seconds is None:
        return runs
    search = Search(heights, budget, int(str(options.get("seed", 0))), _numbers(space, blocks))
    return SEARCHES.get(refinement.objective, improved)(space, constraint, runs, search, repair, check)


def _most_left_out(
    algorithm: Algorithm, space: EncodedTable, constraint: Constraint, options: Options, share: float
) -> int | None:
    """Return the most records that the algorithm may leave out by its own rule; None where it has none."""
    own = algorithm.ability(Suppression)
    if own is None:
        return None
    records = own.records(options, constraint.k)
    most = int(share * space.rows)
    return most if records is None else min(most, records)


def _runs(algorithm: Algorithm, space: EncodedTable, found: Runs | Ints, spare: int) -> Runs:
    """What an algorithm gave, as runs; ValueError unless it is a cluster for every record but so many."""
    if not isinstance(found, Runs):
        if found.shape != (space.rows,):
            raise ValueError(f"{algorithm.name} gave labels of shape {found.shape} for {space.rows} records")
        found = Runs.from_labels(space, found)
    records = np.bincount(found.tuples, weights=found.counts, minlength=len(space.counts))
    if not np.array_equal(records, space.counts):
        raise ValueError(f"{algorithm.name} gave runs of {found.rows} records for {space.rows}")
    out = int(found.counts[found.clusters < 0].sum())
    if out > spare:
        raise ValueError(f"{algorithm.name} gave no cluster to {out} of {space.rows} records, more than {spare}")
    return found


class _Stretch:
    """How far clustering and the search after it have come together; where the algorithm says nothing, the search."""

    def __init__(self, progress: Progress | None, budget: Budget, rows: int) -> None:
        moves = budget.moves if budget.seconds is None else int(budget.seconds * A_SECOND)
        self._progress, self._rows = progress, rows
        self._before = rows / max(moves + rows, 1)
        self._said = False

    def work(self, check: Check, first: int, last: int, expected: Expected) -> Check:
        """Return the check of clustering the records from `first` to `last`."""
        each = self._before / max(self._rows, 1)
        return Work(check, self._clustered, each * first, each * last, expected=expected)

    def _clustered(self, share: float) -> None:
        self._said = True
        if self._progress is not None:
            self._progress(share, 0.0)

    def searched(self, done: float, saved: float) -> None:
        """So much of the search is done, and of the loss gone."""
        if self._progress is not None:
            before = self._before if self._said else 0.0
            self._progress(before + (1 - before) * done, saved)


def _asked_for(space: EncodedTable, constraint: Constraint, options: Options, names: Names) -> Expected:
    """Refuse work of too many steps, of an algorithm with the parameter `large`, unless that is set.

    TableTooLargeError.
    """

    def expected(steps: float, seconds: float) -> None:
        if steps > progress.LARGEST and not options.get("large", True):
            clusters = space.rows // constraint.least
            raise errors.TableTooLargeError(names.function, len(space.counts), clusters, progress.roughly(seconds))

    return expected


def _numbers(space: EncodedTable, blocks: Sequence[Ints]) -> Ints | None:
    """Return the block of each tuple, if there are several."""
    if len(blocks) == 1:
        return None
    numbers = np.empty(len(space.codes), np.int64)
    for number, block in enumerate(blocks):
        numbers[block] = number
    return numbers


def _feasible(space: EncodedTable, constraint: Constraint, names: Names) -> None:
    """ModelNotMetError where the whole table misses a model; of several columns, the one that allows least."""
    if not constraint.models:
        return
    everything = np.arange(space.rows)
    worst = [(model, constraint.worst(space, everything, model)) for model in constraint.models]
    for model, measured in worst:
        if not model.met(measured):
            alike = [(w, m) for m, w in worst if (m.model, m.form) == (model.model, model.form)]
            pick = min if model.rule.is_higher else max
            least, of = pick(alike, key=lambda pair: pair[0])
            column = names.sensitive[of.sensitive] if names.sensitive else f"sensitive column {of.sensitive + 1}"
            raise errors.ModelNotMetError(names.function, of.said, column, of.best(float(least)))


def _of_blocks(space: EncodedTable, blocks: Sequence[Ints], runs_of: Callable[[EncodedTable, Ints], Runs]) -> Runs:
    """Return clusters of all records, made block by block from a block's space and tuples; -1 stays."""
    if len(blocks) == 1:
        return runs_of(space, blocks[0])
    return Runs.joined((block, runs_of(space.subset(block), block)) for block in blocks)


def _repair(constraint: Constraint, blocks: Sequence[Ints], check: Check, *, then: Repair | None = None) -> Repair:
    """Merge clusters that miss the model, block by block.

    Where blocks are cells, `then` the blocks that these are of: persons may be in several cells, and clusters of
    several may publish the same.
    """

    def repair(among: EncodedTable, runs: Runs) -> Runs:
        if constraint.counts_records(among):
            return runs

        def of_block(part: EncodedTable, block: Ints) -> Runs:
            own = runs if part is among else runs.some(block, len(among.counts))
            return Runs.from_labels(part, merged(part, constraint, own.labels(), check))

        repaired = _of_blocks(among, blocks, of_block)
        return repaired if then is None else then(among, repaired)

    return repair


def _numbered(runs: Runs) -> Runs:
    """Return the clusters numbered without gaps; -1 stays."""
    used = np.zeros(runs.clusters_most, np.int32)
    used[runs.kept().clusters] = 1
    return runs if used.all() else runs.numbered(np.cumsum(used) - 1)


def _agreed(space: EncodedTable, names: Names) -> None:
    """CoarsenAboveMaxLevelError where `round` would publish a class above max_level."""
    for j, attribute in enumerate(space.attributes):
        if isinstance(attribute, CategoricalAttribute) and attribute.max_level is not None and attribute.round > 1:
            highest = attribute.block(attribute.max_level)[:-1]
            if (attribute.published_node[highest] != highest).any():
                name = names.attributes[j] if names.attributes else f"attribute {j + 1}"
                raise errors.CoarsenAboveMaxLevelError(names.function, name, attribute.round)


def _blocks(space: EncodedTable, constraint: Constraint, names: Names) -> list[Ints]:
    """Return tuples of the blocks that max_level keeps apart; MaxLevelBlockTooSmallError."""
    blocks = apart(space)
    if not any(map(_limited, space.attributes)) or len(space.codes) == 0:
        return blocks
    small = [block for block in blocks if not constraint.enough(space, block)]
    if small:
        limited = [n for n, a in zip(names.attributes, space.attributes, strict=True) if _limited(a)]
        rows = sum(int(space.counts[block].sum()) for block in small)
        raise errors.MaxLevelBlockTooSmallError(names.function, limited, rows, constraint.said)
    return blocks


def apart(space: EncodedTable) -> list[Ints]:
    """Return tuples of the blocks that max_level keeps apart, whatever is in them."""
    keys = [
        attribute.block(attribute.max_level)[space.codes[:, j]]
        for j, attribute in enumerate(space.attributes)
        if isinstance(attribute, CategoricalAttribute) and attribute.max_level is not None
    ]
    if not keys or len(space.codes) == 0:
        return [np.arange(len(space.codes))]
    _, of = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
    of = np.asarray(of).reshape(-1)
    return [np.flatnonzero(of == block) for block in range(int(of.max()) + 1)]


def waiting(space: EncodedTable, constraint: Constraint) -> Runs:
    """Cluster 0 for records that could be clustered, -1 for those that would have to wait for others: blocks that
    max_level keeps apart, or all of them, are too few or miss a model."""
    clusters = np.zeros(len(space.counts), np.int32)
    for block in apart(space):
        if not constraint.enough(space, block):
            clusters[block] = -1
    return Runs.of_tuples(space, clusters)


def _cells(space: EncodedTable, constraint: Constraint, blocks: list[Ints], cell: int | None) -> list[Ints]:
    """Return tuples of what is clustered for itself: the blocks, cut into cells of at most so many tuples."""
    if cell is None:
        return blocks

    def cut(block: Ints) -> list[Ints]:
        part = space if len(block) == len(space.codes) else space.subset(block)
        least = 2 * constraint.least

        def enough(tuples: Ints) -> bool:
            return int(part.counts[tuples].sum()) >= least and constraint.enough(part, tuples)

        return [block[tuples] for tuples in coarse_partitions(part, cell, enough)]

    return [piece for block in blocks for piece in (cut(block) if len(block) > cell else [block])]


def _limited(attribute: object) -> bool:
    return isinstance(attribute, CategoricalAttribute) and attribute.max_level is not None
