"""FAANST, implemented step by step as described."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan

import numpy as np

from dbanon.algorithms.streams import PENDING, SUPPRESSED, Arrivals
from oracle.stream_common import Span, StreamRecords


class Faanst:
    """A stream: `out` and `step` by record, `classes` with published values, `kept` the accepted classes."""

    def __init__(self, came: Arrivals, k: int, need: Sequence[int], options: dict[str, object]) -> None:
        self.plain, self.k, self.need = StreamRecords(came), k, need
        self.delta, self.mode, self.by = options["delta"], options["mode"], options["clusters"]
        self.threshold, self.state = options["threshold"], int(np.random.PCG64(options["seed"]).random_raw()) | 1
        self.out = [PENDING] * came.n_records
        self.step = [0] * came.n_records
        self.classes: list[list[Span]] = []
        self.kept: list[int] = []
        self.window: list[int] = []
        self.clusters: list[list[int]] = []
        stored_number, self.now = 0, 0
        for record in range(came.n_records):
            self.now = record + 1
            self.plain.see(record)
            self.window.append(record)
            if len(self.window) >= options["mu"] and self.now - stored_number >= max(k, options["mu"] // 4):
                gap, stored_number = self.now - stored_number, self.now
                self._round()
                if self.mode == "proactive":
                    for x in list(self.window):
                        if x in self.window and self.now - x + gap >= self.delta:
                            self._force(x, self.now - x >= self.delta)
            while self.window and self.now - self.window[0] >= self.delta:
                self._force(self.window[0], True)
        if self.window and stored_number < self.now:
            self._round()
        while self.window:
            self._force(self.window[0], True)

    def _below(self, n: int) -> int:
        """Return a random integer below n (xorshift64*)."""
        x, full_result = self.state, 2**64 - 1
        x ^= x >> 12
        x ^= x << 25 & full_result
        x ^= x >> 27
        self.state = x
        return ((x * 2685821657736338717 & full_result) >> 33) % n

    def _covering(self, x: int) -> int | None:
        """Return the accepted class of least loss that covers a record; None if there is none."""
        kept_values = [c for c in self.kept if self.plain.covers(self.classes[c], x)]
        return min(kept_values, key=lambda c: (self.plain.loss(self.classes[c]), c), default=None)

    def _leave(self, records: Sequence[int], number: int) -> None:
        """Set the class of the records and remove them from the window."""
        for r in records:
            self.out[r], self.step[r] = number, self.now
            self.window.remove(r)

    def _publish(self, records: list[int]) -> None:
        """Publish a new class, and accept it for reuse if its loss is below the threshold."""
        spans = self.plain.span(records)
        if self.plain.loss(spans) < self.threshold:
            self.kept.append(len(self.classes))
        self.classes.append(spans)
        self._leave(records, len(self.classes) - 1)

    def _round(self) -> None:
        for x in list(self.window):
            c = self._covering(x)
            if c is not None:
                self._leave([x], c)
        number = len(self.window) // self.k
        self.clusters = []
        if number and self.plain.is_enough(self.window, self.k, self.need):
            self.clusters = self._means(number) if self.by == "kmeans" else self._members(number)
        for cluster in self.clusters:
            if self.plain.is_enough(cluster, self.k, self.need):
                self._publish(cluster)

    def _means(self, number: int) -> list[list[int]]:
        plain_result, order = self.plain, list(self.window)
        for c in range(number):
            below = c + self._below(len(order) - c)
            order[c], order[below] = order[below], order[c]
        centers = [list(plain_result.values[r]) for r in order[:number]]
        clusters: list[list[int]] = []
        for turn in range(5):
            if turn:
                for c, records in enumerate(clusters):
                    if records:
                        centers[c] = [
                            self._center(a, [plain_result.values[r][a] for r in records])
                            for a in range(plain_result.width)
                        ]
            old_clusters, clusters = clusters, [[] for _ in range(number)]
            for r in self.window:
                distance_values = [plain_result.apart(plain_result.values[r], center) for center in centers]
                clusters[distance_values.index(min(distance_values))].append(r)
            if clusters == old_clusters:
                break
        return clusters

    def _center(self, a: int, values: list[float]) -> float:
        known_values = [v for v in values if not isnan(v)]
        if len(values) - len(known_values) > len(known_values):
            return nan
        if not self.plain.nodes[a]:
            total = 0.0
            for v in known_values:
                total += v
            return total / len(known_values)
        different = list(dict.fromkeys(known_values))
        sums = []
        for v in different:
            total = 0.0
            for other in different:
                total += self.plain.apart_of(a, v, other) * known_values.count(other)
            sums.append(total)
        return different[sums.index(min(sums))]

    def _members(self, number: int) -> list[list[int]]:
        plain_result, clusters, last = self.plain, [], None
        free = list(self.window)
        for _ in range(number):
            if last is None:
                below = self._below(len(free))
                starts = [r for r in free[below:] + free[:below] if plain_result.people[r] >= 0][:1]
            else:
                starts = [r for r in free if plain_result.people[r] >= 0]
                starts.sort(key=lambda r: (-plain_result.apart(plain_result.values[last], plain_result.values[r]), r))
            if not starts:
                break
            last = starts[0]
            cluster = [last]
            while True:
                fit = [r for r in free if plain_result.persons([r]) - plain_result.persons(cluster)]
                if len(plain_result.persons(cluster)) >= self.k:
                    few_values = [s for s, n in enumerate(self.need) if len(plain_result.kinds(cluster, s)) < n]
                    if not few_values:
                        break
                    fit = [
                        r
                        for r in fit
                        if plain_result.kinds([r], few_values[0]) - plain_result.kinds(cluster, few_values[0])
                    ]
                if not fit:
                    break
                cluster.append(min(fit, key=lambda r: (self._growth(cluster, r), r)))
            clusters.append(sorted(cluster))
            free = [r for r in free if r not in cluster]
        return clusters

    def _growth(self, cluster: list[int], r: int) -> float:
        """Return the growth of a cluster's loss with one more record."""
        plain_result, total = self.plain, 0.0
        for a, (old, new) in enumerate(zip(plain_result.span(cluster), plain_result.span([*cluster, r]), strict=True)):
            if not old[0] <= plain_result.values[r][a] <= old[1]:
                total += plain_result.weights[a] * (plain_result.loss_of(a, *new) - plain_result.loss_of(a, *old))
        return total

    def _force(self, x: int, due: bool) -> None:
        """Publish a record with an accepted class or, except in the base mode, a gathered one; suppress it if due."""
        c = self._covering(x)
        if c is not None:
            self._leave([x], c)
            return
        batch = self._gathered(x) if self.mode != "base" and self.plain.people[x] >= 0 else []
        if batch:
            self._publish(batch)
        elif due:
            self._leave([x], SUPPRESSED)

    def _gathered(self, x: int) -> list[int]:
        """Return a record with its cluster and the nearest others until they form a class; empty if impossible."""
        plain_result, batch, selection = self.plain, list[int](), x
        near = sorted(
            self.window, key=lambda r: (plain_result.apart(plain_result.values[x], plain_result.values[r]), r)
        )
        while True:
            batch += next((c for c in self.clusters if selection in c), [selection])
            batch = [r for r in batch if r in self.window]
            if plain_result.is_enough(batch, self.k, self.need):
                return batch
            fit = [r for r in near if r not in batch and plain_result.people[r] >= 0]
            if len(plain_result.persons(batch)) < self.k:
                fit = [r for r in fit if plain_result.people[r] not in plain_result.persons(batch)]
            else:
                few_pair = next(s for s, n in enumerate(self.need) if len(plain_result.kinds(batch, s)) < n)
                fit = [r for r in fit if plain_result.kinds([r], few_pair) - plain_result.kinds(batch, few_pair)]
            if not fit:
                return []
            selection = fit[0]
