"""MCKL: clusters of the nearest records in which no sensitive value is too frequent."""

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.grow_clusters import KernelCountedRules, grow_groups
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.registry import LARGE, MAX_SUPPRESSED, Assignment, Check, Options, Suppression, register
from dbanon.algorithms.base.sensitive_groups import SensitiveGroups
from dbanon.algorithms.greedy.eld import required_values
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.arrays import HAS_FAILED, NEXT_SEED, ClusterMembers, LossClusters, ValueCaps
from dbanon.privacy_models.constraint import Constraint


def mckl(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with MCKL, the (k, l)-anonymity of multi-attribute clustering and generalization constraints.

    Reconstructed from its abstract and the review of clustering methods. Columns are sorted by what a class of all
    records would lose on them, most first. Each cluster begins at the remaining record with the smallest value on the
    first of these columns (of equal ones, on the next), and takes the nearest records (the distance of the k-member
    papers) until it has k. It takes no record of a sensitive value that it has k/l times; if l does not divide k, as
    many values as the remainder may occur once more. So it has l different values. The first cluster that cannot be
    completed is dissolved and ends this.

    The remaining records join, in canonical order, the cluster whose whole loss grows least, among those in which no
    value then has more than 1/l of the records, rounded up. If there is none, the record is suppressed, as far as
    `suppress` allows, and else joins any. A NULL is no value: such records are not among the first k.

    Other models and forms of l, and persons, are met afterwards, by merging clusters that violate them. The published
    value of a class is what just covers it; the paper's tree of cuts at medians orders nothing here. O(n^2 / k) time,
    O(n) memory.
    """
    return grow_groups(space, _CappedGroups(space, constraint, int(str(options.get(MAX_SUPPRESSED, 0)))), check)


def attributes_by_loss_width(space: EncodedTable) -> list[int]:
    """Return the attributes' indices, sorted by what a class of all records would lose on them, greatest first."""
    terms = Loss(space, 1, "edges").terms
    low, high = space.codes.min(axis=0, keepdims=True), space.codes.max(axis=0, keepdims=True)
    widths = [int(term.losses(low[:, j], high[:, j])[0]) for j, term in enumerate(terms)]
    return sorted(range(len(widths)), key=lambda j: -widths[j])


class _CappedGroups(KernelCountedRules):
    """Growth rules of MCKL, in compiled code: clusters of k records in which no sensitive value is too frequent."""

    def __init__(self, space: EncodedTable, constraint: Constraint, max_suppressed: int) -> None:
        """Group the records by tuple and sensitive values, and sort these groups by the widest columns.

        `max_suppressed` is the greatest number of leftover records that may be suppressed.
        """
        super().__init__(space, constraint.min_records, np.array([0, space.rows, 0], np.int64))
        self.max_suppressed = max_suppressed
        required = required_values(space, constraint)
        self.codes = required.codes if space.sensitive else np.zeros_like(required.codes)
        self.min_values = np.maximum(required.min_values, 1)
        groups = SensitiveGroups.from_codes(space, self.codes)
        self.pools = groups.pools_in_record_order()
        self.order = np.lexsort(
            tuple(space.codes[self.pools.tuples, j] for j in reversed(attributes_by_loss_width(space)))
        )
        counts = np.zeros((len(self.codes), int(self.codes.max()) + 1), np.int64)
        values = np.ascontiguousarray(groups.values[:, self.pools.kinds])
        self.caps = ValueCaps(values, self.min_values, counts, np.zeros(len(self.min_values), np.int64))

    def can_form_group(self) -> bool:
        """Return whether at least k records and a seed remain, and no cluster has failed so far."""
        has_seed = self.state[NEXT_SEED] < len(self.order) and not self.state[HAS_FAILED]
        return super().can_form_group() and bool(has_seed)

    def form_groups(self, first_number: int, max_groups: int) -> int:
        """Form up to `max_groups` clusters, numbered from `first_number`, and return how many were formed."""
        from dbanon.kernels.value_caps import grow_capped_clusters

        inputs = (self.order, self.pools, self.caps, self.kernel_inputs.loss_arrays, self.code_offsets, self.labels)
        return self.count_examined(*grow_capped_clusters(self.state, max_groups, first_number, self.k, *inputs))

    def assign_leftovers(self, n_groups: int, check: Check) -> None:
        """Assign each remaining record to a cluster in which its sensitive values do not become too frequent.

        A value is too frequent if more than 1/l of the records, rounded up, then have it. Of the other clusters the one
        whose whole loss grows least is joined. If there is none, the record is suppressed while `max_suppressed`
        allows, and else joins any cluster.
        """
        from dbanon.kernels import min_loss_assignment, value_caps

        spans = np.zeros((n_groups, len(self.kernel_inputs.terms), 4), np.int64)
        sizes, losses = np.zeros((2, n_groups), np.int64)
        tuple_of = self.space.tuple_of
        min_loss_assignment.add_labelled_tuples(
            tuple_of, self.labels, self.kernel_inputs.loss_arrays, spans, sizes, losses
        )
        members = ClusterMembers(*_member_chains(self.labels), self.labels)
        clusters = (self.kernel_inputs.loss_arrays, LossClusters(spans, sizes, losses))
        inputs = (self.min_values, tuple_of, self.codes, members, *clusters)
        rows, begin, max_suppressed = np.flatnonzero(self.labels < 0), 0, self.max_suppressed
        while begin < len(rows):
            check()
            begin, max_suppressed, _ = value_caps.join_capped_clusters(
                begin, progress.STEPS_PER_CALL, rows, max_suppressed, *inputs
            )


def _member_chains(labels: Ints) -> tuple[Ints, Ints]:
    """Return the members of each cluster as linked lists.

    Returns:
        The member of the same cluster before each record, -1 for none; and the last member of each cluster. Records
        with label -1 are in no list.
    """
    rows = np.argsort(labels, kind="stable")[int((labels < 0).sum()) :]
    cluster_of = labels[rows]
    previous = np.full(len(labels), -1, np.int64)
    is_same_cluster = cluster_of[1:] == cluster_of[:-1]
    previous[rows[1:][is_same_cluster]] = rows[:-1][is_same_cluster]
    return previous, rows[np.append(np.flatnonzero(~is_same_cluster), len(rows) - 1)]


register(
    mckl,
    title="MCKL: multi-attribute clustering, (k, l)-anonymity",
    summary=(
        "Starts each cluster at the smallest value of the widest column and adds the nearest records, except those "
        "whose sensitive value the cluster already has k/`l` times (`l` is 2 by default)."
    ),
    source="Fan et al. 2023, its abstract, and the review of clustering methods",
    evidence="abstract",
    own_parameters=(LARGE,),
    defaults={"l": 2},
    meets=("k", "l", "p"),
    abilities=(Suppression("those that would give every class too many records of one sensitive value"),),
)
