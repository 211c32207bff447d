"""FADS: the record that is due leaves with its nearest, or with a class that was published before."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dbanon.cluster.registry import Check
from dbanon.functions.parameter_types import Integer
from dbanon.functions.parameters import Parameter
from dbanon.stream.arrivals import Arrivals, Model
from dbanon.stream.registry import Stream, register
from dbanon.stream.state import Desk, State, drive

LIFE = Parameter(
    "life",
    Integer(0, 10**9),
    "How many arrivals a published class may be used again for (the paper's T_kc).",
    200,
)
"""Own parameter of systems that publish classes again for a time."""


def fads(
    arrivals: Arrivals, model: Model, options: Mapping[str, object], check: Check, before: State | None, ends: bool
) -> State:
    """FADS, a fast clustering-based anonymization of data streams (Guo and Zhang 2013).

    A record leaves when it is one of `delta` that have come. A published class that covers it is used again where it
    loses less than a new one of the record and its k - 1 nearest of other persons. The paper counts the records that
    wait; counting those that came holds every record to `delta`. O(delta * attributes) time a record.
    """
    from dbanon.kernels.stream_window import fads_steps

    desk, places = Desk.of(arrivals, model, before), arrivals.places
    found = np.empty(model.k + sum(model.need), np.int64)
    far, table = np.empty(len(found)), np.empty(len(places.share))
    delta, life = (int(str(options[name])) for name in ("delta", "life"))

    def steps(most: int) -> int:
        return int(
            fads_steps(
                desk.counters, most, ends, model.k, delta, life, desk.need, arrivals.arrived, arrivals.values,
                arrivals.people, arrivals.sensitive, desk.out, desk.step, desk.kept, desk.born, desk.lows, desk.highs,
                places.starts, places.nodes, places.lookup, desk.seen, places.weights, table, found, far,
            )
        )  # fmt: skip

    drive(steps, check)
    return desk.state()


register(
    Stream(
        name="fads",
        title="FADS: a fast clustering-based anonymization of data streams",
        run=fads,
        source="Guo and Zhang 2013",
        evidence="LIT",
        complexity="O(delta) time a record, O(delta + kept classes) memory",
        own=(LIFE,),
    )
)
