"""FAANST: the pending records are clustered in rounds."""

import numpy as np

from dbanon.algorithms.base.registry import SEED, Options
from dbanon.algorithms.streams.registry import StateLayout, register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.kernels.streams.arrays import N_PENDING, RoundArrays
from dbanon.table_functions.parameter_types import Choice, Float, Integer
from dbanon.table_functions.parameters import Parameter

MODES = ("base", "passive", "proactive")
MODE = Parameter(
    "mode",
    Choice(MODES),
    "Treatment of a record that is due and that no accepted class covers: `base` suppresses it; `passive` publishes "
    "it with the nearest clusters; `proactive` does so after a round with records that would be due before the next "
    "one.",
    "passive",
)
MU = Parameter(
    "mu",
    Integer(2, 10**9),
    "Number of pending records that a round clusters, at most delta; default 95 % of delta, but at least k.",
)
THRESHOLD = Parameter(
    "threshold", Float(0, 1), "A class that loses less than this is accepted, so later records may join it.", 0.5
)
CLUSTERS = Parameter(
    "clusters", Choice(("kmeans", "kmember")), "Algorithm that clusters the records of a round.", "kmeans"
)


def faanst(workspace: Workspace) -> StreamState:
    """Publish a stream with FAANST (Zakerzadeh and Osborn 2011) or an extension (Zakerzadeh and Osborn 2013).

    Reconstructed from their abstracts and the description in a review. A round begins when `mu` records are pending,
    and k and a quarter of `mu` have arrived since the last round, so that unsuccessful rounds cost little. It publishes
    the records that an accepted class covers, clusters the rest if they are enough for a class, and publishes each
    cluster that has k persons; the others stay pending. Clusters are formed by k-means, from random records and in five
    steps at most, with the mean of numbers and the medoid of categories; or by k-member, without its leftovers.

    FAANST has no deadline and its extensions a soft one: here no record is pending longer than `delta`, in any mode. A
    due record (`delta` records have arrived since, itself counted) is published with the accepted class that covers it
    and loses least. Otherwise, unless the mode is `base`, it is published with its cluster of the last round and those
    nearest to it, until these are enough for a class. Otherwise it is suppressed. `proactive` counts arrivals where the
    paper measures time: after a round it does the same with records that would be due before as many have arrived as
    between the last two rounds; those that find no class stay pending. When the stream ends, there is a last round.
    O(mu / k) distances a record by k-means, O(mu) by k-member; accepted classes are kept forever.
    """
    from dbanon.kernels.streams.faanst import LAST_ROUND, ROUND_INTERVAL, FaanstOptions, faanst_steps

    arrivals, previous, options = workspace.arrivals, workspace.previous, workspace.options
    records, width = arrivals.values.shape
    draws = np.random.PCG64(workspace.integer("seed"))
    group, random = np.full(records, -1, np.int64), np.array([draws.random_raw() | 1], np.uint64)
    workspace.counters[N_PENDING] = arrivals.n_pending
    if previous is not None:
        group[: arrivals.n_pending], random = previous.own["group"], previous.own["random"].astype(np.uint64)
        workspace.counters[[LAST_ROUND, ROUND_INTERVAL]] = previous.own["counters"]
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
        _records_per_round(options, workspace.model.k),
        workspace.number("threshold"),
        options["clusters"] == "kmember",
    )
    workspace.run(faanst_steps, round_options, rounds)
    return workspace.state(group=group, random=random, counters=workspace.counters[[LAST_ROUND, ROUND_INTERVAL]])


def _records_per_round(options: Options, k: int) -> int:
    """Return the number of pending records that starts a round of clustering: the option `mu`.

    The default is 95 % of `delta`, at least k: the more records a round clusters, the less their classes lose. If it
    were `delta`, there would be few rounds: once a due record is published with later ones, fewer records are pending.
    """
    mu, delta = options["mu"], int(str(options["delta"]))
    return max(delta - delta // 20, k) if mu is None else int(str(mu))


def excluded_parameter(options: Options, k: int) -> tuple[str, str] | None:
    """Return ('mu', its accepted values as text) if `mu` is below k or above `delta`; None if the options are valid."""
    delta, mu = int(str(options["delta"])), _records_per_round(options, k)
    if mu < k:
        return "mu", f"at least {k}, as many records as a class needs"
    return ("mu", f"at most {delta}, because more records are never pending") if mu > delta else None


register(
    faanst,
    title="FAANST: fast anonymizing algorithm for streaming data",
    source="Zakerzadeh and Osborn 2011, Zakerzadeh and Osborn 2013",
    evidence="abstract",
    complexity="O(mu / k) time per record (k-member: O(mu)), O(delta + accepted classes) memory",
    own_parameters=(MODE, MU, THRESHOLD, CLUSTERS, SEED),
    state_layout=StateLayout(by_record=("group",)),
    problem=excluded_parameter,
)
