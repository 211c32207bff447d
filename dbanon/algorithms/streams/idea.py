"""IDEA: records with missing values are published with the most similar ones; in a class a NULL may be any value."""

import numpy as np

from dbanon.algorithms.streams.registry import register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.algorithms.streams.ubdsa import STORE
from dbanon.table_functions.parameter_types import Float
from dbanon.table_functions.parameters import Parameter

THETA = Parameter("theta", Float(0, 1), "A class that loses less than this may be published again.", 0.5)


def idea(workspace: Workspace) -> StreamState:
    """Publish a stream with IDEA, for records with missing values (Yang et al. 2022).

    IDEA is a utility-enhanced approach to incomplete data stream anonymization, reconstructed from its abstract and the
    description in a review. When a record is due (`delta` records have arrived since, itself counted), a group is
    formed of it and the k - 1 most similar pending records of other persons (and then the most similar with sensitive
    values that are needed, which the paper does not require). The similarity of two records is the share of attributes
    that both have, times one less their mean distance on these.

    A class is published with the range of the values that its records have, and so is a record without a value: readers
    cannot distinguish who had one (maybe match). If all records of a class lack it, it is NULL. A stored class that has
    all values of the record is published again instead if it loses no more; a class of NULLs covers NULLs alone, as
    published values must be true of every record. A group that loses less than `theta` is stored; the last
    `max_stored_classes` of these are kept. The paper's window is `delta` here, which limits the delay of every record.
    O(delta * attributes) time per record.
    """
    from dbanon.kernels.streams.incomplete import IdeaOptions, idea_steps

    options = IdeaOptions(
        workspace.is_last,
        workspace.integer("delta"),
        workspace.number("theta"),
        workspace.integer("max_stored_classes"),
    )
    workspace.run(idea_steps, options, np.empty(workspace.group_size, np.int64), np.empty(workspace.arrivals.n_records))
    return workspace.state()


register(
    idea,
    title="IDEA: anonymization of incomplete data streams",
    source="Yang et al. 2022",
    evidence="abstract",
    complexity="O(delta + store) time per record, O(delta + store) memory",
    own_parameters=(THETA, STORE),
    maybe=True,
)
