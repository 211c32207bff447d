"""UBDSA: clusters are published as soon as they lose little enough; stored classes are published again."""

from dbanon.algorithms.streams.castle import BETA
from dbanon.algorithms.streams.open_clusters import OpenClusters
from dbanon.algorithms.streams.registry import StateLayout, register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.table_functions.parameter_types import Float, Integer
from dbanon.table_functions.parameters import Parameter

THETA = Parameter(
    "theta",
    Float(0, 1),
    "Greatest loss of a class that is published before it is due; a higher value means less delay.",
    0.3,
)
STORE = Parameter(
    "max_stored_classes", Integer(0, 10**6), "Number of the latest classes that may be published again.", 100
)
"""Own parameter of algorithms that publish the latest classes again."""


def ubdsa(workspace: Workspace) -> StreamState:
    """Publish a stream with UBDSA, a utility based approach for data stream anonymization (Sopaoglu and Abul 2020).

    Reconstructed from its abstract and the description in a review. A record is published at once with the stored class
    that covers it and loses least, if that is no more than `theta`. Otherwise it joins the open cluster whose records
    together lose least more (the cardinality-aware loss: loss times records); or a new one, if they would lose more
    than `theta` each and fewer than `beta` clusters are open. A cluster that a record has joined is published at once
    if it is enough for a class (with enough sensitive values, which the paper does not require) and loses no more than
    `theta`.

    When a record is due (`delta` records have arrived since, itself counted), as strictly as in the paper, its cluster
    is published if it is enough for a class. Otherwise the record alone is published with the stored class that covers
    it and loses least. Otherwise its cluster is merged, again and again, with the one with which both lose least more
    together; if all open clusters are not enough, the record is suppressed. Clusters are not split. O((beta + store) *
    attributes) time per record, and O(delta) for one that is due.
    """
    from dbanon.kernels.streams.ubdsa import UbdsaOptions, ubdsa_steps

    delta = workspace.integer("delta")
    beta = min(workspace.integer("beta"), delta)  # no more records are pending
    open_clusters = OpenClusters.from_workspace(workspace, 0, beta)
    options = UbdsaOptions(
        workspace.is_last, delta, beta, workspace.number("theta"), workspace.integer("max_stored_classes")
    )
    workspace.run(ubdsa_steps, options, open_clusters.clusters)
    return workspace.state(**open_clusters.own_arrays(workspace))


register(
    ubdsa,
    title="UBDSA: a utility based approach for data stream anonymization",
    source="Sopaoglu and Abul 2020",
    evidence="abstract",
    complexity="O(beta + store) time per record, O(delta) for one that is due; O(delta + store) memory",
    own_parameters=(BETA, THETA, STORE),
    state_layout=StateLayout(by_record=("cluster",), spans=(("open_lows", "open_highs"),)),
)
