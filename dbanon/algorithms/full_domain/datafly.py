"""Datafly: the column of the most values is raised, again and again."""

from dataclasses import replace

import numpy as np

from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.registry import (
    EVERY_MODEL,
    MOST_LEFT_OUT,
    Assignment,
    Check,
    Options,
    Suppression,
    register,
)
from dbanon.algorithms.full_domain.lattice_search import Search
from dbanon.algorithms.full_domain.levels import Frequencies, Levels
from dbanon.algorithms.full_domain.recoding import FULL, MOST, RECODING
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint


def datafly(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Datafly (Sweeney), full-domain generalization by the column that has the most values.

    While more records than may be left out stand in classes that miss the privacy model, the column with the most
    different values (ties: the first) is raised by one level for all records. Then these records are left out. Levels
    are steps up a hierarchy; of a number without one, blocks of 1, 2, 4, 8 ... distinct values; NULL joins the other
    values at the top. At most `most` records, by default k, are left out. O(n) time a step, O(n) memory.
    """
    levels = [Levels.of(a, space.codes[:, j]) for j, a in enumerate(space.attributes)]
    blocks = tuple(of.steps[0][space.codes[:, j]] for j, of in enumerate(levels))
    search = Search(space, levels, Frequencies((0,) * len(levels), blocks, space.counts), check)
    most, node = int(str(options[MOST_LEFT_OUT])), [0] * len(levels)
    while True:
        check()
        group, groups = search.base.groups(levels, tuple(node))
        missed = search.missed(group, groups, constraint)
        out = int(space.counts[missed[group]].sum())
        higher = [j for j, of in enumerate(levels) if node[j] + 1 < len(of.numbers)]
        if out <= most or not higher:
            break
        node[max(higher, key=lambda j: (levels[j].blocks[node[j]], -j))] += 1
    if out > most:  # the top of what max_level leaves
        return Runs.one(space)
    return Runs.of_tuples(space, np.where(missed[group], -1, group))


register(
    datafly,
    title="Datafly",
    summary=(
        "full-domain generalization: the column with the most values is raised until few records are in "
        "small classes, which are left out"
    ),
    source="Datafly, as the review of clustering methods names it",
    evidence="LIT-m",
    complexity="O(n) time a level, O(n) memory",
    own=(replace(MOST, doc="Most records that may be left out, beside the share suppress; default k."), RECODING),
    defaults={"suppress": 1.0},
    meets=EVERY_MODEL,
    abilities=(
        FULL,
        Suppression(
            "those in classes that miss the privacy model, once they are few",
            lambda options, k: k if options["most"] is None else int(str(options["most"])),
        ),
    ),
)
