"""Gathering groups that must meet models of their sensitive values: the seed and its nearest records, as long as the
group can still meet them; what is left joins the nearest group that still does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from dbanon.cluster.model_arrays import model_rules
from dbanon.cluster.registry import Check, Rule
from dbanon.models.constraint import Constraint
from dbanon.space import distance
from dbanon.space.distance import Table
from dbanon.space.index import Index
from dbanon.space.space import Ints, Space

NEAR = 4
"""What is left joins one of so many nearest groups, or waits for the repair."""


def gather(
    space: Space,
    constraint: Constraint,
    index: Index,
    dense: tuple[Ints, Ints],
    tables: Sequence[Table],
    rule: Rule,
    check: Check,
) -> Ints:
    """Clusters of every record; those that could join no group without breaking its models are in the nearest one, for
    the repair. Ties go to the first record in canonical order, and to the earlier cluster."""
    rules = model_rules(space, constraint.models)
    values = np.ascontiguousarray(np.stack([s.codes for s in space.sensitive]))
    ends = space.starts + space.counts
    following = np.arange(1, space.rows + 1)
    following[ends - 1] = -1
    tuple_of = np.repeat(np.arange(len(space.counts)), space.counts)
    chains = (space.starts.copy(), following, tuple_of, values)
    labels = np.full(space.rows, -1, np.int64)
    sums = index.sums()
    begin = rule.next(index, sums, 0) if index.records >= constraint.least else -1
    seeds: list[int] = []
    steps, stuck = 4, False
    while index.records >= constraint.least and not stuck:
        check()
        clock = time.perf_counter()
        found, stuck = index.gather_models(
            dense, sums, rule.sign, constraint.least, begin, chains, rules, labels, len(seeds), steps
        )
        begin = -1
        seeds += found.tolist()
        steps = int(min(max(steps * 0.1 / max(time.perf_counter() - clock, 1e-6), 4), 8 * steps))
    if not seeds:
        return np.zeros(space.rows, np.int64)
    _place(space, tables, values, rules, labels, np.array(seeds), check)
    return labels


def _place(
    space: Space,
    tables: Sequence[Table],
    values: Any,
    rules: tuple[Any, ...],
    labels: Ints,
    seeds: Ints,
    check: Check,
) -> None:
    """Labels the records that have none: the nearest group that meets the models with them, else the nearest."""
    from dbanon import kernels

    rest = np.flatnonzero(labels < 0)
    if len(rest) == 0:
        return
    at = rules[0]
    counts = np.zeros((len(seeds), int(at[-1])), np.int64)
    placed = labels >= 0
    for s in range(len(values)):
        np.add.at(counts, (labels[placed], at[s] + values[s][placed]), 1)
    sizes = np.bincount(labels[placed], minlength=len(seeds))
    extra = np.zeros(2 * max(int(rules[5][-1]), 1))
    tuple_of = np.repeat(np.arange(len(space.counts)), space.counts)
    before, order = -1, np.empty(0, np.int64)
    for row in rest.tolist():
        check()
        if tuple_of[row] != before:
            before = tuple_of[row]
            far = np.zeros(len(seeds), np.int64)
            for j, distances in enumerate(distance.rows(tables, space.codes[before])):
                far += distances[space.codes[seeds, j]]
            order = np.argsort(far, kind="stable")[:NEAR]
        group = kernels.first_fit(order, row, values, counts, sizes, rules, extra)
        labels[row] = group if group >= 0 else len(seeds)
