"""What a stream loses and leaves at risk once all of it has left, by the names of NAME_metrics.

Some measures of tables mean something else here, and some are of streams alone. The definitions are those of
sql/release/streams/metrics.sql; tests hold the two to each other.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dbanon.algorithms.base import cluster_metrics
from dbanon.algorithms.base.published_clusters import Published
from dbanon.encoding.encoded_table import Ints


@dataclass(frozen=True)
class Left:
    """Records that left, in canonical order: what they were published with at the end, at which place each arrived, and
    how many had arrived when it left."""

    published: Published
    arrived: Ints
    step: Ints

    @cached_property
    def class_of(self) -> Ints:
        """The class of each record, -1 of what is left out: classes that publish the same are one."""
        return np.append(self.published.class_of, -1)[self.published.runs.labels()]

    @cached_property
    def is_first(self) -> Ints:
        """Whether each record left when its class was first published."""
        begun = np.full(len(self.published.class_sizes) + 1, np.iinfo(np.int64).max)
        np.minimum.at(begun, self.class_of, self.step)
        return np.asarray((self.class_of >= 0) & (begun[self.class_of] == self.step))

    def least_persons(self) -> int:
        """Return the least number of persons (records, where nobody has several) of a class when it is first
        published."""
        persons = self.published.space.persons
        counted = self.is_first if persons is None else self.is_first & (persons >= 0)
        classes = self.class_of[counted]
        who = np.flatnonzero(counted) if persons is None else persons[counted].astype(np.int64)
        pairs = np.unique(np.stack((classes, who)), axis=1)
        return int(np.bincount(pairs[0], minlength=len(self.published.class_sizes)).min())

    def of(self, names: Sequence[str]) -> dict[str, float]:
        """Measures by name; where all records are left out, NaN for what is about classes."""
        nothing = self.published.released == 0
        return {n: math.nan if nothing and n not in _OF_ALL else float(FIGURES[n](self)) for n in names}


def _as_of_tables(figure: Callable[[Published], float]) -> Callable[[Left], float]:
    return lambda of: figure(of.published)


FIGURES: dict[str, Callable[[Left], float]] = {
    **{name: _as_of_tables(figure) for name, figure in (cluster_metrics.FIGURES | cluster_metrics.OF_STREAMS).items()},
    "records": lambda of: of.published.space.rows,
    "k": Left.least_persons,
    "average_delay": lambda of: float((of.step - of.arrived).mean()),
    "delay": lambda of: int((of.step - of.arrived).max()),
    "reuse": lambda of: 1 - int(of.is_first.sum()) / of.published.released,
}

_OF_ALL = ("records", "suppressed", "suppression", "average_loss", "average_delay", "delay", "classes", "clusters")
"""Measures that are about all records, left out or not, and counts."""
