"""Full-domain generalization: every attribute is raised to one level for all records. The search is Incognito's.

A node of the lattice is a choice of one level for each attribute. Its groups are the records that are equal then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dbanon import errors
from dbanon.algorithms.base.assignments import RunLengthLabels, inverse_permutation
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.full_domain.levels import AttributeLevels, FrequencySet, Node, group_records
from dbanon.encoding.encoded_table import Bools, EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

MAX_NODES = 2_000_000
"""Greatest number of nodes, over all sets of attributes."""


def search_full_domain(
    space: EncodedTable, constraint: Constraint, name: str, check: Check, max_suppressed: int = 0
) -> RunLengthLabels:
    """Return the classes of the best full-domain generalization that meets the constraint, found as Incognito does.

    See LeFevre, DeWitt and Ramakrishnan 2005, with the privacy models as the test of a group (Machanavajjhala et al.
    2006). A node is a level of every attribute; its classes are the records of equal blocks, and all of them must meet
    the whole constraint. Of all such nodes the one with the least sum of levels is taken, then the one whose classes
    lose least as tight classes (GCP: shares of leaves, weighted), then the first level vector.
    `dbanon.algorithms.full_domain.recoding` determines what is published: the level, or what just covers a class.

    Sets of attributes are searched one after another, small ones first, each bottom-up. If a node passes, so do all
    nodes above it (generalization property), so they are not tested. A node is a candidate only if each projection on
    one attribute less passes (subset property). Both properties hold only for the part of the constraint that a union
    of classes meets if the classes do (`union_closed_constraint`), so only that part is tested on smaller sets. On all
    attributes every candidate is tested with the whole constraint, in the order of its sum of levels, until that
    exceeds the sum of a node that passed.

    Args:
        space: The encoded table.
        constraint: The constraint.
        name: Name of the algorithm, for the error.
        check: Called before every test; raises if the run was interrupted.
        max_suppressed: So many records may be in classes that violate the constraint; they are suppressed (-1) and
            count as a full loss. Smaller sets of attributes are then tested only for k and for numbers of distinct
            values, because a class that violates another model can spoil one that it is united with.

    Returns:
        The class of every record; a single class if no node passes or nothing can be raised.

    Raises:
        TooManyLevelsError: If the lattice has more than MAX_NODES nodes over all sets of attributes.

    Exponential in the attributes, O(tuples) time per node, O(tuples * attributes + nodes) memory.
    """
    search = LatticeSearch.from_table(space, check, max_suppressed, raisable_only=True)
    nodes = math.prod(len(attribute_levels.numbers) + 1 for attribute_levels in search.levels)
    if nodes > MAX_NODES:
        raise errors.TooManyLevelsError(name, nodes, MAX_NODES)
    if not search.levels:
        return RunLengthLabels.single_cluster(space)
    all_attributes = tuple(range(len(search.levels)))
    passing: dict[tuple[int, ...], Bools] = {}
    part = union_closed_constraint(space, constraint, counts_only=max_suppressed > 0)
    for size in all_attributes[1:]:
        passing = {
            subset: search.passing_nodes(subset, search.candidate_nodes(subset, passing), part)
            for subset in combinations(all_attributes, size)
        }
    return search.best_labels(search.candidate_nodes(all_attributes, passing), constraint)


def union_closed_constraint(space: EncodedTable, constraint: Constraint, *, counts_only: bool = False) -> Constraint:
    """Return the part of a constraint that a union of disjoint classes meets whenever each of them does.

    k and numbers of different values are always kept, since they only grow. Other models are kept if records are
    counted (not persons), `counts_only` is false, and the model's form is closed under union; each model's file says
    why.

    If records are counted, a value's share in the union is an average of its shares in the classes. If distinct persons
    are counted, a person in two classes counts once in the union, and shares are no averages.
    """
    by_records = space.persons is None and not counts_only
    models = tuple(
        m
        for m in constraint.models
        if m.form_definition.is_distinct_count or (by_records and m.form_definition.is_closed_under_union)
    )
    return Constraint(constraint.k, models, constraint.joint)


@dataclass(frozen=True)
class LatticeSearch:
    """A search in the lattice of levels of several attributes.

    A node is one level index for each attribute; its groups are the records that are equal on these levels.

    Attributes:
        space: The encoded table.
        levels: The levels of each attribute.
        base: The records, tuple by tuple, with their blocks on the lowest levels.
        check: Called before every test; raises if the run was interrupted.
        max_suppressed: So many records may be in groups that violate the constraint.
    """

    space: EncodedTable
    levels: list[AttributeLevels]
    base: FrequencySet
    check: Check
    max_suppressed: int = 0

    @classmethod
    def from_table(
        cls, space: EncodedTable, check: Check, max_suppressed: int = 0, *, raisable_only: bool = False
    ) -> LatticeSearch:
        """Return the search in the lattice of all levels of the attributes of a table.

        Args:
            space: The encoded table.
            check: Called before every test; raises if the run was interrupted.
            max_suppressed: So many records may be in groups that violate the constraint.
            raisable_only: Whether attributes with a single level are omitted.
        """
        levels = [AttributeLevels.from_codes(a, space.codes[:, j]) for j, a in enumerate(space.attributes)]
        attributes = [j for j, own_levels in enumerate(levels) if len(own_levels.numbers) > 1 or not raisable_only]
        blocks = tuple(levels[j].steps[0][space.codes[:, j]] for j in attributes)
        base = FrequencySet((0,) * len(attributes), blocks, space.counts)
        return cls(space, [levels[j] for j in attributes], base, check, max_suppressed)

    def candidate_nodes(self, attributes: tuple[int, ...], passing: dict[tuple[int, ...], Bools]) -> Bools:
        """Return which nodes of some attributes pass on all subsets of one attribute less.

        A node is a choice of one level for each of these attributes. Nodes of a single attribute are all candidates.

        Args:
            attributes: Indices of the attributes, ascending.
            passing: For each subset of one attribute less, which of its nodes pass, as an array with one axis per
                attribute.

        Returns:
            Whether each node is a candidate, as an array with one axis per attribute.
        """
        is_candidate = np.ones([len(self.levels[j].numbers) for j in attributes], bool)
        if len(attributes) > 1:
            for i in range(len(attributes)):
                is_candidate &= np.expand_dims(passing[attributes[:i] + attributes[i + 1 :]], i)
        return is_candidate

    def passing_nodes(self, attributes: tuple[int, ...], is_candidate: Bools, constraint: Constraint) -> Bools:
        """Return which nodes of some attributes meet the constraint, as an array with one axis per attribute.

        A node is a level for each attribute. It passes if at most `max_suppressed` records are in groups that violate
        the constraint. Candidates are tested from the lowest sum of levels on. A node above one that passes is marked
        without a test, whether or not it is a candidate.
        """
        is_passing = np.zeros_like(is_candidate)
        floor = self._floor_frequencies(attributes, is_candidate)
        for _, node in self._bottom_up(attributes, is_candidate):
            if not is_passing[node] and self._is_met_on_node(attributes, floor, node, constraint):
                is_passing[tuple(slice(level, None) for level in node)] = True
        return is_passing

    def best_labels(self, is_candidate: Bools, constraint: Constraint) -> RunLengthLabels:
        """Return the group of every record on the best candidate node of all attributes that meets the constraint.

        A node is a level for each attribute. The best one has the least sum of levels, then the least loss, then it is
        the first. Records in groups that violate the constraint have -1. If no node passes, all records are in cluster
        0.
        """
        all_attributes = tuple(range(len(self.levels)))
        floor = self._floor_frequencies(all_attributes, is_candidate)
        loss = Loss(self.space, 1, "leaves")  # 1: sums over all records are exact
        labels, min_loss, min_levels = np.zeros(len(self.space.counts), np.int64), -1, -1
        for levels, node in self._bottom_up(all_attributes, is_candidate):
            if min_levels >= 0 and levels > min_levels:
                break
            if self._is_met_on_node(all_attributes, floor, node, constraint):
                group, loss_here = self.groups_and_loss(loss, node, constraint)
                if min_levels < 0 or loss_here < min_loss:
                    labels, min_loss, min_levels = group, loss_here, levels
        return RunLengthLabels.from_tuple_clusters(self.space, labels)

    def _bottom_up(self, attributes: tuple[int, ...], is_candidate: Bools) -> Iterator[tuple[int, Node]]:
        """Yield the sum of level numbers and the node, for each candidate, in ascending order of the sum.

        A node is a tuple of level indices, one for each of `attributes`. Level numbers are steps up a hierarchy.
        """
        nodes = np.argwhere(is_candidate)
        levels = (np.array(self.levels[j].numbers)[nodes[:, i]] for i, j in enumerate(attributes))
        level_sums = sum(levels, np.zeros(len(nodes), np.int64))
        for position in np.argsort(level_sums, kind="stable").tolist():
            yield int(level_sums[position]), tuple(nodes[position].tolist())

    def _floor_frequencies(self, attributes: tuple[int, ...], is_candidate: Bools) -> FrequencySet:
        """Return the groups, with their counts, on the highest node that is below or equal to all candidates.

        A node is a level for each of `attributes`. The groups of each candidate can be computed from these. If there is
        no candidate, they are those of the lowest node.
        """
        node = tuple(np.argwhere(is_candidate).min(axis=0).tolist()) if is_candidate.any() else (0,) * len(attributes)
        return self._tuple_frequencies(attributes).roll_up([self.levels[j] for j in attributes], node)

    def _tuple_frequencies(self, attributes: tuple[int, ...]) -> FrequencySet:
        """Return the frequency set (groups with counts) of some attributes on the lowest levels, a group per tuple.

        Groups with equal blocks (values that are equal on a level) are not merged.
        """
        return FrequencySet((0,) * len(attributes), tuple(self.base.blocks[j] for j in attributes), self.base.records)

    def is_passing(self, node: Node, constraint: Constraint) -> bool:
        """Return whether at most `max_suppressed` records are in groups of a node that violate the constraint.

        `node` is a level of every attribute; its groups are the records that are equal on these levels.
        """
        return self._is_met_on_node(tuple(range(len(self.levels))), self.base, node, constraint)

    def _is_met_on_node(
        self, attributes: tuple[int, ...], floor: FrequencySet, node: Node, constraint: Constraint
    ) -> bool:
        """Return whether at most `max_suppressed` records are in groups of the node that violate the constraint.

        Groups are the records that are equal on the levels of the node. Sizes are tested first, then the smallest
        groups.

        Args:
            attributes: The attributes of the node.
            floor: A frequency set (groups with counts) of these attributes on the node or below it.
            node: A level of each of these attributes.
            constraint: The constraint.
        """
        self.check()
        levels = [self.levels[j] for j in attributes]
        group, groups = floor.groups_above(levels, node)
        sizes = group_records(group, groups, floor.records)
        n_failing = int(sizes[sizes < constraint.min_records].sum())
        if n_failing > self.max_suppressed or constraint.counts_only_records(self.space):
            return n_failing <= self.max_suppressed
        group, groups = self._tuple_frequencies(attributes).groups_above(levels, node)
        n_failing = 0
        for rows in self._smallest_first(group, groups):
            n_failing += sum(len(rows[g]) for g in constraint.failing_clusters(self.space, rows).tolist())
            if n_failing > self.max_suppressed:
                return False
        return True

    def groups_and_loss(self, loss: Loss, node: Node, constraint: Constraint) -> tuple[Ints, int]:
        """Return the (tuples,) group of every tuple on a node, and the loss of all records together.

        A node is a level for each of all attributes. Tuples in groups that violate the constraint have -1; their
        records lose all.
        """
        group, groups = self.base.groups_above(self.levels, node)
        is_failing = self.failing_groups(group, groups, constraint)
        return np.where(is_failing[group], -1, group), self._total_loss(loss, group, groups, is_failing)

    def failing_groups(self, group: Ints, n_groups: int, constraint: Constraint) -> Bools:
        """Return, for each group of tuples, whether it violates the constraint.

        `group` is the (tuples,) group of each tuple, from 0 to `n_groups` - 1.
        """
        sizes = group_records(group, n_groups, self.space.counts)
        if constraint.counts_only_records(self.space):
            return np.asarray(sizes < constraint.min_records)
        is_failing, by_size, first = np.zeros(n_groups, bool), np.argsort(sizes, kind="stable"), 0
        for rows in self._smallest_first(group, n_groups):
            is_failing[by_size[first + constraint.failing_clusters(self.space, rows)]] = True
            first += len(rows)
        return is_failing

    def _smallest_first(self, group: Ints, groups: int) -> Iterator[list[Ints]]:
        """Yield the groups in batches, smallest groups first, each group as an array of its canonical row numbers.

        The first batch has 16 groups, each further one eight times as many.

        Args:
            group: (tuples,) number of the group of each tuple.
            groups: Number of groups.
        """
        sizes = group_records(group, groups, self.space.counts)
        by_size = np.argsort(sizes, kind="stable")
        rank = inverse_permutation(by_size)
        tuples = np.argsort(rank[group], kind="stable")
        ends = np.cumsum(np.bincount(rank[group]))
        first, step = 0, 16
        while first < len(by_size):
            self.check()
            last = min(first + step, len(by_size))
            rows = self.space.rows_of(tuples[ends[first - 1] if first else 0 : ends[last - 1]])
            yield np.split(rows, np.cumsum(sizes[by_size[first:last]])[:-1])
            first, step = last, 8 * step

    def _total_loss(self, loss: Loss, group: Ints, n_groups: int, is_failing: Bools) -> int:
        """Return the loss of all records in the groups, published as the ranges that just cover them.

        Records of failing groups lose all.

        Args:
            loss: The loss.
            group: (tuples,) group of each tuple.
            n_groups: Number of groups.
            is_failing: (groups,) whether the group violates the constraint.
        """
        order = np.argsort(group, kind="stable")
        first = np.searchsorted(group[order], np.arange(n_groups))
        codes = self.space.codes[order].astype(np.int64)
        low, high = np.minimum.reduceat(codes, first), np.maximum.reduceat(codes, first)
        group_losses = np.where(is_failing, sum(term.unit for term in loss.terms), loss.record_losses(low, high))
        return int((group_losses * group_records(group, n_groups, self.space.counts)).sum())
