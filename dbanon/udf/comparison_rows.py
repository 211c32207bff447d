"""What runs on one encoded table lose and leave at risk, as the rows of compare(): of tables and of streams alike."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from dbanon import errors
from dbanon.algorithms import PublishedEnds, RunLengthLabels
from dbanon.algorithms.base.cluster_query_error import RangeQueries
from dbanon.algorithms.base.published_clusters import PublishedClusters, PublishedIntervals, ValueGaps
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.runtime import session
from dbanon.udf import cluster_input

ROWS = pa.list_(
    pa.struct(
        [("place", pa.int32()), ("run", pa.int32()), ("algorithm", pa.string()), ("k", pa.int32()), ("n", pa.int64()),
         ("metric", pa.string()), *((n, pa.float64()) for n in ("mean", "stddev", "seconds")),
         ("runs", pa.int32()), ("problem", pa.string())]
    )
)  # fmt: skip
COMPARISON = pa.struct([("rows", ROWS), ("error", pa.string())])

_ONE_AT_A_TIME = threading.Lock()
"""DuckDB may work on several tables at once; two runs at a time would take each other's seconds."""

FEW = 8
"""Clusters of the run before the first that counts, in which kernels are loaded or compiled."""

Check = Callable[[], None]
Told = Callable[[float, float], None]


class Measured(Protocol):
    """One algorithm with one k on one table."""

    def prepare(self) -> None:
        """Run the algorithm on few records, so that no timed run loads or compiles its kernels."""

    def figures(self, seed: int) -> tuple[dict[str, float], float]:
        """The metrics with a seed, so many after the first, and the seconds of clustering; a DbanonError where the run
        is refused."""


@dataclass(frozen=True)
class Encoded:
    """A table that all runs share: as codes, with the canonical order of its groups of equal records, how each number
    is published, how many records came, those too that are not to be clustered, and what is asked of the releases."""

    table: EncodedTable
    order: Ints
    intervals: list[PublishedIntervals]
    came: int
    questions: RangeQueries | None

    @classmethod
    def of(cls, asked: dict[str, Any], records: Any, domains: list[Any]) -> Encoded:
        """From groups of records and what dbanon_compare is given beside."""
        numbers = sum(a["kind"] == "number" for a in asked["attributes"])
        domains, came = domains[:-1], domains[-1][0].as_py()
        intervals = [_interval(domain) for domain in domains[len(domains) - numbers :]]
        table, order = cluster_input.table(asked, records, domains[: len(domains) - numbers])
        asks = "query_error" in asked["metrics"] and asked["queries"]
        questions = RangeQueries.draw(table, intervals, asked["steps"], asked["queries"]) if asks else None
        return cls(table, order, intervals, came, questions)

    def published(
        self, asked: dict[str, Any], runs: RunLengthLabels, wide: tuple[Ints, PublishedEnds] | None
    ) -> PublishedClusters:
        """What clusters publish, `wide` ones more than they span."""
        heights = asked["heights"]
        return PublishedClusters(self.table, asked["k"], runs, wide, self.intervals, heights, self.came, self.questions)


def rows_of(asked: dict[str, Any], records: int, made: Callable[[dict[str, Any], Check, Told], Measured]) -> Any:
    """The rows of all runs on a table of so many records, as an array of one COMPARISON; `made` gives a run of what is
    asked of it alone, of what asks whether it was interrupted, and of what is told how far it is."""
    current = session.session_by_token(asked["session"])
    total = sum(run.get("repeat", 0) for run in asked["runs"])
    done, known, rows = 0, set[str](), list[dict[str, object]]()

    def told(share: float, saved: float = 0.0) -> None:
        if current.on_progress is not None:
            current.on_progress((current.n_compared + (done + share) / total) / asked["parts"], 0.0)

    with cluster_input.interruptible(asked) as check, _ONE_AT_A_TIME:
        for number, of in enumerate(asked["runs"]):
            run = made({**asked, **of}, check, told)
            found, before = [], done
            problem = of.get("problem")
            try:
                if problem is None and asked["timed"] and of["algorithm"] not in known:
                    run.prepare()
                    known.add(of["algorithm"])
                for seed in range(of.get("repeat", 0)):
                    found.append(run.figures(seed))
                    done += 1
            except errors.StatementInterruptedError:
                raise
            except errors.DbanonError as error:
                problem = str(error)
            done = before + of.get("repeat", 0)
            rows += _rows({**asked, **of}, records, found, problem, {"run": number, "place": len(rows)})
        # A prepared statement runs again without being planned again.
        current.n_compared = (current.n_compared + 1) % asked["parts"]
    values = pa.array(rows, ROWS.value_type)
    return pa.StructArray.from_arrays(
        [cluster_input.one(values, ROWS), pa.nulls(1, pa.string())], fields=list(COMPARISON)
    )


def check_k(asked: dict[str, Any], table: EncodedTable) -> None:
    """KOutOfRangeError where the table has fewer records (persons) than a class needs."""
    persons = table.persons
    units = table.rows if persons is None else len(np.unique(persons[persons >= 0]))
    if units < asked["k"]:
        unit = "persons" if asked["person"] else "rows"
        raise errors.KOutOfRangeError(asked["function"], units, asked["table"], unit, asked["k"])


def _rows(
    asked: dict[str, Any],
    records: int,
    found: list[tuple[dict[str, float], float]],
    problem: str | None,
    place: dict[str, int],
) -> list[dict[str, object]]:
    """Return rows of one run: one a metric, or the one that says why there is none."""
    told = place | {"algorithm": asked["algorithm"], "k": asked["k"], "n": records, "runs": len(found)}
    if problem is not None:
        return [told | {"problem": problem}]
    told |= {"seconds": statistics.fmean(seconds for _, seconds in found)}
    return [
        told | {"place": place["place"] + i, "metric": name, **_spread([figures[name] for figures, _ in found])}
        for i, name in enumerate(asked["metrics"])
    ]


def _spread(values: list[float]) -> dict[str, float | None]:
    """Return the mean and sample standard deviation; None of one value, and where the table has no such metric."""
    if np.isnan(values).any():
        return {"mean": None, "stddev": None}
    return {"mean": statistics.fmean(values), "stddev": statistics.stdev(values) if len(values) > 1 else None}


def _interval(domain: Any) -> PublishedIntervals:
    """How a number is published."""
    place, below, above = (cluster_input.flat(domain.field(end), np.float64) for end in ("place", "below", "above"))
    low, high = (cluster_input.flat(domain.field(end), np.int64) for end in ("low", "high"))
    gaps = (
        cluster_input.flat(domain.field(name), np.float64) for name in ("step", "place_step", "below_gap", "above_gap")
    )
    return PublishedIntervals(place, below, above, low, high, ValueGaps(*gaps))
