"""Stream algorithms, which publish records one after the other: one file with its registration for each.

`arrivals` is the input of an algorithm, `state` what it keeps from one record to the next; most of the other files are
the algorithms.
"""

import sys

from dbanon.algorithms.base.registry import discover
from dbanon.algorithms.streams.arrivals import Arrivals, StreamModel, build_arrivals
from dbanon.algorithms.streams.common_parameters import COMMON, DELTA, ORDER_BY
from dbanon.algorithms.streams.registry import StreamAlgorithm, find, streams
from dbanon.algorithms.streams.state import StreamState
from dbanon.kernels.streams.arrays import PENDING, SUPPRESSED

discover(sys.modules[__name__])

__all__ = [
    "COMMON",
    "DELTA",
    "ORDER_BY",
    "PENDING",
    "SUPPRESSED",
    "Arrivals",
    "StreamAlgorithm",
    "StreamModel",
    "StreamState",
    "build_arrivals",
    "find",
    "streams",
]
