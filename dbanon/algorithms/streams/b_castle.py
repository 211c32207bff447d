"""B-CASTLE: open clusters of a bounded size, between which records are moved."""

from dbanon.algorithms.base.registry import Options
from dbanon.algorithms.streams.castle import BETA, MU, run_castle
from dbanon.algorithms.streams.open_clusters import OpenClusters
from dbanon.algorithms.streams.registry import StateLayout, register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

ALPHA = Parameter("alpha", Integer(2, 10**9), "Greatest number of records in a cluster; default 2k, at least k.")


def b_castle(workspace: Workspace) -> StreamState:
    """Publish a stream with B-CASTLE (Wang et al. 2010): CASTLE whose clusters are of about the same size.

    Reconstructed from its abstract and the description in a review. A record joins no cluster of `alpha` records, and
    `beta` limits the number of the others: if full ones counted, records would soon have to join whatever is not full.
    After a record has joined, the record of its cluster that is farthest from the center (the mean of numbers and the
    medoid of categories) is moved to another cluster of less than `alpha`, if it widens that less than its own without
    it.

    A cluster with a due record (`delta` records have arrived since, itself counted) that is too small is merged with
    those of least correlation distance, until it is large enough. That distance is the growth of its loss plus the
    difference of both together from k records, in k. Published clusters are not split. All else is as in CASTLE.
    O((beta + alpha) * attributes) time per record.
    """
    slots = min(workspace.arrivals.n_records, workspace.integer("delta") + 1) + 1  # each has a pending record
    return run_castle(
        workspace,
        OpenClusters.from_workspace(workspace, workspace.integer("mu"), slots),
        _max_cluster_size(workspace.options, workspace.model.k),
    )


def _max_cluster_size(options: Options, k: int) -> int:
    """Return the number of records with which a cluster is full: the option `alpha`, by default 2k.

    `alpha` may be below k here; `excluded_parameter` refuses it.
    """
    return 2 * k if options["alpha"] is None else int(str(options["alpha"]))


def excluded_parameter(options: Options, k: int) -> tuple[str, str] | None:
    """Return ('alpha', its accepted values as text) if `alpha` is below k; None if the options are valid."""
    if _max_cluster_size(options, k) < k:
        return "alpha", f"at least {k}, as many records as a class needs"
    return None


register(
    b_castle,
    title="B-CASTLE: an efficient publishing algorithm for k-anonymizing data streams",
    source="Wang et al. 2010",
    evidence="abstract",
    complexity="O(beta + alpha) time per record, O(delta + kept classes) memory",
    own_parameters=(BETA, MU, ALPHA),
    state_layout=StateLayout(by_record=("cluster",), spans=(("open_lows", "open_highs"),)),
    problem=excluded_parameter,
)
