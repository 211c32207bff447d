"""Centers of clusters that move, and the records that are nearest to them."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.random_seeds import spread_rows
from dbanon.algorithms.base.registry import MODE, AlgorithmFunction, Check, Options, single_cluster_below_2k
from dbanon.encoding.distance import rounded_positions
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, Ints, NumericAttribute
from dbanon.kernels.arrays import CenterTree
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameters import Parameter

STEPS_PER_CALL = 2**20
"""Steps of a search, some 50 ms, after which a kernel comes back to look for interrupts."""

SEARCH_STEP_COST = 2.5
"""A step of a search looks at two boxes, and costs so many of dbanon.algorithms.base.progress."""

NULL_POSITION = 2**62
"""The coordinate of a NULL on the axis of a number."""

Axes = tuple[Ints, ...]


def axes_and_points(space: EncodedTable) -> tuple[Axes, Ints]:
    """Return the axes, hierarchies first, and the tuples' coordinates on them, as `dbanon.kernels.centers` has them."""
    total = space.total * sum(a.weight for a in space.attributes)
    scale = 2.0 ** (62 - math.frexp(total)[1])
    order = sorted(range(len(space.attributes)), key=lambda j: isinstance(space.attributes[j], NumericAttribute))
    attributes, codes = [space.attributes[j] for j in order], space.codes[:, order]
    sizes = [len(a.parent) + 1 if isinstance(a, CategoricalAttribute) else 0 for a in attributes]
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    parent, last, height = (np.full(int(starts[-1]), -1, np.int64) for _ in range(3))
    points = np.empty(codes.shape, np.int64)
    for j, attribute in enumerate(attributes):
        unit = attribute.weight * scale
        if isinstance(attribute, NumericAttribute):
            points[:, j] = np.append(rounded_positions(attribute, unit), NULL_POSITION)[codes[:, j]]
            continue
        part = slice(int(starts[j]), int(starts[j + 1]) - 1)
        parent[part], last[part], heights = attribute.parent, *_subtree_ends_and_heights(attribute)
        height[part] = [round(h / max(int(heights[0]), 1) * unit) for h in heights.tolist()]
        points[:, j] = np.append(attribute.node, len(attribute.parent))[codes[:, j]]
    trees = np.array([isinstance(a, CategoricalAttribute) for a in attributes], np.int64)
    null = np.array([round(a.weight * scale) for a in attributes], np.int64)
    return (trees, null, starts, parent, last, height), points


def categories_as_numbers(space: EncodedTable) -> EncodedTable:
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


def _subtree_ends_and_heights(tree: CategoricalAttribute) -> tuple[Ints, Ints]:
    """Return the last node of each node's subtree, and its height in edges (Hsub)."""
    last, height = np.arange(len(tree.parent)), np.zeros(len(tree.parent), np.int64)
    for node in range(len(tree.parent) - 1, 0, -1):
        above = tree.parent[node]
        last[above] = max(last[above], last[node])
        height[above] = max(height[above], height[node] + 1)
    return last, height


@dataclass
class MovingCenters:
    """A table and the centers of its clusters, which move.

    `k`: least number of records of a cluster; `seeds`: their first records; `order`: the records in the order in which
    those that are moved are dealt out.
    """

    space: EncodedTable
    k: int
    seeds: Ints
    order: Ints
    with_modes: bool
    rounds: int
    check: Check

    def __post_init__(self) -> None:
        self.tuple_of = self.space.tuple_of
        self.axes, self.points = axes_and_points(self.space)
        self.centers = self.points[self.tuple_of[self.seeds]]
        nodes, d = max(2 * len(self.centers) - 1, 1), self.points.shape[1]
        self.boxes = (
            np.empty((nodes, 2 * d), np.int64),
            *(np.empty(nodes, np.int64) for _ in range(3)),
            np.empty(len(self.centers), np.int64),
        )
        deep = sum(int(a.depth.max()) for a in self.space.attributes if isinstance(a, CategoricalAttribute))
        self.stack_size = 128 * (d + 1) + 4 * deep
        self.estimate = progress.KernelEstimate(self.check)

    @property
    def tree(self) -> CenterTree:
        """The centers, as the kernels take them."""
        return CenterTree(self.centers, self.axes, self.boxes, self.stack_size)

    def report_search(self, fraction: float, seconds: float) -> None:
        """A search of all tuples or records came back after STEPS, in which it did this share of it.

        By the second time it is judged how long all searches take, one a round: kernels may be compiled for the first.
        """
        self.estimate.report_return(
            progress.WorkSample(fraction, STEPS_PER_CALL * SEARCH_STEP_COST, seconds), self.rounds
        )

    def build_tree(self, centers: Ints) -> None:
        """The tree of some centers."""
        from dbanon.kernels import assign_to_centers as kernels

        kernels.build_center_tree(centers, self.tree)

    def find_nearest(self, tuples: Ints, nearest: Ints, keep_earlier: bool) -> None:
        """Write the nearest center in the tree of each of `tuples` to `nearest`; ties go to the first center.

        With `keep_earlier` a tuple keeps the center that `nearest` names if that is as near and comes first.
        """
        from dbanon.kernels import assign_to_centers as kernels

        begin = 0
        while begin < len(tuples):
            self.check()
            clock, previous = progress.thread_seconds(), begin
            begin = kernels.assign_nearest(begin, STEPS_PER_CALL, tuples, self.points, self.tree, nearest, keep_earlier)
            if begin < len(tuples):
                self.report_search((begin - previous) / len(tuples), progress.thread_seconds() - clock)

    def fill_clusters(self, records: Ints, n_free: Ints, labels: Ints) -> None:
        """Records, in order, join the nearest cluster with a place left, and when none has any the nearest of all."""
        from dbanon.kernels import assign_to_centers as kernels

        nearest, begin = np.full(len(self.points), -1, np.int64), 0
        if n_free.any():
            self.build_tree(np.flatnonzero(n_free))
            while begin < len(records) and self.boxes[3][0] < NULL_POSITION:
                self.check()
                clock, previous = progress.thread_seconds(), begin
                begin = kernels.assign_with_capacity(
                    begin, STEPS_PER_CALL, records, self.tuple_of, self.points, self.tree, nearest, n_free, labels
                )
                if begin < len(records) and self.boxes[3][0] < NULL_POSITION:
                    self.report_search((begin - previous) / len(records), progress.thread_seconds() - clock)
        rest = records[begin:]
        if len(rest):
            self.build_tree(np.arange(len(self.centers)))
            self.find_nearest(np.unique(self.tuple_of[rest]), nearest, keep_earlier=False)
            labels[rest] = nearest[self.tuple_of[rest]]

    def adjust_sizes(self, labels: Ints) -> None:
        """ADJUST (three-variants paper, Figure 4): clusters of more than k records give away those farthest from their
        centers, which go to the nearest cluster of fewer than k while there is one, and to the nearest of all then."""
        from dbanon.kernels import assign_to_centers as kernels

        n_free = np.empty(len(self.centers), np.int64)
        kernels.trim_clusters(self.k, labels, self.tuple_of, self.points, self.centers, self.axes, n_free)
        self.fill_clusters(self.order[labels[self.order] < 0], n_free, labels)

    def recenter(self, labels: Ints) -> Ints:
        """Return centers of the clusters; gives which of them moved. One without records keeps its center."""
        from dbanon.kernels import assign_to_centers as kernels

        moved_centers: Ints = np.flatnonzero(
            kernels.update_centers(labels, self.tuple_of, self.points, self.centers, self.axes)
        )
        return moved_centers


def as_algorithm(method: Callable[[MovingCenters], Ints]) -> AlgorithmFunction:
    """Return the method as algorithms are called."""

    @single_cluster_below_2k
    @functools.wraps(method)
    def run(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Ints:
        seeds, order = spread_rows(space, space.rows // constraint.min_records, options)
        rounds = cast(int, options.get("rounds", 1))
        work = MovingCenters(
            space, constraint.min_records, seeds, order, options.get("centroid_cat") != "lca", rounds, check
        )
        return method(work)

    return run


EVEN_MODE = Parameter(
    "mode",
    MODE.kind,
    "Deterministic: the first centers are every (n / clusters)th record, and records move in canonical order.",
    "random",
)
