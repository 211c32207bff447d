"""IDEA, K-VARP and IoT anonymity, implemented step by step as described."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf, isnan

from dbanon.algorithms.streams import PENDING, SUPPRESSED, Arrivals
from oracle.stream_common import Span, StreamRecords


class _Window:
    """A stream whose oldest record is published when it is due.

    `out` and `step` by record, `classes` with published values, `kept` the stored classes.
    """

    def __init__(self, came: Arrivals, k: int, need: Sequence[int], delta: int, max_stored_classes: int) -> None:
        self.plain, self.k, self.need, self.store = StreamRecords(came), k, need, max_stored_classes
        self.out = [PENDING] * came.n_records
        self.step = [0] * came.n_records
        self.classes: list[list[Span]] = []
        self.kept: list[int] = []
        self.window: list[int] = []
        for record in range(came.n_records):
            self.now = record + 1
            self.plain.see(record)
            self.window.append(record)
            while self.window and self.now - self.window[0] >= delta:
                self.publish(self.window[0])
        while self.window:
            self.publish(self.window[0])

    def publish(self, x: int) -> None:
        """Publish the oldest record."""
        raise NotImplementedError

    def group(self, x: int, others: Sequence[int], distance: Callable[[int], float]) -> list[int]:
        """Return the record and the nearest of k - 1 other persons, and of others with further sensitive values."""
        plain_result = self.plain
        others = sorted(others, key=lambda r: (distance(r), r))
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

    def leave(self, group: Sequence[int], number: int) -> None:
        """Set the class of the records and remove them from the window."""
        for r in group:
            self.out[r], self.step[r] = number, self.now
            self.window.remove(r)

    def make(self, group: Sequence[int], spans: list[Span], *, is_stored: bool) -> None:
        """Publish a new class."""
        if is_stored:
            self.kept = [*self.kept, len(self.classes)][-self.store :] if self.store else []
        self.leave(group, len(self.classes))
        self.classes.append(spans)


class Idea(_Window):
    """IDEA, with similarity by common attributes."""

    def __init__(
        self, came: Arrivals, k: int, need: Sequence[int], delta: int, max_stored_classes: int, theta: float
    ) -> None:
        self.theta = theta
        super().__init__(came, k, need, delta, max_stored_classes)

    def publish(self, x: int) -> None:
        plain_result = self.plain
        group = self.group(x, [r for r in self.window if r != x], lambda r: -self._similar(x, r))
        spans = self._span(group) if group else []
        own_loss = plain_result.loss(spans) if group else inf
        may = [c for c in self.kept if self._may(self.classes[c], x)]
        minimum = min(may, key=lambda c: plain_result.loss(self.classes[c]), default=None)
        if minimum is not None and plain_result.loss(self.classes[minimum]) <= own_loss:
            self.leave([x], minimum)
        elif group:
            self.make(group, spans, is_stored=own_loss < self.theta)
        else:
            self.leave([x], SUPPRESSED)

    def _similar(self, x: int, y: int) -> float:
        """Return the share of attributes that both have, less the distance on these."""
        plain_result, both, far = self.plain, 0.0, 0.0
        for a, (one, other) in enumerate(zip(plain_result.values[x], plain_result.values[y], strict=True)):
            if not isnan(one) and not isnan(other):
                both += plain_result.weights[a]
                far += plain_result.weights[a] * plain_result.apart_of(a, one, other)
        return both - far

    def _may(self, spans: Sequence[Span], x: int) -> bool:
        """Return whether a record may join a class: each of its known values is within the span."""
        return all(isnan(v) or low <= v <= high for (low, high), v in zip(spans, self.plain.values[x], strict=True))

    def _span(self, group: Sequence[int]) -> list[Span]:
        """Return the span of each attribute over the records that have a value."""
        spans = []
        for a in range(self.plain.width):
            known_groups = [r for r in group if not isnan(self.plain.values[r][a])]
            spans.append(self.plain.span(known_groups)[a] if known_groups else (inf, -inf))
        return spans


class ByPattern(_Window):
    """K-VARP and, by size, IoT anonymity."""

    def __init__(
        self, came: Arrivals, k: int, need: Sequence[int], delta: int, max_stored_classes: int, *, by_size: bool
    ) -> None:
        self.by_size = by_size
        super().__init__(came, k, need, delta, max_stored_classes)

    def publish(self, x: int) -> None:
        plain_result = self.plain
        common, partitions = self._pattern(x), {self._pattern(x)}
        group: list[int] = []
        while plain_result.persons([x]):
            taken_windows = [r for r in self.window if self._pattern(r) in partitions]
            if plain_result.is_enough(taken_windows, self.k, self.need):
                group = self.group(x, [r for r in taken_windows if r != x], partial(self._apart, common, x))
                break
            rest = [r for r in self.window if self._pattern(r) not in partitions]
            if not rest:
                break
            best = max(rest, key=lambda r: (self._score(common, self._pattern(r)), -r))
            partitions.add(self._pattern(best))
            common &= self._pattern(best)
        covering = [c for c in self.kept if plain_result.covers(self.classes[c], x)]
        minimum = min(covering, key=lambda c: plain_result.loss(self.classes[c]), default=None)
        least = inf if minimum is None else plain_result.loss(self.classes[minimum])
        if group and least >= plain_result.loss(plain_result.span(group)):
            self.make(group, plain_result.span(group), is_stored=len(partitions) == 1 and self.store > 0)
            return
        self.leave([x], SUPPRESSED if minimum is None else minimum)

    def _pattern(self, r: int) -> frozenset[int]:
        """Return the attributes of which a record has a value."""
        return frozenset(a for a, v in enumerate(self.plain.values[r]) if not isnan(v))

    def _score(self, common: frozenset[int], pattern: frozenset[int]) -> float:
        """Return the priority of merging a pattern: its number of records, or the Jaccard similarity."""
        if self.by_size:
            return sum(self._pattern(r) == pattern for r in self.window)
        return len(common & pattern) / len(common | pattern) if common | pattern else 1.0

    def _apart(self, common: frozenset[int], x: int, y: int) -> float:
        """Return the distance of two records on the common attributes."""
        total = 0.0
        for a in sorted(common):
            total += self.plain.weights[a] * self.plain.apart_of(a, self.plain.values[x][a], self.plain.values[y][a])
        return total
