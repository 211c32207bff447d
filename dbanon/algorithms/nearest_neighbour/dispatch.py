"""Clusters of nearest records under any constraint: the choice of the growth rules that fit it."""

from collections.abc import Sequence

from dbanon.algorithms.base.grow_clusters import grow_groups
from dbanon.algorithms.base.registry import Assignment, Check
from dbanon.algorithms.nearest_neighbour.constrained_growth import ConstrainedGroups
from dbanon.algorithms.nearest_neighbour.nearest_groups import (
    AssignLeftovers,
    FixedSize,
    FixedSizeWithSeeds,
    GrowUntilMet,
    SeedRule,
)
from dbanon.encoding.distance import DistanceTable
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.encoding.nearest_queries import ClusterGatherer
from dbanon.encoding.tuple_index import TupleIndex
from dbanon.privacy_models.constraint import Constraint


def form_nearest_groups(
    space: EncodedTable,
    constraint: Constraint,
    tables: Sequence[DistanceTable],
    seeding: SeedRule,
    check: Check,
    *,
    leftovers: AssignLeftovers | None = None,
) -> Assignment:
    """Form groups of one seed and its nearest records each, and return the assignment of all records.

    The remaining records join the groups that `leftovers` chooses. By default that is the group with the nearest seed;
    with models that compiled code checks exactly, the nearest group that still meets them.

    Args:
        space: The encoded table.
        constraint: The constraint; a group takes nearest records until it is met.
        tables: The distances of each attribute.
        seeding: The choice of seeds.
        check: Called from time to time; raises if the run was interrupted.
        leftovers: Chooses the groups of the remaining records, see `AssignLeftovers`.
    """
    index = TupleIndex(space, tables)
    rules: type[FixedSize | GrowUntilMet] = GrowUntilMet
    has_kernel_rules = constraint.models and all(
        m.kernel_rules(space.sensitive[m.sensitive]).is_exact for m in constraint.models
    )
    if constraint.counts_only_records(space):
        if ClusterGatherer.can_keep_tables(index) or ClusterGatherer.uses_partitions(index, seeding.sign):
            rules = FixedSize if seeding.sign else FixedSizeWithSeeds
    elif (
        seeding.sign
        and leftovers is None
        and ClusterGatherer.can_keep_tables(index)
        and space.persons is None
        and not constraint.joint
        and has_kernel_rules
    ):
        return grow_groups(space, ConstrainedGroups(constraint, index, seeding), check)
    return grow_groups(space, rules(constraint, index, seeding, leftovers), check)
