"""Compiles what calls can need before anybody waits for it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dbanon import algorithms as static_algorithms, errors
from dbanon.algorithms import streams, warmup as of_tables
from dbanon.algorithms.streams import warmup as of_streams
from dbanon.kernels import compile_events


@dataclass(frozen=True)
class WarmupResult:
    """What was compiled: the number of kernels, and the seconds that all took.

    `folder`: where kernels are kept; None where nothing can be written, so that the next process compiles them again.
    """

    kernels: int
    seconds: float
    folder: str | None


def warmup(names: Sequence[str] = (), told: Callable[[str, float], None] = lambda step, done: None) -> WarmupResult:
    """Compiles all that calls of the table functions can need, or those of some algorithms and stream systems, so that
    no call waits for it: a minute or two after an installation, a few seconds later on. UnknownAlgorithmError.

    `told` is called before each step with what it is for and the share of all steps that are done.

    >>> warmup(["mondrian"]).kernels
    0
    """
    from dbanon.kernels.jit import kept_in

    started = time.perf_counter()
    compiled: list[str] = []
    algorithms = {a.name: a for a in static_algorithms.algorithms()}
    systems = {s.name: s for s in streams.streams()}
    for name in names:
        if name not in algorithms and name not in systems:
            raise errors.UnknownAlgorithmError(name, [*algorithms, *systems])
    chosen = names or (*algorithms, *systems)
    steps = [
        *of_tables.steps([algorithms[name] for name in chosen if name in algorithms]),
        *of_streams.steps([systems[name] for name in chosen if name in systems]),
    ]
    with compile_events.listen(compiled.append):
        for i, (step, work) in enumerate(steps):
            told(step, i / len(steps))
            work()
    return WarmupResult(len(compiled), time.perf_counter() - started, kept_in())
