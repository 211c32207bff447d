"""The registry: its facts are true, the algorithms differ from each other, and none is better than the optimum."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import numpy as np
import pytest
from hand_traced import tables
from hand_traced.tables import NUMBER, TREE, Groups, Traced, numbers
from oracle import reference
from oracle.reference import Attribute, Category, Number, Value
from support import by_row, model_tables
from support.model_tables import MODELS, constraint, random_case
from support.tables import Table, encode_records, groups_of

from dbanon import algorithms, errors
from dbanon.algorithms.base.class_bounds import cluster_members
from dbanon.privacy_models import registry
from dbanon.privacy_models.constraint import Constraint


def test_algorithms_function_lists_properties(con: Any) -> None:
    rows = con.execute("SELECT name, meets, own_parameters, parameters FROM algorithms()").fetchall()
    assert [name for name, *_ in rows] == [a.name for a in algorithms.algorithms()]
    by_name = {name: rest for name, *rest in rows}
    all_values = ["k", *(model.parameter for model in registry.models()), "person"]
    assert by_name["mondrian"][:2] == [all_values, ["strict"]]
    assert {"l", "t", "alpha", "p", "beta"} < set(all_values)
    assert by_name["oka"][0] == ["k"]
    assert all(set(own_part) < set(all_values) for _, own_part, all_values in by_name.values())


def n_clusters_missing_model(algorithm: algorithms.Algorithm, model: str, seed: int) -> int | None:
    """Return the number of clusters that miss the model before the repair; None if the whole table misses it.

    Clusters that leftover records joined at the end are not counted.
    """
    actual_case = random_case(model, seed)
    built, _ = model_tables.encode_case(actual_case)
    asked_constraint = constraint(actual_case)
    if not asked_constraint.is_met_by_records(built, np.arange(built.rows)):
        return None
    options = {p.name: p.default for p in algorithm.own_parameters}
    groups = cluster_members(by_row.labels(algorithm.run(built, asked_constraint, options, lambda: None)))
    return sum(not asked_constraint.is_met_by_records(built, rows) for rows in groups)


@pytest.mark.parametrize("model", [m for m in MODELS if m != "several"])
@pytest.mark.parametrize("name", ["mondrian", "kacpc", "kmember", "oka", "mdav"])
def test_only_declared_algorithms_meet_models_themselves(name: str, model: str) -> None:
    """kacpc lets each cluster grow until it meets the model; leftovers can spoil some, so fewer miss it."""
    algorithm = algorithms.find(name)
    values = [
        n for seed in range(50_000, 50_040) if (n := n_clusters_missing_model(algorithm, model, seed)) is not None
    ]
    assert values
    if name == "mondrian":
        assert sum(values) == 0
    elif "l" in algorithm.meets and model in ("l", "p", "k"):
        assert sum(values) == 0, "more records do not take values away"
    elif "l" not in algorithm.meets and model in ("l", "p", "t"):
        assert sum(values) > 0


@pytest.mark.parametrize("model", [m for m in MODELS if m not in ("several", "k")])
def test_best_misses_model_less_often_than_oka_before_repair(model: str) -> None:
    """A run may miss the model, but such runs cost more than any others.

    Clusters formed without looking at the model miss it at least twice as often.
    """
    values_by_name = {
        name: [
            n
            for seed in range(50_000, 50_040)
            if (n := n_clusters_missing_model(algorithms.find(name), model, seed)) is not None
        ]
        for name in ("best", "oka")
    }
    assert sum(values_by_name["best"]) < sum(values_by_name["oka"]) / 2


# --- each by hand (see tests/hand_traced) ---------------------------------------------------------------------------

TRACED: Traced = tables()

ALIKE = {"rka": "kmember", "kl_member": "kmember", "mr_mondrian": "mondrian", "ldiversity_mondrian": "mondrian"}
"""Algorithms with the same clusters as another one on quasi-identifiers alone."""


def partition(name: str, records: list[list[Value]], attributes: Sequence[Attribute], k: int = 2) -> Groups:
    """Return the clusters of an algorithm with its defaults in the deterministic mode, as canonical row numbers."""
    algorithm = algorithms.find(name)
    options = {p.name: "deterministic" if p.name == "mode" else p.default for p in algorithm.own_parameters}
    encoded_table = encode_records(Table(records, attributes, k))
    assert encoded_table.records == [tuple(r) for r in records] or encoded_table.records == records, (
        "rows are in canonical order"
    )
    return groups_of(by_row.run_labels(algorithm, encoded_table.space, Constraint(k), options).tolist())


TESTED = [a.name for a in algorithms.algorithms() if not a.reads and a.name not in ALIKE]
"""Algorithms of quasi-identifiers alone; those that read sensitive values are traced in their own tests."""


@pytest.mark.parametrize("name", ALIKE)
def test_equivalent_algorithms_have_equal_clusters(name: str) -> None:
    for attributes, records, _ in TRACED.values():
        assert partition(name, records, attributes) == partition(ALIKE[name], records, attributes)


@pytest.mark.parametrize("name", TRACED)
def test_clusters_equal_hand_traced_tables(name: str) -> None:
    attributes, records, expected = TRACED[name]
    assert partition(name, records, attributes) == expected


@pytest.mark.parametrize("name", TESTED)
def test_algorithms_differ_on_some_table(name: str) -> None:
    for other in TESTED:
        if other != name:
            assert any(partition(other, *t) != partition(name, *t) for t in _traced_and_random_tables(name, other)), (
                other
            )


def _traced_and_random_tables(name: str, other: str) -> Iterator[tuple[list[list[Value]], Sequence[Attribute], int]]:
    """Yield all traced tables with k = 2, first those of the two algorithms; then 20 of eight records with k = 3."""
    traced = [table for _, table in sorted(TRACED.items(), key=lambda item: item[0] not in (name, other))]
    yield from ((records, attributes, 2) for attributes, records, _ in traced)
    rng = random.Random(11)
    for _ in range(20):
        sampled_values = [(rng.choice("abcdefg"), rng.randint(0, 9), rng.randint(0, 9)) for _ in range(8)]
        yield [list(record) for record in sorted(sampled_values)], [Category(TREE), Number(), Number()], 3


# --- the best there is ----------------------------------------------------------------------------------------------


def partitions(records: Sequence[int], k: int) -> Iterator[Groups]:
    """Yield all partitions of the records into groups of at least k."""
    if not records:
        yield []
        return
    first, rest = records[0], records[1:]
    for size in range(k - 1, len(rest) + 1):
        for others in itertools.combinations(rest, size):
            remaining_rests = [r for r in rest if r not in others]
            for groups in partitions(remaining_rests, k):
                yield [[first, *others], *groups]


@pytest.mark.parametrize("seed", range(40))
def test_no_algorithm_beats_optimal_partition(seed: int) -> None:
    """Up to eight records: every partition into groups of k or more is examined."""
    rng = random.Random(seed)
    attributes: list[Attribute] = [Number(), Category(TREE), Number()][: rng.randint(1, 3)]
    k = rng.choice([2, 2, 3])
    n = rng.randint(k, 8)
    nulls = rng.choice([0, 0, 0.2])
    records: list[list[Value]] = [
        [
            None
            if r and rng.random() < nulls
            else rng.choice("abcdefg")
            if isinstance(a, Category)
            else rng.randint(0, 9)
            for a in attributes
        ]
        for r in range(n)
    ]
    encoded_table = encode_records(Table(records, attributes, k))

    def precision(groups: Groups) -> float:
        return reference.eloss_precision(encoded_table.records, attributes, groups)

    best = max(precision(groups) for groups in partitions(range(n), k))
    for name in TESTED:
        algorithm = algorithms.find(name)
        options = {p.name: p.default for p in algorithm.own_parameters}
        for extra_parameters in (
            {},
            {"strict": False},
            {"next_seed": "far"},
            {"first_seed": "far-from-random"},
            {"centroid_cat": "mode"},
        ):
            if not set(extra_parameters) <= set(options):
                continue
            groups = groups_of(
                by_row.run_labels(algorithm, encoded_table.space, Constraint(k), options | extra_parameters).tolist()
            )
            assert sorted(r for g in groups for r in g) == list(range(n)), name
            assert min(map(len, groups)) >= k, name
            assert precision(groups) <= best + 1e-12, name


def test_some_algorithm_finds_optimum_of_five_numbers() -> None:
    """3, 7 | 12, 17, 18 loses (2 * 4 + 3 * 6) / 15; 3, 7, 12 | 17, 18 loses (3 * 9 + 2 * 1) / 15."""
    records = numbers(3, 7, 12, 17, 18)
    kept_eloss_precisions = {
        tuple(map(tuple, g)): reference.eloss_precision(records, NUMBER, g) for g in partitions(range(5), 2)
    }
    assert max(kept_eloss_precisions, key=lambda g: kept_eloss_precisions[g]) == ((0, 1), (2, 3, 4))
    assert any(partition(name, records, NUMBER) == [[0, 1], [2, 3, 4]] for name in TESTED)


@pytest.mark.parametrize("seed", range(30))
def test_best_finds_optimal_partition_of_seven_records(seed: int) -> None:
    """Sets of three classes are dissolved at once: from seven records and k = 2 the search reaches every partition."""
    rng = random.Random(7_000 + seed)
    attributes: list[Attribute] = [Number(), Category(TREE), Number()][: rng.randint(1, 3)]
    records: list[list[Value]] = [
        [rng.choice("abcdefg") if isinstance(a, Category) else rng.randint(0, 9) for a in attributes] for _ in range(7)
    ]
    encoded_table = encode_records(Table(records, attributes, 2))
    algorithm = algorithms.find("best")
    options = {p.name: p.default for p in algorithm.own_parameters}
    result = groups_of(by_row.run_labels(algorithm, encoded_table.space, Constraint(2), options).tolist())
    best = max(
        reference.eloss_precision(encoded_table.records, attributes, groups) for groups in partitions(range(7), 2)
    )
    assert reference.eloss_precision(encoded_table.records, attributes, result) == pytest.approx(best, abs=1e-12)


def test_fewer_records_or_persons_than_k_refused() -> None:
    """Kernels reserve room for classes of k records, and wrote beyond it if there were fewer."""
    records = encode_records(Table([(20,), (30,), (41,)], [Number()])).space
    visits = encode_records(Table([(20,), (30,), (41,), (45,), (47,)], [Number()], persons=[0, 1, 1, 1, None])).space
    for algorithm in algorithms.algorithms():
        options = {p.name: p.default for p in algorithm.own_parameters}
        for space, count in ((records, "3 records"), (visits, "2 persons")):
            message = f"^{algorithm.name}: {count} cannot form a class of k = 5"
            with pytest.raises(errors.FewerThanKError, match=message):
                algorithms.run_algorithm(algorithm, space, Constraint(5), options)


# --- in SQL -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def sick(con: Any) -> Any:
    con.execute("""CREATE TABLE sick AS
        SELECT 20 + i AS age, ['F', 'M'][1 + i % 2] AS sex, CASE WHEN i % 9 = 0 THEN 'HIV' ELSE 'Flu' END AS disease
        FROM range(40) AS r (i)""")
    return con


CALL = "('sick', k := 3, qi := ['age', 'sex'], sensitive := ['disease']{})"


@pytest.mark.parametrize("algorithm", ["dhkmeans", "eld", "ldiversity_mondrian"])
def test_default_sensitive_models_require_two_values(sick: Any, algorithm: str) -> None:
    for parameters, minimum in (("", 2), (", l := 2", 2)):
        rows = sick.execute(f"SELECT len(disease) FROM {algorithm}_classes{CALL.format(parameters)}").fetchall()
        assert len(rows) > 1 and min(n for (n,) in rows) >= minimum
    metrics = dict(sick.execute(f"SELECT metric, value FROM {algorithm}_metrics{CALL.format('')}").fetchall())
    assert metrics["l_diversity:disease"] >= 2
    with pytest.raises(duckdb.Error, match=f"{algorithm}: l needs a sensitive column, and sick"):
        sick.execute(f"FROM {algorithm}('sick', k := 3, qi := ['age'])")
    with pytest.raises(duckdb.Error, match="all records together do not meet l = 3 on disease"):
        sick.execute(f"FROM {algorithm}{CALL.format(', l := 3')}").fetchall()
    by_name = f"FROM anonymize{CALL.format(f', algorithm := {algorithm!r}')}"
    assert sick.execute(by_name).fetchall() == sick.execute(f"FROM {algorithm}{CALL.format('')}").fetchall()


def test_ldiversity_mondrian_equals_mondrian_with_l_2(sick: Any) -> None:
    rows = sick.execute(f"FROM mondrian{CALL.format(', l := 2')}").fetchall()
    assert sick.execute(f"FROM ldiversity_mondrian{CALL.format('')}").fetchall() == rows
    assert sick.execute(f"FROM mondrian{CALL.format('')}").fetchall() != rows


@pytest.mark.parametrize("algorithm", ["mwck", "rka", "eld"])
def test_seed_determines_release_in_any_order(sick: Any, algorithm: str) -> None:
    first = sick.execute(f"FROM {algorithm}{CALL.format(', seed := 5')}").fetchall()
    sick.execute("CREATE OR REPLACE TABLE sick AS FROM sick ORDER BY hash(age)")
    assert sick.execute(f"FROM {algorithm}{CALL.format(', seed := 5')}").fetchall() == first
