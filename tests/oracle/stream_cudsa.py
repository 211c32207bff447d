"""CUDSA, implemented step by step as described."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from dbanon.algorithms.streams import PENDING, SUPPRESSED, Arrivals
from oracle.stream_common import Span, StreamRecords


class Cudsa:
    """A stream: `out` and `step` by record, `classes` with published values, `kept` the stored classes."""

    def __init__(self, came: Arrivals, k: int, need: Sequence[int], options: Mapping[str, object]) -> None:
        self.plain, self.k, self.need = StreamRecords(came), k, need
        self.labels = [0] * came.n_records if came.labels is None else came.labels.tolist()
        self.w = 1.0 if came.labels is None else float(str(options["label_weight"]))
        self.store, delta = int(str(options["max_stored_classes"])), int(str(options["delta"]))
        self.out = [PENDING] * came.n_records
        self.step = [0] * came.n_records
        self.classes: list[list[Span]] = []
        self.groups: list[list[int]] = []
        self.kept: list[int] = []
        self.window: list[int] = []
        for record in range(came.n_records):
            self.now = record + 1
            self.plain.see(record)
            self.window.append(record)
            while self.window and self.now - self.window[0] >= delta:
                self._publish(self.window[0])
        while self.window:
            self._publish(self.window[0])

    def _publish(self, x: int) -> None:
        """Publish a record with a stored class or a new group, whichever costs less; else suppress it."""
        fit = [c for c in self.kept if self.plain.covers(self.classes[c], x)]
        stored = min(((self._cost(self.groups[c], self.classes[c]), c) for c in fit), default=None)
        group = self._form(x) if self.plain.people[x] >= 0 else []
        if not group or (stored and stored[0] < self._cost(group, self.plain.span(group))):
            self._leave([x], stored[1] if stored else SUPPRESSED)
            return
        self._leave(group, len(self.classes))
        self.kept = [*self.kept, len(self.classes)]
        self.kept = self.kept[max(0, len(self.kept) - self.store) :]
        self.classes.append(self.plain.span(group))
        self.groups.append(group)

    def _form(self, x: int) -> list[int]:
        """Return the record with those of least added cost until they form a class; empty if impossible."""
        plain_result, group = self.plain, [x]
        while not plain_result.is_enough(group, self.k, self.need):
            free = [r for r in self.window if plain_result.persons([r]) - plain_result.persons(group)]
            if len(group) >= self.k:
                few_pair = next(s for s, n in enumerate(self.need) if len(plain_result.kinds(group, s)) < n)
                free = [r for r in free if plain_result.kinds([r], few_pair) - plain_result.kinds(group, few_pair)]
            if not free:
                return []
            group.append(min(free, key=lambda r: (self._more(group, r), r)))
        return group

    def _more(self, group: list[int], r: int) -> float:
        """Return the cost that a record adds to a group: loss and mixing of labels."""
        both, n = [*group, r], len(group)
        loss = (n + 1) * self.plain.loss(self.plain.span(both)) - n * self.plain.loss(self.plain.span(group))
        return self.w * loss + (1 - self.w) * (self._mixed(both) - self._mixed(group))

    def _mixed(self, group: Sequence[int]) -> float:
        """Return the size of a group times the chance that two drawn labels differ."""
        squares = sum(n * n for n in Counter(self.labels[r] for r in group).values())
        return len(group) - squares / len(group)

    def _cost(self, group: Sequence[int], spans: Sequence[Span]) -> float:
        """Return the cost of a group with these published spans."""
        return self.w * (len(group) * self.plain.loss(spans)) + (1 - self.w) * self._mixed(group)

    def _leave(self, records: Sequence[int], number: int) -> None:
        """Set the class of the records and remove them from the window."""
        for r in records:
            self.out[r], self.step[r] = number, self.now
            self.window.remove(r)
