"""V-MDAV: microaggregation with clusters of variable size."""

import numpy as np

from dbanon.algorithms.base.grow_clusters import grow_groups, limit_batch
from dbanon.algorithms.base.registry import LARGE, Assignment, Check, Options, register
from dbanon.algorithms.nearest_neighbour.mdav import SCALE, FarthestFromAverage, scaled_positions
from dbanon.encoding.encoded_table import EncodedTable, Floats
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Float
from dbanon.table_functions.parameters import Parameter


def v_mdav(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with V-MDAV (Solanas and Martinez-Balleste 2006): microaggregation with clusters of k to 2k - 1 records.

    Reconstructed from descriptions of it, and published as intervals. The record farthest from the average of the whole
    table takes the k - 1 nearest. Then, up to 2k - 1 records, the record that is nearest to any record of the cluster
    joins if it is nearer than `gamma` times its distance to the nearest other remaining record. The last fewer than k
    records join the cluster of the nearest record. Distances are those of `mdav`; ties go to the first record.

    The average is that of the whole table, as the fixed centroid of the descriptions. It is reconstructed that the last
    records are compared with single records, not with averages of clusters. With persons or other models a cluster has
    at least as many records as any of them needs; clusters that still violate the constraint are merged afterwards.
    O(n^2) time without the index, O(n) memory.
    """
    scaled = scaled_positions(space, str(options["scale"]))
    return grow_groups(space, VariableSize(space, constraint.min_records, scaled, float(str(options["gamma"]))), check)


class VariableSize(FarthestFromAverage):
    """Growth rules of V-MDAV: clusters of k to 2k - 1 records around the record farthest from the table's average."""

    def __init__(self, space: EncodedTable, k: int, scaled: list[Floats], gamma: float) -> None:
        """Build the k-d tree, and compute the average of the whole table.

        Args:
            space: The encoded table.
            k: Least number of records of a cluster.
            scaled: Scaled positions of the values of each attribute; empty for a category.
            gamma: A further record joins if it is nearer than gamma times its distance to the nearest other record.
        """
        from dbanon.kernels.mdav import fill_average

        super().__init__(space, k, scaled)
        self.gamma, self.n_queries = gamma, k + 2
        self.average = np.empty(len(space.attributes))
        fill_average(self.average, self.points.tree.numeric, self.totals)

    def can_form_group(self) -> bool:
        """Return whether at least k records remain."""
        return self.points.records >= self.k

    def form_groups(self, first_number: int, max_groups: int) -> int:
        """Form up to `max_groups` groups, log them from number `first_number` on, and return how many."""
        from dbanon.kernels.mdav import v_mdav_steps

        groups = limit_batch(max_groups, 2 * self.k)
        members = np.empty((groups * 2 * self.k, 2), np.int64)
        used = v_mdav_steps(self.points.tree, self.average, self.gamma, self.k, groups, members)
        return self.log.add_groups(members[:used], first_number)

    def assign_leftovers(self, n_groups: int, check: Check) -> None:
        """Assign the remaining records of each tuple to the cluster of the nearest assigned record.

        Records assigned here do not count as assigned for the others.
        """
        runs = self.log.to_labels()
        for t in np.flatnonzero(self.points.remaining).tolist():
            check()
            nearest = runs.clusters[np.argmin(self._distances(t)[runs.tuples])]
            self.log.add(np.array([t]), self.points.remaining[[t]], np.array([nearest]))

    def _distances(self, t: int) -> Floats:
        """Return the (tuples,) distances of all tuples to tuple `t`, summed over attributes.

        They are squared differences of two numbers, otherwise 0 for equal values (or two NULLs) and the attribute's
        unit for different ones.
        """
        tree = self.points.tree
        positions = tree.coordinates[tree.place_of[:, 0]]
        reference = positions[t]
        unequal = np.where((positions == reference) | (np.isnan(positions) & np.isnan(reference)), 0, tree.units)
        squared = np.rint((positions - reference) ** 2 * tree.units)
        return np.asarray(np.where(tree.numeric & ~np.isnan(squared), squared, unequal).sum(axis=1))


register(
    v_mdav,
    title="V-MDAV: microaggregation with clusters of variable size",
    summary=(
        "V-MDAV: the record farthest from the average takes the k - 1 nearest records. Other records that are nearer "
        "to the cluster than to the records outside it then join, up to 2k - 1 records in all."
    ),
    source="Solanas and Martinez-Balleste 2006",
    evidence="description",
    own_parameters=(
        SCALE,
        Parameter(
            "gamma",
            Float(0, 100),
            "A record joins a cluster of at least k records if its distance to the cluster is less than this factor "
            "times its distance to the other remaining records: 0.2 for scattered data, about 1 for data in "
            "clusters; 0 gives clusters of k.",
            0.2,
        ),
        LARGE,
    ),
    references=(
        {
            "cited": "Solanas and Martinez-Balleste 2006",
            "authors": "Solanas, A. and Martínez-Ballesté, A.",
            "title": "V-MDAV: a multivariate microaggregation with variable group size",
            "venue": "COMPSTAT 2006: Proceedings in Computational Statistics",
            "note": "We did not have the paper itself.",
        },
    ),
)
