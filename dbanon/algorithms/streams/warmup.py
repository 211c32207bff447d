"""Compiles what the stream systems need before anybody waits for it: each on a short made-up stream."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dbanon.algorithms.streams.arrivals import Arrivals, StreamModel, build_arrivals
from dbanon.algorithms.streams.registry import StreamAlgorithm
from dbanon.encoding.encoded_table import Attribute, CategoricalAttribute, NumericAttribute

SAMPLE_RECORDS, SAMPLE_K, SAMPLE_DELTA = 600, 5, 60


def warmup_steps(algorithms: Sequence[StreamAlgorithm]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the name of each stream algorithm whose kernels need to be compiled, and a function that compiles them."""
    for algorithm in algorithms:
        yield algorithm.name, partial(_run_once, algorithm)


def _run_once(algorithm: StreamAlgorithm) -> None:
    options = {p.name: p.default for p in algorithm.own} | {"delta": SAMPLE_DELTA}
    algorithm.run(_sample_stream(), StreamModel(SAMPLE_K, (2,)), options, lambda: None, None, True)
    if algorithm.widens:
        from dbanon.kernels.streams.intervals import shrink_to_records

        sample = _sample_stream()
        ends = np.zeros((1, sample.values.shape[1]))
        class_ids = np.zeros(sample.n_records, np.int64)
        attributes = sample.places.arrays(np.zeros((sample.values.shape[1], 2)))
        shrink_to_records(class_ids, sample.values, attributes, 0, np.zeros(1, bool), ends, ends.copy())


def _sample_stream() -> Arrivals:
    """Return a number, a category, a sensitive column that is the label too, people of two records."""
    row = np.arange(SAMPLE_RECORDS)
    attributes: list[Attribute] = [
        NumericAttribute(np.arange(40.0), integral=True),
        CategoricalAttribute(np.array([-1, 0, 0, 0], np.int32), np.arange(1, 4, dtype=np.int32)),
    ]
    codes = np.stack([row * 7 % 40, row % 3], axis=1).astype(np.int32)
    sensitive = (row % 4)[:, None].astype(np.int64)
    sample = build_arrivals(attributes, codes, row // 2, sensitive)
    return replace(sample, labels=sensitive[:, 0].copy(), meanings=sensitive)
