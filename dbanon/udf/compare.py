"""The scalar function that compare() calls: an encoded table in, the figures of many runs on it out."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dbanon import algorithms, errors
from dbanon.algorithms.base.cluster_metrics import CLUSTER_METRICS, STREAM_METRICS
from dbanon.encoding.encoded_table import Attribute, EncodedTable, Ints, NumericAttribute
from dbanon.privacy_models.constraint import Constraint
from dbanon.runtime import session
from dbanon.udf import cluster_input, comparison_rows
from dbanon.udf.cluster import content, limits_of
from dbanon.udf.comparison_rows import COMPARISON, FEW, Check, Encoded, Told
from dbanon.udf.influence import influenced


def dbanon_compare(request: Any, rows: Any, *domains: Any) -> Any:
    """STRUCT(rows STRUCT(...)[], error VARCHAR) of each table of groups of equal records: a row a run and a metric.

    `domains` are those of dbanon_cluster, and then how each number is published, and how many records the table has.
    """
    return cluster_input.each(request, rows, domains, _compared, COMPARISON)


def _compared(asked: dict[str, Any], records: Any, domains: list[Any]) -> Any:
    """Return the figures of all runs on one table, as an array of one."""
    encoded = Encoded.of(asked, records, domains)
    unread = _Unread.of(asked, records, domains, encoded.table)

    def made(run: dict[str, Any], check: Check, told: Told) -> _Run:
        return _Run(run, encoded, unread, check, told)

    return comparison_rows.rows_of(asked, encoded.table.rows, made)


@dataclass(frozen=True)
class _Unread:
    """The table as it is clustered where nothing looks at sensitive values: these do not order a person's records.

    `row[i]` is the canonical row, in the table that has them, of its row i.
    """

    table: EncodedTable
    row: Ints

    @classmethod
    def of(cls, asked: dict[str, Any], records: Any, domains: list[Any], read: EncodedTable) -> _Unread | None:
        """None where the order is the same."""
        if read.persons is None or not read.sensitive:
            return None
        table, _ = cluster_input.table(asked, records, domains[: len(asked["attributes"])], tied=False)
        return cls(table, np.lexsort((np.arange(read.rows), read.persons, read.tuple_of)))


@dataclass(frozen=True)
class _Run:
    """One algorithm with one k on one table; `asked` is what the clustering UDF would be asked."""

    asked: dict[str, Any]
    encoded: Encoded
    unread: _Unread | None
    check: Check
    told: Told

    @cached_property
    def table(self) -> EncodedTable:
        """The table as the algorithm would see it alone."""
        asked = self.asked
        looks, magnitudes = asked["looks"], asked["magnitudes"]
        own = self.unread.table if self.unread is not None and not looks else self.encoded.table
        attributes = tuple(
            _seen(a, snapped or magnitudes or (looks and asked["person"]), magnitudes)
            for a, snapped in zip(own.attributes, asked["snapped"], strict=True)
        )
        own = replace(own, attributes=attributes, sensitive=own.sensitive if looks else ())
        return own if asked["forest"] is None else influenced(own, asked)

    @cached_property
    def limits(self) -> Constraint:
        """The privacy model."""
        return limits_of(self.asked)

    def figures(self, seed: int) -> tuple[dict[str, float], float]:
        """See Measured; KOutOfRangeError, and what the algorithm raises."""
        asked = self.asked
        comparison_rows.check_k(asked, self.encoded.table)
        began = time.perf_counter()
        runs, options = self._clusters(self.table, seed, self.told)
        seconds = time.perf_counter() - began
        wide = algorithms.widen_clusters(algorithms.find(asked["algorithm"]), self.table, self.limits, options, runs)
        if self.unread is not None and not asked["looks"]:
            labels = np.empty(self.encoded.table.rows, np.int64)
            labels[self.unread.row] = runs.labels()
            runs = algorithms.RunLengthLabels.from_labels(self.encoded.table, labels)
        published = self.encoded.published(asked, runs, wide)
        every = CLUSTER_METRICS | STREAM_METRICS
        return {name: float(every[name](published)) for name in asked["metrics"]}, seconds

    def prepare(self) -> None:
        """See Measured."""
        enough = int(np.searchsorted(np.cumsum(self.table.counts), FEW * self.asked["k"])) + 1
        few = self.table.subset(np.arange(min(enough, len(self.table.counts))))
        try:
            self._clusters(few, 0, None)
        except errors.StatementInterruptedError:
            raise
        except errors.DbanonError:
            pass  # few records may miss what all of them meet

    def _clusters(
        self, table: EncodedTable, seed: int, told: Told | None
    ) -> tuple[algorithms.RunLengthLabels, dict[str, Any]]:
        """Return the clusters of a table, and the options that they were made with."""
        asked, options = self.asked, dict(self.asked["options"])
        if "seed" in options:
            options["seed"] += seed
        names = algorithms.MessageNames(
            tuple(a["name"] for a in asked["attributes"]), asked["sensitive"], asked["function"]
        )
        budget = None if asked["improve"] is None else algorithms.SearchBudget(asked["improve"])
        refinement = algorithms.Refinement(asked["suppress"], asked["heights"], budget, told, asked["objective"])
        algorithm = algorithms.find(asked["algorithm"])

        def compute() -> algorithms.RunLengthLabels:
            return algorithms.run_algorithm(
                algorithm, table, self.limits, options, names, refinement, self.check, cell=asked["cell"]
            )

        if asked["timed"]:
            return compute(), options
        found: algorithms.RunLengthLabels = session.session_by_token(asked["session"]).cache.get(
            content(asked | {"options": options}, table), compute
        )
        return found, options


def _seen(attribute: Attribute, ends: bool, magnitudes: bool) -> Attribute:
    """Return an attribute with what an algorithm is told of it."""
    attribute = attribute if magnitudes else replace(attribute, magnitudes=None)
    return attribute if ends or not isinstance(attribute, NumericAttribute) else replace(attribute, ends=None)
