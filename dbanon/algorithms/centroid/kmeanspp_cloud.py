"""k-means++ for health records in a cloud: records far from the average are left out, the others assigned to centers
that begin far from each other."""

import math

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.random_seeds import random_order
from dbanon.algorithms.base.registry import (
    LARGE,
    MODE,
    MOST_LEFT_OUT,
    SEED,
    Assignment,
    Check,
    Options,
    Suppression,
    register,
)
from dbanon.algorithms.centroid.kmeans import settled
from dbanon.algorithms.centroid.moving_centers import NONE, Work, as_numbers, axes_of
from dbanon.encoding.encoded_table import Bools, Codes, EncodedTable, Floats, Ints, NumericAttribute
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Float, Integer
from dbanon.table_functions.parameters import Parameter

ROUNDS = 100

SAMPLE = 32
"""Seeds by which it is judged how long all of them take."""

SLACK = 1e-9
"""A number is farther than so many deviations from the mean where that is more than an error of rounding."""

EACH = 0.5
"""What the distance of a tuple to a seed costs in dbanon.algorithms.base.progress."""


def kmeanspp_cloud(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Clustering of health records in a cloud by k-means++, reconstructed from the review of clustering methods.

    Categories are read as numbers, in the order of the leaves. Records with a number more than `deviations` standard
    deviations from its mean are left out, the farthest first where not all may be. Of the others floor(n/k) become the
    first centers by k-means++: a random record, then again and again one with a probability in proportion to its
    squared distance to the nearest of those before. Once all lie on these, the rest are spread evenly. Records go to
    the nearest center and centers to the mean of their records until nothing moves, for `rounds` rounds at most; then
    ADJUST as in Algorithm No. 3 of the three-variants paper. O(rounds * n^2 / k) time at worst, O(n) memory.

    Deterministic: the first record, then the one farthest from the nearest of those before.
    """
    most = min(int(str(options[MOST_LEFT_OUT])), space.rows - constraint.least)
    stays = np.flatnonzero(~_far_out(space, float(str(options["deviations"])), most))
    part = as_numbers(space if len(stays) == len(space.counts) else space.subset(stays))
    labels = np.full(space.rows, -1, np.int64)
    labels[space.rows_of(stays)] = _clustered(part, constraint.least, options, check)
    return labels


def _clustered(space: EncodedTable, k: int, options: Options, check: Check) -> Ints:
    number = space.rows // k
    if number < 2:
        return np.zeros(space.rows, np.int64)
    order = random_order(space, options)
    seeds = space.starts[apart(space, number, options, check)]
    return settled(Work(space, k, seeds, order, True, int(str(options["rounds"])), check))


def _far_out(space: EncodedTable, deviations: float, most: int) -> Bools:
    """Return whether each tuple has a number so many standard deviations from its mean.

    Of more than so many records those with the most deviations come first (ties: the first tuple); NULLs are not far
    from anything.
    """
    far = np.zeros(len(space.counts))
    for j, attribute in enumerate(space.attributes):
        if isinstance(attribute, NumericAttribute):
            far = np.maximum(far, _deviations(attribute, space.codes[:, j], space.counts))
    beyond = np.flatnonzero(far > deviations + SLACK)
    beyond = beyond[np.argsort(-far[beyond], kind="stable")]
    out = np.zeros(len(far), bool)
    out[beyond[np.cumsum(space.counts[beyond]) <= most]] = True
    return out


def _deviations(attribute: NumericAttribute, codes: Codes, counts: Ints) -> Floats:
    """Standard deviations of each tuple's number from the mean; sums are rounded once, so their order is no matter."""
    records = np.bincount(codes, weights=counts, minlength=attribute.values + 1)[:-1]
    known = int(records.sum())
    places = attribute.positions / max(float(attribute.positions.max(initial=0.0)), 1.0e-300)
    if known == 0:
        return np.zeros(len(codes))
    away = np.abs(places - math.fsum(places * records) / known)
    deviation = math.sqrt(math.fsum(away * away * records) / known)
    return np.append(away / deviation if deviation > 0 else np.zeros(len(away)), 0.0)[codes]


def apart(space: EncodedTable, number: int, options: Options, check: Check) -> Ints:
    """Return tuples of so many seeds, chosen as k-means++ does, of numbers alone. O(number * tuples) time."""
    (_, null, *_), points = axes_of(space)
    axes = [(np.ascontiguousarray(column), column == NONE, int(null[a])) for a, column in enumerate(points.T)]
    draws = np.random.PCG64(int(str(options["seed"]))).jumped()  # its stream, unlike a Generator's, is promised
    is_random = options["mode"] == "random"
    record = int(draws.random_raw()) % space.rows if is_random else 0
    seeds = np.empty(number, np.int64)
    seeds[0] = np.searchsorted(space.starts, record, side="right") - 1
    near = np.full(len(space.counts), NONE)
    clock = progress.clock()
    for i in range(1, number):
        if i % SAMPLE == 0:
            check()
        if i == SAMPLE:
            steps = float(len(near)) * number * EACH
            progress.work(check).expect(steps, (progress.clock() - clock) * number / SAMPLE)
        np.minimum(near, _distances(axes, int(seeds[i - 1])), out=near)
        greatest = int(near.max())
        if greatest == 0:
            rest = np.arange(number - i) * space.rows // (number - i)
            seeds[i:] = np.searchsorted(space.starts, rest, side="right") - 1
            break
        seeds[i] = _drawn(near / greatest, space.counts, int(draws.random_raw())) if is_random else near.argmax()
    return seeds


Axis = tuple[Ints, Ints, int]


def _distances(axes: list[Axis], seed: int) -> Ints:
    """Return the distance of each tuple to one of them."""
    total = np.zeros(len(axes[0][0]), np.int64)
    for at, is_null, null in axes:
        if is_null[seed]:
            total += np.where(is_null, 0, null)
        else:
            total += np.where(is_null, null, np.abs(at - at[seed]))
    return total


def _drawn(distances: Floats, counts: Ints, raw: int) -> int:
    """Return a tuple with a probability in proportion to its records and the square of its distance."""
    until = np.cumsum(distances * distances * counts)
    at = (raw >> 11) * 2.0**-53 * until[-1]
    return int(np.searchsorted(until, min(at, math.nextafter(until[-1], 0.0)), side="right"))


register(
    kmeanspp_cloud,
    title="k-means++ without outliers",
    summary=(
        "k-means with the first centers of k-means++ on columns read as numbers, adjusted to k at the end; "
        "records far from the mean are left out"
    ),
    source="k-means++ for health records in a cloud, as the review of clustering methods describes it",
    evidence="RECON",
    own=(
        Parameter(
            "deviations",
            Float(1, 1000),
            "Records with a number more than so many standard deviations from its mean are left out.",
            3.0,
        ),
        SEED,
        Parameter(
            "mode",
            MODE.kind,
            "Deterministic: the first record is the first center, then the one farthest from those before, and "
            "records move in canonical order.",
            "random",
        ),
        Parameter("rounds", Integer(1), "Rounds after which centers that still move are left as they are.", ROUNDS),
        LARGE,
    ),
    defaults={"suppress": 1.0},
    abilities=(Suppression("those with a number many standard deviations from its mean, the farthest first"),),
)
