"""Assign: centers first, every record to the nearest, then records move until each cluster has k of them.

The family of one-pass k-means. All use the distance of the k-member papers: |a - b| / D on a number, Hsub(lca) /
Hsub(root) on a hierarchy, times the weight; a NULL is at distance 1 from every value and 0 from a NULL. Distances, and
means, are rounded to multiples of 2^-s, s the largest for which n times the sum of the weights stays below 2^62, so
equal sums are equal; ties go to the first record in canonical order and to the earlier cluster. The mean of a number
leaves NULLs out (a cluster of nothing else has NULL); a NULL can be the mode; NULLs and values have nothing but the
root in common.

Clusters are of quasi-identifiers alone. S2 clusters on sensitive values too, but a release must not depend on them
through anything but its privacy model: the canonical order leaves them out, and a Space has them only where a model
needs them.

Groups have k records. Where persons are counted, or sensitive values are tested, those that miss the model are merged
afterwards.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from dbanon import errors
from dbanon.cluster.registry import MODE, SEED, Algorithm, Check, Run, register
from dbanon.functions.parameter_types import Choice, Flag, Integer
from dbanon.functions.parameters import Parameter
from dbanon.models.constraint import Constraint
from dbanon.space.distance import places
from dbanon.space.space import Ints, Number, Space, Tree

LARGEST = 2 * 10**10
"""Distinct tuples times clusters beyond which a run must be asked for."""

STEPS = 2**20
"""Steps of a search, some 50 ms, after which a kernel comes back to look for interrupts."""

NONE = 2**62
"""The coordinate of a NULL on the axis of a number."""

Axes = tuple[Ints, ...]


def _axes(space: Space) -> tuple[Axes, Ints]:
    """The axes, hierarchies first, and the tuples' coordinates on them, as `dbanon.kernels.centers` has them."""
    total = space.total * sum(a.weight for a in space.attributes)
    scale = 2.0 ** (62 - math.frexp(total)[1])
    order = sorted(range(len(space.attributes)), key=lambda j: isinstance(space.attributes[j], Number))
    attributes, codes = [space.attributes[j] for j in order], space.codes[:, order]
    sizes = [len(a.parent) + 1 if isinstance(a, Tree) else 0 for a in attributes]
    at = np.append(0, np.cumsum(sizes)).astype(np.int64)
    parent, last, height = (np.full(int(at[-1]), -1, np.int64) for _ in range(3))
    points = np.empty(codes.shape, np.int64)
    for j, attribute in enumerate(attributes):
        unit = attribute.weight * scale
        if isinstance(attribute, Number):
            points[:, j] = np.append(places(attribute, unit), NONE)[codes[:, j]]
            continue
        part = slice(int(at[j]), int(at[j + 1]) - 1)
        parent[part], last[part], above = attribute.parent, *_subtrees(attribute)
        height[part] = [round(h / max(int(above[0]), 1) * unit) for h in above.tolist()]
        points[:, j] = np.append(attribute.node, len(attribute.parent))[codes[:, j]]
    trees = np.array([isinstance(a, Tree) for a in attributes], np.int64)
    null = np.array([round(a.weight * scale) for a in attributes], np.int64)
    return (trees, null, at, parent, last, height), points


def _subtrees(tree: Tree) -> tuple[Ints, Ints]:
    """The last node of each node's subtree, and its height in edges (Hsub)."""
    last, height = np.arange(len(tree.parent)), np.zeros(len(tree.parent), np.int64)
    for node in range(len(tree.parent) - 1, 0, -1):
        above = tree.parent[node]
        last[above] = max(last[above], last[node])
        height[above] = max(height[above], height[node] + 1)
    return last, height


@dataclass
class Work:
    """A table and the centers of its clusters, which move. `k`: least number of records of a cluster; `seeds`: their
    first records; `order`: the records in the order in which those that are moved are dealt out."""

    space: Space
    k: int
    seeds: Ints
    order: Ints
    modes: bool
    rounds: int
    check: Check

    def __post_init__(self) -> None:
        self.tuple_of = np.repeat(np.arange(len(self.space.counts)), self.space.counts)
        self.axes, self.points = _axes(self.space)
        self.centers = self.points[self.tuple_of[self.seeds]]
        nodes, d = max(2 * len(self.centers) - 1, 1), self.points.shape[1]
        self.boxes = (
            np.empty((nodes, 2 * d), np.int64),
            *(np.empty(nodes, np.int64) for _ in range(3)),
            np.empty(len(self.centers), np.int64),
        )
        deep = sum(int(a.depth.max()) for a in self.space.attributes if isinstance(a, Tree))
        self.room = 128 * (d + 1) + 4 * deep

    def build(self, which: Ints) -> None:
        """The tree of some centers."""
        from dbanon.kernels import assign as kernels

        kernels.build(which, self.centers, self.axes, self.boxes, self.room)

    def place(self, tuples: Ints, near: Ints, known: bool) -> None:
        """`near` of some tuples becomes the first of the nearest centers in the tree; where `known`, unless the center
        that it names comes before."""
        from dbanon.kernels import assign as kernels

        begin = 0
        while begin < len(tuples):
            self.check()
            begin = kernels.place(
                begin, STEPS, tuples, self.points, self.centers, self.axes, self.boxes, near, known, self.room
            )

    def deal(self, records: Ints, free: Ints, labels: Ints) -> None:
        """Records, in order, join the nearest cluster with a place left, and when none has any the nearest of all."""
        from dbanon.kernels import assign as kernels

        near, begin = np.full(len(self.points), -1, np.int64), 0
        if free.any():
            self.build(np.flatnonzero(free))
            while begin < len(records) and self.boxes[3][0] < NONE:
                self.check()
                begin = kernels.deal(
                    begin, STEPS, records, self.tuple_of, self.points, self.centers, self.axes, self.boxes, near,
                    free, labels, self.room,
                )  # fmt: skip
        rest = records[begin:]
        if len(rest):
            self.build(np.arange(len(self.centers)))
            self.place(np.unique(self.tuple_of[rest]), near, known=False)
            labels[rest] = near[self.tuple_of[rest]]

    def adjust(self, labels: Ints) -> None:
        """ADJUST (S2, Figure 4): clusters of more than k records give away those farthest from their centers, which go
        to the nearest cluster of fewer than k while there is one, and to the nearest of all then."""
        from dbanon.kernels import assign as kernels

        free = np.empty(len(self.centers), np.int64)
        kernels.trim(self.k, labels, self.tuple_of, self.points, self.centers, self.axes, free)
        self.deal(self.order[labels[self.order] < 0], free, labels)

    def recenter(self, labels: Ints) -> Ints:
        """Centers of the clusters; gives which of them moved. One without records keeps its center."""
        from dbanon.kernels import assign as kernels

        moved: Ints = np.flatnonzero(kernels.recenter(labels, self.tuple_of, self.points, self.centers, self.axes))
        return moved


def oka(work: Work) -> Ints:
    """OKA, the one-pass k-means of Lin and Wei (2008).

    floor(n/k) random records are the first centers. The others join, in canonical order, the cluster with the nearest
    center, which then moves: to the mean of a number, and to the lowest common ancestor of a category
    (`centroid_cat='mode'`: the most frequent value). Then ADJUST, with the centers as they are. O(n^2 / k) time at
    worst, O(n) memory.

    A center never moves away from the record that joined, and no other moves: so all records of one tuple join the
    same cluster, and one question answers for them.
    """
    from dbanon.kernels import assign as kernels

    left = work.space.counts.copy()
    np.subtract.at(left, work.tuple_of[work.seeds], 1)
    clusters, d = work.centers.shape
    numbers = work.axes[0] == 0
    known = ((work.centers != NONE) & numbers).astype(np.int64)
    sums = np.where(known > 0, work.centers, 0)
    entries = int(np.minimum(clusters * np.diff(work.axes[2]), clusters + len(left)).sum()) if work.modes else 0
    keys = np.full(2 ** (2 * entries).bit_length(), -1, np.int64)
    state = (sums, known, np.ones((clusters, d), np.int64), keys, np.zeros(len(keys), np.int64), work.modes)
    if work.modes:
        kernels.count_first(work.centers, work.axes, keys, state[4])
    near = np.full(len(left), -1, np.int64)
    begin, rebuild = 0, 0
    while begin < len(left):
        if begin >= rebuild:  # boxes grow as centers move
            work.build(np.arange(clusters))
            rebuild = begin + max(clusters // 8, 256)
        work.check()
        begin = kernels.absorb(
            begin, min(rebuild, len(left)), STEPS, left, work.points, work.centers, work.axes, work.boxes, state, near,
            work.room,
        )  # fmt: skip
    labels = near[work.tuple_of]
    labels[work.seeds] = np.arange(clusters)
    work.adjust(labels)
    return labels


def _rounds(work: Work, assigned: Callable[[], Ints]) -> tuple[Ints, Ints]:
    """Assigns records and moves centers until these are the centers of an earlier round, or for `rounds` rounds; gives
    the labels of the last round and the centers that they were made with."""
    seen = {_hash(work.centers)}
    for _ in range(work.rounds):
        work.check()
        before = work.centers.copy()
        labels = assigned()
        work.recenter(labels)
        now = _hash(work.centers)
        if now in seen:
            break
        seen.add(now)
    return labels, before


def _hash(centers: Ints) -> bytes:
    return hashlib.blake2b(centers.tobytes(), digest_size=16).digest()


def _nearest(work: Work) -> Callable[[], Ints]:
    """A function that gives the first of the nearest centers of all records, asked anew where centers have moved."""
    near = np.zeros(len(work.points), np.int64)
    before = np.empty(0, np.int64)

    def now() -> Ints:
        nonlocal before
        moved = (work.centers != before).any(axis=1) if len(before) else np.ones(len(work.centers), bool)
        before = work.centers.copy()
        if moved.any():
            # A center that has stayed can only lose a record to one that has moved.
            stayed = ~moved[near]
            work.build(np.flatnonzero(moved))
            work.place(np.flatnonzero(stayed), near, known=True)
            work.build(np.arange(len(work.centers)))
            work.place(np.flatnonzero(~stayed), near, known=True)
        return near[work.tuple_of]

    return now


def no1(work: Work) -> Ints:
    """Algorithm No. 1 of S2 (Figures 1 and 4): k-means whose clusters are adjusted to k records in every round.

    floor(n/k) random records are the first centers. In each round all records go to the nearest center, ADJUST moves
    records until every cluster has k, and the centers become the means and modes of that; until the centers are those
    of an earlier round (none moved, or the partition is a repeated one), or for `rounds` rounds. O(rounds * n^2 / k)
    time at worst, O(n) memory.

    S2 ends when no center changes, which need never be: on Adult centers still move after 100 rounds, for a precision
    that is 0.002 above that of 30.
    """
    nearest = _nearest(work)

    def assigned() -> Ints:
        labels = nearest()
        work.adjust(labels)
        return labels

    return _rounds(work, assigned)[0]


def no2(work: Work) -> Ints:
    """Algorithm No. 2 of S2 (Figure 3): k-means in which a cluster of k records is closed while others have fewer.

    As No. 1 without ADJUST: in each round the records, in canonical order, go to the nearest center among the clusters
    of fewer than k records while there is one, and to the nearest of all then. O(rounds * n^2 / k) time at worst, O(n)
    memory.
    """
    records = np.arange(len(work.tuple_of))

    def assigned() -> Ints:
        labels = np.full(len(records), -1, np.int64)
        work.deal(records, np.full(len(work.centers), work.k, np.int64), labels)
        return labels

    return _rounds(work, assigned)[0]


def no3(work: Work) -> Ints:
    """Algorithm No. 3 of S2 (Figure 2): plain k-means, and ADJUST once, at the end.

    Starts, and ends its rounds, as No. 1. A cluster without records keeps its center. O(rounds * n^2 / k) time at
    worst, O(n) memory.
    """
    labels, work.centers = _rounds(work, _nearest(work))
    work.adjust(labels)
    return labels


def _run(name: str, method: Callable[[Work], Ints]) -> Run:
    """The method as algorithms are called."""

    def run(space: Space, constraint: Constraint, options: Mapping[str, object], check: Check) -> Ints:
        clusters = space.rows // constraint.least
        if clusters < 2:
            return np.zeros(space.rows, np.int64)
        if len(space.counts) * clusters > LARGEST and not options["large"]:
            raise errors.TooLarge(name, len(space.counts), clusters, LARGEST)
        if options["mode"] == "deterministic":
            seeds, order = np.arange(clusters) * space.rows // clusters, np.arange(space.rows)
        else:
            random = np.random.PCG64(cast(int, options["seed"]))  # its stream, unlike a Generator's, is promised
            seeds = np.argsort(random.random_raw(space.rows), kind="stable")[:clusters]
            order = np.argsort(random.random_raw(space.rows), kind="stable")
        rounds = cast(int, options.get("rounds", 1))
        work = Work(space, constraint.least, seeds, order, options.get("centroid_cat") != "lca", rounds, check)
        return method(work)

    run.__doc__ = method.__doc__
    return run


EVENLY = Parameter(
    "mode",
    MODE.kind,
    "Deterministic: the first centers are every (n / clusters)th record, and records move in canonical order.",
    "random",
)

LARGE = Parameter("large", Flag(), "Accept a table on which this may take very long.", False)

CENTER = Parameter(
    "centroid_cat",
    Choice(("lca", "mode")),
    "Center of a category: the lowest common ancestor of the values, or the most frequent one.",
    "lca",
)

ROUNDS = Parameter("rounds", Integer(1), "Rounds after which centers that still move are left as they are.", 30)

register(
    Algorithm(
        name="oka",
        title="One-pass k-means (OKA)",
        family="assign",
        run=_run("oka", oka),
        source="Lin and Wei 2008; baseline of the papers S0 and S2",
        evidence="LIT",
        deterministic=False,
        complexity="O(n^2 / k) time at worst, O(n) memory",
        own=(SEED, EVENLY, CENTER, LARGE),
    )
)

for _number, _title, _method in (
    (1, "k-means adjusted in every round", no1),
    (2, "k-means whose full clusters close", no2),
    (3, "k-means adjusted at the end", no3),
):
    register(
        Algorithm(
            name=f"kmeans_no{_number}",
            title=_title,
            family="assign",
            run=_run(f"kmeans_no{_number}", _method),
            source=f"S2, Algorithm No. {_number}",
            evidence="SEED",
            deterministic=False,
            complexity="O(rounds * n^2 / k) time at worst, O(n) memory",
            own=(SEED, EVENLY, ROUNDS, LARGE),
        )
    )
