"""The one way to run an algorithm: checks before it, blocks and cells, the repair after it, suppression and search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dbanon import errors
from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.loss import Heights, leaf_heights
from dbanon.algorithms.base.progress import OnEstimate, ProgressCheck
from dbanon.algorithms.base.registry import MAX_SUPPRESSED, Algorithm, Check, Options, OwnSearch, Suppression
from dbanon.algorithms.microaggregation.annealing import anneal_clusters
from dbanon.algorithms.postprocess.improve import LocalSearch, OnSearchProgress, SearchBudget, improve_clusters
from dbanon.algorithms.postprocess.merge_small_clusters import merge_failing_clusters
from dbanon.algorithms.postprocess.suppress_outliers import OutlierSearch, Repair, repair_after_suppression
from dbanon.encoding.coarse_partitions import coarse_partitions
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, Ints, has_max_level
from dbanon.privacy_models.constraint import Constraint
from dbanon.sqltext.messages import plural_form


@dataclass(frozen=True)
class MessageNames:
    """The names to use in error messages.

    Attributes:
        attributes: Names of the quasi-identifiers; empty to number them.
        sensitive: Names of the sensitive columns; empty to number them.
        function: Name of the called function; empty for that of the algorithm.
    """

    attributes: tuple[str, ...] = ()
    sensitive: Sequence[str] = ()
    function: str = ""


@dataclass(frozen=True)
class Refinement:
    """The refinement of finished clusters: suppression of records, then local search.

    Attributes:
        max_suppressed_share: Greatest share of records to suppress, if that lowers the average loss of the others.
        heights: How the height of hierarchy nodes is measured in the loss: top or edges.
        budget: Limit of the search; None for that of the algorithm.
        on_progress: Called by the search and by algorithms that can estimate their progress.
        objective: The loss that the search lowers: precision, ncp or sse, or weights of precision and ncp.
        leaves: The leaves that ncp counts: all or used.
    """

    max_suppressed_share: float = 0.0
    heights: str = "top"
    budget: SearchBudget | None = None
    on_progress: OnSearchProgress | None = None
    objective: str | Mapping[str, float] = "precision"
    leaves: str = "all"

    @property
    def search_heights(self) -> Heights:
        """The measure of the height of hierarchy nodes in the loss that the search lowers.

        By leaves for the objective ncp, by `heights` for others, and by both with their weights for weights.
        """
        kinds = {"ncp": leaf_heights(self.leaves)}
        if isinstance(self.objective, str):
            return kinds.get(self.objective, self.heights)
        total = math.fsum(self.objective.values())
        return tuple((kinds.get(word, self.heights), weight / total) for word, weight in self.objective.items())


_PartCheck = Callable[[EncodedTable, int], Check]
"""Returns the check for clustering a part of the table, given the number of records clustered before."""

OBJECTIVE_SEARCHES = {"sse": anneal_clusters}
"""Objectives that have a search of their own."""

MOVES_PER_SECOND = 100_000
"""Moves of a search that take about a second; clustering as many records takes about as long, in algorithms that report
progress."""

NO_REFINEMENT = Refinement()
NO_NAMES = MessageNames()


def run_algorithm(
    algorithm: Algorithm,
    space: EncodedTable,
    constraint: Constraint,
    options: Options,
    names: MessageNames = NO_NAMES,
    refinement: Refinement = NO_REFINEMENT,
    check: Check = lambda: None,
    *,
    max_cell_tuples: int | None = None,
) -> RunLengthLabels:
    """Run an algorithm and return the cluster of every record, -1 for suppressed ones.

    All clusters meet the constraint. If attributes have a max_level, records that it separates are clustered
    separately, in blocks. Blocks of more than `max_cell_tuples` tuples are cut into cells
    (dbanon.encoding.coarse_partitions), as far as each has records for two clusters and meets the constraint, and these
    are clustered one by one. A cluster that violates a privacy model is merged with others of its cell, then of its
    block, until it meets it. Then records are suppressed and clusters improved, as `refinement` and the algorithm
    request.

    Args:
        algorithm: The algorithm.
        space: The encoded table.
        constraint: The constraint.
        options: The algorithm's own parameters.
        names: Names for messages.
        refinement: Suppression and search.
        check: Called often; raises if the run was interrupted.
        max_cell_tuples: Greatest number of tuples of a cell (the parameter `max_partition`); None for no cells.

    Raises:
        FewerThanKError: If the table has fewer than k records (or persons).
        ModelNotMetError: If the whole table violates a privacy model other than k.
        MaxLevelBlockTooSmallError: If a block that max_level separates violates the constraint.
        CoarsenAboveMaxLevelError: If `coarsen` would publish a class above max_level.
        TableTooLargeError: If the algorithm would take too long and `allow_slow` is false.
    """
    names = replace(names, function=names.function or algorithm.name)
    _check_feasible(space, constraint, names)
    _check_coarsening_below_max_level(space, names)
    limits = _suppression_limits(algorithm, space, constraint, options, refinement.max_suppressed_share)
    blocks, failing = _feasible_blocks(space, constraint, names, limits.max_requested)
    run = _Run(algorithm, constraint, options, names, refinement, check, max_cell_tuples)
    if not len(failing):
        return run.clusters(space, blocks, limits)
    tuples = np.setdiff1d(np.arange(len(space.counts)), failing, assume_unique=True)
    rest = _rest_of_table(space, constraint, tuples)
    limits = limits.reduced_by(int(space.counts[failing].sum()))
    clusters = run.clusters(rest, [np.searchsorted(tuples, block) for block in blocks], limits)
    suppressed = RunLengthLabels.suppressed(space.counts[failing])
    return RunLengthLabels.concatenate([(tuples, clusters), (failing, suppressed)])


@dataclass(frozen=True)
class _SuppressionLimits:
    """How many records may be suppressed.

    Attributes:
        max_records: Greatest number in all.
        max_requested: The same, but 0 if the call sets no limit, and an algorithm has one by default.
        by_rule: Greatest number that the algorithm may suppress by its own rule; None if it has no such rule.
        is_rule_final: Whether nothing is suppressed after the algorithm's own rule.
    """

    max_records: int
    max_requested: int
    by_rule: int | None
    is_rule_final: bool

    def reduced_by(self, n_records: int) -> _SuppressionLimits:
        """Return the limits after `n_records` were suppressed."""
        n_left = self.max_records - n_records
        return replace(self, max_records=n_left, by_rule=None if self.by_rule is None else min(self.by_rule, n_left))


def _suppression_limits(
    algorithm: Algorithm, space: EncodedTable, constraint: Constraint, options: Options, share: float
) -> _SuppressionLimits:
    """Return how many records may be suppressed if `share` of all records may be.

    A rule of the algorithm has a limit of its own. Nothing else is suppressed if the rule suppresses single records
    already, or if the share is the default of an algorithm with a rule.
    """
    max_by_share = int(share * space.rows)
    suppression = algorithm.ability(Suppression)
    if suppression is None:
        return _SuppressionLimits(max_by_share, max_by_share, None, False)
    limit = suppression.limit(options, constraint.k, share)
    max_records = max_by_share if limit is None else min(max_by_share, limit)
    is_by_default = share == 1 and suppression.max_records(options, constraint.k) is None
    max_requested = 0 if is_by_default else max_records
    return _SuppressionLimits(max_records, max_requested, max_records, suppression.is_complete or is_by_default)


@dataclass(frozen=True)
class _Run:
    """A run of an algorithm: clustering in blocks and cells, repair, suppression and search.

    Attributes:
        algorithm, constraint, options, names, refinement, check, max_cell_tuples: See `run_algorithm`.
    """

    algorithm: Algorithm
    constraint: Constraint
    options: Options
    names: MessageNames
    refinement: Refinement
    check: Check
    max_cell_tuples: int | None

    @property
    def search_options(self) -> Options:
        """The options of the algorithm and the objective."""
        return {**self.options, "objective": self.refinement.objective}

    def clusters(self, space: EncodedTable, blocks: Sequence[Ints], limits: _SuppressionLimits) -> RunLengthLabels:
        """Return the final clusters of a table whose blocks meet the constraint; -1 for suppressed records."""
        refinement, check = self.refinement, self.check
        own_search = self.algorithm.ability(OwnSearch)
        budget = refinement.budget or SearchBudget(
            own_search.n_moves(space, self.constraint, self.search_options) if own_search else 0
        )
        progress_split = _ProgressSplit(refinement.on_progress, budget, space.rows)

        def part_check(part: EncodedTable, first: int) -> Check:
            """Return the check for clustering a part of the table, after `first` records."""
            on_estimate = partial(_refuse_if_too_large, part, self.constraint, self.options, self.names)
            return progress_split.clustering_check(check, first, first + part.rows, on_estimate)

        runs = _renumber_clusters(self.clusters_before_search(space, blocks, limits, part_check))
        if refinement.on_progress is not None:
            budget.on_progress = progress_split.report_search
        if budget.moves == 0 and budget.seconds is None:
            return runs
        search = LocalSearch(
            refinement.search_heights, budget, int(str(self.options.get("seed", 0))), _block_numbers(space, blocks)
        )
        return OBJECTIVE_SEARCHES.get(str(refinement.objective), improve_clusters)(
            space, self.constraint, runs, search, _make_repair(self.constraint, blocks, check), check
        )

    def clusters_before_search(
        self, space: EncodedTable, blocks: Sequence[Ints], limits: _SuppressionLimits, part_check: _PartCheck
    ) -> RunLengthLabels:
        """Return the clusters after repair and suppression.

        Args:
            space: The encoded table.
            blocks: The tuples of each block; each block meets the constraint.
            limits: How many records may be suppressed.
            part_check: Returns the check for clustering a part of the table.
        """
        clusters, repair = self._cluster_pieces(space, blocks, limits.by_rule or 0, part_check)
        max_outliers = 0 if limits.is_rule_final else limits.max_records
        repaired = (
            repair(space, clusters)
            if limits.by_rule is None
            else repair_after_suppression(space, self.constraint, clusters, repair)
        )
        if not max_outliers:
            return repaired

        def cluster_rest(tuples: Ints) -> RunLengthLabels | None:
            """Return the clusters of some of the tuples, after repair; None if a block violates the constraint."""
            rest = _rest_of_table(space, self.constraint, tuples)
            rest_blocks = max_level_blocks(rest)
            if not all(self.constraint.is_met_by_tuples(rest, block) for block in rest_blocks):
                return None
            rest_clusters, rest_repair = self._cluster_pieces(rest, rest_blocks, 0, lambda part, first: self.check)
            return rest_repair(rest, rest_clusters)

        search = OutlierSearch(space, self.constraint, max_outliers, repair, cluster_rest)
        # A repair after suppression may have dissolved clusters with suppressed records.
        return search.best_clusters(clusters if limits.by_rule is None else repaired, repaired)

    def _cluster_pieces(
        self, space: EncodedTable, blocks: Sequence[Ints], max_suppressed: int, part_check: _PartCheck
    ) -> tuple[RunLengthLabels, Repair]:
        """Run the algorithm on each block or cell, and return the clusters and their repair.

        At most `max_suppressed` records are suppressed by a rule of the algorithm, in each piece at most its share.
        """
        pieces = _cells(space, self.constraint, blocks, self.max_cell_tuples)
        n_clustered = 0

        def cluster(part: EncodedTable, _: Ints) -> RunLengthLabels:
            """Run the algorithm on one part of the table, check its result, and return it as runs."""
            nonlocal n_clustered
            progress_check = part_check(part, n_clustered)
            n_clustered += part.rows
            part_max_suppressed = max_suppressed * part.rows // space.rows
            algorithm_options = {
                **self.search_options,
                "heights": self.refinement.search_heights,
                MAX_SUPPRESSED: part_max_suppressed,
            }
            assignment = self.algorithm.run(part, self.constraint, algorithm_options, progress_check)
            return _check_assignment(self.algorithm, part, assignment, part_max_suppressed)

        clusters = _cluster_blocks(space, pieces, cluster)
        repair = _make_repair(self.constraint, blocks, self.check)
        if len(pieces) > len(blocks):
            repair = _make_repair(self.constraint, pieces, self.check, block_repair=repair)
        return clusters, repair


def _rest_of_table(space: EncodedTable, constraint: Constraint, tuples: Ints) -> EncodedTable:
    """Return the table of some tuples, in which privacy models compare classes with their records alone."""
    rest = space.subset(tuples)
    return rest if constraint.counts_only_records(rest) else rest.with_reference_rows(np.arange(rest.rows))


def _check_assignment(
    algorithm: Algorithm, space: EncodedTable, assignment: RunLengthLabels | Ints, max_suppressed: int
) -> RunLengthLabels:
    """Return the result of an algorithm as runs, after checking it.

    Args:
        algorithm: The algorithm, whose name is used in messages.
        space: The encoded table.
        assignment: Its result: runs, or the cluster of every record, -1 for suppressed ones.
        max_suppressed: Greatest number of records that may be suppressed.

    Raises:
        ValueError: If the labels are not those of all records, or more than `max_suppressed` records are in no cluster.
    """
    if not isinstance(assignment, RunLengthLabels):
        if assignment.shape != (space.rows,):
            raise ValueError(f"{algorithm.name} returned labels of shape {assignment.shape} for {space.rows} records")
        assignment = RunLengthLabels.from_labels(space, assignment)
    records = np.bincount(assignment.tuples, weights=assignment.counts, minlength=len(space.counts))
    if not np.array_equal(records, space.counts):
        raise ValueError(f"{algorithm.name} returned runs of {assignment.n_records} records for {space.rows}")
    if assignment.n_suppressed > max_suppressed:
        raise ValueError(
            f"{algorithm.name} gave no cluster to {assignment.n_suppressed} of {space.rows} records, "
            f"more than {max_suppressed}"
        )
    return assignment


class _ProgressSplit:
    """The common progress of clustering and the search after it.

    Clustering has a share of it only if the algorithm reports progress; otherwise all of it is the search.
    """

    def __init__(self, progress: OnSearchProgress | None, budget: SearchBudget, rows: int) -> None:
        """Estimate the share of clustering in all work from the number of records and the moves of the search.

        Args:
            progress: Called with the fraction of all work that is done, and the fraction of the loss that was removed;
                may be None.
            budget: The limit of the search; seconds count as MOVES_PER_SECOND moves each.
            rows: Number of records.
        """
        moves = budget.moves if budget.seconds is None else int(budget.seconds * MOVES_PER_SECOND)
        self._on_progress, self._n_records = progress or (lambda fraction_done, loss_removed: None), rows
        self._clustering_fraction = rows / max(moves + rows, 1)
        self._has_reported = False

    def clustering_check(self, check: Check, first: int, last: int, on_estimate: OnEstimate) -> Check:
        """Return the check for clustering the records from number `first` to `last`, which reports overall progress.

        Args:
            check: Called for every check; raises if the run was interrupted.
            first: Number of records clustered before.
            last: Number of records clustered after.
            on_estimate: Called with the estimated steps and seconds; may raise.
        """
        fraction_per_record = self._clustering_fraction / max(self._n_records, 1)
        return ProgressCheck(
            check,
            self._report_clustering,
            fraction_per_record * first,
            fraction_per_record * last,
            on_estimate=on_estimate,
        )

    def _report_clustering(self, share: float) -> None:
        """Report the overall progress during clustering, and remember that the algorithm reports any."""
        self._has_reported = True
        self._on_progress(share, 0.0)

    def report_search(self, fraction_done: float, loss_removed: float) -> None:
        """Report the fraction of the search that is done, and the fraction of the loss that has been removed."""
        clustering_fraction = self._clustering_fraction if self._has_reported else 0.0
        self._on_progress(clustering_fraction + (1 - clustering_fraction) * fraction_done, loss_removed)


def _refuse_if_too_large(
    space: EncodedTable, constraint: Constraint, options: Options, names: MessageNames, steps: float, seconds: float
) -> None:
    """Raise TableTooLargeError if an estimate has more than MAX_STEPS steps and `allow_slow` is false.

    It never raises if the algorithm has no parameter `allow_slow` or that is true.

    Args:
        space: The part of the table that is clustered.
        constraint: The constraint.
        options: Values of the algorithm's parameters.
        names: The names for the message.
        steps: The estimated steps.
        seconds: The estimated seconds.
    """
    if steps > progress.MAX_STEPS and not options.get("allow_slow", True):
        clusters = space.rows // constraint.min_records
        raise errors.TableTooLargeError(
            names.function, len(space.counts), clusters, progress.humanize_duration(seconds)
        )


def _block_numbers(space: EncodedTable, blocks: Sequence[Ints]) -> Ints | None:
    """Return the (tuples,) block number of each tuple; None if there is one block."""
    if len(blocks) == 1:
        return None
    numbers = np.empty(len(space.codes), np.int64)
    for number, block in enumerate(blocks):
        numbers[block] = number
    return numbers


def _check_feasible(space: EncodedTable, constraint: Constraint, names: MessageNames) -> None:
    """Check that the whole table meets k and the privacy models as a single class.

    Raises:
        FewerThanKError: It has fewer than k records, or persons. Algorithms and kernels rely on this check.
        ModelNotMetError: It violates a privacy model. If several sensitive columns violate the same model, the error
            names the one that allows least.
    """
    count = space.rows if space.persons is None else constraint.n_persons(space, np.arange(space.rows))
    if count < constraint.k:
        unit = ("record", "records") if space.persons is None else ("person", "persons")
        raise errors.FewerThanKError(names.function, count, plural_form(count, *unit), constraint.k)
    if not constraint.models:
        return
    worst = [(model, constraint.worst_measure(space, np.arange(space.rows), model)) for model in constraint.models]
    for model, measure in worst:
        if not model.is_satisfied(measure):
            same_model = [(w, m) for m, w in worst if (m.model, m.form) == (model.model, model.form)]
            pick = min if model.form_definition.is_higher else max
            best_measure, limiting = pick(same_model, key=lambda pair: pair[0])
            column = (
                names.sensitive[limiting.sensitive] if names.sensitive else f"sensitive column {limiting.sensitive + 1}"
            )
            raise errors.ModelNotMetError(
                names.function, limiting.parameter_text, column, limiting.best_request(float(best_measure))
            )


def _cluster_blocks(
    space: EncodedTable, blocks: Sequence[Ints], runs_of: Callable[[EncodedTable, Ints], RunLengthLabels]
) -> RunLengthLabels:
    """Cluster each block with `runs_of` and return the labels of all records.

    The clusters of a block are numbered after those of the blocks before; -1 stays.

    Args:
        space: The encoded table.
        blocks: The tuples of each block; together all tuples.
        runs_of: Takes the table of a block and its tuples, and returns the labels of the block.
    """
    if len(blocks) == 1:
        return runs_of(space, blocks[0])
    return RunLengthLabels.concatenate((block, runs_of(space.subset(block), block)) for block in blocks)


def _make_repair(
    constraint: Constraint, blocks: Sequence[Ints], check: Check, *, block_repair: Repair | None = None
) -> Repair:
    """Return a function of table and labels that merges clusters that violate the constraint, within each block.

    Args:
        constraint: The constraint.
        blocks: The tuples of each block, or of each cell of a block.
        check: Called from time to time; raises if the run was interrupted.
        block_repair: If `blocks` are cells, repairs the blocks that contain them afterwards: a person may be in several
            cells, and clusters of different cells may publish the same values.
    """

    def repair(table: EncodedTable, runs: RunLengthLabels) -> RunLengthLabels:
        """Return the labels with failing clusters merged within each block; unchanged if any k records suffice."""
        if constraint.counts_only_records(table):
            return runs

        def of_block(part: EncodedTable, block: Ints) -> RunLengthLabels:
            """Return the labels of one block, with failing clusters merged until they meet the constraint."""
            own = runs if part is table else runs.subset(block, len(table.counts))
            return RunLengthLabels.from_labels(part, merge_failing_clusters(part, constraint, own.labels(), check))

        repaired = _cluster_blocks(table, blocks, of_block)
        return repaired if block_repair is None else block_repair(table, repaired)

    return repair


def _renumber_clusters(runs: RunLengthLabels) -> RunLengthLabels:
    """Return the labels with clusters numbered without gaps, in the same order; -1 stays."""
    is_used = np.zeros(runs.next_cluster_number, np.int32)
    is_used[runs.without_suppressed().clusters] = 1
    return runs if is_used.all() else runs.with_cluster_numbers(np.cumsum(is_used) - 1)


def _check_coarsening_below_max_level(space: EncodedTable, names: MessageNames) -> None:
    """Raise CoarsenAboveMaxLevelError if `coarsen` would publish a class above max_level; otherwise do nothing."""
    for j, attribute in enumerate(space.attributes):
        if (
            isinstance(attribute, CategoricalAttribute)
            and attribute.max_level is not None
            and attribute.published_depth_step > 1
        ):
            highest = attribute.block(attribute.max_level)[:-1]
            if (attribute.published_node[highest] != highest).any():
                name = names.attributes[j] if names.attributes else f"attribute {j + 1}"
                raise errors.CoarsenAboveMaxLevelError(names.function, name, attribute.published_depth_step)


def _feasible_blocks(
    space: EncodedTable, constraint: Constraint, names: MessageNames, max_suppressed: int
) -> tuple[list[Ints], Ints]:
    """Return the tuples of each block that max_level separates (see `max_level_blocks`), and those to be suppressed.

    The tuples of blocks that violate the constraint are to be suppressed, in ascending order. Privacy models compare
    the other blocks with the records that are left, so further blocks may follow.

    Args:
        space: The encoded table.
        constraint: The constraint.
        names: Names for the message.
        max_suppressed: Greatest number of records that may be suppressed.

    Raises:
        MaxLevelBlockTooSmallError: If more records would have to be suppressed, or all of them.
    """
    blocks = max_level_blocks(space)
    failing = np.zeros(0, np.int64)
    if not any(map(has_max_level, space.attributes)) or len(space.codes) == 0:
        return blocks, failing
    rest = space
    while True:
        is_met = [constraint.is_met_by_tuples(rest, block) for block in blocks]
        failing = np.concatenate([failing, *(block for block, met in zip(blocks, is_met, strict=True) if not met)])
        blocks = [block for block, met in zip(blocks, is_met, strict=True) if met]
        n_failing = int(space.counts[failing].sum())
        if n_failing > max_suppressed or not blocks:
            limited = [n for n, a in zip(names.attributes, space.attributes, strict=True) if has_max_level(a)]
            raise errors.MaxLevelBlockTooSmallError(names.function, limited, n_failing, constraint.parameter_text)
        if all(is_met):
            return blocks, np.sort(failing)
        if not constraint.counts_only_records(space):
            rest = space.with_reference_rows(space.rows_of(np.sort(np.concatenate(blocks))))


def max_level_blocks(space: EncodedTable) -> list[Ints]:
    """Return the tuples of each block that max_level separates, without checking the constraint.

    Tuples are in one block if they have the same highest allowed ancestor in every attribute with a max_level. Without
    max_level there is one block.
    """
    keys = [
        attribute.block(attribute.max_level)[space.codes[:, j]]
        for j, attribute in enumerate(space.attributes)
        if isinstance(attribute, CategoricalAttribute) and attribute.max_level is not None
    ]
    if not keys or len(space.codes) == 0:
        return [np.arange(len(space.codes))]
    _, block_of = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
    block_of = np.asarray(block_of).reshape(-1)
    return [np.flatnonzero(block_of == block) for block in range(int(block_of.max()) + 1)]


def clusterable_records(space: EncodedTable, constraint: Constraint) -> RunLengthLabels:
    """Return labels: 0 for records that could be clustered now, -1 for those that would have to be deferred.

    Records are deferred if their block (see `max_level_blocks`) violates the constraint.
    """
    clusters = np.zeros(len(space.counts), np.int32)
    for block in max_level_blocks(space):
        if not constraint.is_met_by_tuples(space, block):
            clusters[block] = -1
    return RunLengthLabels.from_tuple_clusters(space, clusters)


def _cells(
    space: EncodedTable, constraint: Constraint, blocks: Sequence[Ints], max_tuples: int | None
) -> Sequence[Ints]:
    """Return the tuples of each piece that is clustered separately: the blocks, or cells of them.

    With `max_tuples` None these are the blocks. Otherwise blocks of more than `max_tuples` tuples are cut into cells of
    at most as many where possible. Each cell has records for two clusters and meets the constraint; if a cut would
    break that, a cell stays larger.

    Args:
        space: The encoded table.
        constraint: The constraint.
        blocks: The tuples of each block.
        max_tuples: Greatest number of tuples of a cell; None for no cells.
    """
    if max_tuples is None:
        return blocks

    def cut(block: Ints) -> list[Ints]:
        """Return the tuples of each cell of one block, at most `max_tuples` tuples where possible."""
        part = space if len(block) == len(space.codes) else space.subset(block)
        least = 2 * constraint.min_records

        def enough(tuples: Ints) -> bool:
            """Return whether the tuples have records for two clusters and together meet the constraint."""
            return int(part.counts[tuples].sum()) >= least and constraint.is_met_by_tuples(part, tuples)

        return [block[tuples] for tuples in coarse_partitions(part, max_tuples, enough)]

    return [piece for block in blocks for piece in (cut(block) if len(block) > max_tuples else [block])]
