"""SWAF, implemented step by step as described: the window is specialized anew for each record that leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isnan

from dbanon.algorithms.streams import PENDING, SUPPRESSED, Arrivals
from oracle.stream_common import Span, StreamRecords


class Swaf:
    """A stream: `out` and `step` by record, `classes` with published values, `kept` the reusable classes."""

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
                self._due(self.window[0])
        while self.window:
            self._due(self.window[0])

    def _due(self, x: int) -> None:
        """Publish a record as a new node, or with a stored one of less loss; else suppress it."""
        plain_result = self.plain
        covering = [c for c in self.kept if plain_result.covers(self.classes[c], x)]
        stored = min(covering, key=lambda c: plain_result.loss(self.classes[c]), default=None)
        batch = self._oldest(self._leaf(x)) if plain_result.persons([x]) else []
        loss = plain_result.loss(plain_result.span(batch)) if batch else inf
        if batch and (stored is None or plain_result.loss(self.classes[stored]) >= loss):
            self.kept = [*self.kept, len(self.classes)][-self.store :] if self.store else []
            self._leave(batch, len(self.classes))
            self.classes.append(plain_result.span(batch))
        else:
            self._leave([x], SUPPRESSED if stored is None else stored)

    def _leaf(self, x: int) -> list[int]:
        """Return the records of the deepest node with the record x."""
        plain_result, node = self.plain, [r for r in self.window if self.plain.persons([r])]
        while len(node) >= 2 * self.k:
            wide_values = [
                plain_result.weights[a] * plain_result.loss_of(a, *span)
                for a, span in enumerate(plain_result.span(node))
            ]
            for a in sorted(range(plain_result.width), key=lambda a: (-wide_values[a], a)):
                names = self._parts(node, a) if wide_values[a] > 0 else {}
                children: dict[object, list[int]] = {}
                for r, name in names.items():
                    children.setdefault(name, []).append(r)
                if (
                    len(children) > 1
                    and None not in children
                    and all(plain_result.is_enough(child, self.k, self.need) for child in children.values())
                ):
                    node = children[names[x]]
                    break
            else:
                return node
        return node

    def _parts(self, node: list[int], a: int) -> dict[int, object]:
        """Return the child of each record when a node is split on an attribute; None for one that has no child."""
        value = {r: self.plain.values[r][a] for r in node}
        if any(isnan(v) for v in value.values()):
            return {r: isnan(v) for r, v in value.items()}
        ordered = sorted(value.values())
        if self.plain.nodes[a]:
            above = self.plain.ancestor(a, ordered)
            below = [n for n, place in enumerate(self.plain.nodes[a]) if place[0] == above and n != above]
            return {r: next((n for n in below if n <= v <= self.plain.nodes[a][n][1]), None) for r, v in value.items()}
        middle = ordered[(len(ordered) - 1) // 2]
        if middle == ordered[-1]:
            middle = max((v for v in ordered if v < middle), default=middle)
        return {r: v <= middle for r, v in value.items()}

    def _oldest(self, leaf: list[int]) -> list[int]:
        """Return the oldest records of a leaf that form a class; empty if impossible."""
        plain_result, batch = self.plain, list[int]()
        for r in leaf:
            few_values = [s for s, n in enumerate(self.need) if len(plain_result.kinds(batch, s)) < n]
            new = any(plain_result.kinds([r], s) - plain_result.kinds(batch, s) for s in few_values)
            if plain_result.persons([r]) - plain_result.persons(batch) and (len(batch) < self.k or new):
                batch.append(r)
            if plain_result.is_enough(batch, self.k, self.need):
                return batch
        return []

    def _leave(self, records: list[int], number: int) -> None:
        """Set the class of the records and remove them from the window."""
        for r in records:
            self.out[r], self.step[r] = number, self.now
            self.window.remove(r)
