"""FADS: a due record is published with its nearest records, or with a class that was published before."""

from dbanon.algorithms.streams.registry import register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

LIFE = Parameter(
    "reuse_window",
    Integer(0, 10**9),
    "Number of arrivals for which a published class may be used again (T_kc in the paper).",
    200,
)
"""Own parameter of algorithms that publish classes again for a time."""


def fads(workspace: Workspace) -> StreamState:
    """Publish a stream with FADS, a fast clustering-based anonymization of data streams (Guo and Zhang 2013).

    A record is due when `delta` records have arrived since, itself counted. A published class that covers it is used
    again if it loses less than a new class of the record and its k - 1 nearest records of other persons. The paper
    counts the pending records; counting arrivals limits the delay of every record to `delta`. O(delta * attributes)
    time per record.
    """
    from dbanon.kernels.streams.sliding_window import FadsOptions, fads_steps

    workspace.run(
        fads_steps,
        FadsOptions(workspace.is_last, workspace.integer("delta"), workspace.integer("reuse_window")),
        workspace.nearest_scratch(),
    )
    return workspace.state()


register(
    fads,
    title="FADS: a fast clustering-based anonymization of data streams",
    source="Guo and Zhang 2013",
    evidence="code",
    complexity="O(delta) time per record, O(delta + kept classes) memory",
    own=(LIFE,),
)
