"""The metrics of a stream once all of it is published, under the names of NAME_metrics.

Some metrics of tables have another meaning here, and some exist for streams alone. The definitions are those of
sql/release/streams/metrics.sql; tests compare the two.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dbanon.algorithms.base import published_clusters
from dbanon.algorithms.base.published_clusters import PublishedClusters
from dbanon.encoding.encoded_table import Ints


@dataclass(frozen=True)
class StreamOutcome:
    """All records of a stream after its end.

    Attributes:
        published: The classes with what they publish; records are in canonical order.
        arrived_at: (n,) place at which each record arrived.
        published_at: (n,) number of records that had arrived when it was published or suppressed.
    """

    published: PublishedClusters
    arrived_at: Ints
    published_at: Ints

    @cached_property
    def class_of(self) -> Ints:
        """The class of each record, -1 if it is suppressed; clusters that publish the same values are one class."""
        return np.append(self.published.class_of, -1)[self.published.runs.labels()]

    @cached_property
    def is_first(self) -> Ints:
        """Whether each record was published when its class was first published; false for suppressed records."""
        first_published_at = np.full(len(self.published.class_sizes) + 1, np.iinfo(np.int64).max)
        np.minimum.at(first_published_at, self.class_of, self.published_at)
        return np.asarray((self.class_of >= 0) & (first_published_at[self.class_of] == self.published_at))

    def min_persons(self) -> int:
        """Return the least number of known persons of a class when it was first published.

        Records are counted if persons do not count.
        """
        persons = self.published.space.persons
        is_counted = self.is_first if persons is None else self.is_first & (persons >= 0)
        classes = self.class_of[is_counted]
        person_numbers = np.flatnonzero(is_counted) if persons is None else persons[is_counted].astype(np.int64)
        person_classes, _ = np.unique(np.stack((classes, person_numbers)), axis=1)
        return int(np.bincount(person_classes, minlength=len(self.published.class_sizes)).min())

    def metrics(self, names: Sequence[str]) -> dict[str, float]:
        """Return the values of the named metrics.

        If all records are suppressed, metrics that are about classes are NaN.
        """
        is_empty = self.published.n_published == 0
        return {
            n: math.nan if is_empty and n not in _METRICS_OF_ALL_RECORDS else float(STREAM_METRICS[n](self))
            for n in names
        }


def _table_metric(metric: Callable[[PublishedClusters], float]) -> Callable[[StreamOutcome], float]:
    """Return a metric of tables as a metric of streams: it is applied to the published classes."""
    return lambda of: metric(of.published)


STREAM_METRICS: dict[str, Callable[[StreamOutcome], float]] = {
    **{
        name: _table_metric(figure)
        for name, figure in (published_clusters.CLUSTER_METRICS | published_clusters.STREAM_METRICS).items()
    },
    "records": lambda of: of.published.space.rows,
    "k": StreamOutcome.min_persons,
    "average_delay": lambda of: float((of.published_at - of.arrived_at).mean()),
    "delay": lambda of: int((of.published_at - of.arrived_at).max()),
    "reuse": lambda of: 1 - int(of.is_first.sum()) / of.published.n_published,
}

_METRICS_OF_ALL_RECORDS = (
    "records",
    "suppressed",
    "suppression",
    "average_loss",
    "average_delay",
    "delay",
    "classes",
    "clusters",
)
"""Metrics that are about all records, suppressed or not, and counts."""
