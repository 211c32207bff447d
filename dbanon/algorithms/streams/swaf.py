"""SWAF: a record is published, when it leaves the window, as a region of a tree that grows with the stream."""

import numpy as np

from dbanon.algorithms.streams.registry import Renumber, StateLayout, register
from dbanon.algorithms.streams.state import OwnArrays, StreamState, Workspace
from dbanon.encoding.encoded_table import Bools
from dbanon.kernels.streams.arrays import RegionArrays, RegionScratch


def _region_tree(workspace: Workspace) -> RegionArrays:
    """Return the tree of regions of the previous state, or a new tree with a root only, with room for new regions.

    Sets the counter of regions of the workspace. There is room enough because a cut makes at least two regions of k
    pending records.
    """
    arrivals, places, previous = workspace.arrivals, workspace.arrivals.places, workspace.previous
    records, width = arrivals.values.shape
    n_old = 1 if previous is None else len(previous.own["shape"])
    size = n_old + 3 * (records // workspace.model.k + 1)
    class_ids, heads, tails = np.full((3, size), -1, np.int64)
    region_ids, next_record = np.full((2, records), -1, np.int64)
    lows, highs = np.zeros((2, size, width))
    shape = np.zeros((size, 8), np.int64)
    tree = RegionArrays(shape, np.zeros(size), lows, highs, class_ids, region_ids, heads, tails, next_record)
    if previous is None:
        shape[0, [0, 3, 4]] = -1
        for a in range(width):
            leaves = places.starts[a] < places.starts[a + 1]
            lows[0, a] = 0 if leaves else -np.inf
            highs[0, a] = places.nodes[places.starts[a], 1] if leaves else np.inf
    else:
        for name, array in (("shape", shape), ("cut", tree.cuts), ("low", lows), ("high", highs)):
            array[:n_old] = previous.own[name]
        shape[:, 7] = 0
        published_places = previous.own["published"].astype(np.int64)
        is_published = published_places >= 0
        class_ids[:n_old][is_published] = previous.reusable[published_places[is_published]]
        region_ids[: arrivals.n_pending] = previous.own["at"]
    workspace.counters[4] = n_old
    return tree


def _stream_state(workspace: Workspace, tree: RegionArrays) -> StreamState:
    """Return the state to store: the tree of regions, and the classes of the regions as the reusable classes.

    Own array `published` has, by region, the index of its class among the reusable ones, or -1; `at` has the region of
    each record. The workspace's reusable classes and their number are changed in place.
    """
    n_regions = int(workspace.counters[4])
    region_classes = tree.class_ids[:n_regions]
    reusable = np.sort(region_classes[region_classes >= 0])
    workspace.counters[3] = len(reusable)
    workspace.classes.reusable[: len(reusable)] = reusable
    return workspace.state(
        shape=tree.shape[:n_regions],
        cut=tree.cuts[:n_regions],
        low=tree.lows[:n_regions],
        high=tree.highs[:n_regions],
        published=np.where(region_classes < 0, -1, np.searchsorted(reusable, region_classes)),
        at=tree.region_ids,
    )


def swaf(workspace: Workspace) -> StreamState:
    """Publish a stream with SWAF, sliding window anonymization framework (Wang et al. 2007).

    Reconstructed from the description in a review. The window is the last `delta` records. A tree of regions is grown
    over it: whenever k more records have been added to a leaf, it is cut at the attribute in which its records are
    widest, numbers at the median, categories by child nodes, NULL from values, as long as each part has k persons (and
    enough sensitive values).

    A record that leaves the window is published as the deepest region that contains it and that has a class that covers
    it. A region without a class is published first if it has k persons in the window, with the oldest record of each of
    k persons at once (and of others whose sensitive values are needed); later records join its class one by one. The
    paper counts persons that were published before, too; here only those that are published together count. A class
    publishes all of its region, and a region keeps what it published first forever. If a record is in the region but
    beyond that, such as a number beyond all that had arrived then, the region publishes a new class in the same way. If
    not even the root has enough records, a record is suppressed.

    O(depth) time per record and O(delta) if a class is published first. The state is linear in delta and in the
    regions, which are never merged: at most one for every k / 2 records that arrived.
    """
    from dbanon.kernels.streams.swaf import SwafOptions, restore_pending, swaf_steps

    tree = _region_tree(workspace)
    records, width = workspace.arrivals.values.shape
    rows, found_rows = np.full(records, -1, np.int64), np.empty(workspace.group_size, np.int64)
    scratch = RegionScratch(rows, np.empty(width), np.empty(records), found_rows)
    restore_pending(workspace.counters, tree)
    workspace.run(swaf_steps, SwafOptions(workspace.is_last, workspace.integer("delta")), tree, scratch)
    return _stream_state(workspace, tree)


def _renumber_shape(own: OwnArrays, renumber: Renumber) -> OwnArrays:
    """Return the array `shape` of the tree of regions with node numbers replaced by `renumber(attribute, nodes)`.

    Nodes are stored for regions that were cut from their parent by a category. The arrays in `own` are not changed.
    """
    from dbanon.kernels.streams.region_tree import AXIS, BRANCH, CATEGORY, KIND, PARENT

    shape = own["shape"].astype(np.int64)
    parents = np.maximum(shape[:, PARENT], 0)
    of_node = (shape[:, PARENT] >= 0) & (shape[parents, KIND] == CATEGORY)
    for a in np.unique(shape[parents[of_node], AXIS]).tolist():
        rows = of_node & (shape[parents, AXIS] == a)
        shape[rows, BRANCH] = renumber(a, shape[rows, BRANCH])
    return {"shape": shape}


def _number_cuts(own: OwnArrays, attribute: int) -> dict[str, Bools]:
    """Return a mask, under the name of the array `cut`, of the regions that are cut at a number of the attribute.

    `own` are the arrays of the tree of regions; `attribute` is the index of the attribute.
    """
    from dbanon.kernels.streams.region_tree import AXIS, KIND, NUMBER

    shape = own["shape"]
    return {"cut": (shape[:, KIND] == NUMBER) & (shape[:, AXIS] == attribute)}


register(
    swaf,
    title="SWAF: sliding window anonymization framework",
    source="Wang et al. 2007",
    evidence="description",
    complexity="O(depth) time per record, O(delta) for one of a new class; O(delta + regions) memory",
    state_layout=StateLayout(by_record=("at",), spans=(("low", "high"),), nodes=_renumber_shape, cuts=_number_cuts),
    widens=True,
)
