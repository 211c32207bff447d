"""The algorithms that the papers only name, compared with plain loops on tiny tables, and called in SQL."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from oracle import named_systems as slow
from oracle.greedy import LossTable
from oracle.reference import Number
from support import by_row, small_table
from support.tables import SOME, Table, tables
from test_gather import equal_clusters, small, with_unit

from dbanon import algorithms
from dbanon.algorithms.base.registry import MAX_SUPPRESSED
from dbanon.algorithms.nearest_neighbour.fmdav import MAX_BITS
from dbanon.encoding.encoded_table import EncodedTable, Ints, SensitiveColumn
from dbanon.privacy_models.constraint import Constraint
from dbanon.privacy_models.model_request import model_requirements

NAMES = ("bottom_up_generalization", "fmdav", "k_optimize", "k_similar", "kl_member", "r_cellular", "tds")


def labels(name: str, space: EncodedTable, constraint: Constraint, **given: object) -> Ints:
    algorithm = algorithms.find(name)
    options = (
        {p.name: p.default for p in algorithm.own_parameters} | {"mode": "deterministic", MAX_SUPPRESSED: 0} | given
    )
    return by_row.labels(algorithm.run(space, constraint, options, lambda: None))


def clusters(result: Ints) -> list[list[int]]:
    return [np.flatnonzero(result == c).tolist() for c in np.unique(result[result >= 0])]


def tiny_case(table: Table) -> tuple[EncodedTable, int, LossTable]:
    space, k = small(table)
    assume(space.rows >= 2 * k)
    return space, k, with_unit(space, k, "edges")


@given(tables())
@SOME
def test_r_cellular_equals_plain_loop(table: Table) -> None:
    space, k, pairs = tiny_case(table)
    actual = clusters(labels("r_cellular", space, Constraint(k)))
    assert equal_clusters(pairs, actual) == equal_clusters(pairs, slow.r_cellular(pairs, k))


@given(tables())
@SOME
def test_k_similar_equals_plain_loop(table: Table) -> None:
    space, k, pairs = tiny_case(table)
    actual = clusters(labels("k_similar", space, Constraint(k)))
    assert equal_clusters(pairs, actual) == equal_clusters(pairs, slow.k_similar(pairs, k))


@given(tables(), st.integers(2, 3), st.integers(0, 10**6))
@SOME
def test_kl_member_equals_plain_loop(table: Table, l: int, seed: int) -> None:  # noqa: E741
    space, k, _ = tiny_case(table)
    values = np.random.default_rng(seed).integers(0, 3, space.rows).astype(np.int32)
    space = replace(space, sensitive=(SensitiveColumn(values, np.bincount(values, minlength=4)),))
    constraint = Constraint(k, model_requirements("kl_member", "t", {"l": l}, ["s"]))
    assume(space.rows >= 2 * constraint.min_records)
    pairs = with_unit(space, constraint.min_records, "edges")
    actual = clusters(labels("kl_member", space, constraint))
    assert sorted(actual) == sorted(
        sorted(c) for c in slow.kl_member(pairs, values.tolist(), constraint.min_records, l)
    )


@given(tables())
@SOME
def test_fmdav_equals_plain_loop(table: Table) -> None:
    space, k, pairs = tiny_case(table)
    largest = sum(2 * a.weight for a in space.attributes)
    bits = min(MAX_BITS, (58 - math.frexp(largest * space.rows)[1]) // 2)
    actual = clusters(labels("fmdav", space, Constraint(k)))
    assert equal_clusters(pairs, actual) == equal_clusters(pairs, slow.fmdav(space, pairs, k, bits))


@given(tables())
@SOME
def test_bottom_up_generalization_equals_plain_loop(table: Table) -> None:
    space, k, pairs = tiny_case(table)
    actual = clusters(labels("bottom_up_generalization", space, Constraint(k)))
    assert equal_clusters(pairs, actual) == equal_clusters(pairs, slow.bottom_up_generalization(space, pairs, k))


@given(tables())
@SOME
def test_tds_equals_plain_loop(table: Table) -> None:
    space, k, pairs = tiny_case(table)
    actual = clusters(labels("tds", space, Constraint(k)))
    assert equal_clusters(pairs, actual) == equal_clusters(pairs, slow.tds(space, pairs, k))


@given(tables(), st.integers(0, 3))
@SOME
def test_k_optimize_without_limit_finds_least_cost(table: Table, max_suppressed: int) -> None:
    space, k, pairs = tiny_case(table)
    assume(sum(len(np.unique(space.codes[:, j])) - 1 for j in range(space.codes.shape[1])) <= 8)
    result = labels("k_optimize", space, Constraint(k), max_nodes=0, **{MAX_SUPPRESSED: max_suppressed})
    sizes, n_suppressed = np.bincount(result[result >= 0]), int((result < 0).sum())
    assert n_suppressed <= max_suppressed
    assert sum(sizes.astype(int) ** 2) + n_suppressed * space.rows == slow.least_discernibility(
        pairs, k, max_suppressed
    )


def test_tds_in_parts_continues_from_most_general_nodes() -> None:
    """Of 16 values with 2 records each, every part allows blocks of 4 values, and all records blocks of 2."""
    from dbanon.encoding.encoded_table import NumericAttribute, encode_table

    axis = NumericAttribute(np.arange(16.0), True, magnitudes=np.arange(16.0))
    codes = np.arange(32, dtype=np.int32) // 2
    space = encode_table([axis], [codes], np.arange(32, dtype=np.uint64), None, None, [])[0]
    for parts in (1, 2):
        assert np.bincount(labels("tds", space, Constraint(4), parts=parts)).tolist() == [4] * 8


def test_fmdav_coincides_with_mdav_on_numbers(con: Any) -> None:
    people = small_table.people(con)
    one, other = (
        people.execute(f"SELECT size, age FROM {name}_classes('people', k=5, qi=['age']) ORDER BY ALL").fetchall()
        for name in ("mdav", "fmdav")
    )
    assert one == other


@pytest.mark.parametrize("call", NAMES)
@pytest.mark.parametrize("extra_arguments", ["", ", l=2", ", max_level={'town': 0}", ", max_partition=20"])
def test_classes_of_named_systems_meet_model(con: Any, call: str, extra_arguments: str) -> None:
    small_table.assert_classes(
        small_table.people(con), call, extra_arguments, classes=1, values=2 if ", l=2" in extra_arguments else 1
    )


def test_bottom_up_generalization_unites_null_with_only_value() -> None:
    """Uniting NULL and 0 of y costs 4 records for 2, of x 3 records for 1: the value of y is the root already."""
    records = [(0, 0), (0, None), (0, None), (None, 0), (None, None), (None, None)]
    space, k = small(Table(records, [Number(1.0), Number(1.0)], 2))
    assert clusters(labels("bottom_up_generalization", space, Constraint(k))) == [[0, 1, 2], [3, 4, 5]]
