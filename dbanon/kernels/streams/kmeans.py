"""Clusters of pending records: k-means, with medoids for categories, and k-member.

The first `size` of `rows` are the records that are clustered. The records of each cluster are a linked list in the
order of arrival (see `RoundArrays`).
"""

import numpy as np

from dbanon.kernels.jit import kernel_part
from dbanon.kernels.random_orders import random_below
from dbanon.kernels.streams.class_loss import (
    begin_class,
    loss_growth,
    position,
    record_distance,
    value_distance,
    widen_class,
)
from dbanon.kernels.streams.counting import adds_needed_person, count_record, missing_column
from dbanon.kernels.streams.nearest import fill_node_distances, tabulated_distance

ROUNDS = 5
"""Maximum number of assignments of all records to the nearest center."""


@kernel_part
def run_k_means(size, number, rounds, records, attributes):
    """Cluster the first `size` of `rows` into `number` clusters by k-means, starting with random records as centers.

    At most ROUNDS assignments are made. Clusters are written to `rounds`; some may be empty.

    Args:
        size: Number of records in `rounds.rows`.
        number: Number of clusters.
        rounds: `RoundArrays`; updated in place.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
    """
    ahead = size // 2
    for j in range(size):
        rounds.order[j] = rounds.rows[j]
    for c in range(number):
        place = c + random_below(np.int64(size - c), rounds.random)
        rounds.order[c], rounds.order[place] = rounds.order[place], rounds.order[c]
        for a in range(len(attributes.weights)):
            value = records.values[rounds.order[c], a]
            is_known_number = attributes.node_starts[a] == attributes.node_starts[a + 1] and value == value
            rounds.centers[c, a] = position(a, value, attributes) if is_known_number else value
    for turn in range(ROUNDS):
        for c in range(number):
            if turn > 0 and rounds.heads[c] >= 0:
                fill_center(
                    rounds.heads[c],
                    records,
                    attributes,
                    rounds.centers[c],
                    rounds.next_record,
                    rounds.node_counts,
                    rounds.categories,
                )
        has_changed = False
        for j in range(size):
            rounds.order[j], rounds.distances[j] = -1, np.inf
        for c in range(number):
            fill_node_distances(rounds.centers[c], ahead, attributes, rounds.node_distances)
            for j in range(size):
                gap = tabulated_distance(
                    rounds.centers[c],
                    records.values[rounds.rows[j]],
                    rounds.distances[j],
                    ahead,
                    attributes,
                    rounds.node_distances,
                )
                if gap < rounds.distances[j]:
                    rounds.order[j], rounds.distances[j] = c, gap
        for j in range(size):
            has_changed = has_changed or rounds.cluster_ids[rounds.rows[j]] != rounds.order[j]
            rounds.cluster_ids[rounds.rows[j]] = rounds.order[j]
        link_clusters(size, number, rounds)
        if not has_changed:
            break


@kernel_part
def link_clusters(size, number, rounds):
    """Rebuild the clusters' linked lists, each in the order of arrival, from the clusters of the records.

    Args:
        size: Number of records in `rounds.rows`.
        number: Number of clusters.
        rounds: `RoundArrays`; updated in place.
    """
    for c in range(number):
        rounds.heads[c] = -1
    for j in range(size - 1, -1, -1):
        c = rounds.cluster_ids[rounds.rows[j]]
        if c >= 0:
            rounds.next_record[rounds.rows[j]], rounds.heads[c] = rounds.heads[c], rounds.rows[j]


@kernel_part
def fill_center(head, records, attributes, center, link, counts, categories):
    """Compute the center of a linked list of records, from `head` along `link`, in `center`.

    It is the mean position of numbers, or the category with the least summed distance to all (ties: the first in the
    list); NULL if more values are NULL than not.

    Args:
        head: The first record of the list, -1 if it is empty.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        center: Output: (attributes,) float64, positions and nodes; NaN for NULL.
        link: (records,) int64: the next record in the list, -1 at the end.
        counts: (nodes,) int64 scratch, 0 before and after.
        categories: int64 scratch.
    """
    for a in range(len(center)):
        n_known, nulls, total, t = np.int64(0), np.int64(0), 0.0, head
        different = np.int64(0)
        while t >= 0:
            value = records.values[t, a]
            if value != value:
                nulls += 1
            elif attributes.node_starts[a] == attributes.node_starts[a + 1]:
                n_known += 1
                total += position(a, value, attributes)
            else:
                n_known += 1
                node = attributes.node_starts[a] + np.int64(value)
                if counts[node] == 0:
                    categories[different] = np.int64(value)
                    different += 1
                counts[node] += 1
            t = link[t]
        if nulls > n_known:
            center[a] = np.nan
        elif attributes.node_starts[a] == attributes.node_starts[a + 1]:
            center[a] = total / n_known
        else:
            center[a] = _medoid(a, different, attributes, counts, categories)
        for i in range(different):
            counts[attributes.node_starts[a] + categories[i]] = 0


@kernel_part
def _medoid(a, different, attributes, counts, categories):
    """Return the category, of the first `different` in `categories`, with the least summed distance to all records.

    `counts` has the number of records of each; ties: the first.

    Args:
        a: Number of the attribute.
        different: How many categories there are.
        attributes: `AttributeArrays`.
        counts: (nodes,) int64: records by node of a hierarchy.
        categories: int64: nodes that occur.
    """
    best, lowest = np.int64(0), np.inf
    for i in range(different):
        total = 0.0
        for j in range(different):
            gap = value_distance(a, float(categories[i]), float(categories[j]), attributes)
            total += gap * counts[attributes.node_starts[a] + categories[j]]
        if total < lowest:
            best, lowest = np.int64(i), total
    return float(categories[best])


@kernel_part
def run_k_member(size, number, requirement, rounds, records, attributes):
    """Cluster by k-member: at most `number` clusters of k persons, each grown by the record that adds the least loss.

    Ties go to the oldest record. The first cluster begins with a random record, the others with the record farthest
    from the beginning of the last one. Clusters also get the sensitive values that a class needs. The last cluster may
    be too small, and records may be in no cluster (-1).

    Args:
        size: Number of records in `rounds.rows`.
        number: Maximum number of clusters.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        rounds: `RoundArrays`; updated in place.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
    """
    start = np.int64(-1)
    for c in range(number):
        x = _draw_start(start, size, rounds, records, attributes)
        if x < 0:
            break
        start = x
        rounds.cluster_ids[x] = c
        requirement.clock[0] += 1
        low, high = np.empty((1, len(attributes.weights))), np.empty((1, len(attributes.weights)))
        begin_class(records.values[x], low[0], high[0], attributes)
        n_values = np.zeros(len(requirement.min_values), np.int64)
        persons = np.int64(count_record(x, requirement, records, n_values))
        while True:
            column = missing_column(persons, requirement, n_values)
            if column == -1:
                break
            best, lowest = np.int64(-1), np.inf
            for j in range(size):
                t = rounds.rows[j]
                if rounds.cluster_ids[t] >= 0 or not adds_needed_person(t, column, requirement, records):
                    continue
                increase = loss_growth(records.values[t], np.int64(0), low, high, lowest, attributes)
                if increase < lowest:
                    best, lowest = t, increase
            if best < 0:
                break
            rounds.cluster_ids[best] = c
            persons += count_record(best, requirement, records, n_values)
            widen_class(records.values[best], low[0], high[0], attributes)
    link_clusters(size, number, rounds)


@kernel_part
def _draw_start(last, size, rounds, records, attributes):
    """Return the record with which the next cluster begins, or -1 if there is none.

    `last` is the record with which the last cluster began; -1 for the first cluster, which begins with the first record
    of a known person from a random place on. Others begin with the unclustered record farthest from `last`.

    Args:
        last: The record with which the last cluster began, -1 for none.
        size: Number of records in `rounds.rows`.
        rounds: `RoundArrays`; for the first cluster the random state is advanced.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
    """
    if last < 0:
        place = random_below(np.int64(size), rounds.random)
        for j in range(size):
            t = rounds.rows[(place + j) % size]
            if records.people[t] >= 0:
                return t
        return np.int64(-1)
    best, highest = np.int64(-1), -1.0
    for j in range(size):
        t = rounds.rows[j]
        if rounds.cluster_ids[t] < 0 and records.people[t] >= 0:
            gap = record_distance(records.values[last], records.values[t], attributes)
            if gap > highest:
                best, highest = t, gap
    return best
