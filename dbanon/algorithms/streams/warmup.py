"""Compiles what the stream systems need before anybody waits for it: each on a short made-up stream."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dbanon.algorithms.streams.arrivals import Arrivals, Model, arrivals
from dbanon.algorithms.streams.registry import Stream
from dbanon.encoding.encoded_table import Attribute, CategoricalAttribute, NumericAttribute

RECORDS, K, DELTA = 600, 5, 60


def steps(chosen: Sequence[Stream]) -> Iterator[tuple[str, Callable[[], None]]]:
    """What needs to be compiled, and what compiles it."""
    for system in chosen:
        yield system.name, partial(_run, system)


def _run(system: Stream) -> None:
    options = {p.name: p.default for p in system.own} | {"delta": DELTA}
    system.run(_stream(), Model(K, (2,)), options, lambda: None, None, True)
    if system.widens:
        from dbanon.kernels.streams.intervals import shrink_to_records

        came = _stream()
        ends = np.zeros((1, came.values.shape[1]))
        out = np.zeros(came.records, np.int64)
        attributes = came.places.arrays(np.zeros((came.values.shape[1], 2)))
        shrink_to_records(out, came.values, attributes, 0, np.zeros(1, bool), ends, ends.copy())


def _stream() -> Arrivals:
    """Return a number, a category, a sensitive column that is the label too, people of two records."""
    at = np.arange(RECORDS)
    attributes: list[Attribute] = [
        NumericAttribute(np.arange(40.0), integral=True),
        CategoricalAttribute(np.array([-1, 0, 0, 0], np.int32), np.arange(1, 4, dtype=np.int32)),
    ]
    codes = np.stack([at * 7 % 40, at % 3], axis=1).astype(np.int32)
    sensitive = (at % 4)[:, None].astype(np.int64)
    came = arrivals(attributes, codes, at // 2, sensitive)
    return replace(came, labels=sensitive[:, 0].copy(), kinds=sensitive)
