"""The privacy model of a run as one argument that every algorithm takes.

An algorithm asks: is this group enough, how many of these candidates (in the order in which they would join) make the
group enough, and can what is left still make a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dbanon.encoding.encoded_table import AnyInts, Bools, EncodedTable, Ints
from dbanon.privacy_models.model_request import Demand

TALLIES = 2**20
"""Numbers of records by group and value that are held at a time."""


class Groups(Protocol):
    """Groups of records, by number."""

    def hold_with(self, group: int, others: Ints) -> Bools:
        """Return whether the union of a group with each of some others makes a group."""

    def unite(self, keep: int, gone: int) -> None:
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
    models: tuple[Demand, ...] = ()
    joint: bool = False

    @property
    def least(self) -> int:
        """No group of fewer records can be enough."""
        return max([self.k, *(m.least for m in self.models)])

    @property
    def said(self) -> str:
        """The whole model as parameters of a call."""
        return ", ".join(dict.fromkeys([f"k = {self.k}", *(m.said for m in self.models)]))

    def counts_records(self, space: EncodedTable) -> bool:
        """Return whether any `least` records make a group, whatever they are."""
        return space.persons is None and not self.models

    def enough(self, space: EncodedTable, tuples: Ints) -> bool:
        """Return whether all records of some tuples make a group."""
        records = int(space.counts[tuples].sum())
        if records < self.k or (space.persons is None and not self.models):
            return records >= self.k
        return self.holds(space, space.rows_of(tuples))

    def holds(self, space: EncodedTable, rows: Ints) -> bool:
        """Return whether some records make a group."""
        return self._people(space, rows) >= self.k and all(bool(m.met(self.worst(space, rows, m))) for m in self.models)

    def missed(self, space: EncodedTable, groups: list[Ints]) -> Ints:
        """Which of several groups of records do not hold."""
        if space.persons is not None or (self.joint and len(space.sensitive) > 1):
            return np.array([g for g, rows in enumerate(groups) if not self.holds(space, rows)], np.int64)
        sizes = np.array([len(rows) for rows in groups], np.int64)
        held = sizes >= self.k
        for model in self.models:
            sensitive = space.sensitive[model.sensitive]
            values = sensitive.values + 1
            step = max(TALLIES // values, 1)
            for first in range(0, len(groups), step):
                some = slice(first, first + step)
                group = np.repeat(np.arange(len(sizes[some])), sizes[some])
                cells = group * values + sensitive.codes[np.concatenate(groups[some])]
                counts = np.bincount(cells, minlength=len(sizes[some]) * values).reshape(-1, values)
                held[some] &= model.met(model.measure(sensitive, counts, sizes[some]))
        return np.flatnonzero(~held)

    def groups(self, space: EncodedTable, rows: list[Ints]) -> Groups:
        """Return groups of records that will be united."""
        values = sum(space.sensitive[m.sensitive].values + 1 for m in self.models)
        if space.persons is not None or (self.joint and len(space.sensitive) > 1) or len(rows) * values > 2**24:
            return _Rows(self, space, rows)
        return _Tallies(self, space, rows)

    def worst(self, space: EncodedTable, rows: Ints, model: Demand) -> np.float64:
        """What a group measures by one model; in the joint form the worst of its parts."""
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
            counts[i], sizes[i] = tally(space, part_rows, model.sensitive)
        known = sizes > 0
        measured = model.measure(sensitive, counts[known], sizes[known])
        if len(measured) == 0:
            return np.float64(-np.inf if model.rule.is_higher else np.inf)
        return np.float64(measured.min() if model.rule.is_higher else measured.max())

    def needed(self, space: EncodedTable, rows: Ints) -> int | None:
        """How many of the rows, taken in order, make a group; None if no number of them does."""
        first = self._needed_people(space, rows)
        if first is None or not self.models:
            return first
        size = max(first, self.least)
        while size <= len(rows):
            if self.holds(space, rows[:size]):
                return size
            size += max(size // 8, 1)  # every size is looked at while it is small, one of eight later
        return len(rows) if size > len(rows) >= self.least and self.holds(space, rows) else None

    def _needed_people(self, space: EncodedTable, rows: Ints) -> int | None:
        if space.persons is None:
            return self.k if len(rows) >= self.k else None
        distinct, first = np.unique(space.persons[rows], return_index=True)
        first = np.sort(first[distinct >= 0])
        return int(first[self.k - 1]) + 1 if len(first) >= self.k else None

    @staticmethod
    def _people(space: EncodedTable, rows: Ints) -> int:
        if space.persons is None:
            return len(rows)
        persons = space.persons[rows]
        return len(np.unique(persons[persons >= 0]))

    def left(self, space: EncodedTable) -> Left:
        """Return all records of a space as what is left; enough while they might make a group."""
        return Left(self.k, np.arange(space.rows) if space.persons is None else space.persons)


def tally(space: EncodedTable, rows: Ints, sensitive: int) -> tuple[Ints, int]:
    """Return records (distinct persons) of a group by sensitive value, and how many there are."""
    column = space.sensitive[sensitive]
    codes = column.codes[rows]
    if space.persons is None:
        return np.bincount(codes, minlength=column.values + 1), len(rows)
    persons = space.persons[rows]
    known = persons >= 0
    values = column.values + 1
    pairs = np.unique(persons[known].astype(np.int64) * values + codes[known])
    return np.bincount(pairs % values, minlength=values), len(np.unique(pairs // values))


class _Rows:
    """Groups as their records."""

    def __init__(self, constraint: Constraint, space: EncodedTable, rows: list[Ints]) -> None:
        self.constraint, self.space, self.rows = constraint, space, list(rows)

    def hold_with(self, group: int, others: Ints) -> Bools:
        held = np.zeros(len(others), bool)
        for i, other in enumerate(others.tolist()):  # only the first that does is looked for
            held[i] = self.constraint.holds(self.space, np.concatenate((self.rows[group], self.rows[other])))
            if held[i]:
                break
        return held

    def unite(self, keep: int, gone: int) -> None:
        self.rows[keep] = np.concatenate((self.rows[keep], self.rows[gone]))


class _Tallies:
    """Groups as numbers of records by sensitive value, where records are counted."""

    def __init__(self, constraint: Constraint, space: EncodedTable, rows: list[Ints]) -> None:
        self.constraint, self.space = constraint, space
        self.sizes = np.array([len(r) for r in rows], np.int64)
        group, every = np.repeat(np.arange(len(rows)), self.sizes), np.concatenate(rows)
        self.counts = {}
        for column in {m.sensitive for m in constraint.models}:
            values = space.sensitive[column].values + 1
            cells = group * values + space.sensitive[column].codes[every]
            self.counts[column] = np.bincount(cells, minlength=len(rows) * values).reshape(-1, values)

    def hold_with(self, group: int, others: Ints) -> Bools:
        sizes = self.sizes[group] + self.sizes[others]
        held = np.asarray(sizes >= self.constraint.k)
        for model in self.constraint.models:
            counts = self.counts[model.sensitive][others] + self.counts[model.sensitive][group]
            held &= model.met(model.measure(self.space.sensitive[model.sensitive], counts, sizes))
        return held

    def unite(self, keep: int, gone: int) -> None:
        self.sizes[keep] += self.sizes[gone]
        for counts in self.counts.values():
            counts[keep] += counts[gone]


class Left:
    """What is left of the records while groups are taken away; a person counts while one of their rows is left."""

    def __init__(self, k: int, persons: AnyInts) -> None:
        self.k, self.persons = k, persons
        self.rows_of = np.bincount(persons[persons >= 0], minlength=1)
        self.distinct = int((self.rows_of > 0).sum())

    def take(self, rows: Ints) -> None:
        persons = self.persons[rows]
        persons = persons[persons >= 0]
        np.subtract.at(self.rows_of, persons, 1)
        self.distinct -= int((self.rows_of[np.unique(persons)] == 0).sum())

    def enough(self) -> bool:
        return self.distinct >= self.k
