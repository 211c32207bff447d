"""ELD: k-member whose clusters grow until they have l different sensitive values."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from dbanon.cluster.labels import Dealer, dealt
from dbanon.cluster.loss import Loss
from dbanon.cluster.registry import MODE, SEED, Algorithm, Check, register
from dbanon.cluster.schemes.greedy.least_loss import FAR, arrays, nowhere, place, start
from dbanon.models.constraint import Constraint
from dbanon.space.index import Index
from dbanon.space.space import Ints, Space


def eld(space: Space, constraint: Constraint, options: Mapping[str, object], check: Check) -> Ints:
    """ELD, effective l-diversity by clustering, reconstructed from its abstract.

    The first cluster begins at a random record, later ones at that farthest from the seed before. Each takes the record
    that raises the information loss least, whatever its sensitive value, until it has k records and `l` different
    values; leftovers go where the whole loss grows least. Clusters grow where sensitive values are skewed. Other models
    and forms of l, and persons, are met by the shared repair. O(n^2) without the index, O(n) memory.
    """
    from dbanon.kernels import eld as kernels

    loss = Loss(space, constraint.least, "edges")
    index = Index(space, loss.tables(space))
    terms = arrays([loss.terms[j] for j in index.few])
    ask = index.question(
        [np.zeros(space.attributes[j].values + 1, np.int64) for j in sorted(index.few)], *nowhere(space)
    )
    least, codes, left_of = _asked(space, constraint)
    reference = start(space, FAR, options).reference
    found: list[Ints] = [np.empty((0, 2), np.int64)]
    members = np.empty((len(space.counts) + 2 + 2**18, 2), np.int64)
    steps, more = 4, index.records >= constraint.least
    while more:
        check()
        clock = time.perf_counter()
        used, reference, more = kernels.eld_steps(
            *index.arrays, terms, ask.flat, ask.axes, constraint.least, least, codes, space.starts, space.counts,
            left_of, reference, len(found) == 1, steps, members,
        )  # fmt: skip
        index.count()
        found.append(members[:used].copy())
        steps = int(min(max(steps * 0.1 / max(time.perf_counter() - clock, 1e-6), 4), 8 * steps))
    labels = dealt(space, np.concatenate(found))
    rest = index.remaining()
    if len(rest) and (labels >= 0).any():
        place(space, loss, labels, Dealer(space, index).rows(rest, index.left[rest]), check)
    return labels if (labels >= 0).any() else np.zeros(space.rows, np.int64)


def _asked(space: Space, constraint: Constraint) -> tuple[Ints, Ints, Ints]:
    """By sensitive column: least number of different values, code of every record (NULL: -1), records by value."""
    columns = max(len(space.sensitive), 1)
    width = max([s.values for s in space.sensitive], default=0) + 1
    least, left_of = np.zeros(columns, np.int64), np.zeros((columns, width), np.int64)
    codes = np.full((columns, space.rows), -1, np.int64)
    for model in constraint.models:
        if model.rule.counts_values:
            least[model.sensitive] = max(least[model.sensitive], int(model.bound))
    for s, sensitive in enumerate(space.sensitive):
        codes[s] = np.where(sensitive.codes == sensitive.values, -1, sensitive.codes)
        left_of[s, : sensitive.values] = np.bincount(sensitive.codes, minlength=sensitive.values + 1)[:-1]
    return least, codes, left_of


register(
    Algorithm(
        name="eld",
        title="ELD: effective l-diversity by clustering",
        family="greedy",
        run=eld,
        source="S1's reference 30, its abstract",
        evidence="RECON",
        deterministic=False,
        complexity="O(n^2) time without the index, O(n) memory",
        own=(SEED, MODE),
        defaults={"l": 2},
        meets=("k", "l", "p"),
    )
)
