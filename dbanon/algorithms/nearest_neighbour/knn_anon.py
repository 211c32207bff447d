"""KNN: random records and their nearest neighbours."""

from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.random_seeds import random_order
from dbanon.algorithms.base.registry import ALL_MODELS, LARGE, MODE, SEED, Assignment, Check, Options, register
from dbanon.algorithms.greedy.least_loss import assign_by_least_growth
from dbanon.algorithms.nearest_neighbour.nearest_groups import SeedsInOrder, form_nearest_groups
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint


def knn_anon(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with KNN, the nearest-neighbour baseline that the review of clustering methods compares with k-member.

    Each cluster is a random record and the k - 1 records nearest to it; the remaining records join, in canonical order,
    the cluster whose whole loss grows least. Distance of two records: what they lose together, by shares of leaves
    (NCP). With persons or another model, a cluster takes nearest records until the model is met. O(tuples * n/k) time
    without the index, O(n) memory.
    """
    loss = Loss(space, constraint.min_records, "leaves")
    return form_nearest_groups(
        space,
        constraint,
        loss.pair_tables(space),
        SeedsInOrder(random_order(space, options), space.tuple_of),
        check,
        leftovers=lambda groups, tuples: assign_by_least_growth(space, loss, groups, tuples, check),
    )


register(
    knn_anon,
    title="KNN: random records and their nearest neighbours",
    summary=(
        "Starts each cluster at a random record and adds its k - 1 nearest neighbours; distances between categories "
        "are shares of leaves."
    ),
    source="the comparison of k-member, KNN and greedy clustering in the review of clustering methods",
    evidence="code",
    complexity="O(distinct tuples * n / k) time without the index, O(n) memory",
    meets=ALL_MODELS,
    own_parameters=(SEED, MODE, LARGE),
)
