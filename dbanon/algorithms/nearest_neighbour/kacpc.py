"""KACPC, k-anonymity by center point clustering: begins at the densest point and moves outward."""

from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base.registry import ALL_MODELS, LARGE, Assignment, Check, Options, register
from dbanon.algorithms.nearest_neighbour.nearest_groups import form_nearest_groups
from dbanon.encoding import distance
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.encoding.tuple_index import TupleIndex
from dbanon.kernels.index_arrays import SumQuery
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Boolean
from dbanon.table_functions.parameters import Parameter


@dataclass(frozen=True)
class ClosestSeeds:
    """KACPC's seeds (Wang et al. 2022, section 4.1), in the dense center of the data first.

    The first is the record nearest to the modal record (see `modal_codes`), each later one the record with the least
    summed distance to all earlier seeds.
    """

    space: EncodedTable
    sign: int = 1

    def next_seed(self, index: TupleIndex, sums: SumQuery, n_groups: int) -> int:
        """Return the remaining tuple nearest to the modal record for the first seed, otherwise that with the least sum.

        `sums` is the query for the summed distances to all earlier seeds; `n_groups` is the number of groups so far.
        """
        return index.least_tuple(sums if n_groups else index.distance_query(modal_codes(self.space)))


def modal_codes(space: EncodedTable) -> list[int]:
    """Return the most frequent code of every attribute (the modal record).

    Ties go to the least code: the smallest number or the first leaf, NULL last.
    """
    return [int(np.argmax(np.bincount(codes, weights=space.counts))) for codes in space.codes.T]


def kacpc(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with KACPC, k-anonymity by center point clustering (Wang et al. 2022, Algorithm 1, Equations 3-6).

    Clustering starts at the densest point and moves outward. floor(n/k) clusters of k records are formed, each of a
    centroid and its nearest records; up to k-1 leftovers join the clusters with the nearest centroids. With persons or
    another model, a cluster takes nearest records until the model is met. O(tuples * n/k) time, O(n) memory.
    """
    tables = distance.kacpc_distances(space, constraint.min_records, bool(options["prune_unused"]))
    return form_nearest_groups(space, constraint, tables, ClosestSeeds(space), check)


register(
    kacpc,
    title="KACPC: k-anonymity by center point clustering",
    summary=(
        "Center point clustering: starts at the densest point and gathers the k - 1 records nearest to each centroid."
    ),
    source="Wang et al. 2022, Algorithm 1, Equations 1-6",
    evidence="paper",
    complexity="O(distinct tuples * n / k) time, O(n) memory",
    meets=ALL_MODELS,
    own_parameters=(
        Parameter(
            "prune_unused",
            Boolean(),
            "Ignore leaves of hierarchies that do not occur in the table when distances are computed (the example of "
            "the KACPC paper needs this).",
            True,
        ),
        LARGE,
    ),
)
