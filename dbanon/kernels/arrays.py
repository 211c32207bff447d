"""The arguments of kernels: named tuples of arrays. Compiled code reads and writes these arrays in place."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class LossArrays(NamedTuple):
    """What tells the loss of a class (see `loss`).

    Attributes:
        codes: (items, attributes) int32: codes of each item; NULL has the code after the last value.
        terms: (attributes, 6) int64: kind, values, greatest loss, loss of NULL, and where its arrays begin in data.
        data: int64: the arrays of all attributes, one after another.
    """

    codes: npt.NDArray[np.int32]
    terms: Ints
    data: Ints


class LossTables(NamedTuple):
    """A question for what each code loses with one class (see `nearest.distances`).

    Attributes:
        span: (attributes, 4) int64: the class (see `loss`).
        codes_of: (attributes + 1,) int64: where the codes of each attribute begin in table.
        table: (codes,) int64: what a record loses on one attribute with each code.
    """

    span: Ints
    codes_of: Ints
    table: Ints


class ModelScratch(NamedTuple):
    """Scratch for judging groups by the privacy model (see `groups`).

    Attributes:
        counts: int64: counts of values, 0 between two groups.
        extra: Scratch of models that need more; None if none does.
    """

    counts: Ints
    extra: Any


class PathArrays(NamedTuple):
    """Scratch and results of cutting a line of records (see `path.cut`).

    Attributes:
        span, ahead: (attributes, 4) int64: classes (see `loss`).
        kept: (rows, 4) int64: the classes that are kept.
        total: (n + 1,) int64: the least loss of the first records.
        back: (n + 1,) int32: where the last of their runs begins.
    """

    span: Ints
    ahead: Ints
    kept: Ints
    total: Ints
    back: npt.NDArray[np.int32]


class ClassEntries(NamedTuple):
    """Classes as entries side by side (see `rebuild`).

    Attributes:
        items: (entries,) int32: item of each entry.
        counts: (entries,) int32: records of each entry.
        starts: (classes + 1,) int64: where the entries of each class begin.
        sizes: (classes,) int64: records of each class.
    """

    items: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    starts: Ints
    sizes: Ints


class SweepOptions(NamedTuple):
    """Options of `rebuild.sweep`: int64.

    Attributes:
        classes: Number of classes.
        width: How many classes a set has.
        near: Of 100 sets, how many are cut along a line around one of their records.
        first_set: Place of the class at which to begin.
        moves: How many sets are rebuilt at most.
        least, most: Records of a class.
        largest: Sets of more records are left as they are.
    """

    classes: int
    width: int
    near: int
    first_set: int
    moves: int
    least: int
    most: int
    largest: int


class CappedItems(NamedTuple):
    """Items of `capped_steps`.

    Attributes:
        tuples: (items,) int64: tuple of each item.
        ends: (items,) int64: where the records of each item end in rows.
        rows: (n,) int64: records by item; the last ones of each item are left.
        left: (items,) int64: how many records of each item are left.
    """

    tuples: Ints
    ends: Ints
    rows: Ints
    left: Ints


class ValueCaps(NamedTuple):
    """How many records of one sensitive value a cluster may have (see `capped`).

    Attributes:
        values: (columns, items) int64: sensitive values of each item, -1 for NULL.
        least: (columns,) int64: how many values each column needs.
        counts: (columns, values) int64: records of the cluster by value, 0 between two clusters.
        over: (columns,) int64: values that have one more, 0 between two clusters.
    """

    values: Ints
    least: Ints
    counts: Ints
    over: Ints


class LossClusters(NamedTuple):
    """Clusters and what they lose.

    Attributes:
        spans: (clusters, attributes, 4) int64: see `loss`.
        sizes: (clusters,) int64: records.
        losses: (clusters,) int64: what a record loses.
    """

    spans: Ints
    sizes: Ints
    losses: Ints


class ClusterMembers(NamedTuple):
    """The members of clusters as chains.

    Attributes:
        before: (n,) int64: the member before each record, -1 for the first.
        last: (clusters,) int64: the last member of each cluster.
        labels: (n,) int64: cluster of each record, -1 for none.
    """

    before: Ints
    last: Ints
    labels: Ints


class MergedClusters(NamedTuple):
    """Clusters of `merge_steps`, by their first record; n records.

    Attributes:
        alive: (n,) int64: the clusters; their number is in `state`.
        spans: (n, attributes, 3) int64: least and greatest code, and what a record loses.
        sizes, losses: (n,) int64: records, and what each of them loses.
        head, tail: (n,) int64: first and last member of the chain of each cluster.
        following: (n,) int64: the next member, -1 at the end.
        marks: (columns, values) int64, 0 between two merges.
    """

    alive: Ints
    spans: Ints
    sizes: Ints
    losses: Ints
    head: Ints
    tail: Ints
    following: Ints
    marks: Ints


class GroupItems(NamedTuple):
    """Items of `group_steps`.

    Attributes:
        order: (n,) int64: the records in the order in which they are seeds.
        item_of: (n,) int64: item of each record.
        tuples, kinds: (items,) int64: tuple and kind of each item.
        ends: (items,) int64: where the records of each item end in rows.
        rows: (n,) int64: records by item; the last ones of each item are left.
        place: (n,) int64: where each record is in rows.
        left: (items,) int64: how many records of each item are left.
        left_of: (kinds,) int64: how many records of each kind are left.
    """

    order: Ints
    item_of: Ints
    tuples: Ints
    kinds: Ints
    ends: Ints
    rows: Ints
    place: Ints
    left: Ints
    left_of: Ints


class BucketItems(NamedTuple):
    """Items of `bucket_steps`, sorted by kind, and kinds by part.

    Attributes:
        parts: (parts + 1,) int64: the first kind of each part.
        begins: (kinds + 1,) int64: the first item of each kind.
        first_of: (kinds,) int64: the first record of each kind.
        tuples: (items,) int64: tuple of each item.
        ends: (items,) int64: where the records of each item end in rows.
        rows: (n,) int64: records by item; the last ones of each item are left.
        left, left_of, left_in: (items,), (kinds,), (parts,) int64: how many records are left.
        away: (items,) int64: distance of each item to the center of its part.
    """

    parts: Ints
    begins: Ints
    first_of: Ints
    tuples: Ints
    ends: Ints
    rows: Ints
    left: Ints
    left_of: Ints
    left_in: Ints
    away: Ints


class ThresholdOptions(NamedTuple):
    """Options of `threshold_steps`: float64.

    Attributes:
        threshold: Greatest loss of a cluster.
        weight: Of diversity against loss, 0 to 1.
        whole: All that a record can lose.
    """

    threshold: float
    weight: float
    whole: float


class ThresholdItems(NamedTuple):
    """Items of `threshold_steps`, sorted by kind, then by tuple.

    Attributes:
        order: (n,) int64: the records in the order in which they begin clusters.
        item_of: (n,) int64: item of each record.
        ends: (items,) int64: where the records of each item end in rows.
        first: (items,) int64: the first record of each item.
        rows: (n,) int64: records by item; the last ones of each item are left.
        place: (n,) int64: where each record is in rows.
        tuples, kinds: (items,) int64: tuple and kind of each item.
        values: (columns, kinds) int64: sensitive values of each kind.
        begins: (kinds + 1,) int64: the first item of each kind.
        left: (items,) int64: how many records of each item are left.
        number_of: (columns,) int64: different values of each column.
    """

    order: Ints
    item_of: Ints
    ends: Ints
    first: Ints
    rows: Ints
    place: Ints
    tuples: Ints
    kinds: Ints
    values: Ints
    begins: Ints
    left: Ints
    number_of: Ints


class ThresholdGrowth(NamedTuple):
    """What is known of the last cluster of `threshold_steps`.

    Attributes:
        span: (attributes, 4) int64: see `loss`.
        counts: (columns, values) int64: records by value.
        logs: (columns, 1) float64: sum of c log c of these counts.
        sums: (items,) int64: what a record loses once an item has joined.
        candidates: (kinds,) int64: the best item of each kind, -1 for none.
    """

    span: Ints
    counts: Ints
    logs: Floats
    sums: Ints
    candidates: Ints


class CenterTree(NamedTuple):
    """Points in a tree of boxes (see `centers`).

    Attributes:
        points: (points, axes) int64: their coordinates.
        axes, boxes: As `centers` has them.
        room: Size of the stack of a search.
    """

    points: Ints
    axes: tuple[Ints, ...]
    boxes: tuple[Ints, ...]
    room: int


class RecordTree(NamedTuple):
    """Tuples in a tree of boxes, and what searches within a distance found out (see `r_gather`).

    Attributes:
        points, axes, boxes, room: As in `CenterTree`.
        counts: (tuples,) int64: records of each tuple.
        seen: (3,) int64: steps; then what a limit could be as well without any other answer: the least, and one more
            than the greatest.
    """

    points: Ints
    axes: tuple[Ints, ...]
    boxes: tuple[Ints, ...]
    room: int
    counts: Ints
    seen: Ints


class AverageTotals(NamedTuple):
    """What the average of the records that are left is made of (see `mdav`).

    Attributes:
        scale: (attributes,) float64: of numbers, in how many steps of 1 places are summed.
        sums, known: (attributes,) int64: of numbers, the sum of places and how many are known.
        begins: (attributes + 1,) int64: of categories, where the counts of codes begin in present.
        present: (codes,) int64: records by code.
    """

    scale: Floats
    sums: Ints
    known: Ints
    begins: Ints
    present: Ints


class FarthestTuples(NamedTuple):
    """The tuples that were farthest from an average (see `mdav.outermost`).

    Attributes:
        tuples: (room, 2) int64: distance and tuple, the farthest first.
        average: (attributes,) float64: the place from which they are farthest.
        state: (2,) int64: how many they are, and questions since then.
    """

    tuples: Ints
    average: Floats
    state: Ints


class FillOptions(NamedTuple):
    """Options of `simdiv.fill`.

    Attributes:
        k: Records of a cluster.
        share, similar_share: Weights of diversity and of similarity.
        least: Least cosine, in steps, of records that are near enough.
        by_pair: Whether diversity is that of pairs of records.
        avoid_uniform: Whether the last record of a cluster brings another sensitive value where it has one only.
    """

    k: int
    share: float
    similar_share: float
    least: int
    by_pair: bool
    avoid_uniform: bool


class LevelChange(NamedTuple):
    """An attribute that goes to another level (see `cover_gain`).

    Attributes:
        column: (items,) int32: codes.
        was, now: (codes,) int64: its part of the key of each code, before and after.
        lost_was, lost_now: (codes,) int64: what a record of each code loses on it.
    """

    column: npt.NDArray[np.int32]
    was: Ints
    now: Ints
    lost_was: Ints
    lost_now: Ints


class PartIndex(NamedTuple):
    """Tuples by their regions in parts of the attributes (see `candidate_search`).

    Attributes:
        codes: (tuples, attributes) int32.
        left: (tuples,) int64: records that are left.
        form: See `dbanon.encoding.attribute_partitions`.
        parts: (parts, 4) int64: first attribute, the one after the last, where the part begins among all, its size.
        posts: The regions of a tuple in each part (tuples, parts); tuples by these (parts, tuples); where the tuples of
            each combination of regions begin and end there.
    """

    codes: npt.NDArray[np.int32]
    left: Ints
    form: Any
    parts: Ints
    posts: Any


class CandidateArrays(NamedTuple):
    """Candidates for the next seed, kept from call to call (see `candidate_search`).

    Attributes:
        seen: Sums of distances by value, by ancestor and by region.
        tuples, sums: (room,) int64: the candidates, a heap by the sums of their distances to all seeds.
        state: (5,) int64: number of candidates, the greatest sum of theirs when they were chosen (-1: all records are
            candidates), reach of the last group, records left, tuples taken since they were last dropped.
    """

    seen: Any
    tuples: Ints
    sums: Ints
    state: Ints


class MoveOptions(NamedTuple):
    """Options of `microaggregation_moves.lower_squares`.

    Attributes:
        moves: Number of moves.
        exchanges: Exchanges of each move.
        widest: Most groups that are cut together.
        heat: What may be lost by chance.
    """

    moves: int
    exchanges: int
    widest: int
    heat: float


class IndexArrays(NamedTuple):
    """The tuples that are left, for searches (see `dbanon.encoding.tuple_index`).

    Attributes:
        tree: See `dbanon.encoding.tuple_trie.build_trie`.
        few: Attributes with few values: codes (tuples, attributes), where the values of each begin, records by value.
        axis: Numbers with many values: places, where those of each begin, their number, distance of NULL, and where
            chunks begin; None if there are none, so functions that ask for that take it as a parameter.
        axis_codes: (tuples, axes) int32: codes of these.
    """

    tree: Any
    few: Any
    axis: Any
    axis_codes: npt.NDArray[np.int32]


class SeedSearch(NamedTuple):
    """Questions about seeds and the records nearest to them (see `dbanon.encoding.tuple_index.SumQuery`).

    Attributes:
        tables: int64: the distances of the values of all attributes with few of them, one row after another.
        table_starts: (attributes,) int64: where those of each attribute begin.
        near_flat, near: Scratch for the distance to a seed: the part asked by table, and that about axes.
        sum_flat, sums: The summed distances to all seeds so far.
        sign: 1 where seeds have the least sum, -1 where they have the greatest.
    """

    tables: Ints
    table_starts: Ints
    near_flat: Ints
    near: Any
    sum_flat: Ints
    sums: Any
    sign: int


class DiverseRecords(NamedTuple):
    """Sensitive values of `eld_steps`.

    Attributes:
        least: (columns,) int64: how many different values a cluster needs.
        codes: (columns, n) int64: codes of each record, -1 for NULL.
        starts, counts: (tuples,) int64: the first record of each tuple, and how many it has.
        left_of: (columns, values) int64: records left by value.
    """

    least: Ints
    codes: Ints
    starts: Ints
    counts: Ints
    left_of: Ints


class BlockArrays(NamedTuple):
    """Tuples in blocks of neighbours (see `block_search`).

    Attributes:
        blocks: Tuples by block, where blocks begin, first tuple and records left, least and greatest place and NULL by
            axis, where the tuples left end, block of each tuple, and records left of each tuple.
        codes: (blocks, attributes) int32: codes of the attributes with few values.
        lower: (blocks,) int64: lower bound of the least sum of a tuple.
        fresh: (blocks,) int64: 1 where that is exact.
        best: (blocks,) int64: the tuple that has it then.
    """

    blocks: Any
    codes: npt.NDArray[np.int32]
    lower: Ints
    fresh: Ints
    best: Ints


class BoxNodes(NamedTuple):
    """Nodes of a tree of boxes that is built (see `index_tree`).

    Attributes:
        kid, kids, parent, tuples: (nodes,) int32: first child, number of children, node above, tuple of a leaf or -1.
        boxes: (nodes, 2 * axes) int32: least and greatest code below on each axis.
    """

    kid: npt.NDArray[np.int32]
    kids: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int32]
    tuples: npt.NDArray[np.int32]
    boxes: npt.NDArray[np.int32]
