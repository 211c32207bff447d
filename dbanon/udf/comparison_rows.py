"""Run a comparison on one encoded table and return its metrics as the rows of compare(), for tables and streams."""

from __future__ import annotations

import statistics
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon import errors
from dbanon.algorithms import PublishedEnds, RunLengthLabels
from dbanon.algorithms.base.cluster_query_error import RangeQueries
from dbanon.algorithms.base.loss import leaf_heights
from dbanon.algorithms.base.published_clusters import PublishedClusters, PublishedIntervals, ValueGaps
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.runtime import session
from dbanon.udf import cluster_input

ROWS_TYPE = pa.list_(
    pa.struct(
        [("place", pa.int32()), ("run", pa.int32()), ("algorithm", pa.string()), ("k", pa.int32()), ("n", pa.int64()),
         ("metric", pa.string()), *((n, pa.float64()) for n in ("mean", "stddev", "seconds")),
         ("runs", pa.int32()), ("problem", pa.string())]
    )
)  # fmt: skip
COMPARISON_TYPE = pa.struct([("rows", ROWS_TYPE), ("error", pa.string())])

_RUN_LOCK = threading.Lock()
"""DuckDB may work on several tables at once, but the seconds of runs are comparable only if one runs at a time."""

WARMUP_CLUSTERS = 8
"""Clusters in the run before the first timed one, during which kernels are loaded or compiled."""

Check = Callable[[], None]
OnProgress = Callable[[float, float], None]


@dataclass(frozen=True)
class ComparisonRun(ABC):
    """One algorithm with one k on one table or stream, which can be run repeatedly.

    `request` is what the UDF of the algorithm would receive; `check` raises an error after an interrupt.
    """

    request: dict[str, Any]
    encoded: ComparedTable
    check: Check

    @abstractmethod
    def prepare(self) -> None:
        """Run the algorithm on few records and discard the result, so that no timed run compiles its kernels."""

    @abstractmethod
    def measure(self, seed_offset: int) -> tuple[dict[str, float], float]:
        """Run the algorithm once; return the requested metrics of the result by name, and the seconds of clustering.

        Args:
            seed_offset: Is added to the seed of the call, if the algorithm has one.

        Raises:
            DbanonError: If the run is refused.
        """

    def seeded_options(self, seed_offset: int) -> dict[str, Any]:
        """Return a copy of the algorithm's options; `seed_offset` is added to the option `seed`, if there is one."""
        options: dict[str, Any] = self.request["options"]
        return options | ({"seed": options["seed"] + seed_offset} if "seed" in options else {})


@dataclass(frozen=True)
class ComparedTable:
    """The encoded table that all runs share, with what its metrics need.

    Attributes:
        table: The encoded table.
        order: The canonical order of its groups of equal records.
        intervals: The intervals in which each numeric attribute is published, in the order of these attributes.
        n_source_records: The number of records of the source, including those that are not clustered.
        queries: Random range queries that are asked of the releases; None if their error is not measured.
    """

    table: EncodedTable
    order: Ints
    intervals: list[PublishedIntervals]
    n_source_records: int
    queries: RangeQueries | None

    @classmethod
    def from_records(cls, request: dict[str, Any], records: Any, domains: tuple[Any, ...]) -> ComparedTable:
        """Encode the records of a comparison; draw random range queries if the metric `query_error` is requested.

        Args:
            request: The request of dbanon_compare.
            records: STRUCT array with one row per group of equal records: their codes and number (see
                `cluster_input.encode_records`).
            domains: The meaning of the codes of each attribute, then of each sensitive column; then the intervals in
                which each number is published; last, an array whose only value is the number of records of the source.
        """
        n_numbers = sum(a["kind"] == "number" for a in request["attributes"])
        domains, n_source_records = domains[:-1], domains[-1][0].as_py()
        intervals = [_published_interval(domain) for domain in domains[len(domains) - n_numbers :]]
        table, order = cluster_input.encode_records(request, records, domains[: len(domains) - n_numbers])
        has_queries = "query_error" in request["metrics"] and request["queries"]
        queries = RangeQueries.draw(table, intervals, request["steps"], request["queries"]) if has_queries else None
        return cls(table, order, intervals, n_source_records, queries)

    def published_clusters(
        self, request: dict[str, Any], runs: RunLengthLabels, widened: tuple[Ints, PublishedEnds] | None
    ) -> PublishedClusters:
        """Combine a run's clusters with all that metrics of its release need.

        Args:
            request: The request of the run.
            runs: The cluster of every record.
            widened: The clusters that publish more than their records span, with their codes; None if there are none.
        """
        return PublishedClusters(
            self.table,
            request["k"],
            runs,
            widened,
            self.intervals,
            request["heights"],
            self.n_source_records,
            self.queries,
            leaf_heights(request["leaves"]),
        )


def comparison_array(
    request: dict[str, Any], n_records: int, make_run: Callable[[dict[str, Any], Check, OnProgress], ComparisonRun]
) -> Any:
    """Measure all runs on one table in turn; return their rows as an Arrow array of COMPARISON_TYPE with length one.

    Each run is repeated as often as its request says, with seed offsets 0, 1, ... A run that is refused gets a single
    row with the problem. If runs are timed, each algorithm is prepared before its first run. Only one comparison of the
    process runs at a time. The session's progress callback is called, and its `n_compared` is increased (after the last
    comparison of the statement, it becomes 0).

    Raises:
        StatementInterruptedError: After an interrupt.

    Args:
        request: The comparison: its runs, its metrics, and whether runs are timed.
        n_records: The number of clustered records.
        make_run: Returns a run from its request, an interrupt check, and a callback for progress.
    """
    current_session = session.session_by_token(request["session"])
    n_total = sum(run.get("repeat", 0) for run in request["runs"])
    n_done, warmed_up, rows = 0, set[str](), list[dict[str, object]]()

    def report_progress(fraction_done: float, loss_removed: float = 0.0) -> None:
        """Pass the progress of all comparisons of the statement to the session's callback, if it has one.

        `fraction_done` is the share of the current run that is done; `loss_removed` is ignored.
        """
        if current_session.on_progress is not None:
            current_session.on_progress(
                (current_session.n_compared + (n_done + fraction_done) / n_total) / request["parts"], 0.0
            )

    with cluster_input.interrupt_check(request) as check, _RUN_LOCK:
        for number, run_request in enumerate(request["runs"]):
            run = make_run({**request, **run_request}, check, report_progress)
            results, n_done_before = [], n_done
            problem = run_request.get("problem")
            try:
                if problem is None and request["timed"] and run_request["algorithm"] not in warmed_up:
                    run.prepare()
                    warmed_up.add(run_request["algorithm"])
                for seed in range(run_request.get("repeat", 0)):
                    results.append(run.measure(seed))
                    n_done += 1
            except errors.StatementInterruptedError:
                raise
            except errors.DbanonError as error:
                problem = str(error)
            n_done = n_done_before + run_request.get("repeat", 0)
            rows += _run_rows(
                {**request, **run_request}, n_records, results, problem, {"run": number, "place": len(rows)}
            )
        # A prepared statement runs again without being planned again.
        current_session.n_compared = (current_session.n_compared + 1) % request["parts"]
    return pa.array([{"rows": rows}], COMPARISON_TYPE)


def check_k(request: dict[str, Any], table: EncodedTable) -> None:
    """Check that the table has at least k records; if it has persons, at least k distinct known persons.

    Raises:
        KOutOfRangeError: If it has fewer.
    """
    units = table.rows if table.persons is None else len(np.unique(table.persons[table.persons >= 0]))
    if units < request["k"]:
        raise errors.KOutOfRangeError(
            request["function"], units, request["table"], "persons" if request["person"] else "rows", request["k"]
        )


def _run_rows(
    request: dict[str, Any],
    n_records: int,
    results: list[tuple[dict[str, float], float]],
    problem: str | None,
    place: dict[str, int],
) -> list[dict[str, object]]:
    """Return the rows of one run: one per metric with mean and standard deviation, or a single row with the problem.

    Args:
        request: The request of the run.
        n_records: The number of clustered records.
        results: The metrics and the seconds of each repetition.
        problem: The message if the run was refused; None otherwise.
        place: The number of the run, and the place of its first row in the result.
    """
    common_fields = place | {"algorithm": request["algorithm"], "k": request["k"], "n": n_records, "runs": len(results)}
    if problem is not None:
        return [common_fields | {"problem": problem}]
    common_fields |= {"seconds": statistics.fmean(seconds for _, seconds in results)}
    return [
        common_fields
        | {"place": place["place"] + i, "metric": name, **_mean_and_stddev([figures[name] for figures, _ in results])}
        for i, name in enumerate(request["metrics"])
    ]


def _mean_and_stddev(values: list[float]) -> dict[str, float | None]:
    """Return a dict with the keys `mean` and `stddev` (sample standard deviation) of some values.

    The standard deviation of one value is None; both are None if the metric is not defined (a value is NaN).
    """
    if np.isnan(values).any():
        return {"mean": None, "stddev": None}
    return {"mean": statistics.fmean(values), "stddev": statistics.stdev(values) if len(values) > 1 else None}


def _published_interval(domain: Any) -> PublishedIntervals:
    """Decode the intervals that a numeric attribute publishes, and the gaps between its values, from a domain."""
    place, below, above = (
        cluster_input.list_numbers(domain.field(end), np.float64) for end in ("place", "below", "above")
    )
    low, high = (cluster_input.list_numbers(domain.field(end), np.int64) for end in ("low", "high"))
    gaps = (
        cluster_input.list_numbers(domain.field(name), np.float64)
        for name in ("step", "place_step", "below_gap", "above_gap")
    )
    return PublishedIntervals(place, below, above, low, high, ValueGaps(*gaps))
