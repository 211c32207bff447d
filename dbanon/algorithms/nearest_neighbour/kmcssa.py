"""KMCSSA: clusters begin at the records that are closest to all others."""

import numpy as np

from dbanon.algorithms.base.loss import Loss, distance_sums_to_all
from dbanon.algorithms.base.registry import ALL_MODELS, LARGE, Assignment, Check, Options, register
from dbanon.algorithms.nearest_neighbour.nearest_groups import SeedsInOrder, form_nearest_groups
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint


def kmcssa(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with KMCSSA, k-member clustering whose seeds are chosen by closeness.

    Reconstructed from its abstract and the review of clustering methods. The closeness of a record is (n - 1) over its
    summed distance to all records. The remaining record of greatest closeness begins a cluster and takes its k - 1
    nearest; the last records join the nearest seed. Distance: that of the k-member papers. With persons or another
    model, a cluster takes nearest records until the model is met. The sums are computed attribute by attribute, so they
    take O(n); the clusters O(tuples * n/k) without the index; O(n) memory.
    """
    tables = Loss(space, constraint.min_records, "edges").pair_tables(space)
    closest_first = np.argsort(distance_sums_to_all(space), kind="stable")
    return form_nearest_groups(
        space, constraint, tables, SeedsInOrder(space.rows_of(closest_first), space.tuple_of), check
    )


register(
    kmcssa,
    title="KMCSSA: clusters around the records closest to all others",
    summary=(
        "Starts each cluster at the remaining record that is closest to all others, and adds the records nearest to it."
    ),
    source="KMCSSA, as the review of clustering methods describes it",
    evidence="abstract",
    complexity="O(distinct tuples * n / k) time without the index, O(n) memory",
    meets=ALL_MODELS,
    own_parameters=(LARGE,),
)
