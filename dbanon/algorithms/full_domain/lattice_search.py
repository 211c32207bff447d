"""Full-domain generalization: every attribute is raised to one level for all records. The search is Incognito's."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dbanon import errors
from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.full_domain.levels import Frequencies, Levels, Node, sums
from dbanon.encoding.encoded_table import Bools, EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

LARGEST = 2_000_000
"""Most nodes, over all sets of attributes."""


def full_domain(space: EncodedTable, constraint: Constraint, name: str, check: Check, most: int = 0) -> Runs:
    """The classes of the best full-domain generalization, found as Incognito does (LeFevre, DeWitt and Ramakrishnan
    2005), with the privacy model as the test of a group (Machanavajjhala et al. 2006): the label of every record.

    A node is a level of every attribute; its classes are the records of equal blocks, and all of them meet the whole
    privacy model. Of all such nodes the one with the least sum of levels is taken, then the one whose classes lose
    least as tight classes (GCP: shares of leaves, weighted), then the first level vector. What is published is said in
    `dbanon.algorithms.full_domain.recoding`: the level, or what just covers a class.

    Sets of attributes are searched one after another, small ones first, each bottom-up. What is above a node that
    passes also does (generalization property), so it is not tested; a node is a candidate only where each projection
    on one attribute less passes (subset property). Both are asked of that part of the model alone which a union of
    classes meets where the classes do (`kept_by_union`). On all attributes every candidate is tested with the whole
    model, in the order of its sum of levels, until that is more than one that passes has: none is taken for granted.

    `most`: so many records may stand in classes that miss the model; they are left out (-1), and count as if they lost
    all. Then what passes below is only asked of k and of numbers of values, as a class that misses another model can
    spoil one that it is joined with.

    Raises TooManyLevelsError. Exponential in the attributes, O(tuples) time a node, O(tuples * attributes + nodes)
    memory.
    """
    of = [Levels.of(a, space.codes[:, j]) for j, a in enumerate(space.attributes)]
    raised = [j for j, levels in enumerate(of) if len(levels.numbers) > 1]
    nodes = math.prod(len(of[j].numbers) + 1 for j in raised)
    if nodes > LARGEST:
        raise errors.TooManyLevelsError(name, nodes, LARGEST)
    if not raised:
        return Runs.one(space)
    blocks = tuple(of[j].steps[0][space.codes[:, j]] for j in raised)
    base = Frequencies((0,) * len(raised), blocks, space.counts)
    search = Search(space, [of[j] for j in raised], base, check, most)
    passing: dict[tuple[int, ...], Bools] = {}
    part = kept_by_union(space, constraint, counts_only=most > 0)
    for size in range(1, len(raised)):
        subsets = combinations(range(len(raised)), size)
        passing = {some: search.passing(some, search.candidates(some, passing), part) for some in subsets}
    everything = tuple(range(len(raised)))
    return search.best(search.candidates(everything, passing), constraint)


def kept_by_union(space: EncodedTable, constraint: Constraint, *, counts_only: bool = False) -> Constraint:
    """Return the part of a privacy model that a union of disjoint classes meets wherever each of them does.

    k and numbers of different values only grow, whatever is counted. Where records are counted, a value's share in the
    union is an average of its shares in the classes; why the other models hold then, each says in its file. Judged
    within equal values of the other columns, each part of the union is a union of parts. Where distinct persons are
    counted, one who is in two classes counts once in the union and shares are no averages: all but k and numbers of
    values is left out.
    """
    by_records = space.persons is None and not counts_only
    models = tuple(m for m in constraint.models if m.rule.counts_values or (by_records and m.rule.kept_by_union))
    return Constraint(constraint.k, models, constraint.joint)


@dataclass(frozen=True)
class Search:
    """The records by their blocks on the lowest levels, and the levels of their attributes.

    At most `most` records may stand in groups that miss the model.
    """

    space: EncodedTable
    levels: list[Levels]
    base: Frequencies
    check: Check
    most: int = 0

    def candidates(self, some: tuple[int, ...], passing: dict[tuple[int, ...], Bools]) -> Bools:
        """Return nodes of some attributes that pass on all sets of one attribute less."""
        alive = np.ones([len(self.levels[j].numbers) for j in some], bool)
        if len(some) > 1:
            for i in range(len(some)):
                alive &= np.expand_dims(passing[some[:i] + some[i + 1 :]], i)
        return alive

    def passing(self, some: tuple[int, ...], alive: Bools, constraint: Constraint) -> Bools:
        """Return nodes of some attributes whose groups meet the constraint."""
        passed = np.zeros_like(alive)
        floor = self._floor(some, alive)
        for _, node in self._bottom_up(some, alive):
            if not passed[node] and self._meets(some, floor, node, constraint):
                passed[tuple(slice(level, None) for level in node)] = True
        return passed

    def best(self, alive: Bools, constraint: Constraint) -> Runs:
        """Return the label of every record on the best node of all attributes; one class where none passes."""
        everything = tuple(range(len(self.levels)))
        floor = self._floor(everything, alive)
        loss = Loss(self.space, 1, "leaves")  # 1: sums over all records are exact
        labels, least, total = np.zeros(len(self.space.counts), np.int64), -1, -1
        for levels, node in self._bottom_up(everything, alive):
            if total >= 0 and levels > total:
                break
            if self._meets(everything, floor, node, constraint):
                group, loss_here = self.judged(loss, node, constraint)
                if total < 0 or loss_here < least:
                    labels, least, total = group, loss_here, levels
        return Runs.of_tuples(self.space, labels)

    def _bottom_up(self, some: tuple[int, ...], alive: Bools) -> Iterator[tuple[int, Node]]:
        """Yield the sum of levels and node, ascending."""
        nodes = np.argwhere(alive)
        levels = (np.array(self.levels[j].numbers)[nodes[:, i]] for i, j in enumerate(some))
        sums = sum(levels, np.zeros(len(nodes), np.int64))
        for at in np.argsort(sums, kind="stable").tolist():
            yield int(sums[at]), tuple(nodes[at].tolist())

    def _floor(self, some: tuple[int, ...], alive: Bools) -> Frequencies:
        """Return the frequency set of the highest node below all candidates, which all of them are rolled up from."""
        node = tuple(np.argwhere(alive).min(axis=0).tolist()) if alive.any() else (0,) * len(some)
        return self._tuples(some).up([self.levels[j] for j in some], node)

    def _tuples(self, some: tuple[int, ...]) -> Frequencies:
        """Return the records by some attributes; equal ones are not yet together."""
        return Frequencies((0,) * len(some), tuple(self.base.blocks[j] for j in some), self.base.records)

    def passes(self, node: Node, constraint: Constraint) -> bool:
        """Return whether a node of all attributes meets the constraint, but for so many records as may miss it."""
        return self._meets(tuple(range(len(self.levels))), self.base, node, constraint)

    def _meets(self, some: tuple[int, ...], floor: Frequencies, node: Node, constraint: Constraint) -> bool:
        """Whether all groups on a node meet the constraint, but for so many records as may miss it; sizes are looked at
        first, then the smallest groups."""
        self.check()
        levels = [self.levels[j] for j in some]
        group, groups = floor.groups(levels, node)
        sizes = sums(group, groups, floor.records)
        out = int(sizes[sizes < constraint.least].sum())
        if out > self.most or constraint.counts_records(self.space):
            return out <= self.most
        group, groups = self._tuples(some).groups(levels, node)
        out = 0
        for rows in self._smallest_first(group, groups):
            out += sum(len(rows[g]) for g in constraint.missed(self.space, rows).tolist())
            if out > self.most:
                return False
        return True

    def judged(self, loss: Loss, node: Node, constraint: Constraint) -> tuple[Ints, int]:
        """The group of every tuple on a node of all attributes, -1 where it misses the constraint, and the loss of all
        records; those that are left out lose all."""
        group, groups = self.base.groups(self.levels, node)
        missed = self.missed(group, groups, constraint)
        total = self._loss_of(loss, group, groups, missed)
        return np.where(missed[group], -1, group), total

    def missed(self, group: Ints, groups: int, constraint: Constraint) -> Bools:
        """Which groups of tuples miss the constraint."""
        sizes = sums(group, groups, self.space.counts)
        if constraint.counts_records(self.space):
            return np.asarray(sizes < constraint.least)
        missed, by_size, first = np.zeros(groups, bool), np.argsort(sizes, kind="stable"), 0
        for rows in self._smallest_first(group, groups):
            missed[by_size[first + constraint.missed(self.space, rows)]] = True
            first += len(rows)
        return missed

    def _smallest_first(self, group: Ints, groups: int) -> Iterator[list[Ints]]:
        """Yield the rows of groups, ever more of them at a time; `group` of each tuple."""
        sizes = sums(group, groups, self.space.counts)
        by_size = np.argsort(sizes, kind="stable")
        rank = np.empty_like(by_size)
        rank[by_size] = np.arange(len(by_size))
        tuples = np.argsort(rank[group], kind="stable")
        ends = np.cumsum(np.bincount(rank[group]))
        first, step = 0, 16
        while first < len(by_size):
            self.check()
            last = min(first + step, len(by_size))
            rows = self.space.rows_of(tuples[ends[first - 1] if first else 0 : ends[last - 1]])
            yield np.split(rows, np.cumsum(sizes[by_size[first:last]])[:-1])
            first, step = last, 8 * step

    def _loss_of(self, loss: Loss, group: Ints, groups: int, missed: Bools) -> int:
        """The loss of all records in groups, of each tuple, as they are published; all is lost where one is missed."""
        order = np.argsort(group, kind="stable")
        first = np.searchsorted(group[order], np.arange(groups))
        codes = self.space.codes[order].astype(np.int64)
        low, high = np.minimum.reduceat(codes, first), np.maximum.reduceat(codes, first)
        own = np.where(missed, sum(term.unit for term in loss.terms), loss.of(low, high))
        return int((own * sums(group, groups, self.space.counts)).sum())
