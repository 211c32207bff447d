"""CASTLE and B-CASTLE, written down as their steps are: clusters are lists of their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import isnan, nan

from dbanon.algorithms.streams import PENDING, SUPPRESSED, Arrivals
from oracle.stream_common import Plain, Span


class Castle:
    """A stream: `out` and `step` by record, `classes` what each class publishes, `kept` those that may be published
    again. `open` are clusters in the order in which they were opened."""

    def __init__(self, came: Arrivals, k: int, need: Sequence[int], delta: int, beta: int, mu: int) -> None:
        self.plain, self.k, self.need, self.beta = Plain(came), k, need, beta
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
            for x in [r for r in range(record + 1) if self.now - (r + 1) >= delta]:
                if self.out[x] == PENDING:
                    self._due(x)
        for x in range(came.n_records):
            if self.out[x] == PENDING:
                self._due(x)

    def _tau(self) -> float:
        """The mean of the last losses, added up in the order of their places in a ring."""
        ring = self.losses[: self.mu]
        for i, lost in enumerate(self.losses[self.mu :]):
            ring[i % self.mu] = lost
        total = 0.0
        for lost in ring:
            total += lost
        return total / len(ring) if ring else 0.0

    def _more(self, cluster: list[int], record: int) -> float:
        """Enlargement: by how much the loss of a cluster grows, attribute by attribute."""
        plain, total = self.plain, 0.0
        before, after = plain.span(cluster), plain.span([*cluster, record])
        for a in range(plain.width):
            total += plain.weights[a] * (plain.loss_of(a, *after[a]) - plain.loss_of(a, *before[a]))
        return total

    def _free(self) -> list[list[int]]:
        """The clusters that a record may join."""
        return self.open

    def _select(self, t: int) -> None:
        free = self._free()
        more = [self._more(c, t) for c in free]
        least = [c for c, m in zip(free, more, strict=True) if m == min(more)]
        good = [c for c in least if self.plain.loss(self.plain.span([*c, t])) <= self._tau()]
        if good or (least and len(free) >= self.beta):
            min(good or least, key=len).append(t)
        else:
            self.open.append([t])

    def _due(self, x: int) -> None:
        plain = self.plain
        cluster = next(c for c in self.open if x in c)
        if not plain.is_enough(cluster, self.k, self.need):
            covering = [c for c in self.kept if plain.covers(self.classes[c], x)]
            known = min(covering, key=lambda c: plain.loss(self.classes[c]), default=SUPPRESSED)
            larger = [c for c in self.open if len(c) > len(cluster)]
            together = [r for c in self.open for r in c]
            if covering or 2 * len(larger) > len(self.open) or not plain.is_enough(together, self.k, self.need):
                self.out[x], self.step[x] = known, self.now
                cluster.remove(x)
                self.open = [c for c in self.open if c]
                return
            while not plain.is_enough(cluster, self.k, self.need):
                others = [c for c in self.open if c is not cluster]
                nearest = min(others, key=lambda c: self._away(cluster, c))
                self.open = [c for c in self.open if c is not nearest]
                cluster += nearest
        self.open = [c for c in self.open if c is not cluster]
        self._output(sorted(cluster))

    def _away(self, cluster: list[int], other: list[int]) -> float:
        """By how much the loss of a cluster grows with another."""
        return self.plain.loss(self.plain.span(cluster + other)) - self.plain.loss(self.plain.span(cluster))

    def _output(self, cluster: list[int]) -> None:
        plain = self.plain
        for piece in self._split(cluster) or [cluster]:
            spans = plain.span(piece)
            for r in piece:
                self.out[r], self.step[r] = len(self.classes), self.now
            self.losses.append(plain.loss(spans))
            if len(self.losses) == 1 or plain.loss(spans) < self._tau():
                self.kept.append(len(self.classes))
            self.classes.append(spans)

    def _split(self, cluster: list[int]) -> list[list[int]]:
        plain, pieces, rest = self.plain, list[list[int]](), list(cluster)
        if len(plain.persons(cluster)) < 2 * self.k:
            return []
        while piece := self._piece(rest):
            pieces.append(piece)
            rest = [r for r in rest if r not in piece]
        while pieces and rest:
            x = rest[0]
            more = [self._more(piece, x) for piece in pieces]
            bucket = [x] if self.need else [r for r in rest if r == x or plain.persons([r]) & plain.persons([x])]
            pieces[more.index(min(more))] += bucket
            rest = [r for r in rest if r not in bucket]
        return pieces

    def _piece(self, rest: list[int]) -> list[int]:
        """The oldest record of a known person with its nearest, of each person the oldest; nothing where these are not
        enough for a class."""
        plain = self.plain
        free = [r for i, r in enumerate(rest) if plain.persons([r]) - plain.persons(rest[:i])]
        if not free:
            return []
        x = free.pop(0)
        free.sort(key=lambda r: (plain.apart(plain.values[x], plain.values[r]), r))
        piece = [x]
        if self.need:
            values = [v for v in (plain.sensitive[r][0] for r in rest) if v >= 0]
            for value in dict.fromkeys(values):
                due = max(1, self.k * values.count(value) // len(rest)) - (plain.sensitive[x][0] == value)
                piece += [r for r in free if plain.sensitive[r][0] == value][:due]
            free = [r for r in free if r not in piece]
        piece += free[: max(self.k - len(piece), 0)]
        return piece if plain.is_enough(piece, self.k, self.need) else []


class BCastle(Castle):
    """B-CASTLE: clusters are full with `alpha` records, and what leaves is not split."""

    def __init__(self, came: Arrivals, k: int, need: Sequence[int], delta: int, beta: int, mu: int, alpha: int) -> None:
        self.alpha = alpha
        super().__init__(came, k, need, delta, beta, mu)

    def _free(self) -> list[list[int]]:
        return [c for c in self.open if len(c) < self.alpha]

    def _select(self, t: int) -> None:
        super()._select(t)
        self._balance(next(c for c in self.open if t in c))

    def _balance(self, cluster: list[int]) -> None:
        plain = self.plain
        center = self._center(sorted(cluster, reverse=True))
        x = min(cluster, key=lambda r: (-plain.apart(center, plain.values[r]), r))
        rest = [r for r in cluster if r != x]
        free = [c for c in self._free() if c is not cluster]
        if rest and free:
            best = min(free, key=lambda c: (self._more(c, x), len(c)))
            if self._more(best, x) < self._more(rest, x):
                cluster.remove(x)
                best.append(x)

    def _center(self, cluster: list[int]) -> list[float]:
        """The mean of numbers, the category that is nearest to all, or NULL, of records from the last to the first."""
        plain, center = self.plain, list[float]()
        for a in range(plain.width):
            known = [v for r in cluster if not isnan(v := plain.values[r][a])]
            if len(cluster) > 2 * len(known):
                center.append(nan)
            elif plain.nodes[a]:
                number = Counter(known)
                center.append(min(number, key=lambda v: self._sum(a, v, number)))
            else:
                total = 0.0
                for value in known:
                    total += value
                center.append(total / len(known))
        return center

    def _sum(self, a: int, value: float, number: Counter[float]) -> float:
        total = 0.0
        for other, times in number.items():
            total += self.plain.apart_of(a, value, other) * times
        return total

    def _away(self, cluster: list[int], other: list[int]) -> float:
        """The correlation distance: nearer where both are nearer to k records together."""
        return super()._away(cluster, other) + abs(len(cluster) + len(other) - self.k) / self.k

    def _split(self, cluster: list[int]) -> list[list[int]]:
        return []
