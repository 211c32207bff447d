"""The greedy family, IKAC and MDAV against plain loops over all records, and on tables worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import greedy as slow
from support.tables import SOME, Table, encoded, tables

from dbanon import cluster
from dbanon.models.constraint import AtLeast
from dbanon.space import space

FIRST = {"seed": 0, "mode": "deterministic"}


def clusters_of(name: str, made: space.Space, k: int, **options: object) -> list[set[int]]:
    chosen = cluster.find(name)
    given_ = {p.name: p.default for p in chosen.own} | options
    labels = cluster.run(chosen, made, AtLeast(k), given_)
    return [set(np.flatnonzero(labels == c).tolist()) for c in range(int(labels.max()) + 1)]


def unit(made: space.Space, k: int) -> float:
    """What a lost attribute counts: the sums stay below 2^62."""
    total = sum(a.weight for a in made.attributes) * max(2 * k + 1, made.total // k)
    return 2.0 ** (62 - math.frexp(total)[1])


def partition(clusters: list[list[int]]) -> list[set[int]]:
    return [set(c) for c in clusters]


@given(tables(), st.booleans())
@SOME
def test_growing_takes_what_the_plain_loop_takes(table: Table, leaves: bool) -> None:
    made = encoded(table).space
    k = min(max(table.k, 2), made.rows)
    if made.rows < 2:
        return
    heights = "leaves" if leaves else "edges"
    plain = slow.plain(made, unit(made, k), heights)
    far = partition(slow.greedy(plain, k, slow.far(plain, 0)))
    first = partition(slow.greedy(plain, k, lambda left: left[0]))
    made = space.Space(made.attributes, made.codes, made.counts, None, made.total)
    if leaves:
        assert clusters_of("gaa_cp", made, k, **FIRST, next="far") == far
        assert clusters_of("gaa_cp", made, k, **FIRST) == first
    else:
        assert clusters_of("kmember", made, k, **FIRST) == far
        assert clusters_of("kmembers_random", made, k, **FIRST) == first


@given(tables())
@SOME
def test_ikac_and_mdav_take_what_the_plain_loops_take(table: Table) -> None:
    made = encoded(table).space
    k = min(max(table.k, 2), made.rows)
    if made.rows < 2:
        return
    made = space.Space(made.attributes, made.codes, made.counts, None, made.total)
    plain = slow.plain(made, unit(made, k), "leaves")
    assert clusters_of("ikac", made, k, **FIRST) == partition(slow.ikac(plain, k, 0))
    assert clusters_of("mdav", made, k) == partition(slow.mdav(made, k))


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("kacpc", {}, [{4, 5, 3}, {2, 1, 6}]),
        ("mdav", {}, [{6, 5, 4}, {1, 2, 3}]),
        ("kmember", FIRST, [{6, 5, 4}, {1, 2, 3}]),
        ("kmembers_random", FIRST, [{1, 2, 3}, {4, 5, 6}]),
    ],
)
def test_the_six_rows_of_the_algorithm_reference(
    name: str, options: dict[str, object], expected: list[set[int]]
) -> None:
    tree = space.Tree(np.array([-1, 0, 0, 2, 2, 0, 5, 5, 5, 0], np.int32), np.array([1, 4, 6, 7, 8], np.int32))
    # Private, Self-emp-inc, Federal-gov, Local-gov, State-gov; records by age.
    ages = space.Number(np.array([0.0, 2, 4, 15, 21, 30]), True)
    codes = [np.arange(6, dtype=np.int32), np.array([3, 4, 2, 0, 0, 1], np.int32)]
    made, order = space.build([ages, tree], codes, np.zeros(6, np.uint64), None)
    assert order.tolist() == list(range(6))
    found = clusters_of(name, made, 3, **options)
    assert [{r + 1 for r in c} for c in found] == expected
