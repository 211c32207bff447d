"""GAA-CP: greedy growth by the share of leaves below the common ancestor."""

from dbanon.algorithms.base.registry import LARGE, MODE, SEED, Assignment, Check, Options, register
from dbanon.algorithms.greedy.least_loss import FARTHEST_SEED, RANDOM_SEED, grow_least_loss_groups
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Choice
from dbanon.table_functions.parameters import Parameter


def gaa_cp(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with GAA-CP: greedy growth in which a category loses the share of leaves below the common ancestor (NCP).

    Reconstructed from the abstract of Jiang et al. 2017 and its description by Wang et al. 2022. Each cluster takes the
    record with which its records lose least. With `next_seed = 'random'` (default) it is `kmembers_random` with that
    loss; `next_seed = 'far'` begins at the record farthest from the seed before. O(n^2) without the index, O(n) memory.
    """
    return grow_least_loss_groups(
        space, constraint, options, check, FARTHEST_SEED if options["next_seed"] == "far" else RANDOM_SEED, "leaves"
    )


register(
    gaa_cp,
    title="GAA-CP: greedy algorithm based on clustering and partition",
    summary="Grows clusters greedily; the loss of a category is the share of leaves below its published node.",
    source="Jiang et al. 2017, its abstract, and as Wang et al. 2022 describe it",
    evidence="abstract",
    complexity="O(n^2) time without the index, O(n) memory",
    own_parameters=(
        SEED,
        MODE,
        Parameter(
            "next_seed",
            Choice(("random", "far")),
            "Record at which the next cluster begins: a random one, or the one farthest from the seed before.",
            "random",
        ),
        LARGE,
    ),
)
