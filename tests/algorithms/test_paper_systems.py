"""Algorithms that papers name differ from their neighbours where their sources say so."""

from __future__ import annotations

import numpy as np
from support import by_row

from dbanon import algorithms
from dbanon.algorithms.base.loss import Loss
from dbanon.encoding.encoded_table import EncodedTable, Ints, NumericAttribute, encode_table
from dbanon.privacy_models.constraint import Constraint
from dbanon.privacy_models.model_request import model_requirements

K = 3


def points(rows: int = 90) -> EncodedTable:
    """Return records of two numbers, most of them different, and a sensitive column with a frequent value."""
    draws = np.random.default_rng(3)
    numbers = [NumericAttribute(np.arange(40.0), True, magnitudes=np.arange(40.0)) for _ in range(2)]
    columns = [draws.integers(0, 40, rows).astype(np.int32) for _ in numbers]
    disease = (np.minimum(draws.integers(0, 8, rows), 3).astype(np.int32), 4, None)
    return encode_table(numbers, columns, np.arange(rows, dtype=np.uint64), None, None, [disease])[0]


def labels(name: str, space: EncodedTable, constraint: Constraint | None = None, **given: object) -> Ints:
    defaults = {p.name: p.default for p in algorithms.find(name).own} | {"mode": "deterministic"} | given
    return by_row.labels(algorithms.find(name).run(space, constraint or Constraint(K), defaults, lambda: None))


def total_loss(space: EncodedTable, labels: Ints) -> int:
    codes, loss, total = space.codes[space.tuple_of], Loss(space, K, "edges"), 0
    for cluster in np.unique(labels):
        rows = codes[labels == cluster]
        total += len(rows) * int(loss.record_losses(rows.min(axis=0)[None], rows.max(axis=0)[None])[0])
    return total


def test_organized_loses_less_than_bhaladhare_on_scattered_points() -> None:
    space = points()
    losses = {name: total_loss(space, labels(name, space)) for name in ("organized", "bhaladhare", "kmember")}
    assert losses["organized"] < losses["bhaladhare"]
    assert losses["organized"] < 2 * losses["kmember"]


def test_kapp_reaches_default_t_with_several_classes() -> None:
    space = points()
    constraint = Constraint(K, model_requirements("kapp", "points", {"t": 0.1}, ["disease"]))
    result = labels("kapp", space, constraint)
    assert len(np.unique(result)) > 3
    for cluster in np.unique(result):
        assert not len(constraint.failing_clusters(space, [np.flatnonzero(result == cluster)]))


def test_rka_without_noise_coincides_with_kmember() -> None:
    space = points()
    assert labels("rka", space, release="class").tolist() == labels("kmember", space).tolist()
