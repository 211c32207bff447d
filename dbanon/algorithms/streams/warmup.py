"""Compile in advance what the stream algorithms need, each on a short synthetic stream."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dbanon.algorithms.streams.arrivals import Arrivals, StreamModel, build_arrivals
from dbanon.algorithms.streams.registry import StreamAlgorithm
from dbanon.encoding.encoded_table import Attribute, CategoricalAttribute, NumericAttribute

SAMPLE_RECORDS, SAMPLE_K, SAMPLE_DELTA = 600, 5, 60


def warmup_steps(algorithms: Sequence[StreamAlgorithm]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield, for each stream algorithm, its name and a function that compiles its kernels by running it."""
    for algorithm in algorithms:
        yield algorithm.name, partial(_run_once, algorithm)


def _run_once(algorithm: StreamAlgorithm) -> None:
    """Run a stream algorithm with default options on a short synthetic stream, so that its kernels are compiled."""
    options = {p.name: p.default for p in algorithm.own_parameters} | {"delta": SAMPLE_DELTA}
    algorithm.run(_sample_stream(), StreamModel(SAMPLE_K, (2,)), options, lambda: None, None, True)


def _sample_stream() -> Arrivals:
    """Return a synthetic stream with two records per person.

    It has a number, a category, and a sensitive column that is also the column to be predicted.
    """
    row = np.arange(SAMPLE_RECORDS)
    attributes: list[Attribute] = [
        NumericAttribute(np.arange(40.0), integral=True),
        CategoricalAttribute(np.array([-1, 0, 0, 0], np.int32), np.arange(1, 4, dtype=np.int32)),
    ]
    codes = np.stack([row * 7 % 40, row % 3], axis=1).astype(np.int32)
    sensitive = (row % 4)[:, None].astype(np.int64)
    sample = build_arrivals(attributes, codes, row // 2, sensitive)
    return replace(sample, labels=sensitive[:, 0].copy(), meanings=sensitive)
