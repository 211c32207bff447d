"""FADS: a due record is published with its nearest records, or with a class that was published before."""

from dbanon.algorithms.base.registry import Options
from dbanon.algorithms.streams.registry import register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.kernels.streams.arrays import N_PENDING
from dbanon.table_functions.parameter_types import Choice, Integer
from dbanon.table_functions.parameters import Parameter

LIFE = Parameter(
    "reuse_window",
    Integer(0, 10**9),
    "Number of arrivals for which a published class may be used again (T_kc in the paper).",
    200,
)
"""Own parameter of algorithms that publish classes again for a time."""

TRIGGER = Parameter(
    "trigger",
    Choice(("size", "age")),
    "What makes the oldest pending record due. `size`: delta records are pending, as in the paper; classes lose less, "
    "but a record can be pending for up to delta - 1 times as many arrivals as a class has records. `age`: delta "
    "records have arrived since it arrived, itself counted.",
    "size",
)


def fads(workspace: Workspace) -> StreamState:
    """Publish a stream with FADS, a fast clustering-based anonymization of data streams (Guo and Zhang 2013).

    The oldest record is due when `delta` records are pending or, with `trigger` 'age', when `delta` records have
    arrived since, itself counted. A published class that covers it is used again if it loses less than a new class of
    the record and its k - 1 nearest records of other persons.

    The paper's rule, by size, limits the number of pending records, not their delay. At most delta - 1 records are
    older than a record; each time that the oldest is due, at least that one is published, and at most as many records
    as a class has (k, and those with sensitive values that are needed) must arrive until the next is due. So no delay
    exceeds delta - 1 times that number. By age, no delay exceeds delta - 1. O(delta * attributes) time per record; by
    size, published records between pending ones are passed over.
    """
    from dbanon.kernels.streams.sliding_window import NO_LIMIT, FadsOptions, fads_steps

    delta = workspace.integer("delta")
    max_age, max_pending = (NO_LIMIT, delta) if is_triggered_by_size(workspace.options) else (delta, NO_LIMIT)
    workspace.counters[N_PENDING] = workspace.arrivals.n_pending
    workspace.run(
        fads_steps,
        FadsOptions(workspace.is_last, max_age, max_pending, workspace.integer("reuse_window")),
        workspace.nearest_scratch(),
    )
    return workspace.state()


def is_triggered_by_size(options: Options) -> bool:
    """Return whether records are due by the number of pending ones, so that `delta` does not limit their delay."""
    return options["trigger"] == "size"


register(
    fads,
    title="FADS: a fast clustering-based anonymization of data streams",
    source="Guo and Zhang 2013",
    evidence="code",
    complexity="O(delta) time per record, O(delta + kept classes) memory",
    own_parameters=(LIFE, TRIGGER),
    limits_pending=is_triggered_by_size,
)
