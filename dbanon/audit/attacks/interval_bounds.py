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
    most: int


@dataclass(frozen=True)
class Program:
    """How many records there can be between any two of the places (places, places): `most` by all bounds, `anyway` by
    what is known without them; `bounds` are those that were set."""

    places: Floats
    most: Floats
    anyway: Floats
    bounds: Sequence[Span]

    @classmethod
    def of(cls, whole: tuple[float, float], size: int, known: Sequence[Span], bounds: Sequence[Span]) -> Program | None:
        """Return the optimum for `size` records; None where no numbers of records meet all bounds.

        A bound of -m in `known` says that there are m records at least. O(places^3).
        """
        places = np.unique([*whole, *(end for s in (*known, *bounds) for end in (s.low, s.high))])
        steps = np.full((len(places), len(places)), np.inf)
        np.fill_diagonal(steps, 0)
        np.fill_diagonal(steps[1:], 0)
        steps[0, -1], steps[-1, 0] = size, -size
        anyway = _shortest(_with(steps, places, known))
        most = _shortest(_with(anyway, places, bounds))
        return None if np.diagonal(most).min() < 0 else cls(places, most, anyway, bounds)

    def between(self, low: float, high: float) -> tuple[int, int]:
        """Return the most records between two places, by all bounds and by what is known anyway."""
        i, j = np.searchsorted(self.places, [low, high])
        return int(self.most[i, j]), int(self.anyway[i, j])


def _with(steps: Floats, places: Floats, spans: Sequence[Span]) -> Floats:
    steps = steps.copy()
    for span in spans:
        i, j = np.searchsorted(places, [span.low, span.high])
        if span.most < 0:
            i, j = j, i
        steps[i, j] = min(steps[i, j], span.most)
    return steps


def _shortest(steps: Floats) -> Floats:
    """Return lengths of the shortest paths between all places; a negative one to itself where there are none."""
    for i in range(len(steps)):
        steps = np.minimum(steps, steps[:, i, None] + steps[None, i, :])
    return steps
