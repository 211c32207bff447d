"""Centers of clusters that move, and the records that are nearest to them."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.random_seeds import spread_rows
from dbanon.algorithms.base.registry import MODE, AlgorithmFunction, Check, Options, single_cluster_below_2k
from dbanon.encoding.distance import rounded_positions
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, Ints, NumericAttribute
from dbanon.kernels.center_arrays import CenterAxes, CenterBoxes, CenterTree
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameters import Parameter

STEPS_PER_CALL = 2**20
"""Steps of a search, in some 50 ms, after which a kernel returns for a check for interrupts."""

SEARCH_STEP_COST = 2.5
"""Cost of a step of a search, which examines two boxes, in steps of dbanon.algorithms.base.progress."""

NULL_POSITION = 2**62
"""The coordinate of a NULL on the axis of a number."""


def axes_and_points(space: EncodedTable) -> tuple[CenterAxes, Ints]:
    """Return the axes (one per attribute, those with a hierarchy first) and the coordinates of the tuples on them.

    Returns:
        The axes; and (tuples, axes) coordinates: rounded positions of numbers (NULL_POSITION for NULL) or nodes of
        categories.
    """
    scale = 2.0 ** (62 - math.frexp(space.total * sum(a.weight for a in space.attributes))[1])
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
        parent[part], last[part] = attribute.parent, attribute.last
        height[part] = [round(h / max(int(attribute.height[0]), 1) * unit) for h in attribute.height.tolist()]
        points[:, j] = np.append(attribute.node, len(attribute.parent))[codes[:, j]]
    trees = np.array([isinstance(a, CategoricalAttribute) for a in attributes], np.int64)
    null = np.array([round(a.weight * scale) for a in attributes], np.int64)
    return CenterAxes(trees, null, starts, parent, last, height), points


def categories_as_numbers(space: EncodedTable) -> EncodedTable:
    """Return the table with each categorical attribute as a number: its codes 0, 1, 2 ..., in the order of the leaves.

    Codes and weights do not change.
    """
    attributes = (
        NumericAttribute(np.arange(float(a.values)), integral=True, weight=a.weight)
        if isinstance(a, CategoricalAttribute)
        else a
        for a in space.attributes
    )
    return replace(space, attributes=tuple(attributes))


@dataclass
class MovingCenters:
    """A table and the centers of its clusters, which can be moved.

    Attributes:
        space: The encoded table.
        k: Least number of records of a cluster.
        seeds: The records that are the first centers.
        order: All records, in the order in which ADJUST assigns those that it moves.
        with_modes: Whether the center of a category is the most frequent value; otherwise it is the lowest common
            ancestor.
        rounds: Greatest number of rounds.
        check: Called from time to time; raises if the run was interrupted.
    """

    space: EncodedTable
    k: int
    seeds: Ints
    order: Ints
    with_modes: bool
    rounds: int
    check: Check

    def __post_init__(self) -> None:
        """Compute the coordinates of tuples and first centers, and allocate the tree of centers."""
        from dbanon.kernels import assign_to_centers

        self.kernels: Any = assign_to_centers
        self.tuple_of = self.space.tuple_of
        self.axes, self.points = axes_and_points(self.space)
        self.centers = self.points[self.tuple_of[self.seeds]]
        self.boxes = CenterBoxes.allocate(*self.centers.shape)
        deep = sum(int(a.depth.max()) for a in self.space.attributes if isinstance(a, CategoricalAttribute))
        self.stack_size = 128 * (self.points.shape[1] + 1) + 4 * deep
        self.estimate = progress.KernelEstimate(self.check)

    @property
    def tree(self) -> CenterTree:
        """The centers and the arrays of their tree, as the kernels take them."""
        return CenterTree(self.centers, self.axes, self.boxes, self.stack_size)

    def report_search(self, fraction: float, seconds: float) -> None:
        """Record that a kernel searched for STEPS_PER_CALL steps, for the time estimate.

        At the second report the time of all rounds, with one search each, is estimated; the kernel may be compiled in
        the first.

        Args:
            fraction: Fraction of all tuples or records that the kernel assigned.
            seconds: Seconds that it took.
        """
        self.estimate.report_return(fraction, STEPS_PER_CALL * SEARCH_STEP_COST, seconds, self.rounds)

    def build_tree(self, centers: Ints) -> None:
        """Build the search tree of the centers with the given numbers.

        Until it is rebuilt, searches find only these centers.
        """
        self.kernels.build_center_tree(centers, self.tree)

    def find_nearest(self, tuples: Ints, nearest: Ints, keep_earlier: bool) -> None:
        """Write the nearest center of each of `tuples` to `nearest`, in place; ties go to the first center.

        Only the centers of the last `build_tree` are considered and, with `keep_earlier`, the center that `nearest`
        already has for the tuple, even if it is not in the tree.

        Args:
            tuples: The tuples whose centers are searched for.
            nearest: (tuples of the table,) number of the nearest center; other entries are unchanged.
            keep_earlier: Whether `nearest` has an earlier center for each of `tuples`.
        """
        begin = 0
        while begin < len(tuples):
            self.check()
            clock, previous = progress.thread_seconds(), begin
            begin = self.kernels.assign_nearest(
                begin, STEPS_PER_CALL, tuples, self.points, self.tree, nearest, keep_earlier
            )
            if begin < len(tuples):
                self.report_search((begin - previous) / len(tuples), progress.thread_seconds() - clock)

    def fill_clusters(self, records: Ints, n_free: Ints, labels: Ints) -> None:
        """Assign records, in order, to the nearest cluster with free capacity; without any, to the nearest of all.

        Args:
            records: The records to assign.
            n_free: Free capacity of each cluster; changed in place.
            labels: (n,) cluster of every record; entries of `records` are written.
        """
        nearest, begin = np.full(len(self.points), -1, np.int64), 0
        if n_free.any():
            self.build_tree(np.flatnonzero(n_free))
            while begin < len(records) and self.boxes.first[0] < NULL_POSITION:
                self.check()
                clock, previous = progress.thread_seconds(), begin
                begin = self.kernels.assign_with_capacity(
                    begin, STEPS_PER_CALL, records, self.tuple_of, self.points, self.tree, nearest, n_free, labels
                )
                if begin < len(records) and self.boxes.first[0] < NULL_POSITION:
                    self.report_search((begin - previous) / len(records), progress.thread_seconds() - clock)
        rest = records[begin:]
        if len(rest):
            self.build_tree(np.arange(len(self.centers)))
            self.find_nearest(np.unique(self.tuple_of[rest]), nearest, keep_earlier=False)
            labels[rest] = nearest[self.tuple_of[rest]]

    def adjust_sizes(self, labels: Ints) -> None:
        """Change `labels` in place so that every cluster has at least k records.

        This is ADJUST (three-variants paper, Figure 4): clusters of more than k records give up those farthest from
        their centers. These join the nearest cluster of fewer than k records while there is one, then the nearest of
        all. Centers do not move.
        """
        n_free = np.empty(len(self.centers), np.int64)
        self.kernels.trim_clusters(self.k, labels, self.tuple_of, self.points, self.centers, self.axes, n_free)
        self.fill_clusters(self.order[labels[self.order] < 0], n_free, labels)

    def recenter(self, labels: Ints) -> Ints:
        """Move each center, in place, to the center of its records, and return the numbers of those that moved.

        It is the mean of numbers and the most frequent value of categories. A center without records stays. `labels` is
        the (n,) cluster of every record.
        """
        moved_centers: Ints = np.flatnonzero(
            self.kernels.update_centers(labels, self.tuple_of, self.points, self.centers, self.axes)
        )
        return moved_centers


def as_algorithm(method: Callable[[MovingCenters], Ints]) -> AlgorithmFunction:
    """Wrap a method that works on moving centers as an algorithm; fewer than 2k records are a single cluster.

    The first centers are floor(n / k) random records; in the deterministic mode they are spread evenly.
    """

    @single_cluster_below_2k
    @functools.wraps(method)
    def run(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Ints:
        """Run the method with floor(n / k) first centers from the options, and return the cluster of every record."""
        seeds, order = spread_rows(space, space.rows // constraint.min_records, options)
        rounds = cast(int, options.get("rounds", 1))
        with_modes = options.get("centroid_cat") != "lca"
        return method(MovingCenters(space, constraint.min_records, seeds, order, with_modes, rounds, check))

    return run


EVEN_MODE = Parameter(
    "mode",
    MODE.kind,
    "deterministic: the first centers are every (n / clusters)th record, and records move in canonical order.",
    "random",
)
