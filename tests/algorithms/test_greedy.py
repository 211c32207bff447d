"""The greedy family, IKAC and MDAV compared with plain loops over all records, and traced tables."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracle import greedy as slow
from support import by_row
from support.model_tables import model_requirement
from support.tables import MANY, SOME, Table, encode_records, tables

from dbanon import algorithms
from dbanon.algorithms.greedy.mwck import normalized_entropies
from dbanon.encoding import encoded_table
from dbanon.encoding.encoded_table import EncodedTable, SensitiveColumn
from dbanon.privacy_models.constraint import Constraint

FIRST = {"seed": 0, "mode": "deterministic"}


def clusters_of(name: str, table: encoded_table.EncodedTable, k: int, **options: object) -> list[set[int]]:
    selected_algorithm = algorithms.find(name)
    defaults_by_name = {p.name: p.default for p in selected_algorithm.own_parameters} | options
    labels = by_row.run_labels(selected_algorithm, table, Constraint(k), defaults_by_name)
    return [set(np.flatnonzero(labels == c).tolist()) for c in range(int(labels.max()) + 1)]


def unit(table: encoded_table.EncodedTable, k: int) -> float:
    """Return the integer weight of a lost attribute, such that the sums stay below 2^62."""
    total = sum(a.weight for a in table.attributes) * max(2 * k + 1, table.total // k)
    return 2.0 ** (62 - math.frexp(total)[1])


def partition(clusters: list[list[int]]) -> list[set[int]]:
    return [set(c) for c in clusters]


@given(tables(), st.booleans())
@SOME
def test_growth_equals_plain_loop(table: Table, leaves: bool) -> None:
    code_table = encode_records(table).space
    k = min(max(table.k, 2), code_table.rows)
    if code_table.rows < 2:
        return
    heights = "leaves" if leaves else "edges"
    plain_result = slow.loss_table(code_table, unit(code_table, k), heights)
    far = partition(slow.greedy(plain_result, k, slow.farthest_seed(plain_result, 0)))
    first = partition(slow.greedy(plain_result, k, lambda left: left[0]))
    code_table = encoded_table.EncodedTable(
        code_table.attributes, code_table.codes, code_table.counts, None, code_table.total
    )
    if leaves:
        assert clusters_of("gaa_cp", code_table, k, **FIRST, next_seed="far") == far
        assert clusters_of("gaa_cp", code_table, k, **FIRST) == first
    else:
        assert clusters_of("kmember", code_table, k, **FIRST) == far
        assert clusters_of("kmembers_random", code_table, k, **FIRST) == first


@given(tables())
@SOME
def test_ikac_and_mdav_equal_plain_loops(table: Table) -> None:
    code_table = encode_records(table).space
    k = min(max(table.k, 2), code_table.rows)
    if code_table.rows < 2:
        return
    code_table = encoded_table.EncodedTable(
        code_table.attributes, code_table.codes, code_table.counts, None, code_table.total
    )
    plain_result = slow.loss_table(code_table, unit(code_table, k), "leaves")
    assert clusters_of("ikac", code_table, k, **FIRST) == partition(slow.ikac(plain_result, k, 0))
    assert clusters_of("mdav", code_table, k) == partition(slow.mdav(code_table, k))


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("kacpc", {}, [{4, 5, 3}, {2, 1, 6}]),
        ("mdav", {}, [{6, 5, 4}, {1, 2, 3}]),
        ("kmember", FIRST, [{6, 5, 4}, {1, 2, 3}]),
        ("kmembers_random", FIRST, [{1, 2, 3}, {4, 5, 6}]),
    ],
)
def test_clusters_of_six_rows_equal_algorithm_reference(
    name: str, options: dict[str, object], expected: list[set[int]]
) -> None:
    tree = encoded_table.CategoricalAttribute(
        np.array([-1, 0, 0, 2, 2, 0, 5, 5, 5, 0], np.int32), np.array([1, 4, 6, 7, 8], np.int32)
    )
    # Private, Self-emp-inc, Federal-gov, Local-gov, State-gov; records by age.
    ages = encoded_table.NumericAttribute(np.array([0.0, 2, 4, 15, 21, 30]), True)
    codes = [np.arange(6, dtype=np.int32), np.array([3, 4, 2, 0, 0, 1], np.int32)]
    code_table, order = encoded_table.encode_table([ages, tree], codes, np.zeros(6, np.uint64), None)
    assert order.tolist() == list(range(6))
    result = clusters_of(name, code_table, 3, **options)
    assert [{r + 1 for r in c} for c in result] == expected


# --- weights by entropy, noise, l different values ------------------------------------------------------------------


def records(table: EncodedTable) -> EncodedTable:
    """Return the encoded table without persons."""
    return EncodedTable(table.attributes, table.codes, table.counts, None, table.total)


def unrepaired_clusters(name: str, table: EncodedTable, constraint: Constraint, **options: object) -> list[set[int]]:
    """Return the clusters of the algorithm itself, without the repair."""
    selected_algorithm = algorithms.find(name)
    options = {p.name: p.default for p in selected_algorithm.own_parameters} | options
    labels = by_row.labels(selected_algorithm.run(table, constraint, options, lambda: None))
    return [set(np.flatnonzero(labels == c).tolist()) for c in range(int(labels.max()) + 1)]


@given(tables(), st.integers(1, 4), st.integers(0, 10**6))
@MANY
def test_eld_equals_plain_loop(table: Table, min_values: int, seed: int) -> None:
    actual_records = records(encode_records(table).space)
    k = max(table.k, 2)
    rng = random.Random(seed)
    values = [rng.choices([0, 1, 2, 3, None], [9, 4, 2, 1, 1])[0] for _ in range(actual_records.rows)]
    if actual_records.rows < k or len({v for v in values if v is not None}) < min_values:
        return
    codes = np.array([4 if v is None else v for v in values], np.int32)
    actual_records = replace(actual_records, sensitive=(SensitiveColumn(codes, np.bincount(codes, minlength=5)),))
    models = (model_requirement(l=min_values),) if min_values > 1 else ()
    limits = Constraint(k, models)
    plain_result = slow.loss_table(actual_records, unit(actual_records, limits.min_records), "edges")
    expected = slow.eld(plain_result, values, limits.min_records, min_values if models else 0, 0)
    assert unrepaired_clusters("eld", actual_records, limits, **FIRST) == partition(expected)
    assert not models or all(len({values[r] for r in c} - {None}) >= min_values for c in expected)


@given(tables(), st.sampled_from([1, 2, 10]))
@SOME
def test_mwck_equals_kmember_weighted_by_entropy(table: Table, bins: int) -> None:
    actual_records = records(encode_records(table).space)
    k = max(table.k, 2)
    if actual_records.rows < k:
        return
    shares = normalized_entropies(actual_records, bins)
    assert shares == pytest.approx(plain_entropies(actual_records, bins))
    mean = sum(shares) / len(shares)
    factors = [s / mean if mean > 0 and s > 0 else 1.0 for s in shares]
    weighted = replace(
        actual_records,
        attributes=tuple(
            replace(a, weight=a.weight * f) for a, f in zip(actual_records.attributes, factors, strict=True)
        ),
    )
    plain_result = slow.loss_table(weighted, unit(weighted, k), "edges")
    assert clusters_of("mwck", actual_records, k, **FIRST, bins=bins) == partition(
        slow.greedy(plain_result, k, slow.farthest_seed(plain_result, 0))
    )


def plain_entropies(table: EncodedTable, bins: int) -> list[float]:
    """Return the normalized entropy of each attribute, from 0 to 1; numbers are counted in `bins` bins."""
    numbers = []
    for j, attribute in enumerate(table.attributes):
        counts: Counter[Any] = Counter()
        for code, n in zip(table.codes[:, j].tolist(), table.counts.tolist(), strict=True):
            cell: Any = code
            if (
                isinstance(attribute, encoded_table.NumericAttribute)
                and code < attribute.values
                and attribute.positions[-1] > 0
            ):
                cell = min(int(attribute.positions[code] / attribute.positions[-1] * bins), bins - 1)
            elif isinstance(attribute, encoded_table.NumericAttribute):
                cell = "null" if code == attribute.values else 0
            counts[cell] += n
        shares = [n / table.rows for n in counts.values()]
        maximum = math.log(len(shares))
        numbers.append(-sum(p * math.log(p) for p in shares) / maximum if maximum else 0.0)
    return numbers


@given(tables())
@SOME
def test_deterministic_rka_equals_kmember(table: Table) -> None:
    code_table = encode_records(table).space
    k = max(table.k, 2)
    persons = (
        code_table.rows if code_table.persons is None else len(np.unique(code_table.persons[code_table.persons >= 0]))
    )
    if persons >= k:
        assert clusters_of("rka", code_table, k, **FIRST) == clusters_of("kmember", code_table, k, **FIRST)


def test_eld_clusters_equal_hand_traced_ages() -> None:
    """Ages 0, 1, 2, 10, 11, 12, 13 with values a a a a b a b, k = 2, l = 2.

    From 0 the cluster takes 1, 2 and 10, all a, then 11 with b. Farthest from 0 is 13 (b), which takes 12 (a).
    """
    actual_ages = ages([0, 1, 2, 10, 11, 12, 13], "aaaabab")
    assert unrepaired_clusters("eld", actual_ages, Constraint(2, (model_requirement(l=2),)), **FIRST) == [
        {0, 1, 2, 3, 4},
        {5, 6},
    ]


def test_eld_drops_small_remainder_at_least_cost() -> None:
    """After {0, 1} (a, b) the cluster from 13 takes 12, both c, and 11 (b); 10 alone remains.

    In the second table 0 to 3 are a, a, b, c; 20 to 22 have three values and are fewer than k = 4.
    """
    diverse = Constraint(2, (model_requirement(l=2),))
    assert unrepaired_clusters("eld", ages([0, 1, 10, 11, 12, 13], "abbbcc"), diverse, **FIRST) == [
        {0, 1},
        {2, 3, 4, 5},
    ]
    three = Constraint(2, (model_requirement(l=3),))
    assert unrepaired_clusters("eld", ages([0, 1, 2, 3, 20, 21, 22], "aabcabc"), replace(three, k=4), **FIRST) == [
        set(range(7))
    ]


def ages(values: list[int], sensitive: str) -> EncodedTable:
    number = encoded_table.NumericAttribute(np.array(values, float) - values[0], True)
    words = sorted(set(sensitive))
    codes = np.array([words.index(v) for v in sensitive], np.int32)
    code_table, _ = encoded_table.encode_table(
        [number], [np.arange(len(values), dtype=np.int32)], np.zeros(len(values), np.uint64), None, None,
        [(codes, len(words), None)],
    )  # fmt: skip
    return code_table


def test_mwck_weights_equal_hand_computed_entropies() -> None:
    """Two of eight ages lie in the lower half: entropy 0.5623 of ln 2 is 0.8113. Sexes halve: 1. A constant: 0."""
    number = encoded_table.NumericAttribute(np.arange(8.0) ** 2, True)  # 0 to 49: 0, 1, 4, 9, 16 below 24.5
    tree = encoded_table.CategoricalAttribute(np.array([-1, 0, 0], np.int32), np.array([1, 2], np.int32))
    one = encoded_table.CategoricalAttribute(np.array([-1, 0], np.int32), np.array([1], np.int32))
    codes = [np.arange(8, dtype=np.int32), np.arange(8, dtype=np.int32) % 2, np.zeros(8, np.int32)]
    code_table, _ = encoded_table.encode_table([number, tree, one], codes, np.zeros(8, np.uint64), None)
    assert normalized_entropies(code_table, 2) == pytest.approx([0.954434, 1.0, 0.0], abs=1e-6)
