"""SWAF, implemented step by step as described: a tree of regions, each with its pending records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, isnan

from dbanon.algorithms.streams import PENDING, SUPPRESSED, Arrivals
from oracle.stream_common import Span, StreamRecords


class Region:
    """A region of the tree; `spans`: for a number the ends that limit it, for a category its node, twice."""

    def __init__(self, above: Region | None, spans: list[Span]) -> None:
        self.above, self.spans = above, spans
        self.waiting: list[int] = []
        self.came = 0
        self.number: int | None = None
        self.children: dict[object, Region] = {}
        self.branch: Callable[[int], object] | None = None


class Swaf:
    """A stream: `out` and `step` by record, `classes` with published values, `kept` the classes of regions."""

    def __init__(self, came: Arrivals, k: int, need: Sequence[int], delta: int) -> None:
        self.plain, self.k, self.need = StreamRecords(came), k, need
        self.out = [PENDING] * came.n_records
        self.step = [0] * came.n_records
        self.classes: list[list[Span]] = []
        self.root = Region(None, [(0, 0) if nodes else (-inf, inf) for nodes in self.plain.nodes])
        self.at: dict[int, Region] = {}
        window: list[int] = []
        for record in range(came.n_records):
            self.now = record + 1
            self.plain.see(record)
            window.append(record)
            self._enter(record)
            while window and self.now - window[0] >= delta:
                self._due(window[0])
                window = [r for r in window if self.out[r] == PENDING]
        for record in window:
            if self.out[record] == PENDING:
                self._due(record)
        regions = [self.root]
        for region in regions:
            regions += region.children.values()
        self.kept = sorted(r.number for r in regions if r.number is not None)

    def _enter(self, record: int) -> None:
        """Add a record to its regions, and specialize the last one after k arrivals."""
        region = self.root
        region.waiting.append(record)
        while region.branch and region.branch(record) in region.children:
            region = region.children[region.branch(record)]
            region.waiting.append(record)
        self.at[record] = region
        region.came += 1
        if not region.branch and region.came >= self.k:
            self._specialize(region)

    def _specialize(self, region: Region) -> None:
        """Cut a region on the widest attribute whose parts all form classes, recursively."""
        if len(region.waiting) < 2 * self.k:
            return
        region.came = 0
        plain_result, records = self.plain, region.waiting
        wide_values = [
            plain_result.weights[a] * plain_result.loss_of(a, *span)
            for a, span in enumerate(plain_result.span(records))
        ]
        for a in sorted(range(plain_result.width), key=lambda a: (-wide_values[a], a)):
            if wide_values[a] <= 0:
                return
            branch, spans = self._cut(region, a)
            parts: dict[object, list[int]] = {}
            for r in records:
                parts.setdefault(branch(r), []).append(r)
            if None not in parts and all(plain_result.is_enough(part, self.k, self.need) for part in parts.values()):
                break
        else:
            return
        region.branch = branch
        for name, part in parts.items():
            child = region.children[name] = Region(region, list(region.spans))
            child.spans[a] = spans.get(name, child.spans[a])
            child.waiting = part
            self.at.update(dict.fromkeys(part, child))
        for child in region.children.values():
            self._specialize(child)

    def _cut(self, region: Region, a: int) -> tuple[Callable[[int], object], dict[object, Span]]:
        """Return a function that maps a record to its part (None: no part), and the spans of the parts."""
        value = [v[a] for v in self.plain.values]
        known_values = sorted(value[r] for r in region.waiting if not isnan(value[r]))
        spans: dict[object, Span] = {}
        if len(known_values) < len(region.waiting):
            return lambda r: isnan(value[r]), spans
        nodes = self.plain.nodes[a]
        if nodes:
            above = self.plain.ancestor(a, known_values)
            below = [n for n, node in enumerate(nodes) if node[0] == above]
            spans = {n: (n, n) for n in below}
            return lambda r: next((n for n in below if n <= value[r] <= nodes[n][1]), None), spans
        middle = known_values[(len(known_values) - 1) // 2]
        if middle == known_values[-1]:
            middle = max(v for v in known_values if v < known_values[-1])
        low, high = region.spans[a]
        spans = {"low": (low, middle), "high": (min(v for v in known_values if v > middle), high)}
        return lambda r: None if isnan(value[r]) else "low" if value[r] <= middle else "high", spans

    def _due(self, x: int) -> None:
        """Publish a due record with the class of its region or of one above, or with a new one; else suppress it."""
        region: Region | None = self.at[x]
        while region and self.out[x] == PENDING:
            if region.number is not None and self.plain.covers(self.classes[region.number], x):
                self._leave([x], region.number)
            elif self.plain.people[x] >= 0:
                batch = self._oldest(region)
                if batch:
                    region.number = len(self.classes)
                    self.classes.append(self._published(region, batch))
                    self._leave(batch, region.number)
            region = region.above
        if self.out[x] == PENDING:
            self._leave([x], SUPPRESSED)

    def _oldest(self, region: Region) -> list[int]:
        """Return the oldest pending records of a region that form a class; empty if impossible."""
        plain_result, batch = self.plain, list[int]()
        for r in sorted(region.waiting):
            few_values = [s for s, n in enumerate(self.need) if len(plain_result.kinds(batch, s)) < n]
            new = any(plain_result.kinds([r], s) - plain_result.kinds(batch, s) for s in few_values)
            if plain_result.persons([r]) - plain_result.persons(batch) and (len(batch) < self.k or new):
                batch.append(r)
            if plain_result.is_enough(batch, self.k, self.need):
                return batch
        return []

    def _published(self, region: Region, batch: list[int]) -> list[Span]:
        """Return the published spans of a batch, widened to the limits of its region."""
        spans = self.plain.span(batch)
        for a, (low, high) in enumerate(spans):
            if low > high or low == -inf:
                continue
            minimum, maximum = region.spans[a]
            if self.plain.nodes[a]:
                spans[a] = self.plain.published(a, int(minimum))
                continue
            values = [v for r in region.waiting if not isnan(v := self.plain.values[r][a])]
            spans[a] = (
                min(values) if minimum == -inf else min(low, minimum),
                max(values) if maximum == inf else max(high, maximum),
            )
        return spans

    def _leave(self, records: list[int], number: int) -> None:
        """Set the class of the records and remove them from their regions."""
        for r in records:
            self.out[r], self.step[r] = number, self.now
            region: Region | None = self.at[r]
            while region:
                region.waiting.remove(r)
                region = region.above
