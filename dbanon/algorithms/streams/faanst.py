"""FAANST: the records that wait are clustered in rounds."""

import numpy as np

from dbanon.algorithms.base.registry import SEED, Options
from dbanon.algorithms.streams.registry import StateLayout, register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.kernels.streams.arrays import RoundArrays
from dbanon.table_functions.parameter_types import Choice, Float, Integer
from dbanon.table_functions.parameters import Parameter

MODES = ("base", "passive", "proactive")
MODE = Parameter(
    "mode",
    Choice(MODES),
    "A record that is due and that no accepted class covers: `base` suppresses it, `passive` publishes it with the "
    "nearest clusters; `proactive` does so after a round with records that would be due before the next one.",
    "passive",
)
MU = Parameter(
    "mu",
    Integer(2, 10**9),
    "How many records wait before a round clusters them; default 500, at most delta.",
)
THRESHOLD = Parameter(
    "threshold", Float(0, 1), "A class that loses less than this is accepted: later records may join it.", 0.5
)
CLUSTERS = Parameter("clusters", Choice(("kmeans", "kmember")), "What a round clusters by.", "kmeans")


def faanst(workspace: Workspace) -> StreamState:
    """FAANST (Zakerzadeh and Osborn 2011) and its passive and proactive extensions (Zakerzadeh and Osborn 2013),
    reconstructed from their abstracts and what a review says.

    When `mu` records wait (and k and a quarter of `mu` have come since the last round, so that rounds in vain cost
    little), a round publishes those that an accepted class covers, clusters the rest, where that is enough for a class,
    and publishes each cluster that has k persons; the others go on waiting. Clusters are made by k-means, from random
    records and in five steps at most, with the mean of numbers and the medoid of categories; or by k-member, without
    its leftovers.

    FAANST has no deadline and its extensions a soft one: here no record waits longer than `delta`, in any mode. What is
    due leaves with the accepted class that covers it and loses least; else, unless the mode is `base`, with its cluster
    of the last round and those nearest to it, until these are enough for a class; else it is suppressed. `proactive`
    counts arrivals where the paper measures time: after a round it does the same with what would be due before as many
    have come as between the last two rounds, but what then finds no class goes on waiting. When the stream ends a last
    round is held. O(mu / k) distances a record by k-means, O(mu) by k-member; accepted classes are kept for good.
    """
    from dbanon.kernels.streams.faanst import FaanstOptions, faanst_steps

    arrivals, previous, options = workspace.arrivals, workspace.previous, workspace.options
    records, width = arrivals.values.shape
    draws = np.random.PCG64(workspace.integer("seed"))
    group, random = np.full(records, -1, np.int64), np.array([draws.random_raw() | 1], np.uint64)
    workspace.counters[6] = arrivals.n_pending
    if previous is not None:
        group[: arrivals.n_pending], random = previous.own["group"], previous.own["random"].astype(np.uint64)
        workspace.counters[4:6] = previous.own["counters"]
    clusters, nodes = records // workspace.model.k + 1, len(arrivals.places.share)
    rounds = RoundArrays(
        cluster_ids=group,
        centers=np.empty((clusters, width)),
        heads=np.full(clusters, -1, np.int64),
        node_counts=np.zeros(nodes, np.int64),
        distances=np.empty(records),
        node_distances=np.empty(nodes),
        random=random,
        **{
            name: np.zeros(records, np.int64)
            for name in ("order", "next_record", "categories", "rows", "batch", "query_marks")
        },
    )
    round_options = FaanstOptions(
        workspace.is_last,
        workspace.integer("delta"),
        MODES.index(str(options["mode"])),
        _records_per_round(options),
        workspace.number("threshold"),
        options["clusters"] == "kmember",
    )
    workspace.run(faanst_steps, round_options, rounds)
    return workspace.state(group=group, random=random, counters=workspace.counters[4:6])


def _records_per_round(options: Options) -> int:
    """Return the number of pending records that starts a round."""
    mu, delta = options["mu"], int(str(options["delta"]))
    return min(500, delta) if mu is None else int(str(mu))


def excluded_parameter(options: Options, k: int) -> tuple[str, str] | None:
    """Return a parameter that options or k exclude, and what it must be; None where nothing does."""
    delta, mu = int(str(options["delta"])), _records_per_round(options)
    if mu < k:
        return "mu", f"at least {k}, as many records as a class needs"
    return ("mu", f"at most {delta}, as more records never wait") if mu > delta else None


register(
    faanst,
    title="FAANST: fast anonymizing algorithm for streaming data",
    source="Zakerzadeh and Osborn 2011, Zakerzadeh and Osborn 2013",
    evidence="RECON",
    complexity="O(mu / k) time a record (k-member: O(mu)), O(delta + accepted classes) memory",
    own=(MODE, MU, THRESHOLD, CLUSTERS, SEED),
    state_layout=StateLayout(by_record=("group",)),
    problem=excluded_parameter,
)
