"""Dissimilarity trees and DHkmeans against plain loops over all records, by hand, and as a user types them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracle import poles as slow
from oracle.reference import Number
from support import by_row, sixty
from support.model_tables import demanded
from support.sixty import ASKED
from support.tables import SOME, Table, encoded, large, tables
from test_gather import alike, with_unit
from test_greedy import records, unit
from traced.tables import LETTERS, letters

from dbanon import algorithms
from dbanon.algorithms.partitioning import dissimilarity_tree, partition_tree
from dbanon.algorithms.partitioning.part_distances import PartDistances
from dbanon.encoding.encoded_table import EncodedTable, SensitiveColumn
from dbanon.privacy_models.constraint import Constraint


def clusters(name: str, made: EncodedTable, asked: Constraint, **options: object) -> list[list[int]]:
    chosen = algorithms.find(name)
    given_ = {p.name: p.default for p in chosen.own} | {"mode": "deterministic"} | options
    labels = by_row.labels(chosen.run(made, asked, given_, lambda: None))
    return [np.flatnonzero(labels == c).tolist() for c in range(int(labels.max()) + 1)]


def points(made: EncodedTable, heights: str) -> slow.Points:
    return slow.Points(made, with_unit(made, 1, heights), unit(made, 1))


def check_tree(made: EncodedTable, k: int) -> None:
    plain = points(made, "leaves")
    found = clusters("dissimilarity_tree", made, Constraint(k))
    assert alike(plain.pairs, found) == alike(plain.pairs, slow.dissimilarity_tree(plain, k))


@given(tables())
@SOME
def test_a_dissimilarity_tree_has_the_leaves_of_the_plain_loop(table: Table) -> None:
    made = records(encoded(table).space)
    check_tree(made, min(max(table.k, 2), made.rows))


@pytest.mark.parametrize("seed", range(6))
def test_a_larger_dissimilarity_tree_has_the_leaves_of_the_plain_loop(seed: int) -> None:
    table = large(seed)
    made = records(encoded(replace(table, records=table.records[:120], persons=None, ties=None)).space)
    check_tree(made, 3)


def check_halves(made: EncodedTable, k: int, values: list[list[int]], asked: Constraint, pairs: int) -> None:
    sensitive = tuple(SensitiveColumn(np.array(v, np.int32), np.append(np.bincount(v, minlength=3), 0)) for v in values)
    made = replace(made, sensitive=sensitive)
    plain = points(made, "edges")

    def enough(group: list[int]) -> bool:
        return len(group) >= k and all(len({values[m.sensitive][r] for r in group}) >= 2 for m in asked.models)

    found = clusters("dhkmeans", made, asked, pairs=pairs, rounds=4)
    expected = slow.dhkmeans(plain, asked.min_records, enough, values, pairs, 4)
    assert sorted(found) == sorted(expected)


@given(tables(), st.integers(0, 2), st.sampled_from([1, 4, 100]), st.integers(0, 10**6))
@SOME
def test_dhkmeans_cuts_as_the_plain_loop_cuts(table: Table, columns: int, pairs: int, seed: int) -> None:
    made = records(encoded(table).space)
    k, draws = min(max(table.k, 2), made.rows), np.random.default_rng(seed)
    values = [draws.integers(0, 3, made.rows).tolist() for _ in range(columns)]
    models = tuple(replace(demanded(l=2), sensitive=s) for s in range(columns))
    check_halves(made, k, values, Constraint(k, models), pairs)


@pytest.mark.parametrize("seed", range(6))
def test_dhkmeans_cuts_a_larger_table_as_the_plain_loop(seed: int) -> None:
    table = large(seed)
    made = records(encoded(replace(table, records=table.records[:120], persons=None, ties=None)).space)
    check_halves(made, 3, [], Constraint(3), 100)


def test_pairs_are_alike_in_what_is_sensitive() -> None:
    """0 and 10 are farthest, by 1, and have other values; 0 and 8 have the same one: 0.8 + 1."""
    made = encoded(Table([(v,) for v in (0, 1, 2, 8, 9, 10)], [Number()], 2)).space
    values = np.array([0, 1, 0, 0, 1, 1], np.int32)
    made = replace(made, sensitive=(SensitiveColumn(values, np.array([3, 3, 0])),))
    from dbanon.algorithms.partitioning.dhkmeans import _PairSampling

    distances = PartDistances(made, "edges")
    sampling = _PairSampling(made, distances, {"seed": 0, "pairs": 100, "mode": "random"})
    part = partition_tree.TablePart(np.arange(6), made.starts, made.counts)
    # 1 and 10 have the same value too, and are 9 apart.
    chosen = sampling.seeds(part, distances.codes(part.tuples))
    assert chosen == [distances.point(made.codes[1]), distances.point(made.codes[5])]


def test_siblings_swap_what_brings_both_closer() -> None:
    """{a, d} and {b, c, e} are * both and lose 5; {d, e} is B and {a, b, c} A: 2 * 2/7 + 3 * 3/7."""
    made = encoded(Table(letters("abcde"), LETTERS, 2)).space
    tree = dissimilarity_tree._DissimilarityTree(made, Constraint(2), PartDistances(made, "leaves"))
    one, other = np.array([0, 3]), np.array([1, 2, 4])
    tree.swap_records(one, other)
    assert (one.tolist(), other.tolist()) == ([4, 3], [1, 2, 0])


def test_equal_records_are_not_cut() -> None:
    made = encoded(Table([(5,)] * 20, [Number()], 2)).space
    assert clusters("dissimilarity_tree", made, Constraint(2)) == [list(range(20))]


def test_a_side_that_misses_the_model_takes_what_is_least_on_the_other_side() -> None:
    """Poles 0 and 20. The side of 0 has one value; of the others 11 is nearest to the middle, but has the same one."""
    made = encoded(Table([(v,) for v in (0, 1, 2, 11, 12, 18, 19, 20)], [Number()], 2)).space
    values = np.array([0, 0, 0, 0, 1, 0, 1, 1], np.int32)
    made = replace(made, sensitive=(SensitiveColumn(values, np.array([5, 3, 0])),))
    tree = dissimilarity_tree._DissimilarityTree(made, Constraint(2, (demanded(l=2),)), PartDistances(made, "leaves"))
    sides = tree.cut_part(partition_tree.TablePart(np.arange(8), made.starts, made.counts))
    assert [side.tuples.tolist() for side in sides] == [[0, 1, 2, 3, 4], [5, 6, 7]]


@pytest.fixture
def people(con: Any) -> Any:
    return sixty.people(con, disease=sixty.FOUR)


@pytest.mark.parametrize("call", ["dissimilarity_tree", "dhkmeans"])
@pytest.mark.parametrize("more", ["", ", l=3", ", t=0.4", ", max_level={'town': 0}", ", cell=20"])
def test_each_publishes_classes_that_meet_the_model(people: Any, call: str, more: str) -> None:
    least = 3 if "l=3" in more else 2 if call == "dhkmeans" else 1
    sixty.all_are_in_classes(people, call, more, classes=2, values=least)


def test_dhkmeans_draws_pairs_by_the_seed_and_asks_for_two_values(people: Any) -> None:
    call = f"FROM dhkmeans{ASKED.format(', pairs=3, seed={}')}"
    one, same = (people.execute(call.format(1)).fetchall() for _ in range(2))
    assert one == same and any(one != people.execute(call.format(seed)).fetchall() for seed in range(2, 6))
    with pytest.raises(duckdb.Error, match="dhkmeans: l is about sensitive values, and no column of people"):
        people.execute("FROM dhkmeans('people', k=5, qi=['age'])")
    with pytest.raises(duckdb.Error, match="pairs must be"):
        people.execute(f"FROM dhkmeans{ASKED.format(', pairs=0')}")
