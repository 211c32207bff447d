"""Fuzzy c-means: clusters of points to which each belongs in part."""

import numpy as np
import numpy.typing as npt

from dbanon.algorithms.base.registry import Check
from dbanon.encoding.encoded_table import Floats, Ints

Draws = npt.NDArray[np.uint64]

STILL = 2.0**-20
"""Centers that move by no more than this on each axis stand still."""


def fuzzy_centers(points: Floats, counts: Ints, number: int, draws: Draws | None, rounds: int, check: Check) -> Floats:
    """Return centers (number, axes) of points (axes, points), each of which stands for so many; exponent 2.

    The first centers are chosen as k-means++ does, by `draws` of 64 bits; without draws the first point, then again and
    again the one farthest from all of them. Sums go point by point, so that all machines agree.
    """
    centers = _first(points, counts, number, draws)
    for _ in range(rounds):
        check()
        near = [1 / np.maximum(squares(points, center), 2.0**-60) for center in centers]
        whole = sum(near, np.zeros(points.shape[1]))
        moved = np.empty_like(centers)
        for c, part in enumerate(near):
            weight = counts * (part / whole) ** 2
            sums = np.cumsum(np.vstack((weight, points * weight)), axis=1)[:, -1]
            moved[c] = sums[1:] / sums[0]
        still = bool((np.abs(moved - centers) <= STILL).all())
        centers = moved
        if still:
            break
    return centers


def squares(points: Floats, center: Floats) -> Floats:
    """Return squared distances of points (axes, points) to a center."""
    return sum(((at - c) * (at - c) for at, c in zip(points, center, strict=True)), np.zeros(points.shape[1]))


def nearest(points: Floats, centers: Floats) -> tuple[Ints, Floats]:
    """Return the first of the nearest centers of each point, to which most of it belongs, and the squared distance."""
    of, least = np.zeros(points.shape[1], np.int64), squares(points, centers[0])
    for c, center in enumerate(centers[1:], 1):
        away = squares(points, center)
        of[away < least], least = c, np.minimum(least, away)
    return of, least


def _first(points: Floats, counts: Ints, number: int, draws: Draws | None) -> Floats:
    weight = counts.astype(np.float64)
    away = np.full(points.shape[1], np.inf)
    chosen = []
    for c in range(number):
        if draws is None:
            at = int(np.argmax(away)) if c else 0
        else:
            until = np.cumsum(weight)
            at = int(np.searchsorted(until, (int(draws[c]) >> 11) * 2.0**-53 * until[-1], side="right"))
            at = min(at, points.shape[1] - 1)
        chosen.append(points[:, at])
        away = np.minimum(away, squares(points, points[:, at]))
        weight = counts * away
    return np.array(chosen)
