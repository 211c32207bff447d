"""SimDiv: similarity- and diversity-based clustering with influence (Majeed et al. 2024, sections 3.1-3.5).

Records are ranked by their cosine similarity to all others, sliced, each slice gives a center, and centers gather the
records that make their clusters most diverse and stay most similar; `dbanon.algorithms.diversity.needs_generalization`
publishes clusters of little diversity with influential attributes one level higher.
"""

import math
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from dbanon.algorithms import influence_forest
from dbanon.algorithms.base import progress
from dbanon.algorithms.base.registry import (
    LARGE,
    SEED,
    Check,
    Exclusion,
    InfluenceWeighting,
    Options,
    PublishedEnds,
    Widening,
    register,
    single_cluster_below_2k,
)
from dbanon.algorithms.diversity.cosine_similarity import STEPS_PER_UNIT, rows_by_similarity, unit_vectors
from dbanon.algorithms.diversity.needs_generalization import RaisingRule, raised_bounds
from dbanon.encoding.encoded_table import EncodedTable, Floats, Ints
from dbanon.kernels.arrays import FillOptions, GroupKinds, SensitiveCodes, ValueGroups
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Boolean, Choice, Float, Integer, Interval, PerColumn
from dbanon.table_functions.parameters import Parameter

GROUPS_PER_CALL, SAMPLE_GROUPS = 2**26, 2**22
"""Groups examined between two checks for interrupts, and until the time of all is estimated."""

GROUP_COST = 3
"""Cost of examining a group, in steps of dbanon.algorithms.base.progress."""

REPRODUCE_DEFAULTS = {
    "div": ("cluster", "pair"),
    "imbalance": ("always", "paper"),
    "div_scale": ("normalized", "raw"),
    "cs_scale": ("raw", "raw"),
    "influence": ("zeta_over_sigma", "paper"),
}
"""Options whose default depends on `reproduce`: the usual one, and that for the paper to the letter."""


def resolve_options(options: Options) -> dict[str, Any]:
    """Return a copy of the options in which those of REPRODUCE_DEFAULTS that are None have their defaults.

    The defaults depend on the option `reproduce`: those of the paper if it is 'paper', otherwise the usual ones.
    """
    column = int(options["reproduce"] == "paper")
    return dict(options) | {
        n: options[n] if options[n] is not None else d[column] for n, d in REPRODUCE_DEFAULTS.items()
    }


@single_cluster_below_2k
def simdiv(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Ints:
    """Cluster with SimDiv (Majeed et al. 2024, Algorithms 1-3): similar records with diverse sensitive values.

    Records are ranked by similarity and cut into slices; each slice gives a center, floor(n/k) in all. In the order of
    the slices, each cluster takes k - 1 records: the one of greatest alpha_pr * diversity + beta_ut * cosine to its
    center, among those with a cosine of at least `t_cs` (if there are none: among all). The last record, while all
    sensitive values of the cluster are equal, is chosen among those with another value. The fewer than k residuals, by
    rank, join the cluster with the most similar center that is below its greatest size.

    With several sensitive columns the average diversity counts. With persons or other privacy models, a cluster has at
    least as many records as any of them needs; clusters that still violate the constraint are merged afterwards. O(n /
    k * distinct records + n * distinct sensitive values) time, O(n) memory: no matrix of similarities is kept.
    """
    from dbanon.kernels import simdiv as kernels

    settings = resolve_options(options)
    k = constraint.min_records
    clusters = space.rows // k
    unit = unit_vectors(space, settings["cs_scale"])
    tuple_of = space.tuple_of
    ranked = rows_by_similarity(space, unit, settings["rank"], check)
    first = int(np.argmax(influences(space, settings)))
    top = space.codes[:, first].astype(np.int64)
    min_similarity = round(settings["t_cs"] * STEPS_PER_UNIT)
    check()
    seeds = kernels.slice_centers(ranked, tuple_of, unit, top, space.attributes[first].values, k, min_similarity)
    labels = np.full(space.rows, -1, np.int64)
    labels[seeds] = np.arange(clusters)
    if space.sensitive:
        codes = np.stack([s.codes for s in space.sensitive]).astype(np.int64)
        value_counts = [(s.values, int((s.value_counts > 0).sum())) for s in space.sensitive]
    else:  # no diversity to consider
        codes, value_counts = np.zeros((1, space.rows), np.int64), [(0, 1)]
    sensitive = SensitiveCodes(codes, *np.array(value_counts, np.int64).T.copy())
    groups, group_codes = _group_records(tuple_of, codes, labels)
    groups_by_value = _groups_by_value(group_codes)
    centers = np.stack((seeds, tuple_of[seeds]), axis=1)
    fill_options = FillOptions(
        k,
        settings["alpha_pr"],
        settings["beta_ut"],
        min_similarity,
        settings["div"] == "pair",
        bool(settings["avoid_uniform"]),
    )
    steps = len(group_codes) * clusters / 2 * GROUP_COST
    progress_check, n_full, clock = progress.as_progress_check(check), 0, 0.0
    is_estimated = steps <= progress.MAX_STEPS
    while n_full < clusters:
        check()
        previous, clock = n_full, progress.thread_seconds()
        n_full = kernels.fill_clusters(
            n_full,
            GROUPS_PER_CALL if is_estimated else SAMPLE_GROUPS,
            centers,
            unit,
            groups,
            groups_by_value,
            sensitive,
            fill_options,
            labels,
        )
        progress_check.advance(n_full / clusters)
        if not is_estimated and previous > 0:  # the kernel may be compiled for the first
            fraction = (n_full - previous) / clusters
            seconds = (progress.thread_seconds() - clock) / fraction * progress.DENSE_COST_FACTOR
            progress_check.on_estimate(steps, seconds)
            is_estimated = True
    _assign_residuals(ranked[labels[ranked] < 0], unit, tuple_of, seeds, labels, _max_cluster_size(k, settings["cap"]))
    return labels


def influences(space: EncodedTable, options: Mapping[str, Any]) -> Floats:
    """Return the influence of each attribute on sensitive values; its weight if the option `influence` is 'weights'."""
    return np.array([a.weight if options["influence"] == "weights" else a.influence for a in space.attributes])


def _group_records(tuple_of: Ints, codes: Ints, labels: Ints) -> tuple[ValueGroups, Ints]:
    """Group the records without a label (-1) by tuple and sensitive values, for `dbanon.kernels.simdiv`.

    Args:
        tuple_of: (n,) tuple of every record.
        codes: (columns, n) sensitive codes.
        labels: (n,) cluster of every record, -1 for none.

    Returns:
        The groups, of which no record was taken yet, and their sensitive codes (groups, columns).
    """
    rows = np.flatnonzero(labels < 0)
    key = tuple_of[rows]
    for column in codes:
        _, key = np.unique(key * (int(column.max(initial=0)) + 1) + column[rows], return_inverse=True)
        key = np.asarray(key).reshape(-1)
    order = np.argsort(key, kind="stable")
    rows, sorted_keys = rows[order], key[order]
    begin = np.flatnonzero(np.append(True, sorted_keys[1:] != sorted_keys[:-1])) if len(rows) else np.empty(0, np.int64)
    members = rows[begin]
    n_taken, n_remaining = np.zeros(len(begin), np.int64), np.diff(np.append(begin, len(rows)))
    groups = ValueGroups(tuple_of[members], rows, begin, n_taken, n_remaining)
    return groups, np.ascontiguousarray(codes[:, members].T)


def _groups_by_value(group_codes: Ints) -> GroupKinds:
    """Return the groups sorted by their sensitive values, given (groups, columns) codes."""
    codes, combination = np.unique(group_codes, axis=0, return_inverse=True)
    combination = np.asarray(combination).reshape(-1)
    n_groups = np.bincount(combination, minlength=len(codes))
    order = np.argsort(combination, kind="stable")
    return GroupKinds(order, np.cumsum(n_groups) - n_groups, n_groups, np.ascontiguousarray(codes))


def _assign_residuals(rows: Ints, unit: Floats, tuple_of: Ints, seeds: Ints, labels: Ints, max_size: float) -> None:
    """Assign the records `rows`, in order, to the clusters with the most similar centers (Algorithm 3, lines 23-26).

    `labels` is changed in place. Clusters of `max_size` records are skipped, unless all have that size.

    Args:
        rows: The records without a cluster.
        unit: Unit vectors of the tuples.
        tuple_of: Tuple of every record.
        seeds: The record that is the center of each cluster.
        labels: Cluster of every record.
        max_size: Greatest size of a cluster.
    """
    sizes = np.bincount(labels[labels >= 0], minlength=len(seeds))
    centers = unit[tuple_of[seeds]]
    for row in rows.tolist():
        vector = unit[tuple_of[row]]
        similar = sum(
            (axis * coordinate for axis, coordinate in zip(centers.T, vector, strict=True)), np.zeros(len(centers))
        )
        cosines = np.rint(similar * STEPS_PER_UNIT)
        is_open = sizes < max_size
        cluster = int(np.argmax(np.where(is_open, cosines, -np.inf) if is_open.any() else cosines))
        labels[row] = cluster
        sizes[cluster] += 1


def _max_cluster_size(k: int, cap: str) -> float:
    """Return the greatest size of a cluster that residuals join: k plus a fraction of k, rounded up.

    `cap` is 'half', 'third', 'quarter', 'none' (no limit: infinity) or 'by_k', where the fraction depends on k. The
    paper names three factors "depending on k"; which is used for which k is this project's choice.
    """
    by_k = "half" if k <= 10 else "third" if k <= 100 else "quarter"
    part = {"half": 2, "third": 3, "quarter": 4, "none": 0}[by_k if cap == "by_k" else cap]
    return k + math.ceil(k / part) if part else math.inf


def widen_by_needs(space: EncodedTable, labels: Ints, constraint: Constraint, options: Options) -> PublishedEnds:
    """Return the codes that clusters publish under needs-based generalization (Majeed et al. 2024, Algorithm 4).

    Clusters of little diversity publish influential attributes at a higher level; see
    `dbanon.algorithms.diversity.needs_generalization`.
    """
    settings = resolve_options(options)
    rule = RaisingRule(
        max_diversity=settings["t_div"],
        is_normalized=settings["div_scale"] == "normalized",
        is_always=settings["imbalance"] == "always",
        influential=settings["influential"],
        levels=settings["levels"],
    )
    return PublishedEnds.covering(
        *raised_bounds(space, labels, constraint.min_records, influences(space, settings), rule)
    )


register(
    simdiv,
    title="SimDiv: similarity- and diversity-based clustering with influence",
    summary=(
        "Similarity- and diversity-based clustering: centers, one per slice of similar records, take records that are "
        "similar and have other sensitive values. Clusters of low diversity publish influential columns one level "
        "higher. O(n^2 / k)."
    ),
    family="centroid",
    source="Majeed et al. 2024, Algorithms 1-4",
    evidence="paper",
    complexity="O(n^2 / k + n * distinct sensitive values) time, O(n) memory; and the forest",
    own_parameters=(
        Parameter("alpha_pr", Float(0), "Weight of diversity in the choice of a cluster's records.", 0.5),
        Parameter("beta_ut", Float(0), "Weight of similarity in the choice of a cluster's records.", 0.5),
        Parameter("t_cs", Float(0, 1), "Least cosine of similar records.", 0.9),
        Parameter("t_div", Float(0), "Diversity of a cluster above which nothing is raised.", 0.7),
        Parameter(
            "influence",
            Choice((*influence_forest.SCORES, "weights")),
            "Influence of a column, as in influence(): zeta_over_sigma (default), paper, mean; or the columns' "
            "weights, without a forest.",
        ),
        Parameter(
            "div",
            Choice(("cluster", "pair")),
            "Diversity that a record adds: that of the cluster including it, normalized (default), or that of the "
            "record and the center.",
        ),
        Parameter(
            "imbalance",
            Choice(("always", "paper")),
            "Clusters whose diversity is checked: all (default), or only those of more than k records (paper).",
        ),
        Parameter(
            "div_scale",
            Choice(("normalized", "raw")),
            "Diversity that t_div is compared with: divided by the greatest possible one (default), or the Shannon "
            "index.",
        ),
        Parameter(
            "cs_scale",
            Choice(("raw", "minmax")),
            "Coordinates of the cosine: values and codes (default), or both scaled to 0 to 1.",
        ),
        Parameter(
            "rank",
            Choice(("sum", "chain")),
            "Order of the records: by their summed similarity to all others, or each the most similar to the one "
            "before.",
            "sum",
        ),
        Parameter(
            "cap",
            Choice(("by_k", "half", "third", "quarter", "none")),
            "Number of the remaining records that a cluster may take in addition to k: half of k up to k = 10, a "
            "third up to 100, a quarter above (by_k); always the same fraction; or any number.",
            "by_k",
        ),
        Parameter(
            "avoid_uniform",
            Boolean(),
            "The last of a cluster's k records has another sensitive value if all others have the same.",
            True,
        ),
        Parameter(
            "influential",
            Choice(("mean", "first")),
            "Columns that are raised in clusters of low diversity: those of at least average influence, or only the "
            "one of greatest influence.",
            "mean",
        ),
        Parameter(
            "levels",
            Integer(1),
            "Number of levels by which influential columns are raised in clusters of low diversity.",
            1,
        ),
        Parameter(
            "reproduce",
            Choice(("no", "paper")),
            "paper: influence, div, imbalance and div_scale as the paper prints them, unless you set them.",
            "no",
        ),
        Parameter(
            "bounds",
            PerColumn(Interval(), "{'age': [18, 90]}"),
            "Bounds of outliers: records with a number or a date beyond them are dropped (dropped:bounds in the "
            "metrics).",
        ),
        Parameter(
            "drop_duplicates",
            Boolean(),
            "Keep only one of several records that are equal in everything published (and belong to one person), as "
            "in the paper.",
            False,
        ),
        *influence_forest.PARAMETERS,
        SEED,
        LARGE,
    ),
    reads=("sensitive", "magnitudes"),
    abilities=(
        Exclusion(
            bounds=lambda options: cast("Mapping[str, tuple[str, str]]", options["bounds"] or {}),
            duplicates=lambda options: bool(options["drop_duplicates"]),
        ),
        InfluenceWeighting(lambda options: options["influence"] != "weights"),
        Widening(widen_by_needs),
    ),
)
