"""Puri-Haritha, implemented step by step as described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from dbanon.algorithms.streams import PENDING, SUPPRESSED, Arrivals
from oracle.stream_common import Span, StreamRecords


class PuriHaritha:
    """A stream: `out` and `step` by record, `classes` with published values, `kept` the reusable classes."""

    def __init__(self, came: Arrivals, k: int, need: Sequence[int], options: Mapping[str, object]) -> None:
        self.plain, self.k, self.need = StreamRecords(came), k, need
        self.said = came.sensitive.tolist()
        if came.meanings is not None:
            self.plain.sensitive = came.meanings.tolist()
        delta = int(str(options["delta"]))
        self.beta = int(str(options["beta"]))
        self.last, self.life = int(str(options["n_groups"])), int(str(options["reuse_window"]))
        self.out = [PENDING] * came.n_records
        self.step = [0] * came.n_records
        self.classes: list[list[Span]] = []
        self.born: list[int] = []
        self.kept: list[int] = []
        self.sets: list[set[tuple[int, int]]] = []
        self.open: list[list[int]] = []
        for record in range(came.n_records):
            self.now = record + 1
            self.plain.see(record)
            self._arrive(record)
            for old in range(max(0, self.now - delta), self.now):
                if self.now - old >= delta and self.out[old] == PENDING:
                    self._due(old)
        for record in range(came.n_records):
            if self.out[record] == PENDING:
                self._due(record)

    def _arrive(self, t: int) -> None:
        """Add a record to the open group of least loss, or open a group; publish a complete group with new values."""
        fit = [g for g in self.open if self._takes(g, t)]
        minimum = min(fit, key=lambda g: (self._loss([*g, t]), len(g), self.open.index(g)), default=None)
        if minimum is None or (self._loss([*minimum, t]) > self._loss(minimum) and len(self.open) < self.beta):
            self.open.append(minimum := [])
        minimum.append(t)
        own_part = self._set(minimum)
        if self._is_enough(minimum) and not (own_part and own_part in self.sets):
            self._publish(minimum)

    def _takes(self, group: Sequence[int], t: int) -> bool:
        """Return whether a group has few records of each kind of the record: below two, or k / l if that is more."""
        kinds = self.plain.sensitive
        return all(
            kind == -1 or sum(kinds[r][s] == kind for r in group) < max(2, ceil(self.k / self.need[s]))
            for s, kind in enumerate(kinds[t])
        )

    def _loss(self, group: Sequence[int]) -> float:
        return self.plain.loss(self.plain.span(group))

    def _due(self, x: int) -> None:
        """Publish the group of a due record, a reusable class, or the nearest records; else suppress it."""
        own_part = next(g for g in self.open if x in g)
        self._forget()
        if self._is_enough(own_part):
            self._publish(own_part)
            return
        plain_result = self.plain
        covering = [
            (plain_result.loss(self.classes[c]), c) for c in self.kept if plain_result.covers(self.classes[c], x)
        ]
        minimum = min(covering, default=None)
        group = self._nearest(x) if plain_result.people[x] >= 0 else []
        if not group or (minimum and minimum[0] < plain_result.loss(plain_result.span(group))):
            self._take([x])
            self.out[x], self.step[x] = minimum[1] if minimum else SUPPRESSED, self.now
        else:
            self._take(group)
            self.open.append(group)
            self._publish(group)

    def _nearest(self, x: int) -> list[int]:
        """Return a record with the nearest others until they form a class; empty if impossible."""
        plain_result = self.plain
        free = [r for g in self.open for r in g if r != x]
        free.sort(key=lambda r: (plain_result.apart(plain_result.values[x], plain_result.values[r]), r))
        group = [x]
        for r in free:
            if len(group) < self.k and plain_result.persons([r]) - plain_result.persons(group):
                group.append(r)
        if len(group) < self.k:
            return []
        for s, need in enumerate(self.need):
            while len(plain_result.kinds(group, s)) < need:
                fit = [r for r in free if plain_result.persons([r]) - plain_result.persons(group)]
                fit = [r for r in fit if plain_result.kinds([r], s) - plain_result.kinds(group, s)]
                if not fit:
                    return []
                group.append(fit[0])
        return group

    def _take(self, records: Sequence[int]) -> None:
        """Remove records from the open groups."""
        self.open = [remaining_values for g in self.open if (remaining_values := [r for r in g if r not in records])]

    def _publish(self, group: list[int]) -> None:
        """Publish an open group as a new class."""
        self._forget()
        self.open.remove(group)
        for r in group:
            self.out[r], self.step[r] = len(self.classes), self.now
        self.kept.append(len(self.classes))
        self.born.append(self.now)
        self.classes.append(self.plain.span(group))
        self.sets = [*self.sets, self._set(group)]
        self.sets = self.sets[max(0, len(self.sets) - self.last) :]

    def _forget(self) -> None:
        """Drop classes that are older than the reuse window."""
        self.kept = [c for c in self.kept if self.born[c] > self.now - self.life]

    def _set(self, group: Sequence[int]) -> set[tuple[int, int]]:
        """Return the sensitive values of a group as (column, value)."""
        return {(s, value) for r in group for s, value in enumerate(self.said[r]) if value >= 0}

    def _is_enough(self, records: Sequence[int]) -> bool:
        return self.plain.is_enough(records, self.k, self.need)
