"""Arguments of kernels: named tuples of arrays. Compiled code reads and writes these arrays in place."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NEXT_SEED, N_REMAINING, HAS_FAILED, N_ADDITIONS, SUMMED_GROWTH = 0, 1, 2, 2, 3
"""Places in `state` of kernels that form clusters one after another: next seed (or part), and remaining records; in
`grow_capped_clusters` whether a cluster could not be formed; in `adaptive_steps` additions, and their summed growth."""


KIND, N_VALUES, FULL_LOSS, NULL_LOSS, FIRST_ARRAY, SECOND_ARRAY = range(6)
"""Columns of `LossArrays.terms`."""

NUMBER, PAIR_TABLE, TREE = range(3)
"""Kinds of attributes (the column KIND)."""

PARENT, FIRST_CODE, END_CODE, HEIGHT, NODE_ENTRIES = range(5)
"""Entries of a node of a TREE in `LossArrays.packed`, and their number (see `loss`)."""

LOW, HIGH, LOSS, NODE = range(4)
"""Columns of a span: least and greatest code of a class, loss per record, and node of a TREE (see `loss`)."""


class LossArrays(NamedTuple):
    """The encoded tuples, and the arrays from which the loss of a class is computed (see `loss`).

    Attributes:
        codes: (tuples, attributes) int32: codes of each tuple; NULL has the code after the last value.
        terms: (attributes, 6) int64: kind (NUMBER; PAIR_TABLE, a table of losses by pair of codes; TREE, a large
            hierarchy), number of values, greatest loss, loss of NULL alone, and (two entries) where its arrays begin in
            `packed`.
        packed: int64: the arrays of all attributes, one after another.
    """

    codes: npt.NDArray[np.int32]
    terms: Ints
    packed: Ints


class LossTables(NamedTuple):
    """A class, and the loss of a record on each attribute once each code joins (see `k_nearest.fill_distance_query`).

    Attributes:
        span: (attributes, 4) int64: columns LOW, HIGH, LOSS and NODE.
        codes_of: (attributes + 1,) int64: where the codes of each attribute begin in table.
        table: (codes,) int64: loss per record on the attribute once the code joins the class.
    """

    span: Ints
    codes_of: Ints
    table: Ints


class ModelScratch(NamedTuple):
    """Scratch for checking groups against k and the privacy models (see `model_check`).

    Attributes:
        counts: int64: records of a group by sensitive value, the columns one after another.
        extra: Scratch for the Earth Mover's Distance; None if no model needs it.
    """

    counts: Ints
    extra: Any


class PathArrays(NamedTuple):
    """Scratch and results of cutting a sequence of records (see `optimal_cut.cut_sequence`).

    Attributes:
        span, ahead: (attributes, 4) int64: scratch for classes (see `loss`).
        cached: (rows, 4) int64: classes that are cached, one row per attribute of each.
        total: (n + 1,) int64: total[i] is the least loss of the first i records.
        back: (n + 1,) int32: back[i] is where the last class of the first i records begins.
    """

    span: Ints
    ahead: Ints
    cached: Ints
    total: Ints
    back: npt.NDArray[np.int32]


class ClassEntries(NamedTuple):
    """Classes as lists of entries, each a tuple with its number of records, one class after another.

    Attributes:
        tuple_ids: (entries,) int32: tuple of each entry.
        counts: (entries,) int32: records of each entry.
        starts: (classes + 1,) int64: where the entries of each class begin.
        sizes: (classes,) int64: records of each class.
    """

    tuple_ids: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    starts: Ints
    sizes: Ints


class SweepOptions(NamedTuple):
    """Options of `local_search.sweep_classes`, which dissolves sets of classes and cuts them again: int64.

    Attributes:
        classes: Number of classes.
        width: Number of classes in a set.
        near_percent: Of 100 sets, how many are cut along a line around one of their records.
        first_set: Place of the class at which to begin, in the order along the line.
        moves: Maximum number of sets that are dissolved.
        min_size, max_size: Fewest and most records of a class.
        max_set: Sets of more records are left unchanged.
    """

    classes: int
    width: int
    near_percent: int
    first_set: int
    moves: int
    min_size: int
    max_size: int
    max_set: int


class RecordPools(NamedTuple):
    """Records in pools: a pool is the records of one tuple and one kind, such as a combination of sensitive values.

    Attributes:
        tuples, kinds: (pools,) int64: tuple and kind of each pool.
        pool_of: (n,) int64: pool of each record.
        rows: (n,) int64: records by pool; the last ones of each pool remain.
        ends: (pools,) int64: where the records of each pool end in rows.
        n_remaining: (pools,) int64: remaining records of each pool.
    """

    tuples: Ints
    kinds: Ints
    pool_of: Ints
    rows: Ints
    ends: Ints
    n_remaining: Ints


class ValueCaps(NamedTuple):
    """Limits on the records of one sensitive value in a cluster (see `value_caps`).

    Attributes:
        values: (columns, pools) int64: sensitive values of each pool, -1 for NULL.
        min_values: (columns,) int64: number of values that each column needs.
        counts: (columns, values) int64: records of the cluster by value, 0 between two clusters.
        n_above: (columns,) int64: number of values with more than k // min_values records, 0 between two clusters.
    """

    values: Ints
    min_values: Ints
    counts: Ints
    n_above: Ints


class LossClusters(NamedTuple):
    """Clusters as ranges of codes, with their sizes and losses.

    Attributes:
        spans: (clusters, attributes, 4) int64: see `loss`.
        sizes: (clusters,) int64: records.
        losses: (clusters,) int64: loss per record.
    """

    spans: Ints
    sizes: Ints
    losses: Ints


class ClusterMembers(NamedTuple):
    """The members of clusters as linked lists.

    Attributes:
        previous: (n,) int64: the member before each record, -1 for the first.
        last: (clusters,) int64: the last member of each cluster.
        labels: (n,) int64: cluster of each record, -1 for none.
    """

    previous: Ints
    last: Ints
    labels: Ints


class MergedClusters(NamedTuple):
    """The clusters that `merge_clusters` merges, each identified by its first record; n records.

    Attributes:
        alive: (n,) int64: numbers of the clusters, which come first; state[0] of `merge_clusters` says how many.
        spans: (n, attributes, 3) int64: least and greatest code, and loss per record on the attribute.
        sizes, losses: (n,) int64: records, and loss per record.
        head, tail: (n,) int64: first and last member in the list of each cluster.
        following: (n,) int64: the next member, -1 at the end.
        marks: (columns, values) int64, 0 between two merges: counts of one cluster's records by value.
    """

    alive: Ints
    spans: Ints
    sizes: Ints
    losses: Ints
    head: Ints
    tail: Ints
    following: Ints
    marks: Ints


class GroupPools(NamedTuple):
    """Pools of `grow_group_clusters`; a kind is a set of sensitive values.

    Attributes:
        pools: The pools.
        order: (n,) int64: the records in the order in which they are seeds.
        place: (n,) int64: where each record is in the rows of the pools.
        group_remaining: (kinds,) int64: remaining records of each kind.
    """

    pools: RecordPools
    order: Ints
    place: Ints
    group_remaining: Ints


class BucketPools(NamedTuple):
    """Pools of `grow_bucket_clusters`, sorted by kind, and kinds by part.

    A kind is a combination of sensitive values within a part of the table.

    Attributes:
        pools: The pools.
        parts: (parts + 1,) int64: the first kind of each part.
        begins: (kinds + 1,) int64: the first pool of each kind.
        first_of: (kinds,) int64: the first record of each kind.
        group_remaining, part_remaining: (kinds,), (parts,) int64: remaining records.
        center_distances: (pools,) int64: distance of each pool to the center of its part.
    """

    pools: RecordPools
    parts: Ints
    begins: Ints
    first_of: Ints
    group_remaining: Ints
    part_remaining: Ints
    center_distances: Ints


class ThresholdOptions(NamedTuple):
    """Options of `threshold_steps`, which grows clusters up to a loss: float64.

    Attributes:
        threshold: Greatest loss of a record of a cluster.
        weight: Weight of diversity against loss, 0 to 1.
        max_loss: The greatest possible loss of a record.
    """

    threshold: float
    weight: float
    max_loss: float


class ThresholdPools(NamedTuple):
    """Pools of `threshold_steps`, sorted by kind, then by tuple; a kind is a combination of sensitive values.

    Attributes:
        pools: The pools.
        order: (n,) int64: the records in the order in which they begin clusters.
        first: (pools,) int64: the first record of each pool.
        place: (n,) int64: where each record is in the rows of the pools.
        values: (columns, kinds) int64: sensitive values of each kind.
        begins: (kinds + 1,) int64: the first pool of each kind.
        number_of: (columns,) int64: number of different values of each column.
    """

    pools: RecordPools
    order: Ints
    first: Ints
    place: Ints
    values: Ints
    begins: Ints
    number_of: Ints


class ThresholdGrowth(NamedTuple):
    """The state of the cluster that `threshold_steps` is growing.

    Attributes:
        span: (attributes, 4) int64: see `loss`.
        counts: (columns, values) int64: records by value.
        logs: (columns, 1) float64: sum of c log c of these counts.
        sums: (pools,) int64: loss per record of the cluster once a record of each pool joins.
        candidates: (kinds,) int64: the best pool of each kind (combination of sensitive values), -1 for none.
    """

    span: Ints
    counts: Ints
    logs: Floats
    sums: Ints
    candidates: Ints


NEXT_IN_ORDER, N_STARTED, LAST_SIZE, LAST_LOSS = 0, 1, 2, 3
"""Places in `state` of `threshold_steps`: next place in `ThresholdPools.order`; started clusters; records of the last
one (0: it is complete), and its loss per record."""


class ClassChains(NamedTuple):
    """The records of classes as linked lists of entries, each a tuple with a number of its records.

    Attributes:
        head, tail: (classes,) int64: first and last entry of each class.
        following: (entries,) int64: the next entry of the class, -1 at the end.
        tuples, counts: (entries,) int64: tuple and number of records of each entry.
        n_entries: (1,) int64: number of used entries.
    """

    head: Ints
    tail: Ints
    following: Ints
    tuples: Ints
    counts: Ints
    n_entries: Ints


CURRENT_SIZE, NEXT_CLASS, NEXT_SIZE, N_MERGES = 0, 1, 2, 3
"""Places in `state` of `merge_small_classes`: size of the classes that are examined now; the next class, and the next
size; number of merges so far."""


class AverageTotals(NamedTuple):
    """The totals from which the average of the remaining records is computed (see `mdav`).

    Attributes:
        scale: (attributes,) float64: for numbers, the factor by which places are multiplied and rounded to be summed.
        sums, n_known: (attributes,) int64: for numbers, the sum of scaled places, and the number of places not NULL.
        begins: (attributes + 1,) int64: for categories, where the counts of codes begin in present.
        present: (codes,) int64: records by code.
    """

    scale: Floats
    sums: Ints
    n_known: Ints
    begins: Ints
    present: Ints


class FarthestTuples(NamedTuple):
    """The tuples that were farthest from an average (see `mdav.farthest_tuples`).

    Attributes:
        tuples: (room, 2) int64: distance and tuple, the farthest first.
        average: (attributes,) float64: the place from which they are farthest.
        state: (2,) int64: the number of tuples, and the number of queries since they were found.
    """

    tuples: Ints
    average: Floats
    state: Ints


class ValueGroups(NamedTuple):
    """Groups of `simdiv.fill_clusters`: a group is the records of one tuple with equal sensitive values.

    Attributes:
        tuples: (groups,) int64: tuple of each group.
        rows: (n,) int64: the records, group after group.
        starts: (groups,) int64: where the records of each group begin in rows.
        n_taken, n_remaining: (groups,) int64: records of each group in clusters, which are its first ones, and the
            others.
    """

    tuples: Ints
    rows: Ints
    starts: Ints
    n_taken: Ints
    n_remaining: Ints


class GroupKinds(NamedTuple):
    """Kinds of `ValueGroups`: a kind is a combination of sensitive values.

    Attributes:
        groups: (groups,) int64: groups by kind; the first ones of each kind have remaining records.
        starts: (kinds,) int64: where the groups of each kind begin.
        n_live: (kinds,) int64: number of groups with remaining records.
        codes: (kinds, columns) int64: sensitive codes.
    """

    groups: Ints
    starts: Ints
    n_live: Ints
    codes: Ints


class SensitiveCodes(NamedTuple):
    """Sensitive values of records.

    Attributes:
        codes: (columns, n) int64: codes of each record.
        n_values, n_distinct: (columns,) int64: number of values of each column, and of those that occur.
    """

    codes: Ints
    n_values: Ints
    n_distinct: Ints


class FillOptions(NamedTuple):
    """Options of `simdiv.fill_clusters`, which fills clusters by diversity and similarity.

    Attributes:
        k: Records of a cluster.
        share, similar_share: Weights of diversity and of similarity.
        min_cosine: Least cosine, in steps, of records that are near enough.
        by_pair: Whether the diversity of a record is that of the pair with the center; else that of the whole cluster.
        avoid_uniform: Whether the last record of a cluster adds another sensitive value if there is only one.
    """

    k: int
    share: float
    similar_share: float
    min_cosine: int
    by_pair: bool
    avoid_uniform: bool


class CrossedClusters(NamedTuple):
    """The clusters that `genetic.evolve` crosses, and their records as linked lists.

    Attributes:
        head: (clusters,) int64: first record of each cluster.
        following: (n,) int64: the next record of the cluster, -1 at the end.
        sizes, losses: (clusters,) int64: records, and loss per record.
        order: (clusters,) int64: the clusters in descending order of that loss (ties: the first).
    """

    head: Ints
    following: Ints
    sizes: Ints
    losses: Ints
    order: Ints


GENERATION, N_WITHOUT_GAIN, FIRST_RANK, SECOND_RANK, N_DRAWS_USED = 0, 1, 2, 3, 4
"""Places in `state` of `genetic.evolve`: generations so far, and since the last gain; ranks of the next pair; number of
used draws."""


COUNT_MASK = 0xFFFFFFFF
"""Mask of the bits of an entry that count records, up to the minimum group size; the other bits are of its key."""


class LevelChange(NamedTuple):
    """An attribute that changes to another level of its hierarchy (see `cover_gain`).

    Attributes:
        column: (tuples,) int32: codes.
        old_keys, new_keys: (codes,) int64: what each code adds (by XOR) to the hash key of its group, before and after.
        old_losses, new_losses: (codes,) int64: loss of a record of each code on the attribute, before and after.
    """

    column: npt.NDArray[np.int32]
    old_keys: Ints
    new_keys: Ints
    old_losses: Ints
    new_losses: Ints


class MoveOptions(NamedTuple):
    """Options of `microaggregation_moves.reduce_squares`, a search by simulated annealing.

    Attributes:
        moves: Number of moves.
        exchanges: Exchanges of records between groups in each move.
        widest: Maximum number of groups that are dissolved and cut again together.
        heat: Scale of the losses that are accepted by chance.
    """

    moves: int
    exchanges: int
    widest: int
    heat: float


class DiverseRecords(NamedTuple):
    """The sensitive values of records, for `eld_steps`, which grows clusters until they are diverse.

    Attributes:
        min_values: (columns,) int64: number of different values that a cluster needs.
        codes: (columns, n) int64: codes of each record, -1 for NULL.
        starts, counts: (tuples,) int64: the first record of each tuple, and its number of records.
        value_remaining: (columns, values) int64: remaining records by value.
    """

    min_values: Ints
    codes: Ints
    starts: Ints
    counts: Ints
    value_remaining: Ints


class ModelRules(NamedTuple):
    """The rules of privacy models that count records or persons, over the sensitive columns (see `model_gathering`).

    Attributes:
        value_starts: (columns + 1,) int64: where the values of each column begin among those of all columns.
        table: (columns, 6) float64: see `MIN_DISTINCT` and the other columns.
        share: (values,) float64: share of each value in the whole table.
        max_shares: (values,) float64: greatest share of each value in a group.
        target_shares: (values,) float64: as `max_shares`, or less where that makes a group diverse.
        node_starts: (columns + 1,) int64: where the hierarchy of each column begins in `parent` and `length`.
        parent, length: (nodes,) int32, float64: the node above, and the length of the edge to it.
        node: (values,) int32: node of each value.
    """

    value_starts: Ints
    table: Floats
    share: Floats
    max_shares: Floats
    target_shares: Floats
    node_starts: Ints
    parent: npt.NDArray[np.int32]
    node: npt.NDArray[np.int32]
    length: Floats


MIN_DISTINCT, MIN_EXP_ENTROPY, RECURSIVE_C, RECURSIVE_L, MAX_DISTANCE, DISTANCE_KIND = 0, 1, 2, 3, 4, 5
"""Columns of `ModelRules.table`; the kind of distance is 0 equal, 1 ordered, 2 hierarchical, -1 none."""


class RecordModel(NamedTuple):
    """The constraint on a group if every record counts: k records, and `rules` over `values` (columns, rows)."""

    k: int
    values: npt.NDArray[np.int32]
    rules: ModelRules


class PersonModel(NamedTuple):
    """The constraint on a group if distinct persons count, or a column is checked by part.

    A part is the records with equal values of the other sensitive columns; without such a check, all records.

    Attributes:
        k: Least number of distinct persons.
        rules: The privacy models.
        pair_ids: (columns, rows) int64: id of each combination of part, value and person; -1 for an unknown person.
        pair_parts, pair_values: Part and value of each such id.
        body_ids: (columns + 1, rows) int64: id of each combination of part and person, in the last row of the person.
        body_parts: Part of each such id.
        marks: int64, scratch: counters (see `model_check.STAMP`), then the group in which each id of `body_ids` and
            each of `pair_ids` was last counted.
        tallies: (parts of all columns, values) int64, scratch: counts of the group; no rows if there are too many.
        parts: (parts of all columns, 6) int64, scratch: see `model_check.LAST_GROUP`.
        first_part: (columns + 1,) int64: where the parts of each column begin.
    """

    k: int
    rules: ModelRules
    pair_ids: Ints
    pair_parts: Ints
    pair_values: Ints
    body_ids: Ints
    body_parts: Ints
    marks: Ints
    tallies: Ints
    parts: Ints
    first_part: Ints
