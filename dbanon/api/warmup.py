"""Compile the kernels that calls can need before they are needed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dbanon import algorithms as static_algorithms, errors
from dbanon.algorithms import streams, warmup as table_warmup
from dbanon.algorithms.streams import warmup as stream_warmup
from dbanon.kernels import compile_events


@dataclass(frozen=True)
class WarmupResult:
    """The outcome of `warmup`.

    Attributes:
        kernels: The number of kernels that were compiled; 0 if all were cached.
        seconds: The time of all steps.
        folder: Where kernels are cached; None if no folder can be written to, so that every process compiles them
            again.
    """

    kernels: int
    seconds: float
    folder: str | None


def warmup(names: Sequence[str] = (), on_step: Callable[[str, float], None] = lambda step, done: None) -> WarmupResult:
    """Compile the kernels (numba functions) that algorithms need and cache them on disk, so that later calls need not.

    This takes a minute or two after an installation, and a few seconds later.

    Args:
        names: Algorithms and stream algorithms; by default all.
        on_step: Called before each step with its name and the share of all steps that are done.

    Returns:
        What was compiled.

    Raises:
        UnknownAlgorithmError: There is no such algorithm.

    Examples:
        >>> import dbanon
        >>> dbanon.warmup(["mondrian"]).kernels
        0
    """
    from dbanon.kernels.jit import cache_folder

    started = time.perf_counter()
    compiled: list[str] = []
    algorithms = {a.name: a for a in static_algorithms.algorithms()}
    systems = {s.name: s for s in streams.streams()}
    for name in names:
        if name not in algorithms and name not in systems:
            raise errors.UnknownAlgorithmError(name, [*algorithms, *systems])
    selected = names or (*algorithms, *systems)
    steps = [
        *table_warmup.warmup_steps([algorithms[name] for name in selected if name in algorithms]),
        *stream_warmup.warmup_steps([systems[name] for name in selected if name in systems]),
    ]
    with compile_events.listen(compiled.append):
        for i, (step, work) in enumerate(steps):
            on_step(step, i / len(steps))
            work()
    return WarmupResult(len(compiled), time.perf_counter() - started, cache_folder())
