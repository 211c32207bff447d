"""Samarati's search: bisection of the heights of the lattice."""

import math
from collections.abc import Iterator, Sequence

from dbanon import errors
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.registry import ALL_MODELS, MAX_SUPPRESSED, Assignment, Check, Options, register
from dbanon.algorithms.full_domain.incognito import SUPPRESSION
from dbanon.algorithms.full_domain.lattice_search import MAX_NODES, LatticeSearch
from dbanon.algorithms.full_domain.levels import Node
from dbanon.algorithms.full_domain.recoding import FULL_RECODING, MAX_SUPPRESSED_PARAMETER, RECODING
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint


def samarati(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with Samarati's full-domain generalization of the least height, with records suppressed.

    The height of a generalization is the number of its steps up, over all columns; a step that joins no values does not
    count. The least height at which some generalization meets the constraint, except for the records that may be
    suppressed, is found by bisection. Of the generalizations at this height that pass, the one of the least loss as
    tight classes is taken, then the first. If none passes, all records are a single class.

    Levels are steps up a hierarchy; of a number without one, blocks of 1, 2, 4, 8 ... distinct values; NULL joins the
    other values at the top. Everything above a generalization that passes is assumed to pass. For models that compare
    shares this need not hold if records are suppressed: then a higher one than the least may be found. Exponential in
    the columns, O(n) time per generalization, O(n) memory.

    Raises:
        TooManyLevelsError: If the lattice has more than MAX_NODES nodes.
    """
    search = LatticeSearch.from_table(space, check, int(str(options[MAX_SUPPRESSED])))
    nodes = math.prod(len(attribute_levels.numbers) for attribute_levels in search.levels)
    if nodes > MAX_NODES:
        raise errors.TooManyLevelsError("samarati", nodes, MAX_NODES)
    tops = [len(attribute_levels.numbers) - 1 for attribute_levels in search.levels]
    low, high = 0, sum(tops)
    while low < high:
        middle = (low + high) // 2
        if any(search.is_passing(node, constraint) for node in nodes_at_height(tops, middle)):
            high = middle
        else:
            low = middle + 1
    loss = Loss(space, 1, "leaves")  # 1: sums over all records are exact
    results = (
        search.groups_and_loss(loss, node, constraint)
        for node in nodes_at_height(tops, high)
        if search.is_passing(node, constraint)
    )
    best = min(results, key=lambda result: result[1], default=None)
    return (
        RunLengthLabels.single_cluster(space) if best is None else RunLengthLabels.from_tuple_clusters(space, best[0])
    )


def nodes_at_height(tops: Sequence[int], height: int) -> Iterator[Node]:
    """Yield all nodes (a level for each attribute) whose levels sum to `height`, lexicographically ascending.

    `tops` are the greatest levels of the attributes. Without attributes the empty tuple is yielded for height 0.
    """
    if not tops:
        if height == 0:
            yield ()
        return
    for level in range(max(height - sum(tops[1:]), 0), min(tops[0], height) + 1):
        for others in nodes_at_height(tops[1:], height - level):
            yield (level, *others)


register(
    samarati,
    title="Samarati's search for the least height",
    summary="Finds the full-domain generalization of the least height by binary search.",
    source="Samarati's binary search, as Wang et al. 2022 name it",
    evidence="textbook",
    complexity="exponential in the columns, O(n) time per node, O(n) memory",
    own_parameters=(MAX_SUPPRESSED_PARAMETER, RECODING),
    defaults={"suppress": 1.0},
    meets=ALL_MODELS,
    abilities=(FULL_RECODING, SUPPRESSION),
)
