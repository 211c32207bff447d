"""CUDSA: groups of records that lose little and have equal labels."""

import numpy as np

from dbanon.algorithms.streams.registry import register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.algorithms.streams.ubdsa import STORE
from dbanon.kernels.streams.arrays import N_STORED, LabelArrays
from dbanon.table_functions.parameter_types import Float, Text
from dbanon.table_functions.parameters import Parameter

LABEL = Parameter(
    "target",
    Text("a column name"),
    "A sensitive column that readers want to predict from the published values: classes have as few distinct values "
    "of it as possible. This reveals the probable value of each record; set l to limit it. Default: none.",
)
WEIGHT = Parameter("label_weight", Float(0, 1), "Weight of the loss; the mixture of labels has the rest.", 0.5)


def cudsa(workspace: Workspace) -> StreamState:
    """Publish a stream with CUDSA, classification utility aware data stream anonymization.

    Reconstructed from the description in a review. The cost of a class has two parts: its records times the loss of
    each, times w; and its records times one less the sum of the squared shares of labels, times 1 - w, where w is
    `label_weight`. When a record is due (`delta` records have arrived since, itself counted), a group is formed of it
    and, one by one, the pending record of another person that adds least cost, until it has k persons, and then until
    it has enough sensitive values. A stored class that covers the record is used again instead if it costs less, with
    the records that it had when it was first published; of several the cheapest. Without a label column the loss alone
    counts. k and `delta` are hard limits, as in the paper, whose window is `delta` here. O(k * delta * attributes +
    store) time for a due record for which a group is formed, which k records share when the group is published.
    """
    from dbanon.kernels.streams.cudsa import CudsaOptions, cudsa_steps

    arrivals, previous = workspace.arrivals, workspace.previous
    w = 1.0 if arrivals.labels is None else workspace.number("label_weight")
    labels = np.zeros(arrivals.n_records, np.int64) if arrivals.labels is None else arrivals.labels
    counts = np.zeros((len(workspace.classes.made_at), 2), np.int64)
    if previous is not None:
        counts[previous.reusable] = previous.own["counts"]
    found_rows = np.empty(workspace.group_size, np.int64)
    tally = np.zeros(int(labels.max(initial=0)) + 2, np.int64)
    options = CudsaOptions(workspace.is_last, workspace.integer("delta"), workspace.integer("max_stored_classes"), w)
    workspace.run(cudsa_steps, options, LabelArrays(labels, counts, tally, found_rows))
    return workspace.state(counts=counts[workspace.classes.reusable[: workspace.counters[N_STORED]]])


register(
    cudsa,
    title="CUDSA: classification utility aware data stream anonymization",
    source="CUDSA paper",
    evidence="description",
    complexity="O(k * delta) time per group, O(store) per record; O(delta + store) memory",
    own_parameters=(LABEL, WEIGHT, STORE),
)
