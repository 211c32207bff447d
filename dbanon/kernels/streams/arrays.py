"""Arguments of stream kernels: the counters, which are one array, and named tuples of arrays.

n is the number of records of this call, which are in the order of arrival. Compiled code reads and writes these
arrays in place. Python creates them once per call (see `dbanon.algorithms.streams.state`).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dbanon.kernels.arrays import Floats, Ints

Booleans = npt.NDArray[np.bool_]

PENDING, SUPPRESSED = -2, -1
"""Values in place of the class of a record that has none: it is not published yet, or it is suppressed."""

# Positions in `state`, the counters of a stream. Positions 4 to 7 are for the algorithm itself, and are named
# in its module or, for open clusters, below.
N_ADDED = 0  # number of records that are added, first those pending from earlier calls
OLDEST_PENDING = 1  # a record before which none is pending (see `oldest_pending`)
N_CLASSES = 2  # number of classes
N_STORED = 3  # number of stored classes, which are the first ones in `ClassArrays.reusable`
N_PENDING = 6  # number of pending records, in algorithms that count them
LAST_ARRIVAL = 8  # the place at which the last record arrived; it may have been published in an earlier call

# Columns of `AttributeArrays.nodes`: the parent of a node, the last node below it, the node that it is published as.
PARENT, LAST_BELOW, PUBLISHED_AS = 0, 1, 2


class AttributeArrays(NamedTuple):
    """The quasi-identifiers of a stream: their hierarchies, seen ranges and weights.

    Attributes:
        node_starts: (attributes + 1,) int64: where the nodes of each attribute begin; a number has none. If values of
            an attribute are ranks: (2 * attributes + 1,) int32 (see `class_loss`).
        nodes: (nodes, 3) int64: PARENT, LAST_BELOW and PUBLISHED_AS.
        leaf_shares: (nodes,) float64: (leaves below the node - 1) / (all leaves - 1); then the positions of ranks.
        seen_ranges: (attributes, 2) float64: least and greatest value of all records that have arrived.
        weights: (attributes,) float64: they sum to 1.
    """

    node_starts: Ints
    nodes: Ints
    leaf_shares: Floats
    seen_ranges: Floats
    weights: Floats


class RecordArrays(NamedTuple):
    """The records of a stream in the order of arrival, and the class that each was published with.

    Attributes:
        arrived_at: (n,) int64: the place at which each record arrived, from 1.
        values: (n, attributes) float64: position or rank of a number, preorder number of a node; NaN for NULL.
        people: (n,) int64: number of the person, -1 if unknown: such a record does not count toward k or needed values.
        sensitive: (n, columns) int64: codes of sensitive values, -1 for NULL, which never counts.
        class_ids: (n,) int64: the class that each record is published with, or PENDING (-2) or SUPPRESSED (-1).
        published_at: (n,) int64: how many records had arrived when each was published.
    """

    arrived_at: Ints
    values: Floats
    people: Ints
    sensitive: Ints
    class_ids: Ints
    published_at: Ints


class ClassArrays(NamedTuple):
    """The classes that were published.

    Attributes:
        reusable: (classes,) int64: numbers of the N_STORED stored classes, with which further records may be published.
        made_at: (classes,) int64: how many records had arrived when each class was made.
        lows, highs: (classes, attributes) float64: the bounds that each class publishes (see `class_loss`).
    """

    reusable: Ints
    made_at: Ints
    lows: Floats
    highs: Floats


class RequirementArrays(NamedTuple):
    """The requirements of every class, and scratch to count what a group has.

    Attributes:
        k: Fewest distinct persons of a class.
        min_values: (columns,) int64: fewest distinct values of each sensitive column in a class.
        person_marks: (persons,) int64: the number of the count in which each person was last marked.
        value_marks: (columns, codes) int64: the number of the count in which each sensitive value was last marked.
        clock: (1,) int64: the number of the current count.
    """

    k: int
    min_values: Ints
    person_marks: Ints
    value_marks: Ints
    clock: Ints


# Positions in `state` of the counters of open clusters, which are stored with these.
(
    NEXT_ID,  # the number of the cluster that is opened next
    N_OPEN,  # number of open clusters
    N_RECENT,  # how many places of a ring buffer of recent values are filled
    NEXT_RECENT,  # the place of that buffer that is overwritten next
) = 4, 5, 6, 7


class OpenClusterArrays(NamedTuple):
    """Open clusters of a stream, which records join until they are published (see `open_clusters`): each has a slot.

    Attributes:
        is_open: (slots,) bool: whether the slot has a cluster.
        ids: (slots,) int64: numbers of the clusters in the order in which they were opened.
        heads: (slots,) int64: the latest record of each cluster, -1 if it has none.
        sizes: (slots,) int64: records of each cluster.
        lows, highs: (slots, attributes) float64: bounds of each cluster.
        next_record: (n,) int64: the record of the same cluster that arrived before, -1 at the end.
        cluster_ids: (n,) int64: slot of each record, -1 for none.
    """

    is_open: Booleans
    ids: Ints
    heads: Ints
    sizes: Ints
    lows: Floats
    highs: Floats
    next_record: Ints
    cluster_ids: Ints


class NearestScratch(NamedTuple):
    """Scratch for the search of nearest records.

    Attributes:
        node_distances: (nodes,) float64: weighted distance of each hierarchy node to the queried record's value.
        group_records: (k + needed sensitive values,) int64: the records found, nearest first.
        distances: (length of `group_records`,) float64: their distances.
    """

    node_distances: Floats
    group_records: Ints
    distances: Floats


class BatchArrays(NamedTuple):
    """Groups that FAST computes ahead, for several due records at a time; empty arrays if it uses one thread.

    Attributes:
        batch: (batch,) int64: records of the round.
        groups: (batch, k + sensitive values that are needed) int64: the group of each, without the record itself.
        numbers: (batch,) int64: how many records each group has.
    """

    batch: Ints
    groups: Ints
    numbers: Ints


class ClassLosses(NamedTuple):
    """Losses of the published classes of CASTLE, cached until a seen range changes.

    Attributes:
        recent: (mu,) float64: losses of the last classes; a good cluster does not exceed their mean.
        losses: (classes,) float64: the loss of each class when it was last computed.
        ranges: (classes + 1,) int64: how often a seen range had widened when each loss was computed; last, how often by
            now.
    """

    recent: Floats
    losses: Floats
    ranges: Ints


class ClusterScratch(NamedTuple):
    """Scratch for balancing and splitting clusters (see `balance` and `split_cluster`).

    Attributes:
        growths: (slots,) float64: by how much the loss of each cluster would grow.
        members: (n,) int64: the records of a cluster, in order of arrival; also scratch for its center.
        pieces: (n,) int64: the piece of each record (the records of one future class are a piece), -1 for none.
        candidates: (n,) int64: the records that a piece may take, in order of arrival.
        remaining: (n,) int64: the records in no piece, in order of arrival.
        distances: (n,) float64.
        node_distances: (nodes,) float64.
        center: (attributes,) float64.
        node_counts: (nodes,) int64, 0 between two uses.
    """

    growths: Floats
    members: Ints
    pieces: Ints
    candidates: Ints
    remaining: Ints
    distances: Floats
    node_distances: Floats
    center: Floats
    node_counts: Ints


class LabelArrays(NamedTuple):
    """The labels of CUDSA, and its scratch.

    Attributes:
        codes: (n,) int64: codes of the labels, -1 for NULL, a label like any other.
        class_counts: (classes, 2) int64: N_RECORDS and LABEL_SQUARES of each class (see `cudsa`).
        tally: (labels + 1,) int64, 0 between two uses: how often each label occurs in a group.
        group_records: (k + needed sensitive values,) int64: the records of a group.
    """

    codes: Ints
    class_counts: Ints
    tally: Ints
    group_records: Ints


class RoundArrays(NamedTuple):
    """The clusters of a round of FAANST (see `kmeans`), and its scratch.

    Attributes:
        cluster_ids: (n,) int64: the cluster of each record, -1 for none.
        centers: (clusters, attributes) float64.
        order: (n,) int64.
        heads: (clusters,) int64: the oldest record of each cluster, -1 if it has none.
        next_record: (n,) int64: the next record of the same cluster, -1 at the end.
        node_counts: (nodes,) int64, 0 between two uses.
        categories: (n,) int64: the different categories of a cluster.
        rows: (n,) int64: the records that are clustered, in order of arrival.
        batch: (n,) int64: the records of a class.
        query_marks: (n,) int64, 0 at first: the number of the query in which each record was last taken.
        distances: (n,) float64.
        node_distances: (nodes,) float64.
        random: (1,) uint64: the state of the random numbers (see `random_orders`).
    """

    cluster_ids: Ints
    centers: Floats
    order: Ints
    heads: Ints
    next_record: Ints
    node_counts: Ints
    categories: Ints
    rows: Ints
    batch: Ints
    query_marks: Ints
    distances: Floats
    node_distances: Floats
    random: npt.NDArray[np.uint64]


class PartitionArrays(NamedTuple):
    """Partitions by the attributes that records have, and scratch.

    Attributes:
        patterns: (n,) int64: the attributes on which a record is not NULL, as bits.
        group_records: (k + needed sensitive values,) int64: the records of a group.
        distances: (n,) float64: distance of each record from the due one, inf if it is not allowed.
        is_merged: (n,) bool: whether a record is in the partitions that are merged.
    """

    patterns: Ints
    group_records: Ints
    distances: Floats
    is_merged: Booleans


class ValueSets(NamedTuple):
    """The sets of sensitive values of Puri-Haritha, and scratch for the search of nearest records.

    Attributes:
        sensitive: (n, columns) int64: codes of sensitive values, -1 for NULL; `RecordArrays.sensitive` has the category
            (kind) of each value instead.
        value_marks: (columns, codes) int64: the number of the count in which each sensitive value was last marked.
        sets: (groups,) uint64: hashes of the sets of values of the last published groups.
        search: Scratch for the search.
    """

    sensitive: Ints
    value_marks: Ints
    sets: npt.NDArray[np.uint64]
    search: NearestScratch


class TreeScratch(NamedTuple):
    """Scratch for specializing the records of a window (see `swaf`).

    Attributes:
        rows: (n,) int64: the records of a node, in order of arrival.
        parts: (n,) int64: the part of each record when the node is split.
        branches: (n,) int64: the hierarchy node of each part.
        sorted_values: (n,) float64.
        batch: (k + sensitive values that are needed,) int64: the records of a class.
    """

    rows: Ints
    parts: Ints
    branches: Ints
    sorted_values: Floats
    batch: Ints


class PersonClusterArrays(NamedTuple):
    """Clusters of exactly k persons (see `person_clusters`), and scratch.

    Attributes:
        cluster_ids: (persons,) int64: the cluster of each person, -1 for none.
        members: (clusters, k) int64: the persons of each cluster.
        n_ready: (clusters,) int64: number of its persons with a pending record.
        heads, tails: (persons,) int64: the first and the last pending record of each person, -1 for none.
        next_record: (n,) int64: the next pending record of the same person, -1 at the end.
        loose_persons: (n,) int64: the person of a record whose person has no cluster, else -1.
        search: Scratch for the search of nearest records; its `group_records` are the records of a class.
    """

    cluster_ids: Ints
    members: Ints
    n_ready: Ints
    heads: Ints
    tails: Ints
    next_record: Ints
    loose_persons: Ints
    search: NearestScratch
