"""k-means++ for health records in a cloud.

Outliers are suppressed; the others are assigned to centers that begin far from each other.
"""

import math

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.random_seeds import random_order
from dbanon.algorithms.base.registry import (
    LARGE,
    MAX_SUPPRESSED,
    MODE,
    SEED,
    Assignment,
    Check,
    Options,
    Suppression,
    register,
)
from dbanon.algorithms.centroid.kmeans import adjusted_kmeans
from dbanon.algorithms.centroid.moving_centers import (
    NULL_POSITION,
    MovingCenters,
    axes_and_points,
    categories_as_numbers,
)
from dbanon.encoding.encoded_table import Bools, Codes, EncodedTable, Floats, Ints, NumericAttribute
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Float, Integer
from dbanon.table_functions.parameters import Parameter

SAMPLE_SEEDS = 32
"""Seeds from which the time of all seeds is estimated."""

DEVIATION_SLACK = 1e-9
"""Excess over the allowed number of deviations that may be an error of rounding."""

DISTANCE_COST = 0.5
"""Cost of the distance of a tuple to a seed, in steps of dbanon.algorithms.base.progress."""


def kmeanspp_cloud(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with k-means++ for health records in a cloud, reconstructed from the review of clustering methods.

    Categories are read as numbers, in the order of the leaves. Records with a number more than `deviations` standard
    deviations from its mean are suppressed; if not all may be suppressed, the farthest first. Of the others floor(n/k)
    become the first centers by k-means++: a random record, then again and again one with a probability in proportion to
    its squared distance to the nearest center so far. Once all records are at distance 0 from a center, the other
    centers are spread evenly. In the deterministic mode the first center is the first record, and each further one the
    record farthest from the nearest center so far.

    Records go to the nearest center and centers to the mean of their records until nothing moves, for `rounds` rounds
    at most; then ADJUST as in Algorithm No. 3 of the three-variants paper. O(rounds * n^2 / k) time at worst, O(n)
    memory.
    """
    max_suppressed = min(int(str(options[MAX_SUPPRESSED])), space.rows - constraint.min_records)
    kept_tuples = np.flatnonzero(~_outlier_tuples(space, float(str(options["deviations"])), max_suppressed))
    part = categories_as_numbers(space if len(kept_tuples) == len(space.counts) else space.subset(kept_tuples))
    labels = np.full(space.rows, -1, np.int64)
    labels[space.rows_of(kept_tuples)] = _cluster_without_outliers(part, constraint.min_records, options, check)
    return labels


def _cluster_without_outliers(space: EncodedTable, k: int, options: Options, check: Check) -> Ints:
    """Return the cluster of every record by k-means++ and adjusted k-means.

    Fewer than 2k records are a single cluster. All attributes must be numeric.
    """
    number = space.rows // k
    if number < 2:
        return np.zeros(space.rows, np.int64)
    order = random_order(space, options)
    seeds = space.starts[kmeanspp_seeds(space, number, options, check)]
    return adjusted_kmeans(MovingCenters(space, k, seeds, order, True, int(str(options["rounds"])), check))


def _outlier_tuples(space: EncodedTable, deviations: float, max_suppressed: int) -> Bools:
    """Return, for each tuple, whether it is suppressed as an outlier.

    Outliers have a number more than `deviations` standard deviations from its mean. Those with the most deviations come
    first (ties: the first tuple), as long as they have at most `max_suppressed` records together. NULL is never far.
    """
    max_deviation = np.zeros(len(space.counts))
    for j, attribute in enumerate(space.attributes):
        if isinstance(attribute, NumericAttribute):
            max_deviation = np.maximum(
                max_deviation, _standard_deviations_off(attribute, space.codes[:, j], space.counts)
            )
    outliers = np.flatnonzero(max_deviation > deviations + DEVIATION_SLACK)
    outliers = outliers[np.argsort(-max_deviation[outliers], kind="stable")]
    is_outlier = np.zeros(len(max_deviation), bool)
    is_outlier[outliers[np.cumsum(space.counts[outliers]) <= max_suppressed]] = True
    return is_outlier


def _standard_deviations_off(attribute: NumericAttribute, codes: Codes, counts: Ints) -> Floats:
    """Return, for each tuple, how many standard deviations its number is from the mean.

    It is 0 for NULL and in constant columns. `codes` and `counts` have one entry per tuple. Sums are rounded once, so
    the result does not depend on their order.
    """
    records = np.bincount(codes, weights=counts, minlength=attribute.values + 1)[:-1]
    n_values = int(records.sum())
    places = attribute.positions / max(float(attribute.positions.max(initial=0.0)), 1.0e-300)
    if n_values == 0:
        return np.zeros(len(codes))
    distances = np.abs(places - math.fsum(places * records) / n_values)
    deviation = math.sqrt(math.fsum(distances * distances * records) / n_values)
    return np.append(distances / deviation if deviation > 0 else np.zeros(len(distances)), 0.0)[codes]


def kmeanspp_seeds(space: EncodedTable, n_seeds: int, options: Options, check: Check) -> Ints:
    """Return the tuples of `n_seeds` seeds, chosen as k-means++ does; all attributes must be numeric.

    Each seed is drawn with a probability in proportion to the squared distance to the nearest seed so far; in the
    deterministic mode it is the farthest tuple instead. If all distances are 0, the other seeds are spread evenly.
    O(number * tuples) time.
    """
    (_, null, *_), points = axes_and_points(space)
    axes = [(np.ascontiguousarray(column), column == NULL_POSITION, int(null[a])) for a, column in enumerate(points.T)]
    draws = np.random.PCG64(int(str(options["seed"]))).jumped()  # its stream, unlike a Generator's, is promised
    is_random = options["mode"] == "random"
    record = int(draws.random_raw()) % space.rows if is_random else 0
    seeds = np.empty(n_seeds, np.int64)
    seeds[0] = np.searchsorted(space.starts, record, side="right") - 1
    nearest = np.full(len(space.counts), NULL_POSITION)
    clock = progress.thread_seconds()
    for i in range(1, n_seeds):
        if i % SAMPLE_SEEDS == 0:
            check()
        if i == SAMPLE_SEEDS:
            steps = float(len(nearest)) * n_seeds * DISTANCE_COST
            progress.as_progress_check(check).on_estimate(
                steps, (progress.thread_seconds() - clock) * n_seeds / SAMPLE_SEEDS
            )
        np.minimum(nearest, _distances(axes, int(seeds[i - 1])), out=nearest)
        greatest = int(nearest.max())
        if greatest == 0:
            rest = np.arange(n_seeds - i) * space.rows // (n_seeds - i)
            seeds[i:] = np.searchsorted(space.starts, rest, side="right") - 1
            break
        seeds[i] = (
            _draw_by_square(nearest / greatest, space.counts, int(draws.random_raw()))
            if is_random
            else nearest.argmax()
        )
    return seeds


def _distances(axes: list[tuple[Ints, Ints, int]], seed: int) -> Ints:
    """Return the summed distance of every tuple to the tuple `seed`.

    Each axis has the positions of the tuples, whether they are NULL, and the distance of NULL to a value.
    """
    total = np.zeros(len(axes[0][0]), np.int64)
    for positions, is_null, null in axes:
        if is_null[seed]:
            total += np.where(is_null, 0, null)
        else:
            total += np.where(is_null, null, np.abs(positions - positions[seed]))
    return total


def _draw_by_square(distances: Floats, counts: Ints, raw: int) -> int:
    """Return a tuple drawn with a probability proportional to its records times the square of its distance.

    Args:
        distances: (tuples,) distances.
        counts: (tuples,) records of each tuple.
        raw: The 64 random bits to use.
    """
    cumulative = np.cumsum(distances * distances * counts)
    target = (raw >> 11) * 2.0**-53 * cumulative[-1]
    return int(np.searchsorted(cumulative, min(target, math.nextafter(cumulative[-1], 0.0)), side="right"))


register(
    kmeanspp_cloud,
    title="k-means++ without outliers",
    summary=(
        "Runs k-means with the first centers of k-means++ on columns read as numbers, and adjusts the clusters to k "
        "records at the end. Records far from the mean are suppressed."
    ),
    source="k-means++ for health records in a cloud, as the review of clustering methods describes it",
    evidence="description",
    own_parameters=(
        Parameter(
            "deviations",
            Float(1, 1000),
            "Records with a number more than this many standard deviations from its mean are suppressed.",
            3.0,
        ),
        SEED,
        Parameter(
            "mode",
            MODE.kind,
            "deterministic: the first center is the first record, each next center is the record farthest from the "
            "centers before, and records move in canonical order.",
            "random",
        ),
        Parameter(
            "rounds",
            Integer(1),
            "Greatest number of rounds; centers that still move then stay where they are.",
            100,
        ),
        LARGE,
    ),
    defaults={"suppress": 1.0},
    abilities=(Suppression("those with a number many standard deviations from its mean, the farthest first"),),
)
