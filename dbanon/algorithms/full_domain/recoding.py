"""The published values of a full-domain generalization: one level of each column, or what just covers a class."""

import numpy as np

from dbanon.algorithms.base.class_bounds import ClassBounds, cluster_members, code_ranges, published_nodes
from dbanon.algorithms.base.registry import Options, PublishedEnds, Widening
from dbanon.algorithms.full_domain.levels import AttributeLevels
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Choice, Integer
from dbanon.table_functions.parameters import Parameter

RECODING = Parameter(
    "recoding",
    Choice(("full", "tight")),
    "What is published: full: one level of each column for all records (the node of that level, even if only one of "
    "its values occurs); tight: the narrowest values that cover each class, which are never above that level. "
    "improve does not keep the levels: combine it with 'tight'.",
    "full",
)
MAX_SUPPRESSED_PARAMETER = Parameter(
    "max_suppressed",
    Integer(0),
    "Greatest number of records that may be suppressed; default 0, or no number but the share if you set suppress.",
)


def level_ends(space: EncodedTable, labels: Ints, constraint: Constraint, options: Options) -> PublishedEnds:
    """Return the codes and nodes that clusters publish if each attribute has one level for all records.

    That is the lowest level on which every cluster is in one block: the level that was searched for, as a lower one
    would have been taken. Published are the ends of a number's block, the node of a hierarchy at that level (also if
    only one of its values occurs), and `*` on a level that joins NULL with the values. On a lower level NULL is
    published as NULL.

    Args:
        space: The table; codes that no released record has do not count.
        labels: (rows,) the cluster of each canonical row; -1 for suppressed records.
        constraint: Not read.
        options: Not read.
    """
    bounds = ClassBounds.from_members(space, cluster_members(labels))
    low, high = bounds.low.copy(), bounds.high.copy()
    raised_nodes = np.full(low.shape, -1, np.int64)
    published_codes = space.codes[np.unique(space.tuple_of[np.flatnonzero(labels >= 0)])]
    for j, attribute in enumerate(space.attributes):
        levels = AttributeLevels.from_codes(attribute, published_codes[:, j])
        level, block = _common_level(levels, low[:, j], high[:, j])
        if block[-1] >= 0 and (block[:-1] == block[-1]).any():
            low[:, j], high[:, j] = 0, attribute.values
            continue
        has_value = high[:, j] < attribute.values
        if isinstance(attribute, CategoricalAttribute):
            nodes = attribute.block(levels.numbers[level])[low[has_value, j]]
            covering = published_nodes(attribute, low[has_value, j], high[has_value, j])
            raised_nodes[has_value, j] = np.where(attribute.published_node[nodes] == covering, -1, nodes)
        else:
            present = np.flatnonzero(block[:-1] >= 0)
            first, last = code_ranges(block[present], present, levels.n_blocks[level])
            cluster_block = block[low[has_value, j]]
            low[has_value, j], high[has_value, j] = first[cluster_block], last[cluster_block]
    return PublishedEnds(low, high, raised_nodes)


def _common_level(levels: AttributeLevels, low: Ints, high: Ints) -> tuple[int, Ints]:
    """Return the index of the lowest level on which every cluster is in one block, and the block of each code there.

    If there is no such level, the highest is returned.

    Args:
        levels: The levels of the attribute, and the blocks of codes that are equal on each.
        low: (clusters,) least codes.
        high: (clusters,) greatest codes.
    """
    block = levels.steps[0]
    for level, step in enumerate(levels.steps[1:]):
        if (block[low] == block[high]).all():
            return level, block
        block = np.where(block >= 0, step[block], -1)
    return len(levels.numbers) - 1, block


FULL_RECODING = Widening(level_ends, lambda options: options["recoding"] == "full")
