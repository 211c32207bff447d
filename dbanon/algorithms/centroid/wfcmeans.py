"""WF-C-means: k-means whose columns are weighted by how well they separate its clusters."""

import math
from typing import Any

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.random_seeds import spread_rows
from dbanon.algorithms.base.registry import LARGE, SEED, Check, Options, register, single_cluster_below_2k
from dbanon.algorithms.centroid import moving_centers as search
from dbanon.algorithms.centroid.moving_centers import EVEN_MODE, NULL_POSITION, categories_as_numbers
from dbanon.encoding.distance import rounded_positions
from dbanon.encoding.encoded_table import EncodedTable, Floats, Ints, NumericAttribute
from dbanon.kernels.center_arrays import CenterAxes, CenterBoxes, CenterTree
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

RANGE_STEPS = 2**30
"""Number of positions in the range of a column: squares of distances stay below 2^61."""

MIN_DEVIATION = 1e-12
"""Lower bound of a column's sum of squares within clusters."""


SEARCH_STEP_COST = 0.5
"""Cost of a step of the search, in steps of dbanon.algorithms.base.progress."""


@single_cluster_below_2k
def wfcmeans(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Ints:
    """Cluster with WF-C-means, weighted feature C-means (Chiu and Tsai 2007).

    Reconstructed from its abstract and the feature-weight self-adjustment k-means of the same authors.
    floor(n/k) random records are the first centers, and all columns have equal weights. Records go to the nearest
    center by weighted squared distances (ties: the first), and centers to the means. Then each column gets the mean of
    its weight and its share in the sum of b/a over the columns: a is the sum of squares within clusters, b that between
    them. This is repeated until no record moves, or for `rounds` rounds.

    Then clusters of fewer than k records, the smallest first (ties: the first), join the cluster of at least k with the
    nearest center, which moves to the mean of all. There always is one. Columns are scaled to their ranges; categories
    are read as numbers, in the order of the leaves, which the paper does not have. O(rounds * n^2 / k) time at worst,
    O(n) memory.
    """
    seeds, _ = spread_rows(space, space.rows // constraint.min_records, options)
    means = _WeightedMeans(categories_as_numbers(space), seeds, check)
    rounds = int(str(options["rounds"]))
    for round_number in range(rounds):
        progress.as_progress_check(check).advance(round_number / rounds)
        previous = means.nearest.copy()
        means.assign(rounds)
        means.recenter()
        if round_number and np.array_equal(previous, means.nearest):
            break
        means.update_weights()
    return means.merge_small_clusters(constraint.min_records)[means.tuple_of]


class _WeightedMeans:
    """The centers of clusters, the weights of columns, and the nearest center of each tuple.

    Attributes:
        points: (tuples, columns) coordinates of the tuples, each column scaled to RANGE_STEPS; NULL_POSITION for NULL.
        centers: (clusters, columns) coordinates of the centers.
        nearest: (tuples,) the nearest center of each tuple.
        weights: (columns,) weight of each column.
    """

    def __init__(self, space: EncodedTable, seeds: Ints, check: Check) -> None:
        """Compute the coordinates of a table of numeric attributes; the centers are the rows `seeds`.

        All columns have equal weights at first.
        """
        from dbanon.kernels import assign_to_centers

        self.kernels: Any = assign_to_centers
        self.space, self.check, self.tuple_of = space, check, space.tuple_of
        columns = [
            np.append(rounded_positions(a, float(RANGE_STEPS)), NULL_POSITION)[codes]
            for a, codes in zip(space.attributes, space.codes.T, strict=True)
            if isinstance(a, NumericAttribute)
        ]
        self.points = np.stack(columns, axis=1)
        self.centers = self.points[self.tuple_of[seeds]]
        self.nearest = np.zeros(len(self.points), np.int64)
        self.weights: Floats = np.full(len(columns), 1 / len(columns))
        self.average = self._averages()
        none, zero = np.zeros(0, np.int64), np.zeros(len(columns) + 1, np.int64)
        self.axes = CenterAxes(zero[1:], np.full(len(columns), RANGE_STEPS), zero, none, none, none)
        self.boxes = CenterBoxes.allocate(*self.centers.shape)
        self.estimate = progress.KernelEstimate(check)

    @property
    def column_factors(self) -> Floats:
        """The factor of each coordinate: the root of declared weight times computed weight, scaled to a sum of 1."""
        declared = np.array([a.weight for a in self.space.attributes]) * self.weights
        return np.asarray(np.sqrt(declared / math.fsum(declared)))

    def assign(self, rounds: int) -> None:
        """Set `nearest` to the nearest center of each tuple by weighted squared distance, the first one in a tie.

        `rounds` is the number of rounds for the time estimate.
        """
        stretch = self.column_factors
        points, tree = _scale_positions(self.points, stretch), self._tree(stretch)
        self.kernels.build_center_tree(np.arange(len(self.centers)), tree)
        begin = 0
        while begin < len(points):
            self.check()
            clock, previous = progress.thread_seconds(), begin
            begin = self.kernels.assign_nearest_squared(begin, search.STEPS_PER_CALL, points, tree, self.nearest)
            if begin < len(points):
                share, seconds = (begin - previous) / len(points), progress.thread_seconds() - clock
                self.estimate.report_return(share, search.STEPS_PER_CALL * SEARCH_STEP_COST, seconds, rounds)

    def recenter(self) -> None:
        """Move each center, in place, to the mean of its records, rounded to whole positions.

        A center without records stays.
        """
        self.kernels.update_centers(self.nearest[self.tuple_of], self.tuple_of, self.points, self.centers, self.axes)

    def update_weights(self) -> None:
        """Set each column's weight to the mean of its weight and its share in the sum of b/a over the columns.

        a is the column's sum of squares within clusters (at least MIN_DEVIATION), b that between them. Weights stay if
        all b are 0. Sums are rounded once, so the result does not depend on their order.
        """
        counts, shares = self.space.counts, []
        for positions, center, average in zip(self.points.T, self.centers.T, self.average, strict=True):
            has_value = positions != NULL_POSITION
            own_centers = center[self.nearest[has_value]]
            within_squares = math.fsum(
                (((positions[has_value] - own_centers) / RANGE_STEPS) ** 2 * counts[has_value]).tolist()
            )
            between_squares = math.fsum((((own_centers - average) / RANGE_STEPS) ** 2 * counts[has_value]).tolist())
            shares.append(between_squares / max(within_squares, MIN_DEVIATION))
        total_share = math.fsum(shares)
        if total_share > 0:
            self.weights = (self.weights + np.array(shares) / total_share) / 2

    def merge_small_clusters(self, k: int) -> Ints:
        """Return the cluster of each tuple after clusters of fewer than k records have joined larger ones.

        The smallest is first (ties: the first); it joins the cluster of at least k records with the nearest center,
        which moves to the mean of all. `nearest` and the object's own centers do not change.
        """
        clusters, counts, stretch = len(self.centers), self.space.counts, self.column_factors
        sizes = _cluster_sums(self.nearest, counts, clusters)
        n_values = [
            _cluster_sums(self.nearest, np.where(positions == NULL_POSITION, 0, counts), clusters)
            for positions in self.points.T
        ]
        sums = [
            _cluster_sums(self.nearest, np.where(positions == NULL_POSITION, 0, positions * counts), clusters)
            for positions in self.points.T
        ]
        small = np.flatnonzero((sizes > 0) & (sizes < k))
        small = small[np.argsort(sizes[small], kind="stable")]
        merged_into, tree = np.arange(clusters), self._tree(stretch)
        self.kernels.build_center_tree(np.flatnonzero(sizes >= k), tree)
        self.kernels.merge_small_clusters(
            small, stretch, tree, np.stack(sums, axis=1), np.stack(n_values, axis=1), merged_into
        )
        return merged_into[self.nearest]

    def _tree(self, column_factors: Floats) -> CenterTree:
        """Return the centers in weighted coordinates, and room for their tree, which is not built yet.

        `column_factors` is the factor of each column.
        """
        weighted_ranges = np.rint(RANGE_STEPS * column_factors).astype(np.int64)
        axes = self.axes._replace(null_distances=weighted_ranges)  # a NULL is as far from a value
        return CenterTree(
            _scale_positions(self.centers, column_factors), axes, self.boxes, 128 * (len(column_factors) + 1)
        )

    def _averages(self) -> list[int]:
        """Return the mean of each column over all records, rounded to whole positions; 0 if all are NULL."""
        counts, averages = self.space.counts, []
        for positions in self.points.T:
            n_values = int(counts[positions != NULL_POSITION].sum())
            total = int((positions * counts)[positions != NULL_POSITION].sum())
            averages.append((2 * total + n_values) // max(2 * n_values, 1))
        return averages


def _scale_positions(positions: Ints, column_factors: Floats) -> Ints:
    """Return the positions multiplied by the factor of their column and rounded; NULL_POSITION stays."""
    return np.where(positions == NULL_POSITION, NULL_POSITION, np.rint(positions * column_factors).astype(np.int64))


def _cluster_sums(labels: Ints, amounts: Ints, clusters: int) -> Ints:
    """Return the exact sum of integer amounts by cluster; labels are from 0 to `clusters` - 1."""
    order = np.argsort(labels, kind="stable")
    cumulative = np.append(0, np.cumsum(amounts[order]))
    return np.diff(cumulative[np.searchsorted(labels[order], np.arange(clusters + 1))])


register(
    wfcmeans,
    title="Weighted feature C-means",
    summary=(
        "WF-C-means: runs k-means on columns read as numbers, weighted by how well they separate its clusters. Small "
        "clusters join large ones."
    ),
    source="Chiu and Tsai 2007; named by Wang et al. 2022, the three-variants paper and the review of clustering "
    "methods",
    evidence="abstract",
    own_parameters=(
        SEED,
        EVEN_MODE,
        Parameter(
            "rounds", Integer(1), "Greatest number of rounds; centers that still move then stay where they are.", 100
        ),
        LARGE,
    ),
)
