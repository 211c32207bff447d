"""K-VARP and IoT anonymity: records are published with others that lack the same, or nearly the same, values."""

from functools import partial

import numpy as np

from dbanon.algorithms.streams.registry import register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.algorithms.streams.ubdsa import STORE
from dbanon.kernels.streams.arrays import PartitionArrays

_BITS = 62
"""Number of attributes that a pattern distinguishes; if there are more, some share a bit."""


def publish_by_pattern(workspace: Workspace, *, by_size: bool) -> StreamState:
    """Publish a stream with K-VARP (Otgonbayar et al. 2018) or, `by_size`, IoT anonymity (Otgonbayar et al. 2016).

    Reconstructed from abstracts and the description in a review. A record's pattern is the set of quasi-identifiers
    that are not NULL; pending records with the same pattern are a partition. When a record is due (`delta` records have
    arrived since, itself counted), it is published with the nearest k - 1 of other persons in its partition. If these
    are too few, the partition of the most similar pattern (Jaccard), or `by_size` the largest one, is merged with it,
    until there are enough; distances use the attributes that all patterns have.

    K-VARP keeps published classes for later records: the last `max_stored_classes` that were formed without merging, so
    that each has one pattern. A record is published with one that covers it if that loses less than the new class, or
    if all partitions together are too few; else it is suppressed. The abstract of IoT anonymity names no such use, and
    no classes are stored. So the two differ even where no value is missing; there, IoT anonymity publishes each due
    record with its nearest ones in the window, and coincides with (k,l)-clustering of persons with one record each.

    The paper publishes the other attributes as NULL. That would not be true of records with a value, so here such an
    attribute is `*` if some records of the class have a value and some have none, NULL if none has, and an interval or
    a node if all have. The paper's window is `delta` here, which limits the delay of every record; sensitive values,
    which it does not require, may be needed. O(delta * attributes) time per record, O(delta * patterns) where
    partitions are merged, and `by_size` O(delta^2).
    """
    from dbanon.kernels.streams.incomplete import PartitionOptions, pattern_steps

    values = workspace.arrivals.values
    records, width = values.shape
    bits = np.left_shift(np.int64(1), np.arange(width) % _BITS)
    patterns = np.bitwise_or.reduce(np.where(np.isnan(values), 0, bits), axis=1).astype(np.int64)
    scratch = np.empty(workspace.group_size, np.int64), np.empty(records), np.zeros(records, bool)
    options = PartitionOptions(
        workspace.is_last,
        workspace.integer("delta"),
        0 if by_size else workspace.integer("max_stored_classes"),
        by_size,
    )
    workspace.run(pattern_steps, options, PartitionArrays(patterns, *scratch))
    return workspace.state()


register(
    partial(publish_by_pattern, by_size=False),
    name="k_varp",
    title="K-VARP: k-anonymity for varied data streams via partitioning",
    source="Otgonbayar et al. 2018",
    evidence="description",
    complexity="O(delta * patterns) time per record, O(delta + store) memory",
    own_parameters=(STORE,),
)
register(
    partial(publish_by_pattern, by_size=True),
    name="iot_anonymity",
    title="IoT anonymity: partitions of records with the same attributes",
    source="Otgonbayar et al. 2016",
    evidence="description",
    complexity="O(delta) time per record, O(delta^2) where partitions are merged; O(delta) memory",
)
