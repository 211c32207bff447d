"""S-CPM: the table is cut into parts around medoids; clusters in a part are merged, the smallest first."""

from collections.abc import Callable

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import chain_numbers
from dbanon.algorithms.base.kernel_inputs import build_kernel_inputs
from dbanon.algorithms.base.loss import Loss, distance_sums_to_all
from dbanon.algorithms.base.random_seeds import generator
from dbanon.algorithms.base.registry import LARGE, SEED, Assignment, Check, Options, register, single_cluster_below_2k
from dbanon.algorithms.base.sensitive_groups import sensitive_codes
from dbanon.algorithms.centroid.moving_centers import EVEN_MODE
from dbanon.algorithms.diversity.partitions import PARTS, merge_small_parts
from dbanon.encoding import distance
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.arrays import FULL_LOSS, MergedClusters
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Float
from dbanon.table_functions.parameters import Parameter

MAX_ROUNDS = 20
"""Number of rounds after which medoids are final, even if they would still move."""

STEP_COST = 0.5
"""Cost of examining a cluster, or a distance to a center, in steps of dbanon.algorithms.base.progress."""

DistancesFrom = Callable[[int], Ints]
"""Function of a tuple that returns the distances of all tuples to it."""


@single_cluster_below_2k
def s_cpm(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with S-CPM, the semantic-similarity cluster based privacy preservation model, the single-machine form.

    Reconstructed from the review of clustering methods. First `parts` records are centers, drawn as k-means++ draws
    them (deterministic: every (n / parts)th); all records join the nearest, and each part's center becomes the record
    with the least summed distance to the others, 20 times at most. A part of fewer than k records joins that of the
    nearest center.

    In a part every record begins as a cluster. Again and again, the smallest cluster of fewer than k records is merged
    with the cluster for which the sum of two numbers is least: the growth of the whole loss (in columns), and `penalty`
    times the share of pairs with equal sensitive values. Distance and loss are those of the k-member papers. Ties go to
    the first. O(n^2 / parts) time, O(n) memory.

    Which records are together depends on sensitive values; privacy models of these are met afterwards, by merging
    clusters that violate them.
    """
    k = constraint.min_records
    progress_check = progress.as_progress_check(check)
    parts = _medoid_parts(space, k, options, progress_check)[space.tuple_of]
    sizes = np.bincount(parts)
    _report_estimate(progress_check, float((sizes.astype(np.float64) ** 2).sum()) / 2)
    merging = _ClusterMerger(space, k, float(str(options["penalty"])))
    labels, clusters, n_done = np.empty_like(parts), 0, 0
    for rows in np.split(np.argsort(parts, kind="stable"), np.cumsum(sizes)[:-1]):
        part_labels = merging.merge_part(rows, progress_check)
        labels[rows] = part_labels + clusters
        clusters += int(part_labels.max()) + 1
        n_done += len(rows)
        progress_check.advance(n_done / space.rows)
    return labels


def _report_estimate(progress_check: progress.ProgressCheck, n_steps: float) -> None:
    """Report the estimated time of `n_steps` steps of this algorithm, computed from constants, not measured."""
    progress_check.on_estimate(n_steps * STEP_COST, n_steps * STEP_COST * progress.SECONDS_PER_STEP)


class _ClusterMerger:
    """A merger of the records of a part to clusters, in compiled code.

    Args:
        space: The encoded table.
        k: Least number of records of a cluster.
        penalty: Weight of the share of pairs with equal sensitive values; the growth of the loss has weight 1 per
            column.
    """

    def __init__(self, space: EncodedTable, k: int, penalty: float) -> None:
        """Prepare the kernel's arrays, and convert the penalty to the unit of the loss."""
        self.k, self.tuple_of, self.codes = k, space.tuple_of, sensitive_codes(space)
        self.kernel_inputs = build_kernel_inputs(space, Constraint(1), "edges")
        # The unit of the penalty is the greatest loss on a column of weight 1.
        self.penalty = (
            penalty * float(self.kernel_inputs.terms[:, FULL_LOSS].sum()) / sum(a.weight for a in space.attributes)
        )

    def merge_part(self, rows: Ints, check: Check) -> Ints:
        """Merge the rows of a part, each a cluster at first, until every cluster has at least k records.

        Return the cluster of each row, numbered from 0. `rows` are canonical row numbers.
        """
        from dbanon.kernels.agglomerate import merge_clusters

        state, number = np.zeros(1, np.int64), len(rows)
        alive, sizes, losses, head, tail, following = np.empty((6, number), np.int64)
        marks = np.zeros((len(self.codes), int(self.codes.max()) + 1), np.int64)
        spans = np.empty((number, len(self.kernel_inputs.terms), 3), np.int64)
        fixed_inputs = (
            self.k,
            self.penalty,
            self.tuple_of[rows],
            self.codes[:, rows],
            self.kernel_inputs.loss_arrays,
            MergedClusters(alive, spans, sizes, losses, head, tail, following, marks),
        )
        is_done = False
        while not is_done:
            check()
            _, is_done = merge_clusters(state, progress.STEPS_PER_CALL, *fixed_inputs)
        return chain_numbers(head[alive[: int(state[0])]], following)


# --- parts ------------------------------------------------------------------------------------------------------------


def _medoid_parts(space: EncodedTable, k: int, options: Options, check: Check) -> Ints:
    """Cut the table into parts around medoids, each of at least k records if possible; return the part of each tuple.

    A medoid is the tuple of a part with the least summed distance to the part's records. The number of parts is the
    option `parts`, at most the number of records; there may be fewer.
    """
    tables = Loss(space, 1, "edges").pair_tables(space)

    def distances_from(t: int) -> Ints:
        """Return the distances of all tuples to tuple `t`."""
        return distance.distances_to_tuples(tables, space.codes[t], space.codes)

    n_parts = min(int(str(options["parts"])), space.rows)
    _report_estimate(progress.as_progress_check(check), float(n_parts) * len(space.counts) * MAX_ROUNDS)
    if options["mode"] == "deterministic":
        medoids = np.unique(np.searchsorted(space.starts, np.arange(n_parts) * space.rows // n_parts, side="right") - 1)
    else:
        medoids = _kmeanspp_medoids(space, n_parts, generator(options), distances_from, check)
    nearest = _nearest_medoids(medoids, distances_from, check)
    for _ in range(MAX_ROUNDS):
        new_medoids = np.array([_medoid(space, np.flatnonzero(nearest == p)) for p in range(len(medoids))])
        if (new_medoids == medoids).all():
            break
        medoids = new_medoids
        nearest = _nearest_medoids(medoids, distances_from, check)
    parts, _ = merge_small_parts(
        np.repeat(nearest, space.counts), len(medoids), k, lambda p: distances_from(int(medoids[p]))[medoids]
    )
    return parts[space.starts]


def _kmeanspp_medoids(
    space: EncodedTable, n_medoids: int, draws: np.random.Generator, distances_from: DistancesFrom, check: Check
) -> Ints:
    """Draw `n_medoids` different tuples as k-means++ does, and return their numbers in ascending order.

    The first is the tuple of a random record. Each later one is drawn with a probability in proportion to its number of
    records times its squared distance to the nearest medoid so far. There are fewer medoids if every tuple is at
    distance 0 from a medoid.

    Args:
        space: The encoded table.
        n_medoids: Number of medoids (tuples that are centers).
        draws: The random number generator.
        distances_from: Returns the distances of all tuples to a tuple.
        check: Called before each draw but the first; raises if the run was interrupted.
    """
    medoids = [int(np.searchsorted(space.starts, draws.integers(space.rows), side="right")) - 1]
    min_distances = distances_from(medoids[0])
    while len(medoids) < n_medoids and min_distances.any():
        check()
        weights = np.cumsum(space.counts * (min_distances / min_distances.max()) ** 2)
        drawn_tuple = int(np.searchsorted(weights, draws.random() * weights[-1], side="right"))
        medoids.append(min(drawn_tuple, len(weights) - 1))
        min_distances = np.minimum(min_distances, distances_from(medoids[-1]))
    return np.array(sorted(medoids), np.int64)


def _nearest_medoids(medoids: Ints, distances_from: DistancesFrom, check: Check) -> Ints:
    """Return the (tuples,) index of the nearest medoid (central tuple) of each tuple, the first one in a tie.

    A medoid belongs to itself.

    Args:
        medoids: The tuples that are medoids.
        distances_from: Returns the distances of all tuples to a tuple.
        check: Called for each medoid; raises if the run was interrupted.
    """
    min_distances = distances_from(int(medoids[0]))
    nearest = np.zeros(len(min_distances), np.int64)
    for p, medoid in enumerate(medoids[1:].tolist(), 1):
        check()
        distances = distances_from(medoid)
        nearest[distances < min_distances] = p
        min_distances = np.minimum(min_distances, distances)
    nearest[medoids] = np.arange(len(medoids))
    return nearest


def _medoid(space: EncodedTable, tuples: Ints) -> int:
    """Return the tuple with the least summed distance to all records of `tuples`, the first one in a tie."""
    part = EncodedTable(space.attributes, space.codes[tuples], space.counts[tuples], None, space.total)
    return int(tuples[np.argmin(distance_sums_to_all(part))])


register(
    s_cpm,
    title="S-CPM: clusters merged within parts around medoids",
    summary=(
        "Divides the table into parts around medoids. In each part, it merges clusters, the smallest first, where that "
        "costs least and their sensitive values differ."
    ),
    source="S-CPM, as the review of clustering methods describes it",
    evidence="description",
    own_parameters=(
        PARTS,
        Parameter(
            "penalty",
            Float(0, 1000),
            "Weight of equal sensitive values relative to the loss when clusters are merged.",
            0.1,
        ),
        SEED,
        EVEN_MODE,
        LARGE,
    ),
    reads=("sensitive",),
)
