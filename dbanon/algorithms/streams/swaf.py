"""SWAF: the record that leaves the window is published as a region of a tree that is grown over it."""

import numpy as np

from dbanon.algorithms.streams.registry import Kept, Renumber, register
from dbanon.algorithms.streams.state import Desk, Own, State
from dbanon.encoding.encoded_table import Bools
from dbanon.kernels.streams.arrays import RegionArrays, RegionScratch


def _regions(desk: Desk) -> RegionArrays:
    """The tree that was there before, or its root, with room for what may come: a cut makes at least two regions of k
    records that wait."""
    arrivals, places, before = desk.arrivals, desk.arrivals.places, desk.before
    records, width = arrivals.values.shape
    old = 1 if before is None else len(before.own["shape"])
    size = old + 3 * (records // desk.model.k + 1)
    class_ids, heads, tails = np.full((3, size), -1, np.int64)
    region_ids, next_record = np.full((2, records), -1, np.int64)
    lows, highs = np.zeros((2, size, width))
    shape = np.zeros((size, 8), np.int64)
    tree = RegionArrays(shape, np.zeros(size), lows, highs, class_ids, region_ids, heads, tails, next_record)
    if before is None:
        shape[0, [0, 3, 4]] = -1
        for a in range(width):
            leaves = places.starts[a] < places.starts[a + 1]
            lows[0, a] = 0 if leaves else -np.inf
            highs[0, a] = places.nodes[places.starts[a], 1] if leaves else np.inf
    else:
        for name, kept in (("shape", shape), ("cut", tree.cuts), ("low", lows), ("high", highs)):
            kept[:old] = before.own[name]
        shape[:, 7] = 0
        places_kept = before.own["published"].astype(np.int64)
        has = places_kept >= 0
        class_ids[:old][has] = before.kept[places_kept[has]]
        region_ids[: arrivals.waiting] = before.own["at"]
    desk.counters[4] = old
    return tree


def _state(desk: Desk, tree: RegionArrays) -> State:
    """What goes on: `published` are places in what is kept, `at` (records,) is by record."""
    number = int(desk.counters[4])
    published = tree.class_ids[:number]
    kept = np.sort(published[published >= 0])
    desk.counters[3] = len(kept)
    desk.classes.reusable[: len(kept)] = kept
    return desk.state(
        shape=tree.shape[:number],
        cut=tree.cuts[:number],
        low=tree.lows[:number],
        high=tree.highs[:number],
        published=np.where(published < 0, -1, np.searchsorted(kept, published)),
        at=tree.region_ids,
    )


def swaf(desk: Desk) -> State:
    """SWAF, sliding window anonymization framework (Wang et al. 2007), reconstructed from what a review says of it.

    The window is the last `delta` records. A tree of regions is grown over it: whenever k more records have come to a
    leaf, it is cut at the attribute that its records are widest in, numbers at the median, categories by child nodes,
    NULL from values, as long as each part has k persons (and enough sensitive values). A record that leaves the window
    is published as the deepest region that it stands in and that has a class that covers it. One without is published
    first where it has k persons in the window, with the oldest record of each of k persons at once (and of others whose
    sensitive values are needed); later records join it one by one. The paper counts persons that were published before,
    too; here they are only counted among those that leave together. A class publishes all of its region, and a region
    what it published first for good; where a record stands in it but beyond that, such as a number beyond all that had
    come then, it publishes a new class the same way. Where not even the root has enough, a record is suppressed.
    O(depth) time a record and O(delta) where a class is published first; what is kept is linear in delta and in the
    regions, which are never merged: at most one for every k / 2 records that came.
    """
    from dbanon.kernels.streams.swaf import SwafOptions, restore_pending, swaf_steps

    tree = _regions(desk)
    records, width = desk.arrivals.values.shape
    rows, found = np.full(records, -1, np.int64), np.empty(desk.group_size, np.int64)
    scratch = RegionScratch(rows, np.empty(width), np.empty(records), found)
    restore_pending(desk.counters, tree)
    desk.run(swaf_steps, SwafOptions(desk.ends, desk.integer("delta")), tree, scratch)
    return _state(desk, tree)


def _renumbered(own: Own, renumber: Renumber) -> Own:
    """Return the shape of a tree whose regions of child nodes have these by other numbers."""
    from dbanon.kernels.streams.region_tree import AXIS, BRANCH, CATEGORY, KIND, PARENT

    shape = own["shape"].astype(np.int64)
    above = np.maximum(shape[:, PARENT], 0)
    of_node = (shape[:, PARENT] >= 0) & (shape[above, KIND] == CATEGORY)
    for a in np.unique(shape[above[of_node], AXIS]).tolist():
        rows = of_node & (shape[above, AXIS] == a)
        shape[rows, BRANCH] = renumber(a, shape[rows, BRANCH])
    return {"shape": shape}


def _cuts(own: Own, attribute: int) -> dict[str, Bools]:
    """Return the regions that are cut at a number of an attribute."""
    from dbanon.kernels.streams.region_tree import AXIS, KIND, NUMBER

    shape = own["shape"]
    return {"cut": (shape[:, KIND] == NUMBER) & (shape[:, AXIS] == attribute)}


register(
    swaf,
    title="SWAF: sliding window anonymization framework",
    source="Wang et al. 2007",
    evidence="RECON",
    complexity="O(depth) time a record, O(delta) for one of a new class; O(delta + regions) memory",
    kept=Kept(by_record=("at",), spans=(("low", "high"),), nodes=_renumbered, cuts=_cuts),
    widens=True,
)
