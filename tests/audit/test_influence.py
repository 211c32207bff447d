"""Influence compared with forests of repeated records, on planted tables, as a table function and as weights."""

from __future__ import annotations

import random
import sys
from typing import Any

import duckdb
import numpy as np
import pytest

import dbanon
from dbanon import errors
from dbanon.algorithms import influence_forest
from dbanon.encoding import encoded_table
from dbanon.encoding.encoded_table import EncodedTable, SensitiveColumn

pytest.importorskip("sklearn", reason="influence needs the extra learn")


def table(records: list[tuple[int, ...]], positions: list[float] | None = None) -> EncodedTable:
    """Return records of codes, the last of which is the sensitive one."""
    columns = np.array(records, np.int32)
    numbers = [
        encoded_table.NumericAttribute(np.arange(columns[:, j].max() + 1.0), True) for j in range(columns.shape[1] - 1)
    ]
    values = int(columns[:, -1].max()) + 1 if positions is None else len(positions)
    code_table, _ = encoded_table.encode_table(
        numbers,
        list(columns[:, :-1].T),
        np.zeros(len(records), np.uint64),
        None,
        None,
        [(columns[:, -1], values, None)],
    )
    if positions is None:
        return code_table
    sensitive_column = code_table.sensitive[0]
    numeric = SensitiveColumn(sensitive_column.codes, sensitive_column.value_counts, None, np.array(positions))
    return EncodedTable(code_table.attributes, code_table.codes, code_table.counts, None, code_table.total, (numeric,))


def random_rows(seed: int, n: int = 60) -> list[tuple[int, int, int, int]]:
    """Return three columns: the first decides the sensitive value in 9 of 10 records, the last is constant."""
    rng = random.Random(seed)
    values = []
    for _ in range(n):
        x, z = rng.randrange(4), rng.randrange(3)
        values.append((x, z, 0, int(x >= 2) if rng.random() < 0.9 else rng.randrange(2)))
    return values


def influence_by_record(
    encoded: EncodedTable, settings: influence_forest.ForestSettings
) -> tuple[list[list[float]], list[float]]:
    """Return drops by tree and attribute, and accuracies, from trees fitted to the records one by one."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    sensitive_column = encoded.sensitive[0]
    tuple_of = np.repeat(np.arange(len(encoded.counts)), encoded.counts)
    records = sorted((int(t), int(c)) for t, c in zip(tuple_of, sensitive_column.codes, strict=True))
    if sensitive_column.positions is not None:
        records = [r for r in records if r[1] < sensitive_column.values]
    x = np.array([encoded.codes[t] for t, _ in records], np.float32)
    y = np.array([c if sensitive_column.positions is None else sensitive_column.positions[c] for _, c in records])
    n = len(records)
    order = np.argsort(np.random.PCG64(np.random.SeedSequence([settings.seed, 0])).random_raw(n), kind="stable")
    train = sorted(order[: int(settings.train * n)].tolist())
    variance = float(np.var(y[train]))
    drops, accuracies = [], []
    for number in range(1, settings.trees + 1):
        stream = np.random.PCG64(np.random.SeedSequence([settings.seed, number]))
        picks = [int(raw) % len(train) for raw in stream.random_raw(round(settings.sample_fraction * len(train)))]
        bag = sorted(train[p] for p in picks)
        out = [r for i, r in enumerate(train) if i not in set(picks)]
        kind = DecisionTreeClassifier if sensitive_column.positions is None else DecisionTreeRegressor
        tree = kind(random_state=int(stream.random_raw() % 2**31), max_features=x.shape[1]).fit(x[bag], y[bag])

        def accuracy(rows: Any, tree: Any = tree, out: Any = out) -> float:
            result = tree.predict(rows)
            if sensitive_column.positions is None:
                return sum(a == b for a, b in zip(result, y[out], strict=True)) / len(out)
            return 1 - sum((a - b) ** 2 for a, b in zip(result, y[out], strict=True)) / len(out) / variance

        accuracies.append(accuracy(x[out]))
        row = []
        for j in range(x.shape[1]):
            if j not in tree.tree_.feature:
                row.append(0.0)
                continue
            moved_copy = x[out].copy()
            moved_copy[:, j] = moved_copy[np.argsort(stream.random_raw(len(out)), kind="stable"), j]
            row.append(accuracies[-1] - accuracy(moved_copy))
        drops.append(row)
    return drops, accuracies


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("numeric", [False, True])
def test_grouped_records_equal_single_records(seed: int, numeric: bool) -> None:
    code_table = table(random_rows(seed), [0.0, 3.0] if numeric else None)
    settings = influence_forest.ForestSettings(trees=12, seed=seed)
    attribute_influence = influence_forest.attribute_influence(code_table, code_table.sensitive[0], settings)
    drops, accuracies = influence_by_record(code_table, settings)
    assert attribute_influence.zeta == pytest.approx(np.mean(drops, axis=0), abs=1e-12)
    assert attribute_influence.sigma == pytest.approx(np.std(drops, axis=0, ddof=1), abs=1e-12)
    assert attribute_influence.accuracy == pytest.approx(np.mean(accuracies), abs=1e-12)


def test_deciding_column_has_all_influence_constant_none() -> None:
    code_table = table([(i % 2, i % 3, 0, i % 2) for i in range(90)])
    attribute_influence = influence_forest.attribute_influence(
        code_table, code_table.sensitive[0], influence_forest.ForestSettings(trees=40)
    )
    assert attribute_influence.accuracy == attribute_influence.test_accuracy == 1.0
    assert attribute_influence.zeta[0] > 0.4 and attribute_influence.zeta[1:].tolist() == [0.0, 0.0]
    assert influence_forest.score_ranks(attribute_influence.scores("zeta_over_sigma").tolist()) == [1, 2, 3]


def test_influence_scores_equal_equations() -> None:
    attribute_influence = influence_forest.AttributeInfluence(
        np.array([0.2, 0.1, 0.0, -0.1]), np.array([0.1, 0.4, 0.0, 0.1]), 0.9, 0.9
    )
    assert attribute_influence.scores("zeta_over_sigma").tolist() == [2.0, 0.25, 0.0, 0.0]
    assert attribute_influence.scores("paper").tolist() == [0.5, 4.0, 0.0, 0.0]
    assert attribute_influence.scores("mean").tolist() == [0.2, 0.1, 0.0, 0.0]
    assert influence_forest.score_ranks([1.0, 3.0, 3.0, 0.0]) == [3, 1, 2, 4]
    assert influence_forest.weight_factors(np.array([3.0, 1.0, 0.0])) == [2.25, 0.75, 0.001]
    assert influence_forest.weight_factors(np.zeros(2)) == [1.0, 1.0]
    assert influence_forest.combine_scores([np.array([3.0, 1.0]), np.array([0.0, 8.0])]).tolist() == [0.375, 0.625]


def test_sensitive_null_is_class_but_not_in_regression() -> None:
    rows = [(i % 2, 0, 2 if i % 2 else i % 4 // 2) for i in range(80)]
    code_table = table(rows, [0.0, 1.0])  # code 2: NULL
    settings = influence_forest.ForestSettings(trees=10)
    as_class = SensitiveColumn(code_table.sensitive[0].codes, code_table.sensitive[0].value_counts)
    assert influence_forest.attribute_influence(code_table, as_class, settings).zeta[0] > 0
    assert influence_forest.attribute_influence(code_table, code_table.sensitive[0], settings).zeta.tolist() == [
        0.0,
        0.0,
    ]


@pytest.mark.parametrize("rows", [[(0, 0), (1, 1)], [(0, 0)] * 5, [(0, 0)]])
def test_tiny_tables_have_finite_influence(rows: list[tuple[int, ...]]) -> None:
    code_table = table(rows)
    attribute_influence = influence_forest.attribute_influence(
        code_table, code_table.sensitive[0], influence_forest.ForestSettings(trees=3)
    )
    assert np.isfinite(attribute_influence.zeta).all() and np.isfinite(attribute_influence.sigma).all()


def test_interrupt_ends_influence_forest() -> None:
    def stop() -> None:
        raise errors.StatementInterruptedError("influence")

    code_table = table(random_rows(1))
    with pytest.raises(errors.StatementInterruptedError):
        influence_forest.attribute_influence(
            code_table, code_table.sensitive[0], influence_forest.ForestSettings(), stop
        )


# --- in SQL -----------------------------------------------------------------------------------------------------------

QUERY = "FROM influence('people', qi := ['x', 'z', 'c'], sensitive := ['s'], trees := 20)"


@pytest.fixture
def con() -> Any:
    result = dbanon.attach(duckdb.connect())
    result.execute("CREATE TABLE people (x INTEGER, z VARCHAR, c BOOLEAN, s VARCHAR, n INTEGER)")
    rows = [(x, "pqr"[z], True, "ab"[s], i) for i, (x, z, _, s) in enumerate(random_rows(7, 200))]
    result.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
    yield result
    result.close()


def test_influence_function_lists_scores_by_rank(con: Any) -> None:
    rows = con.execute(QUERY).fetchall()
    assert [c[0] for c in con.description] == [
        "sensitive", "attribute", "influence", "rank", "zeta", "sigma", "accuracy", "test_accuracy",
    ]  # fmt: skip
    assert [(r[0], r[1], r[3]) for r in rows] == [("s", "x", 1), ("s", "z", 2), ("s", "c", 3)]
    assert all(r[2] == pytest.approx(max(r[4] / r[5], 0) if r[5] else 0) for r in rows)
    assert rows[0][6] > 0.8 and rows[0][7] > 0.8
    paper = con.execute(QUERY.replace("trees", "influence := 'paper', trees")).fetchall()
    assert {r[1]: r[2] for r in paper}["x"] == pytest.approx(rows[0][5] / rows[0][4])


def test_influence_independent_of_order_and_declared_weights(con: Any) -> None:
    rows = con.execute(QUERY).fetchall()
    con.execute("CREATE TABLE again AS FROM people ORDER BY hash(n)")
    dbanon.declare(con, "again", x={"role": "quasi", "weight": 3}, z="quasi", c="quasi", s="sensitive", n="insensitive")
    assert con.execute("FROM influence('again', trees := 20)").fetchall() == rows
    assert con.execute("FROM influence('again', trees := 20, seed := 1)").fetchall() != rows


@pytest.mark.not_everyday
def test_influence_computed_once_per_data_and_parameters(con: Any) -> None:
    from dbanon.runtime import session

    cache = session.find_session(con).cache
    text = QUERY.replace(", trees := 20", "")
    first = con.execute(text).fetchall()
    assert cache.n_computed == 1 and con.execute(text).fetchall() == first and cache.n_computed == 1
    call = "('people', k := 5, qi := ['x', 'z', 'c'], sensitive := ['s'], weights := 'influence')"
    for algorithm in ("kacpc", "mondrian"):
        con.execute(f"FROM {algorithm}{call}").fetchall()
        con.execute(f"FROM {algorithm}_metrics{call}").fetchall()
    assert cache.n_computed == 3, "one forest, and a clustering for each algorithm"
    con.execute("UPDATE people SET s = 'a' WHERE n = 0 OR s = 'b' AND n < 9")
    con.execute(text).fetchall()
    assert cache.n_computed == 4


def test_influence_weights_are_scores_over_their_mean(con: Any) -> None:
    scores = {r[1]: r[2] for r in con.execute(QUERY.replace(", trees := 20", "")).fetchall()}
    mean = sum(scores.values()) / 3
    weights = ", ".join(f"'{n}': {max(s / mean, 0.001)!r}" for n, s in scores.items())
    call = "FROM kacpc('people', k := 5, qi := ['x', 'z', 'c'], sensitive := ['s'], weights := "
    rows = con.execute(call + "'influence')").fetchall()
    assert rows == con.execute(call + "{" + weights + "})").fetchall()
    assert rows != con.execute(call + "NULL)").fetchall()
    assert rows == con.execute(call.replace(":=", "=") + "'influence')").fetchall()


def test_influence_reads_views_and_open_transactions(con: Any) -> None:
    con.execute("CREATE VIEW early AS SELECT * FROM people WHERE n < 150")
    old_rows = con.execute(QUERY.replace("people", "early")).fetchall()
    con.execute("BEGIN; DELETE FROM people WHERE n >= 150")
    assert con.execute(QUERY).fetchall() == old_rows
    con.execute("ROLLBACK")
    assert con.execute(QUERY).fetchall() != old_rows


def test_influence_of_numbers_and_times_uses_regression(con: Any) -> None:
    con.execute("""CREATE TABLE paid AS
        SELECT x, z, CASE WHEN n % 9 > 0 THEN x * 100 + n % 3 END AS i, (x * 100 + n % 3)::DECIMAL(9, 2) AS d,
            CASE n % 9 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN 'inf'::DOUBLE ELSE x END AS f,
            DATE '1950-01-01' + 1000 * x AS born, x::HUGEINT AS h, TIMESTAMP '1960-01-01' + INTERVAL 1 HOUR * x AS ts
        FROM people""")
    for column in ("i", "d", "f", "born", "h", "ts"):
        rows = con.execute(f"FROM influence('paid', qi := ['x', 'z'], sensitive := '{column}', trees := 5)").fetchall()
        assert [(r[1], r[3]) for r in rows] == [("x", 1), ("z", 2)], column
        assert rows[0][6] > 0.98, column
    classes = "FROM influence('paid', qi := ['x', 'z'], sensitive := 'i', trees := 5, forest := 'classification')"
    assert con.execute(classes).fetchall()[0][6] < 0.9


def test_every_sensitive_column_has_scores(con: Any) -> None:
    rows = con.execute("FROM influence('people', qi := ['x', 'z'], sensitive := ['n', 's'], trees := 5)").fetchall()
    assert [(r[0], r[3]) for r in rows] == [("s", 1), ("s", 2), ("n", 1), ("n", 2)]


def test_impossible_influence_is_reported(con: Any) -> None:
    for call, message in (
        ("influence('people', qi := ['x'])", "influence: influence needs a sensitive column, and people"),
        ("kacpc('people', k := 5, qi := ['x'], weights := 'influence')", "weights = 'influence' needs a sensitive"),
        ("influence('people', qi := ['x'], sensitive := ['s'], forest := 'regression')",
         "influence: forest must be 'auto' or 'classification' for s, which is VARCHAR, got 'regression'"),
        ("influence('people', qi := ['x'], sensitive := ['s'], trees := 0)", "trees must be an integer of at least 1"),
        ("kacpc('people', k := 5, qi := ['x'], weights := 'infl')", "weights must be {'age': 2} .* or 'influence'"),
    ):  # fmt: skip
        with pytest.raises(duckdb.Error, match=message):
            con.execute(f"FROM {call}").fetchall()
    con.execute("CREATE TABLE nobody AS FROM people LIMIT 0")
    with pytest.raises(duckdb.Error, match="nobody"):
        con.execute(QUERY.replace("people", "nobody")).fetchall()


def test_influence_without_scikit_learn_names_extra(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    for call in (QUERY, "FROM kacpc('people', k := 5, qi := ['x'], sensitive := ['s'], weights := 'influence')"):
        with pytest.raises(duckdb.Error, match=r"influence needs scikit-learn, .* pip install -e '\.\[learn\]'"):
            con.execute(call).fetchall()


def test_influence_accepts_hostile_names_and_values(con: Any) -> None:
    con.execute("""CREATE TABLE "t'""😀" AS SELECT x AS "a'b""c",
        CASE WHEN n % 5 > 0 THEN z || '''; --😀' END AS "{{ z }}",
        CASE WHEN n % 7 > 0 THEN s END AS "s ' s" FROM people""")
    call = """FROM influence('"t''""😀"', qi := ['a''b"c', '{{ z }}'], sensitive := ['s '' s'], trees := 5)"""
    assert [r[:2] for r in con.execute(call).fetchall()] == [("s ' s", "a'b\"c"), ("s ' s", "{{ z }}")]
