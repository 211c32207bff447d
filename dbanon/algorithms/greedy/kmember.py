"""Greedy k-member, and k-members with random seeds."""

from dbanon.algorithms.base.registry import LARGE, MODE, SEED, Assignment, Check, Options, register
from dbanon.algorithms.greedy.least_loss import FARTHEST_SEED, RANDOM_SEED, grow_least_loss_groups
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint


def kmember(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with greedy k-member (Byun et al. 2007).

    Each cluster begins at the record farthest from the seed before (the first: farthest from a random record) and takes
    the record that raises the information loss least, k - 1 times. The last fewer than k records join the cluster whose
    loss grows least. O(n^2) evaluations without the index, which saves most of them; O(n) memory.
    """
    return grow_least_loss_groups(space, constraint, options, check, FARTHEST_SEED, "edges")


def kmembers_random(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with k-members with random seeds (k-members paper, Table III).

    Each cluster begins at a random record and takes the record that raises the information loss least, k - 1 times. The
    paper states O(n); every step examines all remaining records, so it is O(n^2) without the index. O(n) memory.
    """
    return grow_least_loss_groups(space, constraint, options, check, RANDOM_SEED, "edges")


register(
    kmember,
    title="Greedy k-member",
    summary=(
        "Greedy k-member: starts each cluster far from the seed of the one before, and adds the record that raises the "
        "loss least."
    ),
    source="Byun et al. 2007; baseline of the three-variants paper",
    evidence="code",
    complexity="O(n^2) time without the index, O(n) memory",
    own_parameters=(SEED, MODE, LARGE),
)
register(
    kmembers_random,
    title="k-members with random seeds",
    summary="Works like `kmember`, but starts each cluster at a random record.",
    source="k-members paper, Table III",
    evidence="paper",
    complexity="O(n^2) time without the index, O(n) memory",
    own_parameters=(SEED, MODE, LARGE),
)
