"""The columns of a release as whoever refines it sees them: what classes lose, and what their neighbours tell."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dbanon.audit.attacks.interval_bounds import Program, Span

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

EPSILON = 1e-9
"""Losses that are closer than this are equal, and nothing is inferred from them."""


@dataclass(frozen=True)
class Column:
    """A column as the reader knows it.

    `step`: 1 where values are counted, 0 where they are measured. `is_tight`: the ends of its intervals, or two
    children of its nodes, are occupied. `nodes` (nodes, 3) are first and last leaf and depth of the nodes of a
    hierarchy; None for a number, and for values without a hierarchy.
    """

    is_number: bool
    weight: float = 1.0
    step: int = 1
    is_tight: bool = True
    nodes: Floats | None = None


class Axis:
    """A column of all classes: what each loses there, and what can be inferred.

    This one has values without a hierarchy: all is lost where they differ, and nothing is inferred of them.
    """

    own: Floats

    def __init__(self, column: Column, low: Floats, high: Floats) -> None:
        self.column, self.low, self.high = column, low, high
        self.own = np.where(low == high, 0.0, column.weight)

    def joined(self, c: int) -> Floats:
        """Return the loss of every class if it were one with class c."""
        same = (self.low == self.low[c]) & (self.high == self.high[c])
        return np.where(same, self.own[c], self.column.weight)

    def is_open(self, c: int) -> bool:
        """Return whether class c hides values of which something can be inferred."""
        return False

    def whole(self, c: int) -> tuple[float, float]:
        """Return the values of class c, the second excluded."""
        return float(self.low[c]), float(self.high[c])

    def known(self, c: int, size: int) -> list[Span]:
        """What is known of class c of so many records anyway."""
        return []

    def spans(self, c: int, others: Ints, room: Floats) -> Iterator[Span]:
        """Yield the bounds that others set.

        Below `room` (others, g) the loss of each with g more records must be here.
        """
        return iter(())

    def told(self, c: int, program: Program) -> Iterator[tuple[float, float, int]]:
        """Yield the first and last value, and the greatest number of records: what is worth telling."""
        return iter(())


class Number(Axis):
    """A number: it loses its range over that of the column.

    Classes grow to where published intervals end, since a grid may forbid other ends.
    """

    def __init__(self, column: Column, low: Floats, high: Floats) -> None:
        super().__init__(column, low, high)
        self.missing = np.isneginf(high)
        self.known_ends = ~np.isneginf(low)
        lows = low[self.known_ends & (low > -1e308)]
        highs = high[self.known_ends & (high < 1e308)]
        least = float(min(lows.min(initial=np.inf), highs.min(initial=np.inf)))
        greatest = float(max(highs.max(initial=-np.inf), lows.max(initial=-np.inf)))
        # An open end is where the column ends, as far as anybody can tell.
        self.low = np.where(self.known_ends, np.maximum(low, least), np.nan)
        self.high = np.where(self.known_ends, np.minimum(high, greatest), np.nan)
        self.closed = self.known_ends & (low > -1e308) & (high < 1e308)
        self.lows, self.highs = np.unique(lows), np.unique(highs)
        self.scale = column.weight / (greatest - least) if greatest > least else 0.0
        self.own = self._loss(self.low, self.high, self.missing)

    def _loss(self, low: Floats, high: Floats, missing: Flags) -> Floats:
        """Return all is lost where missing values are mixed with others, nothing where all are missing."""
        lost = np.where(missing, 0.0, self.column.weight)
        return np.where(np.isfinite(low), (high - low) * self.scale, lost)

    def joined(self, c: int) -> Floats:
        low, high = np.minimum(self.low, self.low[c]), np.maximum(self.high, self.high[c])
        return self._loss(low, high, self.missing & self.missing[c])

    def is_open(self, c: int) -> bool:
        return bool(self.closed[c] and self.low[c] < self.high[c] and self.scale > 0)

    def _span(self, low: float, high: float, most: int) -> Span:
        return Span(float(low), float(high + 1 if self.column.step else np.nextafter(high, np.inf)), most)

    def whole(self, c: int) -> tuple[float, float]:
        return self._span(self.low[c], self.high[c], 0)[:2]

    def known(self, c: int, size: int) -> list[Span]:
        ends = (self.low[c], self.high[c]) if self.column.is_tight else ()
        return [self._span(end, end, -1) for end in ends]

    def spans(self, c: int, others: Ints, room: Floats) -> Iterator[Span]:
        others, room = others[self.closed[others]], room[self.closed[others]]
        first, last = self.low[others, None], self.high[others, None]
        more = (room - EPSILON) / self.scale - (last - first)
        ups = self.highs[np.maximum(np.searchsorted(self.highs, last + more, "left") - 1, 0)]
        downs = self.lows[np.minimum(np.searchsorted(self.lows, first - more, "right"), len(self.lows) - 1)]
        for lows, highs in ((first, np.maximum(ups, last)), (np.minimum(downs, first), last)):
            lows, highs = (np.broadcast_to(ends, more.shape) for ends in (lows, highs))
            lows, highs = np.maximum(lows, self.low[c]), np.minimum(highs, self.high[c])
            found = (more > 0) & (lows <= highs)
            for moved in range(more.shape[1]):
                chosen = found[:, moved]
                for low, high in _widest(lows[chosen, moved], highs[chosen, moved]):
                    yield self._span(low, high, moved)

    def told(self, c: int, program: Program) -> Iterator[tuple[float, float, int]]:
        places, most, anyway = program.places, program.most, program.anyway
        size, whole = most[0, -1], places[-1] - places[0]
        empty = (np.diagonal(most, 1) == 0) & (np.diagonal(anyway, 1) > 0)
        edges = np.diff(np.concatenate([[False], empty, [False]]).astype(np.int8))
        runs = list(zip(places[edges == 1], places[edges == -1], strict=True))
        yield from ((float(low), self._before(high), 0) for low, high in runs)
        gain = (places[None, :] - places[:, None]) / whole - most / size
        gain[(most >= anyway) | (most <= 0) | np.tri(len(places), dtype=bool)] = -np.inf
        i, j = np.unravel_index(np.argmax(gain), gain.shape)
        if gain[i, j] > sum(high - low for low, high in runs) / whole:
            yield float(places[i]), self._before(places[j]), int(most[i, j])

    def _before(self, place: float) -> float:
        return float(place - 1 if self.column.step else np.nextafter(place, -np.inf))


class Tree(Axis):
    """A category: it loses the height of its node. Classes grow to published nodes, since others may be raised."""

    def __init__(self, column: Column, low: Floats, high: Floats, nodes: Floats, leaves: bool) -> None:
        super().__init__(column, low, high)
        self.first, self.last, depth = nodes[np.lexsort((nodes[:, 0], nodes[:, 2]))].T
        depth = depth.astype(np.int64)
        count = len(depth)
        self.parent = np.zeros(count, np.int64)
        for level in range(1, int(depth.max()) + 1):
            above, here = np.flatnonzero(depth == level - 1), np.flatnonzero(depth == level)
            self.parent[here] = above[np.searchsorted(self.first[above], self.first[here], "right") - 1]
        inner = np.zeros(count, bool)
        inner[self.parent[1:]] = True
        height = (self.last - self.first + 1) / (self.last[0] + 1) if leaves else 1 - depth / max(depth.max(), 1)
        self.height = np.where(inner, height, 0.0) * column.weight
        # The lowest node of each span; after the nodes come missing values, and anything.
        lowest = {span: i for i, span in enumerate(zip(self.first, self.last, strict=True))}
        ends = {(-np.inf, -np.inf): count, (-np.inf, np.inf): count + 1}
        known = lowest | ends
        self.node = np.array([known.get(span, count + 1) for span in zip(low, high, strict=True)], np.int64)
        self.shown = np.zeros(count + 2, bool)
        self.shown[self.node] = True
        self.published = np.arange(count)
        for i in range(1, count):
            if not self.shown[i]:
                self.published[i] = self.published[self.parent[i]]
        self.count = count
        self.own = np.concatenate([self.height, [0.0, column.weight]])[self.node]
        self._rows: dict[int, Floats] = {}

    def _line(self, node: int) -> list[int]:
        """Return the node and those above it, the root first."""
        line = [node]
        while line[-1]:
            line.append(int(self.parent[line[-1]]))
        return line[::-1]

    def joined(self, c: int) -> Floats:
        node = int(self.node[c])
        if node not in self._rows:
            row = np.full(self.count + 2, self.column.weight)
            if node == self.count:
                row[node] = 0
            elif node < self.count:
                for above in self._line(node):
                    below = (self.first >= self.first[above]) & (self.last <= self.last[above])
                    row[:-2][below] = self.height[self.published[above]]
            self._rows[node] = row
        return self._rows[node][self.node]

    def is_open(self, c: int) -> bool:
        return bool(self.node[c] != self.count and self.own[c] > 0)

    def whole(self, c: int) -> tuple[float, float]:
        node = self.node[c]
        # What is anything may be missing, too, which stands before the first leaf.
        return (-1.0, self.last[0] + 1) if node > self.count else (float(self.first[node]), self.last[node] + 1)

    def known(self, c: int, size: int) -> list[Span]:
        if not self.column.is_tight:
            return []
        node = self.node[c]
        children = np.flatnonzero(self.parent == (0 if node > self.count else node))
        missing = [Span(-1.0, 0.0, size - 1)] if node > self.count else []
        return missing + [Span(float(self.first[i]), self.last[i] + 1, size - 1) for i in children if i]

    def spans(self, c: int, others: Ints, room: Floats) -> Iterator[Span]:
        low, high = self.whole(c)
        node = self.node[others]
        if self.node[c] > self.count:
            for i in np.flatnonzero((node == self.count) & (room > EPSILON).any(axis=1)):
                yield Span(-1.0, 0.0, int(np.argmax(room[i] > EPSILON)))
        room, node = room[node < self.count], node[node < self.count]
        least = np.full(self.count, room.shape[1])
        while len(node):
            width = self.last[node] + 1 - self.first[node]
            inside = (self.first[node] >= low) & (self.last[node] < high) & (width < high - max(low, 0))
            enough = (room > self.height[node][:, None] + EPSILON) & inside[:, None]
            some = enough.any(axis=1)
            room, node = room[some], node[some]
            np.minimum.at(least, node, np.argmax(enough[some], axis=1))
            node = self.parent[node]
        for i in np.flatnonzero((least < room.shape[1]) & self.shown[: self.count]):
            yield Span(float(self.first[i]), float(self.last[i] + 1), int(least[i]))

    def told(self, c: int, program: Program) -> Iterator[tuple[float, float, int]]:
        low, high = self.whole(c)
        size, whole = program.most[0, -1], high - max(low, 0)
        gained, best = 0.0, None
        for span in program.bounds:
            most, anyway = program.between(span.low, span.high)
            share = (span.high - span.low) / whole if span.low >= 0 else 0.0
            if most >= anyway:
                continue
            if most == 0:
                gained += share
                yield span.low, span.high - 1, 0
            elif best is None or share - most / size > best[0]:
                best = share - most / size, span, most
        if best is not None and best[0] > gained:
            yield best[1].low, best[1].high - 1, best[2]


def _widest(lows: Floats, highs: Floats) -> Iterator[tuple[float, float]]:
    """Yield the intervals that lie in no other one."""
    order = np.lexsort((-highs, lows))
    lows, highs = lows[order], highs[order]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(highs)[:-1]])[: len(highs)]
    yield from zip(lows[highs > before].tolist(), highs[highs > before].tolist(), strict=True)


def axis_of(column: Column, low: Floats, high: Floats, leaves: bool) -> Axis:
    """What is known of a column of classes from low to high; missing values are -inf, anything is -inf to inf."""
    if column.is_number:
        return Number(column, low, high)
    if column.nodes is None:
        return Axis(column, low, high)
    return Tree(column, low, high, column.nodes, leaves)
