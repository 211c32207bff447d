"""Algorithms that read sensitive values, compared with plain loops over all records, and called in SQL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pytest
from hand_traced.tables import LETTERS, letters
from hypothesis import given, strategies as st
from oracle import assign as slow_assign, diversity as slow
from oracle.greedy import LossTable
from support import by_row, small_table
from support.small_table import ASKED
from support.tables import SOME, Table, encode_records, tables
from test_gather import equal_clusters, with_unit
from test_greedy import records, unit

import dbanon
from dbanon import algorithms
from dbanon.algorithms.base.registry import MAX_SUPPRESSED
from dbanon.algorithms.diversity.knn_gs import value_groups
from dbanon.algorithms.greedy.mckl import attributes_by_loss_width
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, SensitiveColumn
from dbanon.privacy_models.constraint import Constraint
from dbanon.privacy_models.model_request import model_requirements

Values = list[list[int]]


def clusters(name: str, table: EncodedTable, k: int, **options: object) -> list[list[int]]:
    selected_algorithm = algorithms.find(name)
    defaults_by_name = (
        {p.name: p.default for p in selected_algorithm.own_parameters} | {"mode": "deterministic"} | options
    )
    labels = by_row.labels(selected_algorithm.run(table, Constraint(k), defaults_by_name, lambda: None))
    return [np.flatnonzero(labels == c).tolist() for c in range(int(labels.max()) + 1)]


def with_sensitive_columns(table: EncodedTable, columns: Values) -> EncodedTable:
    """Return the encoded table with sensitive columns added."""
    sensitive = []
    for column in columns:
        codes = np.array(column, np.int32)
        sensitive.append(SensitiveColumn(codes, np.bincount(codes, minlength=int(codes.max()) + 2)))
    return replace(table, sensitive=tuple(sensitive))


def random_case(
    table: Table, seed: int, columns: int = 1, different: int = 3
) -> tuple[EncodedTable, int, LossTable, Values]:
    """Return a table of records with sensitive values, k, the plain table, and the values."""
    actual_records = records(encode_records(table).space)
    draws = np.random.default_rng(seed)
    values: Values = [draws.integers(0, different, actual_records.rows).tolist() for _ in range(columns)]
    return (
        with_sensitive_columns(actual_records, values),
        max(table.k, 2),
        with_unit(actual_records, 1, "edges"),
        values,
    )


SEEDS = st.integers(0, 10**6)


# --- Loukides and Shao --------------------------------------------------------------------------------------------


@given(tables(), SEEDS, st.integers(1, 2), st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.sampled_from([0.0, 0.2, 0.6]))
@SOME
def test_loukides_shao_equals_plain_loop(
    table: Table, seed: int, columns: int, protection: float, threshold: float
) -> None:
    encoded_table, k, pairs, values = random_case(table, seed, columns)
    if encoded_table.rows < k:
        return
    full_total = sum(round(unit(encoded_table, 1) * a.weight) for a in encoded_table.attributes)
    expected = slow.loukides_shao(pairs, k, values, threshold, protection, full_total)
    actual_clusters = clusters("loukides_shao", encoded_table, k, diversity_weight=protection, threshold=threshold)
    assert equal_clusters(records_with_values(pairs, values), actual_clusters) == equal_clusters(
        records_with_values(pairs, values), expected
    )


def records_with_values(table: LossTable, columns: Values) -> LossTable:
    """Return the records, each with its sensitive values."""
    return LossTable([(*row, *(c[r] for c in columns)) for r, row in enumerate(table.rows)], table.losses)


def test_loukides_shao_clusters_equal_hand_traced_letters() -> None:
    """a, b, b, b, d with the values 0, 0, 1, 0, 1.

    a and the second b lose 1/2 * 1/2 of the score and are diverse; others would bring 1/2 and not be. With (0, 1) the
    first b: 1/4 + 1/2 * (1 - 0.918), then the last b with (0, 1, 0): 1/4 + 1/2 * (1 - 0.811); d would bring 1/2, and
    alone loses 1. With the threshold 1/2 d is alone, and joins.
    """
    result = with_sensitive_columns(encode_records(Table(letters("abbbd"), LETTERS, 2)).space, [[0, 0, 1, 0, 1]])
    assert clusters("loukides_shao", result, 2, threshold=0.5) == [[0, 1, 2, 3, 4]]
    left_out = clusters("loukides_shao", result, 2, threshold=0.5, **{MAX_SUPPRESSED: 1})
    assert left_out == [[0, 1, 2, 3]]


def test_loukides_shao_suppresses_small_clusters_if_allowed(people: Any) -> None:
    call = "SELECT value FROM loukides_shao_metrics" + ASKED.format(", threshold=0.2{}") + " WHERE metric = '{}'"
    out = [
        people.execute(call.format(extra_text, "suppressed")).fetchone()[0]
        for extra_text in ("", ", suppress=0.05", ", suppress=1")
    ]
    assert out[0] == 0 < out[1] <= 3 < out[2]


# --- MCKL -------------------------------------------------------------------------------------------------------------


@given(tables(), SEEDS, st.integers(1, 2), st.integers(2, 3), st.sampled_from([0, 2, 100]))
@SOME
def test_mckl_equals_plain_loop(table: Table, seed: int, columns: int, min_values: int, spare: int) -> None:
    encoded_table, k, pairs, values = random_case(table, seed, columns, 4)
    if encoded_table.rows < k:
        return
    constraint = Constraint(k, model_requirements("mckl", "a table", {"l": min_values}, ["d", "e"][:columns]))
    known_values = [[-1 if v == max(column) else v for v in column] for column in values]
    nulls = tuple(
        replace(s, value_counts=s.value_counts[:-1], codes=s.codes) for s in encoded_table.sensitive
    )  # the last value is NULL
    encoded_table = replace(encoded_table, sensitive=nulls)
    order = sorted(
        range(encoded_table.rows),
        key=lambda r: (
            [pairs.rows[r][j] for j in attributes_by_loss_width(encoded_table)],
            slow.first_equal_record(pairs, known_values, r),
        ),
    )
    selected_algorithm = algorithms.find("mckl")
    labels = by_row.labels(selected_algorithm.run(encoded_table, constraint, {MAX_SUPPRESSED: spare}, lambda: None))
    actual_values = [np.flatnonzero(labels == c).tolist() for c in range(int(labels.max()) + 1)]
    expected = slow.mckl(pairs, constraint.min_records, known_values, min_values, order, spare)
    assert equal_clusters(records_with_values(pairs, known_values), actual_values) == equal_clusters(
        records_with_values(pairs, known_values), expected
    )


# --- KNN-(G,S) --------------------------------------------------------------------------------------------------------


@given(tables(), SEEDS, st.integers(1, 2), st.integers(1, 3), st.one_of(st.none(), st.integers(1, 3)))
@SOME
def test_knn_gs_equals_plain_loop(
    table: Table, seed: int, columns: int, groups: int, records_per_group: int | None
) -> None:
    encoded_table, k, pairs, values = random_case(table, seed, columns, 5)
    if encoded_table.rows < 2 * k:
        return
    one_set = [value_groups(s, groups, None).tolist() for s in encoded_table.sensitive]
    combined = [tuple(g[v] for g, v in zip(one_set, record, strict=True)) for record in zip(*values, strict=True)]
    numbers = [sorted(set(combined)).index(c) for c in combined]
    maximum = max(-(-k // len(set(numbers))), records_per_group or 1)
    actual_clusters = clusters("knn_gs", encoded_table, k, n_groups=groups, records_per_group=records_per_group)
    expected = slow.knn_gs(pairs, k, numbers, maximum)
    assert equal_clusters(records_with_values(pairs, [numbers]), actual_clusters) == equal_clusters(
        records_with_values(pairs, [numbers]), expected
    )


def test_knn_gs_clusters_equal_hand_traced_letters() -> None:
    """Groups are the values 0 and 1.

    The first a takes the nearest of the other value, c, for 1/2; b takes d. The last e is at 1 from a and b: it joins
    the first.
    """
    result = with_sensitive_columns(encode_records(Table(letters("abcde"), LETTERS, 2)).space, [[0, 0, 1, 1, 1]])
    assert clusters("knn_gs", result, 2) == [[0, 2, 4], [1, 3]]


def test_values_grouped_by_order_or_hierarchy() -> None:
    codes = np.repeat([0, 1, 2, 3], [5, 1, 1, 3]).astype(np.int32)
    tree = CategoricalAttribute(np.array([-1, 0, 1, 1, 0, 4, 4], np.int32), np.array([2, 3, 5, 6], np.int32))
    disease = SensitiveColumn(codes, np.array([5, 1, 1, 3, 0]), tree)
    assert value_groups(disease, 2, None).tolist()[:4] == [0, 1, 1, 1]
    assert value_groups(disease, 4, None).tolist()[:4] == [0, 1, 2, 3]
    by_node = value_groups(disease, 2, 1)
    assert by_node[0] == by_node[1] != by_node[2] == by_node[3] != by_node[4]


def test_group_level_uses_declared_or_requested_hierarchy(con: Any) -> None:
    """With any model; without a hierarchy the level has no effect, and a message says so."""
    con.execute(
        "CREATE TABLE t AS SELECT i * 7 % 40 AS age, ['flu', 'cold', 'hiv', 'tb', 'ulcer'][1 + i * 3 % 5] AS d "
        "FROM range(200) AS r (i)"
    )
    dbanon.load_hierarchy(con, "ill", [[v, "light" if v in ("flu", "tb") else "grave", "*"] for v in
                                       ("flu", "cold", "hiv", "tb", "ulcer")])  # fmt: skip
    call = "FROM knn_gs('t', k := 6, qi := 'age', sensitive := 'd', group_level := 1{})"
    with pytest.raises(duckdb.Error, match=r"level needs a hierarchy of t\.d"):
        con.execute(call.format(""))
    rows = con.execute(call.format(", hierarchies := {'d': 'ill'}")).fetchall()
    dbanon.declare(con, "t", age="quasi", d=("sensitive", "ill"))
    assert con.execute("FROM knn_gs('t', k := 6, group_level := 1)").fetchall() == rows
    kinds = [[row[1] in ("flu", "tb") for row in rows if row[-1] == number] for number in {row[-1] for row in rows}]
    # There are 80 light records and 3 for each class: the last classes have none.
    assert sum(kind.count(True) >= 3 and kind.count(False) >= 3 for kind in kinds) >= 80 // 3 - 1
    assert con.execute("FROM knn_gs('t', k := 6)").fetchall() != rows


# --- PPPC and S-CPM ---------------------------------------------------------------------------------------------------


def combined_values(values: Values) -> list[int]:
    """Return one number per record that identifies its combination of values."""
    records_of = list(zip(*values, strict=True))
    return [sorted(set(records_of)).index(r) for r in records_of]


@given(tables(), SEEDS, st.integers(1, 2), st.integers(1, 4))
@SOME
def test_pppc_equals_plain_loop(table: Table, seed: int, columns: int, parts: int) -> None:
    encoded_table, k, pairs, values = random_case(table, seed, columns)
    if encoded_table.rows < 2 * k:
        return
    plain_table = slow_assign.SpotTable(
        encode_records(replace(table, persons=None)).records, table.attributes, modes=True
    )
    number = min(parts, encoded_table.rows)
    clustered, centers = slow_assign.kmeans(plain_table, [i * encoded_table.rows // number for i in range(number)])
    merged_result = slow.merge_small_parts(clustered, k, lambda a, b: plain_table.apart(centers[a], centers[b]))
    expected = slow.pppc(
        pairs, k, combined_values(values), merged_result, lambda r, p: plain_table.distance(r, centers[p])
    )
    actual_clusters = clusters("pppc", encoded_table, k, parts=parts)
    assert equal_clusters(records_with_values(pairs, values), actual_clusters) == equal_clusters(
        records_with_values(pairs, values), expected
    )


def test_pppc_clusters_equal_hand_traced_letters() -> None:
    """One part, whose center is a, the first of five modes.

    The value 0 has three records, 1 has two: a, then of 1 c, for 1/2; b, the nearest to the center with 0, and g. d:
    {a, c} increases from 2 * 1/2 to 3, {b, g} from 2 to 3: d joins the latter.
    """
    result = with_sensitive_columns(encode_records(Table(letters("abcdg"), LETTERS, 2)).space, [[0, 0, 1, 0, 1]])
    assert clusters("pppc", result, 2, parts=1) == [[0, 2], [1, 3, 4]]


def test_s_cpm_clusters_equal_hand_traced_letters() -> None:
    """One part. a is merged with the b of another value: 2 * 1/2; with the first 2 * 1/2 + 1/10.

    Of the single ones the other b is first: with {a, b} 3 * 1/2 - 1 + 1/20, with d 2 + 1/10, with e 2: the first. d and
    e, 2 * 1/2.
    """
    result = with_sensitive_columns(encode_records(Table(letters("abbde"), LETTERS, 2)).space, [[0, 0, 1, 0, 1]])
    assert clusters("s_cpm", result, 2, parts=1) == [[0, 1, 2], [3, 4]]


@given(tables(), SEEDS, st.integers(1, 2), st.integers(1, 4), st.sampled_from([0.0, 0.1, 3.0]))
@SOME
def test_s_cpm_equals_plain_loop(table: Table, seed: int, columns: int, parts: int, penalty: float) -> None:
    encoded_table, k, pairs, values = random_case(table, seed, columns)
    if encoded_table.rows < 2 * k:
        return
    number = min(parts, encoded_table.rows)
    first = sorted({pairs.rows.index(pairs.rows[i * encoded_table.rows // number]) for i in range(number)})
    cut_result, centers = slow.medoids(pairs, first)
    merged_result = slow.merge_small_parts(cut_result, k, lambda a, b: pairs.distance(centers[a], centers[b]))
    full_result = sum(round(unit(encoded_table, 1) * a.weight) for a in encoded_table.attributes) / sum(
        a.weight for a in encoded_table.attributes
    )
    expected = slow.s_cpm(pairs, k, values, [part for _, part in merged_result], penalty * full_result)
    actual_clusters = clusters("s_cpm", encoded_table, k, parts=parts, penalty=penalty)
    assert equal_clusters(records_with_values(pairs, values), actual_clusters) == equal_clusters(
        records_with_values(pairs, values), expected
    )


@pytest.fixture
def people(con: Any) -> Any:
    return small_table.people(con)


NAMES = ["loukides_shao", "mckl", "knn_gs", "pppc", "s_cpm"]


@pytest.mark.parametrize("call", NAMES)
@pytest.mark.parametrize("extra_arguments", ["", ", l=2", ", max_level={'town': 0}", ", max_partition=20"])
def test_diversity_classes_meet_model(people: Any, call: str, extra_arguments: str) -> None:
    small_table.assert_classes(people, call, extra_arguments, classes=2, values=2 if ", l=2" in extra_arguments else 1)


@pytest.mark.parametrize("call", [name for name in NAMES if not algorithms.find(name).deterministic])
def test_seed_determines_diversity_clusters(people: Any, call: str) -> None:
    small_table.assert_seed_determines_release(people, call)
