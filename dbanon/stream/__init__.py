"""Streams: records that leave one after the other, each hidden among k persons: a file a system, one registration each.

`arrivals` is what a system sees, `state` what it keeps from one record to the next, `methods` are the systems.
"""

from dbanon.cluster.registry import discover
from dbanon.stream import methods
from dbanon.stream.arrivals import Arrivals, Model, arrivals
from dbanon.stream.parameters import COMMON, DELTA, ORDER_BY
from dbanon.stream.registry import Stream, find, streams
from dbanon.stream.state import SUPPRESSED, WAITING, State

discover(methods)

__all__ = [
    "COMMON",
    "DELTA",
    "ORDER_BY",
    "SUPPRESSED",
    "WAITING",
    "Arrivals",
    "Model",
    "State",
    "Stream",
    "arrivals",
    "find",
    "streams",
]
