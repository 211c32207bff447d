"""The scalar function that compare() calls: an encoded table in, the figures of many runs on it out."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon import cluster, errors, session
from dbanon.cluster.figures import FIGURES, Interval, Published
from dbanon.cluster.queries import Questions
from dbanon.engine import tables
from dbanon.engine.udf import content, influenced
from dbanon.models.constraint import AtLeast
from dbanon.models.demand import Demand
from dbanon.space.space import Attribute, Ints, Number, Space

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


def dbanon_compare(request: Any, rows: Any, *domains: Any) -> Any:
    """STRUCT(rows STRUCT(...)[], error VARCHAR) of each table of groups of equal records: a row a run and a metric.

    `domains` are those of dbanon_cluster, and then how each number is published, and how many records the table has.
    """
    return tables.each(request, rows, domains, _compared, COMPARISON)


def _compared(asked: dict[str, Any], records: Any, domains: list[Any]) -> Any:
    """The figures of all runs on one table, as an array of one."""
    numbers = sum(a["kind"] == "number" for a in asked["attributes"])
    domains, came = domains[:-1], domains[-1][0].as_py()
    intervals = [_interval(domain) for domain in domains[len(domains) - numbers :]]
    table, _ = tables.table(asked, records, domains[: len(domains) - numbers])
    unread = _Unread.of(asked, records, domains, table)
    asks = "query_error" in asked["metrics"] and asked["queries"]
    questions = Questions.of(table, intervals, asked["steps"], asked["queries"]) if asks else None
    current = session.get(asked["session"])
    total = sum(run.get("repeat", 0) for run in asked["runs"])
    done, known, rows = 0, set[str](), list[dict[str, object]]()

    def told(share: float, saved: float = 0.0) -> None:
        if current.told is not None:
            current.told((current.compared + (done + share) / total) / asked["parts"], 0.0)

    with session.interruptible(current, lambda: errors.Interrupted(asked["function"])) as check, _ONE_AT_A_TIME:
        for number, of in enumerate(asked["runs"]):
            run = _Run({**asked, **of}, table, unread, intervals, came, questions, check, told)
            found, before = [], done
            problem = of.get("problem")
            try:
                if problem is None and asked["timed"] and of["algorithm"] not in known:
                    run.prepare()
                    known.add(of["algorithm"])
                for seed in range(of.get("repeat", 0)):
                    found.append(run.figures(seed))
                    done += 1
            except errors.Interrupted:
                raise
            except errors.DbanonError as error:
                problem = str(error)
            done = before + of.get("repeat", 0)
            rows += _rows(run.asked, table.rows, found, problem, {"run": number, "place": len(rows)})
        # A prepared statement runs again without being planned again.
        current.compared = (current.compared + 1) % asked["parts"]
    values = pa.array(rows, ROWS.value_type)
    return pa.StructArray.from_arrays([tables.one(values, ROWS), pa.nulls(1, pa.string())], fields=list(COMPARISON))


@dataclass(frozen=True)
class _Unread:
    """The table as it is clustered where nothing looks at sensitive values: these do not order a person's records.
    `row[i]` is the canonical row, in the table that has them, of its row i."""

    table: Space
    row: Ints

    @classmethod
    def of(cls, asked: dict[str, Any], records: Any, domains: list[Any], read: Space) -> _Unread | None:
        """None where the order is the same."""
        if read.persons is None or not read.sensitive:
            return None
        table, _ = tables.table(asked, records, domains[: len(asked["attributes"])], tied=False)
        return cls(table, np.lexsort((np.arange(read.rows), read.persons, read.tuple_of)))


@dataclass(frozen=True)
class _Run:
    """One algorithm with one k on one table; `asked` is what the clustering UDF would be asked."""

    asked: dict[str, Any]
    plain: Space
    unread: _Unread | None
    intervals: list[Interval]
    came: int
    questions: Questions | None
    check: Callable[[], None]
    told: Callable[[float, float], None]

    @cached_property
    def table(self) -> Space:
        """The table as the algorithm would see it alone."""
        asked = self.asked
        looks, magnitudes = asked["looks"], asked["magnitudes"]
        own = self.unread.table if self.unread is not None and not looks else self.plain
        attributes = tuple(
            _seen(a, snapped or magnitudes or (looks and asked["person"]), magnitudes)
            for a, snapped in zip(own.attributes, asked["snapped"], strict=True)
        )
        own = replace(own, attributes=attributes, sensitive=own.sensitive if looks else ())
        return own if asked["forest"] is None else influenced(own, asked)

    @cached_property
    def limits(self) -> AtLeast:
        """The privacy model."""
        models = tuple(Demand(**fields) for fields in self.asked["models"])
        return AtLeast(self.asked["k"], models, self.asked["joint"])

    def figures(self, seed: int) -> tuple[dict[str, float], float]:
        """The metrics of the clusters with a seed, so many after the first, and the seconds that clustering took;
        KOutOfRange, and what the algorithm raises."""
        asked, persons = self.asked, self.plain.persons
        units = self.plain.rows if persons is None else len(np.unique(persons[persons >= 0]))
        if units < asked["k"]:
            unit = "persons" if asked["person"] else "rows"
            raise errors.KOutOfRange(asked["function"], asked["table"], asked["k"], units, unit)
        began = time.perf_counter()
        runs, options = self._clusters(self.table, seed, self.told)
        seconds = time.perf_counter() - began
        wide = cluster.widened(cluster.find(asked["algorithm"]), self.table, self.limits, options, runs)
        if self.unread is not None and not asked["looks"]:
            labels = np.empty(self.plain.rows, np.int64)
            labels[self.unread.row] = runs.labels()
            runs = cluster.Runs.from_labels(self.plain, labels)
        published = Published(
            self.plain, asked["k"], runs, wide, self.intervals, asked["heights"], self.came, self.questions
        )
        return {name: float(FIGURES[name](published)) for name in asked["metrics"]}, seconds

    def prepare(self) -> None:
        """Runs the algorithm on few records, so that no run that is timed loads or compiles its kernels."""
        enough = int(np.searchsorted(np.cumsum(self.table.counts), FEW * self.asked["k"])) + 1
        few = self.table.part(np.arange(min(enough, len(self.table.counts))))
        try:
            self._clusters(few, 0, None)
        except errors.Interrupted:
            raise
        except errors.DbanonError:
            pass  # few records may miss what all of them meet

    def _clusters(
        self, table: Space, seed: int, told: Callable[[float, float], None] | None
    ) -> tuple[cluster.Runs, dict[str, Any]]:
        """The clusters of a table, and the options that they were made with."""
        asked, options = self.asked, dict(self.asked["options"])
        if "seed" in options:
            options["seed"] += seed
        names = cluster.Names(tuple(a["name"] for a in asked["attributes"]), asked["sensitive"], asked["function"])
        budget = None if asked["improve"] is None else cluster.Budget(asked["improve"])
        refinement = cluster.Refinement(asked["suppress"], asked["heights"], budget, told)
        algorithm = cluster.find(asked["algorithm"])

        def compute() -> cluster.Runs:
            return cluster.run(
                algorithm, table, self.limits, options, names, refinement, self.check, cell=asked["cell"]
            )

        if asked["timed"]:
            return compute(), options
        found: cluster.Runs = session.get(asked["session"]).cache.get(
            content(asked | {"options": options}, table), compute
        )
        return found, options


def _seen(attribute: Attribute, ends: bool, magnitudes: bool) -> Attribute:
    """An attribute with what an algorithm is told of it."""
    attribute = attribute if magnitudes else replace(attribute, magnitudes=None)
    return attribute if ends or not isinstance(attribute, Number) else replace(attribute, ends=None)


def _rows(
    asked: dict[str, Any],
    records: int,
    found: list[tuple[dict[str, float], float]],
    problem: str | None,
    place: dict[str, int],
) -> list[dict[str, object]]:
    """Rows of one run: one a metric, or the one that says why there is none."""
    told = place | {"algorithm": asked["algorithm"], "k": asked["k"], "n": records, "runs": len(found)}
    if problem is not None:
        return [told | {"problem": problem}]
    told |= {"seconds": statistics.fmean(seconds for _, seconds in found)}
    return [
        told | {"place": place["place"] + i, "metric": name, **_spread([figures[name] for figures, _ in found])}
        for i, name in enumerate(asked["metrics"])
    ]


def _spread(values: list[float]) -> dict[str, float | None]:
    """Mean and sample standard deviation; None of one value, and where the table has no such metric."""
    if np.isnan(values).any():
        return {"mean": None, "stddev": None}
    return {"mean": statistics.fmean(values), "stddev": statistics.stdev(values) if len(values) > 1 else None}


def _interval(domain: Any) -> Interval:
    """How a number is published."""
    places = (tables.flat(domain.field(end), np.float64) for end in ("place", "below", "above"))
    return Interval(*places, *(tables.flat(domain.field(end), np.int64) for end in ("low", "high")))
