"""B-CASTLE: open clusters of a bounded size, between which records are moved."""

from dbanon.algorithms.base.registry import Options
from dbanon.algorithms.streams.castle import BETA, MU, run_castle
from dbanon.algorithms.streams.open_clusters import OpenClusters
from dbanon.algorithms.streams.registry import StateLayout, register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

ALPHA = Parameter("alpha", Integer(2, 10**9), "A cluster of so many records takes no other; default 2k, at least k.")


def b_castle(workspace: Workspace) -> StreamState:
    """B-CASTLE (Wang et al. 2010), reconstructed from its abstract and what a review says of it: CASTLE whose clusters
    are of about the same size.

    A record joins no cluster of `alpha` records, and `beta` bounds the others: with full ones among them, records
    would soon have to join whatever is not full. After that the record of its cluster that is farthest from the
    center (the mean of numbers and the medoid of categories) is moved to another cluster of less than `alpha`, if
    it widens that less than its own without it. A cluster that is due and too small is merged with those of least
    correlation distance, until it is enough: by how much its loss grows and how far both together are from k
    records, in k. What leaves is not split. All else, also that a record leaves after at most `delta`, is as in
    CASTLE. O((beta + alpha) * attributes) time a record.
    """
    slots = min(workspace.arrivals.n_records, workspace.integer("delta") + 1) + 1  # each has a record that waits
    return run_castle(
        workspace,
        OpenClusters.from_workspace(workspace, workspace.integer("mu"), slots),
        _max_cluster_size(workspace.options, workspace.model.k),
    )


def _max_cluster_size(options: Options, k: int) -> int:
    """Return the number of records with which a cluster is full."""
    return 2 * k if options["alpha"] is None else int(str(options["alpha"]))


def excluded_parameter(options: Options, k: int) -> tuple[str, str] | None:
    """Return a parameter that options or k exclude, and what it must be; None where nothing does."""
    if _max_cluster_size(options, k) < k:
        return "alpha", f"at least {k}, as many records as a class needs"
    return None


register(
    b_castle,
    title="B-CASTLE: an efficient publishing algorithm for k-anonymizing data streams",
    source="Wang et al. 2010",
    evidence="RECON",
    complexity="O(beta + alpha) time a record, O(delta + kept classes) memory",
    own=(BETA, MU, ALPHA),
    state_layout=StateLayout(by_record=("cluster",), spans=(("open_lows", "open_highs"),)),
    problem=excluded_parameter,
)
