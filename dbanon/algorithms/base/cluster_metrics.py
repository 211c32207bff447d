"""The metrics of clusters, computed from codes under the names of a release's metrics.

Many runs on one encoded table can be compared without a release of each. The definitions are those of
sql/release/metrics/, where the papers are named; tests compare the two. Suppressed records do not count unless a
metric says so.
"""

import math
from collections.abc import Callable

import numpy as np

from dbanon.algorithms.base.published_clusters import PublishedClusters
from dbanon.encoding.encoded_table import Ints


def _sum_of_squares(sizes: Ints) -> float:
    """Return the sum of the squared sizes, computed in whole numbers."""
    return float(sum(size * size for size in sizes.tolist()))


def _discernibility_with_suppression(published: PublishedClusters, sizes: Ints) -> float:
    """Return the sum of squared sizes, plus the number of all input records for each record that is not published."""
    return _sum_of_squares(sizes) + float(
        (published.n_input_records - published.n_published) * published.n_input_records
    )


def _n_cells(published: PublishedClusters) -> int:
    """Return the number of published records times the number of quasi-identifiers."""
    return published.n_published * published.n_attributes


CLUSTER_METRICS: dict[str, Callable[[PublishedClusters], float]] = {
    "precision": lambda of: 1 - of.total_loss(of.heights) / _n_cells(of),
    "ncp": lambda of: of.total_loss(of.leaf_heights),
    "gcp": lambda of: of.total_loss(of.leaf_heights) / _n_cells(of),
    "information_loss": lambda of: of.total_loss(of.heights),
    "total_information_loss": lambda of: of.total_loss("edges"),
    "numeric_information_loss": lambda of: of.total_loss("edges", categories=False),
    "square_error": lambda of: of.square_error(of.class_of),
    "square_error_clusters": lambda of: of.square_error(np.arange(len(of.sizes))),
    "sse_share": PublishedClusters.sse_share,
    "discernibility": lambda of: _sum_of_squares(of.class_sizes),
    "discernibility_clusters": lambda of: _sum_of_squares(of.sizes),
    "discernibility_suppression": lambda of: _discernibility_with_suppression(of, of.class_sizes),
    "discernibility_suppression_clusters": lambda of: _discernibility_with_suppression(of, of.sizes),
    "c_avg": lambda of: of.n_published / len(of.class_sizes) / of.k,
    "c_avg_clusters": lambda of: of.n_published / len(of.sizes) / of.k,
    "records": lambda of: of.n_published,
    "suppressed": lambda of: of.n_suppressed,
    "k": lambda of: int(of.class_risk_sizes.min()),
    "classes": lambda of: len(of.class_sizes),
    "clusters": lambda of: len(of.sizes),
    "class_size_average": lambda of: of.n_published / len(of.class_sizes),
    "class_size_greatest": lambda of: int(of.class_sizes.max()),
    "risk_highest": lambda of: float((1 / of.class_risk_sizes).max()),
    "risk_average": lambda of: float((of.class_sizes / of.class_risk_sizes).sum() / of.n_published),
    "homogeneous_share": PublishedClusters.homogeneous_share,
    "query_error": lambda of: math.nan if of.queries is None else of.queries.error(of),
}
"""Metrics of clusters under the names of NAME_metrics; query_error is the mean of query_error()'s medians of counts."""

STREAM_METRICS: dict[str, Callable[[PublishedClusters], float]] = {
    "average_loss": lambda of: (of.total_loss(of.leaf_heights) / of.n_attributes + of.n_suppressed) / of.space.rows,
    "suppression": lambda of: of.n_suppressed / of.space.rows,
    **dict.fromkeys(("average_delay", "delay", "reuse"), lambda of: math.nan),
}
"""Metrics that streams have in addition. A table is published at once, so delays and reuse are NaN."""
