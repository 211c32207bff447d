"""UBDSA, implemented step by step as described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbanon.algorithms.streams import PENDING, SUPPRESSED, Arrivals
from oracle.stream_common import Span, StreamRecords


@dataclass
class Cluster:
    number: int
    records: list[int]


class Ubdsa:
    """A stream: `out` and `step` by record, `classes` with published values, `kept` the stored classes."""

    def __init__(self, came: Arrivals, k: int, need: Sequence[int], options: Mapping[str, object]) -> None:
        self.plain, self.k, self.need = StreamRecords(came), k, need
        self.beta, self.store = int(str(options["beta"])), int(str(options["max_stored_classes"]))
        self.theta, delta = float(str(options["theta"])), int(str(options["delta"]))
        self.out = [PENDING] * came.n_records
        self.step = [0] * came.n_records
        self.classes: list[list[Span]] = []
        self.kept: list[int] = []
        self.open: list[Cluster] = []
        self.opened = 0
        for record in range(came.n_records):
            self.now = record + 1
            self.plain.see(record)
            self._arrive(record)
            for old in range(max(0, self.now - delta), self.now):
                if self.now - old >= delta and self.out[old] == PENDING:
                    self._due(old)
        for record in range(came.n_records):
            if self.out[record] == PENDING:
                self._due(record)

    def _arrive(self, t: int) -> None:
        """Publish a record with a stored class, or add it to an open cluster; publish a complete cluster."""
        stored = self._stored(t)
        if stored and stored[0] <= self.theta:
            self._leave([t], stored[1])
            return
        values = []
        for c in self.open:
            with_ = self._loss([*c.records, t])
            extra = (len(c.records) + 1) * with_ - len(c.records) * self._loss(c.records)
            values.append((extra, len(c.records), c.number, with_, c))
        best = min(values, key=lambda f: f[:3]) if values else None
        if best and (best[3] <= self.theta or len(self.open) >= self.beta):
            cluster = best[4]
            cluster.records.append(t)
        else:
            cluster = Cluster(self.opened, [t])
            self.opened += 1
            self.open.append(cluster)
        if self._is_enough(cluster.records) and self._loss(cluster.records) <= self.theta:
            self._publish(cluster)

    def _due(self, x: int) -> None:
        """Publish the cluster of a due record, merged if too small; or the record with a stored class or suppressed."""
        cluster = next(c for c in self.open if x in c.records)
        if not self._is_enough(cluster.records):
            stored = self._stored(x)
            if stored or not self._is_enough([r for c in self.open for r in c.records]):
                cluster.records.remove(x)
                self.open = [c for c in self.open if c.records]
                self._leave([x], stored[1] if stored else SUPPRESSED)
                return
        while not self._is_enough(cluster.records):
            own_part, values = len(cluster.records) * self._loss(cluster.records), []
            for c in self.open:
                if c is not cluster:
                    both = (len(cluster.records) + len(c.records)) * self._loss(cluster.records + c.records)
                    extra_both = both - own_part - len(c.records) * self._loss(c.records)
                    values.append((extra_both, len(c.records), c.number, c))
            other = min(values, key=lambda f: f[:3])[3]
            cluster.records += other.records
            self.open.remove(other)
        self._publish(cluster)

    def _publish(self, cluster: Cluster) -> None:
        """Publish an open cluster as a new stored class."""
        self.open.remove(cluster)
        self.kept = [*self.kept, len(self.classes)]
        self.kept = self.kept[max(0, len(self.kept) - self.store) :]
        self._leave(cluster.records, len(self.classes))
        self.classes.append(self.plain.span(cluster.records))

    def _leave(self, records: Sequence[int], number: int) -> None:
        for r in records:
            self.out[r], self.step[r] = number, self.now

    def _stored(self, t: int) -> tuple[float, int] | None:
        """Return loss and number of the stored class of least loss that covers a record."""
        fit = [(self.plain.loss(self.classes[c]), c) for c in self.kept if self.plain.covers(self.classes[c], t)]
        return min(fit, default=None)

    def _loss(self, records: Sequence[int]) -> float:
        return self.plain.loss(self.plain.span(records))

    def _is_enough(self, records: Sequence[int]) -> bool:
        return self.plain.is_enough(records, self.k, self.need)
