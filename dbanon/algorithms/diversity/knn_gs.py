"""KNN-(G,S): of the nearest records so many of each group of sensitive values."""

import numpy as np

from dbanon.algorithms.base.grow_clusters import CountedRules, grow
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.random_seeds import random_order
from dbanon.algorithms.base.registry import (
    LARGE,
    MODE,
    SEED,
    Assignment,
    Check,
    Options,
    one_cluster_below_2k,
    register,
)
from dbanon.algorithms.base.sensitive_groups import Kinds
from dbanon.encoding import distance
from dbanon.encoding.encoded_table import EncodedTable, Ints, SensitiveColumn
from dbanon.kernels.arrays import GroupPools
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

MOST = 2**16
"""Clusters that are made at a time."""


@one_cluster_below_2k
def knn_gs(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """KNN-(G,S), the single-machine form, reconstructed from the summary of its paper and the review of clustering
    methods.

    Sensitive values are put into groups: the nodes `level` steps above them in their hierarchy, or else `groups` runs
    of them, in their order, of about as many records; of several columns every combination of their groups is one. Each
    cluster is a random record and the records nearest to it (the distance of the k-member papers) of each group, until
    it has `each` of every group, by default as many as k needs; where a group has fewer left, more of that of which
    most are left. While k records are left; then these join the cluster with the nearest seed. The paper takes them
    from the 4GS nearest and looks further where these do not do, which gives the same. O(n^2 / k) time, O(n) memory.

    Which records are together depends on sensitive values; what is asked of these by a model is met by the shared
    repair.
    """
    return grow(space, _OfGroups(space, constraint.least, options), check)


def value_groups(sensitive: SensitiveColumn, groups: int, level: int | None) -> Ints:
    """Return the group of each value, by code; of NULL, which is the last."""
    if level is not None and sensitive.tree is not None:
        return np.asarray(np.unique(sensitive.tree.block(level), return_inverse=True)[1], np.int64)
    records = np.bincount(sensitive.codes, minlength=sensitive.values + 1)
    if (records > 0).sum() <= groups:
        return np.arange(sensitive.values + 1)
    middle = 2 * np.cumsum(records) - records
    return np.asarray(np.minimum(middle * groups // max(2 * int(records.sum()), 1), groups - 1), np.int64)


class _OfGroups(CountedRules):
    """Clusters with records of each group, in compiled code."""

    def __init__(self, space: EncodedTable, k: int, options: Options) -> None:
        super().__init__(space, k, np.array([0, space.rows], np.int64))
        groups, level, each = (options[name] for name in ("groups", "level", "each"))
        above = None if level is None else int(str(level))
        found = [value_groups(s, int(str(groups)), above)[s.codes] for s in space.sensitive]
        kinds = Kinds.by(space, np.stack(found))
        self.left_of = np.bincount(kinds.of)
        least = -(-k // len(self.left_of))
        self.each = least if each is None else min(max(int(str(each)), least), space.rows)
        self.items, self.place_of = kinds.in_order(), np.argsort(kinds.rows)
        self.order = random_order(space, options)
        self.seeds: list[int] = []

    def can_go_on(self) -> bool:
        return self.records >= self.k

    def form(self, first: int, most: int) -> int:
        from dbanon.kernels.bucket_growth import grow_group_clusters

        items, seeds = self.items, np.empty(min(most, MOST), np.int64)
        arrays = GroupPools(
            self.order, items.item_of, items.tuples, items.kinds, items.ends, items.rows, self.place_of, items.left,
            self.left_of,
        )  # fmt: skip
        given = (arrays, self.problem.measure, self.codes_of, self.labels, seeds)
        made, looked = grow_group_clusters(self.state, len(seeds), first, self.k, self.each, *given)
        self.looked += int(looked)
        self.seeds += seeds[:made].tolist()
        return int(made)

    def place(self, groups: int, check: Check) -> None:
        rows = np.flatnonzero(self.labels < 0)
        tables = Loss(self.space, 1, "edges").tables(self.space)
        seeds = self.space.codes[self.seeds]
        for row, t in zip(rows.tolist(), self.space.tuple_of[rows].tolist(), strict=True):
            check()
            self.labels[row] = int(np.argmin(distance.distances_to_tuples(tables, self.space.codes[t], seeds)))


register(
    knn_gs,
    title="KNN-(G,S): nearest records of each group of sensitive values",
    summary="KNN-(G,S): random records, and the nearest ones of each of G groups of sensitive values, S of each",
    source="Nayahi and Kavitha 2017, as the review of clustering methods describes it",
    evidence="RECON",
    own=(
        Parameter("groups", Integer(1, 1000), "Groups of sensitive values of each column: G.", 2),
        Parameter("each", Integer(1), "Records of each group in a cluster: S; default as many as k needs."),
        Parameter(
            "level",
            Integer(0),
            "Steps up the hierarchy of a sensitive column at which its nodes are the groups; columns without one "
            "have `groups` of them.",
        ),
        SEED,
        MODE,
        LARGE,
    ),
    reads=("sensitive",),
    looks_up="level",
)
