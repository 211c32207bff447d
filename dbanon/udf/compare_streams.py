"""The scalar function that compare() calls about streams: encoded records in the order of arrival in, figures of many
runs on them out."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from dbanon.algorithms import PublishedEnds, RunLengthLabels, streams
from dbanon.algorithms.base.class_bounds import ClassBounds
from dbanon.algorithms.base.published_clusters import PublishedClusters
from dbanon.algorithms.streams import Arrivals, StreamModel, StreamState
from dbanon.algorithms.streams.metrics import StreamOutcome
from dbanon.encoding.encoded_table import Ints
from dbanon.udf import cluster_input, comparison_rows, stream_input
from dbanon.udf.comparison_rows import COMPARISON, FEW, Check, Encoded, Told


def dbanon_compare_streams(request: Any, rows: Any, *rest: Any) -> Any:
    """STRUCT(rows STRUCT(...)[], error VARCHAR) of each table of groups of records that are alike: a row a run and a
    metric. `rest`: the records, with the group of each, and what dbanon_compare is given."""
    return cluster_input.each(request, rows, rest, _compared, COMPARISON)


def _compared(asked: dict[str, Any], groups: Any, rest: list[Any]) -> Any:
    """Return the figures of all runs on one stream, as an array of one."""
    encoded = Encoded.of(asked, groups, rest[1:])
    of, arrived = stream_input.places(groups, rest[0].values)
    rank = np.empty(len(groups), np.int64)
    rank[encoded.order] = np.arange(len(groups))
    came = _Came(groups, rest[1:], of, arrived, np.argsort(rank[of], kind="stable"))

    def made(run: dict[str, Any], check: Check, told: Told) -> _Run:
        return _Run(run, encoded, came, check)

    return comparison_rows.rows_of(asked, encoded.table.rows, made)


@dataclass(frozen=True)
class _Came:
    """Records in the order of arrival: the group of each, at which place it arrived, and which of them each canonical
    row is (`row`)."""

    groups: Any
    domains: list[Any]
    of: Ints
    arrived: Ints
    row: Ints

    def arrivals(self, asked: dict[str, Any]) -> Arrivals:
        """As a system sees them."""
        domains = self.domains[: len(asked["attributes"]) + len(asked["sensitive"])]
        attributes = stream_input.attributes(asked, domains)
        people, _ = stream_input.people(asked, self.groups, self.of, self.arrived, None)
        return stream_input.arrivals(asked, self.groups, domains, attributes, self.of, self.arrived, people)


@dataclass(frozen=True)
class _Run:
    """One system with one k on one stream; `asked` is what the UDF of streams would be asked."""

    asked: dict[str, Any]
    encoded: Encoded
    came: _Came
    check: Check

    def figures(self, seed: int) -> tuple[dict[str, float], float]:
        """See Measured; KOutOfRangeError."""
        comparison_rows.check_k(self.asked, self.encoded.table)
        came = self.came.arrivals(self.asked)
        began = time.perf_counter()
        state = self._left(came, seed)
        seconds = time.perf_counter() - began
        left = StreamOutcome(
            self._published(state), self.came.arrived[self.came.row], state.published_at[self.came.row]
        )
        return left.metrics(self.asked["metrics"]), seconds

    def prepare(self) -> None:
        """See Measured."""
        self._left(self.came.arrivals(self.asked).head(FEW * self.asked["k"]), 0)

    def _left(self, came: Arrivals, seed: int) -> StreamState:
        asked, options = self.asked, dict(self.asked["options"])
        if "seed" in options:
            options["seed"] += seed
        model = StreamModel(asked["k"], tuple(asked["need"]))
        return streams.find(asked["algorithm"]).run(came, model, options, self.check, None, True)

    def _published(self, state: StreamState) -> PublishedClusters:
        """What the records are published with once all have left."""
        labels = state.class_ids[self.came.row]
        numbers, labels[labels >= 0] = np.unique(labels[labels >= 0], return_inverse=True)
        runs = RunLengthLabels.from_labels(self.encoded.table, labels)
        return self.encoded.published(self.asked, runs, self._wide(state, numbers, runs))

    def _wide(self, state: StreamState, numbers: Ints, runs: RunLengthLabels) -> tuple[Ints, PublishedEnds] | None:
        """The codes of classes that publish something else than their records span; NULL is the code after the last."""
        system, table = streams.find(self.asked["algorithm"]), self.encoded.table
        if not system.maybe and not system.widens:
            return None
        span = ClassBounds.from_labels(table, runs)
        after = np.array([a.values for a in table.attributes])
        if system.maybe:  # a NULL is published as the class is
            ends = PublishedEnds.covering(span.low, self._greatest(runs, span.low))
            return np.arange(len(numbers)), ends
        low, high = (ends[numbers] for ends in stream_input.wide(list(table.attributes), state))
        has_null = span.high == after
        low, high = np.where(span.low == after, after, low), np.where(has_null, after, high)
        return np.arange(len(numbers)), PublishedEnds.covering(low, high)

    def _greatest(self, runs: RunLengthLabels, least: Ints) -> Ints:
        """Return the greatest codes of clusters, of values alone where these have any."""
        table, kept, high = self.encoded.table, runs.without_suppressed(), least.copy()
        for j, attribute in enumerate(table.attributes):
            codes = table.codes[kept.tuples, j]
            known = codes < attribute.values
            np.maximum.at(high[:, j], kept.clusters[known], codes[known])
        return high
