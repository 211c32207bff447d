"""Published values, loss and distance of records in streams, value by value in Python."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isnan

from dbanon.algorithms.streams import Arrivals

Span = tuple[float, float]


class StreamRecords:
    """The records of a stream as lists, and the values seen so far."""

    def __init__(self, came: Arrivals) -> None:
        first = came.places.first.tolist()
        self.width = len(first) - 1
        self.nodes = [came.places.nodes[first[a] : first[a + 1]].tolist() for a in range(self.width)]
        self.share = [came.places.share[first[a] : first[a + 1]].tolist() for a in range(self.width)]
        self.weights = came.places.weights.tolist()
        self.values = came.values.tolist()
        self.people = came.people.tolist()
        self.sensitive = came.sensitive.tolist()
        self.seen = [(inf, -inf) for _ in range(self.width)]

    def see(self, record: int) -> None:
        """Add a record that arrives."""
        for a, value in enumerate(self.values[record]):
            if not self.nodes[a] and not isnan(value):
                self.seen[a] = min(self.seen[a][0], value), max(self.seen[a][1], value)

    def published(self, a: int, node: int) -> Span:
        """Return the published form of a node: itself or an ancestor, and the last node below."""
        error_info = self.nodes[a][node][2]
        return float(error_info), float(self.nodes[a][error_info][1])

    def ancestor(self, a: int, values: Sequence[float]) -> int:
        """Return the lowest node that all values are at or below."""
        node = int(values[0])
        while not all(node <= v <= self.nodes[a][node][1] for v in values):
            node = self.nodes[a][node][0]
        return node

    def span(self, records: Sequence[int]) -> list[Span]:
        """Return the published span of each attribute for a class of these records."""
        spans = []
        for a in range(self.width):
            values = [self.values[r][a] for r in records]
            known_values = [v for v in values if not isnan(v)]
            if not known_values:
                spans.append((inf, -inf))
            elif len(known_values) < len(values):
                spans.append((-inf, inf))
            elif self.nodes[a]:
                spans.append(self.published(a, self.ancestor(a, known_values)))
            else:
                spans.append((min(known_values), max(known_values)))
        return spans

    def loss(self, spans: Sequence[Span]) -> float:
        """Return the loss of a record of a class."""
        total = 0.0
        for a, (low, high) in enumerate(spans):
            total += self.weights[a] * self.loss_of(a, low, high)
        return total

    def loss_of(self, a: int, low: float, high: float) -> float:
        """Return the loss of one attribute."""
        if low > high:
            return 0.0
        if low == -inf:
            return 1.0
        if self.nodes[a]:
            return self.share[a][int(low)]
        width = self.seen[a][1] - self.seen[a][0]
        return (high - low) / width if width > 0 else 0.0

    def covers(self, spans: Sequence[Span], record: int) -> bool:
        """Return whether a class with these spans covers a record."""
        return all(
            (low > high or low == -inf) if isnan(v) else low <= v <= high
            for (low, high), v in zip(spans, self.values[record], strict=True)
        )

    def apart(self, x: Sequence[float], y: Sequence[float]) -> float:
        """Return the distance of two records."""
        total = 0.0
        for a in range(self.width):
            total += self.weights[a] * self.apart_of(a, x[a], y[a])
        return total

    def apart_of(self, a: int, x: float, y: float) -> float:
        """Return the distance of two values."""
        if isnan(x) or isnan(y):
            return float(isnan(x) != isnan(y))
        if self.nodes[a]:
            return 0.0 if x == y else self.share[a][self.ancestor(a, [x, y])]
        width = self.seen[a][1] - self.seen[a][0]
        return abs(x - y) / width if width > 0 else 0.0

    def persons(self, records: Sequence[int]) -> set[int]:
        """Return the known persons."""
        return {self.people[r] for r in records} - {-1}

    def kinds(self, records: Sequence[int], column: int) -> set[int]:
        """Return the sensitive values of known persons in a column."""
        return {self.sensitive[r][column] for r in records if self.people[r] >= 0} - {-1}

    def is_enough(self, records: Sequence[int], k: int, need: Sequence[int]) -> bool:
        """Return whether records are enough for a class."""
        return len(self.persons(records)) >= k and all(len(self.kinds(records, s)) >= n for s, n in enumerate(need))
