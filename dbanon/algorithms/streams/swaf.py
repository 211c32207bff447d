"""SWAF: a record is published, when it leaves the window, as a node of a tree that specializes the window."""

from dataclasses import replace

import numpy as np

from dbanon.algorithms.streams.registry import register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.algorithms.streams.ubdsa import STORE
from dbanon.kernels.streams.arrays import TreeScratch


def swaf(workspace: Workspace) -> StreamState:
    """Publish a stream with SWAF, sliding window anonymization framework (Wang et al. 2007).

    Reconstructed from its abstract and the description in a review. The window is the last `delta` records. When a
    record leaves it, a tree specializes the records that are pending, from the root (all of them, fully general) on: a
    node is split on the attribute in which its records are widest, numbers at the median, categories by child nodes,
    NULL from values, as long as each child keeps k persons (and enough sensitive values). The record is published with
    the oldest records of its leaf, one of each of k persons (and of others whose sensitive values are needed).

    The paper counts the persons of a node that were published before, too. Readers saw these as another class, so only
    persons that are published together count here; instead, a published node is used again for a record that it covers,
    if it loses less than the record's leaf. The last `max_stored_classes` are kept. If not even the root has enough
    records and no stored class covers the record, it is suppressed.

    The tree is specialized again for each due record, along the path to its leaf: the sizes of nodes about halve, so
    the time is O(delta * attributes) per record. The state is linear in delta and in the stored classes.
    """
    from dbanon.kernels.streams.swaf import SwafOptions, swaf_steps

    records = workspace.arrivals.n_records
    rows, parts, branches = (np.empty(records, np.int64) for _ in range(3))
    scratch = TreeScratch(rows, parts, branches, np.empty(records), np.empty(workspace.group_size, np.int64))
    options = SwafOptions(workspace.is_last, workspace.integer("delta"), workspace.integer("max_stored_classes"))
    workspace.run(swaf_steps, options, scratch)
    return workspace.state()


register(
    swaf,
    title="SWAF: sliding window anonymization framework",
    source="Wang et al. 2007",
    evidence="description",
    complexity="O(delta + store) time per record, O(delta + store) memory",
    own_parameters=(replace(STORE, default=1000),),
)
