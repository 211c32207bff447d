"""The privacy model of a run as one argument of every algorithm.

An algorithm asks whether a group suffices, how many candidates (in the order in which they would join) make it
suffice, and whether the remaining records can still form a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dbanon.encoding.encoded_table import AnyInts, Bools, EncodedTable, Ints
from dbanon.privacy_models.model_request import ModelRequirement

MAX_VALUE_COUNTS = 2**20
"""Numbers of records by group and value that are held at a time."""


class MergeableClusters(Protocol):
    """Groups of records, by number."""

    def unions_satisfy(self, cluster: int, others: Ints) -> Bools:
        """Return whether the union of a group with each of some others makes a group."""

    def merge(self, keep: int, absorbed_cluster: int) -> None:
        """Put the records of one group into another."""


@dataclass(frozen=True)
class Constraint:
    """A privacy model: k-anonymity (Samarati and Sweeney 1998), k records, or k distinct persons where the space has
    persons; and models of the sensitive values, which count the same. Rows are canonical row numbers of one space.

    Attributes:
        k: Least number of records, or of persons, in a group.
        models: What is asked of the sensitive values of a group.
        joint: Whether every sensitive column is judged within equal values of the others.
    """

    k: int
    models: tuple[ModelRequirement, ...] = ()
    joint: bool = False

    @property
    def min_records(self) -> int:
        """No group of fewer records can be enough."""
        return max([self.k, *(m.min_records for m in self.models)])

    @property
    def parameter_text(self) -> str:
        """The whole model as parameters of a call."""
        return ", ".join(dict.fromkeys([f"k = {self.k}", *(m.parameter_text for m in self.models)]))

    def counts_only_records(self, space: EncodedTable) -> bool:
        """Return whether any `least` records make a group, whatever they are."""
        return space.persons is None and not self.models

    def is_met_by_tuples(self, space: EncodedTable, tuples: Ints) -> bool:
        """Return whether all records of some tuples make a group."""
        records = int(space.counts[tuples].sum())
        if records < self.k or (space.persons is None and not self.models):
            return records >= self.k
        return self.is_met_by_records(space, space.rows_of(tuples))

    def is_met_by_records(self, space: EncodedTable, rows: Ints) -> bool:
        """Return whether some records make a group."""
        return self._n_persons(space, rows) >= self.k and all(
            bool(m.is_satisfied(self.worst_measure(space, rows, m))) for m in self.models
        )

    def failing_clusters(self, space: EncodedTable, clusters: list[Ints]) -> Ints:
        """Return the indices of the groups of records that violate the model."""
        if space.persons is not None or (self.joint and len(space.sensitive) > 1):
            return np.array([g for g, rows in enumerate(clusters) if not self.is_met_by_records(space, rows)], np.int64)
        sizes = np.array([len(rows) for rows in clusters], np.int64)
        is_met = sizes >= self.k
        for model in self.models:
            sensitive = space.sensitive[model.sensitive]
            values = sensitive.values + 1
            step = max(MAX_VALUE_COUNTS // values, 1)
            for first in range(0, len(clusters), step):
                batch = slice(first, first + step)
                cluster_of = np.repeat(np.arange(len(sizes[batch])), sizes[batch])
                cells = cluster_of * values + sensitive.codes[np.concatenate(clusters[batch])]
                counts = np.bincount(cells, minlength=len(sizes[batch]) * values).reshape(-1, values)
                is_met[batch] &= model.is_satisfied(model.measure(sensitive, counts, sizes[batch]))
        return np.flatnonzero(~is_met)

    def mergeable_clusters(self, space: EncodedTable, rows: list[Ints]) -> MergeableClusters:
        """Return a structure that merges clusters and says whether unions of two meet the constraint.

        `rows` has the row numbers of each cluster. If there are few sensitive values, persons do not count and the
        constraint is not joint, the structure counts values; otherwise it keeps the rows.
        """
        values = sum(space.sensitive[m.sensitive].values + 1 for m in self.models)
        if space.persons is not None or (self.joint and len(space.sensitive) > 1) or len(rows) * values > 2**24:
            return _ClusterRecords(self, space, rows)
        return _ClusterValueCounts(self, space, rows)

    def worst_measure(self, space: EncodedTable, rows: Ints, model: ModelRequirement) -> np.float64:
        """Return the value of a model's measure for a group of records, such as its number of distinct values.

        If the constraint is joint, the group is divided by the values of the other sensitive columns, and the worst
        part counts. Infinite, on the wrong side of every bound, if no records count.
        """
        sensitive = space.sensitive[model.sensitive]
        parts = [rows]
        if self.joint and len(space.sensitive) > 1:
            others = [s.codes[rows] for i, s in enumerate(space.sensitive) if i != model.sensitive]
            _, part = np.unique(np.stack(others, axis=1), axis=0, return_inverse=True)
            part = np.asarray(part).reshape(-1)
            parts = [rows[part == p] for p in range(int(part.max(initial=-1)) + 1)]
        counts = np.zeros((len(parts), sensitive.values + 1), np.int64)
        sizes = np.zeros(len(parts), np.int64)
        for i, part_rows in enumerate(parts):
            counts[i], sizes[i] = value_counts(space, part_rows, model.sensitive)
        not_empty = sizes > 0
        measures = model.measure(sensitive, counts[not_empty], sizes[not_empty])
        if len(measures) == 0:
            return np.float64(-np.inf if model.form_definition.is_higher else np.inf)
        return np.float64(measures.min() if model.form_definition.is_higher else measures.max())

    def n_records_needed(self, space: EncodedTable, rows: Ints) -> int | None:
        """Return how many of the rows, taken in order, form a group; None if no number of them does."""
        first = self._n_records_for_k(space, rows)
        if first is None or not self.models:
            return first
        size = max(first, self.min_records)
        while size <= len(rows):
            if self.is_met_by_records(space, rows[:size]):
                return size
            size += max(size // 8, 1)  # every size is looked at while it is small, one of eight later
        return len(rows) if size > len(rows) >= self.min_records and self.is_met_by_records(space, rows) else None

    def _n_records_for_k(self, space: EncodedTable, rows: Ints) -> int | None:
        if space.persons is None:
            return self.k if len(rows) >= self.k else None
        distinct, first = np.unique(space.persons[rows], return_index=True)
        first = np.sort(first[distinct >= 0])
        return int(first[self.k - 1]) + 1 if len(first) >= self.k else None

    @staticmethod
    def _n_persons(space: EncodedTable, rows: Ints) -> int:
        if space.persons is None:
            return len(rows)
        persons = space.persons[rows]
        return len(np.unique(persons[persons >= 0]))

    def remaining(self, space: EncodedTable) -> RemainingRecords:
        """Return a counter of the records that are not in a group yet, which starts with all records of the table."""
        return RemainingRecords(self.k, np.arange(space.rows) if space.persons is None else space.persons)


def value_counts(space: EncodedTable, rows: Ints, sensitive: int) -> tuple[Ints, int]:
    """Return records (distinct persons) of a group by sensitive value, and how many there are."""
    column = space.sensitive[sensitive]
    codes = column.codes[rows]
    if space.persons is None:
        return np.bincount(codes, minlength=column.values + 1), len(rows)
    persons = space.persons[rows]
    has_person = persons >= 0
    values = column.values + 1
    pairs = np.unique(persons[has_person].astype(np.int64) * values + codes[has_person])
    return np.bincount(pairs % values, minlength=values), len(np.unique(pairs // values))


class _ClusterRecords:
    """Groups as their records."""

    def __init__(self, constraint: Constraint, space: EncodedTable, rows: list[Ints]) -> None:
        self.constraint, self.space, self.rows = constraint, space, list(rows)

    def unions_satisfy(self, cluster: int, others: Ints) -> Bools:
        is_met = np.zeros(len(others), bool)
        for i, other in enumerate(others.tolist()):  # only the first that does is looked for
            is_met[i] = self.constraint.is_met_by_records(
                self.space, np.concatenate((self.rows[cluster], self.rows[other]))
            )
            if is_met[i]:
                break
        return is_met

    def merge(self, keep: int, absorbed_cluster: int) -> None:
        self.rows[keep] = np.concatenate((self.rows[keep], self.rows[absorbed_cluster]))


class _ClusterValueCounts:
    """Groups as numbers of records by sensitive value, where records are counted."""

    def __init__(self, constraint: Constraint, space: EncodedTable, rows: list[Ints]) -> None:
        self.constraint, self.space = constraint, space
        self.sizes = np.array([len(r) for r in rows], np.int64)
        cluster_of, all_rows = np.repeat(np.arange(len(rows)), self.sizes), np.concatenate(rows)
        self.counts = {}
        for column in {m.sensitive for m in constraint.models}:
            values = space.sensitive[column].values + 1
            cells = cluster_of * values + space.sensitive[column].codes[all_rows]
            self.counts[column] = np.bincount(cells, minlength=len(rows) * values).reshape(-1, values)

    def unions_satisfy(self, cluster: int, others: Ints) -> Bools:
        sizes = self.sizes[cluster] + self.sizes[others]
        is_met = np.asarray(sizes >= self.constraint.k)
        for model in self.constraint.models:
            counts = self.counts[model.sensitive][others] + self.counts[model.sensitive][cluster]
            is_met &= model.is_satisfied(model.measure(self.space.sensitive[model.sensitive], counts, sizes))
        return is_met

    def merge(self, keep: int, absorbed_cluster: int) -> None:
        self.sizes[keep] += self.sizes[absorbed_cluster]
        for counts in self.counts.values():
            counts[keep] += counts[absorbed_cluster]


class RemainingRecords:
    """A counter of the records in no group yet; a person counts while one of their rows remains."""

    def __init__(self, k: int, persons: AnyInts) -> None:
        self.k, self.persons = k, persons
        self.rows_of = np.bincount(persons[persons >= 0], minlength=1)
        self.n_persons = int((self.rows_of > 0).sum())

    def remove(self, rows: Ints) -> None:
        persons = self.persons[rows]
        persons = persons[persons >= 0]
        np.subtract.at(self.rows_of, persons, 1)
        self.n_persons -= int((self.rows_of[np.unique(persons)] == 0).sum())

    def can_form_class(self) -> bool:
        return self.n_persons >= self.k
