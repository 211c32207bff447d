"""Algorithms No. 1 to 3 of the three-variants paper: k-means in rounds, with clusters adjusted to k records."""

import hashlib
from collections.abc import Callable

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.registry import LARGE, SEED, register
from dbanon.algorithms.centroid.moving_centers import EVEN_MODE, MovingCenters, as_algorithm
from dbanon.encoding.encoded_table import Ints
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter


def _move_centers(clusters: MovingCenters, assign: Callable[[], Ints]) -> tuple[Ints, Ints]:
    """Assign records and move the centers in rounds, until the centers are those of an earlier round.

    At most `clusters.rounds` rounds are made. `assign` returns the cluster of every record, given the current centers.

    Returns:
        The cluster of every record from the last round, and the centers with which it was computed.
    """
    center_hashes = {_hash_centers(clusters.centers)}
    for round_number in range(clusters.rounds):
        clusters.check()
        progress.as_progress_check(clusters.check).advance(round_number / clusters.rounds)
        previous_centers = clusters.centers.copy()
        labels = assign()
        clusters.recenter(labels)
        current_hash = _hash_centers(clusters.centers)
        if current_hash in center_hashes:
            break
        center_hashes.add(current_hash)
    return labels, previous_centers


def _hash_centers(centers: Ints) -> bytes:
    """Return a 16-byte BLAKE2b hash of the centers' coordinates."""
    return hashlib.blake2b(centers.tobytes(), digest_size=16).digest()


def _nearest_center_function(clusters: MovingCenters) -> Callable[[], Ints]:
    """Return a function that gives the nearest center of every record, the first one in a tie.

    The function keeps its last result and, when centers have moved, searches only where the result may have changed.
    """
    nearest = np.zeros(len(clusters.points), np.int64)
    previous_centers = np.empty(0, np.int64)

    def nearest_centers() -> Ints:
        """Return the (n,) number of the nearest center of every record, for the present centers of `clusters`."""
        nonlocal previous_centers
        has_moved = (
            (clusters.centers != previous_centers).any(axis=1)
            if len(previous_centers)
            else np.ones(len(clusters.centers), bool)
        )
        previous_centers = clusters.centers.copy()
        if has_moved.any():
            # A center that has not moved can only lose a record to one that has.
            is_unmoved = ~has_moved[nearest]
            clusters.build_tree(np.flatnonzero(has_moved))
            clusters.find_nearest(np.flatnonzero(is_unmoved), nearest, keep_earlier=True)
            clusters.build_tree(np.arange(len(clusters.centers)))
            clusters.find_nearest(np.flatnonzero(~is_unmoved), nearest, keep_earlier=True)
        return nearest[clusters.tuple_of]

    return nearest_centers


def no1(clusters: MovingCenters) -> Ints:
    """Cluster with algorithm No. 1 (Figures 1 and 4): k-means whose clusters are adjusted to k records in every round.

    floor(n/k) random records are the first centers. In each round all records go to the nearest center, ADJUST moves
    records until every cluster has k, and the centers become the means and modes of that; until the centers are those
    of an earlier round (none moved, or the partition is a repeated one), or for `rounds` rounds. O(rounds * n^2 / k)
    time at worst, O(n) memory.

    The paper ends when no center changes, which may never happen: on Adult, centers still move after 100 rounds, for a
    precision that is 0.002 above that of 30.
    """
    nearest = _nearest_center_function(clusters)

    def assign() -> Ints:
        """Return the cluster of every record: the nearest center's, after ADJUST has given every cluster k records."""
        labels = nearest()
        clusters.adjust_sizes(labels)
        return labels

    return _move_centers(clusters, assign)[0]


def no2(clusters: MovingCenters) -> Ints:
    """Cluster with algorithm No. 2 (Figure 3): k-means that closes full clusters while others have fewer records.

    In each round the records, in canonical order, join the nearest center among the clusters of fewer than k records;
    once all have k, the nearest of all. Otherwise as No. 1, without ADJUST: random records are the first centers, which
    then become means and modes until they are those of an earlier round. O(rounds * n^2 / k) time at worst, O(n)
    memory.
    """
    records = np.arange(len(clusters.tuple_of))

    def assign() -> Ints:
        """Return the cluster of every record, clusters of k records being closed while others have fewer."""
        labels = np.full(len(records), -1, np.int64)
        clusters.fill_clusters(records, np.full(len(clusters.centers), clusters.k, np.int64), labels)
        return labels

    return _move_centers(clusters, assign)[0]


def adjusted_kmeans(clusters: MovingCenters) -> Ints:
    """Cluster with algorithm No. 3 (Figure 2): plain k-means, with its clusters adjusted to k records once, at the end.

    floor(n/k) random records are the first centers; rounds end when the centers are those of an earlier round, or after
    `rounds` rounds. A cluster without records keeps its center. O(rounds * n^2 / k) time at worst, O(n) memory.
    """
    labels = unadjusted_kmeans(clusters)
    clusters.adjust_sizes(labels)
    return labels


def unadjusted_kmeans(clusters: MovingCenters) -> Ints:
    """Run k-means and return the cluster of every record; clusters may have any number of records.

    `clusters.centers` is set to the centers with which the result was computed.
    """
    labels, clusters.centers = _move_centers(clusters, _nearest_center_function(clusters))
    return labels


ROUNDS = Parameter(
    "rounds", Integer(1), "Greatest number of rounds; centers that still move then stay where they are.", 30
)

_METHODS = (
    (no1, "k-means adjusted in every round", "Runs k-means and adjusts the clusters to k records in every round."),
    (
        no2,
        "k-means that closes full clusters",
        "Runs k-means in which a cluster of k records is closed while others have fewer.",
    ),
    (
        adjusted_kmeans,
        "k-means adjusted at the end",
        "Runs k-means and adjusts the clusters to k records at the end.",
    ),
)
for _number, (_method, _title, _summary) in enumerate(_METHODS, 1):
    register(
        as_algorithm(_method),
        name=f"kmeans_no{_number}",
        title=_title,
        summary=_summary,
        source=f"three-variants paper, Algorithm No. {_number}",
        evidence="paper",
        own_parameters=(SEED, EVEN_MODE, ROUNDS, LARGE),
    )
