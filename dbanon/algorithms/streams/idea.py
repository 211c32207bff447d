"""IDEA: records that lack values leave with the most similar, in classes in which a NULL may be any value."""

import numpy as np

from dbanon.algorithms.streams.registry import register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.algorithms.streams.ubdsa import STORE
from dbanon.table_functions.parameter_types import Float
from dbanon.table_functions.parameters import Parameter

THETA = Parameter("theta", Float(0, 1), "A class that loses less than this may be published again.", 0.5)


def idea(workspace: Workspace) -> StreamState:
    """IDEA, a utility-enhanced approach to incomplete data stream anonymization (Yang et al. 2022), reconstructed from
    its abstract and what a review says of it.

    When a record is due, a group is formed of it and the k - 1 most similar records of other persons that wait (and
    then the most similar with sensitive values that are needed, which the paper does not ask for). Two records are as
    similar as the share of attributes that both have, times one less their mean distance on these. A class is published
    by the values that its records have, and a record without one is published as its class is: who reads it cannot tell
    who had a value (maybe match). Where all lack it, it is NULL. A class of the store that has all values of the record
    is published again instead if it loses no more; a class of NULLs stands for NULLs alone, as what is published has to
    be true of every record. A group that loses less than `theta` is stored, and the store are the last `store` of
    these. The paper's window is `delta` here, which holds every record. O(delta * attributes) time a record.
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
    evidence="RECON",
    complexity="O(delta + store) time a record, O(delta + store) memory",
    own=(THETA, STORE),
    maybe=True,
)
