"""K-Optimize: the best cuts of ordered values, searched for by branch and bound in a tree of sets of cuts."""

from dataclasses import dataclass, field

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.class_bounds import cluster_members
from dbanon.algorithms.base.registry import (
    ALL_MODELS,
    LARGE,
    MAX_SUPPRESSED,
    Assignment,
    Check,
    Options,
    Suppression,
    register,
)
from dbanon.algorithms.full_domain.levels import group_records, group_rows
from dbanon.encoding.encoded_table import Bools, EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

STEPS_PER_TUPLE = 8
"""Cost of examining all cuts, by tuple and attribute, in steps of dbanon.algorithms.base.progress."""


def k_optimize(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with K-Optimize (Bayardo and Agrawal 2005), reconstructed from descriptions: the cuts of least cost.

    The values of every column are ordered: numbers by value, categories by the leaves of their hierarchy, NULL last. An
    anonymization is a set of cuts between neighbouring values; records of the same intervals are a class. Its cost is
    the discernibility: the sum of the squared sizes of the classes, where a suppressed record costs as much as all
    records. Sets of cuts are enumerated in a tree, in which a set is followed by the sets with one more cut of those
    that remain to it. A set is not followed if it suppresses more records than allowed, or if no set below it can cost
    less than the best one: each record costs at least its class with all remaining cuts, and k. Cuts are tried in the
    order of their cost.

    After `max_nodes` sets were followed, the search ends with the best one so far, as in the paper; by then it has gone
    down to the first set that cannot be cut any more. Other privacy models are checked for a set that would be the
    best. Classes are published as tightly as their records allow. Without the limit it takes O(2^values * n) time, O(n)
    memory.
    """
    search, limit = CutSearch(space, constraint, int(str(options[MAX_SUPPRESSED]))), int(str(options["max_nodes"]))
    progress_check, n_followed = progress.as_progress_check(check), 0
    n_sets = 2.0 ** min(search.n_cuts, 200)
    steps = min(limit or n_sets, n_sets) * space.codes.size * STEPS_PER_TUPLE
    progress_check.on_estimate(steps, steps * progress.SECONDS_PER_STEP)
    path = [search.follow(frozenset(), np.arange(search.n_cuts))]
    while path:
        progress_check()
        node = path[-1]
        if node.n_tried == len(node.cuts):
            path.pop()
            continue
        cut, tail = int(node.cuts[node.n_tried]), node.cuts[node.n_tried + 1 :]
        node.n_tried += 1
        if limit and n_followed >= limit:
            break
        path.append(search.follow(node.head | {cut}, tail))
        n_followed += 1
        if limit:
            progress_check.advance(n_followed / limit)
    return RunLengthLabels.from_tuple_clusters(space, search.best_labels)


@dataclass
class CutNode:
    """A set of cuts that is followed.

    Attributes:
        head: The cuts.
        cuts: The further cuts, in the order in which they are tried; the first `n_tried` were.
        n_tried: Number of cuts that were tried.
    """

    head: frozenset[int]
    cuts: Ints
    n_tried: int = field(default=0)


class CutSearch:
    """A search for the set of cuts of least cost.

    Attributes:
        n_cuts: Number of all cuts, numbered column by column.
        best_cost: Cost of the best set so far.
        best_labels: (tuples,) class of each tuple with it; -1 for suppressed ones.
    """

    def __init__(self, space: EncodedTable, constraint: Constraint, max_suppressed: int) -> None:
        """Number the cuts, and begin with no cut: all records are one class."""
        self.space, self.constraint, self.max_suppressed = space, constraint, max_suppressed
        self.k, self.n_records = constraint.min_records, space.rows
        ranks = [np.unique(space.codes[:, j], return_inverse=True)[1].reshape(-1) for j in range(space.codes.shape[1])]
        self.ranks = ranks
        self.first_cut = np.cumsum([0, *(int(rank.max(initial=0)) for rank in ranks)])
        self.n_cuts = int(self.first_cut[-1])
        self.best_cost = self.n_records**2
        self.best_labels = np.zeros(len(space.counts), np.int64)

    def classes(self, cuts: Ints) -> tuple[Ints, int]:
        """Return the class of each tuple with these cuts, and the number of classes."""
        is_cut = np.zeros(self.n_cuts, bool)
        is_cut[cuts] = True
        intervals = [
            np.cumsum(np.append(0, attribute_cuts))[rank]
            for rank, attribute_cuts in zip(self.ranks, np.split(is_cut, self.first_cut[1:-1]), strict=True)
        ]
        return group_rows(intervals, [int(column.max()) + 1 for column in intervals])

    def costs(self, sizes: Ints) -> Ints:
        """Return the cost of classes of these sizes; one of fewer than k records is suppressed."""
        return np.where(sizes >= self.k, sizes * sizes, sizes * self.n_records)

    def follow(self, head: frozenset[int], tail: Ints) -> CutNode:
        """Return the node of a set of cuts, with those of `tail` that are worth trying; the best set is updated.

        No cut is worth trying if the set suppresses too many records, or no set below it can be better than the best.
        """
        cuts = np.array(sorted(head), np.int64)
        group, n_groups = self.classes(cuts)
        sizes = group_records(group, n_groups, self.space.counts)
        is_small = sizes < self.k
        n_suppressed, cost = int(sizes[is_small].sum()), int(self.costs(sizes).sum())
        if n_suppressed > self.max_suppressed:
            return CutNode(head, tail[:0])
        if cost < self.best_cost:
            self._accept(group, is_small, cost)
        costs_after, suppressed_after = self._one_cut_more(group, sizes)
        tail = tail[suppressed_after[tail] + n_suppressed <= self.max_suppressed]
        all_group, n_all = self.classes(np.concatenate((cuts, tail)))
        class_sizes = np.maximum(group_records(all_group, n_all, self.space.counts)[all_group], self.k)
        bound = int((np.where(is_small[group], self.n_records, class_sizes) * self.space.counts).sum())
        if bound >= self.best_cost:
            return CutNode(head, tail[:0])
        return CutNode(head, tail[np.argsort(costs_after[tail], kind="stable")])

    def _accept(self, group: Ints, is_small: Bools, cost: int) -> None:
        """Make these classes the best ones, if those that are not suppressed meet the whole constraint."""
        labels = np.where(is_small[group], -1, group)
        if not self.constraint.counts_only_records(self.space):
            row_labels = np.repeat(labels, self.space.counts)
            rows = cluster_members(np.unique(row_labels[row_labels >= 0], return_inverse=True)[1].reshape(-1))
            released_rows = np.flatnonzero(row_labels >= 0)
            if len(self.constraint.failing_clusters(self.space, [released_rows[r] for r in rows])):
                return
        self.best_labels, self.best_cost = labels, cost

    def _one_cut_more(self, group: Ints, sizes: Ints) -> tuple[Ints, Ints]:
        """Return, for each cut, the cost and the suppressed records that it adds to classes of these sizes.

        A class contributes to the cuts between its least and its greatest value. What it contributes is a step function
        of the cut: it changes behind each of its values, and is summed up over all classes from its changes.
        """
        added_cost, added_suppressed = np.zeros((2, self.n_cuts), np.int64)
        for j, rank in enumerate(self.ranks):
            n_own = int(self.first_cut[j + 1] - self.first_cut[j])
            if n_own == 0:
                continue
            order = np.lexsort((rank, group))
            of_class, of_rank, records = group[order], rank[order], self.space.counts[order]
            n_below = np.cumsum(records)
            starts = np.flatnonzero(np.append(True, of_class[1:] != of_class[:-1]))
            n_below = n_below - np.repeat(n_below[starts] - records[starts], np.diff(np.append(starts, len(order))))
            n_of_class = sizes[of_class]
            cost = np.where(
                n_below < n_of_class, self.costs(n_below) + self.costs(n_of_class - n_below) - self.costs(n_of_class), 0
            )  # 0 behind the last value
            small = [np.where(part < self.k, part, 0) for part in (n_below, n_of_class - n_below, n_of_class)]
            suppressed = np.where(n_below < n_of_class, small[0] + small[1] - small[2], 0)
            for added, values in ((added_cost, cost), (added_suppressed, suppressed)):
                previous_values = np.append(0, values[:-1])
                previous_values[starts] = 0
                steps = np.zeros(n_own + 1, np.int64)
                np.add.at(steps, of_rank, values - previous_values)
                added[self.first_cut[j] : self.first_cut[j + 1]] = np.cumsum(steps)[:-1]
        return added_cost, added_suppressed


register(
    k_optimize,
    title="K-Optimize",
    summary=(
        "Cuts the ordered values of each column into ranges, the same for all records, and searches by branch and "
        "bound for the cuts with the least sum of squared class sizes; `max_nodes` limits the search."
    ),
    source="Bayardo and Agrawal 2005, as Wang et al. 2022 name it",
    evidence="textbook",
    complexity="O(2^values * n) time without the limit, O(n) memory",
    own_parameters=(
        Parameter(
            "max_nodes",
            Integer(0),
            "Number of sets of cuts after which the search ends with the best one so far; 0: no limit, which gives the "
            "best of all sets.",
            100,
        ),
        LARGE,
    ),
    meets=ALL_MODELS,
    abilities=(Suppression("those in classes of fewer than k records"),),
    references=(
        {
            "cited": "Bayardo and Agrawal 2005",
            "authors": "Bayardo, R. J. and Agrawal, R.",
            "title": "Data privacy through optimal k-anonymization",
            "venue": "21st International Conference on Data Engineering (ICDE), 217-228",
            "note": "We did not have the paper itself.",
        },
    ),
)
