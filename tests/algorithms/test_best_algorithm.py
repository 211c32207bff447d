"""`best` compared with every other algorithm on sparse and continuous tables, for which it was not designed.

Losses are computed by reference.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from oracle import reference
from oracle.models import Value
from oracle.reference import Category, Number, Tree
from support import by_row, model_tables
from support.model_tables import SENSITIVE, ModelCase, constraint, published_groups

from dbanon import algorithms, errors
from dbanon.algorithms import SearchBudget
from dbanon.algorithms.base.registry import Check, Widening
from dbanon.algorithms.optimizing import best, seeded_starts
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

LEAVES = [[f"{i:03d}", f"{i // 5:02d}*", f"{i // 25}**", "*"] for i in range(125)]


def table(
    name: str, attributes: Sequence[reference.Attribute], records: Sequence[Sequence[Value]], k: int
) -> ModelCase:
    """Return a case whose only constraint is k."""
    width = len(attributes)
    plans: list[tuple[Value, ...]] = [(SENSITIVE["plan"].values[i % 4],) for i in range(len(records))]
    return ModelCase(
        name, list(attributes), [False] * width, [None] * width, [tuple(r) for r in records], ["plan"], plans, None,
        {"k": k},
    )  # fmt: skip


def continuous_case(rows: int, k: int) -> ModelCase:
    """Return a case of four numbers; every value is distinct."""
    draws = np.random.default_rng(7)
    return table("continuous", [Number()] * 4, draws.normal(size=(rows, 4)).round(4).tolist(), k)


def sparse_case(rows: int, k: int) -> ModelCase:
    """Return a case of six categories of 125 values below two levels, and an age: nearly every record is unique."""
    draws = random.Random(7)
    records = [(*(LEAVES[draws.randrange(125)][0] for _ in range(6)), draws.randrange(90)) for _ in range(rows)]
    return table("sparse", [*[Category(Tree(LEAVES))] * 6, Number()], records, k)


def skewed_case(rows: int, k: int) -> ModelCase:
    """Return a case of six correlated categories with few frequent values; some records are equal."""
    draws = random.Random(8)
    records = []
    for _ in range(rows):
        group = int(draws.expovariate(0.3))
        records.append(
            tuple(LEAVES[(group * (7 + i) + int(draws.expovariate(0.2 + 0.2 * i))) % 125][0] for i in range(6))
        )
    return table("skewed", [Category(Tree(LEAVES))] * 6, records, k)


Make = Callable[[int, int], ModelCase]


def classes(selected_case: ModelCase, name: str, moves: int | None = None, **more: object) -> list[list[int]]:
    """Return the records of the classes that an algorithm returns after `moves` moves of the search."""
    built, order = model_tables.encode_case(selected_case)
    algorithm = algorithms.find(name)
    options = {p.name: p.default for p in algorithm.own_parameters} | more
    refinement = algorithms.Refinement(budget=None if moves is None else SearchBudget(moves))
    labels = by_row.run_labels(algorithm, built, constraint(selected_case), options, refinement=refinement).tolist()
    return published_groups(selected_case, order, labels)


def record_loss(selected_case: ModelCase, name: str, moves: int | None = None, **more: object) -> float:
    """Return the summed loss of all records (KACPC paper, Eq. 1) after `moves` moves of the search."""
    groups = classes(selected_case, name, moves, **more)
    total = 0.0
    for j, attribute in enumerate(selected_case.attributes):
        column = [record[j] for record in selected_case.records]
        total += sum(len(g) * reference.loss(attribute, [column[r] for r in g], column) for g in groups)
    return total


@pytest.mark.parametrize("make", [sparse_case, continuous_case])
def test_best_high_effort_beats_every_algorithm(make: Make) -> None:
    result = make(300, 5)
    minimum = record_loss(result, "best", 4_000, effort="high")
    for algorithm in algorithms.algorithms():
        if algorithm.name != "best" and not algorithm.ability(Widening):
            try:
                assert minimum <= record_loss(result, algorithm.name), algorithm.name
            except errors.DbanonError as error:  # for example those that need a sensitive column
                assert algorithm.name in str(error)


@pytest.mark.parametrize(("make", "k"), [(sparse_case, 5), (skewed_case, 5), (skewed_case, 30)])
def test_best_with_covers_beats_every_algorithm(make: Make, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with the least effort, as in tables of many tuples."""
    monkeypatch.setattr(best, "MIN_TUPLES", 0)
    result = make(300, k)
    minimum = record_loss(result, "best", 1_000)
    for algorithm in algorithms.algorithms():
        if algorithm.name != "best" and not algorithm.ability(Widening):
            try:
                assert minimum <= record_loss(result, algorithm.name), algorithm.name
            except errors.DbanonError as error:  # for example those that need a sensitive column
                assert algorithm.name in str(error)


@pytest.fixture
def small_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try growing on small tables, too."""
    monkeypatch.setattr(seeded_starts, "MIN_TUPLES", 500)
    monkeypatch.setattr(seeded_starts, "SAMPLE_CELLS", (2, 128))
    monkeypatch.setattr(seeded_starts, "MAX_CELL_TUPLES", {"fast": 256, "normal": 512, "high": 10_000})


@pytest.mark.all_cases
@pytest.mark.usefixtures("small_cells")
@pytest.mark.parametrize("make", [continuous_case, sparse_case])
def test_best_grows_clusters_only_if_start_loses_less(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    result = make(1_000, 5)
    start = record_loss(result, "best", 0)
    monkeypatch.setattr(seeded_starts, "GROWING_ALGORITHMS", ())
    assert start < record_loss(result, "best", 0)


@pytest.mark.usefixtures("small_cells")
def test_best_skips_unprofitable_growth_on_sample_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = []

    def careless(part: EncodedTable, limits: Constraint, options: Mapping[str, object], check: Check) -> Ints:
        parameters.append(part.rows)
        return np.arange(part.rows) % (part.rows // limits.min_records)

    result = continuous_case(1_000, 5)
    monkeypatch.setattr(seeded_starts, "GROWING_ALGORITHMS", (careless,))
    start = record_loss(result, "best", 0)
    assert 0 < sum(parameters) <= 2 * 128
    monkeypatch.setattr(seeded_starts, "GROWING_ALGORITHMS", ())
    assert start == record_loss(result, "best", 0)


@pytest.mark.usefixtures("small_cells")
def test_best_grown_clusters_meet_sensitive_models() -> None:
    copy = replace(continuous_case(1_000, 5), asked={"k": 5, "l": 3})
    assert copy.unmet(classes(copy, "best", 0)) == []


def test_high_effort_start_loses_no_more_than_grown_clusters() -> None:
    for result in (continuous_case(600, 7), sparse_case(600, 7)):
        start = record_loss(result, "best", 0, effort="high")
        assert start <= min(record_loss(result, "kacpc"), record_loss(result, "kmember", mode="deterministic")) + 1e-9
