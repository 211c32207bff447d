"""Records of frequent tuples that `best` sets aside as classes of their own."""

from __future__ import annotations

import numpy as np
import pytest
from support import by_row
from support.model_tables import model_requirement

from dbanon import algorithms
from dbanon.algorithms.optimizing import set_aside
from dbanon.encoding.encoded_table import EncodedTable, NumericAttribute, encode_table
from dbanon.privacy_models.constraint import Constraint


def frequent_tuple(records: int) -> EncodedTable:
    """Return one tuple with so many records, six others, and a sensitive column of three values in long runs."""
    codes = np.append(np.zeros(records, np.int32), np.arange(1, 7, dtype=np.int32))
    sensitive = (np.arange(records + 6) * 3 // (records + 6)).astype(np.int32)
    ties = np.arange(records + 6, dtype=np.uint64)
    return encode_table([NumericAttribute(np.arange(7.0), True)], [codes], ties, None, None, [(sensitive, 3, None)])[0]


@pytest.mark.parametrize("models", [{}, {"l": 3}])
def test_frequent_tuple_is_set_aside_and_meets_model(models: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_aside, "SEARCHED_FACTOR", 8)
    space = frequent_tuple(200)
    constraint = Constraint(3, (model_requirement(**models),) if models else ())
    records = set_aside.set_records_aside(space, constraint)
    assert records is not None and records.counts.tolist() == [200 - 8 * 3, 0, 0, 0, 0, 0, 0]
    assert records.rest.counts.tolist() == [8 * 3, 1, 1, 1, 1, 1, 1]
    options = {p.name: p.default for p in algorithms.find("best").own_parameters} | {"heights": "top"}
    labels = by_row.run_labels(algorithms.find("best"), space, constraint, options)
    classes = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    assert len(constraint.failing_clusters(space, classes)) == 0
    assert np.bincount(labels).max() >= 200 - 8 * 3


def test_tuple_without_enough_values_is_not_set_aside() -> None:
    codes, sensitive = np.zeros(300, np.int32), np.zeros(300, np.int32)
    ties = np.arange(300, dtype=np.uint64)
    space = encode_table([NumericAttribute(np.zeros(1), True)], [codes], ties, None, None, [(sensitive, 2, None)])[0]
    assert set_aside.set_records_aside(space, Constraint(3, (model_requirement(l=2),))) is None
    assert set_aside.set_records_aside(space, Constraint(3)) is None, "a line through few records is fast"
