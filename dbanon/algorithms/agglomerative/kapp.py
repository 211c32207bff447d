"""KAPP: classes that deal out fuzzy clusters of the sensitive values, and merge until they are close to the table."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dbanon.algorithms.agglomerative.fuzzy_cmeans import fuzzy_centers, nearest
from dbanon.algorithms.agglomerative.vulture_optimization import vulture_centers
from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.class_bounds import Extents, members
from dbanon.algorithms.base.grow_clusters import FEWEST, SAMPLE
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.registry import (
    LARGE,
    MODE,
    SEED,
    Assignment,
    Check,
    Options,
    one_cluster_below_2k,
    register,
)
from dbanon.algorithms.centroid.kmeans import ROUNDS
from dbanon.algorithms.greedy.least_loss import least_growth
from dbanon.encoding import distance
from dbanon.encoding.distance import NumericDistances
from dbanon.encoding.encoded_table import Bools, Codes, EncodedTable, Ints
from dbanon.encoding.tuple_index import SumQuery, TupleIndex
from dbanon.privacy_models.constraint import Constraint, tally
from dbanon.privacy_models.model import SLACK
from dbanon.privacy_models.model_request import Demand
from dbanon.table_functions.parameter_types import Choice, Integer
from dbanon.table_functions.parameters import Parameter


@one_cluster_below_2k
def kapp(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """KAPP, reconstructed from the algorithm that the review of clustering methods prints without its formulas.

    Fuzzy c-means clusters the codes of the sensitive columns, each from 0 to 1; a record counts to the nearest center.
    The centers begin as those of k-means++ and move until they stand still, or with `optimizer = 'vultures'` are looked
    for by African vultures optimization, as in the paper, whatever the mode. A class begins with the
    record nearest to the center of the cluster that has most records left. It takes k - 1 others, each from one of the
    clusters of which it has fewest: the one nearest by the quasi-identifiers, in the distance of the k-member papers.
    What is left joins the class whose whole loss grows least. Then class after class is united with the nearest one,
    with which a record loses least, until the earth mover's distances of its sensitive columns from the whole table,
    summed, are at most `t`, by default 0.1. That is more than t-closeness of each column. Other models and persons are
    met by the shared repair. O(n^2 / k) time without the index, O(n) memory.

    Which records are together depends on sensitive values, which no model judges: an attacker who knows the method can
    learn from it more than from other algorithms.
    """
    work = progress.work(check)
    labels = Dealing(space, constraint.least, options, check).classes(work.part(0, 0.5))
    closeness = [m for m in constraint.models if m.model == "t_closeness"]
    if not closeness:
        return labels
    loss = Loss(space, constraint.least, "edges")
    return _close(space, constraint, closeness, loss, labels, work.part(0.5, 1))


# --- classes that deal out the clusters of sensitive values -----------------------------------------------------------


class Rows:
    """Distances of the codes of a tuple, by attribute. Rows of tables are kept: seeds have few different values."""

    def __init__(self, tables: Sequence[distance.DistanceTable], codes: Codes) -> None:
        self.tables, self.codes = tables, codes.tolist()
        self.kept: list[dict[int, Ints]] = [{} for _ in tables]

    def of(self, codes: Codes) -> Rows:
        """Return those of another tuple."""
        self.codes = codes.tolist()
        return self

    def row(self, j: int) -> Ints:
        """Return the distances to all values of an attribute."""
        kept, code = self.kept[j], self.codes[j]
        if code not in kept:
            row = self.tables[j].row(code)
            if len(kept) * len(row) > distance.MAX_CACHED_ENTRIES:
                kept.clear()
            kept[code] = row
        return kept[code]

    def question(self, index: TupleIndex) -> SumQuery:
        """Return the distance to the tuple, asked of an index."""
        return index.interval_query([self.row(j) for j in sorted(index.tabular)], self.codes, self.codes)

    def to(self, codes: Codes) -> Ints:
        """Return the distances to some tuples."""
        total = np.zeros(len(codes), np.int64)
        for j, table in enumerate(self.tables):
            total += (
                _along(table, self.codes[j], codes[:, j])
                if isinstance(table, NumericDistances)
                else self.row(j)[codes[:, j]]
            )
        return total


def _along(axis: NumericDistances, code: int, codes: Codes) -> Ints:
    """Return the distances of a value of an axis to some."""
    last, null = len(axis.positions) - 1, codes == len(axis.positions)
    if code > last:
        return np.where(null, 0, axis.null)
    return np.where(null, axis.null, np.abs(axis.positions[np.minimum(codes, last)] - axis.positions[code]))


class Pool:
    """The records of one cluster of sensitive values that are in no class yet: `rows`, in canonical order, and an index
    of their tuples; `first` are the rows in the order in which they begin classes."""

    def __init__(self, space: EncodedTable, rows: Ints, first: Ints, tables: Sequence[distance.DistanceTable]) -> None:
        self.rows, self.first, self.next = rows, first, 0
        tuple_of = np.searchsorted(space.starts, rows, side="right") - 1
        self.tuples, counts = np.unique(tuple_of, return_counts=True)
        self.space = EncodedTable(space.attributes, space.codes[self.tuples], counts, None, space.total)
        self.index = TupleIndex(self.space, tables)
        self.at = self.space.starts.copy()

    def next_of(self, t: int, free: Bools) -> int:
        """Return the first free row of a tuple."""
        while not free[self.rows[self.at[t]]]:
            self.at[t] += 1
        return int(self.rows[self.at[t]])


class Dealing:
    """Classes of k records of as many clusters of sensitive values as there are."""

    def __init__(self, space: EncodedTable, k: int, options: Options, check: Check) -> None:
        self.space, self.k, self.loss = space, k, Loss(space, k, "edges")
        tables = self.loss.tables(space)
        self.rows = Rows(tables, space.codes[0])
        of, away = _sensitive_clusters(space, k, options, check)
        order = np.lexsort((np.arange(space.rows), away, of))
        parts = np.split(order, np.cumsum(np.bincount(of))[:-1])
        self.pools = [Pool(space, np.sort(first), first, tables) for first in parts if len(first)]
        self.free = np.ones(space.rows, bool)
        self.tuple_of = space.tuple_of

    @property
    def steps(self) -> int:
        """What was looked at so far."""
        return sum(pool.index.steps for pool in self.pools)

    def classes(self, work: progress.Work) -> Ints:
        """Return the class of every record."""
        labels, made, left = np.full(self.space.rows, -1, np.int64), 0, self.space.rows
        clock, steps = 0.0, 0
        while left >= self.k:
            work()
            if made == FEWEST:
                clock, steps = progress.clock(), self.steps
            rows = self._class()
            labels[rows], left = made, left - self.k
            made += 1
            work.come(1 - left / self.space.rows)
            if made == FEWEST + SAMPLE:
                share = SAMPLE * self.k / self.space.rows
                work.expect(*progress.Sample(share, self.steps - steps, progress.clock() - clock).whole())
        rest = np.flatnonzero(labels < 0)
        if len(rest):
            groups = Runs.from_labels(self.space, labels)
            labels[rest] = least_growth(self.space, self.loss, groups, self.tuple_of[rest], work)
        return labels

    def _class(self) -> Ints:
        """Return the rows of the next class."""
        pools = self.pools
        begins = max(range(len(pools)), key=lambda c: (pools[c].index.records, -c))
        pool = pools[begins]
        while not self.free[pool.first[pool.next]]:
            pool.next += 1
        seed = int(pool.first[pool.next])
        self.free[seed] = False
        pool.index.remove_records(np.searchsorted(pool.tuples, self.tuple_of[[seed]]), np.ones(1, np.int64))
        rows, held = [seed], [int(c == begins) for c in range(len(pools))]
        around = self.rows.of(self.space.codes[self.tuple_of[seed]])
        near = [_Nearest(p, around, self.k // len(pools) + 1) for p in pools]
        heads: list[tuple[int, int, int, int]] = []
        for c in range(len(pools)):
            self._offer(heads, held[c], near[c], c)
        taken: list[tuple[int, int]] = []
        while len(rows) < self.k:
            _, _, row, c = heapq.heappop(heads)
            rows.append(row)
            self.free[row] = False
            taken.append((c, near[c].now()))
            near[c].go_on()
            held[c] += 1
            self._offer(heads, held[c], near[c], c)
        for c in range(len(pools)):
            tuples, counts = np.unique([t for of, t in taken if of == c], return_counts=True)
            if len(tuples):
                pools[c].index.remove_records(tuples, counts)
        return np.array(rows)

    def _offer(self, heads: list[tuple[int, int, int, int]], held: int, near: _Nearest, c: int) -> None:
        """The next record of a pool, if there is one, waits for its turn: fewest records first, then the nearest."""
        head = near.head(self.free)
        if head is not None:
            heapq.heappush(heads, (held, *head, c))


class _Nearest:
    """The records of a pool by their distance to a tuple, so many at a time."""

    def __init__(self, pool: Pool, rows: Rows, reach: int) -> None:
        self.pool, self.rows, self.reach = pool, rows, reach
        self.question, self.at, self.used = rows.question(pool.index), 0, 0
        self._ask()

    def _ask(self) -> None:
        self.tuples, self.counts = self.pool.index.nearest(self.question, self.reach)
        self.away = self.rows.to(self.pool.space.codes[self.tuples])

    def now(self) -> int:
        """Return the tuple of the next record."""
        return int(self.tuples[self.at])

    def head(self, free: Bools) -> tuple[int, int] | None:
        """Return the distance and row of the next record."""
        if self.at == len(self.tuples):
            if int(self.counts.sum()) >= self.pool.index.records:
                return None
            done = int(self.counts.sum())
            self.reach *= 4
            self._ask()  # of the last tuple there may be more now
            until = np.cumsum(self.counts)
            self.at = int(np.searchsorted(until, done, side="right"))
            self.used = done - int(until[self.at] - self.counts[self.at])
        return int(self.away[self.at]), self.pool.next_of(self.now(), free)

    def go_on(self) -> None:
        """One record was taken."""
        self.used += 1
        if self.used == self.counts[self.at]:
            self.at, self.used = self.at + 1, 0


def _sensitive_clusters(space: EncodedTable, k: int, options: Options, check: Check) -> tuple[Ints, Ints]:
    """Return the cluster of the sensitive values of each record, and the rank of its distance to the center."""
    if not space.sensitive:
        return np.zeros(space.rows, np.int64), np.zeros(space.rows, np.int64)
    codes = np.stack([s.codes for s in space.sensitive])
    distinct, of, counts = np.unique(codes, axis=1, return_inverse=True, return_counts=True)
    points = distinct / np.maximum(distinct.max(axis=1), 1)[:, None]
    asked = options["sensitive_clusters"]
    number = min(k if asked is None else int(str(asked)), len(counts))
    seed, rounds = int(str(options["seed"])), int(str(options["rounds"]))
    if options["optimizer"] == "vultures":
        centers = vulture_centers(points, counts, number, seed, rounds, check)
    else:
        random = options["mode"] != "deterministic"
        draws = np.random.PCG64(seed).random_raw(number) if random else None  # its stream is promised
        centers = fuzzy_centers(points, counts, number, draws, rounds, check)
    cluster, away = nearest(points, centers)
    rank = np.unique(away, return_inverse=True)[1]
    of = of.reshape(-1)
    return cluster[of], rank.reshape(-1)[of]


# --- classes that merge until they are close --------------------------------------------------------------------------


class Deviation:
    """How far the sensitive values of classes are from those of the whole table: earth mover's distances, summed."""

    def __init__(self, space: EncodedTable, constraint: Constraint, models: Sequence[Demand], rows: list[Ints]) -> None:
        self.space, self.constraint, self.models, self.rows = space, constraint, models, rows
        self.apart = space.persons is not None or (constraint.joint and len(space.sensitive) > 1)
        self.counts = [] if self.apart else [[tally(space, r, m.sensitive)[0] for r in rows] for m in models]

    def of(self, c: int) -> float:
        if self.apart:
            return sum(float(self.constraint.worst(self.space, self.rows[c], m)) for m in self.models)
        total, size = 0.0, np.array([len(self.rows[c])])
        for model, counts in zip(self.models, self.counts, strict=True):
            total += float(model.measure(self.space.sensitive[model.sensitive], counts[c][None, :], size)[0])
        return total

    def unite(self, keep: int, gone: int) -> None:
        self.rows[keep] = np.concatenate((self.rows[keep], self.rows[gone]))
        for counts in self.counts:
            counts[keep] = counts[keep] + counts[gone]


def _close(
    space: EncodedTable, constraint: Constraint, models: Sequence[Demand], loss: Loss, labels: Ints, work: progress.Work
) -> Ints:
    """Return the classes, each united with the nearest until its deviation is at most t."""
    rows = members(labels)
    extents, deviation = Extents.of(space, rows), Deviation(space, constraint, models, rows)
    low, high = extents.low, extents.high
    alive, into, most = np.ones(len(rows), bool), np.arange(len(rows)), min(m.bound for m in models)
    merges, clock = 0, progress.clock()
    for c in range(len(rows)):
        while alive[c] and deviation.of(c) > most + SLACK:
            work()
            others = np.flatnonzero(alive)
            others = others[others != c]
            if len(others) == 0:
                break
            united = loss.of(np.minimum(low[others], low[c]), np.maximum(high[others], high[c]))
            other = int(others[np.argmin(united)])
            deviation.unite(c, other)
            low[c], high[c] = np.minimum(low[c], low[other]), np.maximum(high[c], high[other])
            alive[other], into[other] = False, c
            merges += 1
            if merges == SAMPLE:
                steps = SAMPLE * len(rows) * len(space.attributes)
                work.expect(*progress.Sample(SAMPLE / len(rows), steps, progress.clock() - clock).whole(0.5))
        work.come((c + 1) / len(rows))
    while (into[into] != into).any():
        into = into[into]
    return into[labels]


register(
    kapp,
    title="KAPP: classes of spread sensitive values that merge until they are close to the table",
    summary=(
        "each class takes its records from different fuzzy clusters of the sensitive values; then classes "
        "are united with the nearest until the distances of their sensitive columns from the whole table, "
        "summed, are at most `t` (default 0.1; reconstructed)"
    ),
    source="KAPP, as the review of clustering methods describes it",
    evidence="RECON",
    own=(
        Parameter(
            "sensitive_clusters", Integer(1, 1000), "Fuzzy clusters of the sensitive values; default: least size."
        ),
        Parameter(
            "optimizer",
            Choice(("kmeans++", "vultures")),
            "How the centers of the fuzzy clusters are found: they begin as those of k-means++ and move until they "
            "stand still, or by the search of the paper, which takes longer.",
            "kmeans++",
        ),
        replace(ROUNDS, default=200),
        SEED,
        MODE,
        LARGE,
    ),
    defaults={"t": 0.1},
    reads=("sensitive",),
    meets=("k", "t"),
)
