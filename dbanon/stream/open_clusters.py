"""The open clusters of a stream as arrays (see dbanon.kernels.stream_open), from what was kept of them and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dbanon.space.space import Ints
from dbanon.stream.arrivals import Floats
from dbanon.stream.state import Desk, State


@dataclass(frozen=True)
class OpenClusters:
    """Slots of clusters, lists of their records, and scratch for questions about them.

    recent (mu,): what the last classes lose; used, ids, heads, sizes (slots,), lows and highs (slots, attributes); link
    and slot (records,). grown (slots,), marks (persons,), values (columns, sensitive values), clock (1,), rows (4,
    records), away (records,), table (nodes,), center (attributes,) and counts (nodes,) are scratch.
    """

    recent: Floats
    used: npt.NDArray[np.bool_]
    ids: Ints
    heads: Ints
    sizes: Ints
    lows: Floats
    highs: Floats
    link: Ints
    slot: Ints
    grown: Floats
    marks: Ints
    values: Ints
    clock: Ints
    rows: Ints
    away: Floats
    table: Floats
    center: Floats
    counts: Ints

    @classmethod
    def of(cls, desk: Desk, mu: int, slots: int, before: State | None) -> OpenClusters:
        """At most so many clusters at a time."""
        arrivals = desk.arrivals
        records, width = arrivals.values.shape
        columns = arrivals.sensitive.shape[1]
        made = cls(
            recent=np.zeros(mu),
            used=np.zeros(slots, bool),
            ids=np.zeros(slots, np.int64),
            heads=np.full(slots, -1, np.int64),
            sizes=np.zeros(slots, np.int64),
            lows=np.zeros((slots, width)),
            highs=np.zeros((slots, width)),
            link=np.full(records, -1, np.int64),
            slot=np.full(records, -1, np.int64),
            grown=np.zeros(slots),
            marks=np.zeros(int(arrivals.people.max(initial=0)) + 1, np.int64),
            values=np.zeros((columns, int(arrivals.sensitive.max(initial=0)) + 1), np.int64),
            clock=np.zeros(1, np.int64),
            rows=np.zeros((4, records), np.int64),
            away=np.zeros(records),
            table=np.zeros(len(arrivals.places.share)),
            center=np.zeros(width),
            counts=np.zeros(len(arrivals.places.share), np.int64),
        )
        if before is not None:
            made._take_up(desk, before)
        return made

    def _take_up(self, desk: Desk, before: State) -> None:
        """The clusters of the records that wait, as they were."""
        recent, numbers = before.own["recent"], before.own["cluster"]
        self.recent[: len(recent)] = recent
        desk.counters[4:8] = before.own["counters"]
        slots = {number: place for place, number in enumerate(sorted(set(numbers.tolist())))}
        spans = dict(zip(before.own["open"].tolist(), range(len(before.own["open"])), strict=True))
        for number, place in slots.items():
            self.used[place], self.ids[place] = True, number
            self.lows[place] = before.own["open_lows"][spans[number]]
            self.highs[place] = before.own["open_highs"][spans[number]]
        for record, number in enumerate(numbers.tolist()):
            place = slots[number]
            self.link[record], self.heads[place] = self.heads[place], record
            self.slot[record] = place
            self.sizes[place] += 1

    def kept(self, desk: Desk) -> dict[str, npt.NDArray[np.generic]]:
        """What goes on: `cluster` (records,), the number of each waiting record's cluster, -1 for the others; `open`
        (clusters,) these numbers, with what they span; and what the last classes lose."""
        slots = np.flatnonzero(self.used)
        return {
            "recent": self.recent,
            "cluster": np.where(self.slot >= 0, self.ids[self.slot], -1),
            "open": self.ids[slots],
            "open_lows": self.lows[slots],
            "open_highs": self.highs[slots],
            "counters": desk.counters[4:8].copy(),
        }
