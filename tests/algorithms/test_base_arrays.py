"""Small array functions of dbanon.algorithms.base compared with plain loops."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, strategies as st
from support.tables import SOME, Table, encode_records, tables

from dbanon.algorithms.base.assignments import RunLengthLabels, chain_numbers, inverse_permutation
from dbanon.algorithms.base.class_bounds import code_ranges
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.packed_classes import PackedClasses
from dbanon.algorithms.greedy.wkmca import normalized_entropy

ENTRIES = st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=1, max_size=4), max_size=6)
"""The entries (item, count) of each class."""


@given(st.permutations(range(12)))
@SOME
def test_inverse_permutation_has_place_of_each_number(order: list[int]) -> None:
    assert inverse_permutation(np.array(order)).tolist() == [order.index(i) for i in range(len(order))]


@given(st.lists(st.lists(st.none(), min_size=1, max_size=4), max_size=6), st.randoms())
@SOME
def test_chain_numbers_equal_lists_that_were_linked(lengths: list[list[None]], random: Random) -> None:
    entries = random.sample(range(n := sum(map(len, lengths))), n)
    chains = [[entries.pop() for _ in chain] for chain in lengths]
    next_entry, expected = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    for number, chain in enumerate(chains):
        expected[chain] = number
        next_entry[chain[:-1]] = chain[1:]
    heads = np.array([chain[0] for chain in chains], np.int64)
    assert chain_numbers(heads, next_entry).tolist() == expected.tolist()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50)), min_size=1))
@SOME
def test_code_ranges_equal_least_and_greatest_of_group(pairs: list[tuple[int, int]]) -> None:
    groups, codes = np.array(pairs).T
    low, high = code_ranges(groups, codes, 4)
    for g in set(groups.tolist()):
        members = [code for group, code in pairs if group == g]
        assert (low[g], high[g]) == (min(members), max(members))


@given(st.lists(st.integers(1, 5), min_size=1))
@SOME
def test_suppressed_labels_suppress_all_records(counts: list[int]) -> None:
    labels = RunLengthLabels.suppressed(np.array(counts))
    assert labels.labels().tolist() == [-1] * sum(counts)
    assert labels.n_suppressed == sum(counts)


@given(ENTRIES)
@SOME
def test_packed_entries_have_sizes_of_classes(entries: list[list[tuple[int, int]]]) -> None:
    flat = [entry for members in entries for entry in members]
    starts = np.cumsum([0, *(len(members) for members in entries)])
    item_numbers, counts = (np.array([entry[i] for entry in flat], np.int64) for i in range(2))
    classes = PackedClasses.from_entries(item_numbers, counts, starts, 2)
    assert classes.n_classes == len(entries)
    assert classes.sizes[: len(entries)].tolist() == [sum(count for _, count in members) for members in entries]
    for c, members in enumerate(entries):
        part = slice(classes.starts[c], classes.starts[c + 1])
        assert list(zip(classes.items[part].tolist(), classes.counts[part].tolist(), strict=True)) == members


@given(tables())
@SOME
def test_pair_losses_equal_losses_of_two_codes(table: Table) -> None:
    space = encode_records(table).space
    for term in Loss(space, 2, "edges").terms:
        pairs = term.pair_losses()
        assert pairs is not None
        for a in range(term.attribute.values + 1):
            for b in range(term.attribute.values + 1):
                low, high = np.array([min(a, b)]), np.array([max(a, b)])
                assert pairs[a, b] == term.losses(low, high)[0]


def test_normalized_entropy_is_1_for_equal_shares() -> None:
    assert normalized_entropy(np.array([1.0])) == 0.0
    assert abs(normalized_entropy(np.full(4, 0.25)) - 1.0) < 1e-12
    assert 0 < normalized_entropy(np.array([0.9, 0.1])) < normalized_entropy(np.array([0.6, 0.4])) < 1
