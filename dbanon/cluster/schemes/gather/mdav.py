"""MDAV-generic: microaggregation around the records that are farthest from the average."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dbanon.cluster.growth import grow, within_room
from dbanon.cluster.labels import Dealer
from dbanon.cluster.registry import Algorithm, Check, register
from dbanon.functions.parameter_types import Choice
from dbanon.functions.parameters import Parameter
from dbanon.models.constraint import Constraint
from dbanon.space.index import Index
from dbanon.space.space import Attribute, Codes, Ints, Number, Space


@dataclass(frozen=True)
class _Squares:
    """Squared difference of numbers, 0 or 1 for categories, times a unit. `place[code]` is a scaled number."""

    attribute: Attribute
    unit: int
    place: npt.NDArray[np.float64]

    def row(self, code: int) -> Ints:
        values = self.attribute.values
        row = np.full(values + 1, self.unit, np.int64)
        if isinstance(self.attribute, Number) and code < values:
            row[:-1] = np.rint((self.place - self.place[code]) ** 2 * self.unit)
        row[code] = 0
        return row


def mdav(space: Space, constraint: Constraint, options: Mapping[str, object], check: Check) -> Ints:
    """MDAV-generic (Domingo-Ferrer and Torra 2005; the fastest baseline of Wang et al. 2022), published as intervals.

    The record farthest from the average record of what is left takes the k - 1 nearest, then the record farthest from
    it does; the last k to 2k - 1 are a cluster. Distance: squared differences of numbers over their range (or standard
    deviation), 0 or 1 for categories; hierarchies only generalize. Under persons or models a cluster has at least as
    many records as any of them needs, and the shared repair follows. O(n^2 / k) without the index, O(n) memory.
    """
    terms = [_squares(space, a, space.codes[:, j], str(options["scale"])) for j, a in enumerate(space.attributes)]
    return grow(space, FarthestFromAverage(space, constraint.least, terms), check)


class FarthestFromAverage:
    """Groups of k records around the record farthest from the average of what is left, and around the one farthest
    from that; the last k to 2k - 1 are a group."""

    def __init__(self, space: Space, k: int, terms: Sequence[_Squares]) -> None:
        self.k, self.index = k, Index(space, terms)
        self.dealer = Dealer(self.index)
        tabular = [terms[j] for j in self.index.tabular]
        self.terms = (
            np.array([int(isinstance(t.attribute, Number)) for t in tabular], np.int64),
            np.array([t.unit for t in tabular], np.int64),
            np.cumsum([0, *(t.attribute.values for t in tabular)]),
            np.concatenate([np.zeros(0), *(t.place for t in tabular)]),
        )
        self.question = self.index.blank()

    def can_go_on(self) -> bool:
        return self.index.records >= 2 * self.k

    def form(self, labels: Ints, first: int, most: int) -> int:
        from dbanon import kernels

        groups = within_room(most, self.k)
        members = np.empty(((groups + 1) * (self.k + 1), 2), np.int64)  # they are made two at a time
        used = kernels.mdav_steps(
            *self.index.arrays[:3], self.terms, self.question.flat, self.question.axes, self.k, groups, members
        )
        self.index.count()
        return self.dealer.deal(members[:used], labels, first)

    def place(self, labels: Ints, rows: Ints, check: Check) -> None:
        labels[rows] = labels.max() + 1


def _squares(space: Space, attribute: Attribute, codes: Codes, scale: str) -> _Squares:
    unit = round(attribute.weight * 2.0**30)
    if not isinstance(attribute, Number):
        return _Squares(attribute, unit, np.zeros(attribute.values))
    positions = attribute.positions
    width = float(positions[-1]) if len(positions) else 0.0
    if scale == "std":
        known = codes < attribute.values
        at, counts = positions[codes[known]], space.counts[known]
        mean = float((at * counts).sum() / max(counts.sum(), 1))
        width = float(np.sqrt((counts * (at - mean) ** 2).sum() / max(counts.sum(), 1)))
    return _Squares(attribute, unit, positions / width if width > 0 else np.zeros(len(positions)))


register(
    Algorithm(
        name="mdav",
        title="MDAV-generic",
        family="gather",
        run=mdav,
        source="Domingo-Ferrer and Torra 2005; baseline of Wang et al. 2022",
        evidence="LIT",
        deterministic=True,
        complexity="O(n^2 / k) time without the index, O(n) memory",
        own=(
            Parameter(
                "scale",
                Choice(("range", "std")),
                "What differences of numbers are divided by: the range, or the standard deviation.",
                "range",
            ),
        ),
    )
)
