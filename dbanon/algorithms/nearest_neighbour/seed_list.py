"""Seeds that are told beforehand: records in an order, each a seed if nothing has taken it."""

from __future__ import annotations

from dbanon.encoding.encoded_table import Ints
from dbanon.encoding.tuple_index import Index, Question


class InOrder:
    """Of the records of a list (canonical rows) the next that is left. The records that are left of a tuple are its
    last ones. Where the list ends while records are left (equal ones stood in for each other) it begins again."""

    sign = 0

    def __init__(self, rows: Ints, tuple_of: Ints) -> None:
        self._tuples, self._rows, self._next = tuple_of[rows].tolist(), rows.tolist(), 0

    def next(self, index: Index, sums: Question, groups: int) -> int:
        space = index.space
        while True:
            row, t = self._rows[self._next], self._tuples[self._next]
            self._next = (self._next + 1) % len(self._rows)
            if row >= space.starts[t] + space.counts[t] - index.left[t]:
                return int(t)
