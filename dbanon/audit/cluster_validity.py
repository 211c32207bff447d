"""Compare the clusters that k-means finds in a release with those that it finds in the source.

After the evaluation by Ferrao et al. 2022, as the review of clustering methods describes it: cluster the records before
and after anonymization, and compare indices of cluster validity. `dbanon.audit.ml_utility_scores` calls this module.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

N_STARTS = 10
"""Number of random starts of k-means; the one with the least squared error counts."""

MAX_ITERATIONS = 100
"""Maximum number of iterations of a start."""


def kmeans_centers(
    points: Floats, counts: Ints, n_clusters: int, random: np.random.Generator, check: Callable[[], None]
) -> Floats:
    """Return the centers of at most `n_clusters` clusters that k-means finds among weighted points.

    Lloyd's iterations from N_STARTS starts by k-means++ (Arthur and Vassilvitskii 2007). A cluster that loses all its
    points keeps its center. O(starts * iterations * n * clusters * d).

    Args:
        points: (n, d) distinct points, at least one.
        counts: (n,) number of records of each point.
        n_clusters: Number of clusters; at most that of the points are made.
        random: The random numbers.
        check: Called before each iteration; raises if the call is interrupted.

    Returns:
        (clusters, d) centers.
    """
    least_error, best = np.inf, points[:0]
    for _ in range(N_STARTS):
        centers = _spread_centers(points, counts, min(n_clusters, len(points)), random)
        clusters = np.full(len(points), -1)
        for _ in range(MAX_ITERATIONS):
            check()
            previous, clusters = clusters, nearest_centers(points, centers)
            if (clusters == previous).all():
                break
            sizes = np.bincount(clusters, weights=counts, minlength=len(centers))
            is_kept = sizes > 0
            for j in range(points.shape[1]):
                sums = np.bincount(clusters, weights=counts * points[:, j], minlength=len(centers))
                centers[is_kept, j] = sums[is_kept] / sizes[is_kept]
        error = float((counts * ((points - centers[clusters]) ** 2).sum(axis=1)).sum())
        if error < least_error:
            least_error, best = error, centers
    return best


def _spread_centers(points: Floats, counts: Ints, n_clusters: int, random: np.random.Generator) -> Floats:
    """Return first centers by k-means++: each is a point, drawn in proportion to its squared distance to the others."""
    centers = [points[random.choice(len(points), p=counts / counts.sum())]]
    squares = ((points - centers[0]) ** 2).sum(axis=1)
    while len(centers) < n_clusters and (squares > 0).any():
        weights = counts * squares
        centers.append(points[random.choice(len(points), p=weights / weights.sum())])
        squares = np.minimum(squares, ((points - centers[-1]) ** 2).sum(axis=1))
    return np.array(centers)


def nearest_centers(points: Floats, centers: Floats) -> Ints:
    """Return the number of the nearest center of each point; of several, the first."""
    distances = np.stack([((points - center) ** 2).sum(axis=1) for center in centers])
    return np.asarray(distances.argmin(axis=0), np.int64)


def davies_bouldin(points: Floats, counts: Ints, clusters: Ints) -> float | None:
    """Return the Davies-Bouldin index of clusters of weighted points; lower is better.

    The spread of a cluster is the mean distance of its records to their mean. For each cluster, take the greatest ratio
    of its spread plus that of another cluster to the distance of their means; the index is the mean over clusters
    (Davies and Bouldin 1979). Clusters without records do not count.

    Args:
        points: (n, d) points.
        counts: (n,) number of records of each point.
        clusters: (n,) number of the cluster of each point.

    Returns:
        The index; None if there are fewer than two clusters, or two have the same mean.
    """
    _, clusters = np.unique(clusters, return_inverse=True)
    sizes = np.bincount(clusters, weights=counts)
    if len(sizes) < 2:
        return None
    means = np.stack([np.bincount(clusters, weights=counts * column) / sizes for column in points.T], axis=1)
    distances = np.sqrt(((points - means[clusters]) ** 2).sum(axis=1))
    spreads = np.bincount(clusters, weights=counts * distances) / sizes
    between = np.sqrt(((means[:, None] - means[None]) ** 2).sum(axis=2))
    np.fill_diagonal(between, np.inf)
    if (between == 0).any():
        return None
    return float(((spreads[:, None] + spreads[None]) / between).max(axis=1).mean())


def adjusted_rand(first: Ints, second: Ints, counts: Ints) -> float:
    """Return the adjusted Rand index of two clusterings of the same weighted points (Hubert and Arabie 1985).

    It is 1 if both are equal, and 0 on average if they are independent of each other; it can be negative.

    Args:
        first, second: (n,) number of the cluster of each point.
        counts: (n,) number of records of each point.
    """
    pairs = np.unique(np.stack((first, second)), axis=1, return_inverse=True)[1].reshape(-1)
    both, in_first, in_second = (
        sum(n * (n - 1) / 2 for n in np.bincount(numbers, weights=counts).tolist())
        for numbers in (pairs, first, second)
    )
    n_records = float(counts.sum())
    expected = in_first * in_second / (n_records * (n_records - 1) / 2) if n_records > 1 else 0.0
    greatest = (in_first + in_second) / 2
    return 1.0 if greatest == expected else (both - expected) / (greatest - expected)
