"""Bound the number of records between any two points of a line, given bounds for some intervals.

This is a linear program whose rows are intervals: its unknowns are the numbers of records before each point, and every
bound limits the difference of two of them. So each optimum is the length of a shortest path, and an integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Span(NamedTuple):
    """An interval of the line from low (inclusive) to high (exclusive) that contains at most `max_records` records.

    A negative `max_records` of -m means at least m records.
    """

    low: float
    high: float
    max_records: int


@dataclass(frozen=True)
class IntervalProgram:
    """The solved program (difference constraints): the greatest possible number of records between any two points.

    Attributes:
        points: (n,) the ends of all intervals, ascending.
        max_records: (n, n) greatest numbers between a point and a later one, given all intervals.
        max_known: (n, n) greatest numbers, given only the intervals whose limits are certain.
        bounds: The intervals whose limits are inferred.
    """

    points: Floats
    max_records: Floats
    max_known: Floats
    bounds: Sequence[Span]

    @classmethod
    def solve(
        cls, extent: tuple[float, float], size: int, known_spans: Sequence[Span], bounds: Sequence[Span]
    ) -> IntervalProgram | None:
        """Return the solved program for `size` records in `extent`; None if the bounds contradict each other.

        O(points^3).

        Args:
            extent: First and last point.
            size: Number of records between them.
            known_spans: Intervals for which a least or greatest number of records is certain.
            bounds: Intervals for which such a number is inferred.
        """
        points = np.unique([*extent, *(end for s in (*known_spans, *bounds) for end in (s.low, s.high))])
        distances = np.full((len(points), len(points)), np.inf)
        np.fill_diagonal(distances, 0)
        np.fill_diagonal(distances[1:], 0)
        distances[0, -1], distances[-1, 0] = size, -size
        max_known = _shortest_paths(_with_spans(distances, points, known_spans))
        max_records = _shortest_paths(_with_spans(max_known, points, bounds))
        return None if np.diagonal(max_records).min() < 0 else cls(points, max_records, max_known, bounds)

    def max_between(self, low: float, high: float) -> tuple[int, int]:
        """Return the greatest number of records between two points: by all intervals, and by the certain ones only.

        Args:
            low: The first point, an end of an interval.
            high: The second point, an end of an interval.
        """
        i, j = np.searchsorted(self.points, [low, high])
        return int(self.max_records[i, j]), int(self.max_known[i, j])


def _with_spans(distances: Floats, points: Floats, spans: Sequence[Span]) -> Floats:
    """Return a copy of a matrix of distances between points in which the limits of intervals are edges.

    A limit replaces only a greater distance. An interval with a minimum number of records becomes an edge backwards
    with negative length.

    Args:
        distances: (n, n) distances.
        points: (n,) points, ascending.
        spans: The intervals, whose ends are among the points.
    """
    distances = distances.copy()
    for span in spans:
        i, j = np.searchsorted(points, [span.low, span.high])
        if span.max_records < 0:
            i, j = j, i
        distances[i, j] = min(distances[i, j], span.max_records)
    return distances


def _shortest_paths(distances: Floats) -> Floats:
    """Return the (n, n) lengths of the shortest paths between all points, by Floyd and Warshall.

    A negative value on the diagonal shows that the bounds contradict each other.
    """
    for i in range(len(distances)):
        distances = np.minimum(distances, distances[:, i, None] + distances[None, i, :])
    return distances
