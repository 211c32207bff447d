"""The scalar function behind compare(): an encoded table in, the metrics of many runs of algorithms on it out."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dbanon import algorithms, errors
from dbanon.algorithms.base.published_clusters import CLUSTER_METRICS, STREAM_METRICS
from dbanon.encoding.encoded_table import Attribute, EncodedTable, Ints, NumericAttribute
from dbanon.privacy_models.constraint import Constraint
from dbanon.runtime import session
from dbanon.udf import cluster_input, comparison_rows
from dbanon.udf.cluster import clustering_hash, request_constraint, run_request
from dbanon.udf.comparison_rows import COMPARISON_TYPE, WARMUP_CLUSTERS, Check, ComparedTable, ComparisonRun, OnProgress
from dbanon.udf.influence import with_influence


@cluster_input.answers_requests(COMPARISON_TYPE, with_records=True)
def dbanon_compare(request: dict[str, Any], records: Any, *domains: Any) -> Any:
    """Measure all runs (an algorithm with one k each) of a comparison; return a COMPARISON_TYPE array of length one.

    Args:
        request: The comparison, with its runs.
        records: The groups of equal records of its table, encoded (see `dbanon_cluster`).
        *domains: The domain of each attribute and of each sensitive column (see `dbanon_cluster`); the intervals that
            each numeric attribute publishes; the number of records of the source.

    Returns:
        STRUCT(rows STRUCT(place, run, algorithm, k, n, metric, mean, stddev, seconds, runs, problem)[], error VARCHAR)
        with one row per run and metric; a run that is refused has one row with the problem.
    """
    encoded = ComparedTable.from_records(request, records, domains)
    untied = _UntiedTable.from_records(request, records, domains, encoded.table)

    def make_run(run: dict[str, Any], check: Check, on_progress: OnProgress) -> _AlgorithmRun:
        """Return one run on the table that all runs share."""
        return _AlgorithmRun(run, encoded, check, untied, on_progress)

    return comparison_rows.comparison_array(request, encoded.table.rows, make_run)


@dataclass(frozen=True)
class _UntiedTable:
    """The encoded table in the row order that algorithms see if they read no sensitive values.

    Attributes:
        table: The encoded table in that order, without sensitive columns.
        canonical_row: (rows,) for each of its rows, the row of the shared table, in which sensitive values also order a
            person's records.
    """

    table: EncodedTable
    canonical_row: Ints

    @classmethod
    def from_records(
        cls, request: dict[str, Any], records: Any, domains: tuple[Any, ...], tied_table: EncodedTable
    ) -> _UntiedTable | None:
        """Encode the records again without sensitive columns, and with groups ordered without sensitive values.

        Returns None if both orders are equal, because the table has no persons or no sensitive columns.

        Args:
            request: The request of `dbanon_compare`.
            records: STRUCT array with one row per group of equal records (see `cluster_input.encode_records`).
            domains: The domains of the attributes, which come first, and further ones, which are ignored.
            tied_table: The encoded table in the order in which sensitive values also order a person's records.
        """
        if tied_table.persons is None or not tied_table.sensitive:
            return None
        table, _ = cluster_input.encode_records(
            request, records, domains[: len(request["attributes"])], with_ties=False
        )
        return cls(table, np.lexsort((np.arange(tied_table.rows), tied_table.persons, tied_table.tuple_of)))


@dataclass(frozen=True)
class _AlgorithmRun(ComparisonRun):
    """One algorithm with one k on one table.

    `untied` is None if the order of records does not depend on sensitive values.
    """

    untied: _UntiedTable | None
    on_progress: OnProgress

    @cached_property
    def table(self) -> EncodedTable:
        """The encoded table as the algorithm would see it in a call of its own.

        Sensitive columns, interval ends and magnitudes that the algorithm does not read are removed; without sensitive
        columns, the order of equal records does not depend on sensitive values. If the request has settings of a
        forest, attributes get their influence (see `with_influence`).
        """
        request = self.request
        reads_sensitive, with_magnitudes = request["looks"], request["magnitudes"]
        table = self.untied.table if self.untied is not None and not reads_sensitive else self.encoded.table
        attributes = tuple(
            _visible_attribute(
                a, is_snapped or with_magnitudes or (reads_sensitive and request["person"]), with_magnitudes
            )
            for a, is_snapped in zip(table.attributes, request["snapped"], strict=True)
        )
        table = replace(table, attributes=attributes, sensitive=table.sensitive if reads_sensitive else ())
        return table if request["forest"] is None else with_influence(table, request)

    @cached_property
    def constraint(self) -> Constraint:
        """The constraint of the run: k and the privacy models other than k."""
        return request_constraint(self.request)

    def measure(self, seed_offset: int) -> tuple[dict[str, float], float]:
        """Cluster the table once; return the requested metrics of the result by name, and the seconds of clustering.

        Args:
            seed_offset: Is added to the seed of the call, if the algorithm has one.

        Raises:
            KOutOfRangeError: If the table has fewer than k records (persons).
            DbanonError: If the algorithm refuses the table.
        """
        request = self.request
        comparison_rows.check_k(request, self.encoded.table)
        start = time.perf_counter()
        runs, options = self._find_clusters(self.table, seed_offset, self.on_progress)
        seconds = time.perf_counter() - start
        widened = algorithms.widen_clusters(
            algorithms.find(request["algorithm"]), self.table, self.constraint, options, runs
        )
        if self.untied is not None and not request["looks"]:
            labels = np.empty(self.encoded.table.rows, np.int64)
            labels[self.untied.canonical_row] = runs.labels()
            runs = algorithms.RunLengthLabels.from_labels(self.encoded.table, labels)
        clusters = self.encoded.published_clusters(request, runs, widened)
        metrics = CLUSTER_METRICS | STREAM_METRICS
        return {name: float(metrics[name](clusters)) for name in request["metrics"]}, seconds

    def prepare(self) -> None:
        """Cluster the first tuples of the table and discard the result, so that timed runs load and compile no kernels.

        The sample has about WARMUP_CLUSTERS * k records. A refusal is ignored; an interrupt is raised.
        """
        n_tuples = int(np.searchsorted(np.cumsum(self.table.counts), WARMUP_CLUSTERS * self.request["k"])) + 1
        sample = self.table.subset(np.arange(min(n_tuples, len(self.table.counts))))
        try:
            self._find_clusters(sample, 0, None)
        except errors.StatementInterruptedError:
            raise
        except errors.DbanonError:
            pass  # few records may miss what all of them meet

    def _find_clusters(
        self, table: EncodedTable, seed_offset: int, on_progress: OnProgress | None
    ) -> tuple[algorithms.RunLengthLabels, dict[str, Any]]:
        """Run the algorithm on a table; return the cluster of every record, and the options with the offset seed.

        The result is taken from the session's cache if it is there, unless runs are timed.

        Args:
            table: The encoded table, or a part of it.
            seed_offset: Is added to the option `seed`, if there is one.
            on_progress: Called with the share that is done and the loss that was removed; or None.
        """
        options = self.seeded_options(seed_offset)
        request = self.request | {"options": options}
        budget = None if request["improve"] is None else algorithms.SearchBudget(request["improve"])

        def compute() -> algorithms.RunLengthLabels:
            """Run the algorithm without the cache."""
            return run_request(request, table, self.constraint, budget, on_progress, self.check)

        if request["timed"]:
            return compute(), options
        cached_runs: algorithms.RunLengthLabels = session.session_by_token(request["session"]).cache.get(
            clustering_hash(request, table), compute
        )
        return cached_runs, options


def _visible_attribute(attribute: Attribute, with_ends: bool, with_magnitudes: bool) -> Attribute:
    """Return an attribute without interval ends unless `with_ends`, and without magnitudes unless `with_magnitudes`.

    The given attribute is not changed. Only numbers have interval ends.
    """
    attribute = attribute if with_magnitudes else replace(attribute, magnitudes=None)
    return attribute if with_ends or not isinstance(attribute, NumericAttribute) else replace(attribute, ends=None)
