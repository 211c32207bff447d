"""GA clustering: each cluster of a partition is a chromosome, and two of them are crossed at a time."""

from dataclasses import replace

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import RunLengthLabels, chain_numbers
from dbanon.algorithms.base.kernel_inputs import build_kernel_inputs
from dbanon.algorithms.base.registry import LARGE, SEED, Assignment, Check, Options, register
from dbanon.algorithms.centroid.moving_centers import EVEN_MODE
from dbanon.algorithms.hybrid.oka_kmember import oka_kmember
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.arrays import GENERATION, N_DRAWS_USED, N_WITHOUT_GAIN, CrossedClusters
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

STEPS_PER_CALL = 2**20
"""Tuples examined, in some 50 ms, after which the kernel returns for a check for interrupts."""

GENERATIONS_PER_DRAW = 4096
"""Generations whose random numbers are drawn at a time."""

GENERATIONS_PER_CLUSTER, PATIENCE_PER_CLUSTER = 10, 1
"""Defaults for each cluster: generations, and generations in a row without a gain after which the search ends."""

START_FRACTION = 0.3
"""Approximate share of the work that the initial clusters take."""


def ga_clustering(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with a genetic algorithm for k-anonymity, reconstructed from the review of clustering methods.

    It begins with the clusters of `oka_kmember`. The population is the partition, each cluster a chromosome. Two
    clusters are drawn, in proportion to the rank of what a record loses in them, the greatest loss first, and their
    records pooled. The two records that are farthest apart begin two new clusters, which in turn take the record with
    which their records lose least, until both have k; the other records of the pool join, in canonical order, where the
    whole loss grows less. The new clusters replace the old ones if they lose less together.

    That is repeated for `generations`, by default 10 for each cluster, or until as many as `patience` in a row, by
    default 1 for each cluster, gained nothing. Deterministic: pairs are tried in the order of the loss, from the first
    after each gain. The final loss is never above that of the beginning. With persons or other privacy models a cluster
    has at least as many records as any of them needs; clusters that still violate the constraint are merged afterwards.
    O(n^2) time at worst for the beginning, O(k^2) per generation; O(n) memory.
    """
    progress_check = progress.as_progress_check(check)
    start = oka_kmember(
        space, constraint, {**options, "centroid_cat": "lca"}, progress_check.subtask(0, START_FRACTION)
    )
    labels = start.labels() if isinstance(start, RunLengthLabels) else start
    n_clusters = int(labels.max()) + 1
    if n_clusters < 2:
        return labels
    return _evolve_clusters(
        space, constraint.min_records, labels, n_clusters, options, progress_check.subtask(START_FRACTION, 1)
    )


def _evolve_clusters(
    space: EncodedTable, k: int, labels: Ints, n_clusters: int, options: Options, progress_check: progress.ProgressCheck
) -> Ints:
    """Cross pairs of clusters until generations or patience are used up; return the cluster of every record.

    Args:
        space: The encoded table.
        k: Least number of records of a cluster.
        labels: (n,) cluster of every record at the beginning; not changed.
        n_clusters: Number of clusters, which stays the same.
        options: The options of the algorithm.
        progress_check: Called for interrupts, progress and a time estimate.
    """
    from dbanon.kernels.genetic import evolve, update_losses

    loss_arrays = build_kernel_inputs(replace(space, persons=None, sensitive=()), Constraint(k), "edges").loss_arrays
    rows, sizes = np.argsort(labels, kind="stable"), np.bincount(labels, minlength=n_clusters)
    begins, following = np.cumsum(sizes) - sizes, np.full(len(rows), -1, np.int64)
    following[rows[:-1]] = rows[1:]
    following[rows[begins + sizes - 1]] = -1
    losses, tuple_of = np.zeros(n_clusters, np.int64), space.tuple_of
    clusters = CrossedClusters(rows[begins], following, sizes, losses, np.arange(n_clusters))
    update_losses(tuple_of, loss_arrays, clusters)
    clusters.order[:] = np.argsort(-losses, kind="stable")

    generations, patience = (
        n_clusters * per_cluster if options[name] is None else int(str(options[name]))
        for name, per_cluster in (("generations", GENERATIONS_PER_CLUSTER), ("patience", PATIENCE_PER_CLUSTER))
    )
    draws = np.random.PCG64(int(str(options["seed"])))  # its stream, unlike a Generator's, is promised
    pool = 2 * space.rows / n_clusters
    distinct = min(pool, len(space.counts))
    steps = generations * distinct * (distinct / 2 + pool)
    progress_check.on_estimate(steps, steps * progress.SECONDS_PER_STEP)
    state, random_numbers = np.array([0, 0, 0, 1, 0]), np.zeros(0)
    while state[GENERATION] < generations and state[N_WITHOUT_GAIN] < patience:
        progress_check()
        if options["mode"] != "deterministic" and state[N_DRAWS_USED] == len(random_numbers):
            random_numbers, state[N_DRAWS_USED] = (
                (draws.random_raw(2 * GENERATIONS_PER_DRAW) >> np.uint64(11)).astype(np.float64) * 2.0**-53,
                0,
            )
        evolve(state, STEPS_PER_CALL, generations, patience, random_numbers, k, tuple_of, loss_arrays, clusters)
        progress_check.advance(state[GENERATION] / generations)
    return chain_numbers(clusters.head, following)


register(
    ga_clustering,
    title="GA clustering: clusters crossed in pairs",
    summary=(
        "Starts from the clusters of `oka_kmember`. It pools two clusters at a time, forms two new clusters around "
        "the two records that are farthest apart, and keeps them if they lose less."
    ),
    source="the genetic algorithm that the review of clustering methods describes",
    evidence="description",
    complexity="O(n^2) time at worst and O(k^2) per generation, O(n) memory",
    own_parameters=(
        Parameter("generations", Integer(0), "Number of pairs of clusters that are crossed; default: 10 per cluster."),
        Parameter(
            "patience",
            Integer(1),
            "Number of consecutive pairs without a gain after which the algorithm ends; default: 1 per cluster.",
        ),
        SEED,
        EVEN_MODE,
        LARGE,
    ),
)
