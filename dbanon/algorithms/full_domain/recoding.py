"""What a full-domain generalization publishes: one level of each column, or what just covers a class."""

import numpy as np

from dbanon.algorithms.base.class_bounds import Extents, members, published_nodes
from dbanon.algorithms.base.registry import Options, PublishedEnds, Widening
from dbanon.algorithms.full_domain.levels import Levels
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Choice, Integer
from dbanon.table_functions.parameters import Parameter

RECODING = Parameter(
    "recoding",
    Choice(("full", "tight")),
    "What is published: of each column one level for all records (the node of that level, also where only one of its "
    "values occurs), or of each class what just covers it, which is never above that level. With improve only 'tight' "
    "makes sense.",
    "full",
)
MOST = Parameter("most", Integer(0), "Most records that may be left out, beside the share suppress.")


def level_ends(space: EncodedTable, labels: Ints, constraint: Constraint, options: Options) -> PublishedEnds:
    """Return what clusters publish if all records have one level of every attribute.

    It is the lowest level of each attribute on which every cluster is in one block: the level that was searched for, as
    a lower one would have been taken. Published are the ends of a number's block, the node of a tree at that level
    (also where only one of its values occurs), and `*` on a level that joins NULL with the values. On a lower level
    NULL is published as NULL.

    Args:
        space: The table; codes that no released record has do not count.
        labels: (rows,) the cluster of each canonical row; -1 for suppressed records.
        constraint: Not read.
        options: Not read.
    """
    extents = Extents.of(space, members(labels))
    low, high = extents.low.copy(), extents.high.copy()
    raised = np.full(low.shape, -1, np.int64)
    kept = space.codes[np.unique(space.tuple_of[np.flatnonzero(labels >= 0)])]
    for j, attribute in enumerate(space.attributes):
        levels = Levels.of(attribute, kept[:, j])
        level, block = _level(levels, low[:, j], high[:, j])
        if block[-1] >= 0 and (block[:-1] == block[-1]).any():
            low[:, j], high[:, j] = 0, attribute.values
            continue
        known = high[:, j] < attribute.values
        if isinstance(attribute, CategoricalAttribute):
            nodes = attribute.block(levels.numbers[level])[low[known, j]]
            covering = published_nodes(attribute, low[known, j], high[known, j])
            raised[known, j] = np.where(attribute.published_node[nodes] == covering, -1, nodes)
        else:
            first, last = _ends(block[:-1])
            of = block[low[known, j]]
            low[known, j], high[known, j] = first[of], last[of]
    return PublishedEnds(low, high, raised)


def _level(levels: Levels, low: Ints, high: Ints) -> tuple[int, Ints]:
    """Return the lowest level on which every cluster is in one block, by its place in `levels.numbers`, and the block
    of each code there."""
    block = levels.steps[0]
    for level, step in enumerate(levels.steps[1:]):
        if (block[low] == block[high]).all():
            return level, block
        block = np.where(block >= 0, step[block], -1)
    return len(levels.numbers) - 1, block


def _ends(block: Ints) -> tuple[Ints, Ints]:
    """Return the least and the greatest code of each block; codes that do not occur are in none."""
    codes = np.flatnonzero(block >= 0)
    first, last = np.full(int(block.max(initial=0)) + 1, len(block)), np.full(int(block.max(initial=0)) + 1, -1)
    np.minimum.at(first, block[codes], codes)
    np.maximum.at(last, block[codes], codes)
    return first, last


FULL = Widening(level_ends, lambda options: options["recoding"] == "full")
