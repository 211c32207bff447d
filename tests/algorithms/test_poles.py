"""Dissimilarity trees and DHkmeans compared with plain loops over all records, by hand, and called in SQL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pytest
from hand_traced.tables import LETTERS, letters
from hypothesis import given, strategies as st
from oracle import poles as slow
from oracle.reference import Number
from support import by_row, small_table
from support.model_tables import model_requirement
from support.small_table import ASKED
from support.tables import SOME, Table, encode_records, large, tables
from test_gather import equal_clusters, with_unit
from test_greedy import records, unit

from dbanon import algorithms
from dbanon.algorithms.partitioning import dissimilarity_tree, partition_tree
from dbanon.algorithms.partitioning.part_distances import PartDistances
from dbanon.encoding.encoded_table import EncodedTable, SensitiveColumn
from dbanon.privacy_models.constraint import Constraint


def clusters(name: str, table: EncodedTable, limits: Constraint, **options: object) -> list[list[int]]:
    selected_algorithm = algorithms.find(name)
    defaults_by_name = (
        {p.name: p.default for p in selected_algorithm.own_parameters} | {"mode": "deterministic"} | options
    )
    labels = by_row.labels(selected_algorithm.run(table, limits, defaults_by_name, lambda: None))
    return [np.flatnonzero(labels == c).tolist() for c in range(int(labels.max()) + 1)]


def points(table: EncodedTable, heights: str) -> slow.Points:
    return slow.Points(table, with_unit(table, 1, heights), unit(table, 1))


def check_tree(table: EncodedTable, k: int) -> None:
    plain_points = points(table, "leaves")
    actual_clusters = clusters("dissimilarity_tree", table, Constraint(k))
    assert equal_clusters(plain_points.pairs, actual_clusters) == equal_clusters(
        plain_points.pairs, slow.dissimilarity_tree(plain_points, k)
    )


@given(tables())
@SOME
def test_dissimilarity_tree_equals_plain_loop(table: Table) -> None:
    actual_records = records(encode_records(table).space)
    check_tree(actual_records, min(max(table.k, 2), actual_records.rows))


@pytest.mark.parametrize("seed", range(6))
def test_large_dissimilarity_tree_equals_plain_loop(seed: int) -> None:
    table = large(seed)
    actual_records = records(encode_records(replace(table, records=table.records[:120], persons=None, ties=None)).space)
    check_tree(actual_records, 3)


def check_dhkmeans(table: EncodedTable, k: int, values: list[list[int]], limits: Constraint, pairs: int) -> None:
    sensitive = tuple(SensitiveColumn(np.array(v, np.int32), np.append(np.bincount(v, minlength=3), 0)) for v in values)
    table = replace(table, sensitive=sensitive)
    plain_points = points(table, "edges")

    def enough(group: list[int]) -> bool:
        return len(group) >= k and all(len({values[m.sensitive][r] for r in group}) >= 2 for m in limits.models)

    actual_clusters = clusters("dhkmeans", table, limits, pairs=pairs, rounds=4)
    expected = slow.dhkmeans(plain_points, limits.min_records, enough, values, pairs, 4)
    assert sorted(actual_clusters) == sorted(expected)


@given(tables(), st.integers(0, 2), st.sampled_from([1, 4, 100]), st.integers(0, 10**6))
@SOME
def test_dhkmeans_equals_plain_loop(table: Table, columns: int, pairs: int, seed: int) -> None:
    actual_records = records(encode_records(table).space)
    k, draws = min(max(table.k, 2), actual_records.rows), np.random.default_rng(seed)
    values = [draws.integers(0, 3, actual_records.rows).tolist() for _ in range(columns)]
    models = tuple(replace(model_requirement(l=2), sensitive=s) for s in range(columns))
    check_dhkmeans(actual_records, k, values, Constraint(k, models), pairs)


@pytest.mark.parametrize("seed", range(6))
def test_dhkmeans_of_large_table_equals_plain_loop(seed: int) -> None:
    table = large(seed)
    actual_records = records(encode_records(replace(table, records=table.records[:120], persons=None, ties=None)).space)
    check_dhkmeans(actual_records, 3, [], Constraint(3), 100)


def test_dhkmeans_pole_pair_shares_sensitive_value() -> None:
    """0 and 10 are farthest, by 1, and have different values; 0 and 8 have the same one: 0.8 + 1."""
    encoded_table = encode_records(Table([(v,) for v in (0, 1, 2, 8, 9, 10)], [Number()], 2)).space
    values = np.array([0, 1, 0, 0, 1, 1], np.int32)
    encoded_table = replace(encoded_table, sensitive=(SensitiveColumn(values, np.array([3, 3, 0])),))
    from dbanon.algorithms.partitioning.dhkmeans import _PairSampling

    distances = PartDistances(encoded_table, "edges")
    sampling = _PairSampling(encoded_table, distances, {"seed": 0, "pairs": 100, "mode": "random"})
    part = partition_tree.TablePart(np.arange(6), encoded_table.starts, encoded_table.counts)
    # 1 and 10 have the same value too, at distance 9.
    selected_seeds = sampling.seeds(part, distances.codes(part.tuples))
    assert selected_seeds == [distances.point(encoded_table.codes[1]), distances.point(encoded_table.codes[5])]


def test_sibling_leaves_swap_records_to_lower_loss() -> None:
    """{a, d} and {b, c, e} are both * and lose 5; {d, e} is B and {a, b, c} A: 2 * 2/7 + 3 * 3/7."""
    encoded_table = encode_records(Table(letters("abcde"), LETTERS, 2)).space
    tree = dissimilarity_tree._DissimilarityTree(encoded_table, Constraint(2), PartDistances(encoded_table, "leaves"))
    one, other = np.array([0, 3]), np.array([1, 2, 4])
    tree.swap_records(one, other)
    assert (one.tolist(), other.tolist()) == ([4, 3], [1, 2, 0])


def test_dissimilarity_tree_does_not_cut_equal_records() -> None:
    encoded_table = encode_records(Table([(5,)] * 20, [Number()], 2)).space
    assert clusters("dissimilarity_tree", encoded_table, Constraint(2)) == [list(range(20))]


def test_side_missing_model_takes_cheapest_records() -> None:
    """Poles 0 and 20. The side of 0 has one value; of the others 11 is nearest to the middle, but has the same one."""
    encoded_table = encode_records(Table([(v,) for v in (0, 1, 2, 11, 12, 18, 19, 20)], [Number()], 2)).space
    values = np.array([0, 0, 0, 0, 1, 0, 1, 1], np.int32)
    encoded_table = replace(encoded_table, sensitive=(SensitiveColumn(values, np.array([5, 3, 0])),))
    tree = dissimilarity_tree._DissimilarityTree(
        encoded_table, Constraint(2, (model_requirement(l=2),)), PartDistances(encoded_table, "leaves")
    )
    sides = tree.cut_part(partition_tree.TablePart(np.arange(8), encoded_table.starts, encoded_table.counts))
    assert [side.tuples.tolist() for side in sides] == [[0, 1, 2, 3, 4], [5, 6, 7]]


@pytest.fixture
def people(con: Any) -> Any:
    return small_table.people(con, disease=small_table.FOUR)


@pytest.mark.parametrize("call", ["dissimilarity_tree", "dhkmeans"])
@pytest.mark.parametrize("extra_arguments", ["", ", l=3", ", t=0.4", ", max_level={'town': 0}", ", max_partition=20"])
def test_pole_classes_meet_model(people: Any, call: str, extra_arguments: str) -> None:
    minimum = 3 if "l=3" in extra_arguments else 2 if call == "dhkmeans" else 1
    small_table.assert_classes(people, call, extra_arguments, classes=2, values=minimum)


def test_dhkmeans_pairs_by_seed_and_requires_two_values(people: Any) -> None:
    call = f"FROM dhkmeans{ASKED.format(', pairs=3, seed={}')}"
    one, same = (people.execute(call.format(1)).fetchall() for _ in range(2))
    assert one == same and any(one != people.execute(call.format(seed)).fetchall() for seed in range(2, 6))
    with pytest.raises(duckdb.Error, match="dhkmeans: l needs a sensitive column, and people"):
        people.execute("FROM dhkmeans('people', k=5, qi=['age'])")
    with pytest.raises(duckdb.Error, match="pairs must be"):
        people.execute(f"FROM dhkmeans{ASKED.format(', pairs=0')}")
