"""WKMCA: k-member with weighted columns, from which outliers stand aside until the end."""

import math
from dataclasses import replace

import numpy as np

from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.distance_sums import sums_to_all
from dbanon.algorithms.base.grow_clusters import grow
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.registry import LARGE, MODE, SEED, Assignment, Check, Options, register
from dbanon.algorithms.greedy.least_loss import FAR, LeastLoss, Seeding
from dbanon.encoding.encoded_table import Attribute, EncodedTable, NumericAttribute
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Float
from dbanon.table_functions.parameters import Parameter


def wkmca(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """WKMCA, the weighted k-member clustering algorithm, reconstructed from its abstract and the review of clustering
    methods.

    Columns have weights: of a number its standard deviation over the absolute value of its mean, at most 1; of a
    category the entropy of its values over the greatest that as many values can have; scaled so that those of d columns
    sum to d, times the declared ones. The share `outliers` of the records, those whose weighted distances to all others
    are greatest (the AR-score), stand aside while k-member clusters the others by the weighted loss. At the end they
    and what is left join, in canonical order, the cluster whose weighted whole loss grows least: nobody is left out.
    O(n^2) without the index, O(n) memory.
    """
    weighted = _weighted(space)
    aside = _outliers(weighted, math.ceil(float(str(options["outliers"])) * space.rows))
    if space.rows - aside.rows < constraint.least:
        return Runs.one(space)
    loss = Loss(weighted, constraint.least, "edges")
    return grow(weighted, LeastLoss(weighted, constraint, loss, Seeding.of(space, FAR, options), aside), check)


def _weighted(space: EncodedTable) -> EncodedTable:
    shares = [variation(space, j, a) for j, a in enumerate(space.attributes)]
    mean = sum(shares) / len(shares)
    factors = [share / mean if share > 0 else 1.0 for share in shares]  # one of no variation has no distances
    attributes = (replace(a, weight=a.weight * f) for a, f in zip(space.attributes, factors, strict=True))
    return replace(space, attributes=tuple(attributes))


def variation(space: EncodedTable, j: int, attribute: Attribute) -> float:
    """How much a column says, 0 to 1. NULLs are left out."""
    records = np.bincount(space.codes[:, j], weights=space.counts, minlength=attribute.values + 1)[:-1]
    share = records[records > 0] / max(records.sum(), 1.0)
    if len(share) < 2:
        return 0.0
    if not isinstance(attribute, NumericAttribute):
        return float(-(share * np.log(share)).sum() / np.log(len(share)))
    if attribute.magnitudes is None:
        raise ValueError("weights of numbers need their values")
    values = attribute.magnitudes[records > 0]
    mean = float((share * values).sum())
    deviation = math.sqrt(float((share * (values - mean) ** 2).sum()))
    return 1.0 if deviation >= abs(mean) else deviation / abs(mean)


def _outliers(space: EncodedTable, number: int) -> Runs:
    """Return the records of the greatest summed distance to all; ties: the first ones."""
    far = np.argsort(-sums_to_all(space), kind="stable")
    counts = np.diff(np.minimum(np.cumsum(space.counts[far]), number), prepend=0)
    some = far[counts > 0]
    return Runs.of(some, np.full(len(some), -1), counts[counts > 0])


register(
    wkmca,
    title="WKMCA: weighted k-member clustering",
    summary="k-member with weighted columns, while outliers stand aside until the end",
    source="WKMCA, as the review of clustering methods describes it",
    evidence="RECON",
    complexity="O(n^2) time without the index, O(n) memory",
    own=(
        Parameter(
            "outliers", Float(0, 0.5), "Share of the records that stand aside until all others are clustered.", 0.05
        ),
        SEED,
        MODE,
        LARGE,
    ),
    reads=("magnitudes",),
)
