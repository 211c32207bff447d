"""Columns of a release as the refinement attack sees them: losses of classes and bounds by neighbouring classes."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dbanon.audit.attacks.interval_bounds import IntervalProgram, Span

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

EPSILON = 1e-9
"""Losses that differ by less are equal, and nothing is inferred from them."""


@dataclass(frozen=True)
class KnownColumn:
    """A column of a release as the reader knows it.

    Attributes:
        is_number: Whether it is read as a number.
        weight: Its weight in the loss.
        step: 1 if values are whole numbers, 0 if they are fractions.
        is_tight: Whether records have both ends of each published interval, or at least two children of each published
            node.
        nodes: (nodes, 3) first leaf, last leaf and depth of the nodes of a hierarchy; None without a hierarchy.
    """

    is_number: bool
    weight: float = 1.0
    step: int = 1
    is_tight: bool = True
    nodes: Floats | None = None


class ColumnLoss:
    """The loss (of information) of all classes in one column, and what can be inferred from it.

    This base class is for values without a hierarchy: a class with different values loses everything, and nothing is
    inferred. `losses` (classes,) is the loss of a record in each class. `low` and `high` (classes,) are the first and
    last value of each class.
    """

    losses: Floats

    def __init__(self, column: KnownColumn, low: Floats, high: Floats) -> None:
        """Compute the loss of each class: none if it has one value, else the weight of the column.

        Args:
            column: The column as the reader knows it.
            low: (classes,) first value of each class.
            high: (classes,) last value of each class.
        """
        self.column, self.low, self.high = column, low, high
        self.losses = np.where(low == high, 0.0, column.weight)

    def merged_losses(self, c: int) -> Floats:
        """Return the (classes,) loss of a record in each class if it were merged with class c."""
        same = (self.low == self.low[c]) & (self.high == self.high[c])
        return np.where(same, self.losses[c], self.column.weight)

    def is_open(self, c: int) -> bool:
        """Return whether something can be inferred about the values of class c in the column; here never."""
        return False

    def extent(self, c: int) -> tuple[float, float]:
        """Return the first value (inclusive) and the last value (exclusive) of class c; here low and high."""
        return float(self.low[c]), float(self.high[c])

    def known_spans(self, c: int, size: int) -> list[Span]:
        """Return the certain limits of records in intervals, for class c of `size` records; here none."""
        return []

    def implied_spans(self, c: int, others: Ints, max_losses: Floats) -> Iterator[Span]:
        """Yield the limits of records of class c in intervals that other classes imply; in this base class none.

        `others` are indexes of classes. `max_losses` (others, n) is the loss below which a class with 1, ..., n more
        records would lower the total.
        """
        return iter(())

    def informative_bounds(self, c: int, program: IntervalProgram) -> Iterator[tuple[float, float, int]]:
        """Yield the limits of records of class c that are worth reporting; in this base class none.

        A limit is (first value, last value, greatest number of records). `program` has the inferred numbers.
        """
        return iter(())


class NumberLoss(ColumnLoss):
    """A column of numbers: a class loses its range relative to the range of the column.

    Classes grow only to published ends of intervals, since a grid may forbid other ends. `low` and `high` are NaN
    without a range; an open end becomes the end of the column.
    """

    def __init__(self, column: KnownColumn, low: Floats, high: Floats) -> None:
        """Compute the range and the loss of each class; an open end of a range is taken for the end of the column.

        Args:
            column: The column as the reader knows it.
            low: (classes,) lower ends; -inf for missing values, -inf to inf for any value. Numbers below -1e308 are
                open ends.
            high: (classes,) upper ends. Numbers above 1e308 are open ends.
        """
        super().__init__(column, low, high)
        self.is_missing = np.isneginf(high)
        self.has_bounds = ~np.isneginf(low)
        lows = low[self.has_bounds & (low > -1e308)]
        highs = high[self.has_bounds & (high < 1e308)]
        minimum = float(min(lows.min(initial=np.inf), highs.min(initial=np.inf)))
        maximum = float(max(highs.max(initial=-np.inf), lows.max(initial=-np.inf)))
        # A reader can only assume that an open end is the end of the column.
        self.low = np.where(self.has_bounds, np.maximum(low, minimum), np.nan)
        self.high = np.where(self.has_bounds, np.minimum(high, maximum), np.nan)
        self.is_closed = self.has_bounds & (low > -1e308) & (high < 1e308)
        self.published_lows, self.published_highs = np.unique(lows), np.unique(highs)
        self.scale = column.weight / (maximum - minimum) if maximum > minimum else 0.0
        self.losses = self._range_losses(self.low, self.high, self.is_missing)

    def _range_losses(self, low: Floats, high: Floats, is_missing: Flags) -> Floats:
        """Return the (classes,) loss of each range: its share of the column's range, times the column's weight.

        Args:
            low: (classes,) lower ends; NaN for a class without a range.
            high: (classes,) upper ends; NaN for a class without a range.
            is_missing: (classes,) whether all values of the class are missing. Such a class loses nothing; any other
                class without a range loses the full weight.
        """
        unbounded_losses = np.where(is_missing, 0.0, self.column.weight)
        return np.where(np.isfinite(low), (high - low) * self.scale, unbounded_losses)

    def merged_losses(self, c: int) -> Floats:
        """Return the (classes,) loss of a record in each class if it were merged with class c."""
        low, high = np.minimum(self.low, self.low[c]), np.maximum(self.high, self.high[c])
        return self._range_losses(low, high, self.is_missing & self.is_missing[c])

    def is_open(self, c: int) -> bool:
        """Return whether class c is a range of different values with two published ends.

        False for all classes if the column has only one value.
        """
        return bool(self.is_closed[c] and self.low[c] < self.high[c] and self.scale > 0)

    def _span(self, low: float, high: float, max_records: int) -> Span:
        """Return the limit on the records from low to high, both inclusive, as a Span, whose upper end is exclusive.

        The upper end becomes high + 1 for whole numbers, else the next greater float. `max_records` is stored as it is:
        -m means at least m records.
        """
        return Span(float(low), float(high + 1 if self.column.step else np.nextafter(high, np.inf)), max_records)

    def extent(self, c: int) -> tuple[float, float]:
        """Return the first value (inclusive) of class c, and the value after its last one."""
        return self._span(self.low[c], self.high[c], 0)[:2]

    def known_spans(self, c: int, size: int) -> list[Span]:
        """Return two intervals that state that each end of class c has at least one record.

        Each is the end alone, with the limit -1. [] for a column whose classes need not have records at the ends (not
        `column.is_tight`). `size`, the number of records of the class, is not used.
        """
        return [self._span(end, end, -1) for end in ((self.low[c], self.high[c]) if self.column.is_tight else ())]

    def implied_spans(self, c: int, others: Ints, max_losses: Floats) -> Iterator[Span]:
        """Yield the limits of records of class c in intervals to which other classes could grow.

        Args:
            c: Index of the class.
            others: Indexes of other classes; those without two published ends are ignored.
            max_losses: (others, n) the loss below which a class with 1, ..., n more records would lower the total.
        """
        others, max_losses = others[self.is_closed[others]], max_losses[self.is_closed[others]]
        first, last = self.low[others, None], self.high[others, None]
        growth = (max_losses - EPSILON) / self.scale - (last - first)
        ups = self.published_highs[np.maximum(np.searchsorted(self.published_highs, last + growth, "left") - 1, 0)]
        downs = self.published_lows[
            np.minimum(np.searchsorted(self.published_lows, first - growth, "right"), len(self.published_lows) - 1)
        ]
        for lows, highs in ((first, np.maximum(ups, last)), (np.minimum(downs, first), last)):
            lows, highs = (np.broadcast_to(ends, growth.shape) for ends in (lows, highs))
            lows, highs = np.maximum(lows, self.low[c]), np.minimum(highs, self.high[c])
            is_implied = (growth > 0) & (lows <= highs)
            for n_moved in range(growth.shape[1]):
                selected = is_implied[:, n_moved]
                for low, high in _widest_intervals(lows[selected, n_moved], highs[selected, n_moved]):
                    yield self._span(low, high, n_moved)

    def informative_bounds(self, c: int, program: IntervalProgram) -> Iterator[tuple[float, float, int]]:
        """Yield the ranges in which class c has no record, and the range with the greatest gain in information.

        The latter is omitted if its gain is not above the share of the empty ranges. The gain is the range's share of
        the width minus its greatest share of the records. A bound is (first value, last value, greatest number of
        records).

        `program` has the greatest numbers of records between any two points, as inferred.
        """
        points, max_records, max_known = program.points, program.max_records, program.max_known
        size, length = max_records[0, -1], points[-1] - points[0]
        is_emptied = (np.diagonal(max_records, 1) == 0) & (np.diagonal(max_known, 1) > 0)
        edges = np.diff(np.concatenate([[False], is_emptied, [False]]).astype(np.int8))
        runs = list(zip(points[edges == 1], points[edges == -1], strict=True))
        yield from ((float(low), self._predecessor(high), 0) for low, high in runs)
        gain = (points[None, :] - points[:, None]) / length - max_records / size
        gain[(max_records >= max_known) | (max_records <= 0) | np.tri(len(points), dtype=bool)] = -np.inf
        i, j = np.unravel_index(np.argmax(gain), gain.shape)
        if gain[i, j] > sum(high - low for low, high in runs) / length:
            yield float(points[i]), self._predecessor(points[j]), int(max_records[i, j])

    def _predecessor(self, place: float) -> float:
        """Return the greatest value below a point: 1 less for whole numbers, else the next lower float."""
        return float(place - 1 if self.column.step else np.nextafter(place, -np.inf))


class HierarchyLoss(ColumnLoss):
    """A column of categories with a hierarchy: a class loses the height of its node.

    The height is the share of leaves below the node, or of levels above the leaves, times the weight. Classes grow only
    to published nodes, since others may not be allowed. Numbers beyond the nodes mean missing values (`n_nodes`)
    and any value (`n_nodes + 1`).
    """

    def __init__(self, column: KnownColumn, low: Floats, high: Floats, nodes: Floats, by_leaves: bool) -> None:
        """Build the tree of nodes, find the node of each class, and compute heights and losses.

        Args:
            column: The column as the reader knows it.
            low: (classes,) first leaf of the node of each class; -inf for missing values, -inf to inf for any value.
            high: (classes,) last leaf.
            nodes: (nodes, 3) first leaf, last leaf and depth of each node.
            by_leaves: Whether a node loses its share of leaves; otherwise its levels above the leaves.
        """
        super().__init__(column, low, high)
        self.first, self.last, depth = nodes[np.lexsort((nodes[:, 0], nodes[:, 2]))].T
        depth = depth.astype(np.int64)
        n_nodes = len(depth)
        self.parent = np.zeros(n_nodes, np.int64)
        for level in range(1, int(depth.max()) + 1):
            parents, level_nodes = np.flatnonzero(depth == level - 1), np.flatnonzero(depth == level)
            self.parent[level_nodes] = parents[
                np.searchsorted(self.first[parents], self.first[level_nodes], "right") - 1
            ]
        is_inner = np.zeros(n_nodes, bool)
        is_inner[self.parent[1:]] = True
        height = (self.last - self.first + 1) / (self.last[0] + 1) if by_leaves else 1 - depth / max(depth.max(), 1)
        self.height = np.where(is_inner, height, 0.0) * column.weight
        # The lowest node of each span; the next two numbers mean missing values and any value.
        lowest = {span: i for i, span in enumerate(zip(self.first, self.last, strict=True))}
        node_of_span = lowest | {(-np.inf, -np.inf): n_nodes, (-np.inf, np.inf): n_nodes + 1}
        self.class_nodes = np.array(
            [node_of_span.get(span, n_nodes + 1) for span in zip(low, high, strict=True)], np.int64
        )
        self.is_published = np.zeros(n_nodes + 2, bool)
        self.is_published[self.class_nodes] = True
        self.published_ancestors = np.arange(n_nodes)
        for i in range(1, n_nodes):
            if not self.is_published[i]:
                self.published_ancestors[i] = self.published_ancestors[self.parent[i]]
        self.n_nodes = n_nodes
        self.losses = np.concatenate([self.height, [0.0, column.weight]])[self.class_nodes]
        self._losses_by_node: dict[int, Floats] = {}

    def _path_from_root(self, node: int) -> list[int]:
        """Return the numbers of the nodes on the path from the root to a node, both included."""
        path = [node]
        while path[-1]:
            path.append(int(self.parent[path[-1]]))
        return path[::-1]

    def merged_losses(self, c: int) -> Floats:
        """Return the (classes,) loss of a record in each class if it were merged with class c; cached by node.

        The merged class has the lowest published common ancestor as its node. Missing values lose nothing if they are
        merged with missing values, and the full weight if they are merged with others.
        """
        node = int(self.class_nodes[c])
        if node not in self._losses_by_node:
            losses = np.full(self.n_nodes + 2, self.column.weight)
            if node == self.n_nodes:
                losses[node] = 0
            elif node < self.n_nodes:
                for ancestor in self._path_from_root(node):
                    is_below = (self.first >= self.first[ancestor]) & (self.last <= self.last[ancestor])
                    losses[:-2][is_below] = self.height[self.published_ancestors[ancestor]]
            self._losses_by_node[node] = losses
        return self._losses_by_node[node][self.class_nodes]

    def is_open(self, c: int) -> bool:
        """Return whether the node of class c is above the leaves (or is any value), so that it loses something."""
        return bool(self.class_nodes[c] != self.n_nodes and self.losses[c] > 0)

    def extent(self, c: int) -> tuple[float, float]:
        """Return the first leaf (inclusive) and the last leaf (exclusive) of class c; from -1 if it has any value."""
        node = self.class_nodes[c]
        # A class with any value may have missing values, too; their position is before the first leaf.
        return (-1.0, self.last[0] + 1) if node > self.n_nodes else (float(self.first[node]), self.last[node] + 1)

    def known_spans(self, c: int, size: int) -> list[Span]:
        """Return intervals that state that no child of the node of class c has all `size` records of the class.

        Each is a child's leaves with the limit `size` - 1. [] for a column that is not tight (`column.is_tight`). A
        class with any value is divided into missing values and the children of the root.
        """
        if not self.column.is_tight:
            return []
        node = self.class_nodes[c]
        children = np.flatnonzero(self.parent == (0 if node > self.n_nodes else node))
        missing = [Span(-1.0, 0.0, size - 1)] if node > self.n_nodes else []
        return missing + [Span(float(self.first[i]), self.last[i] + 1, size - 1) for i in children if i]

    def implied_spans(self, c: int, others: Ints, max_losses: Floats) -> Iterator[Span]:
        """Yield the limits of records of class c in published nodes inside it, to which other classes could grow.

        Args:
            c: Index of the class.
            others: Indexes of other classes.
            max_losses: (others, n) the loss below which a class with 1, ..., n more records would lower the total.
        """
        low, high = self.extent(c)
        nodes = self.class_nodes[others]
        if self.class_nodes[c] > self.n_nodes:
            for i in np.flatnonzero((nodes == self.n_nodes) & (max_losses > EPSILON).any(axis=1)):
                yield Span(-1.0, 0.0, int(np.argmax(max_losses[i] > EPSILON)))
        max_losses, nodes = max_losses[nodes < self.n_nodes], nodes[nodes < self.n_nodes]
        min_moved = np.full(self.n_nodes, max_losses.shape[1])
        while len(nodes):
            width = self.last[nodes] + 1 - self.first[nodes]
            inside = (self.first[nodes] >= low) & (self.last[nodes] < high) & (width < high - max(low, 0))
            enough = (max_losses > self.height[nodes][:, None] + EPSILON) & inside[:, None]
            is_implied = enough.any(axis=1)
            max_losses, nodes = max_losses[is_implied], nodes[is_implied]
            np.minimum.at(min_moved, nodes, np.argmax(enough[is_implied], axis=1))
            nodes = self.parent[nodes]
        for i in np.flatnonzero((min_moved < max_losses.shape[1]) & self.is_published[: self.n_nodes]):
            yield Span(float(self.first[i]), float(self.last[i] + 1), int(min_moved[i]))

    def informative_bounds(self, c: int, program: IntervalProgram) -> Iterator[tuple[float, float, int]]:
        """Yield the nodes at which class c has no record, and the node with the greatest gain in information.

        The latter is omitted if its gain is not above the share of the empty nodes. The gain is the node's share of
        leaves minus its greatest share of the records. A bound is (first leaf, last leaf, greatest number of records).

        `program` has the greatest numbers of records between any two points, as inferred.
        """
        low, high = self.extent(c)
        size, length = program.max_records[0, -1], high - max(low, 0)
        emptied_share, best = 0.0, None
        for span in program.bounds:
            max_records, max_known = program.max_between(span.low, span.high)
            share = (span.high - span.low) / length if span.low >= 0 else 0.0
            if max_records >= max_known:
                continue
            if max_records == 0:
                emptied_share += share
                yield span.low, span.high - 1, 0
            elif best is None or share - max_records / size > best[0]:
                best = share - max_records / size, span, max_records
        if best is not None and best[0] > emptied_share:
            yield best[1].low, best[1].high - 1, best[2]


def _widest_intervals(lows: Floats, highs: Floats) -> Iterator[tuple[float, float]]:
    """Yield the intervals that are not inside another one, by their lower end; of equal ones only one."""
    order = np.lexsort((-highs, lows))
    lows, highs = lows[order], highs[order]
    greatest_before = np.concatenate([[-np.inf], np.maximum.accumulate(highs)[:-1]])[: len(highs)]
    yield from zip(lows[highs > greatest_before].tolist(), highs[highs > greatest_before].tolist(), strict=True)


def column_loss(column: KnownColumn, low: Floats, high: Floats, by_leaves: bool) -> ColumnLoss:
    """Return the losses of classes in a column, by the kind of column: number, hierarchy, or neither.

    Args:
        column: The column as the reader knows it.
        low: (classes,) lower ends; -inf for missing values, -inf to inf for any value.
        high: (classes,) upper ends.
        by_leaves: Whether a hierarchy's node loses its share of leaves; otherwise its levels above the leaves.
    """
    if column.is_number:
        return NumberLoss(column, low, high)
    if column.nodes is None:
        return ColumnLoss(column, low, high)
    return HierarchyLoss(column, low, high, column.nodes, by_leaves)
