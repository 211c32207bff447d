"""CASTLE: open clusters that are published when one of their records is due."""

import numpy as np

from dbanon.algorithms.streams.open_clusters import OpenClusters
from dbanon.algorithms.streams.registry import StateLayout, register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.kernels.streams.arrays import ClassLosses
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

BETA = Parameter("beta", Integer(1, 10**6), "Greatest number of clusters that are open at a time.", 50)
MU = Parameter(
    "mu", Integer(1, 10**6), "Number of the latest classes whose mean loss limits the loss of a growing cluster.", 100
)
"""Own parameters of algorithms with open clusters."""

NO_SIZE_LIMIT = 2**62
"""A size that no cluster has."""


def castle(workspace: Workspace) -> StreamState:
    """Publish a stream with CASTLE, continuously anonymizing streaming data via adaptive clustering (Cao et al. 2011).

    A record joins the open cluster that it widens least, if that then loses no more than the last classes on average;
    else it begins a new one while fewer than `beta` are open. A record is due when `delta` records have arrived since,
    itself counted (in the paper, one arrival later); then its cluster is published. A cluster with twice as many
    persons as a class needs is split. If the cluster is too small, one of three things happens: the record joins a
    published class that covers it, the record is suppressed as an outlier, or the cluster is merged with others. If the
    paper chooses at random, the oldest is chosen here. O(beta * attributes) time per record; published classes with
    little loss are kept forever, as in the paper.
    """
    return run_castle(
        workspace, OpenClusters.from_workspace(workspace, workspace.integer("mu"), workspace.integer("beta"))
    )


def run_castle(workspace: Workspace, open_clusters: OpenClusters, alpha: int | None = None) -> StreamState:
    """Run CASTLE, or B-CASTLE if `alpha` is given, and return the state after all arrivals.

    Args:
        workspace: The arrays of the stream; changed in place.
        open_clusters: The open (not yet published) clusters; changed in place.
        alpha: Number of records with which a cluster of B-CASTLE is full; None for CASTLE.
    """
    from dbanon.kernels.streams.castle import CastleOptions, castle_steps

    classes = len(workspace.classes.made_at)
    losses, ranges = np.zeros(classes), np.zeros(classes + 1, np.int64)
    ranges[-1] = 1
    options = CastleOptions(
        workspace.is_last,
        workspace.integer("delta"),
        workspace.integer("beta"),
        alpha or NO_SIZE_LIMIT,
        alpha is not None,
    )
    workspace.run(
        castle_steps,
        options,
        ClassLosses(open_clusters.recent, losses, ranges),
        open_clusters.clusters,
        open_clusters.scratch,
    )
    return workspace.state(**open_clusters.own_arrays(workspace))


register(
    castle,
    title="CASTLE: continuously anonymizing streaming data by adaptive clustering",
    source="Cao et al. 2011",
    evidence="code",
    complexity="O(beta) time per record, O(delta + kept classes) memory",
    own_parameters=(BETA, MU),
    state_layout=StateLayout(by_record=("cluster",), spans=(("open_lows", "open_highs"),)),
)
