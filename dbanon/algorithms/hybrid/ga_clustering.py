"""GA clustering: the clusters of a partition are chromosomes, two of which are crossed at a time."""

from dataclasses import replace

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.kernel_inputs import layout
from dbanon.algorithms.base.registry import LARGE, SEED, Assignment, Check, Options, register
from dbanon.algorithms.centroid.moving_centers import EVENLY
from dbanon.algorithms.hybrid.oka_kmember import oka_kmember
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

STEPS = 2**20
"""Tuples that are looked at, some 50 ms, after which the kernel comes back to look for interrupts."""

SECONDS = 3e-8
"""What it takes to look at a tuple, about."""

DRAWN = 4096
"""Generations whose random numbers are drawn at a time."""

GENERATIONS, PATIENCE = 10, 1
"""Generations, and those in a row without a gain, for each cluster where the call does not say."""

BEGIN = 0.3
"""Share of the work, about, of the clusters at the beginning."""


def ga_clustering(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """The genetic algorithm of clustering for k-anonymity, reconstructed from the review of clustering methods.

    It begins with the clusters of `oka_kmember`. The population is the partition, each cluster a chromosome. Two are
    drawn, in proportion to the rank of what a record loses in them, the greatest loss first, and pooled: the two
    records that are farthest apart begin two new clusters, which take turns with the record with which theirs lose
    least, until both have k; what is left joins, in canonical order, where the whole loss grows less. The new ones
    replace the old if they lose less together. That goes on for `generations`, by default 10 for each cluster, or until
    as many as `patience` in a row, by default 1 for each cluster, gained nothing. Deterministic: pairs go in the order
    of the loss, from the first after each gain. The loss never ends above that of the beginning. Under persons or
    models a cluster has at least as many records as any of them needs, and the shared repair follows. O(n^2) time at
    worst for the beginning, O(k^2) a generation; O(n) memory.
    """
    work = progress.work(check)
    start = oka_kmember(space, constraint, {**options, "centroid_cat": "lca"}, work.part(0, BEGIN))
    labels = start.labels() if isinstance(start, Runs) else start
    number = int(labels.max()) + 1
    if number < 2:
        return labels
    return _evolved(space, constraint.least, labels, number, options, work.part(BEGIN, 1))


def _evolved(space: EncodedTable, k: int, labels: Ints, number: int, options: Options, work: progress.Work) -> Ints:
    from dbanon.kernels.genetic import evolve, update_losses

    measure = layout(replace(space, persons=None, sensitive=()), Constraint(k), "edges").measure
    rows, sizes = np.argsort(labels, kind="stable"), np.bincount(labels, minlength=number)
    begins, following = np.cumsum(sizes) - sizes, np.full(len(rows), -1, np.int64)
    following[rows[:-1]] = rows[1:]
    following[rows[begins + sizes - 1]] = -1
    losses, tuple_of = np.zeros(number, np.int64), space.tuple_of
    clusters = rows[begins], following, sizes, losses, np.arange(number)
    update_losses(tuple_of, measure, clusters)
    clusters[-1][:] = np.argsort(-losses, kind="stable")

    generations, patience = (
        number * each if options[name] is None else int(str(options[name]))
        for name, each in (("generations", GENERATIONS), ("patience", PATIENCE))
    )
    draws = np.random.PCG64(int(str(options["seed"])))  # its stream, unlike a Generator's, is promised
    pool = 2 * space.rows / number
    distinct = min(pool, len(space.counts))
    steps = generations * distinct * (distinct / 2 + pool)
    work.expect(steps, steps * SECONDS)
    state, drawn = np.array([0, 0, 0, 1, 0]), np.zeros(0)
    while state[0] < generations and state[1] < patience:
        work()
        if options["mode"] != "deterministic" and state[4] == len(drawn):
            drawn, state[4] = (draws.random_raw(2 * DRAWN) >> np.uint64(11)).astype(np.float64) * 2.0**-53, 0
        evolve(state, STEPS, generations, patience, drawn, k, tuple_of, measure, clusters)
        work.come(state[0] / generations)
    head = clusters[0]
    found, on = np.empty_like(labels), np.arange(number)
    while len(on):
        found[head] = on
        there = following[head] >= 0
        head, on = following[head[there]], on[there]
    return found


register(
    ga_clustering,
    title="GA clustering: clusters that are crossed two at a time",
    summary=(
        "the clusters of `oka_kmember`, of which two at a time are pooled and grow anew from the two "
        "records that are farthest apart, if that loses less"
    ),
    source="the genetic algorithm that the review of clustering methods describes",
    evidence="RECON",
    complexity="O(n^2) time at worst and O(k^2) a generation, O(n) memory",
    own=(
        Parameter("generations", Integer(0), "Pairs of clusters that are crossed; default: 10 a cluster."),
        Parameter("patience", Integer(1), "Pairs in a row without a gain after which it ends; default: 1 a cluster."),
        SEED,
        EVENLY,
        LARGE,
    ),
)
