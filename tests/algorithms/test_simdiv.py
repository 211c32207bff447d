"""SimDiv compared with a plain loop over all pairs, rows worked out by hand, and its releases in SQL."""

from __future__ import annotations

import random
import re
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracle import simdiv as slow
from support.model_tables import model_requirement
from support.tables import MANY, SOME, Table, encode_records, tables

import dbanon
from dbanon import algorithms
from dbanon.algorithms.base import progress
from dbanon.algorithms.diversity import simdiv
from dbanon.encoding import encoded_table
from dbanon.encoding.encoded_table import EncodedTable, SensitiveColumn
from dbanon.privacy_models.constraint import Constraint
from dbanon.udf import cluster

DEFAULTS = {p.name: p.default for p in algorithms.find("simdiv").own_parameters}
USUAL = simdiv.resolve_options(DEFAULTS)
PAPER = simdiv.resolve_options(DEFAULTS | {"reproduce": "paper"})


def with_sensitive_values(table: EncodedTable, seed: int, columns: int = 1) -> EncodedTable:
    """Return the table with skewed sensitive columns, some NULL, and attributes of different influence."""
    rng = random.Random(seed)
    sensitive_columns = []
    for _ in range(columns):
        values = rng.randrange(1, 5)
        weights = [5.0, *([1.0] * (values - 1)), 0.3]
        codes = np.array(rng.choices(range(values + 1), weights, k=table.rows), np.int32)
        sensitive_columns.append(SensitiveColumn(codes, np.bincount(codes, minlength=values + 1)))
    attributes = tuple(replace(a, influence=float(rng.randrange(4))) for a in table.attributes)
    return replace(table, attributes=attributes, sensitive=tuple(sensitive_columns), persons=None)


def clusters_of(table: EncodedTable, k: int, options: dict[str, Any]) -> list[set[int]]:
    labels = simdiv.simdiv(table, Constraint(k), options, lambda: None)
    return [set(np.flatnonzero(labels == c).tolist()) for c in range(int(labels.max()) + 1)]


OPTIONS = st.fixed_dictionaries(
    {
        "alpha_pr": st.sampled_from([0.5, 0.0, 0.3, 2.0]),
        "beta_ut": st.sampled_from([0.5, 0.0, 0.9]),
        "t_cs": st.sampled_from([0.9, 0.0, 0.99, 1.0]),
        "div": st.sampled_from(["cluster", "pair"]),
        "cs_scale": st.sampled_from(["raw", "minmax"]),
        "rank": st.sampled_from(["sum", "chain"]),
        "cap": st.sampled_from(["by_k", "half", "third", "quarter", "none"]),
        "avoid_uniform": st.booleans(),
        "influence": st.sampled_from(["zeta_over_sigma", "weights"]),
    }
)


@given(tables(), OPTIONS, st.integers(0, 10**6), st.sampled_from([1, 1, 2]))
@MANY
def test_simdiv_clusters_equal_plain_loop(table: Table, options: dict[str, Any], seed: int, columns: int) -> None:
    result = with_sensitive_values(encode_records(table).space, seed, columns)
    k = max(table.k, 2)
    if result.rows < 2 * k:
        return
    selected_usual = USUAL | options
    assert clusters_of(result, k, selected_usual) == [set(c) for c in slow.clusters(result, k, selected_usual)]


@given(st.integers(0, 10**6), st.integers(2, 13), OPTIONS)
@SOME
def test_simdiv_of_large_table_equals_plain_loop(seed: int, k: int, options: dict[str, Any]) -> None:
    rng = random.Random(seed)
    records = [(rng.randrange(20, 60), rng.randrange(3)) for _ in range(45)]
    ages, sexes = sorted({a for a, _ in records}), 3
    number = encoded_table.NumericAttribute(
        np.array([a - ages[0] for a in ages], float), True, magnitudes=np.array(ages, float)
    )
    tree = encoded_table.CategoricalAttribute(np.array([-1, 0, 0, 0], np.int32), np.array([1, 2, 3], np.int32))
    if seed % 2:  # numbers with a hierarchy, in leaf order
        tree = replace(tree, magnitudes=np.array([7.0, 30.0, 2.5]))
    codes = [np.array([ages.index(a) for a, _ in records], np.int32), np.array([s for _, s in records], np.int32)]
    code_table, _ = encoded_table.encode_table([number, tree], codes, np.arange(45, dtype=np.uint64), None)
    code_table = with_sensitive_values(code_table, seed)
    assert sexes == tree.values
    selected_usual = USUAL | options
    assert clusters_of(code_table, k, selected_usual) == [set(c) for c in slow.clusters(code_table, k, selected_usual)]


NEEDS = st.fixed_dictionaries(
    {
        "t_div": st.sampled_from([0.7, 0.0, 0.95, 5.0]),
        "imbalance": st.sampled_from(["always", "paper"]),
        "div_scale": st.sampled_from(["normalized", "raw"]),
        "influential": st.sampled_from(["mean", "first"]),
        "levels": st.sampled_from([1, 1, 2]),
        "influence": st.sampled_from(["zeta_over_sigma", "weights"]),
    }
)


@given(tables(), NEEDS, st.integers(0, 10**6), st.sampled_from([None, 0, 1, 2]))
@MANY
def test_clusters_of_low_diversity_raised_like_plain_loop(
    table: Table, options: dict[str, Any], seed: int, level: int | None
) -> None:
    copy = with_sensitive_values(encode_records(table).space, seed)
    k = max(table.k, 2)
    if copy.rows < k:
        return
    copy = replace(
        copy,
        attributes=tuple(
            replace(a, max_level=level) if isinstance(a, encoded_table.CategoricalAttribute) else a
            for a in copy.attributes
        ),
    )
    selected_usual = USUAL | options
    rng = random.Random(seed)
    labels = np.array([rng.randrange(max(copy.rows // k, 1)) for _ in range(copy.rows)])
    _, labels = np.unique(labels, return_inverse=True)
    if level is not None:  # clusters keep to the blocks of max_level
        blocks = np.stack(
            [
                a.block(level)[copy.codes[:, j]]
                for j, a in enumerate(copy.attributes)
                if isinstance(a, encoded_table.CategoricalAttribute)
            ]
            or [np.zeros(len(copy.codes))],
            axis=1,
        )
        _, block = np.unique(np.repeat(blocks, copy.counts, axis=0), axis=0, return_inverse=True)
        _, labels = np.unique(labels * copy.rows + block.reshape(-1), return_inverse=True)
    groups = [np.flatnonzero(labels == c).tolist() for c in range(labels.max() + 1)]
    ends = simdiv.widen_by_needs(copy, labels, Constraint(k), selected_usual)
    low, high = ends.low, ends.high
    assert [
        list(zip(a, b, strict=True)) for a, b in zip(low.tolist(), high.tolist(), strict=True)
    ] == slow.raised_clusters(copy, groups, k, selected_usual)


# --- by hand ----------------------------------------------------------------------------------------------------------

COUNTRIES = encoded_table.CategoricalAttribute(np.array([-1, 0, 1, 1, 0, 4], np.int32), np.array([2, 3, 5], np.int32))
"""America > North America > (Greenland, Canada), Central America > Belize."""


def figure_9(ages: encoded_table.Attribute | None = None) -> EncodedTable:
    """Return the six rows of the paper's Figure 9, in canonical order.

    1 (75, Greenland, Leukemia), 2 (75, Canada, Rhinitis), 5 and 6 (77, Canada, Rhinitis), 3 (78, Belize, Leukemia), 4
    (80, Belize, Leukemia).
    """
    number = encoded_table.NumericAttribute(np.array([0.0, 2, 3, 5]), True, magnitudes=np.array([75.0, 77, 78, 80]))
    codes = [np.array([0, 0, 1, 1, 2, 3], np.int32), np.array([0, 1, 1, 1, 2, 2], np.int32)]
    disease = np.array([0, 1, 1, 1, 0, 0], np.int32)
    code_table, order = encoded_table.encode_table([ages or number, COUNTRIES], codes, np.arange(6, dtype=np.uint64),
                              None, None,
                              [(disease, 2, None)])  # fmt: skip
    assert order.tolist() == list(range(6))
    return code_table


NUMBERS = [1, 2, 5, 6, 3, 4]
"""Numbers of the canonical rows in the figure."""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [{2, 4}, {6, 1}, {3, 5}]),
        ({"alpha_pr": 0.0, "avoid_uniform": False}, [{2, 5}, {6, 4}, {3, 1}]),
        ({"t_cs": 1.0}, [{2, 4}, {6, 1}, {3, 5}]),
    ],
)
def test_simdiv_clusters_equal_paper_figure_9(options: dict[str, Any], expected: list[set[int]]) -> None:
    """Angles of (age, country code 0, 1, 2) are 0, 0.01333, 0.01299 twice, 0.02564, 0.025; their mean is 0.01499.

    Records are ranked by how far they are from it: 2, 5, 6, 4, 3, 1. Slices (2, 5), (6, 4), (3, 1) give the centers 2,
    6 (77 is new) and 3. The last record of each must have the other disease: 4 is nearer to 2 than 1 is, then 1, then
    5. For similarity alone 5 is nearest to 2, then 4 to 6.
    """
    result = clusters_of(figure_9(), 2, USUAL | options)
    assert [{NUMBERS[r] for r in c} for c in result] == expected


def test_figure_9c_raises_country_without_diversity() -> None:
    """All values are one level up already: 75-80, North (code 0) and Central America (1).

    The cluster of 1 and 2 has both diseases; those of 3 and 4 and of 5 and 6 have one each and publish America (0 to
    1).
    """
    ages = encoded_table.CategoricalAttribute(np.array([-1, 0], np.int32), np.array([1], np.int32), influence=0.2)
    continents = encoded_table.CategoricalAttribute(
        np.array([-1, 0, 0], np.int32), np.array([1, 2], np.int32), influence=0.8
    )
    codes = np.array([[0, 0], [0, 1]], np.int32)
    disease = np.array([0, 1, 1, 1, 0, 0], np.int32)  # of 1, 2, 5, 6, 3, 4
    code_table = EncodedTable(
        (ages, continents), codes, np.array([4, 2]), None, 6, (SensitiveColumn(disease, np.array([3, 3, 0])),)
    )
    labels = np.array([0, 0, 2, 2, 1, 1])
    ends = simdiv.widen_by_needs(code_table, labels, Constraint(2), USUAL)
    low, high = ends.low, ends.high
    assert (low.tolist(), high.tolist()) == ([[0, 0], [0, 0], [0, 0]], [[0, 0], [0, 1], [0, 1]])
    ends = simdiv.widen_by_needs(code_table, labels, Constraint(2), PAPER)
    low, high = ends.low, ends.high
    assert (low.tolist(), high.tolist()) == ([[0, 0], [0, 1], [0, 0]], [[0, 0], [0, 1], [0, 0]]), "none has above k"


def test_cosines_and_diversities_equal_algorithm_reference() -> None:
    def cosine(u: tuple[int, int], v: tuple[int, int]) -> float:
        numbers = [encoded_table.NumericAttribute(np.arange(5.0), True) for _ in range(2)]
        codes = np.array(sorted({u, v}), np.int32)
        unit = simdiv.unit_vectors(EncodedTable(tuple(numbers), codes, np.ones(len(codes), np.int64), None, 2), "raw")
        return float(unit[0] @ unit[-1])

    assert cosine((1, 1), (1, 1)) == pytest.approx(1)
    assert cosine((3, 4), (4, 3)) == pytest.approx(0.96)
    assert (cosine((0, 0), (0, 0)), cosine((0, 0), (3, 4))) == (1, 0)
    from dbanon.algorithms.diversity.needs_generalization import diversities

    sensitive_column = SensitiveColumn(np.array([0, 0, 1, 0, 1, 2], np.int32), np.array([3, 2, 1, 0]))
    groups = [np.array([0, 1, 2]), np.array([3, 4, 5]), np.array([0, 1])]
    assert diversities(sensitive_column, groups, False) == pytest.approx([0.636514, 1.098612, 0.0], abs=1e-6)
    assert diversities(sensitive_column, groups, True) == pytest.approx([0.579380, 1.0, 0.0], abs=1e-6)


def test_reproduce_option_sets_defaults() -> None:
    assert {n: PAPER[n] for n in simdiv.REPRODUCE_DEFAULTS} == {
        "div": "pair", "imbalance": "paper", "div_scale": "raw", "cs_scale": "raw", "influence": "paper",
    }  # fmt: skip
    options = simdiv.resolve_options(DEFAULTS | {"reproduce": "paper", "div": "cluster"})
    assert (options["div"], options["imbalance"]) == ("cluster", "paper")


def test_union_of_raised_clusters_meets_person_model() -> None:
    """Two clusters of the same two persons: raised they would be one class, with each person once."""
    number = encoded_table.NumericAttribute(np.arange(4.0), True)
    codes = np.array([[0], [1], [2], [3]], np.int32)
    sensitive = SensitiveColumn(np.array([0, 1, 0, 1], np.int32), np.array([2, 2, 0]))
    persons = np.array([0, 1, 0, 1])
    code_table = EncodedTable((number,), codes, np.ones(4, np.int64), persons, 4, (sensitive,))
    model = Constraint(2, (model_requirement(alpha=0.5),))
    labels = np.array([0, 0, 1, 1])
    options = USUAL | {"t_div": 2.0}
    selected_algorithm = algorithms.find("simdiv")
    result = algorithms.widen_clusters(
        selected_algorithm, code_table, model, options, algorithms.RunLengthLabels.from_labels(code_table, labels)
    )
    assert result is not None and (result[1].low.tolist(), result[1].high.tolist()) == ([[0], [0]], [[3], [3]])
    three = replace(code_table, persons=np.array([0, 1, 2, 1]))  # values of persons 0, 1, 2: 0, 1, 0
    assert (
        algorithms.widen_clusters(
            selected_algorithm, three, model, options, algorithms.RunLengthLabels.from_labels(three, labels)
        )
        is None
    ), "together two of three have value 0"


# --- in SQL -----------------------------------------------------------------------------------------------------------

TREES = "hierarchies := {'zip': E'1a;1;*\\n1b;1;*\\n2a;2;*\\n2b;2;*'}"


@pytest.fixture
def people(con: Any) -> Iterator[Any]:
    """Create twelve people of different ages, six with each disease."""
    con.execute("CREATE TABLE people (age INTEGER, zip VARCHAR, disease VARCHAR, n INTEGER)")
    rows = [(20 + i, f"{1 + i // 6}{'ab'[i % 2]}", "Flu" if i < 6 else "HIV", i) for i in range(12)]
    con.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
    return con


def published_rows(con: Any, arguments: str, columns: str = "age, zip, size") -> list[Any]:
    call = f"simdiv_classes('people', qi := ['age', 'zip'], sensitive := ['disease'], {TREES}, {arguments})"
    return con.execute(f"SELECT {columns} FROM {call} ORDER BY ALL").fetchall()


SIMILAR = "k := 3, influence := 'weights', alpha_pr := 0, avoid_uniform := false, t_cs := 0, cs_scale := 'minmax'"


def test_single_disease_clusters_published_one_level_up(people: Any) -> None:
    people.execute("UPDATE people SET disease = 'Flu'")
    tight = published_rows(people, SIMILAR + ", imbalance := 'paper'")
    wide_result = published_rows(people, SIMILAR)
    assert [size for *_, size in tight] == [3, 3, 3, 3]
    zips = {"1": "*", "2": "*", "*": "*", "1a": "1", "1b": "1", "2a": "2", "2b": "2"}
    assert sum(size for *_, size in wide_result) == 12 and len(wide_result) <= 4
    assert {z for _, z, _ in wide_result} == {zips[z] for _, z, _ in tight}
    for age, _, _ in wide_result:
        low, high = (int(end) - 20 for end in re.findall(r"\d+", age))
        assert any(low % block == 0 and high == min(low + block, 12) - 1 for block in (4, 8, 16))
    error_info = published_rows(people, SIMILAR + ", weights := {'age': 3}")
    assert {z for _, z, _ in error_info} == {z for _, z, _ in tight}, "zip is of less than average influence"
    assert published_rows(people, SIMILAR + ", t_div := 0", "zip") == published_rows(people, SIMILAR, "zip")


def test_typed_intervals_and_precision_show_raised_values(people: Any) -> None:
    people.execute("UPDATE people SET disease = 'Flu'")
    rows = published_rows(people, SIMILAR + ", intervals := 'bounds'", "age_min, age_max, loss")
    assert all((low - 20) % 4 == 0 and loss > 0 for low, _, loss in rows)
    metrics = f"simdiv_metrics('people', qi := ['age', 'zip'], sensitive := ['disease'], {TREES}, {SIMILAR}"
    query = "SELECT value FROM {}) WHERE metric = 'precision'"
    ((wide_value,),) = people.execute(query.format(metrics)).fetchall()
    ((tight,),) = people.execute(query.format(metrics + ", imbalance := 'paper'")).fetchall()
    assert wide_value < tight


def test_raised_clusters_accept_nulls_and_top_codes(people: Any) -> None:
    people.execute("UPDATE people SET age = NULL WHERE n % 5 = 0; UPDATE people SET zip = NULL WHERE n > 9")
    rows = published_rows(people, SIMILAR + ", top := {'age': 28}")
    assert sum(size for *_, size in rows) == 12
    assert published_rows(people, SIMILAR + ", nulls := 'drop'", "sum(size)") == [(8,)]


def test_numbers_are_own_coordinates_with_hierarchy(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    visited: list[EncodedTable] = []
    run = cluster.algorithms.run_algorithm
    monkeypatch.setattr(
        cluster.algorithms,
        "run_algorithm",
        lambda algorithm, made, *rest, **more: visited.append(made) or run(algorithm, made, *rest, **more),
    )
    people.execute(
        "CREATE TABLE steps AS SELECT [1, 1000, 2][1 + n % 3] AS x, n / 2 + 0.5 AS y, zip, disease FROM people"
    )
    trees = "hierarchies := {'x': E'1;a;*\\n1000;a;*\\n2;b;*'}"
    call = f"('steps', k := 4, qi := ['x', 'y', 'zip'], sensitive := ['disease'], {trees}"
    people.execute(f"FROM simdiv{call}, influence := 'weights')").fetchall()
    people.execute(f"FROM simdiv{call}, influence := 'weights', min_level := {{'x': 1}})").fetchall()
    people.execute(f"FROM kacpc{call})").fetchall()
    actual_values = [
        [None if a.magnitudes is None else a.magnitudes.tolist() for a in result.attributes] for result in visited
    ]
    values = [0.5 + i / 2 for i in range(12)]
    assert actual_values == [[[1, 1000, 2], values, None], [[1, 2], values, None], [None, None, None]]


def test_simdiv_classes_meet_models_with_suppression(people: Any) -> None:
    for arguments in ("l := 2", "alpha := 0.5", "t := 0.2", "l := 2, suppress := 0.2"):
        for size, disease in published_rows(people, f"{SIMILAR}, {arguments}", "size, disease"):
            assert disease is None or (size >= 3 and len(disease) == 2), arguments  # NULL: the suppressed records


TYPES = {
    "DATE": "DATE '1961-01-31' + 400 * n",
    "TIMESTAMP": "TIMESTAMP '1959-12-31 23:59:59' + INTERVAL 1 DAY * (n * n)",
    "TIMESTAMPTZ": "TIMESTAMPTZ '1959-12-31 23:59:59+05' + INTERVAL 1 DAY * n",
    "TIME": "TIME '00:00:01' + INTERVAL 1 MINUTE * (n * n)",
    "DECIMAL(9,3)": "n * n - 30.125",
    "HUGEINT": "170141183460469231731687303715884105727::HUGEINT - n",
    "DOUBLE": "CASE n WHEN 0 THEN 1e308 WHEN 1 THEN -1e308 ELSE -0.0 END",
    "BOOLEAN": "n % 2 = 0",
    "UUID": "md5((n % 3)::VARCHAR)::UUID",
    "VARCHAR": "['😀', '''; DROP TABLE people; --', '{{ n }}', ''][1 + n % 4]",
    "INTEGER": "CASE WHEN n % 3 > 0 THEN -n END",
}


@pytest.mark.not_everyday
@pytest.mark.parametrize("type_", TYPES)
def test_columns_of_every_type_are_clustered_and_raised(people: Any, type_: str) -> None:
    people.execute(f"""CREATE TABLE "t'""😀" AS
        SELECT ({TYPES[type_]})::{type_} AS "q'""i", n % 2 AS b, n > 9 AS s, NULL AS nothing FROM people""")
    for extra_text in (
        "",
        ", cs_scale := 'minmax', reproduce := 'paper', rank := 'chain'",
        ", intervals := 'struct', l := 2",
    ):
        call = (
            f"""('"t''""😀"', k := 3, qi := ['q''"i', 'b'], sensitive := ['s'], influence := 'weights'{extra_text})"""
        )
        sizes = people.execute(f"SELECT size FROM simdiv_classes{call}").fetchall()
        assert sum(n for (n,) in sizes) == 12 and min(sizes) >= (3,)
        assert len(people.execute(f"FROM simdiv{call}").fetchall()) == 12
        assert people.execute(f"SELECT count(*) > 5 FROM simdiv_metrics{call}").fetchall() == [(True,)]


def test_simdiv_callable_by_anonymize_inference_and_view(people: Any) -> None:
    call = f"('people', qi := ['age', 'zip'], sensitive := ['disease'], {TREES}, {SIMILAR}"
    rows = people.execute(f"FROM simdiv{call})").fetchall()
    assert people.execute(f"FROM anonymize{call}, algorithm := 'simdiv')").fetchall() == rows
    inferred = people.execute(f"FROM inference{call}, algorithm := 'simdiv', min_records := 1)").fetchall()
    assert all(row is not None for row in inferred)
    people.execute(f"CREATE VIEW safe AS FROM simdiv{call})")
    assert people.execute("FROM safe").fetchall() == rows
    people.execute("BEGIN; DELETE FROM people WHERE n > 8")
    assert len(people.execute("FROM safe").fetchall()) == 9
    people.execute("ROLLBACK")
    people.execute("CREATE TABLE nobody AS FROM people LIMIT 0")
    with pytest.raises(duckdb.Error, match="nobody"):
        people.execute(f"FROM simdiv{call.replace('people', 'nobody')})").fetchall()


def test_simdiv_memory_is_linear_in_rows() -> None:
    """20,000 different records: a matrix of their similarities would have 400 million cells."""
    rng = np.random.default_rng(1)
    n = 20_000
    number = encoded_table.NumericAttribute(np.arange(float(n)), True)
    codes = [rng.permutation(n).astype(np.int32) for _ in range(3)]
    values = rng.integers(0, 9, n).astype(np.int32)
    code_table, _ = encoded_table.encode_table(
        [number] * 3, codes, np.zeros(n, np.uint64), None, None, [(values, 9, None)]
    )
    simdiv.simdiv(code_table.subset(np.arange(100)), Constraint(10), USUAL, lambda: None)  # compiles
    tracemalloc.start()
    labels = simdiv.simdiv(code_table, Constraint(400), USUAL, lambda: None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.bincount(labels).min() >= 400
    assert peak < 50 * 2**20


def test_slow_chain_requires_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 400
    number = encoded_table.NumericAttribute(np.arange(float(n)), True)
    code_table = EncodedTable((number,), np.arange(n, dtype=np.int32)[:, None], np.ones(n, np.int64), None, n)
    monkeypatch.setattr(progress, "MAX_STEPS", n * n / 5)
    usual = USUAL | {"influence": "weights", "rank": "chain"}
    with pytest.raises(dbanon.errors.TableTooLargeError, match="allow_slow = true"):
        algorithms.run_algorithm(algorithms.find("simdiv"), code_table, Constraint(100), usual)
    assert (
        algorithms.run_algorithm(
            algorithms.find("simdiv"), code_table, Constraint(100), usual | {"allow_slow": True}
        ).n_records
        == n
    )


@pytest.mark.not_everyday
@pytest.mark.parametrize("file", ["adult_raw.csv", "adult.csv"])
def test_simdiv_clusters_adult_within_5_s_for_every_k(con: Any, data_folder: Any, file: str) -> None:
    con.execute(f"CREATE TABLE adult AS SELECT age, sex, race, native_country, salary FROM '{data_folder / file}'")
    call = "('adult', qi := ['age', 'sex', 'race', 'native_country'], sensitive := ['salary'], k := "
    con.execute(f"FROM simdiv{call}50, influence := 'weights')").fetchall()  # compiles
    for k in (2, 20, 400):
        clock = time.process_time()
        sizes = con.execute(f"SELECT size FROM simdiv_classes{call}{k}, influence := 'weights')").fetchall()
        assert time.process_time() - clock < 5
        assert min(sizes) >= (k,)


def test_simdiv_requires_sensitive_column(people: Any) -> None:
    with pytest.raises(duckdb.Error, match="simdiv: simdiv needs a sensitive column, and people"):
        people.execute("FROM simdiv('people', k := 3, qi := ['age'])")


def test_influence_uses_forest_with_same_settings(people: Any) -> None:
    pytest.importorskip("sklearn", reason="influence needs the extra learn")
    from dbanon.runtime import session

    cache = session.find_session(people).cache
    call = "('people', qi := ['age', 'zip'], sensitive := ['disease'], {}trees := 7, seed := 3{})"
    people.execute("FROM influence" + call.format("", "")).fetchall()
    assert cache.n_computed == 1
    first = people.execute("FROM simdiv" + call.format("k := 3, ", "")).fetchall()
    assert cache.n_computed == 2, "the clustering, and no forest"
    people.execute("CREATE OR REPLACE TABLE people AS FROM people ORDER BY hash(n)")
    assert people.execute("FROM simdiv" + call.format("k := 3, ", "")).fetchall() == first
    assert len(people.execute("FROM simdiv" + call.format("k := 3, reproduce := 'paper', ", "")).fetchall()) == 12


@pytest.mark.not_everyday
def test_refreshed_release_is_clustered_again(tmp_path: Any) -> None:
    with dbanon.connect(tmp_path / "x.duckdb") as con:
        con.execute("CREATE TABLE people AS SELECT i AS age, i % 3 AS disease, i AS n FROM range(30) AS r (i)")
        dbanon.declare(con, "people", age="quasi", disease="sensitive", n="person")
        dbanon.create_release(con, "safe", "simdiv", "people", k=3, influence="weights")
        con.execute("INSERT INTO people SELECT 50 + i, i % 3, 50 + i FROM range(9) AS r (i)")
        with pytest.raises(
            dbanon.errors.CannotKeepClassesError, match="simdiv publishes more of a class than its records span"
        ):
            dbanon.refresh_release(con, "safe")
        with pytest.warns(UserWarning):
            release = dbanon.refresh_release(con, "safe", mode="recluster", allow_small_differences=True)
        assert release.records == 39
