"""Fuzzy c-means: clusters to which each point belongs in part."""

import numpy as np
import numpy.typing as npt

from dbanon.algorithms.base.registry import Check
from dbanon.encoding.encoded_table import Floats, Ints

Draws = npt.NDArray[np.uint64]

CONVERGENCE_STEP = 2.0**-20
"""Centers that move by no more than this on each axis count as unmoved."""


def fuzzy_centers(
    points: Floats, counts: Ints, n_centers: int, draws: Draws | None, rounds: int, check: Check
) -> Floats:
    """Return the (n_centers, axes) centers of fuzzy c-means with exponent 2.

    The first centers are chosen as k-means++ does, by random bits; without them the first point is taken, then again
    and again the point farthest from all centers. Centers then move until none moves more than CONVERGENCE_STEP on any
    axis. Sums are computed point by point, so that all machines agree.

    Args:
        points: (axes, points) coordinates.
        counts: (points,) how many records each point represents.
        n_centers: Number of centers.
        draws: One 64-bit random integer per center; None for a deterministic choice.
        rounds: Greatest number of moves.
        check: Called before every move; raises if the run was interrupted.
    """
    centers = _initial_centers(points, counts, n_centers, draws)
    for _ in range(rounds):
        check()
        closeness = [1 / np.maximum(square_distances(points, center), 2.0**-60) for center in centers]
        total_closeness = sum(closeness, np.zeros(points.shape[1]))
        new_centers = np.empty_like(centers)
        for c, part in enumerate(closeness):
            weight = counts * (part / total_closeness) ** 2
            sums = np.cumsum(np.vstack((weight, points * weight)), axis=1)[:, -1]
            new_centers[c] = sums[1:] / sums[0]
        has_converged = bool((np.abs(new_centers - centers) <= CONVERGENCE_STEP).all())
        centers = new_centers
        if has_converged:
            break
    return centers


def square_distances(points: Floats, center: Floats) -> Floats:
    """Return the squared distances of points (axes, points) to one center (axes,)."""
    return sum(
        (
            (coordinates - center_coordinate) * (coordinates - center_coordinate)
            for coordinates, center_coordinate in zip(points, center, strict=True)
        ),
        np.zeros(points.shape[1]),
    )


def nearest_centers(points: Floats, centers: Floats) -> tuple[Ints, Floats]:
    """Return the number of the nearest center of each point (the first one in a tie), and the squared distance.

    `points` is (axes, points), `centers` is (centers, axes).
    """
    center_of, min_distance = np.zeros(points.shape[1], np.int64), square_distances(points, centers[0])
    for c, center in enumerate(centers[1:], 1):
        distances = square_distances(points, center)
        center_of[distances < min_distance], min_distance = c, np.minimum(min_distance, distances)
    return center_of, min_distance


def _initial_centers(points: Floats, counts: Ints, n_centers: int, draws: Draws | None) -> Floats:
    """Return (n_centers, axes) initial centers, each at one of the points.

    With `draws`, points are drawn as in k-means++: with a probability proportional to count times squared distance to
    the nearest center so far. Without, the first point is taken, then each time the point farthest from all centers.
    """
    weight = counts.astype(np.float64)
    min_distances = np.full(points.shape[1], np.inf)
    initial = []
    for c in range(n_centers):
        if draws is None:
            point = int(np.argmax(min_distances)) if c else 0
        else:
            cumulative = np.cumsum(weight)
            point = int(np.searchsorted(cumulative, (int(draws[c]) >> 11) * 2.0**-53 * cumulative[-1], side="right"))
            point = min(point, points.shape[1] - 1)
        initial.append(points[:, point])
        min_distances = np.minimum(min_distances, square_distances(points, points[:, point]))
        weight = counts * min_distances
    return np.array(initial)
