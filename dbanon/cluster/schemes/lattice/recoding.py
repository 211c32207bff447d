"""What a full-domain generalization publishes: one level of each column, or what just covers a class."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dbanon.cluster.abilities import Widening
from dbanon.cluster.extent import Extents, members
from dbanon.cluster.schemes.lattice.levels import Levels
from dbanon.functions.parameter_types import Choice, Integer
from dbanon.functions.parameters import Parameter
from dbanon.models.constraint import Constraint
from dbanon.space.space import Ints, Space

RECODING = Parameter(
    "recoding",
    Choice(("full", "tight")),
    "What is published: of each column one level for all records, or of each class what just covers it, which is never "
    "above that level. With improve only 'tight' makes sense.",
    "full",
)
MOST = Parameter("most", Integer(0), "Most records that may be left out, beside the share suppress.")


def widen(space: Space, labels: Ints, constraint: Constraint, options: Mapping[str, object]) -> tuple[Ints, Ints]:
    """The ends of the blocks that clusters stand in, at the lowest level of each attribute on which every cluster is in
    one block: the level that was searched for, as a lower one would have been taken."""
    extents = Extents.of(space, members(labels))
    low, high = extents.low.copy(), extents.high.copy()
    if options["recoding"] == "tight":
        return low, high
    kept = space.codes[np.unique(space.tuple_of[np.flatnonzero(labels >= 0)])]
    for j, attribute in enumerate(space.attributes):
        levels = Levels.of(attribute, kept[:, j])
        block = levels.steps[0]
        for step in levels.steps[1:]:
            if (block[low[:, j]] == block[high[:, j]]).all():
                break
            block = np.where(block >= 0, step[block], -1)
        first, last = _ends(block[:-1])
        # A cluster with a NULL stays as it is: NULL alone, or * where it has values too.
        known = high[:, j] < attribute.values
        of = block[low[known, j]]
        low[known, j], high[known, j] = first[of], last[of]
    return low, high


def _ends(block: Ints) -> tuple[Ints, Ints]:
    """The least and the greatest code of each block; codes that do not occur are in none."""
    codes = np.flatnonzero(block >= 0)
    first, last = np.full(int(block.max(initial=0)) + 1, len(block)), np.full(int(block.max(initial=0)) + 1, -1)
    np.minimum.at(first, block[codes], codes)
    np.maximum.at(last, block[codes], codes)
    return first, last


FULL = Widening(widen)
