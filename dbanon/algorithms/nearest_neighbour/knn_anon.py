"""KNN: random records and their nearest neighbours."""

from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.random_seeds import random_order
from dbanon.algorithms.base.registry import EVERY_MODEL, LARGE, MODE, SEED, Assignment, Check, Options, register
from dbanon.algorithms.greedy.least_loss import least_growth
from dbanon.algorithms.nearest_neighbour.dispatch import gather
from dbanon.algorithms.nearest_neighbour.nearest_groups import InOrder
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint


def knn_anon(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """KNN, the baseline of nearest neighbours that the review of clustering methods compares with k-member.

    Each cluster is a random record and the k - 1 records nearest to it; what is left joins, in canonical order, the
    cluster whose whole loss grows least. Distance of two records: what they lose together, by shares of leaves (NCP).
    With persons or another model, a cluster takes nearest records until the model holds. O(tuples * n/k) time without
    the index, O(n) memory.
    """
    loss = Loss(space, constraint.least, "leaves")

    def leftovers(groups: Runs, tuples: Ints) -> Ints:
        return least_growth(space, loss, groups, tuples, check)

    seeding = InOrder(random_order(space, options), space.tuple_of)
    return gather(space, constraint, loss.tables(space), seeding, check, leftovers=leftovers)


register(
    knn_anon,
    title="KNN: random records and their nearest neighbours",
    summary="random records and their k - 1 nearest neighbours, by shares of leaves",
    source="the comparison of k-member, KNN and greedy clustering in the review of clustering methods",
    evidence="LIT",
    complexity="O(distinct tuples * n / k) time without the index, O(n) memory",
    meets=EVERY_MODEL,
    own=(SEED, MODE, LARGE),
)
