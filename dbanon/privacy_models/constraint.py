"""The constraint: k and the other privacy models of a call together, as one argument of every algorithm.

An algorithm asks whether a cluster meets the constraint, how many candidate records, in the order in which they would
join, make a cluster that meets it, and whether the remaining records can still form one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dbanon.encoding.encoded_table import AnyInts, Bools, EncodedTable, Ints, SensitiveColumn
from dbanon.privacy_models.model_request import ModelRequirement

MAX_VALUE_COUNTS = 2**20
"""Greatest number of counts (by cluster and value) in memory at a time."""


class MergeableClusters(Protocol):
    """Clusters of records, by number, that can be merged."""

    def unions_satisfy(self, cluster: int, others: Ints) -> Bools:
        """Return, for each of `others`, whether the union of it and `cluster` meets the constraint.

        Checking may stop at the first that does; entries after it are then false without having been checked.
        """

    def merge(self, keep: int, absorbed_cluster: int) -> None:
        """Add the records of the cluster `absorbed_cluster` to the cluster `keep`."""


@dataclass(frozen=True)
class Constraint:
    """A constraint on clusters: k-anonymity (Samarati and Sweeney 1998) and models of the sensitive values.

    Records are counted, or distinct known persons if the encoded table has persons. Rows are canonical row numbers.

    Attributes:
        k: Least number of records, or of persons, in a cluster.
        models: The privacy models required of the sensitive columns; k is not one of them.
        joint: Whether a model of one sensitive column must hold within every combination of values of the others.
    """

    k: int
    models: tuple[ModelRequirement, ...] = ()
    joint: bool = False

    @property
    def min_records(self) -> int:
        """Lower bound of the number of records in a cluster that meets the constraint.

        It is the greatest of k and the models' own lower bounds.
        """
        return max([self.k, *(m.min_records for m in self.models)])

    @property
    def parameter_text(self) -> str:
        """The constraint written as parameters of a call, such as `k = 5, l = 2`."""
        return ", ".join(dict.fromkeys([f"k = {self.k}", *(m.parameter_text for m in self.models)]))

    def counts_only_records(self, space: EncodedTable) -> bool:
        """Return whether any k records meet the constraint.

        They do if no models but k are required and the table has no persons.
        """
        return space.persons is None and not self.models

    def is_met_by_tuples(self, space: EncodedTable, tuples: Ints) -> bool:
        """Return whether the cluster of all records of some tuples meets the constraint: k and all models."""
        records = int(space.counts[tuples].sum())
        if records < self.k or (space.persons is None and not self.models):
            return records >= self.k
        return self.is_met_by_records(space, space.rows_of(tuples))

    def is_met_by_records(self, space: EncodedTable, rows: Ints) -> bool:
        """Return whether the cluster of these records meets the constraint: k and all models.

        `rows` are canonical row numbers.
        """
        return self.n_persons(space, rows) >= self.k and all(
            bool(m.is_satisfied(self.worst_measure(space, rows, m))) for m in self.models
        )

    def failing_clusters(self, space: EncodedTable, clusters: list[Ints]) -> Ints:
        """Return the indices, ascending, of the clusters that violate the constraint.

        Args:
            space: The encoded table.
            clusters: For each cluster, the numbers of its records in the canonical order of the table.
        """
        if space.persons is not None or (self.joint and len(space.sensitive) > 1):
            return np.array([g for g, rows in enumerate(clusters) if not self.is_met_by_records(space, rows)], np.int64)
        sizes = np.array([len(rows) for rows in clusters], np.int64)
        is_met = sizes >= self.k
        for model in self.models:
            sensitive = space.sensitive[model.sensitive]
            step = max(MAX_VALUE_COUNTS // (sensitive.values + 1), 1)
            for first in range(0, len(clusters), step):
                batch = slice(first, first + step)
                counts = _cluster_value_counts(sensitive, clusters[batch])
                is_met[batch] &= model.is_satisfied(model.measure(sensitive, counts, sizes[batch]))
        return np.flatnonzero(~is_met)

    def mergeable_clusters(self, space: EncodedTable, rows: list[Ints]) -> MergeableClusters:
        """Return a structure that merges clusters and checks whether unions of two meet the constraint.

        `rows` has the canonical row numbers of each cluster. If there are few sensitive values, persons do not count
        and the constraint is not joint, the structure counts values; otherwise it keeps the rows.
        """
        values = sum(space.sensitive[m.sensitive].values + 1 for m in self.models)
        if space.persons is not None or (self.joint and len(space.sensitive) > 1) or len(rows) * values > 2**24:
            return _ClusterRecords(self, space, rows)
        return _ClusterValueCounts(self, space, rows)

    def worst_measure(self, space: EncodedTable, rows: Ints, model: ModelRequirement) -> np.float64:
        """Return a model's measure for one cluster, such as its number of distinct values.

        If the constraint is joint, the cluster is divided by the values of the other sensitive columns, and the worst
        measure of a part is returned. If no records count (none, or none with a known person), the result is infinite
        on the side that violates every bound: -inf where higher is better, else inf.

        Args:
            space: The encoded table.
            rows: Canonical row numbers of the cluster.
            model: The model, with the sensitive column that it applies to.
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
        """Return how many of the rows, taken from the first on, form a cluster that meets the constraint.

        Return None if neither all rows nor any number that was tried suffices. Without models the number is the least
        possible. With models, every number below 16 is tried, then numbers that grow by an eighth, so it may be
        greater.
        """
        first = self._n_records_for_k(space, rows)
        if first is None or not self.models:
            return first
        size = max(first, self.min_records)
        while size <= len(rows):
            if self.is_met_by_records(space, rows[:size]):
                return size
            size += max(size // 8, 1)  # every size below 16 is tried, then sizes that grow by an eighth
        return len(rows) if size > len(rows) >= self.min_records and self.is_met_by_records(space, rows) else None

    def _n_records_for_k(self, space: EncodedTable, rows: Ints) -> int | None:
        """Return the least number of leading rows with k records, or k distinct known persons.

        Return None if all rows are too few. Privacy models other than k are not considered.
        """
        if space.persons is None:
            return self.k if len(rows) >= self.k else None
        distinct, first = np.unique(space.persons[rows], return_index=True)
        first = np.sort(first[distinct >= 0])
        return int(first[self.k - 1]) + 1 if len(first) >= self.k else None

    @staticmethod
    def n_persons(space: EncodedTable, rows: Ints) -> int:
        """Return the number of distinct known persons; the number of rows if the table has no persons."""
        if space.persons is None:
            return len(rows)
        persons = space.persons[rows]
        return len(np.unique(persons[persons >= 0]))

    def remaining(self, space: EncodedTable) -> RemainingRecords:
        """Return a counter of the persons (or records) that are in no cluster yet.

        It starts with all records of the table.
        """
        return RemainingRecords(self.k, np.arange(space.rows) if space.persons is None else space.persons)


def value_counts(space: EncodedTable, rows: Ints, sensitive: int) -> tuple[Ints, int]:
    """Count the records of a cluster by value of one sensitive column; distinct known persons if the table has persons.

    A person with several values counts once for each. Records of unknown persons (-1) do not count.

    Args:
        space: The encoded table.
        rows: Canonical row numbers of the cluster.
        sensitive: Index of the sensitive column.

    Returns:
        (values + 1,) counts, NULL last; and the number of records (distinct known persons) of the cluster.
    """
    column = space.sensitive[sensitive]
    codes = column.codes[rows]
    if space.persons is None:
        return np.bincount(codes, minlength=column.values + 1), len(rows)
    persons = space.persons[rows]
    has_person = persons >= 0
    values = column.values + 1
    pairs = np.unique(persons[has_person].astype(np.int64) * values + codes[has_person])
    return np.bincount(pairs % values, minlength=values), len(np.unique(pairs // values))


def _cluster_value_counts(sensitive: SensitiveColumn, clusters: list[Ints]) -> Ints:
    """Return the (clusters, values + 1) number of records of each cluster by value of a sensitive column, NULL last.

    `clusters` has the canonical row numbers of each cluster. Persons are not counted.
    """
    values = sensitive.values + 1
    cluster_of = np.repeat(np.arange(len(clusters)), [len(rows) for rows in clusters])
    cells = cluster_of * values + sensitive.codes[np.concatenate(clusters)]
    return np.bincount(cells, minlength=len(clusters) * values).reshape(-1, values)


class _ClusterRecords:
    """Mergeable clusters that are kept as the canonical row numbers of each cluster."""

    def __init__(self, constraint: Constraint, space: EncodedTable, rows: list[Ints]) -> None:
        """Store the arguments; the list `rows`, with the canonical row numbers of each cluster, is copied."""
        self.constraint, self.space, self.rows = constraint, space, list(rows)

    def unions_satisfy(self, cluster: int, others: Ints) -> Bools:
        """Return, for each of `others`, whether its union with `cluster` meets the constraint.

        Checking stops at the first that does: later entries are false without having been checked.
        """
        is_met = np.zeros(len(others), bool)
        for i, other in enumerate(others.tolist()):  # only the first one is used
            is_met[i] = self.constraint.is_met_by_records(
                self.space, np.concatenate((self.rows[cluster], self.rows[other]))
            )
            if is_met[i]:
                break
        return is_met

    def merge(self, keep: int, absorbed_cluster: int) -> None:
        """Add the records of the cluster `absorbed_cluster` to the cluster `keep`."""
        self.rows[keep] = np.concatenate((self.rows[keep], self.rows[absorbed_cluster]))


class _ClusterValueCounts:
    """Mergeable clusters that are kept as their sizes and numbers of records by sensitive value.

    Persons are not counted.
    """

    def __init__(self, constraint: Constraint, space: EncodedTable, rows: list[Ints]) -> None:
        """Count the records of each cluster by value of every sensitive column that a model constrains.

        `rows` has the canonical row numbers of each cluster.
        """
        self.constraint, self.space = constraint, space
        self.sizes = np.array([len(r) for r in rows], np.int64)
        columns = {m.sensitive for m in constraint.models}
        self.counts = {column: _cluster_value_counts(space.sensitive[column], rows) for column in columns}

    def unions_satisfy(self, cluster: int, others: Ints) -> Bools:
        """Return, for each of `others`, whether its union with `cluster` meets the constraint."""
        sizes = self.sizes[cluster] + self.sizes[others]
        is_met = np.asarray(sizes >= self.constraint.k)
        for model in self.constraint.models:
            counts = self.counts[model.sensitive][others] + self.counts[model.sensitive][cluster]
            is_met &= model.is_satisfied(model.measure(self.space.sensitive[model.sensitive], counts, sizes))
        return is_met

    def merge(self, keep: int, absorbed_cluster: int) -> None:
        """Add the size and counts of the cluster `absorbed_cluster` to those of the cluster `keep`."""
        self.sizes[keep] += self.sizes[absorbed_cluster]
        for counts in self.counts.values():
            counts[keep] += counts[absorbed_cluster]


class RemainingRecords:
    """A counter of the distinct persons with records that are in no cluster yet.

    `persons` has the person of every canonical row, -1 for unknown persons, who are never counted. If persons do not
    count, each record is its own person.
    """

    def __init__(self, k: int, persons: AnyInts) -> None:
        """Count the rows of each known person; all rows remain."""
        self.k, self.persons = k, persons
        self.rows_of = np.bincount(persons[persons >= 0], minlength=1)
        self.n_persons = int((self.rows_of > 0).sum())

    def remove(self, rows: Ints) -> None:
        """Remove rows (canonical row numbers) that were put in a cluster.

        A person counts while at least one of their rows remains.
        """
        persons = self.persons[rows]
        persons = persons[persons >= 0]
        np.subtract.at(self.rows_of, persons, 1)
        self.n_persons -= int((self.rows_of[np.unique(persons)] == 0).sum())

    def can_form_class(self) -> bool:
        """Return whether records of at least k persons remain; other privacy models are not considered."""
        return self.n_persons >= self.k
