"""Privacy models as tests that every algorithm takes as one argument.

An algorithm asks three things: is this group enough, how many of these candidates (in the order in which they would
join) make the group enough, and can what is left still make a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dbanon.space import Ints, Space


class Left(Protocol):
    """What is left of the records while groups are taken away."""

    def take(self, rows: Ints) -> None: ...

    def enough(self) -> bool: ...


class Constraint(Protocol):
    """A privacy model. Rows are canonical row numbers of one space."""

    @property
    def least(self) -> int:
        """No group of fewer records can be enough."""
        ...

    def counts_records(self, space: Space) -> bool:
        """Whether any `least` records make a group, whatever they are."""
        ...

    def enough(self, space: Space, tuples: Ints) -> bool:
        """Whether all records of some tuples make a group."""
        ...

    def needed(self, space: Space, rows: Ints) -> int | None:
        """How many of the rows, taken in order, make a group; None if all of them do not."""
        ...

    def left(self, space: Space) -> Left:
        """All records of a space as what is left."""
        ...


@dataclass(frozen=True)
class AtLeast:
    """k-anonymity (Samarati and Sweeney 1998): k records, or k distinct persons where the space has persons."""

    k: int

    @property
    def least(self) -> int:
        return self.k

    def counts_records(self, space: Space) -> bool:
        return space.persons is None

    def enough(self, space: Space, tuples: Ints) -> bool:
        if space.persons is None:
            return int(space.counts[tuples].sum()) >= self.k
        persons = space.persons[space.rows_of(tuples)]
        return len(np.unique(persons[persons >= 0])) >= self.k

    def needed(self, space: Space, rows: Ints) -> int | None:
        if space.persons is None:
            return self.k if len(rows) >= self.k else None
        distinct, first = np.unique(space.persons[rows], return_index=True)
        first = np.sort(first[distinct >= 0])
        return int(first[self.k - 1]) + 1 if len(first) >= self.k else None

    def left(self, space: Space) -> Left:
        return _RowsLeft(self.k, space.rows) if space.persons is None else _PersonsLeft(self.k, space.persons)


class _RowsLeft:
    def __init__(self, k: int, rows: int) -> None:
        self.k, self.rows = k, rows

    def take(self, rows: Ints) -> None:
        self.rows -= len(rows)

    def enough(self) -> bool:
        return self.rows >= self.k


class _PersonsLeft:
    """Rows left of each person; a person counts while one row is left."""

    def __init__(self, k: int, persons: Ints) -> None:
        self.k, self.persons = k, persons
        known = persons[persons >= 0]
        self.rows_of = np.bincount(known, minlength=1)
        self.distinct = int((self.rows_of > 0).sum())

    def take(self, rows: Ints) -> None:
        persons = self.persons[rows]
        persons = persons[persons >= 0]
        before = (self.rows_of[np.unique(persons)] > 0).sum()
        np.subtract.at(self.rows_of, persons, 1)
        self.distinct -= int(before - (self.rows_of[np.unique(persons)] > 0).sum())

    def enough(self) -> bool:
        return self.distinct >= self.k
