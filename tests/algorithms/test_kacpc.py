"""KACPC compared with the paper's numbers and with the plain loop of the reference, record by record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from oracle import reference
from oracle.reference import Category, Number, Value
from support import by_row
from support.tables import (
    MANY,
    SOME,
    Encoded,
    Table,
    create_table,
    encode_records,
    labels_of,
    large,
    parents,
    preorder,
    published_classes,
    tables,
    trees,
)

from dbanon import algorithms
from dbanon.encoding import distance, encoded_table, tuple_index, tuple_trie
from dbanon.privacy_models.constraint import Constraint

WORKCLASS = [
    ["Private", "*"],
    ["Self-emp-not-inc", "Self-emp", "*"],
    ["Self-emp-inc", "Self-emp", "*"],
    ["Federal-gov", "Gov", "*"],
    ["Local-gov", "Gov", "*"],
    ["State-gov", "Gov", "*"],
    ["Without-pay", "*"],
]
SIX: list[list[Value]] = [
    [25, "Local-gov"],
    [27, "State-gov"],
    [29, "Federal-gov"],
    [40, "Private"],
    [46, "Private"],
    [55, "Self-emp-inc"],
]
AGE_AND_WORKCLASS: list[reference.Attribute] = [Number(), Category(reference.Tree(WORKCLASS))]


def run(table: Table, prune_unused: bool = True) -> tuple[Encoded, list[int]]:
    """Return the table as it was clustered, and the cluster of every canonical record."""
    code_table = encode_records(table)
    options = {"prune_unused": prune_unused}
    return code_table, by_row.run_labels(
        algorithms.find("kacpc"), code_table.space, Constraint(table.k), options
    ).tolist()


def expected(table: Table, code_table: Encoded, prune_unused: bool = True) -> list[int]:
    """Return the cluster of every canonical record by the reference."""
    clusters = reference.kacpc(code_table.records, table.attributes, table.k, code_table.persons, prune_unused)
    return labels_of(clusters, len(code_table.records))


def distance_between(tables: Sequence[distance.DistanceTable], one: Sequence[int], other: Sequence[int]) -> int:
    """Return DistR of two tuples of codes, in multiples of 2^-s."""
    return sum(int(row[code]) for row, code in zip(distance.distance_rows(tables, one), other, strict=True))


# The paper's numbers


def dist_c(rows: list[list[str]], a: str, b: str, prune_unused: bool = False) -> float:
    """Return DistC of two values by the package, for a table that holds the seven values of Adult."""
    tree = reference.Tree(rows)
    column: list[Value] = [row[0] for row in WORKCLASS]
    code_table = encode_records(Table([[value] for value in column], [Category(tree)], 7))
    labels = [label for (label,) in code_table.records]
    (table,) = distance.kacpc_distances(code_table.space, 7, prune_unused)
    return float(table.row(labels.index(a))[labels.index(b)]) / 2**56


@pytest.mark.parametrize("prune_unused", [True, False])
@pytest.mark.parametrize(
    ("a", "b", "expected_distance"),
    [
        ("Private", "Private", 0),
        ("Private", "Local-gov", 18),
        ("State-gov", "Local-gov", 0.462828),
        ("Self-emp-inc", "Self-emp-not-inc", 0.205701),
        ("Private", "Without-pay", 9),
        ("Private", "Self-emp-inc", 18),
        ("Local-gov", "Self-emp-inc", 36),
    ],
)
def test_kacpc_category_distances_equal_published(a: str, b: str, expected_distance: float, prune_unused: bool) -> None:
    """36 is in [2^5, 2^6) and floor(7/7) is 1, so distances are multiples of 2^-56."""
    assert dist_c(WORKCLASS, a, b, prune_unused) == pytest.approx(expected_distance, abs=5e-7)
    assert dist_c(WORKCLASS, a, b, prune_unused) == dist_c(WORKCLASS, b, a, prune_unused)


def test_absent_leaf_pruned_and_single_child_kept() -> None:
    rows = [*WORKCLASS[:-1], ["Without-pay", "not-work", "*"], ["Never-worked", "not-work", "*"]]
    assert dist_c(rows, "State-gov", "Local-gov", prune_unused=True) == pytest.approx(0.4628, abs=5e-5)
    assert dist_c(rows, "State-gov", "Local-gov", prune_unused=False) == pytest.approx(0.3544, abs=5e-5)
    assert dist_c(rows, "Private", "Without-pay", prune_unused=True) == 18


def test_kacpc_distances_equal_published_trace() -> None:
    """To the modal record (25, Private): 18, 18.0667, 18.1333, 0.5, 0.7, 19; 2 (1 + 36) = 74 gives s = 55."""
    code_table = encode_records(Table(SIX, AGE_AND_WORKCLASS, 3))
    tables = distance.kacpc_distances(code_table.space, 3, prune_unused=False)
    assert list(code_table.records) == SIX, "canonical order is by age"
    codes = code_table.space.codes.tolist()
    private = codes[3][1]
    values = [distance_between(tables, [0, private], code) / 2**55 for code in codes]
    assert values == pytest.approx([18, 18.066667, 18.133333, 0.5, 0.7, 19], abs=5e-7)


@pytest.mark.parametrize("prune_unused", [True, False])
def test_kacpc_clusters_equal_published_fixture(prune_unused: bool) -> None:
    """{4, 5, 3} around 4, then {2, 1, 6} around 2."""
    _, labels = run(Table(SIX, AGE_AND_WORKCLASS, 3), prune_unused)
    assert labels == [1, 1, 0, 0, 0, 1]


@pytest.mark.parametrize("prune_unused", ["true", "false"])
def test_sql_classes_and_precision_equal_published_fixture(six: Any, prune_unused: str) -> None:
    call = f"('six', k=3, prune_unused := {prune_unused})"
    classes = six.execute(f"SELECT size, age, workclass FROM kacpc_classes{call}").fetchall()
    assert classes == [(3, "[25, 55]", "*"), (3, "[29, 46]", "*")]
    rows = six.execute(f"SELECT age, workclass, disease FROM kacpc{call} ORDER BY ALL").fetchall()
    assert rows == [("[25, 55]", "*", d) for d in ("Flu", "Flu", "HIV")] + [
        ("[29, 46]", "*", d) for d in ("Cancer", "Cancer", "Flu")
    ]
    query = f"SELECT value FROM kacpc_metrics{call} WHERE metric = 'precision'"
    assert six.execute(query).fetchall()[0][0] == pytest.approx(1 - 10.7 / 12, abs=5e-7)


@pytest.mark.parametrize(("k", "precision"), [(10, 0.951), (50, 0.862), (100, 0.807)])
def test_kacpc_precision_of_adult_equals_published(adult: Any, k: int, precision: float) -> None:
    query = f"SELECT metric, value FROM kacpc_metrics('adult', k={k})"
    mapping = dict(adult.execute(query).fetchall())
    assert mapping["records"] == 30162
    assert mapping["k"] >= k
    assert mapping["clusters"] == 30162 // k
    assert mapping["precision"] == pytest.approx(precision, abs=0.003)


# Distances


@MANY
@given(tables(), st.booleans())
def test_kacpc_distances_equal_reference_exactly(table: Table, prune_unused: bool) -> None:
    code_table = encode_records(table)
    fast = distance.kacpc_distances(code_table.space, table.k, prune_unused)
    slow = reference.kacpc_distance(code_table.records, table.attributes, table.k, prune_unused)
    firsts = code_table.space.starts.tolist()
    for code, first in zip(code_table.space.codes.tolist(), firsts, strict=True):
        values = [distance_between(fast, code, other) for other in code_table.space.codes.tolist()]
        assert values == [slow(code_table.records[first], code_table.records[other]) for other in firsts]


@SOME
@given(trees(), st.randoms(use_true_random=False))
def test_inner_node_distances_follow_equation_5(tree: reference.Tree, rng: Any) -> None:
    nodes = preorder(tree)
    selected_values = sorted(rng.sample(range(len(nodes)), rng.randint(1, len(nodes))))
    attribute = encoded_table.CategoricalAttribute(parents(tree), np.array(selected_values, np.int32))
    codes = np.arange(len(selected_values), dtype=np.int32)
    code_table, _ = encoded_table.encode_table([attribute], [codes], np.zeros(len(selected_values), np.uint64), None)
    (table,) = distance.kacpc_distances(code_table, len(selected_values), prune_unused=False)
    exact = [[_equation_5(tree, nodes[a], nodes[b]) for b in selected_values] for a in selected_values]
    greatest = max(max(row) for row in exact)
    unit = 2.0 ** (62 - np.frexp(greatest)[1]) if greatest else 1.0
    for code, row in enumerate(exact):
        assert table.row(code)[:-1].tolist() == [round(d * unit) for d in row]


def _equation_5(tree: reference.Tree, a: reference.Node, b: reference.Node) -> float:
    above = tree.lca(a, b)
    return reference.dist(tree, a, above) * reference.dist(tree, b, above)


def test_value_has_distance_0_to_its_ancestor() -> None:
    """Tree * > Gov > Local, State and * > Private; values Gov, Local, State, Private."""
    tree = encoded_table.CategoricalAttribute(np.array([-1, 0, 1, 1, 0], np.int32), np.array([1, 2, 3, 4], np.int32))
    code_table, _ = encoded_table.encode_table([tree], [np.arange(4, dtype=np.int32)], np.zeros(4, np.uint64), None)
    (table,) = distance.kacpc_distances(code_table, 4, prune_unused=True)
    gov = table.row(0).tolist()
    assert gov[:3] == [0, 0, 0]
    assert gov[3] > 0
    assert table.row(1)[2] > 0


@pytest.mark.parametrize("prune_unused", [True, False])
@pytest.mark.parametrize("weight", [1.0, 100.0, 1e6])
@pytest.mark.parametrize("constant", [Number(), Category(reference.Tree(WORKCLASS))])
def test_constant_column_of_any_weight_changes_nothing(
    constant: reference.Attribute, weight: float, prune_unused: bool
) -> None:
    heavy = replace(constant, weight=weight)
    value = 7 if isinstance(constant, Number) else "Private"
    table = Table([[n, value] for n in (0, 1, 2)], [Number(), heavy], 3)
    assert run(table, prune_unused)[1] == [0, 0, 0]


def test_heavy_constant_column_can_be_published(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT 'x' AS sex, 1 AS ward, range::INTEGER AS age FROM range(4)")
    query = "SELECT size, age FROM kacpc_classes('t', k=2, qi=['sex', 'ward', 'age'], weights={'sex': 99, 'ward': 99})"
    assert con.execute(query).fetchall() == [(2, "[0, 1]"), (2, "[2, 3]")]


def test_days_in_nanoseconds_keep_equal_steps() -> None:
    """A year of TIMESTAMP_NS spans more than 2^53 steps, but all are multiples of a day and exact as DOUBLE."""
    days = np.arange(365) * 86_400e9
    code_table, _ = encoded_table.encode_table(
        [encoded_table.NumericAttribute(days, True)], [np.arange(365, dtype=np.int32)], np.zeros(365, np.uint64), None
    )
    (table,) = distance.kacpc_distances(code_table, 365, prune_unused=True)
    assert set(np.diff(table.row(0)[:-1]).tolist()) == {round(2.0**61 / 364)}


# Clusters


WAYS = {"tables": (256, 64), "mixed": (3, 2), "boxes": (0, 1), "blocks": (0, 8)}
"""TABLE_LIMIT (dbanon.encoding.tuple_index) and BLOCK (dbanon.encoding.tuple_trie).

With these, small tables use the methods of large ones.
"""


@contextmanager
def index_mode(name: str) -> Iterator[None]:
    """Make the index use the method `name` inside the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuple_index, "MAX_TABULAR_VALUES", WAYS[name][0])
        patch.setattr(tuple_trie, "MAX_BLOCK_TUPLES", WAYS[name][1])
        yield


@MANY
@given(tables(), st.booleans(), st.sampled_from(sorted(WAYS)))
def test_kacpc_clusters_equal_plain_loop(table: Table, prune_unused: bool, name: str) -> None:
    with index_mode(name):
        code_table, labels = run(table, prune_unused)
    assert labels == expected(table, code_table, prune_unused)


@pytest.mark.parametrize("seed", range(16))
def test_kacpc_clusters_of_large_table_equal_plain_loop(seed: int) -> None:
    table, prune_unused = large(seed), seed % 2 == 0
    code_table = encode_records(table)
    slow = expected(table, code_table, prune_unused)
    for name in WAYS:
        with index_mode(name):
            assert run(table, prune_unused)[1] == slow


def ages(*values: Value, k: int, persons: Sequence[str | None] | None = None) -> list[int]:
    """Return the clusters of a table of one number, given in ascending order."""
    return run(Table([[v] for v in values], [Number()], k, persons, list(range(len(values)))))[1]


def test_kacpc_clusters_equal_hand_traced_ages() -> None:
    """0 is modal: {0, 1}; then 2: {2, 3}; 4 takes 10, and the remaining 11 is nearest to 4."""
    assert ages(0, 1, 2, 3, 4, 10, 11, k=2) == [0, 0, 1, 1, 2, 2, 2]


def test_equal_records_join_clusters_in_canonical_order() -> None:
    assert ages(5, 5, 5, 5, 5, k=2) == [0, 0, 1, 1, 0], "the leftover goes to the earlier cluster"


@pytest.mark.parametrize("n", [3, 4, 5])
def test_kacpc_of_fewer_than_2k_records_is_one_cluster(n: int) -> None:
    assert ages(*range(n), k=3) == [0] * n


def test_leftovers_join_nearest_centroid_earliest_on_ties() -> None:
    assert ages(0, 0, 2, 4, 4, k=2) == [0, 0, 1, 1, 1], "2 is the second centroid, it is nearer to 0 than 4 is"
    letters: list[Value] = ["a", "a", "b", "b", "c"]
    flat = Category(reference.flat(letters))
    assert run(Table([[letter] for letter in letters], [flat], 2))[1] == [0, 0, 1, 1, 0], "c is as far from a as from b"


def test_nulls_cluster_together_and_seed_first() -> None:
    assert ages(1, 2, None, None, k=2) == [1, 1, 0, 0]
    assert ages(1, 1, None, None, k=2) == [0, 0, 1, 1], "NULL loses ties"


def test_kacpc_cluster_grows_until_k_persons() -> None:
    """0 (A) takes 0 (A), 0 (unknown) and 1 (B); then 2 (C) and 3 (D) remain."""
    assert ages(0, 0, 0, 1, 2, 3, k=2, persons=["A", "A", None, "B", "C", "D"]) == [0, 0, 0, 0, 1, 1]
    assert ages(0, 0, 0, 1, 2, 3, k=2, persons=["A", "A", None, "B", "C", "C"]) == [0] * 6


@pytest.mark.parametrize("seed", range(100, 108))
def test_sql_classes_and_precision_equal_plain_loop(con: Any, seed: int) -> None:
    table = replace(large(seed), persons=None)
    code_table = encode_records(table)
    clusters = reference.kacpc(code_table.records, table.attributes, table.k)
    call = create_table(con, table)
    columns = ", ".join(f"q{j}" for j in range(len(table.attributes)))
    rows = con.execute(f"SELECT size, {columns} FROM kacpc_classes({call})").fetchall()
    assert {tuple(values): size for size, *values in rows} == published_classes(table, code_table.records, clusters)
    assert len(rows) == len({tuple(values) for _, *values in rows})
    query = f"SELECT value FROM kacpc_metrics({call}) WHERE metric = 'precision'"
    precision = reference.eloss_precision(code_table.records, table.attributes, clusters, clusters)
    assert con.execute(query).fetchall()[0][0] == pytest.approx(precision, abs=1e-9)


def test_sql_ties_resolve_to_first_leaf_in_file(con: Any) -> None:
    """b and a are modal: b, the first in the file, is the first seed; c is as far from a as from b and joins b."""
    con.execute("CREATE TABLE t AS SELECT unnest(['a', 'a', 'b', 'b', 'c']) AS x")
    query = "SELECT x, size FROM kacpc_classes('t', k=2, qi=['x'], hierarchies={'x': 'b;*\na;*\nc;*'})"
    assert con.execute(query).fetchall() == [("*", 3), ("a", 2)]


def test_kacpc_refuses_value_missing_from_hierarchy(six: Any) -> None:
    six.execute("INSERT INTO six VALUES (7, 30, 'Astronaut', 'Flu')")
    with pytest.raises(Exception, match="1 distinct value is missing from hierarchy 'adult_workclass'"):
        six.execute("FROM kacpc('six', k=3)").fetchall()
