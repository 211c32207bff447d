"""FADS: the record that is due leaves with its nearest, or with a class that was published before."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.streams.arrivals import Arrivals, Model
from dbanon.algorithms.streams.registry import Stream, register
from dbanon.algorithms.streams.state import Desk, State
from dbanon.kernels.streams.arrays import NearestScratch
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

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
    from dbanon.kernels.streams.sliding_window import FadsOptions, fads_steps

    desk = Desk.of(arrivals, model, before)
    found = np.empty(desk.group_size, np.int64)
    far, table = np.empty(len(found)), np.empty(len(arrivals.places.share))
    delta, life = (int(str(options[name])) for name in ("delta", "life"))
    desk.run(fads_steps, check, FadsOptions(ends, delta, life), NearestScratch(table, found, far))
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
