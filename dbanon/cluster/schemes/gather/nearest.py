"""Gather: pick a seed, take the records nearest to it until the group is enough, repeat; place what is left.

The family of KACPC. A rule says where the next seed is and how far records are from it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from dbanon.cluster.labels import Dealer, dealt
from dbanon.cluster.registry import Check, Rule
from dbanon.cluster.schemes.gather import diverse
from dbanon.models.constraint import Constraint
from dbanon.space import distance
from dbanon.space.distance import Table
from dbanon.space.index import Index
from dbanon.space.space import Codes, Ints, Space


def gather(space: Space, constraint: Constraint, tables: Sequence[Table], rule: Rule, check: Check) -> Ints:
    """Clusters of one seed and its nearest records each; leftovers go to the cluster with the nearest seed.

    Ties go to the first record in canonical order, and to the earlier cluster.
    """
    index = Index(space, tables)
    sums = index.sums()
    made: list[int] = []
    left = constraint.left(space)
    dealer = Dealer(space, index)
    labels = np.full(space.rows, -1, np.int64)
    dense = index.dense()
    compiled = all(m.rules(space.sensitive[m.sensitive]).exact for m in constraint.models)
    if dense is not None and constraint.models and compiled and space.persons is None and not constraint.joint:
        return diverse.gather(space, constraint, index, dense, tables, rule, check)
    if not constraint.counts_records(space):
        dense = None
    while dense is None and left.enough():
        check()
        seed = rule.next(index, sums, len(made))
        rows = _group(space, constraint, index, dealer, seed)
        if rows is None:
            break
        labels[rows] = len(made)
        left.take(rows)
        made.append(seed)
        index.add(sums, space.codes[seed])
    if dense is not None:
        made = _compiled(space, constraint.least, index, dense, rule, labels, check).tolist()
    rest = index.remaining()
    if len(rest):
        nearest = _nearest_seed(space.codes[rest], space.codes[made], tables, check)
        labels[dealer.rows(rest, index.left[rest])] = np.repeat(nearest, index.left[rest])
    return labels


def _compiled(
    space: Space,
    k: int,
    index: Index,
    dense: tuple[Ints, Ints],
    rule: Rule,
    labels: Ints,
    check: Check,
) -> Ints:
    """The same loop in compiled code, where a group needs k records and no more; gives the seeds.

    Comes back to look for interrupts several times a second.
    """
    sums = index.sums()
    begin = rule.next(index, sums, 0) if index.records >= k else -1
    found: list[Ints] = [np.empty(0, np.int64)]
    members: list[Ints] = [np.empty((0, 2), np.int64)]
    steps = 4
    while index.records >= k:
        check()
        clock = time.perf_counter()
        rows, seeds = index.gather(dense, sums, rule.sign, k, begin, steps)
        begin = -1
        took = time.perf_counter() - clock
        steps = int(min(max(steps * 0.1 / max(took, 1e-6), 4), 8 * steps, max(2**22 // (k + 2), 4)))
        members.append(rows)
        found.append(seeds)
    all_rows = np.concatenate(members)
    made = dealt(space, all_rows)
    labels[made >= 0] = made[made >= 0]
    return np.concatenate(found)


def _group(space: Space, constraint: Constraint, index: Index, dealer: Dealer, seed: int) -> Ints | None:
    """Takes the seed and as many of the nearest records as the model needs; None if all that is left do not meet it."""
    own = dealer.rows([seed], [1])
    index.take(np.array([seed]), np.array([1]))
    near = index.to(space.codes[seed])
    wanted = constraint.least - 1
    while True:
        tuples, counts = index.nearest(near, wanted)
        rows = np.concatenate((own, dealer.rows(tuples, counts)))
        needed = constraint.needed(space, rows)
        if needed is not None or len(rows) > index.records:
            break
        wanted = 2 * wanted + 1
    if needed is None:
        index.put_back(np.array([seed]), np.array([1]))
        return None
    keep = needed - 1
    before = np.cumsum(counts) - counts
    counts = np.clip(keep - before, 0, counts)
    index.take(tuples, counts)
    return rows[: keep + 1]


def _nearest_seed(codes: Codes, seeds: Codes, tables: Sequence[Table], check: Check) -> Ints:
    """The first of the nearest seeds for each tuple, by its place in `seeds`. O(tuples * seeds)."""
    nearest = np.empty(len(codes), np.int64)
    for i, code in enumerate(codes):
        check()
        rows = distance.rows(tables, code)
        sums = np.zeros(len(seeds), np.int64)
        for j, row in enumerate(rows):
            sums += row[seeds[:, j]]
        nearest[i] = int(np.argmin(sums))
    return nearest
