"""The benchmark's bound is valid: no partition of a few records has more precision."""

from __future__ import annotations

import random

import numpy as np
import pytest
from oracle import reference
from oracle.reference import Attribute, Category, Number, Value
from support.tables import encoded_column

from dbanon.encoding import encoded_table
from tests.algorithms.test_algorithms import TREE, partitions
from tests.bench.improve import most_precision


@pytest.mark.parametrize("values", [1, 2])
@pytest.mark.parametrize("seed", range(40))
def test_no_partition_exceeds_precision_bound(seed: int, values: int) -> None:
    rng = random.Random(f"{seed} {values}")
    k, n = rng.choice([2, 3]), rng.randint(4, 8)
    attributes: list[Attribute] = [Number(), Category(TREE), Number()][: rng.randint(1, 3)]
    records: list[list[Value]] = [
        [rng.choice("aabdfg") if isinstance(a, Category) else rng.randint(0, 5) for a in attributes] for _ in range(n)
    ]
    sick = [0, 1, *(rng.randint(0, 2) for _ in range(n - 2))]
    columns = [encoded_column(a, [r[j] for r in records]) for j, a in enumerate(attributes)]
    built, order = encoded_table.encode_table(
        [a for a, _ in columns], [c for _, c in columns], np.zeros(n, np.uint64), None,
        sensitive=[(np.array(sick, np.int32), 3, None)],
    )  # fmt: skip
    best = max(
        reference.eloss_precision(records, attributes, groups)
        for groups in partitions(range(n), k)
        if all(len({sick[r] for r in group}) >= values for group in groups)
    )
    assert sorted(order.tolist()) == list(range(n))
    assert best - 1e-12 <= most_precision(built, k, values) <= 1


def test_precision_bound_of_line_equals_hand_computed() -> None:
    """0, 1, 3, 9 and k = 2: the nearest others are 1, 1, 2 and 6 away, of a range of 9; {0, 1}, {3, 9} loses 14."""
    line = encoded_table.NumericAttribute(np.array([0.0, 1.0, 3.0, 9.0]), True)
    built, _ = encoded_table.encode_table([line], [np.arange(4, dtype=np.int32)], np.zeros(4, np.uint64), None)
    assert most_precision(built, 2, 1) == pytest.approx(1 - (1 + 1 + 2 + 6) / (4 * 9))
    assert most_precision(built, 3, 1) == pytest.approx(1 - (3 + 2 + 3 + 8) / (4 * 9))
