"""Datafly: the column with the most values is raised, again and again."""

from dataclasses import replace

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.registry import (
    ALL_MODELS,
    MAX_SUPPRESSED,
    Assignment,
    Check,
    Options,
    Suppression,
    register,
)
from dbanon.algorithms.full_domain.incognito import max_suppressed_records
from dbanon.algorithms.full_domain.lattice_search import LatticeSearch
from dbanon.algorithms.full_domain.recoding import FULL_RECODING, MAX_SUPPRESSED_PARAMETER, RECODING
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint


def datafly(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with Datafly (Sweeney): full-domain generalization that raises the column with the most values.

    While more records than may be suppressed are in classes that violate the constraint, the column with the most
    different values (ties: the first) is raised by one level for all records. Then these records are suppressed. If all
    columns are at their highest level before that, all records are a single class. Levels are steps up a hierarchy; of
    a number without one, blocks of 1, 2, 4, 8 ... distinct values; NULL joins the other values at the top. At most
    `max_suppressed` records are suppressed, or the share `suppress`; k records if neither is set. O(n) time per step,
    O(n) memory.
    """
    search = LatticeSearch.from_table(space, check)
    levels = search.levels
    max_suppressed, node = int(str(options[MAX_SUPPRESSED])), [0] * len(levels)
    while True:
        check()
        group, groups = search.base.groups_above(levels, tuple(node))
        is_failing = search.failing_groups(group, groups, constraint)
        n_failing = int(space.counts[is_failing[group]].sum())
        raisable = [j for j, attribute_levels in enumerate(levels) if node[j] + 1 < len(attribute_levels.numbers)]
        if n_failing <= max_suppressed or not raisable:
            break
        node[max(raisable, key=lambda j: (levels[j].n_blocks[node[j]], -j))] += 1
    if n_failing > max_suppressed:  # the highest levels are reached
        return RunLengthLabels.single_cluster(space)
    return RunLengthLabels.from_tuple_clusters(space, np.where(is_failing[group], -1, group))


register(
    datafly,
    title="Datafly",
    summary=(
        "Full-domain generalization: raises the column with the most values until few records are in small classes, "
        "and suppresses these."
    ),
    source="Datafly, as the review of clustering methods names it",
    evidence="textbook",
    complexity="O(n) time per level, O(n) memory",
    own_parameters=(
        replace(
            MAX_SUPPRESSED_PARAMETER,
            doc="Greatest number of records that may be suppressed; default k, or no number but the share if you set "
            "suppress.",
        ),
        RECODING,
    ),
    defaults={"suppress": 1.0},
    meets=ALL_MODELS,
    abilities=(
        FULL_RECODING,
        Suppression(
            "those in classes that violate the privacy model, once they are few",
            max_suppressed_records,
            lambda options, k: k,
            is_complete=True,
        ),
    ),
)
