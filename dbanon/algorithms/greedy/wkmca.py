"""WKMCA: k-member with weighted columns, from which outliers are set aside until the end."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.grow_clusters import grow_groups
from dbanon.algorithms.base.loss import distance_sums_to_all
from dbanon.algorithms.base.registry import LARGE, MODE, SEED, Assignment, Check, Options, register
from dbanon.algorithms.greedy.least_loss import FARTHEST_SEED, LeastLossGroups
from dbanon.encoding.encoded_table import Attribute, EncodedTable, Floats, NumericAttribute
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Float
from dbanon.table_functions.parameters import Parameter


def wkmca(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with WKMCA, the weighted k-member clustering algorithm; outliers join clusters at the end.

    Reconstructed from its abstract and the review of clustering methods. Columns have weights: of a number its standard
    deviation over the absolute value of its mean, at most 1; of a category the entropy of its values over the greatest
    that as many values can have. They are scaled so that those of d columns sum to d, and multiplied by the declared
    weights.

    The share `outliers` of the records, those whose weighted distances to all others are greatest (the AR-score), are
    excluded while k-member clusters the others by the weighted loss. At the end they and the remaining records join, in
    canonical order, the cluster whose weighted whole loss grows least: no record is suppressed. O(n^2) without the
    index, O(n) memory.
    """
    weighted = reweighted(space, [column_variation(space, j, a) for j, a in enumerate(space.attributes)])
    outliers = _outliers(weighted, math.ceil(float(str(options["outliers"])) * space.rows))
    if space.rows - outliers.n_records < constraint.min_records:
        return RunLengthLabels.single_cluster(space)
    rules = LeastLossGroups(weighted, constraint, "edges", FARTHEST_SEED, options, outliers)
    return grow_groups(weighted, rules, check)


def reweighted(space: EncodedTable, variations: Sequence[float]) -> EncodedTable:
    """Return the table with each attribute's weight multiplied by its variation over the average variation.

    An attribute without variation keeps its weight, since it has no distances. `variations` has a number from 0 to 1
    for each attribute.
    """
    mean = sum(variations) / len(variations)
    factors = [variation / mean if variation > 0 else 1.0 for variation in variations]
    attributes = (replace(a, weight=a.weight * f) for a, f in zip(space.attributes, factors, strict=True))
    return replace(space, attributes=tuple(attributes))


def normalized_entropy(shares: Floats) -> float:
    """Return the entropy of values with these shares over the greatest possible for as many; 0 for one value."""
    return float(-(shares * np.log(shares)).sum() / np.log(len(shares))) if len(shares) > 1 else 0.0


def column_variation(space: EncodedTable, j: int, attribute: Attribute) -> float:
    """Return the variation of attribute `j`, from 0 to 1; NULLs are ignored.

    For a number it is the standard deviation over the absolute value of the mean, at most 1; for a category the entropy
    over the greatest possible for as many values. A column with one value has 0.

    Raises:
        ValueError: If a numeric attribute has no magnitudes (its values).
    """
    records = np.bincount(space.codes[:, j], weights=space.counts, minlength=attribute.values + 1)[:-1]
    share = records[records > 0] / max(records.sum(), 1.0)
    if len(share) < 2 or not isinstance(attribute, NumericAttribute):
        return normalized_entropy(share)
    if attribute.magnitudes is None:
        raise ValueError("weights of numbers need their values")
    values = attribute.magnitudes[records > 0]
    mean = float((share * values).sum())
    deviation = math.sqrt(float((share * (values - mean) ** 2).sum()))
    return 1.0 if deviation >= abs(mean) else deviation / abs(mean)


def _outliers(space: EncodedTable, n_outliers: int) -> RunLengthLabels:
    """Return runs, all with label -1, of the `n_outliers` records with the greatest summed distance to all records.

    Ties go to the first records.
    """
    farthest_first = np.argsort(-distance_sums_to_all(space), kind="stable")
    counts = np.diff(np.minimum(np.cumsum(space.counts[farthest_first]), n_outliers), prepend=0)
    outlier_tuples = farthest_first[counts > 0]
    return RunLengthLabels.from_runs(outlier_tuples, np.full(len(outlier_tuples), -1), counts[counts > 0])


register(
    wkmca,
    title="WKMCA: weighted k-member clustering",
    summary="Runs k-member with weighted columns; outliers are set aside until the end.",
    source="WKMCA, as the review of clustering methods describes it",
    evidence="abstract",
    complexity="O(n^2) time without the index, O(n) memory",
    own_parameters=(
        Parameter(
            "outliers", Float(0, 0.5), "Share of the records that are set aside until all others are clustered.", 0.05
        ),
        SEED,
        MODE,
        LARGE,
    ),
    reads=("magnitudes",),
)
