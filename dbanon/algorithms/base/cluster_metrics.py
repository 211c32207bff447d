"""What clusters lose and leave at risk, by the names of the metrics of a release: from codes alone, so that many runs
on one encoded table are compared without a release of each.

The definitions are those of sql/release/metric/, where the papers are named; tests hold the two to each other. Records
that are left out do not count, except where a measure says so.
"""

import math
from collections.abc import Callable

import numpy as np

from dbanon.algorithms.base.published_clusters import Published
from dbanon.encoding.encoded_table import Ints


def _squares(sizes: Ints) -> float:
    return float(sum(size * size for size in sizes.tolist()))


def _suppressed(of: Published, sizes: Ints) -> float:
    return _squares(sizes) + float((of.came - of.released) * of.came)


def _each(of: Published) -> int:
    """Cells of the released records."""
    return of.released * of.attributes


FIGURES: dict[str, Callable[[Published], float]] = {
    "precision": lambda of: 1 - of.lost(of.heights) / _each(of),
    "ncp": lambda of: of.lost("leaves"),
    "gcp": lambda of: of.lost("leaves") / _each(of),
    "information_loss": lambda of: of.lost(of.heights),
    "total_information_loss": lambda of: of.lost("edges"),
    "numeric_information_loss": lambda of: of.lost("edges", categories=False),
    "square_error": lambda of: of.square_error(of.class_of),
    "square_error_clusters": lambda of: of.square_error(np.arange(len(of.sizes))),
    "sse_share": Published.sse_share,
    "discernibility": lambda of: _squares(of.class_sizes),
    "discernibility_clusters": lambda of: _squares(of.sizes),
    "discernibility_suppression": lambda of: _suppressed(of, of.class_sizes),
    "discernibility_suppression_clusters": lambda of: _suppressed(of, of.sizes),
    "c_avg": lambda of: of.released / len(of.class_sizes) / of.k,
    "c_avg_clusters": lambda of: of.released / len(of.sizes) / of.k,
    "records": lambda of: of.released,
    "suppressed": lambda of: of.left_out,
    "k": lambda of: int(of.units.min()),
    "classes": lambda of: len(of.class_sizes),
    "clusters": lambda of: len(of.sizes),
    "class_size_average": lambda of: of.released / len(of.class_sizes),
    "class_size_greatest": lambda of: int(of.class_sizes.max()),
    "risk_highest": lambda of: float((1 / of.units).max()),
    "risk_average": lambda of: float((of.class_sizes / of.units).sum() / of.released),
    "homogeneous_share": Published.homogeneous,
    "query_error": lambda of: math.nan if of.questions is None else of.questions.error(of),
}
"""Measures by the names that NAME_metrics has for them (`suppressed` is its `suppressed:outlier`), and the mean of
query_error()'s medians of counts."""

OF_STREAMS: dict[str, Callable[[Published], float]] = {
    "average_loss": lambda of: (of.lost("leaves") / of.attributes + of.left_out) / of.space.rows,
    "suppression": lambda of: of.left_out / of.space.rows,
    **dict.fromkeys(("average_delay", "delay", "reuse"), lambda of: math.nan),
}
"""Measures that streams have beside those, by the names of their NAME_metrics; a table, which leaves all at once, has
neither delays nor classes that are used again."""
