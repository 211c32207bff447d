"""Clusters that let in the record that costs least. A rule says where one begins, a loss what a record costs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dbanon.cluster.extent import Extents, members
from dbanon.cluster.labels import Dealer, dealt
from dbanon.cluster.loss import Loss, Term
from dbanon.cluster.registry import Check
from dbanon.models.constraint import Constraint
from dbanon.space.index import Index
from dbanon.space.space import Ints, Number, Space, Tree

FAR, RANDOM, FIRST = 0, 1, 2
"""Seeds: the record farthest from the seed before, a random one, the first one left."""


@dataclass(frozen=True)
class Start:
    """Where clusters begin: FAR, RANDOM or FIRST; the first FAR seed is the farthest from the tuple `reference`."""

    seeding: int
    draws: np.random.Generator
    reference: int


def start(space: Space, seeding: int, options: Mapping[str, object]) -> Start:
    """The rule of a call. In the deterministic mode a random record is the first one."""
    draws = np.random.Generator(np.random.PCG64(int(str(options["seed"]))))
    if options["mode"] == "deterministic":
        return Start(FIRST if seeding == RANDOM else seeding, draws, 0)
    record = int(draws.integers(space.rows)) if seeding == FAR else 0
    return Start(seeding, draws, int(np.searchsorted(space.starts, record, side="right")) - 1)


def greedy(space: Space, constraint: Constraint, loss: Loss, begin: Start, check: Check) -> Ints:
    """Clusters of the seed and the records that cost least; leftovers go, in order, to the cluster where the whole loss
    grows least (MINIL).

    Under persons or models of sensitive values a cluster has at least as many records as any of them needs; where that
    was not enough, the shared repair follows. Ties go to the first record in canonical order, and to the earlier
    cluster.
    """
    from dbanon import kernels

    index = Index(space, loss.tables(space))
    terms = arrays([loss.terms[j] for j in index.few])
    ask = index.question(
        [np.zeros(space.attributes[j].values + 1, np.int64) for j in sorted(index.few)], *nowhere(space)
    )
    found: list[Ints] = [np.empty((0, 2), np.int64)]
    least, reference, steps = constraint.least, begin.reference, 4
    while index.records >= least:
        check()
        clock = time.perf_counter()
        rows = np.empty((steps * (least + 1), 2), np.int64)
        used, reference = kernels.greedy_steps(
            *index.arrays, terms, ask.flat, ask.axes, least, begin.seeding, reference, begin.draws.random(steps), steps,
            rows,
        )  # fmt: skip
        index.count()
        found.append(rows[:used].copy())
        steps = int(min(max(steps * 0.1 / max(time.perf_counter() - clock, 1e-6), 4), 8 * steps, 2**22 // (least + 2)))
    labels = dealt(space, np.concatenate(found))
    rest = index.remaining()
    if len(rest):
        place(space, loss, labels, Dealer(space, index).rows(rest, index.left[rest]), check)
    return labels


def place(space: Space, loss: Loss, labels: Ints, rows: Ints, check: Check) -> None:
    """Labels leftovers: where (size + 1) times the loss with them exceeds size times the loss without them least."""
    extents = Extents.of(space, members(labels))
    low, high, sizes = extents.low, extents.high, extents.sizes.astype(np.int64)
    own = loss.of(low, high)
    tuple_of = np.searchsorted(space.starts, rows, side="right") - 1
    for row, t in zip(rows.tolist(), tuple_of.tolist(), strict=True):
        check()
        code = space.codes[t].astype(np.int64)
        grown = loss.of(np.minimum(low, code), np.maximum(high, code))
        c = int(np.argmin(grown * (sizes + 1) - own * sizes))
        labels[row] = c
        low[c], high[c], sizes[c], own[c] = np.minimum(low[c], code), np.maximum(high[c], code), sizes[c] + 1, grown[c]


def nowhere(space: Space) -> tuple[list[int], list[int]]:
    """No place on any axis, for a question that is filled later."""
    return [0] * len(space.attributes), [0] * len(space.attributes)


def arrays(terms: Sequence[Term]) -> tuple[Any, ...]:
    """Terms of attributes that are asked by table, for the kernels (see `dbanon.kernels.greedy`)."""
    kinds, nodes, values, parents, heights, lasts, firsts, of = [], [0], [0], [], [], [], [], []
    for term in terms:
        attribute = term.attribute
        kinds.append(int(isinstance(attribute, Number)))
        values.append(values[-1] + attribute.values)
        if isinstance(attribute, Tree):
            parents.append(attribute.parent.astype(np.int64))
            heights.append(term.height)
            lasts.append(term.last)
            firsts.append(np.searchsorted(attribute.node, np.arange(len(attribute.parent))).astype(np.int64))
            of.append(attribute.node.astype(np.int64))
        else:
            of.append(term.places)
        nodes.append(nodes[-1] + (len(attribute.parent) if isinstance(attribute, Tree) else 0))

    def whole(parts: Sequence[Ints]) -> Ints:
        return np.concatenate([np.zeros(0, np.int64), *parts])

    units = np.array([t.unit for t in terms], np.int64)
    return (
        np.array(kinds, np.int64), units, np.array(nodes), np.array(values), whole(parents), whole(heights),
        whole(lasts), whole(firsts), whole(of),
    )  # fmt: skip
