"""The metrics of a release: published numbers, small tables worked out by hand, plain loops over random ones."""

from __future__ import annotations

import datetime
import random
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from oracle import reference
from oracle.metrics import CodedNumber, LeveledCategory, month_high, month_low, partition_metrics
from support.algorithms import PLAIN
from support.tables import create_table, encode_records, large

import dbanon
from dbanon.algorithms.base.published_clusters import CLUSTER_METRICS

NAMES = [name for name in CLUSTER_METRICS if name != "query_error"]
"""Metrics that compare() and releases have in common."""


def metric_values(con: Any, call: str) -> dict[str, float]:
    """Return the metrics of a call, by name."""
    return dict(con.execute(f"SELECT metric, value FROM {call}").fetchall())


# --- the published numbers ------------------------------------------------------------------------------------------


def test_fixture_metrics_of_published_partition_by_hand(six: Any) -> None:
    """P* of the fixture: {1, 2, 3} as ([25, 29], Gov) and {4, 5, 6} as ([40, 55], *)."""
    message = metric_values(six, "mondrian_metrics('six', k=3)")
    expected = {
        "precision": 0.466667,  # 1 - 6.4 / 12
        "information_loss": 6.4,  # 3 (4/30 + 1/2) + 3 (15/30 + 1)
        "total_information_loss": 6.4,  # the tree is balanced enough: an equal value
        "ncp": 6.185714,  # 3 (4/30 + 3/7) + 3 (15/30 + 1)
        "gcp": 0.515476,
        "numeric_information_loss": 1.9,
        "numeric_information_loss_average": 0.316667,
        "discernibility": 18,
        "discernibility_clusters": 18,
        "discernibility_suppression": 18,
        "discernibility_suppression_clusters": 18,
        "c_avg": 1,
        "c_avg_clusters": 1,
        "square_error_raw:age": 122,  # 8 + 114
        "square_error_raw_clusters:age": 122,
        "sse_share": 100 * 122 / 722,  # the means are 27 and 47, which adds 600
        "square_error": 0.135556 + 3,  # of Gov two are not the mode, of Private, Private, Self-emp-inc one
        "square_error_clusters": 0.135556 + 3,
    }
    assert {name: message[name] for name in expected} == pytest.approx(expected, abs=5e-7)
    assert "kl_divergence" not in message


def test_fixture_kl_divergence_of_partition_by_hand(six: Any) -> None:
    """On workclass alone, seeds in canonical order.

    Private, Private and Self-emp-inc (the first of three that cost all), then the three of Gov. Each Gov value: 3/6/3 +
    3/6/7 = 5/21, the others 1/14.
    """
    call = "('six', k=3, qi=['workclass'], mode := 'deterministic', with_kl_divergence := true)"
    assert sorted(six.execute("SELECT workclass, size FROM kmembers_random_classes" + call.replace(
        ", with_kl_divergence := true", "")).fetchall()) == [("*", 3), ("Gov", 3)]  # fmt: skip
    assert metric_values(six, "kmembers_random_metrics" + call)["kl_divergence"] == pytest.approx(0.476361, abs=5e-7)


def test_suppressed_records_count_n_in_discernibility(con: Any) -> None:
    """Groups of 3, 2 and 1 for k = 3: 9 + 6 * 2 + 6 * 1 = 27."""
    con.execute("CREATE TABLE t AS SELECT unnest([1, 1, 1, 40, 40, 90]) AS age")
    message = metric_values(con, "kacpc_metrics('t', k=3, qi=['age'], suppress := 0.5)")
    assert (message["records"], message["suppressed"]) == (3, 3)
    assert (message["discernibility"], message["discernibility_suppression"]) == (9, 27)
    con.execute("CREATE TABLE u AS SELECT unnest([1, 1, 1, NULL, NULL, NULL]) AS age")
    assert (
        metric_values(con, "kacpc_metrics('u', k=3, qi=['age'], nulls := 'drop')")["discernibility_suppression"] == 27
    )


# --- by hand --------------------------------------------------------------------------------------------------------


def test_clusters_with_equal_values_form_one_class(con: Any) -> None:
    """{20, 21} and {28, 29} both publish [20, 29], so the range is 9.

    Around 24.5: 20.25 + 12.25 + 12.25 + 20.25; by themselves 0.5 each.
    """
    con.execute("CREATE TABLE t AS SELECT unnest([20, 21, 28, 29]) AS age")
    message = metric_values(
        con, "mondrian_metrics('t', k=2, qi=['age'], rounding := {'age': 10}, with_kl_divergence := true)"
    )
    assert (message["classes"], message["clusters"]) == (1, 2)
    assert (message["c_avg"], message["c_avg_clusters"]) == (2, 1)
    assert (message["discernibility"], message["discernibility_clusters"]) == (16, 8)
    assert (message["square_error_raw:age"], message["square_error_raw_clusters:age"]) == pytest.approx((65, 1))
    assert (message["square_error"], message["square_error_clusters"]) == pytest.approx((65 / 81, 1 / 81))
    assert message["kl_divergence"] == pytest.approx(np.log(0.25 / 0.1)), "each of ten cells has 1/10, four had 1/4"


def test_unchanged_release_has_no_loss_or_divergence(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT i % 3 AS age, ['a', 'b', NULL][1 + i % 3] AS sex FROM range(12) AS r (i)")
    message = metric_values(con, "kacpc_metrics('t', k=4, qi=['age', 'sex'], with_kl_divergence := true)")
    assert message["precision"] == 1
    names = ("total_information_loss", "ncp", "gcp", "square_error", "square_error_raw:age", "kl_divergence")
    assert [message[name] for name in names] == [0] * 6


def test_class_mixing_null_and_values_loses_attribute(con: Any) -> None:
    """One class of everything: 4 records lose all of both; `*` covers 10 ages and NULL, and two leaves and NULL."""
    con.execute("CREATE TABLE t (age INTEGER, sex VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'F'), (10, 'F'), (NULL, NULL), (4, 'M')")
    message = metric_values(con, "kacpc_metrics('t', k=4, qi=['age', 'sex'], with_kl_divergence := true)")
    assert (message["total_information_loss"], message["ncp"], message["gcp"]) == (8, 8, 1)
    assert (message["square_error"], message["square_error_raw:age"]) == (8, 4 * 81)
    assert message["kl_divergence"] == pytest.approx(np.log(0.25 * 11 * 3))


@pytest.mark.parametrize(
    ("type_", "values", "cells", "raw"),
    [
        ("INTEGER", ["1", "2", "5", "9"], 9, 38.75),
        ("DECIMAL(6, 2)", ["0.01", "0.02", "0.05", "0.09"], 9, 38.75e-4),
        ("DOUBLE", ["0.01", "0.02", "0.05", "0.09"], 4, 38.75e-4),
        ("DATE", ["1969-12-31", "1970-01-01", "1970-01-04", "1970-01-08"], 9, 38.75),
        ("TIMESTAMP", ["1969-12-31 12:00", "1970-01-01 12:00", "1970-01-04 12:00", "1970-01-08 12:00"], 4, 38.75),
        ("TIMESTAMP_NS", ["1969-12-31", "1970-01-01", "1970-01-04", "1970-01-08"], 4, 38.75),
        ("TIME", ["00:00:01", "00:00:02", "00:00:05", "00:00:09"], 4, 38.75 / 86400**2),
        ("UHUGEINT", ["1", "2", "5", "9"], 9, 38.75),
    ],
)
def test_cell_size_and_unit_of_squared_error(con: Any, type_: str, values: list[str], cells: int, raw: float) -> None:
    """Mean 4.25, so 10.5625 + 5.0625 + 0.5625 + 22.5625 = 38.75. One class of four records."""
    con.execute(f"CREATE TABLE t (x {type_})")
    con.executemany("INSERT INTO t VALUES (?)", [[v] for v in values])
    message = metric_values(
        con, "kacpc_metrics('t', k=4, qi=['x'], rounding := {'x': 'none'}, with_kl_divergence := true)"
    )
    assert message["square_error_raw:x"] == pytest.approx(raw, rel=1e-9, abs=1e-12)
    assert message["square_error"] == pytest.approx(38.75 / 64)
    assert message["kl_divergence"] == pytest.approx(np.log(0.25 * cells))


def test_constant_number_has_zero_square_error(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT 7 AS x, 0.5::DOUBLE AS y, unnest([1, 2]) AS z")
    message = metric_values(con, "kacpc_metrics('t', k=2, qi=['x', 'y', 'z'])")
    assert (message["square_error"], message["square_error_raw:x"], message["square_error_raw:y"]) == (0.5, 0, 0)


def test_sse_share_averages_columns_by_hand(con: Any) -> None:
    """Of x 0.5 + 0.5 of 26 remains, of y all, and c is constant.

    The class of 1 and NULL is half the squared distance of the two: of 1 to the mean, -1/3, on one axis, and of NULL,
    one standard deviation off, on the other.
    """
    con.execute("CREATE TABLE t AS FROM (VALUES (0, 0, 1), (1, 1, 1), (5, 0, 1), (6, 1, 1)) AS v (x, y, c)")
    message = metric_values(con, "mdav_metrics('t', k=2, qi=['x', 'y', 'c'], weights := {'y': 0.001})")
    assert message["sse_share"] == pytest.approx(100 * (1 / 26 + 1) / 2)
    con.execute("CREATE OR REPLACE TABLE t AS SELECT unnest([0, 2, NULL]) AS x")
    assert metric_values(con, "mdav_metrics('t', k=3, qi=['x'])")["sse_share"] == pytest.approx(100)
    con.execute("CREATE OR REPLACE TABLE t AS SELECT unnest([-1, -1, 1, NULL]) AS x, unnest([0, 0, 9, 9]) AS g")
    message = metric_values(con, "mdav_metrics('t', k=2, qi=['x', 'g'], weights := {'x': 0.001})")
    variance, known_values = 8 / 9, 8 / 3
    of_x = (1 / 2 * ((1 + 1 / 3) ** 2 + variance)) / (known_values * (1 + 1 / 4))
    assert message["sse_share"] == pytest.approx(100 * of_x / 2)


def test_open_interval_end_covers_last_value_by_hand(con: Any) -> None:
    """[85, >=90] of 85 and 95 covers 85 to 95, eleven ages; the square error is that of 85 and 90 over a range of 5."""
    con.execute("CREATE TABLE t AS SELECT unnest([85, 95]) AS age")
    message = metric_values(con, "kacpc_metrics('t', k=2, qi=['age'], top := {'age': 90}, with_kl_divergence := true)")
    assert message["kl_divergence"] == pytest.approx(np.log(0.5 * 11))
    assert (message["square_error_raw:age"], message["square_error"]) == (12.5, 0.5)


def test_loss_metrics_of_unbalanced_hierarchy_by_hand(con: Any) -> None:
    """* > a, b > (c, d > (e, f)). A class of a and one of {e, f} under d.

    Its own subtree is 1 of 3 edges deep, it has 2 of 4 leaves, and it is on level 2 of 4: 1 of 3 from the root down.
    """
    dbanon.load_hierarchy(con, "h", [["a", "*"], ["c", "b", "*"], ["e", "d", "b", "*"], ["f", "d", "b", "*"]])
    con.execute("CREATE TABLE t AS SELECT unnest(['a', 'a', 'e', 'f']) AS v")
    message = metric_values(
        con, "kacpc_metrics('t', k=2, qi=['v'], hierarchies := {'v': 'h'}, with_kl_divergence := true)"
    )
    assert message["total_information_loss"] == pytest.approx(2 / 3)
    assert (message["ncp"], message["gcp"]) == (1, 0.25)
    assert message["square_error"] == 1
    assert message["kl_divergence"] == 0
    con.execute("CREATE OR REPLACE TABLE t AS SELECT unnest(['a', 'a', 'c', 'e']) AS v")
    message = metric_values(
        con, "kacpc_metrics('t', k=2, qi=['v'], hierarchies := {'v': 'h'}, with_kl_divergence := true)"
    )
    assert message["total_information_loss"] == pytest.approx(2 * 2 / 3)
    assert message["ncp"] == pytest.approx(2 * 3 / 4)
    assert message["kl_divergence"] == pytest.approx(0.5 * np.log(0.25 / (0.5 / 3)))


# --- compared with plain loops --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(300, 312))
def test_cluster_metrics_equal_plain_loops(con: Any, seed: int) -> None:
    """Ragged hierarchies, weights, NULLs; the clusters are those of the reference."""
    table = replace(large(seed), persons=None)
    encoded_table = encode_records(table)
    clusters = reference.mondrian(encoded_table.records, table.attributes, table.k)
    kinds: list[CodedNumber | LeveledCategory] = [
        LeveledCategory(a.tree) if isinstance(a, reference.Category) else CodedNumber() for a in table.attributes
    ]
    names = [f"q{j}" for j in range(len(kinds))]
    expected = partition_metrics(encoded_table.records, kinds, clusters, table.k, 0, names, "_clusters")
    message = metric_values(con, f"mondrian_metrics({create_table(con, table)})")
    assert {name: message[name] for name in expected} == pytest.approx(expected, rel=1e-9, abs=1e-9)


TREE = reference.Tree(
    [["rome", "south", "*"], ["naples", "south", "*"], ["oslo", "*"], ["bonn", "west", "mid", "*"],
     ["lyon", "west", "mid", "*"], ["graz", "mid", "*"]]
)  # fmt: skip


def _snap(width: int) -> tuple[Any, Any]:
    return (lambda v: v - v % width), (lambda v: v - v % width + width - 1)


@pytest.mark.parametrize("seed", range(60))
def test_random_release_metrics_equal_plain_loops(con: Any, seed: int) -> None:
    """Mixed types, NULLs, suppression, persons, weights, typed bounds, grids, codings, levels; any algorithm."""
    rnd = random.Random(seed)
    n, nulls = rnd.randint(4, 40), rnd.choice([0, 0.1, 0.4])
    dbanon.load_hierarchy(con, "cities", [TREE.leaf(label)[::-1] for label in TREE.leaf_order()])
    kinds, options = _kinds(rnd)
    pools: dict[str, list[Any]] = {
        "age": [rnd.randint(0, 40) for _ in range(rnd.choice([3, 30]))],
        "weight": [rnd.randint(0, 80) / 8 for _ in range(6)],
        "price": [Decimal(rnd.randint(0, 900)) / 100 for _ in range(6)],
        "born": [datetime.date(1969, 11, 1) + datetime.timedelta(rnd.randint(0, 100)) for _ in range(6)],
        "city": TREE.leaf_order(),
        "job": ["cook", "nurse", "o'k"],
    }
    qi = rnd.sample(list(pools), rnd.randint(1, 4))
    attributes = [kinds[name] for name in qi]
    rows = [
        [None if i and rnd.random() < nulls else rnd.choice(pools[name]) for name in pools] + [rnd.randint(0, n)]
        for i in range(n)
    ]
    types = ("INTEGER", "DOUBLE", "DECIMAL(8, 2)", "DATE", "VARCHAR", "VARCHAR", "INTEGER")
    con.execute(f"CREATE TABLE t (uid INTEGER, {', '.join(map(' '.join, zip([*pools, 'p'], types, strict=True)))})")
    con.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [[i, *row] for i, row in enumerate(rows)])
    kept_values = [
        i for i, row in enumerate(rows) if "nulls" not in options or None not in [row[[*pools].index(q)] for q in qi]
    ]
    units = len({rows[i][-1] for i in kept_values}) if rnd.random() < 0.25 else 0
    if units > 1:
        options["person"] = "'p'"
    k = rnd.randint(2, max(2, min(6, units or len(kept_values))))
    per_column = ("rounding", "top", "bottom", "hierarchies", "min_level", "weights")
    for name in per_column:
        options[name] = {q: v for q, v in options[name].items() if q in qi}
    for name in per_column:
        options[name] = options[name] and "{" + ", ".join(f"{q}: {v}" for q, v in options[name].items()) + "}"
    options_sql = "".join(f", {name} := {value}" for name, value in options.items() if value)
    call = (
        f"{PLAIN[seed % len(PLAIN)]}%s('t', k := {k}, qi := {qi}, insensitive := ['uid'], allow_rare := "
        f"['uid']{options_sql})"
    )
    if len(kept_values) < max(k, 2):
        return
    released_rows = con.execute(f"SELECT class_id, uid FROM {call % ''} ORDER BY ALL").fetchall()
    original = {i: [rows[i][[*pools].index(q)] for q in qi] for i in kept_values}
    classes: dict[int, list[int]] = {}
    records: list[Sequence[Any]] = []
    for class_id, uid in released_rows:
        classes.setdefault(class_id, []).append(len(records))
        records.append(original[uid])
    columns = list(zip(*original.values(), strict=True))
    expected = partition_metrics(
        records, [_flat(a, column) for a, column in zip(attributes, columns, strict=True)], list(classes.values()),
        k, n - len(records), qi, null_as_root="intervals" in options,
    )  # fmt: skip
    message = metric_values(con, _with_divergence(call))
    assert {name: message[name] for name in expected} == pytest.approx(expected, rel=1e-8, abs=1e-8), call
    if "intervals" not in options:
        text = f"algorithms := ['{call.partition('%')[0]}'], k := [{k}], qi := {qi}, metrics := {NAMES}"
        compared = con.execute(f"SELECT metric, mean FROM compare('t', {text}{options_sql})").fetchall()
        same = message | {"suppressed": message["suppressed"], "homogeneous_share": None}
        wanted = {n: same.get(n, 0.0) for n in NAMES}  # of no number there is no loss
        assert {n: v for n, v in compared if v is not None} == pytest.approx(
            {n: v for n, v in wanted.items() if v is not None}, rel=1e-8, abs=1e-8
        ), call


def _with_divergence(call: str) -> str:
    return (call % "_metrics").removesuffix(")") + ", with_kl_divergence := true)"


def _flat(attribute: Any, column: Sequence[Any]) -> Any:
    """Return the tree of the column's values for a category without a hierarchy."""
    return attribute if attribute is not None else LeveledCategory(reference.flat(column))


def _kinds(rnd: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the generalization of columns, for the reference and for the call."""
    options: dict[str, Any] = {name: {} for name in ("rounding", "top", "bottom", "min_level", "weights")}
    options["hierarchies"] = {"city": "'cities'"}
    age = CodedNumber(1.0)
    if rnd.random() < 0.4:
        low, high = _snap(5)
        age, options["rounding"]["age"] = replace(age, low=low, high=high), 5
    if rnd.random() < 0.3:
        age, options["top"]["age"] = replace(age, top=30), 30
    if rnd.random() < 0.3:
        age, options["bottom"]["age"] = replace(age, bottom=8), 8
    born = CodedNumber(1.0, month_low, month_high)
    if rnd.random() < 0.5:
        born, options["rounding"]["born"] = CodedNumber(1.0), "'none'"
    level = rnd.choice([0, 0, 1])
    if level:
        options["min_level"]["city"] = 1
    if rnd.random() < 0.3:
        options["weights"] = {"age": 2.5, "city": 0.5}
    if rnd.random() < 0.3:
        options["nulls"] = "'drop'"
    if rnd.random() < 0.3:
        options["suppress"] = 0.3
    if rnd.random() < 0.3:
        options["intervals"] = rnd.choice(["'bounds'", "'struct'"])
    attributes = {
        "age": age,
        "weight": CodedNumber(),
        "price": CodedNumber(0.01),
        "born": born,
        "city": LeveledCategory(TREE, level),
        "job": None,
    }
    return attributes, options


@pytest.mark.parametrize("with_person", [False, True])
def test_metrics_of_oddly_named_sensitive_columns(con: Any, with_person: bool) -> None:
    """The gate names its own metrics after them; shares and rare values equal those of a plain loop."""
    names = ['say "n": x', "k"]
    rows = [(i // 8, ["a", "b", None][i % 3] if i < 24 else "c", i % 7, i // 2) for i in range(48)]
    columns = ", ".join('"{}"'.format(name.replace('"', '""')) for name in names)
    con.execute(f"CREATE TABLE odd (q INTEGER, {columns.replace(',', ' VARCHAR,')} INTEGER, who INTEGER)")
    con.executemany("INSERT INTO odd VALUES (?, ?, ?, ?)", rows)
    person = ", person := 'who'" if with_person else ""
    call = f"kacpc_metrics('odd', k := 4, qi := ['q'], sensitive := {names}{person})"
    actual = metric_values(con, call)
    release_rows = con.execute(f"SELECT class_id, {columns} FROM {call.replace('_metrics', '')}").fetchall()
    for i, name in enumerate(names, 1):
        classes = {row[0]: {other[i] for other in release_rows if other[0] == row[0]} for row in release_rows}
        equal = sum(len(classes[row[0]]) == 1 for row in release_rows)
        assert actual[f"homogeneous_share:{name}"] == pytest.approx(equal / 48)
        members = {row[i]: {other[3] if with_person else n for n, other in enumerate(rows) if other[i] == row[i]}
                   for row in rows}  # fmt: skip
        assert actual[f"n_rare_values:{name}"] == sum(len(holders) < 4 for holders in members.values())
