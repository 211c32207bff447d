"""The scalar function behind compare() of streams: encoded records by arrival in, metrics of many runs on them out."""

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
from dbanon.udf import cluster_input, comparison_rows, stream
from dbanon.udf.comparison_rows import COMPARISON_TYPE, WARMUP_CLUSTERS, Check, ComparedTable, ComparisonRun, OnProgress


@cluster_input.answers_requests(COMPARISON_TYPE, with_records=True)
def dbanon_compare_streams(request: dict[str, Any], groups: Any, *inputs: Any) -> Any:
    """Measure all runs of a comparison on one stream; return an Arrow array of COMPARISON_TYPE with length one.

    Args:
        request: The comparison, with its runs (a stream algorithm with one k each).
        groups: The groups of equal records, as in dbanon_cluster.
        *inputs: The records with the group of each, then the domains of dbanon_compare.

    Returns:
        STRUCT(rows STRUCT(place, run, algorithm, k, n, metric, mean, stddev, seconds, runs, problem)[], error VARCHAR)
        with one row per run and metric; a run that is refused has one row with the problem.
    """
    encoded = ComparedTable.from_records(request, groups, inputs[1:])
    group, arrival = stream.arrival_groups(groups, inputs[0].values)
    rank = np.empty(len(groups), np.int64)
    rank[encoded.order] = np.arange(len(groups))
    arrival_order = _ArrivalOrder(groups, inputs[1:], group, arrival, np.argsort(rank[group], kind="stable"))

    def make_run(run: dict[str, Any], check: Check, on_progress: OnProgress) -> _StreamRun:
        """Return one run on the stream that all runs share; progress within a run is not reported."""
        return _StreamRun(run, encoded, check, arrival_order)

    return comparison_rows.comparison_array(request, encoded.table.rows, make_run)


@dataclass(frozen=True)
class _ArrivalOrder:
    """The records of a stream in the order of arrival.

    Attributes:
        groups: The groups of equal records, as a struct array.
        domains: The domains of attributes and sensitive columns, then further ones.
        group: (records,) the group of each record.
        arrival: (records,) the position of each record in the stream.
        canonical_row: For each row of the encoded table, the record (its number in the order of arrival).
    """

    groups: Any
    domains: tuple[Any, ...]
    group: Ints
    arrival: Ints
    canonical_row: Ints

    def arrivals(self, request: dict[str, Any]) -> Arrivals:
        """Build the input of a stream algorithm: all records in the order of arrival, decoded for the request."""
        domains = self.domains[: len(request["attributes"]) + len(request["sensitive"])]
        attributes = stream.decode_attributes(request, domains)
        people, _ = stream.stream_persons(request, self.groups, self.group, self.arrival, None)
        return stream.stream_arrivals(request, self.groups, domains, attributes, self.group, self.arrival, people)


@dataclass(frozen=True)
class _StreamRun(ComparisonRun):
    """One stream algorithm with one k on one stream."""

    arrival_order: _ArrivalOrder

    def measure(self, seed_offset: int) -> tuple[dict[str, float], float]:
        """Run the algorithm once; return the requested metrics of the result by name, and the seconds of the run.

        Args:
            seed_offset: Is added to the seed of the call, if the algorithm has one.

        Raises:
            KOutOfRangeError: If the stream has fewer than k records (persons).
        """
        comparison_rows.check_k(self.request, self.encoded.table)
        arrivals = self.arrival_order.arrivals(self.request)
        start = time.perf_counter()
        state = self._run_stream(arrivals, seed_offset)
        seconds = time.perf_counter() - start
        outcome = StreamOutcome(
            self._published_clusters(state),
            self.arrival_order.arrival[self.arrival_order.canonical_row],
            state.published_at[self.arrival_order.canonical_row],
        )
        return outcome.metrics(self.request["metrics"]), seconds

    def prepare(self) -> None:
        """Run the algorithm on the first WARMUP_CLUSTERS * k records and discard the result, to compile kernels."""
        self._run_stream(self.arrival_order.arrivals(self.request).head(WARMUP_CLUSTERS * self.request["k"]), 0)

    def _run_stream(self, arrivals: Arrivals, seed_offset: int) -> StreamState:
        """Run the stream algorithm on all arrivals, as at the end of the stream; return the final state.

        `seed_offset` is added to the option `seed`, if the algorithm has one.
        """
        request, options = self.request, self.seeded_options(seed_offset)
        model = StreamModel(request["k"], tuple(request["need"]))
        return streams.find(request["algorithm"]).run(arrivals, model, options, self.check, None, True)

    def _published_clusters(self, state: StreamState) -> PublishedClusters:
        """Return the classes of a final state, with the values that they publish, as clusters of the encoded table.

        Records that are not published (negative class) count as suppressed.
        """
        labels = state.class_ids[self.arrival_order.canonical_row]
        class_ids, labels[labels >= 0] = np.unique(labels[labels >= 0], return_inverse=True)
        runs = RunLengthLabels.from_labels(self.encoded.table, labels)
        return self.encoded.published_clusters(self.request, runs, self._maybe_ends(len(class_ids), runs))

    def _maybe_ends(self, n_classes: int, runs: RunLengthLabels) -> tuple[Ints, PublishedEnds] | None:
        """Return all cluster numbers and the published codes of each cluster; None if its records alone determine them.

        The result is None unless the algorithm publishes a NULL as the values of its class are published.

        Args:
            n_classes: The number of clusters.
            runs: The cluster of every record.
        """
        system, table = streams.find(self.request["algorithm"]), self.encoded.table
        if not system.maybe:
            return None
        lows = ClassBounds.from_labels(table, runs).low
        return np.arange(n_classes), PublishedEnds.covering(lows, self._greatest_codes(runs, lows))

    def _greatest_codes(self, runs: RunLengthLabels, lows: Ints) -> Ints:
        """Return each cluster's greatest code in each attribute, as a (clusters, attributes) array.

        NULL, which has the greatest code, counts only if all values of the cluster are NULL. `runs` has the cluster of
        every record; `lows` (clusters, attributes) are the least codes, and is not changed.
        """
        table, published, highs = self.encoded.table, runs.without_suppressed(), lows.copy()
        for j, attribute in enumerate(table.attributes):
            codes = table.codes[published.tuples, j]
            is_known = codes < attribute.values
            np.maximum.at(highs[:, j], published.clusters[is_known], codes[is_known])
        return highs
