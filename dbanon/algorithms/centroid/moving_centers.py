"""Centers of clusters that move, and the records that are nearest to them."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.random_seeds import spread_rows
from dbanon.algorithms.base.registry import MODE, Check, Options, Run, one_cluster_below_2k
from dbanon.encoding.distance import rounded_positions
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, Ints, NumericAttribute
from dbanon.kernels.arrays import CenterTree
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameters import Parameter

STEPS = 2**20
"""Steps of a search, some 50 ms, after which a kernel comes back to look for interrupts."""

EACH = 2.5
"""A step of a search looks at two boxes, and costs so many of dbanon.algorithms.base.progress."""

NONE = 2**62
"""The coordinate of a NULL on the axis of a number."""

Axes = tuple[Ints, ...]


def axes_of(space: EncodedTable) -> tuple[Axes, Ints]:
    """Return the axes, hierarchies first, and the tuples' coordinates on them, as `dbanon.kernels.centers` has them."""
    total = space.total * sum(a.weight for a in space.attributes)
    scale = 2.0 ** (62 - math.frexp(total)[1])
    order = sorted(range(len(space.attributes)), key=lambda j: isinstance(space.attributes[j], NumericAttribute))
    attributes, codes = [space.attributes[j] for j in order], space.codes[:, order]
    sizes = [len(a.parent) + 1 if isinstance(a, CategoricalAttribute) else 0 for a in attributes]
    at = np.append(0, np.cumsum(sizes)).astype(np.int64)
    parent, last, height = (np.full(int(at[-1]), -1, np.int64) for _ in range(3))
    points = np.empty(codes.shape, np.int64)
    for j, attribute in enumerate(attributes):
        unit = attribute.weight * scale
        if isinstance(attribute, NumericAttribute):
            points[:, j] = np.append(rounded_positions(attribute, unit), NONE)[codes[:, j]]
            continue
        part = slice(int(at[j]), int(at[j + 1]) - 1)
        parent[part], last[part], above = attribute.parent, *_subtrees(attribute)
        height[part] = [round(h / max(int(above[0]), 1) * unit) for h in above.tolist()]
        points[:, j] = np.append(attribute.node, len(attribute.parent))[codes[:, j]]
    trees = np.array([isinstance(a, CategoricalAttribute) for a in attributes], np.int64)
    null = np.array([round(a.weight * scale) for a in attributes], np.int64)
    return (trees, null, at, parent, last, height), points


def as_numbers(space: EncodedTable) -> EncodedTable:
    """Return the space with each category a number: 0, 1, 2 ... for the values that occur, in the order of the leaves.

    Codes stay as they are.
    """
    attributes = (
        NumericAttribute(np.arange(float(a.values)), integral=True, weight=a.weight)
        if isinstance(a, CategoricalAttribute)
        else a
        for a in space.attributes
    )
    return replace(space, attributes=tuple(attributes))


def _subtrees(tree: CategoricalAttribute) -> tuple[Ints, Ints]:
    """Return the last node of each node's subtree, and its height in edges (Hsub)."""
    last, height = np.arange(len(tree.parent)), np.zeros(len(tree.parent), np.int64)
    for node in range(len(tree.parent) - 1, 0, -1):
        above = tree.parent[node]
        last[above] = max(last[above], last[node])
        height[above] = max(height[above], height[node] + 1)
    return last, height


@dataclass
class Work:
    """A table and the centers of its clusters, which move.

    `k`: least number of records of a cluster; `seeds`: their first records; `order`: the records in the order in which
    those that are moved are dealt out.
    """

    space: EncodedTable
    k: int
    seeds: Ints
    order: Ints
    modes: bool
    rounds: int
    check: Check

    def __post_init__(self) -> None:
        self.tuple_of = self.space.tuple_of
        self.axes, self.points = axes_of(self.space)
        self.centers = self.points[self.tuple_of[self.seeds]]
        nodes, d = max(2 * len(self.centers) - 1, 1), self.points.shape[1]
        self.boxes = (
            np.empty((nodes, 2 * d), np.int64),
            *(np.empty(nodes, np.int64) for _ in range(3)),
            np.empty(len(self.centers), np.int64),
        )
        deep = sum(int(a.depth.max()) for a in self.space.attributes if isinstance(a, CategoricalAttribute))
        self.room = 128 * (d + 1) + 4 * deep
        self.pauses = progress.Pauses(self.check)

    @property
    def tree(self) -> CenterTree:
        """The centers, as the kernels take them."""
        return CenterTree(self.centers, self.axes, self.boxes, self.room)

    def paused(self, share: float, seconds: float) -> None:
        """A search of all tuples or records came back after STEPS, in which it did this share of it.

        By the second time it is judged how long all searches take, one a round: kernels may be compiled for the first.
        """
        self.pauses.paused(progress.Sample(share, STEPS * EACH, seconds), self.rounds)

    def build(self, which: Ints) -> None:
        """The tree of some centers."""
        from dbanon.kernels import assign_to_centers as kernels

        kernels.build_center_tree(which, self.tree)

    def place(self, tuples: Ints, near: Ints, known: bool) -> None:
        """`near` of some tuples becomes the first of the nearest centers in the tree; where `known`, unless the center
        that it names comes before."""
        from dbanon.kernels import assign_to_centers as kernels

        begin = 0
        while begin < len(tuples):
            self.check()
            clock, was = progress.clock(), begin
            begin = kernels.assign_nearest(begin, STEPS, tuples, self.points, self.tree, near, known)
            if begin < len(tuples):
                self.paused((begin - was) / len(tuples), progress.clock() - clock)

    def deal(self, records: Ints, free: Ints, labels: Ints) -> None:
        """Records, in order, join the nearest cluster with a place left, and when none has any the nearest of all."""
        from dbanon.kernels import assign_to_centers as kernels

        near, begin = np.full(len(self.points), -1, np.int64), 0
        if free.any():
            self.build(np.flatnonzero(free))
            while begin < len(records) and self.boxes[3][0] < NONE:
                self.check()
                clock, was = progress.clock(), begin
                begin = kernels.assign_with_capacity(
                    begin, STEPS, records, self.tuple_of, self.points, self.tree, near, free, labels
                )
                if begin < len(records) and self.boxes[3][0] < NONE:
                    self.paused((begin - was) / len(records), progress.clock() - clock)
        rest = records[begin:]
        if len(rest):
            self.build(np.arange(len(self.centers)))
            self.place(np.unique(self.tuple_of[rest]), near, known=False)
            labels[rest] = near[self.tuple_of[rest]]

    def adjust(self, labels: Ints) -> None:
        """ADJUST (three-variants paper, Figure 4): clusters of more than k records give away those farthest from their
        centers, which go to the nearest cluster of fewer than k while there is one, and to the nearest of all then."""
        from dbanon.kernels import assign_to_centers as kernels

        free = np.empty(len(self.centers), np.int64)
        kernels.trim_clusters(self.k, labels, self.tuple_of, self.points, self.centers, self.axes, free)
        self.deal(self.order[labels[self.order] < 0], free, labels)

    def recenter(self, labels: Ints) -> Ints:
        """Return centers of the clusters; gives which of them moved. One without records keeps its center."""
        from dbanon.kernels import assign_to_centers as kernels

        moved: Ints = np.flatnonzero(
            kernels.update_centers(labels, self.tuple_of, self.points, self.centers, self.axes)
        )
        return moved


def centers_first(method: Callable[[Work], Ints]) -> Run:
    """Return the method as algorithms are called."""

    @one_cluster_below_2k
    @functools.wraps(method)
    def run(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Ints:
        seeds, order = spread_rows(space, space.rows // constraint.least, options)
        rounds = cast(int, options.get("rounds", 1))
        work = Work(space, constraint.least, seeds, order, options.get("centroid_cat") != "lca", rounds, check)
        return method(work)

    return run


EVENLY = Parameter(
    "mode",
    MODE.kind,
    "Deterministic: the first centers are every (n / clusters)th record, and records move in canonical order.",
    "random",
)
