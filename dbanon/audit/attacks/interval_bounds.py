"""How many records can lie between two places of a line, where it is known of some stretches how many lie there.

A linear program whose rows are intervals: its unknowns are how many records lie before each place, and all that is
known bounds the difference of two of them. So an optimum is the length of a shortest path, and an integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Span(NamedTuple):
    """From low (included) to high (excluded) there are `most` records at most; at least -most where it is negative."""

    low: float
    high: float
    max_records: int


@dataclass(frozen=True)
class IntervalProgram:
    """How many records there can be between any two of the places (places, places): `most` by all bounds, `anyway` by
    what is known without them; `bounds` are those that were set."""

    points: Floats
    max_records: Floats
    max_known: Floats
    bounds: Sequence[Span]

    @classmethod
    def solve(
        cls, extent: tuple[float, float], size: int, known_spans: Sequence[Span], bounds: Sequence[Span]
    ) -> IntervalProgram | None:
        """Return the optimum for `size` records; None where no numbers of records meet all bounds.

        A bound of -m in `known_spans` says that there are m records at least. O(places^3).
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
        """Return the most records between two places, by all bounds and by what is known anyway."""
        i, j = np.searchsorted(self.points, [low, high])
        return int(self.max_records[i, j]), int(self.max_known[i, j])


def _with_spans(steps: Floats, places: Floats, spans: Sequence[Span]) -> Floats:
    steps = steps.copy()
    for span in spans:
        i, j = np.searchsorted(places, [span.low, span.high])
        if span.max_records < 0:
            i, j = j, i
        steps[i, j] = min(steps[i, j], span.max_records)
    return steps


def _shortest_paths(steps: Floats) -> Floats:
    """Return lengths of the shortest paths between all places; a negative one to itself where there are none."""
    for i in range(len(steps)):
        steps = np.minimum(steps, steps[:, i, None] + steps[None, i, :])
    return steps
