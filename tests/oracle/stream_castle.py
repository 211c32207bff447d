"""CASTLE and B-CASTLE, implemented step by step as described: clusters are lists of their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import isnan, nan

from dbanon.algorithms.streams import PENDING, SUPPRESSED, Arrivals
from oracle.stream_common import Span, StreamRecords


class Castle:
    """A stream.

    Attributes:
        out: Published class by record.
        step: Step of publication by record.
        classes: Published values of each class.
        kept: Classes that may be published again.
        open: Clusters in the order in which they were opened.
    """

    def __init__(self, came: Arrivals, k: int, need: Sequence[int], delta: int, beta: int, mu: int) -> None:
        self.plain, self.k, self.need, self.beta = StreamRecords(came), k, need, beta
        self.out = [PENDING] * came.n_records
        self.step = [0] * came.n_records
        self.classes: list[list[Span]] = []
        self.kept: list[int] = []
        self.open: list[list[int]] = []
        self.losses: list[float] = []
        self.mu = mu
        for record in range(came.n_records):
            self.now = record + 1
            self.plain.see(record)
            self._select(record)
            for x in [r for r in range(record + 1) if self.now - r >= delta]:
                if self.out[x] == PENDING:
                    self._due(x)
        for x in range(came.n_records):
            if self.out[x] == PENDING:
                self._due(x)

    def _tau(self) -> float:
        """Return the mean of the last losses, summed in the order of their places in a ring."""
        ring = self.losses[: self.mu]
        for i, lost_result in enumerate(self.losses[self.mu :]):
            ring[i % self.mu] = lost_result
        total = 0.0
        for lost_result in ring:
            total += lost_result
        return total / len(ring) if ring else 0.0

    def _more(self, cluster: list[int], record: int) -> float:
        """Return the enlargement: the growth of a cluster's loss, attribute by attribute."""
        plain_result, total = self.plain, 0.0
        old_span, new_span = plain_result.span(cluster), plain_result.span([*cluster, record])
        for a in range(plain_result.width):
            total += plain_result.weights[a] * (
                plain_result.loss_of(a, *new_span[a]) - plain_result.loss_of(a, *old_span[a])
            )
        return total

    def _free(self) -> list[list[int]]:
        """Return the clusters that a record may join."""
        return self.open

    def _select(self, t: int) -> None:
        """Add a record to the open cluster that it widens least, or open a cluster."""
        free = self._free()
        extra_values = [self._more(c, t) for c in free]
        min_values = [c for c, m in zip(free, extra_values, strict=True) if m == min(extra_values)]
        good = [c for c in min_values if self.plain.loss(self.plain.span([*c, t])) <= self._tau()]
        if good or (min_values and len(free) >= self.beta):
            min(good or min_values, key=len).append(t)
        else:
            self.open.append([t])

    def _due(self, x: int) -> None:
        """Publish the cluster of a due record; if too small, reuse a class, merge it, or suppress the record."""
        plain_result = self.plain
        cluster = next(c for c in self.open if x in c)
        if not plain_result.is_enough(cluster, self.k, self.need):
            covering = [c for c in self.kept if plain_result.covers(self.classes[c], x)]
            minimum = min(covering, key=lambda c: plain_result.loss(self.classes[c]), default=SUPPRESSED)
            larger = [c for c in self.open if len(c) > len(cluster)]
            together = [r for c in self.open for r in c]
            if covering or 2 * len(larger) > len(self.open) or not plain_result.is_enough(together, self.k, self.need):
                self.out[x], self.step[x] = minimum, self.now
                cluster.remove(x)
                self.open = [c for c in self.open if c]
                return
            while not plain_result.is_enough(cluster, self.k, self.need):
                others = [c for c in self.open if c is not cluster]
                nearest = min(others, key=lambda c: self._away(cluster, c))
                self.open = [c for c in self.open if c is not nearest]
                cluster += nearest
        self.open = [c for c in self.open if c is not cluster]
        self._output(sorted(cluster))

    def _away(self, cluster: list[int], other: list[int]) -> float:
        """Return the growth of a cluster's loss with another cluster."""
        return self.plain.loss(self.plain.span(cluster + other)) - self.plain.loss(self.plain.span(cluster))

    def _output(self, cluster: list[int]) -> None:
        """Publish the pieces of a cluster, and store those that lose less than tau."""
        plain_result = self.plain
        for piece in self._split(cluster) or [cluster]:
            spans = plain_result.span(piece)
            for r in piece:
                self.out[r], self.step[r] = len(self.classes), self.now
            self.losses.append(plain_result.loss(spans))
            if len(self.losses) == 1 or plain_result.loss(spans) < self._tau():
                self.kept.append(len(self.classes))
            self.classes.append(spans)

    def _split(self, cluster: list[int]) -> list[list[int]]:
        """Return the pieces of a cluster with at least 2k persons; none for a smaller one."""
        plain_result, pieces, rest = self.plain, list[list[int]](), list(cluster)
        if len(plain_result.persons(cluster)) < 2 * self.k:
            return []
        while piece := self._piece(rest):
            pieces.append(piece)
            rest = [r for r in rest if r not in piece]
        while pieces and rest:
            x = rest[0]
            extra_values = [self._more(piece, x) for piece in pieces]
            bucket = (
                [x]
                if self.need
                else [r for r in rest if r == x or plain_result.persons([r]) & plain_result.persons([x])]
            )
            pieces[extra_values.index(min(extra_values))] += bucket
            rest = [r for r in rest if r not in bucket]
        return pieces

    def _piece(self, rest: list[int]) -> list[int]:
        """Return the oldest record of a known person with its nearest, of each person the oldest.

        The list is empty if these are not enough for a class.
        """
        plain_result = self.plain
        free = [r for i, r in enumerate(rest) if plain_result.persons([r]) - plain_result.persons(rest[:i])]
        if not free:
            return []
        x = free.pop(0)
        free.sort(key=lambda r: (plain_result.apart(plain_result.values[x], plain_result.values[r]), r))
        piece = [x]
        if self.need:
            values = [v for v in (plain_result.sensitive[r][0] for r in rest) if v >= 0]
            for value in dict.fromkeys(values):
                due = max(1, self.k * values.count(value) // len(rest)) - (plain_result.sensitive[x][0] == value)
                piece += [r for r in free if plain_result.sensitive[r][0] == value][:due]
            free = [r for r in free if r not in piece]
        piece += free[: max(self.k - len(piece), 0)]
        return piece if plain_result.is_enough(piece, self.k, self.need) else []


class BCastle(Castle):
    """B-CASTLE: clusters are full with `alpha` records, and a published cluster is not split."""

    def __init__(self, came: Arrivals, k: int, need: Sequence[int], delta: int, beta: int, mu: int, alpha: int) -> None:
        self.alpha = alpha
        super().__init__(came, k, need, delta, beta, mu)

    def _free(self) -> list[list[int]]:
        return [c for c in self.open if len(c) < self.alpha]

    def _select(self, t: int) -> None:
        super()._select(t)
        self._balance(next(c for c in self.open if t in c))

    def _balance(self, cluster: list[int]) -> None:
        """Move the record farthest from the center to another open cluster that loses less by it."""
        plain_result = self.plain
        center = self._center(sorted(cluster, reverse=True))
        x = min(cluster, key=lambda r: (-plain_result.apart(center, plain_result.values[r]), r))
        rest = [r for r in cluster if r != x]
        free = [c for c in self._free() if c is not cluster]
        if rest and free:
            best = min(free, key=lambda c: (self._more(c, x), len(c)))
            if self._more(best, x) < self._more(rest, x):
                cluster.remove(x)
                best.append(x)

    def _center(self, cluster: list[int]) -> list[float]:
        """Return the mean of numbers, the category nearest to all, or NULL, of records from the last to the first."""
        plain_result, center = self.plain, list[float]()
        for a in range(plain_result.width):
            known_values = [v for r in cluster if not isnan(v := plain_result.values[r][a])]
            if len(cluster) > 2 * len(known_values):
                center.append(nan)
            elif plain_result.nodes[a]:
                number = Counter(known_values)
                center.append(min(number, key=lambda v: self._sum(a, v, number)))
            else:
                total = 0.0
                for value in known_values:
                    total += value
                center.append(total / len(known_values))
        return center

    def _sum(self, a: int, value: float, number: Counter[float]) -> float:
        total = 0.0
        for other, times in number.items():
            total += self.plain.apart_of(a, value, other) * times
        return total

    def _away(self, cluster: list[int], other: list[int]) -> float:
        """Return the correlation distance, which is smaller if both together are nearer to k records."""
        return super()._away(cluster, other) + abs(len(cluster) + len(other) - self.k) / self.k

    def _split(self, cluster: list[int]) -> list[list[int]]:
        return []
