"""FADS and FAST, implemented step by step as described."""

from __future__ import annotations

from collections.abc import Sequence

from dbanon.algorithms.streams import PENDING, SUPPRESSED, Arrivals
from oracle.stream_common import Span, StreamRecords


class Fads:
    """A stream: `out` and `step` by record, `classes` with published values, `kept` the reusable classes."""

    def __init__(
        self, came: Arrivals, k: int, need: Sequence[int], delta: int, reuse_window: int, trigger: str = "size"
    ) -> None:
        self.plain, self.k, self.need, self.life = StreamRecords(came), k, need, reuse_window
        self.out = [PENDING] * came.n_records
        self.step = [0] * came.n_records
        self.classes: list[list[Span]] = []
        self.born: list[int] = []
        self.kept: list[int] = []
        self.window: list[int] = []
        for record in range(came.n_records):
            self.now = record + 1
            self.plain.see(record)
            self.window.append(record)
            while self.window and self._number(trigger) >= delta:
                self._round()
        while self.window:
            self._publish(self.window[0])

    def _number(self, trigger: str) -> int:
        """Return the number that makes the oldest record due: of pending records, or of arrivals since, itself one."""
        return len(self.window) if trigger == "size" else self.now - self.window[0]

    def _round(self) -> None:
        """Publish the oldest record, which is due."""
        self._publish(self.window[0])

    def _publish(self, x: int) -> None:
        """Publish a record with a new group, or with a reusable class of less loss; else suppress it."""
        plain_result = self.plain
        self.kept = [c for c in self.kept if self.now - self.born[c] < self.life]
        covering = [c for c in self.kept if plain_result.covers(self.classes[c], x)]
        minimum = min(covering, key=lambda c: plain_result.loss(self.classes[c]), default=None)
        group = self._group(x)
        if group and (
            minimum is None or plain_result.loss(self.classes[minimum]) >= plain_result.loss(plain_result.span(group))
        ):
            self.kept.append(len(self.classes))
            self._leave(group, len(self.classes))
            self.classes.append(plain_result.span(group))
            self.born.append(self.now)
        else:
            self._leave([x], SUPPRESSED if minimum is None else minimum)

    def _group(self, x: int) -> list[int]:
        """Return the record and the nearest of k - 1 other persons, and of others with further sensitive values."""
        plain_result = self.plain
        others = sorted(
            set(self.window) - {x},
            key=lambda r: (plain_result.apart(plain_result.values[x], plain_result.values[r]), r),
        )
        group = [x]
        for r in others:
            if len(group) < self.k and plain_result.persons([r]) - plain_result.persons(group):
                group.append(r)
        if not plain_result.persons([x]) or len(group) < self.k:
            return []
        for s, need in enumerate(self.need):
            while len(plain_result.kinds(group, s)) < need:
                new = [r for r in others if plain_result.persons([r]) - plain_result.persons(group)]
                new = [r for r in new if plain_result.kinds([r], s) - plain_result.kinds(group, s)]
                if not new:
                    return []
                group.append(new[0])
        return group

    def _leave(self, records: list[int], number: int) -> None:
        """Set the class of the records and remove them from the window."""
        for r in records:
            self.out[r], self.step[r] = number, self.now
            self.window.remove(r)


class Fast(Fads):
    """FAST: one round processes all records that would be due before `ahead` more records arrive."""

    def __init__(
        self, came: Arrivals, k: int, need: Sequence[int], delta: int, reuse_window: int, lookahead: int
    ) -> None:
        self.late = delta - lookahead
        super().__init__(came, k, need, delta, reuse_window, "age")

    def _round(self) -> None:
        for x in [r for r in self.window if self.now - r >= self.late]:
            if x in self.window:
                self._publish(x)
