"""IKAC, the improved clustering: each cluster begins far from all earlier ones."""

from dataclasses import dataclass

from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.random_seeds import generator, random_tuple
from dbanon.algorithms.base.registry import ALL_MODELS, LARGE, MODE, SEED, Assignment, Check, Options, register
from dbanon.algorithms.nearest_neighbour.nearest_groups import form_nearest_groups
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.encoding.tuple_index import TupleIndex
from dbanon.kernels.index_arrays import SumQuery
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Choice
from dbanon.table_functions.parameters import Parameter


@dataclass(frozen=True)
class FarthestSeeds:
    """IKAC's seeds: first a given tuple, then the record with the greatest summed distance to all earlier seeds."""

    first: int
    sign: int = -1

    def next_seed(self, index: TupleIndex, sums: SumQuery, n_groups: int) -> int:
        """Return the given tuple for the first seed, otherwise the remaining tuple with the greatest sum.

        `sums` is the query for the summed distances to all earlier seeds; `n_groups` is the number of groups so far.
        """
        return index.greatest_tuple(sums) if n_groups else self.first


def ikac(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with IKAC, the improved clustering (also IKA, IKC).

    Reconstructed from Wang et al. 2022, section 4.1, and the review of clustering methods. The first centroid is a
    random record (`first_seed = 'far-from-random'`: the record farthest from a random one), every later one the
    remaining record with the greatest average distance to all earlier centroids. Each takes its nearest records until
    the constraint is met (k - 1 records if only the number of records counts), and the remaining records join the
    nearest centroid. The distance of two records is the loss of a cluster of both: the range of each number, and for
    each category the share of the leaves that are below the lowest common ancestor. O(tuples * n/k) time, O(n) memory.

    Args:
        space: The encoded table.
        constraint: The constraint.
        options: The options of the algorithm.
        check: Called from time to time; raises if the run was interrupted.
    """
    tables = Loss(space, constraint.min_records, "leaves").pair_tables(space)
    first = random_tuple(space, options, generator(options))
    if options["first_seed"] == "far-from-random":
        index = TupleIndex(space, tables)
        first = index.greatest_tuple(index.distance_query(space.codes[first]))
    return form_nearest_groups(space, constraint, tables, FarthestSeeds(first), check)


register(
    ikac,
    title="IKAC: improved clustering for k-anonymity",
    summary=(
        "Takes as the next centroid the record that is farthest, on average, from all earlier centroids; each centroid "
        "takes its nearest records. Distances between categories count leaves."
    ),
    source="Zheng et al. 2018, as Wang et al. 2022, section 4.1, and the review of clustering methods describe it",
    evidence="description",
    complexity="O(distinct tuples * n / k) time, O(n) memory",
    meets=ALL_MODELS,
    own_parameters=(
        SEED,
        MODE,
        Parameter(
            "first_seed",
            Choice(("random", "far-from-random")),
            "The first centroid: a random record, or the one farthest from it.",
            "random",
        ),
        LARGE,
    ),
)
