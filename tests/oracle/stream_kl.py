"""(k,l)-clustering, implemented step by step as described."""

from __future__ import annotations

from collections.abc import Sequence

from dbanon.algorithms.streams import PENDING, SUPPRESSED, Arrivals
from oracle.stream_common import Span, StreamRecords


class KLClustering:
    """A stream: `out` and `step` by record, `classes` with published values, `clusters` the persons of each."""

    def __init__(self, came: Arrivals, k: int, need: Sequence[int], delta: int) -> None:
        self.plain, self.k, self.need = StreamRecords(came), k, need
        self.out = [PENDING] * came.n_records
        self.step = [0] * came.n_records
        self.classes: list[list[Span]] = []
        self.clusters: list[list[int]] = []
        self.home: dict[int, list[int]] = {}
        self.window: list[int] = []
        for record in range(came.n_records):
            self.now = record + 1
            self.plain.see(record)
            self.window.append(record)
            self._emit(self.plain.people[record])
            while self.window and self.now - self.window[0] >= delta:
                self._due(self.window[0])
        while self.window:
            self._due(self.window[0])

    def _due(self, x: int) -> None:
        """Form a cluster around the person of a due record; suppress a record that is not published by that."""
        person = self.plain.people[x]
        if person >= 0 and person not in self.home:
            group = self._group(x)
            if group:
                cluster = [self.plain.people[r] for r in group]
                self.clusters.append(cluster)
                self.home.update(dict.fromkeys(cluster, cluster))
                self._leave(group)
        if x in self.window:
            self.out[x], self.step[x] = SUPPRESSED, self.now
            self.window.remove(x)
        self._emit(person)

    def _group(self, x: int) -> list[int]:
        """Return records of k persons, nearest first, with enough sensitive values; empty if impossible."""
        plain_result = self.plain
        free = [r for r in self.window if plain_result.people[r] >= 0 and plain_result.people[r] not in self.home]
        free.sort(key=lambda r: (plain_result.apart(plain_result.values[x], plain_result.values[r]), r))
        free.remove(x)
        group = self._filled([x], free)
        if len(group) == self.k and not plain_result.is_enough(group, self.k, self.need):
            group = [x]
            for s, need in enumerate(self.need):
                while len(plain_result.kinds(group, s)) < need:
                    new = [r for r in free if not plain_result.persons([r]) & plain_result.persons(group)]
                    new = [r for r in new if plain_result.kinds([r], s) - plain_result.kinds(group, s)]
                    if not new:
                        return []
                    group.append(new[0])
            if len(group) > self.k:
                return []
            group = self._filled(group, free)
        return group if len(group) == self.k else []

    def _filled(self, group: list[int], free: list[int]) -> list[int]:
        """Return the group with the first free records of other persons, up to k."""
        for r in free:
            if len(group) < self.k and self.plain.people[r] not in self.plain.persons(group):
                group = [*group, r]
        return group

    def _emit(self, person: int) -> None:
        """Publish one record of each person in this person's cluster, as long as they form a class."""
        while person in self.home:
            group = []
            for member in self.home[person]:
                group += [r for r in self.window if self.plain.people[r] == member][:1]
            if not self.plain.is_enough(group, self.k, self.need):
                break
            self._leave(group)

    def _leave(self, group: list[int]) -> None:
        """Publish a new class and remove its records from the window."""
        for r in group:
            self.out[r], self.step[r] = len(self.classes), self.now
            self.window.remove(r)
        self.classes.append(self.plain.span(group))
