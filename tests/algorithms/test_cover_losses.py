"""Covers compared with a plain loop over records, on random small tables."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from oracle import covers

from dbanon.algorithms.base.kernel_inputs import KernelInputs, build_kernel_inputs
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.full_domain.levels import AttributeLevels
from dbanon.algorithms.optimizing import generalization_covers
from dbanon.algorithms.optimizing.generalization_covers import CoverLattice
from dbanon.encoding import encoded_table
from dbanon.encoding.encoded_table import Codes, EncodedTable
from dbanon.privacy_models.constraint import Constraint


def random_space(rng: random.Random) -> encoded_table.EncodedTable:
    """Return numbers and categories with NULLs; some records are equal."""
    rows, attributes, columns = rng.randint(1, 120), [], []
    for _ in range(rng.randint(1, 5)):
        weight = rng.choice([1.0, 1.0, 2.5])
        attribute: encoded_table.Attribute
        if rng.random() < 0.4:
            attribute = encoded_table.NumericAttribute(
                np.cumsum(np.array([0.0, *(rng.randint(1, 9) for _ in range(11))])), True, weight
            )
        else:
            parent = np.array([-1, 0, 1, 1, 1, 0, 5, 5, 0, 8, 8, 8, 8], np.int32)
            attribute = encoded_table.CategoricalAttribute(
                parent, np.array([2, 3, 4, 6, 7, 9, 10, 11, 12], np.int32), weight
            )
        last = attribute.values - 1 + (rng.random() < 0.3)
        columns.append(np.array([min(int(rng.expovariate(0.4)), last) for _ in range(rows)], np.int32))
        attributes.append(attribute)
    return encoded_table.encode_table(attributes, columns, np.zeros(rows, np.uint64), None)[0]


def covers_table(table: encoded_table.EncodedTable, min_records: int, heights: str) -> covers.CoverTable:
    """Return the table in the form of the oracle: labels and losses of each level."""
    tuple_of = table.tuple_of
    levels = [AttributeLevels.from_codes(a, table.codes[:, j]) for j, a in enumerate(table.attributes)]
    terms = Loss(table, 1, heights).terms

    def label(record: int, j: int, level: int) -> int:
        code = table.codes[tuple_of[record], j]
        return int(levels[j].blocks_above(0, level)[levels[j].steps[0][code]])

    def record_loss(record: int, j: int, level: int) -> int:
        equal_numbers = [
            int(code)
            for code in np.unique(table.codes[:, j])
            if levels[j].blocks_above(0, level)[levels[j].steps[0][code]] == label(record, j, level)
        ]
        return int(terms[j].losses(np.array([min(equal_numbers)]), np.array([max(equal_numbers)]))[0])

    top = tuple(len(one_level.numbers) - 1 for one_level in levels)
    remaining: dict[tuple[int, int, int], tuple[int, int]] = {}

    def both(record: int, j: int, level: int) -> tuple[int, int]:
        key = (int(table.codes[tuple_of[record], j]), j, level)
        if key not in remaining:
            remaining[key] = label(record, j, level), record_loss(record, j, level)
        return remaining[key]

    return covers.CoverTable(table.rows, top, lambda *at: both(*at)[0], lambda *at: both(*at)[1], min_records)


@pytest.mark.parametrize("heights", ["top", "leaves"])
@pytest.mark.parametrize("seed", range(30))
def test_covers_equal_plain_loop(seed: int, heights: str) -> None:
    rng = random.Random(f"{seed} {heights}")
    actual_random_space, k = random_space(rng), rng.choice([2, 3, 5, 10])
    problem = build_kernel_inputs(actual_random_space, Constraint(k), heights)
    lattice = CoverLattice.from_inputs(actual_random_space, problem, heights, 10**9, lambda: None)
    slow = covers_table(actual_random_space, k, heights)
    maximum = max(
        sum(slow.lost(r, j, level) for j, level in enumerate(slow.top)) for r in range(actual_random_space.rows)
    )
    assert lattice.max_loss == maximum
    if maximum == 0:
        return
    worth = int(rng.choice([0.05, 0.17, 0.5, 1.0]) * maximum)
    worth_factor = rng.choice(generalization_covers.WORTH_FACTORS)
    turn, key = generalization_covers._build_cover(lattice, worth, worth_factor)
    tuple_of = actual_random_space.tuple_of
    expected = covers.cover(
        slow,
        worth,
        worth_factor,
        generalization_covers.MIN_COVERED_SHARE,
        generalization_covers.MAX_WORTH_SHARE,
    )
    for number, groups in enumerate(expected):
        for group in groups:
            tuples = np.unique(tuple_of[group])
            assert {int(turn[t]) for t in tuples} == {number}
            assert len({int(key[t]) for t in tuples}) == 1
        assert len({int(key[tuple_of[group[0]]]) for group in groups}) == len(groups)


def cover_orders(space: EncodedTable, problem: KernelInputs, effort: str = "fast") -> list[Codes]:
    """Return the orders that are tried, if each cover loses less than the one before."""
    orders: list[Codes] = []

    def loss_of(order: Codes) -> int:
        orders.append(order)
        return -len(orders)

    generalization_covers.try_covers(loss_of, space, problem, effort, "top", 0, lambda: None)
    return orders


def test_cover_orders_contain_every_item_once() -> None:
    rng = random.Random(3)
    for _ in range(20):
        actual_random_space = random_space(rng)
        problem = build_kernel_inputs(actual_random_space, Constraint(3), "top")
        for order in cover_orders(actual_random_space, problem):
            assert np.sort(order).tolist() == list(range(len(problem.codes)))


def test_more_effort_tries_same_covers_first() -> None:
    space = random_space(random.Random(8))
    problem = build_kernel_inputs(space, Constraint(2), "top")
    orders = [cover_orders(space, problem, effort) for effort in ("fast", "normal", "high")]
    for fewer, more in pairwise(orders):
        assert len(fewer) <= len(more)
        assert all(np.array_equal(order, other) for order, other in zip(fewer, more, strict=False))


@pytest.mark.parametrize(("loss_of_lines", "n_orders"), [(100, 4), (91, 4), (90, 2), (1, 2)])
def test_no_other_cover_if_first_loses_far_more_than_lines(loss_of_lines: int, n_orders: int) -> None:
    """A cover of loss 100 is the only one if lines lose less than 100 / 1.1; each cover has two orders."""
    space, orders = random_space(random.Random(8)), []
    problem = build_kernel_inputs(space, Constraint(2), "top")

    def loss_of(order: Codes) -> int:
        orders.append(order)
        return 100

    generalization_covers.try_covers(loss_of, space, problem, "fast", "top", loss_of_lines, lambda: None)
    assert len(orders) == n_orders


def test_cover_search_stops_after_max_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tuples that remain after enough steps form one group; one cover is always made."""
    monkeypatch.setattr(generalization_covers, "MAX_LOOKS", {"fast": (50, 0)})
    actual_random_space = random_space(random.Random(8))
    problem = build_kernel_inputs(actual_random_space, Constraint(2), "top")
    assert len(cover_orders(actual_random_space, problem)) == 2
